"""Compiled code on disk: found again while nothing that it is made of changed, and never used after that."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from filelock import FileLock
from numba import TypingError

from games.support.kernel import kernel
from games.support.kernel.cache import kernel_folder
from games.support.kernel.made_of import made_of
from tests.forked import run_module
from tests.house import ROOT
from tests.patience import LONG, amount

FILES = {
    "made_limits": """
import numpy as np
LOW, HIGH = 1, 2
PAIR = (3, 4.0)
TABLE = np.arange(5.0)
UNUSED = 7
""",
    "made_low": """
from numba.extending import intrinsic
from games.support.kernel import kernel
from made_limits import LOW
import made_helper

@intrinsic
def plus_one(typing, x):
    def codegen(context, builder, signature, args):
        return builder.fadd(args[0], context.get_constant(x, made_helper.ONE))
    return x(x), codegen

@kernel
def low(x: float) -> float:
    return plus_one(x) + LOW

def scaled(by):
    @kernel
    def inner(x):
        return x * by
    return inner
""",
    "made_helper": """
ONE = 1.0
""",
    "made_middle": """
from games.support.kernel import kernel
import made_low
from made_limits import HIGH, PAIR

@kernel
def middle(x: float) -> float:
    return made_low.low(x) + HIGH + PAIR[1] + later(x)

once = made_low.scaled(1.0)
twice = made_low.scaled(2.0)

@kernel
def later(x: float) -> float:
    return once(x) - twice(x)
""",
    "made_top": """
from games.support.kernel import kernel
from made_limits import TABLE
from made_middle import middle
import made_aside

@kernel
def top(x: float) -> float:
    return middle(x) + TABLE[1]
""",
    "made_aside": """
ASIDE = 1
""",
}
CHANGES = {
    "a kernel that is called by one that is called": ("made_low", "+ LOW", "- LOW"),
    "an option of a kernel that is called": (
        "made_low",
        "@kernel\ndef low",
        "@kernel(fastmath=True)\ndef low",
    ),
    "a constant": ("made_limits", "HIGH = 1, 2", "HIGH = 1, 3"),
    "two constants that change places": ("made_limits", "HIGH = 1, 2", "HIGH = 2, 1"),
    "a number within a tuple": ("made_limits", "4.0", "5.0"),
    "a tuple turned round": ("made_limits", "(3, 4.0)", "(4.0, 3)"),
    "a table": ("made_limits", "arange(5.0)", "arange(5.0) + 1"),
    "the type of a table": ("made_limits", "arange(5.0)", "arange(5)"),
    "what an intrinsic emits": ("made_low", "fadd", "fsub"),
    "a module that an intrinsic uses": ("made_helper", "1.0", "2.0"),
    "kernels of one factory that change places": (
        "made_middle",
        "once = made_low.scaled(1.0)\ntwice",
        "twice = made_low.scaled(1.0)\nonce",
    ),
    "a kernel defined below its caller": ("made_middle", "once(x) -", "once(x) +"),
}
SAME = {
    "nothing": ("made_aside", "ASIDE", "ASIDE"),
    "a module that is imported and not named": ("made_aside", "= 1", "= 2"),
    "a constant that no kernel names": ("made_limits", "UNUSED = 7", "UNUSED = 8"),
}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Forget the modules of a test, as another process would."""
    yield
    for name in FILES:
        sys.modules.pop(name, None)


def write(folder: Path, change: tuple[str, str, str] = ("", "", "")) -> None:
    """Write the files, one of them changed."""
    folder.mkdir(parents=True)
    name, old, new = change
    for file, text in FILES.items():
        assert file != name or text.count(old) == 1
        path = folder / f"{file}.py"
        path.write_text(text.replace(old, new) if file == name else text)
        os.utime(path, (1e9, 1e9))  # long before the process that imports it began


