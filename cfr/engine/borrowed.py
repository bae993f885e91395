"""Borrowed arrays inside numba kernels.

`borrow(array)` is the address of a contiguous array's first element: indexed like the array, unchecked and
without wrap-around, and not counted, so that kernels can pass it to each other in their innermost loops.
(Counting references there costs more than the arithmetic, and spills the vector registers.) Whoever borrows
an array must keep it alive, which a function does that holds it as an argument.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.extending import models, register_model, type_callable

__all__ = ["Lowered", "borrow", "intrinsic", "lower_builtin", "with_arithmetic"]

Lowered = tuple[Any, Callable[..., Any]] | None
"""What an intrinsic gives Numba: its signature and the function that emits its code; None for other types."""


def intrinsic(function: Any) -> Any:
    """Return `numba.extending.intrinsic(function)`, without the types of its compile-time signature."""
    return extending.intrinsic(function)


def lower_builtin(*what: Any) -> Callable[[Any], Any]:
    """Return `numba.extending.lower_builtin(*what)`, a decorator that Numba gives no types."""
    decorator: Callable[[Any], Any] = _lower(*what)
    return decorator


_lower: Any = extending.lower_builtin
_make_model: Any = models.PrimitiveModel.__init__
_tuple_of: Any = types.Tuple


class _Borrowed(types.Type):
    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"borrowed({dtype})")


@register_model(_Borrowed)
class _BorrowedModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        _make_model(self, dmm, fe_type, dmm.lookup(fe_type.dtype).get_data_type().as_pointer())


def _is_tuple(kind: Any) -> bool:
    return isinstance(kind, types.BaseTuple)


def _lent(kind: Any) -> Any:
    """Return the type of what is lent, None where an array is not contiguous."""
    if isinstance(kind, types.Array):
        return _Borrowed(kind.dtype) if kind.layout == "C" else None
    if _is_tuple(kind):
        parts = [_lent(part) for part in kind]
        return None if None in parts else _tuple_of(parts)
    return kind


def _lend(context: Any, builder: ir.IRBuilder, kind: Any, value: Any) -> Any:
    """Emit what is lent."""
    if isinstance(kind, types.Array):
        return context.make_array(kind)(context, builder, value).data
    if not _is_tuple(kind):
        return value
    parts = [_lend(context, builder, part, builder.extract_value(value, k)) for k, part in enumerate(kind)]
    return context.make_tuple(builder, _lent(kind), parts)


@intrinsic
def borrow(typing: Any, given: Any) -> Lowered:
    """Return the address of a contiguous array's first element; of a tuple, its entries with arrays lent."""
    lent = _lent(given)

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _lend(context, builder, given, args[0])

    return None if lent is None else (lent(given), codegen)


@type_callable(operator.getitem)
def _type_getitem(context: Any) -> Any:
    def typer(borrowed: Any, index: Any) -> Any:
        if isinstance(borrowed, _Borrowed) and isinstance(index, types.Integer):
            return borrowed.dtype
        return None

    return typer


@lower_builtin(operator.getitem, _Borrowed, types.Integer)
def _lower_getitem(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
    borrowed, index = signature.args
    at = context.cast(builder, args[1], index, types.intp)
    return context.unpack_value(builder, borrowed.dtype, builder.gep(args[0], [at]))


@type_callable(operator.setitem)
def _type_setitem(context: Any) -> Any:
    def typer(borrowed: Any, index: Any, value: Any) -> Any:
        if isinstance(borrowed, _Borrowed) and isinstance(index, types.Integer):
            return types.void
        return None

    return typer


@lower_builtin(operator.setitem, _Borrowed, types.Integer, types.Number)
def _lower_setitem(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
    borrowed, index, number = signature.args
    at = context.cast(builder, args[1], index, types.intp)
    value = context.cast(builder, args[2], number, borrowed.dtype)
    context.pack_value(builder, borrowed.dtype, value, builder.gep(args[0], [at]))
    return context.get_dummy_value()


_ARITHMETIC = (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
)


def with_arithmetic(kind: type[types.Type]) -> None:
    """Give vectors of a kind + - * /, between two of the same type."""

    def type_of(left: Any, right: Any) -> Any:
        return left if isinstance(left, kind) and left == right else None

    def add(which: Any, emit: str) -> None:
        def lower(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            return getattr(builder, emit)(*args)

        type_callable(which)(lambda context: type_of)
        lower_builtin(which, kind, kind)(lower)

    for which, emit in _ARITHMETIC:
        add(which, emit)
