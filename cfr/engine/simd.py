"""Vectors of numbers inside numba kernels: four or eight float64, eight float32, eight numbers of 16 bits.

Solvers spend their time on rows of six private dice or ten cards: loops too short for the compiler to
vectorise by itself. The intrinsics emit LLVM vectors, which become AVX, AVX-512, SSE or NEON instructions,
whatever the machine has. How many numbers a vector holds, its width, is part of its type, as is that of the
numbers. On sequence forms kernels are compiled once for each width that is used, and `zeros(lanes)` begins
with a tuple of that length; on public trees private states lie eight to a vector, the last ones padded, and
`take` loads numbers of the type that the array has.

Kernels pass each other addresses of arrays. `address(array)` is that of a contiguous array's first element:
indexed like the array, unchecked and without wrap-around, and not counted, so that kernels can pass it to
each other in their innermost loops. (Counting references there costs more than the arithmetic, and spills the
vector registers.) Whoever takes an address must keep it alive, which a function does that holds it as an
argument.

Sums over all entries of either width go by fours (`add_fours`), so that results do not depend on the width.

Packed numbers take 16 bits each, and eight of them, which share a power of two, one byte more:

    packed = zeros_packed(n, np.zeros(1, np.int32))    # n numbers, and the round that they are stored in
    floats = unpacked(packed, slice(0, 8))

A number is a whole one in [-32767, 32767] times two to the exponent of its vector, the smallest exponent that
the largest of the eight allows. What is lost is at most 2^-14 of that one. Numbers are rounded up or down by
chance, up the more likely the closer: sums of many small parts then keep their mean, where rounding to the
nearest would lose what is less than half a step for ever. The chance is a hash of the number, its place and
the round, so that the same run rounds the same way, on any number of threads. Inside kernels
addressed packed numbers and plain ones are taken and stored alike, packed ones as float32.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.extending import models, register_model, type_callable
from numpy.typing import NDArray

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


class _Address(types.Type):
    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"addressed({dtype})")


@register_model(_Address)
class _AddressModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        _make_model(self, dmm, fe_type, dmm.lookup(fe_type.dtype).get_data_type().as_pointer())


def _is_tuple(kind: Any) -> bool:
    return isinstance(kind, types.BaseTuple)


def _lent(kind: Any) -> Any:
    """Return the type of what is lent, None where an array is not contiguous."""
    if isinstance(kind, types.Array):
        return _Address(kind.dtype) if kind.layout == "C" else None
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
def address(typing: Any, given: Any) -> Lowered:
    """Return the address of a contiguous array's first element; of a tuple, its entries with arrays lent."""
    lent = _lent(given)

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _lend(context, builder, given, args[0])

    return None if lent is None else (lent(given), codegen)


@type_callable(operator.getitem)
def _type_getitem(context: Any) -> Any:
    def typer(addressed: Any, index: Any) -> Any:
        if isinstance(addressed, _Address) and isinstance(index, types.Integer):
            return addressed.dtype
        return None

    return typer


