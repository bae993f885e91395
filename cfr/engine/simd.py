"""Vectors of four or eight float64 inside numba kernels.

Sequence-form solvers spend their time on rows of six private dice or ten cards: loops too short for the
compiler to vectorise by itself. The vector intrinsics emit LLVM vectors, which become AVX, AVX-512, SSE or
NEON instructions, whatever the machine has. How many numbers a vector holds, its width, is part of its type:
kernels are compiled once for each width that is used, and `zeros(lanes)` begins with a tuple of that length.

Sums over all entries go by fours in both widths, so that results do not depend on the width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import models, register_model

from cfr.engine.borrowed import Lowered, borrow, intrinsic, with_arithmetic

__all__ = [
    "WIDTHS",
    "above",
    "add_fours",
    "any_nonzero",
    "borrow",
    "extract",
    "fetch",
    "fma",
    "fma_fours",
    "four_zeros",
    "gather",
    "highest",
    "keep",
    "load",
    "maximum",
    "nonzero_bits",
    "positive",
    "select_positive",
    "splat",
    "store",
    "total",
    "vmax",
    "width",
    "zeros",
]

WIDTHS = 4, 8
"""Numbers in a vector."""

_get_or_insert_function: Any = cgutils.get_or_insert_function
_make_model: Any = models.PrimitiveModel.__init__


_DOUBLE = ir.DoubleType()
_INT = ir.IntType(32)


class _Vector(types.Type):
    def __init__(self, n: int) -> None:
        self.n = n
        super().__init__(name=f"float64x{n}")


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        _make_model(self, dmm, fe_type, ir.VectorType(_DOUBLE, fe_type.n))


_FOUR = _Vector(4)


def _zeros(n: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(_DOUBLE, n), [ir.Constant(_DOUBLE, 0.0)] * n)


def _undefined(n: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(_DOUBLE, n), ir.Undefined)


def _pointer(builder: ir.IRBuilder, array: Any, index: Any, n: int) -> Any:
    return builder.bitcast(builder.gep(array, [index]), ir.VectorType(_DOUBLE, n).as_pointer())


def _call(builder: ir.IRBuilder, name: str, args: Any, result: Any) -> Any:
    function_type = ir.FunctionType(result, [a.type for a in args])
    function = _get_or_insert_function(builder.module, function_type, name)
    return builder.call(function, args)


def _fma(builder: ir.IRBuilder, a: Any, b: Any, c: Any) -> Any:
    return _call(builder, f"llvm.fmuladd.v{a.type.count}f64", [a, b, c], a.type)


def _shuffle(builder: ir.IRBuilder, vector: Any, order: Iterable[int]) -> Any:
    lanes = list(order)
    mask = ir.Constant(ir.VectorType(_INT, len(lanes)), lanes)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _fours(builder: ir.IRBuilder, vector: Any) -> list[Any]:
    """Return the vector in pieces of four."""
    n = vector.type.count
    return [_shuffle(builder, vector, range(k, k + 4)) for k in range(0, n, 4)] if n > 4 else [vector]


with_arithmetic(_Vector)


@intrinsic
def zeros(typing: Any, lanes: Any) -> Lowered:
    """Return the vector of zeros that is as wide as a tuple of floats is long."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _zeros(lanes.count)

    return _Vector(lanes.count)(lanes), codegen


@intrinsic
def four_zeros(typing: Any) -> Lowered:
    """Return a vector of four zeros."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _zeros(4)

    return _FOUR(), codegen


@intrinsic
def width(typing: Any, vector: Any) -> Lowered:
    """Return how many numbers the vector holds."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return ir.Constant(ir.IntType(64), vector.n)

    return types.int64(vector), codegen


@intrinsic
def load(typing: Any, like: Any, array: Any, index: Any) -> Lowered:
    """Return array[index:index + width], a vector as wide as `like`; the array is borrowed."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(builder, args[1], args[2], like.n), align=8)

    return like(like, array, types.intp), codegen


@intrinsic
def store(typing: Any, array: Any, index: Any, vector: Any) -> Lowered:
    """Write the vector to array[index:index + width]."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        builder.store(args[2], _pointer(builder, args[0], args[1], vector.n), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), codegen


@intrinsic
def splat(typing: Any, like: Any, value: Any) -> Lowered:
    """Return a vector of equal numbers, as wide as `like`."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        one = builder.insert_element(_undefined(like.n), args[1], ir.Constant(_INT, 0))
        return _shuffle(builder, one, [0] * like.n)

    return like(like, types.float64), codegen


@intrinsic
def gather(typing: Any, like: Any, array: Any, indices: Any, first: Any) -> Lowered:
    """Return array[indices[first:first + width]]; both borrowed, indices int32."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        _, data, numbers, start = args
        out = _undefined(like.n)
        for k in range(like.n):
            at = builder.add(start, ir.Constant(start.type, k))
            index = builder.sext(builder.load(builder.gep(numbers, [at])), ir.IntType(64))
            value = builder.load(builder.gep(data, [index]))
            out = builder.insert_element(out, value, ir.Constant(_INT, k))
        return out

    return like(like, array, indices, types.intp), codegen


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Lowered:
    """Return a * b + c, fused where the machine can."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _fma(builder, *args)

    return a(a, b, c), codegen


@intrinsic
def maximum(typing: Any, a: Any, b: Any) -> Lowered:
    """Return the larger of each pair."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return a(a, b), codegen


