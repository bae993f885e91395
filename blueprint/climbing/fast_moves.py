"""The network as it plays: batches of decisions with any number of moves each, without training code.

The tower runs once a decision, the head once a move. Where the processor multiplies bfloat16 natively,
batches go through in that precision; a blueprint answers in single precision, so that what is asked together
does not matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blueprint.climbing.move_inputs import MoveInputs
from blueprint.layers.bfloat import bits, dot_rows, relu, relu_joined
from blueprint.layers.half_rows import Layers, bucket, run_residual
from blueprint.paper_parts import paper_part
from games.support.array_types import Array, Ints

__all__ = ["FastCritic", "FastMoves", "fast_moves"]

CHUNK = 2048
"""Moves, or views without, that go through at once: layers of more leave the cache."""

OTHERS = tuple(f"network.{name}." for name in ("hands", "foreseen", "personality", "recogniser", "heard"))
"""Layers of networks that know something of the others."""


class _FastTower:
    """An input layer on bytes and residual layers."""

    def __init__(self, layers: Layers, name: str, inputs: int) -> None:
        self.first = layers.one(f"{name}.input", inputs)
        self.width = len(self.first.base)
        self.blocks = layers.stack(f"{name}.blocks", self.width)
        self.half = layers.half

    def __call__(self, x: NDArray[np.uint8]) -> Tensor:
        """Return [n, width] from [n, inputs]."""
        given = torch.from_numpy(x)
        if self.half:
            h = self.first.product(given.bfloat16())
            relu(bits(h), self.first.base)
        else:
            h = self.first(given.float()).relu_()
        return run_residual(self.blocks, h)


class FastMoves:
    """V and A of a snapshot. Answers from different threads do not disturb each other."""

    def __init__(
        self, inputs: MoveInputs, tensors: dict[str, Array], *, half: bool, name: str = "network"
    ) -> None:
        """Take the tensors `network.*`. half: multiply in bfloat16.

        Raises CheckpointError if a tensor is missing or its shape does not fit.
        """
        self.inputs, self.half = inputs, half
        layers = Layers(tensors, half, name)
        self._tower = _FastTower(layers, "network.tower", inputs.seat_bits)
        width = self._tower.width
        self._value = layers.one("network.value", width, 1)
        self._context = layers.one("network.context", width)
        inner = len(self._context.base)
        self._action = layers.one("network.action", inputs.move_bits, inner)
        self._head = layers.stack("network.head", inner)
        self._advantage = layers.one("network.advantage", inner, 1)
        self._further(layers)

    @property
    def knows_hands(self) -> bool:
        """Return whether there is a head that says who holds the hidden cards."""
        return False

    @property
    def knows_types(self) -> bool:
        """Return whether there is a head that says by whose rule each other seat plays."""
        return False

    def _further(self, layers: Layers) -> None:
        """Take what a network of a kind of its own has besides."""

    def _seen(self, h: Tensor) -> Tensor:
        """Return what the tower's output adds to the first layer of the moves' head."""
        return self._context(h)

    def _views(self, states: Array, rows: Ints, seats: Ints) -> Iterator[tuple[slice, Tensor]]:
        """Yield the tower's output of what seats see, in parts; rows beyond a part's length are padding."""
        for low in range(0, len(rows), CHUNK):
            high = min(low + CHUNK, len(rows))
            n = high - low
            x = np.zeros((bucket(n) if self.half else n, self.inputs.seat_bits), np.uint8)
            self.inputs.write_seats(states, rows[low:high], seats[low:high], x)
            with torch.inference_mode():
                h = self._tower(x)
            yield slice(low, high), h

    def values(self, states: Array, rows: Ints, seats: Ints) -> NDArray[np.float32]:
        """Return V of what each seat sees, [k] float32, whoever is to act."""
        out = np.empty(len(rows), np.float32)
        for part, h in self._views(states, rows, seats):
            with torch.inference_mode():
                out[part] = self._value(h)[: part.stop - part.start, 0].float().numpy()
        return out

    def answer(
        self, states: Array, rows: Ints, seats: Ints, offsets: Ints, words: Ints
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return V of each decision, [k], and A of its moves, [m]; those of j from offsets[j] on."""
        v, a = np.empty(len(rows), np.float32), np.empty(len(words), np.float32)
        weight, bias = self._advantage.weight.numpy()[0], self._advantage.base[0]
        for part, h in self._views(states, rows, seats):
            with torch.inference_mode():
                v[part] = self._value(h)[: part.stop - part.start, 0].float().numpy()
                context = self._seen(h)
            for low, high in self._pieces(offsets, part):
                first, last = int(offsets[low]), int(offsets[high])
                z = self._considered(
                    states,
                    (rows[low:high], seats[low:high]),
                    offsets[low : high + 1] - first,
                    words[first:last],
                    context[low - part.start : high - part.start],
                )
                if self.half:
                    dot_rows(bits(z), weight, bias, a[first:last])
                else:
                    with torch.inference_mode():
                        a[first:last] = self._advantage(z).numpy()[:, 0]
        return v, a

    def _considered(
        self, states: Array, who: tuple[Ints, Ints], offsets: Ints, words: Ints, context: Tensor
    ) -> Tensor:
        """Return the head's output of moves; rows beyond are padding."""
        m = len(words)
        x = np.zeros((bucket(m) if self.half else m, self.inputs.move_bits), np.uint8)
        self.inputs.write_moves(states, *who, offsets, words, x)
        counts = np.diff(offsets)
        with torch.inference_mode():
            if self.half:
                z = self._action.product(torch.from_numpy(x).bfloat16())
                relu_joined(bits(z), bits(context), self._action.base, counts)
            else:
                z = self._action(torch.from_numpy(x).float())
                z += context.repeat_interleave(torch.from_numpy(counts), 0)
                z.relu_()
            return run_residual(self._head, z)

    def _pieces(self, offsets: Ints, part: slice) -> Iterator[tuple[int, int]]:
        """Yield ranges of decisions of at most CHUNK moves, or of one decision."""
        low = part.start
        while low < part.stop:
            high = int(np.searchsorted(offsets, offsets[low] + CHUNK, "right")) - 1
            high = min(max(high, low + 1), part.stop)
            yield low, high
            low = high


