"""What happens between matrix products in bfloat16, one pass over memory each.

Products in bfloat16 are fast enough where the processor has instructions for them (AMX, AVX-512 BF16) that
the passes between them (bias, ReLU, sums) would take as long as the products; here each layer has one. NumPy
and Numba have no bfloat16: kernels take its bits and add in single precision. Widths are of the last axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray
from torch import Tensor

from games.support.array_types import Array, Ints
from games.support.kernel import kernel

NATIVE = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
"""Questions to torch.cpu, which older versions do not know."""


def native_half() -> bool:
    """Return whether this processor multiplies bfloat16 natively: in tiles (AMX), or in vectors (AVX-512).

    Products are some eight and four times as fast by it as in single precision (our measurement).
    """
    library = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]  # of torch
    asked = (getattr(torch.cpu, name, None) for name in NATIVE)
    return bool(library and any(supported is not None and supported() for supported in asked))


def bits(x: Tensor) -> NDArray[np.uint16]:
    """Return the memory of a bfloat16 tensor on the processor, as bits."""
    return x.view(torch.int16).numpy().view(np.uint16)


def _widen_bits(typingctx: Any, bits: Any) -> Any:
    """The single-precision value of 16 bits in bfloat16."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        return builder.bitcast(builder.shl(builder.zext(arguments[0], word), word(16)), ir.FloatType())

    return types.float32(types.uint16), codegen


def _narrow_value(typingctx: Any, value: Any) -> Any:
    """The 16 bits in bfloat16 nearest to a finite single-precision value, ties to even."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        whole = builder.bitcast(arguments[0], word)
        odd = builder.and_(builder.lshr(whole, word(16)), word(1))
        rounded = builder.add(whole, builder.add(odd, word(0x7FFF)))
        return builder.trunc(builder.lshr(rounded, word(16)), ir.IntType(16))

    return types.uint16(types.float32), codegen


_widen: Any = intrinsic(_widen_bits)
_narrow: Any = intrinsic(_narrow_value)


@kernel(nogil=True, fastmath=True, error_model="numpy")
def relu(h: NDArray[np.uint16], bias: NDArray[np.float32]) -> None:
    """h = relu(h + bias); h: [n, width] bits, bias: [width] float32."""
    for j in range(len(h)):
        for o in range(h.shape[1]):
            h[j, o] = _narrow(max(_widen(h[j, o]) + bias[o], np.float32(0)))


@kernel(nogil=True, fastmath=True, error_model="numpy")
def relu_joined(
    h: NDArray[np.uint16], context: NDArray[np.uint16], bias: NDArray[np.float32], counts: Ints
) -> None:
    """h[j] = relu(h[j] + bias + its context); counts[i] rows of h in a row have context[i].

    h: [n, width], context: [m, width] bits; bias: [width] float32.
    """
    j = 0
    base = np.empty(h.shape[1], np.float32)
    for i in range(len(counts)):
        for o in range(h.shape[1]):
            base[o] = bias[o] + _widen(context[i, o])
        for _ in range(counts[i]):
            for o in range(h.shape[1]):
                h[j, o] = _narrow(max(_widen(h[j, o]) + base[o], np.float32(0)))
            j += 1


@kernel(nogil=True, fastmath=True, error_model="numpy")
def relu_summed(h: NDArray[np.uint16], more: NDArray[np.float32]) -> None:
    """h[j] = relu(h[j] + more[j]) for every row of `more`; h: [n or more, width] bits, more: [n, width]."""
    for j in range(len(more)):
        for o in range(h.shape[1]):
            h[j, o] = _narrow(max(_widen(h[j, o]) + more[j, o], np.float32(0)))


@kernel(nogil=True, fastmath=True, error_model="numpy")
def grow_positive(h: NDArray[np.uint16], y: NDArray[np.uint16], bias: NDArray[np.float32]) -> None:
    """h += relu(y + bias), in place; h, y: [n, width] bits, bias: [width] float32.

    `add_positive` of three arrays of which two are one is several times slower: its loop is not vectorised.
    """
    for j in range(len(h)):
        for o in range(h.shape[1]):
            h[j, o] = _narrow(_widen(h[j, o]) + max(_widen(y[j, o]) + bias[o], np.float32(0)))


@kernel(nogil=True, fastmath=True, error_model="numpy")
def add_positive(h: NDArray[np.uint16], y: NDArray[np.uint16], bias: NDArray[np.float32], out: Array) -> None:
    """y = relu(y + bias), out = h + y; h, y, out: [n, width] bits (out may be h), bias: [width] float32."""
    for j in range(len(h)):
        for o in range(h.shape[1]):
            more = max(_widen(y[j, o]) + bias[o], np.float32(0))
            y[j, o] = _narrow(more)
            out[j, o] = _narrow(_widen(h[j, o]) + more)


@kernel(nogil=True, fastmath=True, error_model="numpy")
def dot_rows(h: NDArray[np.uint16], weight: NDArray[np.float32], bias: Any, out: NDArray[np.float32]) -> None:
    """out[j] = h[j] @ weight + bias; h: [n or more, width] bits, weight: [width], out: [n] float32."""
    for j in range(len(out)):
        total = bias
        for o in range(h.shape[1]):
            total += _widen(h[j, o]) * weight[o]
        out[j] = total


@kernel(nogil=True, fastmath=True, error_model="numpy")
def add_set(x: NDArray[np.uint16], weight: NDArray[np.float32], out: NDArray[np.uint16]) -> None:
    """out = x @ weight, by the rows of the weight at which x is set alone.

    x: [n, inputs] bits of 0 and 1, weight: [inputs, width] float32, out: [n, width] bits.
    """
    total = np.empty(out.shape[1], np.float32)
    for j in range(len(x)):
        total[:] = 0
        for k in range(x.shape[1]):
            if x[j, k]:
                for o in range(len(total)):
                    total[o] += weight[k, o]
        for o in range(len(total)):
            out[j, o] = _narrow(total[o])


@kernel(nogil=True, fastmath=True, error_model="numpy")
def scattered(x: NDArray[np.uint16], gradient: NDArray[np.uint16], out: NDArray[np.float32]) -> None:
    """out += x.T @ gradient, by the rows at which x is set alone; shapes as in `add_set`, gradient as out."""
    wide = np.empty(gradient.shape[1], np.float32)
    for j in range(len(x)):
        for o in range(len(wide)):
            wide[o] = _widen(gradient[j, o])
        for k in range(x.shape[1]):
            if x[j, k]:
                for o in range(len(wide)):
                    out[k, o] += wide[o]


@kernel(nogil=True, fastmath=True, error_model="numpy")
def masked(
    gradient: NDArray[np.uint16], y: NDArray[np.uint16], out: Array, total: NDArray[np.float32]
) -> None:
    """out = gradient where y > 0, else 0; total = its sum over rows.

    gradient: [n, width] bits, of the output of a ReLU, y: that output; out: [n, width] bits, total: [width]
    float32.
    """
    total[:] = 0
    for j in range(len(y)):
        for o in range(y.shape[1]):
            one = gradient[j, o] if 0 < y[j, o] < 0x8000 else np.uint16(0)
            out[j, o] = one
            total[o] += _widen(one)