@intrinsic
def positive(typing: Any, a: Any) -> Lowered:
    """Return the positive parts."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        zero = _zeros(a.n)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[0], zero)

    return a(a), codegen


@intrinsic
def above(typing: Any, a: Any, threshold: Any) -> Lowered:
    """Return the entries that are larger than the threshold's, 0 instead of the others."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), args[0], _zeros(a.n))

    return a(a, threshold), codegen


@intrinsic
def select_positive(typing: Any, condition: Any, yes: Any, no: Any) -> Lowered:
    """Return `yes` where the condition is above 0, else `no`."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", args[0], _zeros(yes.n)), args[1], args[2])

    return yes(condition, yes, no), codegen


@intrinsic
def keep(typing: Any, a: Any, mask: Any, other: Any) -> Lowered:
    """Return the vector with the entries whose bit in the mask is 0 replaced by those of `other`."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        bits = ir.IntType(a.n)
        inside = builder.trunc(args[1], bits) if args[1].type.width > a.n else args[1]
        lanes = builder.bitcast(inside, ir.VectorType(ir.IntType(1), a.n))
        return builder.select(lanes, args[0], args[2])

    return a(a, types.uint8, other), codegen


@intrinsic
def any_nonzero(typing: Any, a: Any) -> Lowered:
    """Return whether any entry differs from 0."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        bits = builder.bitcast(builder.fcmp_unordered("!=", args[0], _zeros(a.n)), ir.IntType(a.n))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(a.n), 0))

    return types.boolean(a), codegen


@intrinsic
def add_fours(typing: Any, a: Any, sums: Any) -> Lowered:
    """Return four sums plus each four of the vector in turn."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        out = args[1]
        for part in _fours(builder, args[0]):
            out = builder.fadd(out, part)
        return out

    return sums(a, sums), codegen


@intrinsic
def fma_fours(typing: Any, a: Any, b: Any, sums: Any) -> Lowered:
    """Return four sums plus the products of each four of both vectors in turn."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        out = args[2]
        for x, y in zip(_fours(builder, args[0]), _fours(builder, args[1]), strict=True):
            out = _fma(builder, x, y, out)
        return out

    return sums(a, b, sums), codegen


def _pairwise(builder: ir.IRBuilder, vector: Any, join: Callable[[Any, Any], Any]) -> Any:
    """Join the vector's halves, then the halves of that, down to one number."""
    n = vector.type.count
    while n > 1:
        n //= 2
        halves = _shuffle(builder, vector, range(n)), _shuffle(builder, vector, range(n, 2 * n))
        vector = join(*halves)
    return builder.extract_element(vector, ir.Constant(_INT, 0))


@intrinsic
def total(typing: Any, a: Any) -> Lowered:
    """Return the sum of four entries."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _pairwise(builder, args[0], builder.fadd)

    return types.float64(_FOUR), codegen


@intrinsic
def vmax(typing: Any, a: Any) -> Lowered:
    """Return the largest entry."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        def join(x: Any, y: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", x, y), x, y)

        return _pairwise(builder, args[0], join)

    return types.float64(a), codegen


@intrinsic
def fetch(typing: Any, array: Any, index: Any) -> Lowered:
    """Ask for the cache line of array[index], which will soon be needed."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = _get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        at = builder.bitcast(builder.gep(args[0], [args[1]]), byte)
        builder.call(function, [at, *(ir.Constant(number, k) for k in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


@intrinsic
def nonzero_bits(typing: Any, array: Any, index: Any) -> Lowered:
    """Return which of array[index:index + 64] are not 0, as the bits of a uint64; borrowed bytes."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        kind = ir.VectorType(ir.IntType(8), 64)
        data = builder.load(builder.bitcast(builder.gep(args[0], [args[1]]), kind.as_pointer()), align=1)
        some = builder.icmp_unsigned("!=", data, ir.Constant(kind, [0] * 64))
        return builder.bitcast(some, ir.IntType(64))

    return types.uint64(array, types.intp), codegen


@intrinsic
def highest(typing: Any, bits: Any) -> Lowered:
    """Return the number of the highest bit that is set in a uint64 other than 0."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        zeros_above = _call(builder, "llvm.ctlz.i64", [args[0], ir.Constant(ir.IntType(1), 1)], word)
        return builder.sub(ir.Constant(word, 63), zeros_above)

    return types.int64(types.uint64), codegen


@intrinsic
def extract(typing: Any, a: Any, k: Any) -> Lowered:
    """Return entry k."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.extract_element(args[0], builder.trunc(args[1], _INT))

    return types.float64(a, types.intp), codegen
