"""One decorator for the functions that Numba compiles.

Nothing else in the project calls `numba.njit`.

Use it bare or with options:

    @kernel
    def total(values: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...

    @kernel(nogil=True)
    def play(...) -> int: ...

A kernel trusts its caller. A public function validates and allocates; the kernel behind it takes arrays and
scalars and writes into named outputs.

Compiled code is kept on disk until something that it is made of changes: see `cache` and `made_of`. A kernel
that is used once or twice in a small game is not worth compiling: see `lazy`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypedDict, TypeVar, Unpack, cast, overload

from numba import njit, types
from numba.core import event as numba_event
from numba.core import targetconfig
from numba.core.registry import cpu_target

from games.support.kernel.cache import (
    LinkedCache,
    compiling_failed,
    keep_compiled,
    linked_dispatcher,
    set_environments,
)
from games.support.kernel.lazy import LazyKernel

F = TypeVar("F", bound=Callable[..., Any])


class KernelOptions(TypedDict, total=False):
    """Options of a kernel. An option of Numba's that is left out is Numba's to choose.

    nogil: run without the interpreter's lock, so that threads can run kernels at once.
    fastmath: let the compiler reorder sums; results may then differ in the last bits between machines.
    error_model: "numpy" divides by zero to inf or nan; "python" raises ZeroDivisionError.
    lazy: interpret the function until compiling it pays (`LazyKernel`). Its results must be the same either
        way: no NumPy reductions of floats, no arithmetic that relies on the compiler to widen integers.
    """

    nogil: bool
    fastmath: bool
    error_model: Literal["python", "numpy"]
    lazy: bool


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
    # Options that are not given are not passed: a kernel called by another inherits the caller's. No kernel
    # is passed to C as a callback; without that wrapper compiling takes a fifth less time.
    numba_options: dict[str, Any] = {"no_cfunc_wrapper": True, **options}
    lazy = numba_options.pop("lazy", False)
    dispatcher: Any = njit(**numba_options)(function)
    keep_compiled(dispatcher)
    if hasattr(dispatcher, "get_call_template"):  # not where Numba was told to compile nothing
        _link_into_callers(dispatcher)
    return cast(F, LazyKernel(dispatcher) if lazy else dispatcher)


def _link_into_callers(dispatcher: Any) -> None:
    """Let calls from kernels be compiled apart (see `cache`), once for all constants of a type.

    Numba would compile a kernel for each constant. The optimizer still sees constants where it inlines the
    call, as it does with small kernels.
    """
    dispatcher_class: Any = type(dispatcher)

    @cache
    def called() -> Any:
        linked = linked_dispatcher(dispatcher)
        keep_compiled(linked, LinkedCache)
        return linked

    def for_types(arguments: tuple[Any, ...], names: dict[str, Any]) -> Any:
        widened = {name: _unliteral(kind) for name, kind in names.items()}
        return dispatcher_class.get_call_template(called(), tuple(map(_unliteral, arguments)), widened)

    dispatcher.get_call_template = for_types
    dispatcher.get_overload = lambda signature: dispatcher_class.get_overload(called(), signature)


@cache
def _refresh_if_new(target: Any) -> None:
    """Have Numba's contexts look through their registries where these grew, not at every call in a kernel.

    Numba would import its own modules each time, which was a tenth of the time to compile.
    """
    known = 0

    def refresh() -> None:
        nonlocal known
        registries = *target._registries, *target.typing_context._registries
        size = sum(len(part) for one in registries for part in vars(one).values() if isinstance(part, list))
        if size != known:
            known = size
            for registry in tuple(target._registries):
                target.install_registry(registry)
            target.typing_context.refresh()

    target.refresh()
    target.refresh = refresh


_unliteral: Any = types.unliteral
_flags: Any = targetconfig.TargetConfig
_functions: Any = types.BaseFunction
_events: Any = numba_event


class _PauseCollection(_events.Listener):  # type: ignore[misc]
    """Stops the garbage collector while Numba compiles, which then takes a seventh less time.

    Compiling makes millions of objects that live until its end; the collector would walk them repeatedly.
    """

    def __init__(self) -> None:
        self._depth, self._was_on = 0, False

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
            _refresh_if_new(cpu_target.target_context)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()
        dispatcher = event.data["dispatcher"]
        if event.data["args"] in dispatcher.overloads:
            set_environments(dispatcher.overloads[event.data["args"]])
        else:
            compiling_failed(dispatcher)


_events.register("numba:compile", _PauseCollection())


def _compare_flags_at_once(
    equal: Callable[[Any, Any], Any] = _flags.__eq__, digest: Callable[[Any], int] = _flags.__hash__
) -> None:
    """Let Numba compare its flags as they are stored, and hash what it hashes once.

    It asks for each call of a kernel. The hash is that of the options' names, the same for all of a class.
    """

    def same(one: Any, other: Any) -> Any:
        if type(one) is not type(other):
            return equal(one, other)
        mine, theirs, options = one._values, other._values, one.options
        return mine == theirs or all(
            mine.get(k, options[k].default) == theirs.get(k, options[k].default) for k in {*mine, *theirs}
        )

    hashed: Callable[[Any], int] = cache(lambda kind: digest(kind()))
    _flags.__eq__, _flags.__hash__ = same, lambda flags: hashed(type(flags))


_compare_flags_at_once()


def _remember_call_types(resolve: Callable[..., Any] = types.BaseFunction.get_call_type) -> None:
    """Let Numba work out the type of a call with numbers once, not at every such call in a kernel.

    It tries dozens of overloads until one fits, which was a twelfth of the time to compile. A function type
    that gains an overload is a new one, so what it remembers stays true.
    """
    numbers = (types.Number, types.Boolean)

    def remembered(self: Any, context: Any, args: tuple[Any, ...], names: dict[str, Any]) -> Any:
        if names or not all(isinstance(kind, numbers) for kind in args):
            return resolve(self, context, args, names)
        known = self.__dict__.setdefault("_call_types", {})
        if args not in known:
            known[args] = resolve(self, context, args, names)
        return known[args]

    _functions.get_call_type = remembered


_remember_call_types()
