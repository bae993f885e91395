"""Networks as they play: batches of decisions with any number of moves each, without training code.

The tower runs once a decision, the head once a move. Where the processor multiplies bfloat16 natively,
batches go through in that precision; a blueprint answers in single precision, so that what is asked together
does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blueprint.layers.bfloat import bits, dot_rows, relu, relu_joined
from blueprint.layers.half_rows import Layers, bucket, run_residual
from blueprint.paper_parts import paper_part
from blueprint.protocol import Decisions, MoveRows
from games.support.array_types import Array, Bytes, Ints

CHUNK = 2048
"""Moves, or views without, that go through at once: layers of more leave the cache (measured)."""
OTHERS = tuple(f"network.{name}." for name in ("hands", "foreseen", "personality", "recogniser", "heard"))
"""Layers of networks that know something of the others."""
Top = Callable[[Tensor], Tensor]
"""What is asked of a tower's output, [n, width], most often a layer."""


class FastViews:
    """A tower, an input layer on bytes and residual layers, of what seats see.

    small: moves, or views without, below which single precision is faster.
    """

    small = 0

    def __init__(
        self, inputs: MoveRows, layers: Layers, name: str, *, whole: bool = False, scale: Array | None = None
    ) -> None:
        """Take the layers `name`.*. whole: all hands are seen. scale: of the inputs."""
        self.inputs, self.whole, self.half = inputs, whole, layers.half
        self.first = layers.one(f"{name}.input", inputs.seat_bits + whole * inputs.hidden_bits, scale=scale)
        self.width = len(self.first.base)
        self.blocks = layers.stack(f"{name}.blocks", self.width)

    def __call__(
        self, states: Array, rows: Ints, seats: Ints, top: Top, offsets: Ints | None = None
    ) -> Iterator[tuple[slice, Tensor]]:
        """Yield what `top` says of the tower's output, in parts; rows beyond a part's length are padding.

        offsets: of the moves that are judged by it, if any.
        """
        for low in range(0, len(rows), CHUNK):
            high = min(low + CHUNK, len(rows))
            n, some, who = high - low, rows[low:high], seats[low:high]
            half = self.half and (n if offsets is None else offsets[high] - offsets[low]) >= self.small
            x = self._seen(states, some, who, bucket(n) if half else n)
            with torch.inference_mode():
                found = self._through(x, states, some, who, half, top)
            # not within: whoever asks would compute in that mode too, and stay in it if it is interrupted
            yield slice(low, high), found

    def told(
        self, states: Array, rows: Ints, seats: Ints, top: Top, *shape: int, then: Top | None = None
    ) -> Tensor:
        """Return what `top` says of the tower's output, [k, *shape] float32. then: made of its answers."""
        out = torch.empty((len(rows), *shape))
        for part, found in self(states, rows, seats, top):
            with torch.inference_mode():
                found = found[: part.stop - part.start].float() if then is None else then(found)
                out[part] = found[: part.stop - part.start].view(-1, *shape)
        return out

    def _seen(self, states: Array, rows: Ints, seats: Ints, room: int) -> Bytes:
        x = np.empty((room, self.first.weight.shape[1]), np.uint8)
        self.inputs.write_seats(states, rows, seats, x)
        if self.whole:
            self.inputs.write_hidden(states, rows, seats, x, self.inputs.seat_bits)
        return x

    def _through(self, x: Bytes, states: Array, rows: Ints, seats: Ints, half: bool, top: Top) -> Tensor:
        """Return what `top` says of the tower's output on x [n or more, inputs], the views of seats."""
        given = torch.from_numpy(x)
        if half:
            h = self.first.product(given.bfloat16())
            relu(bits(h), self.first.base)
        else:
            h = self.first(given.float()).relu_()
        return top(run_residual(self.blocks, h))


