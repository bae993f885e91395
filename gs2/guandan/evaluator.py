"""What search asks of a blueprint at GuanDan, batched over states whose seats differ.

The `Blueprint` protocol answers for one seat at a time. A rollout holds thousands of states at which
different seats act, so search speaks to an `Evaluator`: the network is asked directly, anything else
through an adapter that sorts the states by seat.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

import blueprint
from blueprint.features import (
    ACTION_WIDTH,
    HIDDEN_WIDTH,
    STATE_WIDTH,
    _encode_actions,
    _encode_all_hidden,
    _encode_states,
)
from blueprint.protocol import Blueprint
from games.guandan.cards import ACTION
from games.guandan.round import GuanDan
from games.guandan.state import action_words, views
from games.ragged import Ragged

if TYPE_CHECKING:
    from torch import Tensor

    from blueprint.network import Critic, QNetwork

__all__ = [
    "BATCH",
    "BlueprintEvaluator",
    "Evaluator",
    "NetworkEvaluator",
    "action_values",
    "load_evaluator",
]

SHIPPED = Path(blueprint.__file__).parent / "weights" / "guandan.safetensors"
"""The checkpoint that comes with the package."""
BATCH = 256
"""Decisions that the network sees at once: larger ones leave the cache (our measurement)."""


@runtime_checkable
class Evaluator(Protocol):
    """Action values and state values of a blueprint, in levels.

    name: of the blueprint. sees_all: whether `values` looks at all four hands (a critic) or at the acting
    seat's alone.
    """

    name: str
    sees_all: bool

    def q(
        self,
        states: NDArray,
        rows: NDArray[np.int64],
        seats: NDArray[np.int64],
        offsets: NDArray[np.int64],
        actions: NDArray,
    ) -> NDArray[np.float32]:
        """Return a score of each action in levels, [m]; only differences within a decision matter.

        states: [n] STATE. rows: [k] which states decide; seats: [k] who. offsets: [k + 1], actions: [m]
        ACTION: the legal actions of decision j are `actions[offsets[j]:offsets[j + 1]]`.
        """
        ...

    def values(
        self, states: NDArray, rows: NDArray[np.int64], seats: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the expected payoff of each decision's state to its own seat, [k], in levels."""
        ...

    def views(
        self, states: NDArray, rows: NDArray[np.int64], seats: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the payoff that each seat expects from what it sees alone, [k], whoever is to act."""
        ...


class BlueprintEvaluator:
    """Any `Blueprint` as an evaluator: one call per seat."""

    sees_all = False

    def __init__(self, blueprint: Blueprint, game: GuanDan | None = None) -> None:
        self.blueprint = blueprint
        self.game = GuanDan(moves="canonical") if game is None else game
        self.name = blueprint.name

    def q(
        self,
        states: NDArray,
        rows: NDArray[np.int64],
        seats: NDArray[np.int64],
        offsets: NDArray[np.int64],
        actions: NDArray,
    ) -> NDArray[np.float32]:
        """Return the blueprint's Q of each action, [m] float32."""
        out = np.empty(len(actions), np.float32)
        table = Ragged(np.asarray(offsets, np.int64), actions)
        counts = table.counts
        for seat in np.unique(seats):
            mine = np.flatnonzero(seats == seat)
            at = np.repeat(seats == seat, counts)
            out[at] = self.blueprint.q(self.game, states[rows[mine]], int(seat), table.take(mine))
        return out

    def values(
        self, states: NDArray, rows: NDArray[np.int64], seats: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the blueprint's value of each state to its seat, [k] float64."""
        out = np.empty(len(rows))
        for seat in np.unique(seats):
            mine = np.flatnonzero(seats == seat)
            out[mine] = self.blueprint.value(self.game, states[rows[mine]], int(seat))
        return out

    def views(
        self, states: NDArray, rows: NDArray[np.int64], seats: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the blueprint's value of each state to its seat, [k] float64."""
        return self.values(states, rows, seats)


def _bucket(n: int) -> int:
    """Return the least allowed batch of at least n rows: steps of a quarter of a power of two."""
    step = max(16, 1 << max(0, (n - 1).bit_length() - 3))
    return -(-n // step) * step


class NetworkEvaluator:
    """The Q-network, and its critic if there is one, asked for whole batches.

    Half precision where the processor multiplies it natively; there it is some ten times faster. Batches are
    padded to a few sizes, since the library compiles a new multiplication for every shape it meets (2 ms).
    """

    def __init__(self, network: QNetwork, critic: Critic | None = None, *, name: str = "network") -> None:
        import torch

        half = torch.cpu._is_amx_tile_supported()
        self._torch = torch
        self._dtype = torch.bfloat16 if half else torch.float32
        self._network = network.to(self._dtype).eval()
        self._critic = None if critic is None else critic.to(self._dtype).eval()
        self._payoffs = torch.tensor([3.0, 2.0, 1.0, 0.0, -1.0, -2.0, -3.0])
        self._buffers: dict[int, NDArray[np.uint8]] = {}
        self.name = name
        self.sees_all = critic is not None

    def _room(self, n: int, width: int) -> NDArray[np.uint8]:
        """Return a buffer of `width` bytes a row with room for n rows and padding."""
        buffer = self._buffers.get(width)
        if buffer is None or len(buffer) < n:
            buffer = self._buffers[width] = np.zeros((n, width), np.uint8)
        return buffer[:n]

    def _tensor(self, array: NDArray[np.uint8]) -> Tensor:
        return self._torch.from_numpy(array).to(self._dtype)

    def _states(self, states: NDArray, rows: NDArray, seats: NDArray) -> Tensor:
        room = self._room(_bucket(len(rows)), STATE_WIDTH)
        _encode_states(*views(states), rows, seats, room)
        return self._tensor(room)

    def q(
        self,
        states: NDArray,
        rows: NDArray[np.int64],
        seats: NDArray[np.int64],
        offsets: NDArray[np.int64],
        actions: NDArray,
    ) -> NDArray[np.float32]:
        """Return the advantage of each action, [m] float32."""
        m = len(actions)
        x = self._states(states, rows, seats)
        room = self._room(_bucket(m), ACTION_WIDTH)
        _encode_actions(*views(states), rows, seats, offsets, action_words(actions), room)
        at = np.zeros(len(room), np.int64)
        at[:m] = np.repeat(np.arange(len(rows)), np.diff(offsets))
        with self._torch.inference_mode():
            h = self._network.states(x)
            out = self._network.advantages(h, self._tensor(room), self._torch.from_numpy(at))
        return out[:m].float().numpy()

    def values(
        self, states: NDArray, rows: NDArray[np.int64], seats: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the expected payoff to each seat, [k] float64: the critic's, or V of what the seat sees."""
        x = self._states(states, rows, seats)
        with self._torch.inference_mode():
            if self._critic is not None:
                room = self._room(len(x), HIDDEN_WIDTH)
                _encode_all_hidden(*views(states), rows, seats, room)
                logits = self._critic(x, self._tensor(room))
            else:
                logits = self._network.outcomes(self._network.states(x))
            return self._expected(logits, len(rows))

    def views(
        self, states: NDArray, rows: NDArray[np.int64], seats: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return V of what each seat sees, [k] float64."""
        x = self._states(states, rows, seats)
        with self._torch.inference_mode():
            return self._expected(self._network.outcomes(self._network.states(x)), len(rows))

    def _expected(self, logits: Tensor, n: int) -> NDArray[np.float64]:
        return (logits.float().softmax(1) @ self._payoffs)[:n].double().numpy()


def action_values(evaluator: Evaluator, states: NDArray, actions: Ragged) -> NDArray[np.float64]:
    """Return the score of each action of the seats to act, [m] float64, asked for in batches.

    states: [n] STATE, unfinished; actions: their legal actions.
    """
    out = np.empty(len(actions.values))
    seats = states["player"].astype(np.int64)
    for start in range(0, len(states), BATCH):
        rows = np.arange(start, min(start + BATCH, len(states)))
        low, high = actions.offsets[rows[0]], actions.offsets[rows[-1] + 1]
        offsets = actions.offsets[rows[0] : rows[-1] + 2] - low
        out[low:high] = evaluator.q(states, rows, seats[rows], offsets, actions.values[low:high])
    return out


def load_evaluator(path: str | Path | None = None, *, critic: bool = True) -> NetworkEvaluator:
    """Return the evaluator of a checkpoint, by default the shipped one.

    critic: use the critic of all four hands for values if the checkpoint holds one.
    Raises CheckpointError if the file is damaged or foreign.
    """
    import torch

    from blueprint.checkpoint import read_checkpoint
    from blueprint.config import NetworkConfig, from_dict
    from blueprint.features import FEATURE_HASH
    from blueprint.network import Critic, QNetwork

    path = SHIPPED if path is None else Path(path)
    tensors, description = read_checkpoint(path, features=FEATURE_HASH)
    config = from_dict(NetworkConfig, description["network"])

    def part(prefix: str) -> dict[str, torch.Tensor]:
        return {
            name.removeprefix(prefix): torch.from_numpy(np.array(array))
            for name, array in tensors.items()
            if name.startswith(prefix)
        }

    network = QNetwork(config)
    network.load_state_dict(part("network."))
    judge = None
    if critic and any(name.startswith("critic.") for name in tensors):
        judge = Critic(config.critic)
        judge.load_state_dict(part("critic."))
    decisions = description.get("decisions", 0)
    return NetworkEvaluator(network, judge, name=f"{path.stem}@{decisions}")


assert ACTION.itemsize == 24  # evaluators may view actions as three words
