"""One decision of the agent: how it came about, step by step, and what came out of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.chooser import PlayedMoves
from games.support.array_types import Array
from gs2.guandan.agent.deals.determinize import Worlds
from gs2.guandan.agent.endgame import Endgame
from gs2.guandan.agent.racing import MoveComparison
from gs2.guandan.agent.solving.sampled_solution import SampledSolution

__all__ = ["Decision", "DecisionProgress", "noted_faults"]


@dataclass(frozen=True, eq=False)
class Decision:
    """One decision and how it came about.

    state: [1] STATE, hidden hands included as given (search does not look at them). seat: who decides.
    actions: [m] ACTION, canonical moves. q: [m], the blueprint's score of each in levels, nan if it failed.
    choice: index of the move played. blueprint: index of the blueprint's move.
    stage: what decided: "forced", "blueprint", "clear", "endgame", "rollout", "subgame".
    candidates: [k] indices of the moves compared; comparison: of them, None if there was none.
    worlds: the deals it used. endgame: the exact solution if two seats were left.
    solution: of the subgame, None if there was none.
    notes: what was cut short or went wrong, one sentence each. seconds: wall-clock time of each stage.
    """

    state: Array
    seat: int
    actions: Array
    q: NDArray[np.float64]
    choice: int
    blueprint: int
    stage: str
    candidates: NDArray[np.int64]
    comparison: MoveComparison | None = None
    worlds: Worlds | None = None
    endgame: Endgame | None = None
    solution: SampledSolution | None = None
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def action(self) -> Array:
        """The move played, [1] ACTION."""
        return self.actions[self.choice : self.choice + 1]

    @property
    def changed(self) -> bool:
        """Whether search played another move than the blueprint's."""
        return self.choice != self.blueprint


class DecisionProgress:
    """What is known so far while a decision is being made."""

    def __init__(self, state: Array, actions: Array, moves: PlayedMoves | None = None) -> None:
        self.began = self.last = time.perf_counter()
        self.state = state
        self.actions, self.moves = actions, moves
        self.q = np.full(len(actions), np.nan)
        self.choice = self.blueprint = 0
        self.stage = "forced"
        self.candidates = np.zeros(0, np.int64)
        self.comparison: MoveComparison | None = None
        self.worlds: Worlds | None = None
        self.endgame: Endgame | None = None
        self.solution: SampledSolution | None = None
        self.notes: list[str] = []
        self.seconds: dict[str, float] = {}

    def lap(self, stage: str, within: Mapping[str, float] | None = None) -> None:
        """Count the time since the last lap for a stage.

        within: seconds of its stages, of which sampling and generation count for themselves.
        """
        now = time.perf_counter()
        own = {name: (within or {}).get(name, 0.0) for name in ("sampling", "generation")}
        for name, spent in {**own, stage: now - self.last - sum(own.values())}.items():
            if spent or name == stage:
                self.seconds[name] = self.seconds.get(name, 0.0) + spent
        self.last = now

    def decision(self) -> Decision:
        return Decision(
            self.state,
            int(self.state["player"][0]),
            self.actions,
            self.q,
            self.choice,
            self.blueprint,
            self.stage,
            self.candidates,
            self.comparison,
            self.worlds,
            self.endgame,
            self.solution,
            tuple(self.notes),
            self.seconds,
        )


_FALLBACK = {
    "first": "the blueprint failed, the first legal move is played",
    "blueprint": "search failed, the blueprint's move is played",
}


@contextmanager
def noted_faults(*group: DecisionProgress) -> Iterator[list[Exception]]:
    """Catch what goes wrong; the list says what. If one decision was being made, it takes note."""
    faults: list[Exception] = []
    try:
        yield faults
    except Exception as error:
        faults.append(error)
        if len(group) == 1:
            what = f"{type(error).__name__}: {str(error)[:200]}"
            group[0].notes.append(f"{_FALLBACK[group[0].stage]}: {what}")
