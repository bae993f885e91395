"""Vectors of four float64 inside numba kernels.

Sequence-form solvers spend their time on rows of six private dice or ten cards: loops too short for the
compiler to vectorise by itself. These intrinsics emit LLVM vectors, which become AVX, AVX-512, SSE or NEON
instructions, whatever the machine has. `load`, `store` and `add_store` take a contiguous float64 array and
an index, unchecked.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

__all__ = [
    "WIDTH",
    "any_nonzero",
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
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, WIDTH)
_INT = ir.IntType(32)


class _Float64x4(types.Type):
    def __init__(self) -> None:
        super().__init__(name="float64x4")


float64x4 = _Float64x4()


@register_model(_Float64x4)
class _Float64x4Model(models.PrimitiveModel):
    def __init__(self, dmm, fe_type) -> None:
        super().__init__(dmm, fe_type, _VECTOR)


def _constant(values) -> ir.Constant:
    return ir.Constant(_VECTOR, [ir.Constant(_DOUBLE, v) for v in values])


_ZERO = _constant([0.0] * WIDTH)


def _pointer(context, builder, signature, args):
    array_type, _ = signature.args[:2]
    array = context.make_array(array_type)(context, builder, args[0])
    index = args[1]
    pointer = builder.gep(array.data, [index])
    return builder.bitcast(pointer, _VECTOR.as_pointer())


def _call(builder, name, args, result=_VECTOR):
    function_type = ir.FunctionType(result, [a.type for a in args])
    function = cgutils.get_or_insert_function(builder.module, function_type, name)
    return builder.call(function, args)


def _splat(builder, value):
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
    def _typing(context):
        def typer(left, right):
            if isinstance(left, _Float64x4) and isinstance(right, _Float64x4):
                return float64x4
            return None

        return typer

    @lower_builtin(_operator, _Float64x4, _Float64x4)
    def _lower(context, builder, signature, args, emit=_emit):
        return getattr(builder, emit)(*args)


@intrinsic
def load(typing, array, index):
    """Return array[index:index + 4]."""

    def codegen(context, builder, signature, args):
        return builder.load(_pointer(context, builder, signature, args), align=8)

    return float64x4(array, types.intp), codegen


@intrinsic
def store(typing, array, index, vector):
    """Write the vector to array[index:index + 4]."""

    def codegen(context, builder, signature, args):
        builder.store(args[2], _pointer(context, builder, signature, args), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, float64x4), codegen


@intrinsic
def splat(typing, value):
    """Return a vector of four equal numbers."""

    def codegen(context, builder, signature, args):
        return _splat(builder, args[0])

    return float64x4(types.float64), codegen


@intrinsic
def fma(typing, a, b, c):
    """Return a * b + c, fused where the machine can."""

    def codegen(context, builder, signature, args):
        return _call(builder, f"llvm.fmuladd.v{WIDTH}f64", args)

    return float64x4(float64x4, float64x4, float64x4), codegen


@intrinsic
def maximum(typing, a, b):
    """Return the larger of each pair."""

    def codegen(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return float64x4(float64x4, float64x4), codegen


@intrinsic
def positive(typing, a):
    """Return the positive parts."""

    def codegen(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", args[0], _ZERO), args[0], _ZERO)

    return float64x4(float64x4), codegen


@intrinsic
def select_positive(typing, condition, yes, no):
    """Return `yes` where the condition is above 0, else `no`."""

    def codegen(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", args[0], _ZERO), args[1], args[2])

    return float64x4(float64x4, float64x4, float64x4), codegen


@intrinsic
def keep_first(typing, a, n, other):
    """Return the vector with all but its first n entries replaced by those of `other`."""

    def codegen(context, builder, signature, args):
        lanes = ir.VectorType(_INT, WIDTH)
        count = builder.trunc(args[1], _INT)
        one = builder.insert_element(ir.Constant(lanes, ir.Undefined), count, ir.Constant(_INT, 0))
        counts = builder.shuffle_vector(
            one, ir.Constant(lanes, ir.Undefined), ir.Constant(lanes, [0] * WIDTH)
        )
        inside = builder.icmp_signed("<", ir.Constant(lanes, list(range(WIDTH))), counts)
        return builder.select(inside, args[0], args[2])

    return float64x4(float64x4, types.intp, float64x4), codegen


@intrinsic
def gather(typing, array, indices, first):
    """Return array[indices[first:first + 4]]; indices are a contiguous int32 array."""

    def codegen(context, builder, signature, args):
        array_type, index_type, _ = signature.args
        data = context.make_array(array_type)(context, builder, args[0]).data
        numbers = context.make_array(index_type)(context, builder, args[1]).data
        out = ir.Constant(_VECTOR, ir.Undefined)
        for k in range(WIDTH):
            at = builder.add(args[2], ir.Constant(args[2].type, k))
            index = builder.sext(builder.load(builder.gep(numbers, [at])), ir.IntType(64))
            value = builder.load(builder.gep(data, [index]))
            out = builder.insert_element(out, value, ir.Constant(_INT, k))
        return out

    return float64x4(array, indices, types.intp), codegen


@intrinsic
def any_nonzero(typing, a):
    """Return whether any entry differs from 0."""

    def codegen(context, builder, signature, args):
        bits = builder.bitcast(builder.fcmp_unordered("!=", args[0], _ZERO), ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(WIDTH), 0))

    return types.boolean(float64x4), codegen


def _pairwise(builder, vector, join):
    parts = [builder.extract_element(vector, ir.Constant(_INT, k)) for k in range(WIDTH)]
    return join(join(parts[0], parts[2]), join(parts[1], parts[3]))


@intrinsic
def total(typing, a):
    """Return the sum of the entries."""

    def codegen(context, builder, signature, args):
        return _pairwise(builder, args[0], builder.fadd)

    return types.float64(float64x4), codegen


@intrinsic
def vmax(typing, a):
    """Return the largest entry."""

    def codegen(context, builder, signature, args):
        def join(x, y):
            return builder.select(builder.fcmp_ordered(">", x, y), x, y)

        return _pairwise(builder, args[0], join)

    return types.float64(float64x4), codegen


@intrinsic
def extract(typing, a, k):
    """Return entry k."""

    def codegen(context, builder, signature, args):
        return builder.extract_element(args[0], builder.trunc(args[1], _INT))

    return types.float64(float64x4, types.intp), codegen
