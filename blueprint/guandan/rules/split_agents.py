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

from blueprint.guandan.network.inputs import higher_unseen, rank_place, unseen_cards
from blueprint.guandan.rules.min_combination import (
    BOMBS,
    COST_ROWS,
    UNIT,
    UNIT_COSTS,
    SplitRoom,
    split_hand,
    split_room,
    write_group,
)
from blueprint.protocol import Decisions
from games.guandan.cards import (
    BOMB,
    FOUR_KINGS,
    PAIR,
    PASS,
    SINGLE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    THREE_WITH_TWO,
    TRIPS,
    TWO_TRIPS,
    level_order,
)
from games.guandan.moves.packed import BITS5, SUIT_LANES, WILD
from games.guandan.rounds.state import BEAT, HAND, LEADER, LEFT, LEVEL
from games.round_rows import views
from games.support.array_types import Bytes, Int, Ints
from games.support.kernel import kernel

MIN_COMBINATION, PERSONALITY, STRONG = 0, 1, 2


@kernel(nogil=True)
def _split_with_flush(
    lo: int, hi: int, level: Int, costs: Ints, room: SplitRoom, groups: Ints
) -> tuple[Int, Int]:
    """Return (cost, groups) of the cheapest split in which at most one straight flush is kept whole."""
    spare = np.empty((32, 3), np.int64)
    best, m = split_hand(lo, hi, level, costs, room, groups)
    wild, lanes = room[2][WILD], room[2][SUIT_LANES]
    for start in range(10):
        for suit in range(4):
            held = lanes >> 16 * suit + start & 31
            lack = 5 - BITS5[held]
            if lack > wild:
                continue
            rest_lo, rest_hi = lo, hi
            for j in range(5):
                r = (start + 12 + j) % 13
                card = 4 * r + suit if held >> j & 1 else 4 * level
                if card < 28:
                    rest_lo -= 1 << 2 * card  # type: ignore[assignment]  # whole numbers in a kernel
                else:
                    rest_hi -= 1 << 2 * (card - 28)  # type: ignore[assignment]
            rank = (start + 12) % 13
            cost, k = split_hand(rest_lo, rest_hi, level, costs, room, spare)
            cost += costs[STRAIGHT_FLUSH, rank]
            if cost < best:
                best, m = cost, k + 1
                for j in range(k):
                    write_group(groups, j, spare[j, 0], spare[j, 1], spare[j, 2])
                write_group(groups, k, STRAIGHT_FLUSH, rank, 5)
    return best, m


@kernel(nogil=True)
def _choose_by_split(
    words: Ints,
    bytes_: Bytes,
    rows: Ints,
    seats: Ints,
    offsets: Ints,
    moves: Ints,
    costs: Ints,
    kind_of_agent: Int,
    values: NDArray[np.float64],
    parameters: NDArray[np.float64],
    room: SplitRoom,
    choice: Ints,
) -> None:
    groups, spare = np.empty((32, 3), np.int64), np.empty((32, 3), np.int64)
    for j in range(len(rows)):
        i, p = rows[j], seats[j]
        level = np.int64(bytes_[i, LEVEL])
        lo, hi = words[i, HAND + 2 * p], words[i, HAND + 2 * p + 1]
        unseen_lo, unseen_hi = unseen_cards(words, i, p)
        beat = words[i, BEAT] & 0xFFFFFF
        lead = beat & 255 == PASS
        mates = not lead and bytes_[i, LEADER] == (p + 2) % 4
        own = np.int64(bytes_[i, LEFT + p])
        mate = np.int64(bytes_[i, LEFT + (p + 2) % 4])
        next_left, last_left = (
            np.int64(bytes_[i, LEFT + (p + 1) % 4]),
            np.int64(bytes_[i, LEFT + (p + 3) % 4]),
        )
        foe = min(next_left if next_left else 99, last_left if last_left else 99)
        prices = costs[level]
        before, m = _split_with_flush(lo, hi, level, prices, room, groups)
        # groups that nothing unseen beats but bombs; bombs among them
        sure = 0
        for g in range(m):
            kind = groups[g, 0]
            place = rank_place(kind, groups[g, 1], level)
            if kind >= STRAIGHT_FLUSH or higher_unseen(kind, place, level, unseen_lo, unseen_hi) == 0:
                sure += 1
        best, best_score, best_after = offsets[j], -1e18, 0.0
        for k in range(offsets[j], offsets[j + 1]):
            head = moves[k, 0]
            kind, rank, size = head & 255, head >> 8 & 255, head >> 16 & 255
            if kind == PASS:
                score = 0.0
                if kind_of_agent == PERSONALITY:
                    score = -1e9
                if score > best_score:
                    best, best_score = k, score
                continue
            goes_out = size == own
            in_split = False
            for g in range(m):
                if groups[g, 0] == kind and groups[g, 1] == rank and groups[g, 2] == size:
                    in_split = True
            # a lead comes from the split; a straight of one suit goes out as a straight flush
            free = not (lead or kind_of_agent == PERSONALITY) or (lead and kind == STRAIGHT_FLUSH)
            if not (goes_out or in_split or free):
                continue
            after = 0.0
            if not goes_out:
                cost, _ = split_hand(lo - moves[k, 1], hi - moves[k, 2], level, prices, room, spare)
                after = cost / UNIT
            gain = before / UNIT - after
            place = rank_place(kind, rank, level)
            bomb = kind >= STRAIGHT_FLUSH
            higher = higher_unseen(kind, place, level, unseen_lo, unseen_hi)
            if goes_out:
                score = 1e6
            elif kind_of_agent == MIN_COMBINATION:
                if lead:
                    score = 100 * gain - place + size - (50 if bomb else 0)
                elif mates:
                    score = -1.0
                else:
                    score = gain - 0.5 - 0.001 * place
                    if bomb and after > 3:
                        score = -1.0
            elif kind_of_agent == PERSONALITY:
                # values [2 free or restricted, 11 types]; the table holds minus the base value of each group
                base = -prices[kind if kind != BOMB else BOMBS + size, rank] / UNIT
                score = base + values[0 if lead else 1, kind] - 0.001 * place - 0.05 * (before / UNIT - after)
                if lead and kind == SINGLE:
                    score += (1.0 if mate == 1 else 0.0) - (1.0 if foe == 1 else 0.0)
                if not lead and (mates or (bomb and base + values[1, kind] < 0)):
                    score = -1e10
            else:
                score = _strong_score(
                    parameters, lead, mates, kind, size, place, gain, after, higher, bomb, own, mate, foe,
                    next_left, m, sure, beat, level, unseen_lo, unseen_hi,
                )  # fmt: skip
            if score > best_score or (score == best_score and after < best_after):
                best, best_score, best_after = k, score, after
        choice[j] = best - offsets[j]


