"""The decorator of compiled functions; kernels that kernels call are bitcode alone, and compute the same."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numba.core import event

from games.support.kernel import kernel
from tests.forked import run_module
from tests.house import ROOT
from tests.patience import amount

_events: Any = event


@contextmanager
def functions_compiled() -> Iterator[list[str]]:
    """Within, append the name of each function that Numba compiles to the list. Code on disk is not."""
    names: list[str] = []

    class Listener(_events.Listener):  # type: ignore[misc]
        def on_start(self, _: Any) -> None:
            pass

        def on_end(self, ended: Any) -> None:
            names.append(ended.data["dispatcher"].py_func.__name__)

    with _events.install_listener("numba:compile", Listener()):
        yield names


SOURCE = '''
from games.support.kernel import kernel


@kernel
def ratio(a: float, b: float) -> float:
    """Return a / b."""
    return a / b


@kernel(nogil=True, error_model="numpy")
def quotient(a: float, b: float) -> float:
    return a / b


@kernel(fastmath=True)
def half(a: float) -> float:
    return a / 2


@kernel
def power(a: int, times: int, negative: bool) -> int:
    found = 1
    for _ in range(times):
        found *= a
    return -found if negative else found


@kernel
def polynomial(a: int) -> int:
    return power(a, 1, False) + power(a, 2, True) + power(a, times=3, negative=False)
'''


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """Yield a module of kernels that was just written, importable as a stranger's would be."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "written_kernels.py").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("written_kernels")
    del sys.modules["written_kernels"]


def test_calls_with_different_constants_share_one_compilation(written: ModuleType) -> None:
    with functions_compiled() as compiled:
        assert written.polynomial(3) == 3 - 9 + 27
    assert compiled == ["power", "polynomial"]
    with functions_compiled() as compiled:
        assert written.power(2, 5, True) == -32
        assert written.power(2, 4, False) == 16
    assert compiled == ["power"]


def test_a_kernel_is_compiled_beside_its_source_and_keeps_its_name_and_docstring(written: ModuleType) -> None:
    assert written.ratio(1.0, 4.0) == 0.25
    assert len(written.ratio.signatures) == 1
    assert written.ratio.__name__ == "ratio" and written.ratio.__doc__ == "Return a / b."
    assert written.ratio.py_func(1.0, 4.0) == 0.25
    kept = Path(str(written.__file__)).parent / "__pycache__"
    assert len([*kept.glob("written_kernels.ratio-*.nbi")]) == 1


def test_options_reach_numba_and_others_are_left_to_it(written: ModuleType) -> None:
    assert written.ratio.targetoptions == {
        "nopython": True,
        "boundscheck": None,
        "no_cfunc_wrapper": True,
    }
    assert written.quotient.targetoptions["nogil"] is True
    assert "fastmath" not in written.quotient.targetoptions
    assert written.half.targetoptions["fastmath"] is True
    with pytest.raises(ZeroDivisionError):
        written.ratio(1.0, 0.0)
    assert written.quotient(1.0, 0.0) == float("inf")


def test_an_option_that_numba_does_not_know_is_refused() -> None:
    with pytest.raises(KeyError, match="Unrecognized options"):
        kernel(speed="high")(lambda x: x)(1)  # type: ignore[call-overload]


def test_numba_is_asked_to_compile_by_this_decorator_alone() -> None:
    for folder in ("games", "cfr", "blueprint", "gs2", "experiments"):
        files = [path for path in (ROOT / folder).rglob("*.py") if path.parent.name != "kernel"]
        assert files and not [path for path in files if "njit" in path.read_text()]


