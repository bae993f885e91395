"""Kernels that kernels call are compiled as bitcode alone, and compute what they compute from Python."""

from __future__ import annotations

import importlib
import random
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.forked import run_module
from tests.games.support.kernel.compiled import functions_compiled
from tests.patience import amount

SOURCE = """
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
    made = _module(tmp_path, "made_first", SOURCE)
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
from tests.games.support.kernel.compiled import functions_compiled


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
