"""The decorator of compiled functions: options reach Numba, compiled code lies beside its source."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from games.support.kernel import kernel
from tests.games.support.kernel.compiled import functions_compiled
from tests.house import ROOT

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
