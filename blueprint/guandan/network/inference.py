"""The shipped network's fast path on a processor: batches of decisions with any number of actions each.

The state tower runs once per decision, the head once per action. Inputs are bytes of which a fifth are set,
so the first layers are sums of weight rows over the set bytes; the rest are matrix products. Where the
processor multiplies bfloat16 tiles natively (AMX), batches go through it in pieces that stay in the cache.
A decision on its own is bound by reading weights: its kernels read them in half precision, as they are
shipped, and add in single precision. No training code is imported. `gs2 bench blueprint` measures all of
this beside the floating-point floor.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blueprint.checkpoint import CheckpointError, read_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.network.fast_tower import FastTower, Looks
from blueprint.guandan.network.input_kernels import encode_actions_into, encode_states_into
from blueprint.guandan.network.input_layout import (
    ACTION_WIDTH,
    HIDDEN_WIDTH,
    LAYOUTS,
    OUTCOMES,
    STATE_WIDTH,
    state_scale,
)
from blueprint.guandan.network.inputs import encode_full_into, encode_stakes
from blueprint.layers.bfloat import bits, dot_rows, native_half, relu_joined
from blueprint.layers.half_rows import FastLayer, Layers, bucket, run_residual, sum_rows
from blueprint.protocol import Decisions
from games.guandan.cards import NUM_CARDS
from games.guandan.rounds.state import NOBODY, action_words, views
from games.support.array_types import Array, Ints

__all__ = ["Inference", "load_inference"]

CHUNK = 2048
"""Actions, or states without, that go through half precision at once: more leave the cache (measured)."""
SMALL = 160
"""Actions, or states without, below which single precision is faster (measured)."""


_PAYOFFS = torch.tensor(OUTCOMES)


class Inference:
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
        self.name = name
        self.half = native_half() if half is None else half
        layers = Layers(tensors, self.half, name)
        scale = state_scale()
        first = layers.one("network.tower.input", STATE_WIDTH, scale=scale)
        past = tensors.get("network.tower.past")
        stakes = tensors.get("network.tower.stakes")
        self._tower = FastTower(first, layers.stack("network.tower.blocks"), past, stakes)
        self.remembers, self.sees_stakes = past is not None, stakes is not None
        self._held = layers.one("network.hands") if "network.hands.weight" in tensors else None
        if self._held is not None:
            self._leads("network.hands", self._tower.last, self._held, outputs=3 * NUM_CARDS)
        self._value = (layers.one("network.value_hidden"), layers.one("network.value"))
        self._context = layers.one("network.context")
        self._action = layers.one("network.action", ACTION_WIDTH)
        self._head = layers.stack("network.head")
        self._advantage = layers.one("network.advantage")
        self._leads("network.value", self._tower.last, *self._value, outputs=len(OUTCOMES))
        self._leads("network.context", self._tower.last, self._context)
        self._leads("network.action", self._action, outputs=len(self._context.base))
        self._leads("network.head", self._action, *self._head, outputs=len(self._context.base))
        self._leads("network.advantage", self._context, self._advantage, outputs=1)
        self._last = (self._advantage.weight.numpy()[0], self._advantage.base[0])
        self.sees_all = critic and "critic.tower.input.weight" in tensors
        if self.sees_all:
            both = np.concatenate([scale, np.ones(HIDDEN_WIDTH, np.float32)])
            first = layers.one("critic.tower.input", STATE_WIDTH + HIDDEN_WIDTH, scale=both)
            self._critic = FastTower(first, layers.stack("critic.tower.blocks"))
            self._critic_value = layers.one("critic.value")
            self._leads("critic.value", self._critic.last, self._critic_value, outputs=len(OUTCOMES))

    def _leads(self, name: str, *layers: FastLayer, outputs: int | None = None) -> None:
        """Raise CheckpointError unless each layer takes what the one before gives; kernels trust that."""
        for before, after in itertools.pairwise(layers):
            if after.weight.shape[1] != len(before.base):
                raise CheckpointError(
                    f"{self.name}: {name} must have {len(before.base)} inputs; got {after.weight.shape[1]}"
                )
        if outputs is not None and len(layers[-1].base) != outputs:
            raise CheckpointError(
                f"{self.name}: {name} must have {outputs} outputs; got {len(layers[-1].base)}"
            )

    def advantages(self, decisions: Decisions) -> NDArray[np.float32]:
        """Return A(I, a) of each action, [m] float32: comparable within a decision."""
        out = np.empty(len(decisions.actions), np.float32)
        weight, bias = self._last
        for part, z in self._considered(decisions):
            with torch.inference_mode():
                if z.dtype == torch.bfloat16:
                    dot_rows(bits(z), weight, bias, out[part])
                else:
                    # by torch: threads of NumPy's own library would spin for a product as small as this
                    out[part] = self._advantage(z).numpy()[:, 0]
        return out

    def _considered(self, decisions: Decisions) -> Iterator[tuple[slice, Tensor]]:
        """Yield the head's output of the actions, in parts; rows beyond a part's length are padding."""
        rows, seats, offsets = decisions.rows, decisions.seats, decisions.offsets
        words, bytes_ = views(decisions.states)
        moves = action_words(decisions.actions)
        for start in range(0, len(rows), CHUNK):
            end = min(start + CHUNK, len(rows))
            n, _, half = self._room(end - start, int(offsets[end] - offsets[start]))
            x = np.empty((n, STATE_WIDTH), np.uint8)
            encode_states_into(words, bytes_, rows[start:end], seats[start:end], x, 0, STATE_WIDTH)
            with torch.inference_mode():
                looks = self._looks(decisions.states, words, rows[start:end], seats[start:end])
                context = self._tower(x, self._context, half, looks)
            for low, high in self._pieces(offsets[start : end + 1]):
                low, high = start + low, start + high
                first, last = int(offsets[low]), int(offsets[high])
                part = np.asarray(offsets[low : high + 1]) - first
                m = last - first
                a = np.empty((bucket(m) if half else m, ACTION_WIDTH), np.uint8)
                encode_actions_into(
                    words, bytes_, rows[low:high], seats[low:high], part, moves[first:last], a
                )
                yield slice(first, last), self._head_of(context[low - start : high - start], a, part, half)

    def values(self, states: Array, rows: NDArray[np.int64], seats: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return V(I) of what each seat sees, [k] float64, whoever is to act."""
        return _expected(self._value_results(states, rows, seats))

    def value_results(
        self, states: Array, rows: NDArray[np.int64], seats: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the probabilities of how the round ends for the seats' sides, as they see it, [k, 7]."""
        return self._value_results(states, rows, seats).double().numpy()

    def _value_results(self, states: Array, rows: Ints, seats: Ints) -> Tensor:
        out = torch.empty((len(rows), len(OUTCOMES)))
        for part, h in self._seen(states, rows, seats, self._value[0]):
            with torch.inference_mode():
                out[part] = self._value[1](h.relu_())[: part.stop - part.start].float().softmax(1)
        return out

    @property
    def knows_hands(self) -> bool:
        """Return whether there is a head that says who holds the hidden cards."""
        return self._held is not None

    def log_odds(
        self, states: Array, seats: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return log odds, [k, 3, 54], that the next, the opposite and the previous seat hold each card.

        Raises ValueError if there is no head for them (`knows_hands` says so).
        """
        if self._held is None:
            raise ValueError(f"{self.name}: there is no head for hands; load a checkpoint that holds one")
        rows = np.arange(len(states)) if rows is None else rows
        out = np.empty((len(rows), 3, NUM_CARDS), np.float32)
        for part, odds in self._seen(states, rows, seats, self._held):
            out[part] = odds[: part.stop - part.start].float().numpy().reshape(-1, 3, NUM_CARDS)
        return out

    def _looks(self, states: Array, words: Ints, rows: Ints, seats: Ints) -> Looks:
        """Return what a tower needs beside its inputs."""
        if not self.sees_stakes or np.all(states["fails"][rows, 0] == NOBODY):
            return Looks(words, rows, seats)
        return Looks(words, rows, seats, encode_stakes(states, seats, rows))

    def _seen(
        self, states: Array, rows: NDArray[np.int64], seats: NDArray[np.int64], top: FastLayer
    ) -> Iterator[tuple[slice, Tensor]]:
        """Yield the output of a layer on the tower's of what seats see, in parts; rows beyond are padding."""
        words, bytes_ = views(states)
        for low in range(0, len(rows), CHUNK):
            high = min(low + CHUNK, len(rows))
            n, _, half = self._room(high - low, high - low)
            x = np.empty((n, STATE_WIDTH), np.uint8)
            encode_states_into(words, bytes_, rows[low:high], seats[low:high], x, 0, STATE_WIDTH)
            with torch.inference_mode():
                looks = self._looks(states, words, rows[low:high], seats[low:high])
                h = self._tower(x, top, half, looks)
            # not within: whoever asks would compute in that mode too, and stay in it if it is interrupted
            yield slice(low, high), h

    def critic_values(
        self, states: Array, rows: NDArray[np.int64], seats: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the critic's value of all four hands to each seat, [k] float64.

        Raises ValueError if there is no critic (`sees_all` says so).
        """
        return _expected(self._critic_results(states, rows, seats))

    def critic_results(
        self, states: Array, rows: NDArray[np.int64], seats: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the critic's probabilities of how the round ends for the seats' sides, [k, 7].

        Raises ValueError if there is no critic (`sees_all` says so).
        """
        return self._critic_results(states, rows, seats).double().numpy()

    def _critic_results(self, states: Array, rows: Ints, seats: Ints) -> Tensor:
        if not self.sees_all:
            raise ValueError(f"{self.name}: there is no critic; load a checkpoint that holds one")
        out = torch.empty((len(rows), len(OUTCOMES)))
        for low in range(0, len(rows), CHUNK):
            high = min(low + CHUNK, len(rows))
            n, _, half = self._room(high - low, high - low)
            x = np.empty((n, STATE_WIDTH + HIDDEN_WIDTH), np.uint8)
            encode_full_into(*views(states), rows[low:high], seats[low:high], x)
            with torch.inference_mode():
                looks = Looks(views(states)[0], rows[low:high], seats[low:high])
                logits = self._critic(x, self._critic_value, half, looks)[: high - low]
                out[low:high] = logits.float().softmax(1)
        return out

    def _pieces(self, offsets: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Return ranges of decisions with at most CHUNK actions and states, or one decision, each."""
        if len(offsets) == 2:
            return [(0, 1)]
        pieces, low = [], 0
        while low < len(offsets) - 1:
            high = int(np.searchsorted(offsets, offsets[low] + CHUNK, "right")) - 1
            high = min(max(high, low + 1), low + CHUNK)
            pieces.append((low, high))
            low = high
        return pieces

    def _room(self, n: int, m: int) -> tuple[int, int, bool]:
        """Return how many states and actions to make room for, and whether they go in half precision."""
        if not self.half or m < SMALL:
            return n, m, False
        return bucket(n), bucket(m), True

    def _head_of(self, context: Tensor, a: NDArray[np.uint8], offsets: Ints, half: bool) -> Tensor:
        """Return the head's output of the actions within `offsets`; rows beyond are padding."""
        counts = np.diff(offsets)
        with torch.inference_mode():
            if half:
                z = self._action.product(torch.from_numpy(a).bfloat16())
                relu_joined(bits(z), bits(context), self._action.base, counts)
                return run_residual(self._head, z)
            m = int(offsets[-1])
            base = context.numpy() + self._action.base
            first = np.empty((m, base.shape[1]), np.float32)
            at = np.repeat(np.arange(len(counts)), counts) if len(counts) > 1 else np.zeros(m, np.int64)
            sum_rows(a, self._action.rows, base, at, True, first)
            return run_residual(self._head, torch.from_numpy(first))


def _expected(shares: Tensor) -> NDArray[np.float64]:
    return (shares @ _PAYOFFS).double().numpy()


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
    name = f"{path.stem}@{description.get('decisions', 0)}"
    return Inference(_parts(tensors), name=name, critic=critic, half=half)


def _parts(tensors: dict[str, Array]) -> dict[str, Any]:
    return {k: v for k, v in tensors.items() if k.startswith(("network.", "critic."))}