CALLING = """
import numpy as np
from games.support.kernel import kernel


@kernel
def ways(n: int, largest: int) -> int:
    # Partitions of n into parts of at most `largest`: calls itself twice.
    if n == 0:
        return 1
    if n < 0 or largest == 0:
        return 0
    return ways(n - largest, largest) + ways(n, largest - 1)


@kernel
def checked(n: int) -> int:
    if n > 20:
        raise ValueError("n must be at most 20")
    return ways(n, n)


@kernel
def each(numbers, out):
    made = np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        made[i] = checked(numbers[i])
    out[:] = made


@kernel
def pair(a, b=2.0):
    return a + b, a * b


@kernel
def both(numbers):
    total, product = pair(float(len(numbers)))
    more, _ = pair(b=1.0, a=total)
    return total, product, more
"""
PARTITIONS = (1, 1, 2, 3, 5, 7, 11, 15, 22, 30, 42, 56, 77, 101, 135, 176, 231, 297, 385, 490, 627)


def _module(folder: Path, name: str, source: str) -> ModuleType:
    (folder / f"{name}.py").write_text(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        return importlib.import_module(name)


def test_recursion_exceptions_and_defaults_inside_a_kernel_and_its_bitcode_in_another_process(
    tmp_path: Path,
) -> None:
    made = _module(tmp_path, "made_first", CALLING)
    numbers = np.arange(21)
    out = np.zeros(21, np.int64)
    with functions_compiled() as compiled:
        made.each(numbers, out)
    assert tuple(out) == PARTITIONS
    assert [name for name in compiled if name in ("ways", "checked", "each")] == ["ways", "checked", "each"]
    with pytest.raises(ValueError, match="n must be at most 20"):
        made.each(numbers + 1, out)
    assert made.both(numbers) == (23.0, 42.0, 24.0)
    # From Python, the same functions are compiled for themselves.
    assert made.checked(20) == 627 and made.ways(5, 2) == 3 and made.pair(3.0) == (5.0, 6.0)
    with pytest.raises(ValueError, match="n must be at most 20"):
        made.checked(21)
    (tmp_path / "made_second.py").write_text("""
import numpy as np
from games.support.kernel import kernel
from made_first import each
from tests.games.support.kernel.test_decorator import functions_compiled


@kernel
def twice(numbers, out):
    each(numbers, out)
    each(out, out)


numbers, out = np.arange(6), np.zeros(6, np.int64)
with functions_compiled() as compiled:
    twice(numbers, out)
print(out.tolist(), [name for name in compiled if name in ("ways", "checked", "each", "twice")])
""")
    (tmp_path / "made_main.py").write_text("import made_second")
    # `each` was compiled for Python alone until now.
    for expected in (["each", "twice"], []):
        done = run_module("made_main", cwd=tmp_path)
        assert done.stdout.strip() == f"[1, 1, 2, 3, 7, 15] {expected}", done.stderr


@pytest.mark.parametrize("seed", range(amount(40, 4)))
def test_random_programs_of_kernels_compute_what_the_interpreter_does(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    depth = rng.randint(2, 5)
    lines = ["from games.support.kernel import kernel"]
    for level in range(depth):
        for side in range(2):
            below = [f"f{level - 1}{other}" for other in range(2)] if level else []
            terms = [
                rng.choice(["x", "y", "x - y", "x * 0.5", "max(x, y)", "1.0 / (1.0 + x * x)"])
                for _ in range(3)
            ]
            terms += [f"{name}({rng.choice(['x', 'y', 'x + y'])}, {rng.random():.3f})" for name in below]
            rng.shuffle(terms)
            lines += [
                rng.choice(["@kernel", "@kernel(nogil=True)", "@kernel(error_model='numpy')"]),
                f"def f{level}{side}(x, y):",
                f"    total = {' + '.join(terms)}",
                f"    if total > {rng.uniform(-2, 4):.3f}:",
                f"        total = total - {rng.choice(terms)}",
                "    return total",
            ]
    made = _module(tmp_path, f"made_random{seed}", "\n".join(lines))
    plain = {}
    exec("\n".join(line for line in lines[1:] if not line.startswith("@")), plain)
    top = f"f{depth - 1}0"
    for _ in range(50):
        x, y = rng.uniform(-2, 2), rng.uniform(-2, 2)
        assert getattr(made, top)(x, y) == plain[top](x, y)