def digest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what the kernel on top is made of when imported from a folder."""
    for name in FILES:
        sys.modules.pop(name, None)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(folder)
        return made_of(importlib.import_module("made_top").top.py_func)


def run(folder: Path, **environment: str) -> tuple[float, int]:
    """Call the kernel on top in a process of its own: what it returns, and how often it was found on disk."""
    (folder / "made_main.py").write_text(
        f"import os; os.environ.update({environment})\n"
        "from numba.core import config; config.reload_config()\n"
        "from made_top import top; print(top(1.0), sum(top.stats.cache_hits.values()))"
    )
    done = run_module("made_main", cwd=folder)
    assert done.returncode == 0, done.stderr
    value, hits = done.stdout.split()
    return float(value), int(hits)


def test_what_a_kernel_is_made_of_changes_with_all_that_its_code_holds_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "before")
    before = digest(tmp_path / "before", monkeypatch)
    for what, change in (CHANGES | SAME).items():
        write(tmp_path / what, change)
        # The files' own paths are no part of it: the same sources elsewhere give the same.
        assert (digest(tmp_path / what, monkeypatch) == before) == (what in SAME), what


def test_code_made_with_a_file_that_changed_since_is_compiled_again(tmp_path: Path) -> None:
    folder = tmp_path / "sources"
    write(folder)
    assert run(folder) == (1 + 1 + 1 + 2 + 4 - 1 + 1, 0)
    if LONG in os.environ:
        assert run(folder) == (9, 1)
    name, old, new = CHANGES["a kernel that is called by one that is called"]
    file = folder / f"{name}.py"
    file.write_text(file.read_text().replace(old, new))
    os.utime(file, (1e9 + 9, 1e9 + 9))  # before the process that forks began
    for hits in range(amount(2, 1)):
        assert run(folder) == (7, hits)


EDIT = """
import pathlib, sys
from made_top import top
file = pathlib.Path(sys.argv[1])
file.write_text(file.read_text().replace(sys.argv[2], sys.argv[3]))
print(top(1.0))
"""


@pytest.mark.parametrize(
    ("change", "after"),
    [(("made_low", "+ LOW", "- LOW"), 7.0), (("made_helper", "1.0", "2.0"), 10.0)],
    ids=["a kernel", "a module that an intrinsic uses"],
)
@pytest.mark.long
def test_an_edit_under_a_running_program_passes_no_old_code_for_the_new(
    change: tuple[str, str, str], after: float, tmp_path: Path
) -> None:
    folder = tmp_path / "sources"
    write(folder)
    name, *words = change
    done = subprocess.run(
        [sys.executable, "-c", EDIT, str(folder / f"{name}.py"), *words],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
    )
    assert done.stdout.strip() == "9.0", done.stderr
    assert run(folder)[0] == after


AT_ONCE = """
import sys
from pathlib import Path
from made_top import top
Path(sys.argv[1]).touch()
sys.stdin.readline()
top(1.0)
print(sum(top.stats.cache_misses.values()))
"""


def test_processes_that_need_a_kernel_at_once_compile_it_once(tmp_path: Path) -> None:
    folder = tmp_path / "sources"
    write(folder)
    ready = [tmp_path / f"ready{k}" for k in range(amount(3, 2))]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", AT_ONCE, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
        )
        for path in ready
    ]
    while not all(path.exists() for path in ready):
        assert all(process.poll() is None for process in processes)
        time.sleep(0.01)
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sorted(int(process.communicate()[0]) for process in processes) == [*[0] * (len(ready) - 1), 1]


def test_code_for_a_type_of_an_earlier_version_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = "@kernel\ndef twice(x: float) -> float:\n    return 2 * x\n"
    (tmp_path / "made_earlier.py").write_text(f"from games.support.kernel import kernel\n\n{twice}")
    monkeypatch.syspath_prepend(tmp_path)
    module: Any = importlib.import_module("made_earlier")
    assert module.twice(1.5) == 3
    index = Path(module.twice._cache._cache_file._index_path)
    with index.open("rb") as kept:
        version = pickle.load(kept)
    index.write_bytes(pickle.dumps(version) + b"cgames.ragged\nNoLongerThere\n.")
    for hits in (0, 1):
        module = importlib.reload(module)
        assert module.twice(1.5) == 3 and sum(module.twice.stats.cache_hits.values()) == hits


def test_a_kernel_that_cannot_be_compiled_leaves_it_to_others(tmp_path: Path) -> None:
    @kernel
    def wrong(x: float) -> float:
        return x + "one"  # type: ignore[operator]

    with pytest.raises(TypingError):
        wrong(1.0)
    cache: Any = wrong
    FileLock(cache._cache._cache_file._index_path + ".lock", timeout=0).acquire().lock.release()


def test_functions_run_where_no_code_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, function: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr("numba.core.caching.Cache.__init__", refuse)
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        double = kernel(lambda x: 2 * x)
    assert double(3) == 6


@pytest.mark.long
def test_code_of_an_installed_package_is_kept_in_the_users_cache_folder(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    write(folder)
    for hits in (0, 1):
        assert run(folder, XDG_CACHE_HOME=str(tmp_path / "cache"), NUMBA_CACHE_DIR="") == (9, hits)
    assert {path.name for path in folder.rglob("*")} <= {"__pycache__"} | {
        path.name for path in folder.rglob("*.py*")
    }
    assert [*(tmp_path / "cache" / "gs2" / "kernels").rglob("made_top.top-*.nbi")]
    assert run(folder, NUMBA_CACHE_DIR=str(tmp_path / "named")) == (9, 0)
    assert [*(tmp_path / "named").rglob("made_top.top-*.nbi")]


def test_where_code_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert kernel_folder("/usr/lib/python3/dist-packages/games/a.py") == "/cache/gs2/kernels"
    assert kernel_folder("/home/one/checkout/games/a.py") == ""
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kernel_folder("/venv/site-packages/a.py") == str(tmp_path / ".cache" / "gs2" / "kernels")


def test_without_compilation_there_is_nothing_to_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.config.DISABLE_JIT", 1)
    plain = kernel(lambda x: x + 1)
    assert isinstance(plain, FunctionType) and plain(1) == 2
