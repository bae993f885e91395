"""Commands in processes of their own, forked from one that has imported the heavy libraries already.

Importing torch, Numba and SciPy takes a process three seconds; for some two hundred commands, that was a
fifth of the tests' processor time. The process that is forked has no threads and has computed nothing, so a
child is in the state of a command after its imports. Test processes that run beside each other share it.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

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
FOLDER = "GS2_TESTS_FOLDER"
"""The variable that names a folder of the run, in which its processes find each other."""
ENVIRONMENT: dict[str, str] = {}
"""Of the process that forks: that of the run as it began, whichever test needs it first."""


def _connected() -> socket.socket:
    """Return a connection to the process that forks, started if there is none."""
    address = os.path.join(os.environ[FOLDER], "fork")
    with FileLock(f"{address}.lock"):
        with suppress(OSError):
            return _line_to(address)
        Path(address).unlink(missing_ok=True)
        paths = os.pathsep.join([str(ROOT), ENVIRONMENT.get("PYTHONPATH", "")])
        server = subprocess.Popen(
            [sys.executable, __file__, address],
            cwd=ROOT,
            env=ENVIRONMENT | {"PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        atexit.register(server.kill)
        assert server.stdout is not None
        assert READY in server.stdout, "the process that forks has ended"
        return _line_to(address)


def _line_to(address: str) -> socket.socket:
    line = socket.socket(socket.AF_UNIX)
    try:
        line.connect(address)
    except OSError:
        line.close()
        raise
    return line


def run_module(
    module: str, *words: str, cwd: Path = ROOT, said: str = ""
) -> subprocess.CompletedProcess[str]:
    """Return what `python -m MODULE WORDS…` gives in folder `cwd` with `said` as its standard input.

    Raises subprocess.TimeoutExpired if it takes longer than `PATIENCE`.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("in", "out", "err")]
        files[0].write_text(said)
        request = {"module": module, "words": words, "cwd": str(cwd), "files": [str(file) for file in files]}
        answer = ""
        for _ in range(2):  # it ends with the test process that started it, maybe before it takes the request
            with suppress(OSError), _connected() as line, line.makefile("rw") as talk:
                print(json.dumps(request), file=talk, flush=True)
                answer = talk.readline()
            if answer:
                break
        assert answer, "the process that forks has ended"
        code = int(answer)
        if code == LATE:
            raise subprocess.TimeoutExpired([module, *words], PATIENCE, files[1].read_text(errors="replace"))
        out, err = (file.read_text(errors="replace") for file in files[1:])
    return subprocess.CompletedProcess([module, *words], code, out, err)


READY = b"ready\n"
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


def _serve(address: str) -> None:
    """Answer each request at an address with the exit code of its command, until standard input ends."""
    import gc
    import importlib
    import pkgutil
    import select
    import signal

    sys.path[0] = str(ROOT)
    for name in PRELOADED:
        importlib.import_module(name)
    for name in OWN:
        for found in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            with suppress(ImportError):
                importlib.import_module(found.name)
    sys.modules["numba"].njit(lambda x: x)(0)  # fills Numba's registries
    gc.freeze()  # so that children copy none of it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        os.write(1, READY)
        while door in select.select([door, sys.stdin], [], [])[0]:
            line, _ = door.accept()
            with line:
                if os.fork() == 0:
                    door.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    _answer(line)


def _answer(line: socket.socket) -> None:
    """Fork the command that a connection asks for and answer with its exit code; does not return."""
    import signal
    import time

    talk = line.makefile("rw")
    request = json.loads(talk.readline())
    child = os.fork()
    if child == 0:
        talk.close()
        line.close()
        _run(request)
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
    print(code, file=talk, flush=True)
    os._exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1])
