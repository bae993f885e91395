"""Vectors of eight numbers, float32 or float64, inside numba kernels; `borrow` an array to load from it.

Private states lie eight to a vector, the last ones padded. Numbers in 16 bits
(`cfr.public.packed_numbers`) are taken and put as float32. The intrinsics emit LLVM vectors, which become
AVX-512, AVX, SSE or NEON instructions, whatever the machine has. Their numbers are of the type of the array
that they were loaded from.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import models, register_model

from cfr.engine.borrowed import Lowered, intrinsic, with_arithmetic
from cfr.public.packed_numbers import LANES, is_packed, put_packed, take_packed

__all__ = [
    "LANES",
    "add_product",
    "lane_sum",
    "larger",
    "over",
    "put",
    "same",
    "some",
    "take",
    "where_positive",
]

_model: Any = models.PrimitiveModel.__init__
_function: Any = cgutils.get_or_insert_function
_INT = ir.IntType(32)
_KINDS = {types.float32: (ir.FloatType(), "f32"), types.float64: (ir.DoubleType(), "f64")}


class _Lanes(types.Type):
    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"lanes({dtype})")


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        _model(self, dmm, fe_type, _vector(fe_type.dtype))


def _vector(dtype: Any) -> Any:
    return ir.VectorType(_KINDS[dtype][0], LANES)


def _type_of(array: Any) -> Any:
    """Return the type of a borrowed array's numbers."""
    return types.float32 if is_packed(array) else array.dtype


def _zero(vector: Any) -> Any:
    return ir.Constant(vector.type, [0.0] * LANES)


def _at(builder: ir.IRBuilder, args: Any, dtype: Any) -> Any:
    return builder.bitcast(builder.gep(args[0], [args[1]]), _vector(dtype).as_pointer())


with_arithmetic(_Lanes)


@intrinsic
def take(typing: Any, array: Any, index: Any) -> Lowered:
    """Return array[index:index + 8]; the array is borrowed."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        if is_packed(array):
            return take_packed(builder, *args)
        return builder.load(_at(builder, args, array.dtype), align=4)

    return _Lanes(_type_of(array))(array, types.intp), codegen


@intrinsic
def put(typing: Any, array: Any, index: Any, vector: Any) -> Lowered:
    """Write the vector to array[index:index + 8]."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        if is_packed(array):
            put_packed(builder, *args)
        else:
            builder.store(args[2], _at(builder, args, array.dtype), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), codegen


@intrinsic
def same(typing: Any, array: Any, value: Any) -> Lowered:
    """Return a vector of eight equal numbers, of the type of the borrowed array's."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        number = context.cast(builder, args[1], value, _type_of(array))
        empty = ir.Constant(_vector(_type_of(array)), ir.Undefined)
        one = builder.insert_element(empty, number, ir.Constant(_INT, 0))
        return builder.shuffle_vector(one, empty, ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES))

    return _Lanes(_type_of(array))(array, value), codegen


@intrinsic
def add_product(typing: Any, a: Any, b: Any, c: Any) -> Lowered:
    """Return a * b + c, fused where the machine can."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        name = f"llvm.fmuladd.v{LANES}{_KINDS[a.dtype][1]}"
        function_type = ir.FunctionType(args[0].type, [x.type for x in args])
        return builder.call(_function(builder.module, function_type, name), args)

    return a(a, b, c), codegen


@intrinsic
def larger(typing: Any, a: Any, b: Any) -> Lowered:
    """Return the larger of each pair."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return a(a, b), codegen


@intrinsic
def over(typing: Any, a: Any, threshold: Any) -> Lowered:
    """Return the entries that are larger than the threshold's, 0 instead of the others."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), args[0], _zero(args[0]))

    return a(a, threshold), codegen


@intrinsic
def where_positive(typing: Any, condition: Any, yes: Any, no: Any) -> Lowered:
    """Return `yes` where the condition is above 0, else `no`."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", args[0], _zero(args[0])), args[1], args[2])

    return condition(condition, yes, no), codegen


@intrinsic
def lane_sum(typing: Any, a: Any) -> Lowered:
    """Return the sum of the entries, halves first: the same on every machine."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        found, n = args[0], LANES
        while n > 1:
            n //= 2
            ends = [ir.Constant(ir.VectorType(_INT, n), [k + shift for k in range(n)]) for shift in (0, n)]
            low, high = (builder.shuffle_vector(found, found, end) for end in ends)
            found = builder.fadd(low, high)
        return builder.extract_element(found, ir.Constant(_INT, 0))

    return a.dtype(a), codegen


@intrinsic
def some(typing: Any, a: Any) -> Lowered:
    """Return whether any entry differs from 0."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        bits = builder.bitcast(builder.fcmp_unordered("!=", args[0], _zero(args[0])), ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(a), codegen
