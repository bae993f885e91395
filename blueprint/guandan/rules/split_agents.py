"""Rule-based agents that split their hand: minimum combination, the three personalities, and the strongest.

All of them split the hand into groups of least cost (`min_combination`, straight flushes kept whole where
that pays) and then choose among the groups when leading, among the beating moves when following. They differ
in what a group costs and in how a choice is scored.

Sources: minimum combination after Luo & Tan 2024; personalities after tables 5 and 6 of the paper on
personality-guided deep Monte Carlo for GuanDan (2025). Where the latter is silent we rule: when following,
only groups of the split that beat the table are candidates; bombs need a value of at least zero; ties go to
the weakest; a player whose partner leads the trick passes unless it goes out.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blueprint.guandan.rules.min_combination import BOMBS, COST_ROWS, UNIT, UNIT_COSTS, split_room
from blueprint.guandan.rules.split_kernels import MIN_COMBINATION, PERSONALITY, STRONG, choose_by_split
from blueprint.protocol import Decisions
from games.guandan.cards import (
    BOMB,
    FOUR_KINGS,
    PAIR,
    SINGLE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    THREE_WITH_TWO,
    TRIPS,
    TWO_TRIPS,
    level_order,
)
from games.guandan.rounds.state import views
from games.support.array_types import Ints

__all__ = ["MinCombinationAgent", "PersonalityAgent", "StrongAgent", "StrongParameters", "personality_costs"]


@dataclass(frozen=True)
class StrongParameters:
    """Weights of the strong agent, in moves; tuned by matches between variants of it.

    The last change (follow 0.35, bomb 0.15 before) gained 0.24 [0.14, 0.34] levels a round over the version
    before it, on 600 duplicate deals that tuning had not seen; against the trained network 150 deals showed
    no difference.

    shade: how fast a group's hope to win the trick falls with higher unseen combinations.
    near: opponents' cards at which danger is one half.
    turn, turn_danger, turn_close: worth of the lead, more when an opponent or oneself is about to go out.
    size: worth of a card shed by a lead. lead_bomb: cost of leading a bomb.
    foe_size, foe_single: fear of leading what an opponent can go out on.
    mate_size: help for a partner with few cards.
    mate_base, mate_held, mate_close, mate_bomb, mate_end: when to play on the partner's trick.
    follow: threshold when following. bomb_danger, bomb, bomb_end: when to bomb.
    control, curve: what groups at the top of their type save, and how it falls.
    bomb_worth, bomb_size: what bombs save, and more for each card.
    """

    shade: float = 0.5
    near: float = 4.0
    turn: float = 0.25
    turn_danger: float = 0.6
    turn_close: float = 0.4
    size: float = 0.03
    foe_size: float = 0.5
    foe_single: float = 1.0
    mate_size: float = 0.8
    lead_bomb: float = 0.5
    mate_base: float = 0.45
    mate_held: float = 0.6
    mate_close: float = 0.3
    mate_bomb: float = 1.0
    mate_end: float = 2.0
    follow: float = 0.15
    bomb_danger: float = 1.2
    bomb: float = -0.2
    bomb_end: float = 2.0
    control: float = 0.85
    curve: float = 2.0
    bomb_worth: float = 0.7
    bomb_size: float = 0.15


def _strong_costs(q: StrongParameters) -> Ints:
    """Return what groups cost the strong agent: one move less the hope that it brings the lead back."""
    table = np.zeros((13, COST_ROWS, 15))
    tops = {SINGLE: 14, PAIR: 14, TRIPS: 12, THREE_WITH_TWO: 12, STRAIGHT: 9, THREE_PAIR: 11, TWO_TRIPS: 12}
    floor = {
        SINGLE: 0.0,
        PAIR: 0.0,
        TRIPS: 0.05,
        THREE_WITH_TWO: 0.1,
        STRAIGHT: 0.1,
        THREE_PAIR: 0.3,
        TWO_TRIPS: 0.3,
    }
    for level in range(13):
        order = level_order(level)
        for kind, top in tops.items():
            for rank in range(15):
                sequence = kind in (STRAIGHT, THREE_PAIR, TWO_TRIPS)
                place = (rank + 1) % 13 if sequence else order[rank]
                high = min(place / top, 1.0) ** q.curve
                table[level, kind, rank] = 1.0 - floor[kind] - (q.control - floor[kind]) * high
        for size in range(4, 11):
            for rank in range(13):
                worth = q.bomb_worth + q.bomb_size * (size - 4 + (size > 5)) + 0.01 * order[rank]
                table[level, BOMBS + size, rank] = -worth
        table[level, STRAIGHT_FLUSH] = -(q.bomb_worth + q.bomb_size * 2)
        table[level, FOUR_KINGS] = -(q.bomb_worth + q.bomb_size * 8)
    return np.round(table * UNIT).astype(np.int64)


def personality_costs() -> Ints:
    """Return table 5 with the sign turned: the split of greatest value is the one of least cost."""
    value = np.full((13, COST_ROWS, 15), -1.0)
    value[:, BOMBS:] = 1.0
    for level in range(13):
        value[level, SINGLE, [level, 13, 14]] = (-0.5, 0.0, 0.5)
        value[level, PAIR, [11, 12]] = (-0.5, 0.0)
        value[level, PAIR, [level, 13, 14]] = (0.0, 0.5, 1.0)
        for kind in (TRIPS, THREE_WITH_TWO):
            value[level, kind, 8:13] = (-0.5, -0.5, -0.5, 0.0, 0.0)
            value[level, kind, level] = 0.5
        value[level, [TWO_TRIPS, THREE_PAIR]] = -0.5
        value[level, STRAIGHT, 6:9] = -0.5
        value[level, [STRAIGHT_FLUSH, BOMB, FOUR_KINGS]] = 1.0
    return np.round(-value * UNIT).astype(np.int64)


_ADJUSTMENTS = {
    # table 6: free and restricted play, by type PASS, Single, Pair, Trips, ThreePair, ThreeWithTwo, TwoTrips,
    # Straight, StraightFlush, Bomb, FourKings (not in the table: as a bomb)
    "aggressive": ((0, -1, -1, -1, 1, 0, 1, 1, 1, 1.5, 1.5), (0, 0, 0, 0, 0, 0, 0, 0, 1, 1.5, 1.5)),
    "conservative": ((0, 1, 1, 0.5, -1, 0.5, 0, -0.5, -1, -1, -1), (0, 0, 0, 0, 0, 0, 0, 0, -1, -1.5, -1.5)),
    "balanced": ((0,) * 11, (0,) * 11),
}


class _SplitAgent:
    """Common part: a cost table, a way of scoring, and room to work in (one agent per thread)."""

    name: str

    def __init__(self, kind: int, costs: Ints, values: ArrayLike, parameters: ArrayLike) -> None:
        self._kind, self._costs = kind, costs
        self._values, self._parameters = np.asarray(values, np.float64), np.asarray(parameters, np.float64)
        self._room = split_room()

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        choice = np.empty(len(decisions), np.int64)
        moves = decisions.actions.view(np.int64).reshape(-1, 3)
        choose_by_split(
            *views(decisions.states),
            decisions.rows,
            decisions.seats,
            decisions.offsets,
            moves,
            self._costs,
            self._kind,
            self._values,
            self._parameters,
            self._room,
            choice,
        )
        return choice


class MinCombinationAgent(_SplitAgent):
    """Keeps the number of moves to go small; passes on its partner's tricks, bombs near the end."""

    def __init__(self) -> None:
        super().__init__(MIN_COMBINATION, UNIT_COSTS, np.zeros((2, 11)), np.zeros(1))
        self.name = "mincomb"


