"""The interface of agents: decisions come in batches, and each is answered with one action.

    class Weakest:
        def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
            return np.zeros(len(decisions), np.int64)

Self-play, the arena, search and the tables all speak it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from games.ragged import Ragged
from games.support.array_types import Array

__all__ = ["Chooser", "Decisions", "Past", "PlayedMoves", "drawn"]


class Past(Protocol):
    """The moves of many rounds so far."""

    def of(self, row: int) -> PlayedMoves:
        """Return the moves of one round, oldest first."""
        ...


@dataclass(frozen=True, eq=False)
class PlayedMoves:
    """The moves of one round so far, oldest first, passes and forced moves included.

    seats: [k] uint8, who; actions: [k] ACTION, what.
    """

    seats: NDArray[np.uint8]
    actions: Array

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.seats)


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions to be taken together, each with its choices.

    states: [all] STATE, every running or finished round of the batch.
    rows: [n] int64, states at which somebody is to choose. seats: [n] int64, who; an agent looks at nothing
        that its seat cannot see.
    offsets: [n + 1] int64, and actions [m] ACTION: decision j is among `actions[offsets[j]:offsets[j + 1]]`.
    past: the moves of every round so far, where somebody keeps them; None where nobody does.
    """

    states: Array
    rows: NDArray[np.int64]
    seats: NDArray[np.int64]
    offsets: NDArray[np.int64]
    actions: Array
    past: Past | None = None

    @classmethod
    def of(cls, states: Array, actions: Ragged, seats: Array | None = None) -> Decisions:
        """Return one decision at each state: [n] STATE, and its actions, by the seat that is to act.

        seats: [n], others who decide instead.
        """
        asked = np.asarray(states["player"] if seats is None else seats, np.int64)
        return cls(states, np.arange(len(states)), asked, actions.offsets, actions.values)

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.rows)

    def where(self, mask: NDArray[np.bool_]) -> Decisions:
        """Return the decisions at which `mask` [n] holds."""
        counts = np.diff(self.offsets)
        offsets = np.zeros(int(mask.sum()) + 1, np.int64)
        np.cumsum(counts[mask], out=offsets[1:])
        return Decisions(
            self.states,
            self.rows[mask],
            self.seats[mask],
            offsets,
            self.actions[np.repeat(mask, counts)],
            self.past,
        )

    def span(self, low: int, high: int) -> Decisions:
        """Return decisions low..high - 1; what they hold is shared, not copied."""
        first, last = self.offsets[low], self.offsets[high]
        return Decisions(
            self.states,
            self.rows[low:high],
            self.seats[low:high],
            self.offsets[low : high + 1] - first,
            self.actions[first:last],
            self.past,
        )

    def spans(self, size: int) -> Iterator[Decisions]:
        """Yield the decisions in order, `size` at a time."""
        for low in range(0, len(self), size):
            yield self.span(low, min(low + size, len(self)))


class Chooser(Protocol):
    """An agent: it answers decisions with one action each.

    Four attributes are used where an agent has them: `name`, what to call it in messages; `rng`, replaced by
    the arena for each piece of work; `draw`, which answers as the agent does, and with the probability of
    each action, [n] float32; and `cards`, which answers `CardDecisions` of tribute with one card each (see
    `games.guandan.matches.lockstep`).
    """

    def __call__(self, decisions: Decisions, /) -> NDArray[np.int64]:
        """Return the index of one action within each decision's own, [n] int64."""
        ...


def drawn(chooser: Chooser, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return an agent's answer and the probability of each action in it, 0 where it does not tell."""
    draw: Callable[[Decisions], tuple[NDArray[np.int64], NDArray[np.float32]]] | None
    draw = getattr(chooser, "draw", None)
    return (chooser(decisions), np.zeros(len(decisions), np.float32)) if draw is None else draw(decisions)
