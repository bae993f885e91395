"""One decorator for the functions that Numba compiles.

Nothing else in the project calls `numba.njit`.

Use it bare or with options:

    @kernel
    def total(values: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...

    @kernel(nogil=True)
    def play(...) -> int: ...

A kernel trusts its caller. A public function validates and allocates; the kernel behind it takes arrays and
scalars and writes into named outputs.

Compiled code is kept on disk until something that it is made of changes: see `cache` and `made_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypedDict, TypeVar, Unpack, cast, overload

from numba import njit

from games.support.kernel.cache import keep_compiled

__all__ = ["KernelOptions", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])


class KernelOptions(TypedDict, total=False):
    """Options of `numba.njit` that our kernels use. An option left out is Numba's to choose.

    nogil: run without the interpreter's lock, so that threads can run kernels at once.
    inline: "always" compiles the function into its callers.
    fastmath: let the compiler reorder sums; results may then differ in the last bits between machines.
    error_model: "numpy" divides by zero to inf or nan; "python" raises ZeroDivisionError.
    """

    nogil: bool
    inline: Literal["never", "always"]
    fastmath: bool
    error_model: Literal["python", "numpy"]


@overload
def kernel(function: F, /) -> F: ...


@overload
def kernel(**options: Unpack[KernelOptions]) -> Callable[[F], F]: ...


def kernel(function: F | None = None, /, **options: Unpack[KernelOptions]) -> F | Callable[[F], F]:
    """Return the function compiled by Numba on its first call, or, given only options, what does that to one.

    The compiled code is kept on disk. The types of the signature stay: type checkers see the Python function
    that was written. Raises TypeError if called with neither a function nor options that Numba knows.
    """
    if function is not None:
        return _compiled(function, options)
    return lambda function: _compiled(function, options)


def _compiled(function: F, options: KernelOptions) -> F:
    # Options that are not given are not passed: a kernel called by another inherits the caller's.
    dispatcher: Any = njit(**options)(function)
    keep_compiled(dispatcher)
    return cast(F, dispatcher)
