"""Commands in processes of their own, forked from one that has imported the heavy libraries already.

Importing torch, Numba and SciPy takes a process three seconds; for some two hundred commands, that was a
fifth of the tests' processor time. The process that is forked has no threads and has computed nothing, so a
child is in the state of a command after its imports.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRELOADED = (
    *("torch", "torch._dynamo", "numba", "scipy.sparse", "scipy.optimize", "sklearn.cluster"),
    *("rich.table", "rich.progress", "gs2.commands.common"),
)
"""What is imported before forking; `torch._dynamo` is what the first optimiser imports."""
OWN = ("cfr", "games", "gs2.policies", "gs2.search", "gs2.play", "blueprint.research")
"""Packages of ours whose modules are imported as well, where their extras are installed."""
PATIENCE = 300.0
"""Seconds that a command may take; only one that hangs takes them."""
_server: subprocess.Popen[str] | None = None


def run_module(
    module: str, *words: str, cwd: Path = ROOT, said: str = ""
) -> subprocess.CompletedProcess[str]:
    """Return what `python -m MODULE WORDS…` gives in folder `cwd` with `said` as its standard input.

    Raises subprocess.TimeoutExpired if it takes longer than `PATIENCE`.
    """
    global _server
    if _server is None or _server.poll() is not None:
        _server = subprocess.Popen(
            [sys.executable, __file__],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(_server.kill)
    assert _server.stdin is not None and _server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("in", "out", "err")]
        files[0].write_text(said)
        request = {"module": module, "words": words, "cwd": str(cwd), "files": [str(file) for file in files]}
        _server.stdin.write(json.dumps(request) + "\n")
        _server.stdin.flush()
        answer = _server.stdout.readline()
        assert answer, "the process that forks has ended"
        code = int(answer)
        if code == LATE:
            raise subprocess.TimeoutExpired([module, *words], PATIENCE, files[1].read_text(errors="replace"))
        out, err = (file.read_text(errors="replace") for file in files[1:])
    return subprocess.CompletedProcess([module, *words], code, out, err)


LATE = 1000
"""Code of a command that was killed for being late."""


def _run(request: dict[str, object]) -> None:
    """Be the command; does not return."""
    words, files = request["words"], request["files"]
    assert isinstance(words, list) and isinstance(files, list)
    for number, path in enumerate(files):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(str(request["cwd"]))
    sys.path[0] = ""
    sys.argv = ["", *words]
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    code: object = 0
    try:
        runpy.run_module(str(request["module"]), run_name="__main__", alter_sys=True)
    except SystemExit as left:
        code = left.code
    except BaseException:
        code = 1
        traceback.print_exc()
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    # Not the whole way out: taking torch apart costs a second that no command is about.
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)


def _serve() -> None:
    """Fork a child for each line on standard input and answer with its exit code."""
    import gc
    import importlib
    import pkgutil
    import signal
    import time
    from contextlib import suppress

    sys.path[0] = str(ROOT)
    for name in PRELOADED:
        importlib.import_module(name)
    for name in OWN:
        for found in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            with suppress(ImportError):
                importlib.import_module(found.name)
    sys.modules["numba"].njit(lambda x: x)(0)  # fills Numba's registries
    gc.freeze()  # so that children copy none of it
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in requests:
        child = os.fork()
        if child == 0:
            os.close(requests.fileno())
            os.close(answers.fileno())
            _run(json.loads(line))
            return
        late = time.monotonic() + PATIENCE
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                break
            if time.monotonic() > late:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                code = LATE
                break
            time.sleep(0.005)
        answers.write(f"{code}\n")
        answers.flush()


if __name__ == "__main__":
    _serve()
