"""Layers of the fast path: matrix products for batches, and kernels on half-precision rows for a few states.

Inputs are bytes of which a fifth are set, so a first layer is a sum of weight rows over the set bytes. One
decision on its own is bound by reading weights: kernels read them in half precision, as they are shipped, and
add in single precision.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from blueprint.checkpoint import CheckpointError
from blueprint.guandan.network.bfloat import bits, grow_positive, relu, relu_summed
from blueprint.guandan.network.input_kernels import past_indices
from blueprint.guandan.network.input_layout import PAST_WIDTH, STAKES_SCALE, STAKES_WIDTH
from games.support.array_types import Array, Bytes, Ints
from games.support.kernel import kernel

__all__ = ["FastLayer", "FastTower", "Looks", "first_layer", "run_residual", "sum_rows"]

FEW = 2
"""States up to which kernels that read half-precision weights beat matrix products (measured)."""


def _widens() -> bool:
    """Return whether one instruction widens half precision: all but x86 processors from before 2012."""
    features = binding.get_host_cpu_features()
    return bool(features["f16c"]) if "f16c" in features else platform.machine() in ("arm64", "aarch64")


def _widen_bits(typingctx: Any, bits: Any) -> Any:
    """The single-precision value of 16 bits in half precision."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        single, word = ir.FloatType(), ir.IntType(32)
        if _widens():
            return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), single)
        bits32 = builder.zext(arguments[0], word)
        size = builder.shl(builder.and_(bits32, word(0x7FFF)), word(13))
        sign = builder.shl(builder.and_(bits32, word(0x8000)), word(16))
        size = builder.fmul(builder.bitcast(size, single), single(2.0**112))
        return builder.bitcast(builder.or_(builder.bitcast(size, word), sign), single)

    return types.float32(types.uint16), codegen


_widen: Any = intrinsic(_widen_bits)


@kernel(nogil=True, fastmath=True, error_model="numpy")
def _add_rows(
    index: Ints, value: NDArray[np.float32], n: int, weight: NDArray[np.uint16], out: NDArray[np.float32]
) -> None:
    """out += value[:n] @ weight[index[:n]], four rows at a time; both lists have room for three more."""
    while n % 4:
        index[n], value[n] = 0, 0
        n += 1
    for q in range(0, n, 4):
        a, b, c, d = index[q], index[q + 1], index[q + 2], index[q + 3]
        u, v, w, z = value[q], value[q + 1], value[q + 2], value[q + 3]
        for o in range(len(out)):
            first = u * _widen(weight[a, o]) + v * _widen(weight[b, o])
            out[o] += first + w * _widen(weight[c, o]) + z * _widen(weight[d, o])


@kernel(nogil=True, fastmath=True, error_model="numpy")
def sum_rows(
    x: Bytes, weight: NDArray[np.uint16], base: NDArray[np.float32], row_of: Ints, out: NDArray[np.float32]
) -> None:
    """out[j] = base[row_of[j]] + x[j] @ weight, over the set bytes of x[j] alone."""
    index = np.empty(x.shape[1] + 3, np.int64)
    value = np.empty(x.shape[1] + 3, np.float32)
    for j in range(len(x)):
        n = 0
        for k in range(x.shape[1]):
            index[n] = k
            value[n] = x[j, k]
            n += x[j, k] != 0
        out[j] = base[row_of[j]]
        _add_rows(index, value, n, weight, out[j])


@kernel(nogil=True, fastmath=True, error_model="numpy")
def _add_past(
    words: Ints, rows: Ints, seats: Ints, weight: NDArray[np.uint16], out: NDArray[np.float32]
) -> None:
    """out[j] += what seat seats[j] has seen in state rows[j] @ weight; weight: [PAST_WIDTH, width]."""
    index = np.empty(PAST_WIDTH + 3, np.int64)
    value = np.ones(PAST_WIDTH + 3, np.float32)
    for j in range(len(rows)):
        n = past_indices(words, rows[j], np.int64(seats[j]), index)
        _add_rows(index, value, n, weight, out[j])
        value[n : n + 3] = 1


@kernel(nogil=True, fastmath=True, error_model="numpy")
def first_layer(
    x: Bytes, weight: NDArray[np.uint16], base: NDArray[np.float32], row_of: Ints, out: NDArray[np.float32]
) -> None:
    """out[j] = relu(base[row_of[j]] + x[j] @ weight), over the set bytes of x[j] alone."""
    sum_rows(x, weight, base, row_of, out)
    for j in range(len(x)):
        for o in range(out.shape[1]):
            out[j, o] = max(out[j, o], np.float32(0))


@kernel(nogil=True, fastmath=True, error_model="numpy")
def _few(
    h: NDArray[np.float32],
    weights: NDArray[np.uint16],
    biases: NDArray[np.float32],
    top_weight: NDArray[np.uint16],
    top_bias: NDArray[np.float32],
    top: NDArray[np.float32],
) -> None:
    """Run residual layers on h [n, width] in place, then write the top layer's output of it."""
    width = h.shape[1]
    index = np.arange(width + 3)
    value = np.zeros(width + 3, np.float32)
    out = np.empty(width, np.float32)
    for j in range(len(h)):
        for k in range(len(weights)):
            value[:width] = h[j]
            out[:] = biases[k]
            _add_rows(index, value, width, weights[k], out)
            for o in range(width):
                h[j, o] += max(out[o], np.float32(0))
        value[:width] = h[j]
        top[j] = top_bias
        _add_rows(index, value, width, top_weight, top[j])


