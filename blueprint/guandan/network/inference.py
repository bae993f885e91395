"""The shipped network's fast path on a processor: batches of decisions with any number of actions each.

The state tower runs once per decision, the head once per action. Inputs are bytes of which a fifth are set,
so the first layers are sums of weight rows over the set bytes; the rest are matrix products. Where the
processor multiplies bfloat16 tiles natively (AMX), batches go through it in pieces that stay in the cache.
A decision on its own is bound by reading weights: its kernels read them in half precision, as they are
shipped, and add in single precision. No training code is imported. `gs2 bench blueprint` measures all of
this beside the floating-point floor.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blueprint.checkpoint import CheckpointError, read_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.network.inputs import (
    HIDDEN_WIDTH,
    LAYOUTS,
    OUTCOMES,
    PAST_WIDTH,
    ROWS,
    STAKES_SCALE,
    STAKES_WIDTH,
    encode_stakes,
    past_indices,
    state_scale,
)
from blueprint.layers.bfloat import bits, native_half, relu, relu_summed
from blueprint.layers.fast_moves import FastMoves, FastViews, Top
from blueprint.layers.half_rows import FastLayer, Layers, add_rows, copy_row, run_residual, sum_rows
from games.guandan.rounds.state import NOBODY
from games.round_rows import views
from games.support.array_types import Array, Bytes, Ints
from games.support.kernel import kernel

PAYOFFS = torch.tensor(OUTCOMES)
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


class _Views(FastViews):
    """A tower that may read what the others did in the round and what is at stake beside its bytes.

    past: [PAST_WIDTH, width], weights of what the others did. stakes: [STAKES_WIDTH, width], weights of what
    results are worth. Both are added to the first layer's sums; None where there are none.
    """

    small = 160
    """Actions, or states without, below which single precision is faster (measured)."""

    def __init__(self, layers: Layers, name: str, *, whole: bool = False) -> None:
        scale = state_scale()
        if whole:
            scale = np.concatenate([scale, np.ones(HIDDEN_WIDTH, np.float32)])
        super().__init__(ROWS, layers, name, whole=whole, scale=scale)
        past, stakes = (
            _sized(layers, f"{name}.{part}", width, self.width)
            for part, width in (("past", PAST_WIDTH), ("stakes", STAKES_WIDTH))
        )
        self.past = None if past is None else np.ascontiguousarray(past, np.float16).view(np.uint16)
        self.stakes = None if stakes is None else np.asarray(stakes, np.float32) / STAKES_SCALE
        self.base = self.first.base[None]
        self.stack = np.zeros((len(self.blocks), self.width, self.width), np.uint16)
        self.biases = np.zeros((len(self.blocks), self.width), np.float32)
        for k, block in enumerate(self.blocks):
            self.stack[k], self.biases[k] = block.rows, block.base

    def _through(self, x: Bytes, states: Array, rows: Ints, seats: Ints, half: bool, top: Top) -> Tensor:
        stakes = None
        if self.stakes is not None and not np.all(states["fails"][rows, 0] == NOBODY):
            weighed = torch.from_numpy(encode_stakes(states, seats, rows)).float()
            stakes = (weighed @ torch.from_numpy(self.stakes)).numpy()
        if half:
            h = self.first.product(torch.from_numpy(x).bfloat16())
            if self.past is None and stakes is None:
                relu(bits(h), self.first.base)
            else:
                base = np.empty((len(rows), self.width), np.float32)
                base[:] = self.base
                self._look(states, rows, seats, stakes, base)
                relu_summed(bits(h), base)
            return top(run_residual(self.blocks, h))
        first = np.empty((len(x), self.width), np.float32)
        sum_rows(x, self.first.rows, self.base, np.zeros(len(x), np.int64), False, first)
        self._look(states, rows, seats, stakes, first)
        np.maximum(first, 0, out=first)
        if len(x) > FEW or not isinstance(top, FastLayer):
            return top(run_residual(self.blocks, torch.from_numpy(first)))
        out = np.empty((len(x), len(top.base)), np.float32)
        _few(first, self.stack, self.biases, top.rows, top.base, out)
        return torch.from_numpy(out)

    def _look(self, states: Array, rows: Ints, seats: Ints, stakes: Array | None, out: Array) -> None:
        """Add what is remembered and what is at stake to the first layer's sums, [n, width]."""
        if self.past is not None:
            _add_past(views(states)[0], rows, seats, self.past, out)
        if stakes is not None:
            out += stakes


