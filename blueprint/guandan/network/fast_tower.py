"""The state tower of GuanDan's networks on the fast path: many states by products, a few by kernels.

Beside its bytes a tower may read what the others did in the round and what is at stake, whose weights are
added to the first layer's sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blueprint.checkpoint import CheckpointError
from blueprint.guandan.network.input_kernels import past_indices
from blueprint.guandan.network.input_layout import PAST_WIDTH, STAKES_SCALE, STAKES_WIDTH
from blueprint.layers.bfloat import bits, relu, relu_summed
from blueprint.layers.half_rows import FastLayer, add_rows, copy_row, run_residual, sum_rows
from games.support.array_types import Array, Ints
from games.support.kernel import kernel

__all__ = ["FastTower", "Looks"]

FEW = 2
"""States up to which kernels that read half-precision weights beat matrix products (measured)."""


@kernel(nogil=True, fastmath=True, error_model="numpy")
def _add_past(
    words: Ints, rows: Ints, seats: Ints, weight: NDArray[np.uint16], out: NDArray[np.float32]
) -> None:
    """out[j] += what seat seats[j] has seen in state rows[j] @ weight; weight: [PAST_WIDTH, width]."""
    index = np.empty(PAST_WIDTH + 3, np.int64)
    value = np.ones(PAST_WIDTH + 3, np.float32)
    for j in range(len(rows)):
        n = past_indices(words, rows[j], np.int64(seats[j]), index)
        add_rows(index, value, n, weight, out[j])
        value[n : n + 3] = 1


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
            copy_row(h[j], value)
            copy_row(biases[k], out)
            add_rows(index, value, width, weights[k], out)
            for o in range(width):
                h[j, o] += max(out[o], np.float32(0))
        copy_row(h[j], value)
        copy_row(top_bias, top[j])
        add_rows(index, value, width, top_weight, top[j])


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
        sum_rows(x, self.first.rows, self.base, np.zeros(len(x), np.int64), False, first)
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
