"""One decision of the agent: how it came about, step by step, and what came out of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import PlayedMoves
from games.support.array_types import Array
from gs2.guandan.agent.deals.determinize import Worlds
from gs2.guandan.agent.endgame import Endgame
from gs2.guandan.agent.racing import MoveComparison


@dataclass(frozen=True, eq=False)
class SampledSolution:
    """A solved subgame.

    worlds: the r deals in it. opponents: the seats that may decline. alternative: [q, r] float64, what each
    gets by that, in levels; solved: [q, r], what it gets in the subgame.
    moves: [a] indices of the candidate moves kept; policy: [a], refined probabilities.
    nodes, infosets, leaves: size of the tree. depth: its limit. iterations: of the solver. gap:
    exploitability within the gadget, in levels.
    """

    worlds: Worlds
    opponents: tuple[int, ...]
    alternative: NDArray[np.float64]
    solved: NDArray[np.float64]
    moves: NDArray[np.int64]
    policy: NDArray[np.float64]
    nodes: int
    infosets: int
    leaves: int
    depth: int
    iterations: int
    gap: float


@dataclass(eq=False)
class Decision:
    """One decision and how it came about, filled in while it is being made.

    state: [1] STATE, hidden hands included as given (search does not look at them).
    actions: [m] ACTION, canonical moves. moves: of the round so far, None where they are not known.
    asked: index of a move that is compared in any case, None for none.
    q: [m], the blueprint's score of each action in levels, nan until it has answered.
    choice: index of the move played. blueprint: index of the blueprint's move.
    stage: what decided: "forced", "first", "blueprint", "clear", "endgame", "open" (endings of several
        deals, solved with open cards), "rollout", "subgame".
    candidates: [k] indices of the moves compared; comparison: of them, None if there was none.
    worlds: the deals it used. endgame: the exact solution if two seats were left.
    solution: of the subgame, None if there was none.
    notes: what was cut short or went wrong, one sentence each; fault: what went wrong, None for nothing.
    seconds: wall-clock time of each stage.
    """

    state: Array
    actions: Array
    moves: PlayedMoves | None = None
    asked: int | None = None
    q: NDArray[np.float64] = field(init=False)
    choice: int = 0
    blueprint: int = 0
    stage: str = "forced"
    candidates: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    comparison: MoveComparison | None = None
    worlds: Worlds | None = None
    endgame: Endgame | None = None
    solution: SampledSolution | None = None
    notes: list[str] = field(default_factory=list)
    fault: Exception | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=time.perf_counter)
    """When the last stage ended, an instant of `time.perf_counter()`."""

    def __post_init__(self) -> None:
        self.q = np.full(len(self.actions), np.nan)

    @property
    def seat(self) -> int:
        """Who decides."""
        return int(self.state["player"][0])

    @property
    def action(self) -> Array:
        """The move played, [1] ACTION."""
        return self.actions[self.choice : self.choice + 1]

    @property
    def changed(self) -> bool:
        """Whether search played another move than the blueprint's."""
        return self.choice != self.blueprint

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


_FALLBACK = {
    "first": "the blueprint failed, the first legal move is played",
    "blueprint": "search failed, the blueprint's move is played",
}


@contextmanager
def noted_faults(*group: Decision) -> Iterator[list[Exception]]:
    """Catch what goes wrong; the list says what. If one decision was being made, it takes note."""
    faults: list[Exception] = []
    try:
        yield faults
    except Exception as error:
        faults.append(error)
        if len(group) == 1:
            group[0].fault = error
            what = f"{type(error).__name__}: {str(error)[:200]}"
            group[0].notes.append(f"{_FALLBACK[group[0].stage]}: {what}")
