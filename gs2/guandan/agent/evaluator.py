"""What search asks of a blueprint at GuanDan, batched over states whose seats differ.

The `Blueprint` protocol answers for one seat at a time. A rollout holds thousands of states at which
different seats act, so search speaks to an `Evaluator`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from blueprint.checkpoint import CheckpointError, read_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.objective import result_worth
from blueprint.protocol import Decisions
from games.guandan.rounds.playout import legal
from games.guandan.rounds.state import NOBODY
from games.ragged import Ragged
from games.support.array_types import Array

if TYPE_CHECKING:
    from blueprint.guandan.network.inference import Inference

BATCH = 256
"""Decisions that the network sees at once: larger ones leave the cache (our measurement)."""


class Evaluator(Protocol):
    """Action values and state values of a blueprint, in levels, as of `Inference`.

    name: of the blueprint. sees_all: whether it has a critic of all four hands, `critic_values`, by which
    states are valued where play stops. Methods `value_results` and `critic_results`, where there are any,
    return the probabilities behind either, [k, 7]: matches are played by them (`evaluator_worth`).
    """

    name: str
    sees_all: bool

    def advantages(self, decisions: Decisions) -> NDArray[np.float32]:
        """Return a score of each action in levels, [m]; only differences within a decision matter."""
        ...

    def values(self, states: Array, rows: NDArray[np.int64], seats: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the payoff that each seat expects from what it sees alone, [k], whoever is to act."""
        ...


class InTime:
    """An evaluator up to an instant of `time.perf_counter()`; asked later, it raises TimeoutError."""

    def __init__(self, evaluator: Evaluator, until: float) -> None:
        self._evaluator, self._until = evaluator, until

    def __getattr__(self, name: str) -> Any:
        if time.perf_counter() >= self._until:
            raise TimeoutError("the time was up before the deals were valued")
        return getattr(self._evaluator, name)


def batched_scores(evaluator: Evaluator, decisions: Decisions) -> NDArray[np.float32]:
    """Return a score of each action in levels, [m], asked for in batches that stay in the cache."""
    found = [evaluator.advantages(part) for part in decisions.spans(BATCH)]
    return np.concatenate(found) if found else np.zeros(0, np.float32)


def evaluator_worth(
    evaluator: Evaluator, states: Array, rows: NDArray[np.int64], seats: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the expected worth of each state to its seat, [k] float64: levels, or what they do for a match.

    An evaluator that knows values alone is taken at its word: what lies between two results is worth what
    lies between.
    """
    kinds = ("critic_values", "critic_results") if evaluator.sees_all else ("values", "value_results")
    expected, results = (getattr(evaluator, kind, None) for kind in kinds)
    assert expected is not None
    if np.all(states["fails"][rows, 0] == NOBODY):
        told: NDArray[np.float64] = expected(states, rows, seats)
        return told
    worth = result_worth(states[rows], seats)
    if results is not None:
        found: NDArray[np.float64] = np.einsum("nk,nk->n", results(states, rows, seats), worth)
        return found
    values = np.clip(expected(states, rows, seats), -3, 3)
    low = np.minimum(np.floor(3 - values).astype(np.int64), 5)
    share, at = 3 - values - low, np.arange(len(rows))
    between: NDArray[np.float64] = (1 - share) * worth[at, low] + share * worth[at, low + 1]
    return between


def evaluator_values(evaluator: Evaluator, states: Array, actions: Ragged) -> NDArray[np.float64]:
    """Return the score of each action of the seats to act, [m] float64, asked for in batches.

    states: [n] STATE, unfinished; actions: their legal actions.
    """
    return batched_scores(evaluator, Decisions.of(states, actions)).astype(np.float64)


def best_actions(scores: NDArray[np.float64], actions: Ragged) -> NDArray[np.int64]:
    """Return where the best of each row's actions stands, the first among equals, [n]; scores: [m]."""
    first = actions.offsets[:-1]
    hits = np.flatnonzero(scores >= np.maximum.reduceat(scores, first)[actions.rows])
    found: NDArray[np.int64] = hits[np.searchsorted(hits, first)]
    return found


def best_moves(evaluator: Evaluator, states: Array) -> Array:
    """Return the blueprint's best canonical move at each state, [n] ACTION; states: [n] STATE, unfinished."""
    table = legal(states, canonical=True)
    moves: Array = table.values[best_actions(evaluator_values(evaluator, states, table), table)]
    return moves


def quick_file(path: str | Path | None = None) -> Path:
    """Return where the quick network of a checkpoint, by default the shipped one, lies if it has one."""
    path = Path(SHIPPED if path is None else path)
    return path.with_name(f"{path.stem}-quick{path.suffix}")


def load_quick(path: str | Path | None = None) -> Inference | None:
    """Return the small network that was taught a checkpoint's moves and lies beside it; None without one.

    Raises CheckpointError if it is damaged or was taught by another network.
    """
    from blueprint.guandan.network.inference import load_inference

    found = quick_file(path)
    if not found.is_file():
        return None
    taught, decisions = (
        read_checkpoint(file, prefix="-")[1].get(name)  # the description alone
        for file, name in ((found, "teacher_decisions"), (SHIPPED if path is None else path, "decisions"))
    )
    if taught != decisions:
        raise CheckpointError(
            f"{found}: it must have been taught by the network beside it, of {decisions} decisions; its "
            f"teacher had {taught}; distil it anew (gs2 guandan distil) or "
            "remove it"
        )
    return load_inference(found, critic=False)