def fast_moves(
    inputs: MoveInputs, tensors: dict[str, Array], *, half: bool, name: str = "network"
) -> FastMoves:
    """Return V and A of a snapshot, of the kind that its tensors tell; arguments as of `FastMoves`."""
    kind = FastMoves
    if any(key.startswith(OTHERS) for key in tensors):
        kind = paper_part("climbing network in play", f"{name}: a model of the others")
    return kind(inputs, tensors, half=half, name=name)


class FastCritic:
    """What all hands are worth to who acts, by a snapshot of the critic."""

    def __init__(self, inputs: MoveInputs, tensors: dict[str, Array], *, half: bool) -> None:
        """Take the tensors `critic.*`."""
        self.inputs, self.half = inputs, half
        layers = Layers(tensors, half, "critic")
        self._tower = _FastTower(layers, "critic.tower", inputs.seat_bits + inputs.hidden_bits)
        self._value = layers.one("critic.value", self._tower.width, 1)

    def values(self, states: Array, seats: Ints) -> NDArray[np.float32]:
        """Return what each state is worth to a seat, [n] float32."""
        out = np.empty(len(states), np.float32)
        rows = np.arange(len(states))
        for low, high in itertools.pairwise([*range(0, len(states), CHUNK), len(states)]):
            n = high - low
            room = bucket(n) if self.half else n
            x, hidden = (
                np.zeros((room, w), np.uint8) for w in (self.inputs.seat_bits, self.inputs.hidden_bits)
            )
            self.inputs.write_seats(states, rows[low:high], seats[low:high], x)
            self.inputs.write_hidden(states, rows[low:high], seats[low:high], hidden)
            with torch.inference_mode():
                out[low:high] = (
                    self._value(self._tower(np.concatenate([x, hidden], 1)))[:n, 0].float().numpy()
                )
        return out
