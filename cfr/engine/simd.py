"""Vectors of four float64, and borrowed arrays, inside numba kernels.

Sequence-form solvers spend their time on rows of six private dice or ten cards: loops too short for the
compiler to vectorise by itself. The vector intrinsics emit LLVM vectors, which become AVX, AVX-512, SSE or
NEON instructions, whatever the machine has.

`borrow(array)` is the address of a contiguous array's first element: indexed like the array, unchecked and
without wrap-around, and not counted, so that kernels can pass it to each other in their innermost loops.
(Counting references there costs more than the arithmetic, and spills the vector registers.) Whoever borrows
an array must keep it alive, which a function does that holds it as an argument.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.extending import models, register_model, type_callable

__all__ = [
    "WIDTH",
    "above",
    "any_nonzero",
    "borrow",
    "extract",
    "fma",
    "gather",
    "keep_first",
    "load",
    "maximum",
    "positive",
    "select_positive",
    "splat",
    "store",
    "total",
    "vmax",
]

WIDTH = 4

Lowered = tuple[Any, Callable[..., Any]] | None
"""What an intrinsic gives Numba: its signature and the function that emits its code; None for other types."""


def _intrinsic(function: Any) -> Any:
    """Return `numba.extending.intrinsic(function)`, without the types of its compile-time signature."""
    return extending.intrinsic(function)


def _lower_builtin(*what: Any) -> Callable[[Any], Any]:
    """Return `numba.extending.lower_builtin(*what)`, a decorator that Numba gives no types."""
    decorator: Callable[[Any], Any] = _lower(*what)
    return decorator


_lower: Any = extending.lower_builtin
_get_or_insert_function: Any = cgutils.get_or_insert_function
_make_model: Any = models.PrimitiveModel.__init__


_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, WIDTH)
_INT = ir.IntType(32)


class _Float64x4(types.Type):
    def __init__(self) -> None:
        super().__init__(name="float64x4")


float64x4 = _Float64x4()


@register_model(_Float64x4)
class _Float64x4Model(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        _make_model(self, dmm, fe_type, _VECTOR)


def _constant(values: Iterable[float]) -> ir.Constant:
    return ir.Constant(_VECTOR, [ir.Constant(_DOUBLE, v) for v in values])


_ZERO = _constant([0.0] * WIDTH)


class _Borrowed(types.Type):
    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"borrowed({dtype})")


@register_model(_Borrowed)
class _BorrowedModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        _make_model(self, dmm, fe_type, dmm.lookup(fe_type.dtype).get_data_type().as_pointer())


@_intrinsic
def borrow(typing: Any, array: Any) -> Lowered:
    """Return the address of a contiguous array's first element."""
    if not (isinstance(array, types.Array) and array.layout == "C"):
        return None

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return _Borrowed(array.dtype)(array), codegen


@type_callable(operator.getitem)
def _type_getitem(context: Any) -> Any:
    def typer(borrowed: Any, index: Any) -> Any:
        if isinstance(borrowed, _Borrowed) and isinstance(index, types.Integer):
            return borrowed.dtype
        return None

    return typer


@_lower_builtin(operator.getitem, _Borrowed, types.Integer)
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


@_lower_builtin(operator.setitem, _Borrowed, types.Integer, types.Number)
def _lower_setitem(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
    borrowed, index, number = signature.args
    at = context.cast(builder, args[1], index, types.intp)
    value = context.cast(builder, args[2], number, borrowed.dtype)
    context.pack_value(builder, borrowed.dtype, value, builder.gep(args[0], [at]))
    return context.get_dummy_value()


def _pointer(builder: ir.IRBuilder, args: Any) -> Any:
    return builder.bitcast(builder.gep(args[0], [args[1]]), _VECTOR.as_pointer())


def _call(builder: ir.IRBuilder, name: str, args: Any, result: Any = _VECTOR) -> Any:
    function_type = ir.FunctionType(result, [a.type for a in args])
    function = _get_or_insert_function(builder.module, function_type, name)
    return builder.call(function, args)


def _splat(builder: ir.IRBuilder, value: Any) -> Any:
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(_INT, 0))
    return builder.shuffle_vector(
        one, ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(_INT, WIDTH), [0] * WIDTH)
    )


for _operator, _emit in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):

    @type_callable(_operator)
    def _typing(context: Any) -> Any:
        def typer(left: Any, right: Any) -> Any:
            if isinstance(left, _Float64x4) and isinstance(right, _Float64x4):
                return float64x4
            return None

        return typer

    @_lower_builtin(_operator, _Float64x4, _Float64x4)
    def _lower_operator(
        context: Any, builder: ir.IRBuilder, signature: Any, args: Any, emit: Any = _emit
    ) -> Any:
        return getattr(builder, emit)(*args)