class PersonalityAgent(_SplitAgent):
    """The rule-based agent of the personality paper: "aggressive", "conservative" or "balanced".

    It follows tables 5 and 6 to the letter, and the letter makes it weak: the action of greatest value is
    played first, and the tables value bombs and high cards most. In play against itself the aggressive and
    the balanced one spend 97 % of their bombs while they hold 18 cards or more and two in five of them on a
    free lead (the strong agent 47 % and 6 %); the conservative one values a bomb below zero when it must
    follow, keeps it, and leads 82 % of its bombs. Low cards stay for the end, when nothing is left to win the
    lead with.
    """

    def __init__(self, personality: str) -> None:
        if personality not in _ADJUSTMENTS:
            raise ValueError(
                f"PersonalityAgent: personality must be one of {', '.join(_ADJUSTMENTS)}; got {personality!r}"
            )
        super().__init__(PERSONALITY, personality_costs(), _ADJUSTMENTS[personality], np.zeros(1))
        self.name = personality


class StrongAgent(_SplitAgent):
    """Our strongest hand-written agent: weighs moves saved, the lead, danger, the partner and bombs."""

    def __init__(self, parameters: StrongParameters | None = None) -> None:
        q = StrongParameters() if parameters is None else parameters
        super().__init__(STRONG, _strong_costs(q), np.zeros((2, 11)), astuple(q))
        self.name = "strong"
