"""The decorator of compiled functions: options reach Numba, compiled code lies beside its source."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from games.support.kernel import kernel
from tests.games.support.kernel.compiled import functions_compiled
from tests.house import COMPILED, ROOT

SOURCE = '''
from games.support.kernel import kernel


@kernel
def ratio(a: float, b: float) -> float:
    """Return a / b."""
    return a / b


@kernel(nogil=True, error_model="numpy")
def quotient(a: float, b: float) -> float:
    return a / b


@kernel(inline="always", fastmath=True)
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


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Yield a module of kernels that was just written, importable as a stranger's would be."""
    (tmp_path / "written_kernels.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
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


def test_a_kernel_is_compiled_and_keeps_its_name_and_docstring(written: ModuleType) -> None:
    assert written.ratio(1.0, 4.0) == 0.25
    assert len(written.ratio.signatures) == 1
    assert written.ratio.__name__ == "ratio" and written.ratio.__doc__ == "Return a / b."
    assert written.ratio.py_func(1.0, 4.0) == 0.25


def test_options_reach_numba_and_others_are_left_to_it(written: ModuleType) -> None:
    assert written.ratio.targetoptions == {
        "nopython": True,
        "boundscheck": None,
        "no_cfunc_wrapper": True,
    }
    assert written.quotient.targetoptions["nogil"] is True
    assert "fastmath" not in written.quotient.targetoptions
    assert written.half.targetoptions["inline"] == "always" and written.half.targetoptions["fastmath"] is True
    with pytest.raises(ZeroDivisionError):
        written.ratio(1.0, 0.0)
    assert written.quotient(1.0, 0.0) == float("inf")


def test_an_option_that_numba_does_not_know_is_refused() -> None:
    with pytest.raises(KeyError, match="Unrecognized options"):
        kernel(speed="high")(lambda x: x)(1)  # type: ignore[call-overload]


def test_compiled_code_is_cached_beside_the_source_and_found_again(
    written: ModuleType, tmp_path: Path
) -> None:
    written.ratio(1.0, 4.0)
    assert [path.name.split("-")[0] for path in (tmp_path / "__pycache__").glob("*.nbi")] == [
        "written_kernels.ratio"
    ]
    code = (
        "from written_kernels import ratio; ratio(1.0, 4.0);"
        "print(sum(ratio.stats.cache_hits.values()), sum(ratio.stats.cache_misses.values()))"
    )
    again = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
    )
    assert again.stdout.strip() == "1 0", again.stderr


def test_the_house_takes_kernels_for_compiled_functions() -> None:
    assert COMPILED.search("kernel")


@pytest.mark.parametrize("folder", ["games", "cfr", "blueprint", "gs2", "experiments"])
def test_numba_is_asked_to_compile_by_this_decorator_alone(folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*.py") if path.parent.name != "kernel"]
    assert files and not [path for path in files if "njit" in path.read_text()]