class FastLayer:
    """One linear layer: by products in single and in bfloat16, by rows of half-precision weights."""

    def __init__(self, weight: Array, bias: Array, half: bool) -> None:
        self.weight = torch.from_numpy(np.ascontiguousarray(weight, np.float32))
        self.bias = torch.from_numpy(np.ascontiguousarray(bias, np.float32))
        self.base = self.bias.numpy()
        self.half = (self.weight.bfloat16(), self.bias.bfloat16()) if half else None

    def __call__(self, x: Tensor) -> Tensor:
        """Return the layer's output in the precision of `x`."""
        if x.dtype == torch.float32:
            return F.linear(x, self.weight, self.bias)
        assert self.half is not None
        return F.linear(x, *self.half)

    def product(self, x: Tensor) -> Tensor:
        """Return the layer's output without its bias, all in bfloat16."""
        assert self.half is not None
        return F.linear(x, self.half[0])

    @cached_property
    def rows(self) -> NDArray[np.uint16]:
        """[inputs, width] weights as bits in half precision."""
        return np.ascontiguousarray(self.weight.numpy().T.astype(np.float16)).view(np.uint16)


def run_residual(layers: list[FastLayer], h: Tensor) -> Tensor:
    """Return the output of residual layers; h is overwritten."""
    for layer in layers:
        if h.dtype == torch.bfloat16:
            grow_positive(bits(h), bits(layer.product(h)), layer.base)
        else:
            h.add_(layer(h).relu_())
    return h


@dataclass(frozen=True, eq=False)
class Looks:
    """Which seat looks at which state: what a tower that remembers needs beside its inputs.

    words: `views` of the states. rows, seats: [n] int64. stakes: [n, STAKES_WIDTH] uint8, None where no round
    is part of a match.
    """

    words: Ints
    rows: Ints
    seats: Ints
    stakes: NDArray[np.uint8] | None = None


class FastTower:
    """An input layer on bytes and residual layers, with any layer on top.

    past: [PAST_WIDTH, width], weights of what the others did; None for a tower that does not remember.
    stakes: [STAKES_WIDTH, width], weights of what results are worth; None for one that does not see it.
    """

    def __init__(
        self,
        first: FastLayer,
        blocks: list[FastLayer],
        past: Array | None = None,
        stakes: Array | None = None,
    ) -> None:
        self.first, self.blocks, self.base = first, blocks, first.base[None]
        self.past = None if past is None else np.ascontiguousarray(past, np.float16).view(np.uint16)
        if self.past is not None and self.past.shape != (PAST_WIDTH, len(first.base)):
            raise CheckpointError(
                f"a network's past must be {(PAST_WIDTH, len(first.base))}; got {self.past.shape}; "
                "train it anew"
            )
        self.stakes = None if stakes is None else np.asarray(stakes, np.float32) / STAKES_SCALE
        if self.stakes is not None and self.stakes.shape != (STAKES_WIDTH, len(first.base)):
            raise CheckpointError(
                f"a network's stakes must be {(STAKES_WIDTH, len(first.base))}; got {self.stakes.shape}; "
                "train it anew"
            )
        self.last = blocks[-1] if blocks else first
        width = len(first.base)
        self.stack = np.zeros((len(blocks), width, width), np.uint16)
        self.biases = np.zeros((len(blocks), width), np.float32)
        for k, block in enumerate(blocks):
            if block.weight.shape != (width, width):
                raise CheckpointError(
                    f"a network's blocks must be {width} wide; got {tuple(block.weight.shape)}; train it anew"
                )
            self.stack[k], self.biases[k] = block.rows, block.base

    def __call__(self, x: NDArray[np.uint8], top: FastLayer, half: bool, looks: Looks) -> Tensor:
        """Return the output of `top` on the tower's on x [n, inputs], [n, outputs of top].

        looks: at the states that the first rows of x are of; the others do not count.
        """
        width = self.base.shape[1]
        if half:
            h = self.first.product(torch.from_numpy(x).bfloat16())
            if self.past is None and looks.stakes is None:
                relu(bits(h), self.first.base)
            else:
                base = np.empty((len(looks.rows), width), np.float32)
                base[:] = self.base
                self._look(looks, base)
                relu_summed(bits(h), base)
            return top(run_residual(self.blocks, h))
        first = np.empty((len(x), width), np.float32)
        sum_rows(x, self.first.rows, self.base, np.zeros(len(x), np.int64), first)
        self._look(looks, first)
        np.maximum(first, 0, out=first)
        if len(x) > FEW:
            return top(run_residual(self.blocks, torch.from_numpy(first)))
        out = np.empty((len(x), len(top.base)), np.float32)
        _few(first, self.stack, self.biases, top.rows, top.base, out)
        return torch.from_numpy(out)

    def _look(self, looks: Looks, out: NDArray[np.float32]) -> None:
        """Add what is remembered and what is at stake to the first layer's sums, [n or more, width]."""
        if self.past is not None:
            _add_past(looks.words, looks.rows, looks.seats, self.past, out)
        if self.stakes is not None and looks.stakes is not None:
            weighed = torch.from_numpy(looks.stakes).float() @ torch.from_numpy(self.stakes)
            out[: len(looks.rows)] += weighed.numpy()