def _sized(layers: Layers, name: str, inputs: int, width: int) -> Array | None:
    """Return further weights of a first layer, [inputs, width], if they are there."""
    found = layers.tensors.get(name)
    if found is not None and found.shape != (inputs, width):
        raise CheckpointError(
            f"{layers.name}: {name} must be {(inputs, width)}; got {found.shape}; train it anew"
        )
    return found


class Inference(FastMoves):
    """V(I), A(I, a) and, if its weights are there, the critic's value of all four hands; in levels.

    Answers from different threads do not disturb each other. One decision's scores depend on what is asked
    together with it by rounding alone (bfloat16 in batches where that is native).
    """

    def __init__(
        self,
        tensors: dict[str, Array],
        *,
        name: str = "network",
        critic: bool = True,
        half: bool | None = None,
    ) -> None:
        """Take the tensors of a checkpoint: `network.*` and, if `critic` and there, `critic.*`.

        half: multiply batches in bfloat16; None where that is native. Raises CheckpointError if a tensor is
        missing or its shape does not fit.
        """
        self.sees_all = critic and "critic.tower.input.weight" in tensors
        super().__init__(ROWS, tensors, half=native_half() if half is None else half, name=name)

    def _tower(self, layers: Layers) -> _Views:
        return _Views(layers, "network.tower")

    def _further(self, layers: Layers) -> None:
        width, results = self._views.width, len(OUTCOMES)
        self.sees_stakes = "network.tower.stakes" in layers.tensors
        self._hidden = layers.one("network.value_hidden", width)
        self._value = layers.one("network.value", len(self._hidden.base), results)
        if self.sees_all:
            self._open = _Views(layers, "critic.tower", whole=True)
            self._judged = layers.one("critic.value", self._open.width, results)

    def _joined(self, x: Bytes, context: Tensor, counts: Ints) -> Tensor:
        base = context.numpy() + self._action.base
        first = np.empty((len(x), base.shape[1]), np.float32)
        sum_rows(x, self._action.rows, base, np.repeat(np.arange(len(counts)), counts), True, first)
        return torch.from_numpy(first)

    def values(self, states: Array, rows: Ints, seats: Ints) -> NDArray[np.float64]:
        """Return V(I) of what each seat sees, [k] float64, whoever is to act."""
        return _expected(self._value_results(states, rows, seats))

    def value_results(self, states: Array, rows: Ints, seats: Ints) -> NDArray[np.float64]:
        """Return the probabilities of how the round ends for the seats' sides, as they see it, [k, 7]."""
        return self._value_results(states, rows, seats).double().numpy()

    def _value_results(self, states: Array, rows: Ints, seats: Ints) -> Tensor:
        then: Top = lambda h: self._value(h.relu_()).float().softmax(1)  # noqa: E731
        return self._views.told(states, rows, seats, self._hidden, len(OUTCOMES), then=then)

    def critic_values(self, states: Array, rows: Ints, seats: Ints) -> NDArray[np.float64]:
        """Return the critic's value of all four hands to each seat, [k] float64.

        Raises ValueError if there is no critic (`sees_all` says so).
        """
        return _expected(self._critic_results(states, rows, seats))

    def critic_results(self, states: Array, rows: Ints, seats: Ints) -> NDArray[np.float64]:
        """Return the critic's probabilities of how the round ends for the seats' sides, [k, 7].

        Raises ValueError if there is no critic (`sees_all` says so).
        """
        return self._critic_results(states, rows, seats).double().numpy()

    def _critic_results(self, states: Array, rows: Ints, seats: Ints) -> Tensor:
        if not self.sees_all:
            raise ValueError(f"{self.name}: there is no critic; load a checkpoint that holds one")
        then: Top = lambda logits: logits.float().softmax(1)  # noqa: E731
        return self._open.told(states, rows, seats, self._judged, len(OUTCOMES), then=then)


def _expected(shares: Tensor) -> NDArray[np.float64]:
    return (shares @ PAYOFFS).double().numpy()


def load_inference(
    path: str | os.PathLike[str] | None = None, *, critic: bool = True, half: bool | None = None
) -> Inference:
    """Return the fast path of a checkpoint, by default the shipped one.

    critic: keep the critic of all four hands if the checkpoint holds one. half: see `Inference`.
    Products run on as many threads as torch is set to; one is best where others share the machine.
    Raises CheckpointError if the file is missing, damaged or foreign.
    """
    path = SHIPPED if path is None else Path(path)
    tensors, description = read_checkpoint(path, features=LAYOUTS)
    return Inference(tensors, name=f"{path.stem}@{description.get('decisions', 0)}", critic=critic, half=half)
