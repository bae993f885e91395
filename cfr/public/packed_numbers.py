"""Numbers in 16 bits: eight to a vector, which share a power of two, one byte more.

    packed = zeros_packed(n, np.zeros(1, np.int32))    # n numbers, and the round that they are stored in
    floats = unpacked(packed, slice(0, 8))

A number is a whole one in [-32767, 32767] times two to the exponent of its vector, the smallest exponent that
the largest of the eight allows. What is lost is at most 2^-14 of that one. Numbers are rounded up or down by
chance, up the more likely the closer: sums of many small parts then keep their mean, where rounding to the
nearest would lose what is less than half a step for ever. The chance is a hash of the number, its place and
the round, so that the same run rounds the same way, on any number of threads.

Inside kernels, `borrow_numbers` lends such arrays or plain ones, and `take` and `put` of `cfr.public.vectors`
serve both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from cfr.engine.borrowed import Lowered, borrow, intrinsic

__all__ = [
    "LANES",
    "LEAST_EXPONENT",
    "MOST_EXPONENT",
    "Numbers",
    "Packed",
    "borrow_numbers",
    "is_packed",
    "put_packed",
    "take_packed",
    "unpacked",
    "zeros_packed",
]

LANES = 8
LEAST_EXPONENT, MOST_EXPONENT = -126, 113
FULL = 32767

Packed = tuple[NDArray[np.int16], NDArray[np.int8], NDArray[np.int32]]
"""(whole numbers, the exponent of every eight of them, [1] the round)."""
Numbers = Any
"""An array of float32 or float64, or `Packed`."""

_INT, _FLOAT = ir.IntType(32), ir.FloatType()
_INTS, _FLOATS = ir.VectorType(_INT, LANES), ir.VectorType(_FLOAT, LANES)
_SHORTS = ir.VectorType(ir.IntType(16), LANES)
_function: Any = cgutils.get_or_insert_function
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


def is_packed(numba_type: Any) -> bool:
    """Return whether a type inside a kernel is that of borrowed packed numbers."""
    return isinstance(numba_type, types.BaseTuple)


@intrinsic
def borrow_numbers(typing: Any, numbers: Any) -> Lowered:
    """Return the address of plain numbers, or the addresses of packed ones."""
    if not is_packed(numbers):
        lent = typing.resolve_function_type(borrow, (numbers,), {}).return_type

        def plain(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            return context.make_array(signature.args[0])(context, builder, args[0]).data

        return lent(numbers), plain
    tuple_of: Any = types.Tuple
    lent = tuple_of([typing.resolve_function_type(borrow, (part,), {}).return_type for part in numbers])

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        parts = [
            context.make_array(part)(context, builder, builder.extract_value(args[0], k)).data
            for k, part in enumerate(signature.args[0])
        ]
        return context.make_tuple(builder, signature.return_type, parts)

    return lent(numbers), codegen


def _all(builder: ir.IRBuilder, one: Any) -> Any:
    """Emit a vector of eight equal entries."""
    empty = ir.Constant(ir.VectorType(one.type, LANES), ir.Undefined)
    first = builder.insert_element(empty, one, ir.Constant(_INT, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(_INTS, [0] * LANES))


def _ints(*values: int) -> Any:
    return ir.Constant(_INTS, list(values) * (LANES // len(values)))


def _power(builder: ir.IRBuilder, exponent: Any) -> Any:
    """Emit two to an exponent, eight times."""
    bits = builder.shl(builder.add(exponent, ir.Constant(_INT, _BIAS)), ir.Constant(_INT, 23))
    return _all(builder, builder.bitcast(bits, _FLOAT))


def _places(builder: ir.IRBuilder, numbers: Any, index: Any) -> tuple[Any, Any]:
    """Emit the addresses of eight whole numbers and of their exponent."""
    whole = builder.gep(builder.extract_value(numbers, 0), [index])
    eighth = builder.ashr(index, ir.Constant(index.type, 3))
    return (
        builder.bitcast(whole, _SHORTS.as_pointer()),
        builder.gep(builder.extract_value(numbers, 1), [eighth]),
    )


def take_packed(builder: ir.IRBuilder, numbers: Any, index: Any) -> Any:
    """Emit eight packed numbers as a vector of float32."""
    whole, exponent = _places(builder, numbers, index)
    floats = builder.sitofp(builder.sext(builder.load(whole, align=2), _INTS), _FLOATS)
    return builder.fmul(floats, _power(builder, builder.sext(builder.load(exponent), _INT)))


def put_packed(builder: ir.IRBuilder, numbers: Any, index: Any, vector: Any) -> None:
    """Emit what packs a vector of float32 and stores it."""
    bits = builder.bitcast(vector, _INTS)
    # Of numbers without their sign, the bits are in the order of the numbers.
    most, n = builder.and_(bits, _ints(0x7FFFFFFF)), LANES
    while n > 1:
        n //= 2
        halves = [ir.Constant(ir.VectorType(_INT, n), [k + shift for k in range(n)]) for shift in (0, n)]
        low, high = (builder.shuffle_vector(most, most, half) for half in halves)
        most = builder.select(builder.icmp_unsigned(">", low, high), low, high)
    largest = builder.lshr(builder.extract_element(most, ir.Constant(_INT, 0)), ir.Constant(_INT, 23))
    exponent = builder.sub(largest, ir.Constant(_INT, _BIAS + 14))
    least = ir.Constant(_INT, LEAST_EXPONENT)
    exponent = builder.select(builder.icmp_signed("<", exponent, least), least, exponent)
    scaled = builder.fmul(vector, _power(builder, builder.neg(exponent)))
    spread = builder.mul(builder.trunc(index, _INT), ir.Constant(_INT, _THIRD))
    tick = builder.mul(builder.load(builder.extract_value(numbers, 2)), ir.Constant(_INT, _GOLDEN))
    place = _all(builder, builder.add(spread, tick))
    mixed = builder.xor(bits, builder.add(place, _ints(*(k * _SECOND & 0xFFFFFFFF for k in range(LANES)))))
    for multiplier, shift in ((_GOLDEN, 15), (_SECOND, 13), (_THIRD, 16)):
        mixed = builder.mul(mixed, _ints(multiplier))
        mixed = builder.xor(mixed, builder.lshr(mixed, _ints(shift)))
    chance = builder.fmul(
        builder.uitofp(builder.lshr(mixed, _ints(8)), _FLOATS), ir.Constant(_FLOATS, [2.0**-24] * LANES)
    )
    floor = _function(builder.module, ir.FunctionType(_FLOATS, [_FLOATS]), f"llvm.floor.v{LANES}f32")
    under = builder.call(floor, [scaled])
    up = builder.fcmp_ordered("<", chance, builder.fsub(scaled, under))
    rounded = builder.add(builder.fptosi(under, _INTS), builder.zext(up, _INTS))
    for sign, limit in ((">", FULL), ("<", -FULL)):
        rounded = builder.select(builder.icmp_signed(sign, rounded, _ints(limit)), _ints(limit), rounded)
    whole, at = _places(builder, numbers, index)
    builder.store(builder.trunc(rounded, _SHORTS), whole, align=2)
    builder.store(builder.trunc(exponent, ir.IntType(8)), at)