@lower_builtin(operator.getitem, _Address, types.Integer)
def _lower_getitem(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
    addressed, index = signature.args
    at = context.cast(builder, args[1], index, types.intp)
    return context.unpack_value(builder, addressed.dtype, builder.gep(args[0], [at]))


@type_callable(operator.setitem)
def _type_setitem(context: Any) -> Any:
    def typer(addressed: Any, index: Any, value: Any) -> Any:
        if isinstance(addressed, _Address) and isinstance(index, types.Integer):
            return types.void
        return None

    return typer


@lower_builtin(operator.setitem, _Address, types.Integer, types.Number)
def _lower_setitem(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
    addressed, index, number = signature.args
    at = context.cast(builder, args[1], index, types.intp)
    value = context.cast(builder, args[2], number, addressed.dtype)
    context.pack_value(builder, addressed.dtype, value, builder.gep(args[0], [at]))
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


WIDTHS = 4, 8
"""Numbers in a vector of a sequence form's."""
LANES = 8
"""Numbers in a vector of a public tree's, and packed numbers that share an exponent."""
LEAST_EXPONENT, MOST_EXPONENT = -126, 113
FULL = 32767

Packed = tuple[NDArray[np.int16], NDArray[np.int8], NDArray[np.int32]]
"""(whole numbers, the exponent of every eight of them, [1] the round)."""
Numbers = Any
"""An array of float32 or float64, or `Packed`."""

_get_or_insert_function: Any = cgutils.get_or_insert_function
_INT, _FLOAT = ir.IntType(32), ir.FloatType()
_NUMBERS = {types.float32: _FLOAT, types.float64: ir.DoubleType()}


class _Vector(types.Type):
    def __init__(self, n: int, dtype: Any = types.float64) -> None:
        self.n, self.dtype = n, dtype
        super().__init__(name=f"{dtype}x{n}")

    @property
    def lowered(self) -> Any:
        """The LLVM type."""
        return ir.VectorType(_NUMBERS[self.dtype], self.n)


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        _make_model(self, dmm, fe_type, fe_type.lowered)


with_arithmetic(_Vector)


def _is_packed(numba_type: Any) -> bool:
    """Return whether a type is that of addressed packed numbers."""
    return isinstance(numba_type, types.BaseTuple)


def _like(given: Any) -> _Vector:
    """Return the type of vectors like one, or of those that an addressed array of numbers is taken as."""
    if isinstance(given, _Vector):
        return given
    return _Vector(LANES, types.float32 if _is_packed(given) else given.dtype)


def _zero(vector: Any) -> ir.Constant:
    return ir.Constant(vector.type, [0.0] * vector.type.count)


def _pointer(builder: ir.IRBuilder, array: Any, index: Any, vector: _Vector) -> Any:
    return builder.bitcast(builder.gep(array, [index]), vector.lowered.as_pointer())


def _call(builder: ir.IRBuilder, name: str, args: Any, result: Any) -> Any:
    function_type = ir.FunctionType(result, [a.type for a in args])
    function = _get_or_insert_function(builder.module, function_type, name)
    return builder.call(function, args)


def _fma(builder: ir.IRBuilder, a: Any, b: Any, c: Any) -> Any:
    bits = 32 if a.type.element == _FLOAT else 64
    return _call(builder, f"llvm.fmuladd.v{a.type.count}f{bits}", [a, b, c], a.type)


def _shuffle(builder: ir.IRBuilder, vector: Any, order: Iterable[int]) -> Any:
    lanes = list(order)
    mask = ir.Constant(ir.VectorType(_INT, len(lanes)), lanes)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _splat(builder: ir.IRBuilder, one: Any, n: int) -> Any:
    """Emit a vector of equal entries."""
    empty = ir.Constant(ir.VectorType(one.type, n), ir.Undefined)
    return _shuffle(builder, builder.insert_element(empty, one, ir.Constant(_INT, 0)), [0] * n)


def _fours(builder: ir.IRBuilder, vector: Any) -> list[Any]:
    """Return the vector in pieces of four."""
    n = vector.type.count
    return [_shuffle(builder, vector, range(k, k + 4)) for k in range(0, n, 4)] if n > 4 else [vector]


def _pairwise(builder: ir.IRBuilder, vector: Any, join: Callable[[Any, Any], Any]) -> Any:
    """Join the vector's halves, then the halves of that, down to one number: the same on every machine."""
    n = vector.type.count
    while n > 1:
        n //= 2
        halves = _shuffle(builder, vector, range(n)), _shuffle(builder, vector, range(n, 2 * n))
        vector = join(*halves)
    return builder.extract_element(vector, ir.Constant(_INT, 0))


def _larger(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _of_vectors(result: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that makes an intrinsic of what emits code for vectors.

    result: its type, of the types of the arguments.
    """

    def made(emit: Callable[..., Any]) -> Any:
        @wraps(emit)
        def typed(typing: Any, *kinds: Any) -> Lowered:
            def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
                return emit(builder, *args)

            return result(*kinds)(*kinds), codegen

        return intrinsic(typed)

    return made


_vectors = _of_vectors(lambda *kinds: kinds[-1])
_number = _of_vectors(lambda vector: vector.dtype)


@_vectors
def fma(builder: ir.IRBuilder, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c, fused where the machine can."""
    return _fma(builder, a, b, c)


@_vectors
def maximum(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    """Return the larger of each pair."""
    return _larger(builder, a, b)


@_vectors
def above(builder: ir.IRBuilder, a: Any, threshold: Any) -> Any:
    """Return the entries that are larger than the threshold's, 0 instead of the others."""
    return builder.select(builder.fcmp_ordered(">", a, threshold), a, _zero(a))


@_vectors
def select_positive(builder: ir.IRBuilder, condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where the condition is above 0, else `no`."""
    return builder.select(builder.fcmp_ordered(">", condition, _zero(condition)), yes, no)


@_vectors
def add_fours(builder: ir.IRBuilder, a: Any, sums: Any) -> Any:
    """Return four sums plus each four of the vector in turn."""
    for part in _fours(builder, a):
        sums = builder.fadd(sums, part)
    return sums


@_vectors
def fma_fours(builder: ir.IRBuilder, a: Any, b: Any, sums: Any) -> Any:
    """Return four sums plus the products of each four of both vectors in turn."""
    for x, y in zip(_fours(builder, a), _fours(builder, b), strict=True):
        sums = _fma(builder, x, y, sums)
    return sums


@_number
def total(builder: ir.IRBuilder, a: Any) -> Any:
    """Return the sum of the entries, halves first."""
    return _pairwise(builder, a, builder.fadd)


@_number
def vmax(builder: ir.IRBuilder, a: Any) -> Any:
    """Return the largest entry."""
    return _pairwise(builder, a, lambda x, y: _larger(builder, x, y))


@_of_vectors(lambda vector: types.boolean)
def any_nonzero(builder: ir.IRBuilder, a: Any) -> Any:
    """Return whether any entry differs from 0."""
    bits = ir.IntType(a.type.count)
    differ = builder.bitcast(builder.fcmp_unordered("!=", a, _zero(a)), bits)
    return builder.icmp_unsigned("!=", differ, ir.Constant(bits, 0))


@intrinsic
def zeros(typing: Any, lanes: Any) -> Lowered:
    """Return the vector of zeros that is as wide as a tuple of floats is long."""
    vector = _Vector(lanes.count)
    return vector(lanes), lambda *_: ir.Constant(vector.lowered, [0.0] * vector.n)


@intrinsic
def four_zeros(typing: Any) -> Lowered:
    """Return a vector of four zeros."""
    return _Vector(4)(), lambda *_: ir.Constant(_Vector(4).lowered, [0.0] * 4)


@intrinsic
def width(typing: Any, vector: Any) -> Lowered:
    """Return how many numbers the vector holds."""
    return types.int64(vector), lambda *_: ir.Constant(ir.IntType(64), vector.n)


@intrinsic
def load(typing: Any, like: Any, array: Any, index: Any) -> Lowered:
    """Return array[index:index + width], a vector as wide as `like`; the array is addressed."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(builder, args[1], args[2], like), align=8)

    return like(like, array, types.intp), codegen


@intrinsic
def take(typing: Any, array: Any, index: Any) -> Lowered:
    """Return array[index:index + 8]; the array is addressed, or of packed numbers."""
    vector = _like(array)

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        if _is_packed(array):
            return _take_packed(builder, *args)
        return builder.load(_pointer(builder, args[0], args[1], vector), align=4)

    return vector(array, types.intp), codegen


@intrinsic
def store(typing: Any, array: Any, index: Any, vector: Any) -> Lowered:
    """Write the vector to array[index:index + width]."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        if _is_packed(array):
            _put_packed(builder, *args)
        else:
            at = _pointer(builder, args[0], args[1], vector)
            builder.store(args[2], at, align=vector.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), codegen


@intrinsic
def splat(typing: Any, like: Any, value: Any) -> Lowered:
    """Return a vector of equal numbers, of the type of `like` or of what an addressed array is taken as."""
    vector = _like(like)

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return _splat(builder, context.cast(builder, args[1], value, vector.dtype), vector.n)

    return vector(like, value), codegen


@intrinsic
def gather(typing: Any, like: Any, array: Any, indices: Any, first: Any) -> Lowered:
    """Return array[indices[first:first + width]]; both addressed, indices int32."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        _, data, numbers, start = args
        out = ir.Constant(like.lowered, ir.Undefined)
        for k in range(like.n):
            at = builder.add(start, ir.Constant(start.type, k))
            index = builder.sext(builder.load(builder.gep(numbers, [at])), ir.IntType(64))
            value = builder.load(builder.gep(data, [index]))
            out = builder.insert_element(out, value, ir.Constant(_INT, k))
        return out

    return like(like, array, indices, types.intp), codegen


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
def extract(typing: Any, a: Any, k: Any) -> Lowered:
    """Return entry k."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.extract_element(args[0], builder.trunc(args[1], _INT))

    return types.float64(a, types.intp), codegen


@intrinsic
def fetch(typing: Any, array: Any, index: Any) -> Lowered:
    """Ask for the cache line of array[index], which will soon be needed."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        at = builder.bitcast(builder.gep(args[0], [args[1]]), ir.IntType(8).as_pointer())
        how = [ir.Constant(_INT, k) for k in (0, 3, 1)]
        _call(builder, "llvm.prefetch.p0i8", [at, *how], ir.VoidType())
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


@intrinsic
def nonzero_bits(typing: Any, array: Any, index: Any) -> Lowered:
    """Return which of array[index:index + 64] are not 0, as the bits of a uint64; addresses of bytes."""

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


_INTS, _FLOATS = ir.VectorType(_INT, LANES), ir.VectorType(_FLOAT, LANES)
_SHORTS = ir.VectorType(ir.IntType(16), LANES)
_BIAS = 127
_GOLDEN, _SECOND, _THIRD = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
"""Odd multipliers of xxHash (Collet 2012), which spread the bits of a number."""


def zeros_packed(n: int, tick: NDArray[np.int32]) -> Packed:
    """Return n packed numbers, a multiple of eight, all zero. tick: [1], the round, kept by the caller."""
    return np.zeros(n, np.int16), np.zeros(n // LANES, np.int8), tick


def unpacked(numbers: Numbers, part: slice) -> NDArray[Any]:
    """Return some of the numbers as floats; of packed ones whole vectors, in float32."""
    if not isinstance(numbers, tuple):
        return np.asarray(numbers[part])
    whole, exponents, _ = numbers
    powers = np.ldexp(np.float32(1), exponents[part.start // LANES : part.stop // LANES].astype(np.int32))
    found: NDArray[Any] = whole[part].astype(np.float32).reshape(-1, LANES) * powers[:, None]
    return found.reshape(-1)


def _ints(*values: int) -> Any:
    return ir.Constant(_INTS, list(values) * (LANES // len(values)))


def _power(builder: ir.IRBuilder, exponent: Any) -> Any:
    """Emit two to an exponent, eight times."""
    bits = builder.shl(builder.add(exponent, ir.Constant(_INT, _BIAS)), ir.Constant(_INT, 23))
    return _splat(builder, builder.bitcast(bits, _FLOAT), LANES)


def _places(builder: ir.IRBuilder, numbers: Any, index: Any) -> tuple[Any, Any]:
    """Emit the addresses of eight whole numbers and of their exponent."""
    whole = builder.gep(builder.extract_value(numbers, 0), [index])
    eighth = builder.ashr(index, ir.Constant(index.type, 3))
    return (
        builder.bitcast(whole, _SHORTS.as_pointer()),
        builder.gep(builder.extract_value(numbers, 1), [eighth]),
    )


def _take_packed(builder: ir.IRBuilder, numbers: Any, index: Any) -> Any:
    """Emit eight packed numbers as a vector of float32."""
    whole, exponent = _places(builder, numbers, index)
    floats = builder.sitofp(builder.sext(builder.load(whole, align=2), _INTS), _FLOATS)
    return builder.fmul(floats, _power(builder, builder.sext(builder.load(exponent), _INT)))


def _put_packed(builder: ir.IRBuilder, numbers: Any, index: Any, vector: Any) -> None:
    """Emit what packs a vector of float32 and stores it."""
    bits = builder.bitcast(vector, _INTS)
    # Of numbers without their sign, the bits are in the order of the numbers.
    most = _pairwise(
        builder,
        builder.and_(bits, _ints(0x7FFFFFFF)),
        lambda low, high: builder.select(builder.icmp_unsigned(">", low, high), low, high),
    )
    largest = builder.lshr(most, ir.Constant(_INT, 23))
    exponent = builder.sub(largest, ir.Constant(_INT, _BIAS + 14))
    least = ir.Constant(_INT, LEAST_EXPONENT)
    exponent = builder.select(builder.icmp_signed("<", exponent, least), least, exponent)
    scaled = builder.fmul(vector, _power(builder, builder.neg(exponent)))
    spread = builder.mul(builder.trunc(index, _INT), ir.Constant(_INT, _THIRD))
    tick = builder.mul(builder.load(builder.extract_value(numbers, 2)), ir.Constant(_INT, _GOLDEN))
    place = _splat(builder, builder.add(spread, tick), LANES)
    mixed = builder.xor(bits, builder.add(place, _ints(*(k * _SECOND & 0xFFFFFFFF for k in range(LANES)))))
    for multiplier, shift in ((_GOLDEN, 15), (_SECOND, 13), (_THIRD, 16)):
        mixed = builder.mul(mixed, _ints(multiplier))
        mixed = builder.xor(mixed, builder.lshr(mixed, _ints(shift)))
    chance = builder.fmul(
        builder.uitofp(builder.lshr(mixed, _ints(8)), _FLOATS), ir.Constant(_FLOATS, [2.0**-24] * LANES)
    )
    under = _call(builder, f"llvm.floor.v{LANES}f32", [scaled], _FLOATS)
    up = builder.fcmp_ordered("<", chance, builder.fsub(scaled, under))
    rounded = builder.add(builder.fptosi(under, _INTS), builder.zext(up, _INTS))
    for sign, limit in ((">", FULL), ("<", -FULL)):
        rounded = builder.select(builder.icmp_signed(sign, rounded, _ints(limit)), _ints(limit), rounded)
    whole, at = _places(builder, numbers, index)
    builder.store(builder.trunc(rounded, _SHORTS), whole, align=2)
    builder.store(builder.trunc(exponent, ir.IntType(8)), at)