class FastMoves:
    """V and A of a snapshot. Answers from different threads do not disturb each other."""

    def __init__(
        self, inputs: MoveRows, tensors: dict[str, Array], *, half: bool, name: str = "network"
    ) -> None:
        """Take the tensors `network.*`. half: multiply in bfloat16.

        Raises CheckpointError if a tensor is missing or its shape does not fit.
        """
        self.inputs: Any = inputs  # whoever gave them may know more of them
        self.half, self.name = half, name
        layers = Layers(tensors, half, name)
        self._views = self._tower(layers)
        width = self._views.width
        self._context = layers.one("network.context", width)
        self._adds: Top = self._context  # what the tower adds to the first layer of the moves' head
        inner = len(self._context.base)
        self._action = layers.one("network.action", inputs.move_bits, inner)
        self._head = layers.stack("network.head", inner)
        self._advantage = layers.one("network.advantage", inner, 1)
        self._further(layers)

    def _tower(self, layers: Layers) -> FastViews:
        return FastViews(self.inputs, layers, "network.tower")

    def _further(self, layers: Layers) -> None:
        """Take the layers of V, and what a network of a kind of its own has besides."""
        self._value = layers.one("network.value", self._views.width, 1)

    def values(self, states: Array, rows: Ints, seats: Ints) -> NDArray[Any]:
        """Return V of what each seat sees, [k] float32, whoever is to act."""
        return np.asarray(self._views.told(states, rows, seats, self._value, 1)[:, 0].numpy())

    def advantages(self, decisions: Decisions) -> NDArray[np.float32]:
        """Return A(I, a) of each action, [m] float32: comparable within a decision."""
        d, out = decisions, np.empty(len(decisions.actions), np.float32)
        words = self.inputs.words(d.actions)
        for part, context in self._views(d.states, d.rows, d.seats, self._adds, d.offsets):
            self._judge((d.states, d.rows, d.seats, d.offsets, words), part, context, out)
        return out

    def answer(
        self, states: Array, rows: Ints, seats: Ints, offsets: Ints, words: Ints
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return V of each decision, [k], and A of its moves, [m]; those of j from offsets[j] on."""
        v, a = np.empty(len(rows), np.float32), np.empty(len(words), np.float32)
        for part, h in self._views(states, rows, seats, lambda h: h, offsets):
            with torch.inference_mode():
                v[part] = self._value(h)[: part.stop - part.start, 0].float().numpy()
                context = self._adds(h)
            self._judge((states, rows, seats, offsets, words), part, context, a)
        return v, a

    def _judge(
        self, asked: tuple[Array, Ints, Ints, Ints, Ints], part: slice, context: Tensor, out: Array
    ) -> None:
        """Write A of the moves of some decisions. asked: what `answer` is asked about."""
        states, rows, seats, offsets, words = asked
        for low, high in pieces(offsets, part):
            first, last = int(offsets[low]), int(offsets[high])
            some, half = offsets[low : high + 1] - first, context.dtype == torch.bfloat16
            m = last - first
            x = np.empty((bucket(m) if half else m, self.inputs.move_bits), np.uint8)
            self.inputs.write_moves(states, rows[low:high], seats[low:high], some, words[first:last], x)
            known = context[low - part.start : high - part.start]
            with torch.inference_mode():
                if half:
                    z = self._action.product(torch.from_numpy(x).bfloat16())
                    relu_joined(bits(z), bits(known), self._action.base, np.diff(some))
                else:
                    z = self._joined(x, known, np.diff(some))
                z = run_residual(self._head, z)
                if half:
                    weight, bias = self._advantage.weight.numpy()[0], self._advantage.base[0]
                    dot_rows(bits(z), weight, bias, out[first:last])
                else:
                    # by torch: threads of NumPy's own library would spin for a product as small as this
                    out[first:last] = self._advantage(z).numpy()[:, 0]

    def _joined(self, x: Bytes, context: Tensor, counts: Ints) -> Tensor:
        """Return the output of the head's first layer in single precision; counts: moves of each context."""
        z = self._action(torch.from_numpy(x).float())
        z += context.repeat_interleave(torch.from_numpy(counts), 0)
        return z.relu_()


def pieces(offsets: Ints, part: slice) -> Iterator[tuple[int, int]]:
    """Yield ranges of decisions of at most CHUNK moves, or of one decision."""
    low = part.start
    while low < part.stop:
        high = int(np.searchsorted(offsets, offsets[low] + CHUNK, "right")) - 1
        high = min(max(high, low + 1), part.stop)
        yield low, high
        low = high


def fast_moves(
    inputs: MoveRows, tensors: dict[str, Array], *, half: bool, name: str = "network"
) -> FastMoves:
    """Return V and A of a snapshot, of the kind that its tensors tell; arguments as of `FastMoves`."""
    kind = FastMoves
    if any(key.startswith(OTHERS) for key in tensors):
        kind = paper_part("climbing network in play", f"{name}: a model of the others")
    return kind(inputs, tensors, half=half, name=name)


class FastCritic:
    """What all hands are worth to who acts, by a snapshot of the critic."""

    def __init__(self, inputs: MoveRows, tensors: dict[str, Array], *, half: bool) -> None:
        """Take the tensors `critic.*`."""
        layers = Layers(tensors, half, "critic")
        self._views = FastViews(inputs, layers, "critic.tower", whole=True)
        self._value = layers.one("critic.value", self._views.width, 1)

    def values(self, states: Array, seats: Ints) -> NDArray[np.float32]:
        """Return what each state is worth to a seat, [n] float32."""
        rows = np.arange(len(states))
        return np.asarray(self._views.told(states, rows, seats, self._value, 1)[:, 0].numpy())