@kernel(nogil=True)
def _strong_score(
    q: NDArray[np.float64],
    lead: bool,
    mates: bool,
    kind: Int,
    size: Int,
    place: Int,
    gain: float,
    after: float,
    higher: Int,
    bomb: bool,
    own: Int,
    mate: Int,
    foe: Int,
    next_left: Int,
    groups: Int,
    sure: Int,
    beat: Int,
    level: Int,
    unseen_lo: Int,
    unseen_hi: Int,
) -> float:
    """Score of a move for the strong agent, PASS being zero; q: StrongParameters as an array."""
    win = 1.0 / (1.0 + q[0] * higher) if not bomb else 0.95
    danger = 1.0 / (1.0 + foe / q[1])
    turn = q[2] + q[3] * danger + q[4] * max(0.0, 2.0 - after)
    if lead:
        score: float = gain + turn * win + q[5] * size
        if size == foe and not bomb:
            score -= q[6] * (1.0 - win)
        if kind == SINGLE and foe == 1:
            score -= q[7] * (1.0 - win)
        if size == mate and mate <= 2 and not bomb:
            score += q[8] * (1.0 - win)
        if bomb:
            score -= q[9]
        if groups - sure <= 1:
            # all but one group hold the lead: play those first
            score += 20.0 * (1.0 if bomb or higher == 0 else 0.0) + (0.5 if not bomb else 0.0)
        return score
    if mates:
        leads = beat & 255
        theirs = rank_place(leads, beat >> 8 & 255, level)
        held = 1.0 / (1.0 + q[0] * higher_unseen(leads, theirs, level, unseen_lo, unseen_hi))
        score = gain - q[10] - q[11] * held + q[12] * max(0.0, 2.0 - after) * win
        if bomb or mate <= 2:
            score -= q[13]
        if groups - sure <= 1 and (bomb or higher == 0) and after < 1.5:
            score += q[14]
        return score
    score = gain - q[15] + turn * win
    if bomb:
        score += q[16] * danger - q[17]
        if groups - sure <= 1:
            score += q[18]
    return score


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


ADJUSTMENTS = {
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
        _choose_by_split(
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
        if personality not in ADJUSTMENTS:
            raise ValueError(
                f"PersonalityAgent: personality must be one of {', '.join(ADJUSTMENTS)}; got {personality!r}"
            )
        super().__init__(PERSONALITY, personality_costs(), ADJUSTMENTS[personality], np.zeros(1))
        self.name = personality


class StrongAgent(_SplitAgent):
    """Our strongest hand-written agent: weighs moves saved, the lead, danger, the partner and bombs."""

    def __init__(self, parameters: StrongParameters | None = None) -> None:
        q = StrongParameters() if parameters is None else parameters
        super().__init__(STRONG, _strong_costs(q), np.zeros((2, 11)), astuple(q))
        self.name = "strong"
