"""Layers of the fast path: matrix products for batches, and kernels on half-precision rows for a few states.

Inputs are bytes of which a fifth are set, so a first layer is a sum of weight rows over the set bytes. One
decision on its own is bound by reading weights: kernels read them in half precision, as they are shipped, and
add in single precision.
"""

from __future__ import annotations

import platform
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
from blueprint.layers.bfloat import bits, grow_positive
from games.support.array_types import Array, Bytes, Ints
from games.support.kernel import kernel


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
def add_rows(
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


@kernel(nogil=True)
def copy_row(row: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Copy a row; NumPy's assignment would bring an error message that takes seconds to compile."""
    for k in range(len(row)):
        out[k] = row[k]


@kernel(nogil=True, fastmath=True, error_model="numpy")
def sum_rows(
    x: Bytes,
    weight: NDArray[np.uint16],
    base: NDArray[np.float32],
    row_of: Ints,
    rectify: bool,
    out: NDArray[np.float32],
) -> None:
    """out[j] = base[row_of[j]] + x[j] @ weight, over the set bytes of x[j] alone; rectify: not below 0."""
    index = np.empty(x.shape[1] + 3, np.int64)
    value = np.empty(x.shape[1] + 3, np.float32)
    for j in range(len(x)):
        n = 0
        for k in range(x.shape[1]):
            index[n] = k
            value[n] = x[j, k]
            n += x[j, k] != 0
        copy_row(base[row_of[j]], out[j])
        add_rows(index, value, n, weight, out[j])
        if rectify:
            for o in range(out.shape[1]):
                out[j, o] = max(out[j, o], np.float32(0))


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


def bucket(n: int) -> int:
    """Return the least allowed batch of n rows or more: the library compiles a product for every new size."""
    step = max(16, 1 << max(0, (n - 1).bit_length() - 3))
    return -(-n // step) * step


class Layers:
    """Layers by name from tensors, each checked to be of the shape that is asked for."""

    def __init__(self, tensors: dict[str, Array], half: bool, name: str) -> None:
        self.tensors, self.half, self.name = tensors, half, name

    def one(
        self,
        name: str,
        inputs: int | None = None,
        outputs: int | None = None,
        *,
        bias: bool = True,
        scale: Array | None = None,
    ) -> FastLayer:
        """Return a layer; inputs, outputs: how many it must have; bias: whether it has one; scale: of inputs.

        Raises CheckpointError where it is missing or of another shape.
        """
        weight, base = self.tensors.get(f"{name}.weight"), self.tensors.get(f"{name}.bias")
        if weight is not None and not bias:
            base = np.zeros(len(weight), np.float32)
        if weight is None or base is None or weight.ndim != 2 or base.shape != weight.shape[:1]:
            raise CheckpointError(f"{self.name}: {name} must be a layer, weight and bias; it is not there")
        for what, wanted, got in (("inputs", inputs, weight.shape[1]), ("outputs", outputs, len(weight))):
            if wanted not in (None, got):
                raise CheckpointError(f"{self.name}: {name} must have {wanted} {what}; got {got}")
        # copies: a snapshot of a network in training must not follow it
        weight = np.array(weight, np.float32) if scale is None else (weight * scale).astype(np.float32)
        return FastLayer(weight, np.array(base, np.float32), self.half)

    def stack(self, name: str, width: int | None = None) -> list[FastLayer]:
        """Return the layers that go by a name and a number; width: of each."""
        found: list[FastLayer] = []
        while f"{name}.{len(found)}.weight" in self.tensors:
            found.append(self.one(f"{name}.{len(found)}", width, width))
        return found


def run_residual(layers: list[FastLayer], h: Tensor) -> Tensor:
    """Return the output of residual layers; h is overwritten."""
    for layer in layers:
        if h.dtype == torch.bfloat16:
            grow_positive(bits(h), bits(layer.product(h)), layer.base)
        else:
            h.add_(layer(h).relu_())
    return h