@_intrinsic
def load(typing: Any, array: Any, index: Any) -> Lowered:
    """Return array[index:index + 4]; the array is borrowed."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(builder, args), align=8)

    return float64x4(array, types.intp), codegen


@_intrinsic
def store(typing: Any, array: Any, index: Any, vector: Any) -> Lowered:
    """Write the vector to array[index:index + 4]."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        builder.store(args[2], _pointer(builder, args), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, float64x4), codegen


@_intrinsic
def splat(typing: Any, value: Any) -> Lowered:
    """Return a vector of four equal numbers."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _splat(builder, args[0])

    return float64x4(types.float64), codegen


@_intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Lowered:
    """Return a * b + c, fused where the machine can."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _call(builder, f"llvm.fmuladd.v{WIDTH}f64", args)

    return float64x4(float64x4, float64x4, float64x4), codegen


@_intrinsic
def maximum(typing: Any, a: Any, b: Any) -> Lowered:
    """Return the larger of each pair."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return float64x4(float64x4, float64x4), codegen


@_intrinsic
def positive(typing: Any, a: Any) -> Lowered:
    """Return the positive parts."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", args[0], _ZERO), args[0], _ZERO)

    return float64x4(float64x4), codegen


@_intrinsic
def above(typing: Any, a: Any, threshold: Any) -> Lowered:
    """Return the entries that are larger than the threshold's, 0 instead of the others."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), args[0], _ZERO)

    return float64x4(float64x4, float64x4), codegen


@_intrinsic
def select_positive(typing: Any, condition: Any, yes: Any, no: Any) -> Lowered:
    """Return `yes` where the condition is above 0, else `no`."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", args[0], _ZERO), args[1], args[2])

    return float64x4(float64x4, float64x4, float64x4), codegen


@_intrinsic
def keep_first(typing: Any, a: Any, n: Any, other: Any) -> Lowered:
    """Return the vector with all but its first n entries replaced by those of `other`."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        lanes = ir.VectorType(_INT, WIDTH)
        count = builder.trunc(args[1], _INT)
        one = builder.insert_element(ir.Constant(lanes, ir.Undefined), count, ir.Constant(_INT, 0))
        counts = builder.shuffle_vector(
            one, ir.Constant(lanes, ir.Undefined), ir.Constant(lanes, [0] * WIDTH)
        )
        inside = builder.icmp_signed("<", ir.Constant(lanes, list(range(WIDTH))), counts)
        return builder.select(inside, args[0], args[2])

    return float64x4(float64x4, types.intp, float64x4), codegen


@_intrinsic
def gather(typing: Any, array: Any, indices: Any, first: Any) -> Lowered:
    """Return array[indices[first:first + 4]]; both borrowed, indices int32."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        data, numbers, _ = args
        out = ir.Constant(_VECTOR, ir.Undefined)
        for k in range(WIDTH):
            at = builder.add(args[2], ir.Constant(args[2].type, k))
            index = builder.sext(builder.load(builder.gep(numbers, [at])), ir.IntType(64))
            value = builder.load(builder.gep(data, [index]))
            out = builder.insert_element(out, value, ir.Constant(_INT, k))
        return out

    return float64x4(array, indices, types.intp), codegen


@_intrinsic
def any_nonzero(typing: Any, a: Any) -> Lowered:
    """Return whether any entry differs from 0."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        bits = builder.bitcast(builder.fcmp_unordered("!=", args[0], _ZERO), ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(WIDTH), 0))

    return types.boolean(float64x4), codegen


def _pairwise(builder: ir.IRBuilder, vector: Any, join: Callable[[Any, Any], Any]) -> Any:
    parts = [builder.extract_element(vector, ir.Constant(_INT, k)) for k in range(WIDTH)]
    return join(join(parts[0], parts[2]), join(parts[1], parts[3]))


@_intrinsic
def total(typing: Any, a: Any) -> Lowered:
    """Return the sum of the entries."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _pairwise(builder, args[0], builder.fadd)

    return types.float64(float64x4), codegen


@_intrinsic
def vmax(typing: Any, a: Any) -> Lowered:
    """Return the largest entry."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        def join(x: Any, y: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", x, y), x, y)

        return _pairwise(builder, args[0], join)

    return types.float64(float64x4), codegen


@_intrinsic
def extract(typing: Any, a: Any, k: Any) -> Lowered:
    """Return entry k."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.extract_element(args[0], builder.trunc(args[1], _INT))

    return types.float64(float64x4, types.intp), codegen
