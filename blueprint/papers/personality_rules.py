"""The rule-based personalities of the PDHQN paper for DouDiZhu and Big2: aggressive, conservative, balanced.

A move is worth what its type and rank are (table 5), adjusted by the personality where it leads or where it
follows (table 6). The tables are GuanDan's, and types are taken for their like: chains and flushes for
straights, planes for plates, trios with kickers and fours with two for full houses, the 2 for the card of the
level. Moves of the split of greatest value are candidates. Nearly all groups are worth -1 there, so that this
is taken to be a split into the fewest turns (`HandRests.turns`). Otherwise as in GuanDan
(`blueprint.guandan.rules.split_agents`): a follower answers with a group of its split, or passes; bombs need
a value of at least zero then; ties go to the weakest; whoever's partner leads passes unless it goes out;
single cards are led for one less where an opponent holds one card, for one more where the partner does.
Nobody bids.

Source: the paper on personality-guided deep Monte Carlo (2025), appendix B, tables 5 and 6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.climbing.move_inputs import MoveInputs
from blueprint.guandan.rules.split_agents import ADJUSTMENTS
from blueprint.papers.fields import PERSONALITIES
from blueprint.papers.pruning import hand_rests
from blueprint.papers.styles import first_best
from blueprint.protocol import Agent, Decisions
from games.climbing.big2.big2 import Big2
from games.climbing.big2.combinations import PLAY_KINDS, play_kinds
from games.climbing.doudizhu.move_table import KIND_NAMES, NUM_MOVES, move_table
from games.support.array_types import Array, Ints

TYPES = (
    "pass",
    "single",
    "pair",
    "trips",
    "three pairs",
    "full house",
    "plate",
    "straight",
    "straight flush",
    "bomb",
)
"""Types of moves, as table 6 and GuanDan have them."""
PASS, SINGLE, PAIR, TRIPS, THREE_PAIRS, FULL_HOUSE, PLATE, STRAIGHT, STRAIGHT_FLUSH, BOMB = range(10)
RULED = PERSONALITIES[:3]
"""Personalities that have a rule; the fourth is the network's own play."""
TWO, BLACK, RED = 12, 13, 14
DOUDIZHU = {
    "pass": PASS,
    "solo": SINGLE,
    "pair": PAIR,
    "trio": TRIPS,
    "chain of solos": STRAIGHT,
    "chain of pairs": THREE_PAIRS,
    "chain of trios": PLATE,
    "trio with a solo": FULL_HOUSE,
    "trio with a pair": FULL_HOUSE,
    "plane with solos": PLATE,
    "plane with pairs": PLATE,
    "four with two solos": FULL_HOUSE,
    "four with two pairs": FULL_HOUSE,
    "bomb": BOMB,
    "rocket": BOMB,
}
BIG2 = {
    "pass": PASS,
    "single": SINGLE,
    "pair": PAIR,
    "triple": TRIPS,
    "straight": STRAIGHT,
    "flush": STRAIGHT,
    "full house": FULL_HOUSE,
    "four and one": BOMB,
    "straight flush": STRAIGHT_FLUSH,
    "deal": PASS,
}
_DOUDIZHU_TYPES = np.array([DOUDIZHU[name] for name in KIND_NAMES])
_BIG2_TYPES = np.array([BIG2[name] for name in PLAY_KINDS])


def _base() -> NDArray[np.float64]:
    """Return table 5, [types, ranks], ranks from 3 to 2 and the jokers."""
    value = np.full((len(TYPES), 15), -1.0)
    value[PASS] = 0
    value[SINGLE, [TWO, BLACK, RED]] = (-0.5, 0.0, 0.5)
    value[PAIR, [10, 11, TWO]] = (-0.5, 0.0, 0.0)
    for kind in (TRIPS, FULL_HOUSE):
        value[kind, 7:13] = (-0.5, -0.5, -0.5, 0.0, 0.0, 0.5)
    value[[PLATE, THREE_PAIRS]] = -0.5
    value[STRAIGHT, 5:8] = -0.5
    value[[STRAIGHT_FLUSH, BOMB]] = 1.0
    return value


BASE = _base()


def move_types(inputs: MoveInputs, words: Ints) -> tuple[Ints, Ints]:
    """Return the type of each move, of TYPES, and the rank it counts as, [m] each.

    A straight's rank is its lowest, that of a full house its trio's; calls are passes.
    """
    game = inputs.game
    if isinstance(game, Big2):
        types = _BIG2_TYPES[play_kinds(words.view(np.uint64), game.rules.book())]
        suited = (words[:, None] >> 4 * np.arange(13)) & 15
        held = sum((suited >> suit & 1 for suit in range(4)), np.zeros_like(suited))
        most = held.max(1, keepdims=True)
        return types, np.where(words == 0, 0, np.argmax((held == most) & (held > 0), 1))
    heads = move_table().heads[np.minimum(words, NUM_MOVES - 1)]
    types = np.where(words < NUM_MOVES, _DOUDIZHU_TYPES[heads & 255], PASS)
    return types, np.where(words < NUM_MOVES, heads >> 8 & 255, 0)


def _table(inputs: MoveInputs, states: Array, seats: Ints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the partners of who decides, [n, seats], and whether one of them leads."""
    rows, players = np.arange(len(seats)), inputs.game.num_players
    if isinstance(inputs.game, Big2):
        return np.zeros((len(seats), players), np.bool_), np.zeros(len(seats), np.bool_)
    landlord = states["landlord"].astype(np.int64)[:, None] == np.arange(3)
    mates = (landlord == landlord[rows, seats][:, None]) & (np.arange(3) != seats[:, None])
    mates &= ~landlord[rows, seats][:, None]
    leader = np.minimum(states["leader"].astype(np.int64), 2)
    return mates, mates[rows, leader] & (states["leader"] < 3)


def personality_choice(inputs: MoveInputs, personality: str) -> Agent:
    """Return who chooses by a personality's rule, of RULED. Raises GameError for a game without any."""
    leads, follows = np.array(ADJUSTMENTS[personality], np.float64)  # GuanDan's joker bomb goes last: unused
    rests = hand_rests(inputs.game, "personas must be 0", "have personalities", climbing=True)

    def choose(d: Decisions) -> Ints:
        seats, starts, counts = d.seats, d.offsets[:-1], np.diff(d.offsets)
        at = np.repeat(np.arange(len(seats)), counts)
        states = np.ascontiguousarray(d.states[d.rows])
        types, ranks = move_types(inputs, inputs.words(d.actions))
        turns = rests.turns(d)
        passes = types == PASS
        lead = ~np.logical_or.reduceat(passes, starts)
        left = rests.left(states)
        mates, mate_leads = _table(inputs, states, seats)
        others = np.arange(left.shape[1]) != seats[:, None]
        foe = ((left == 1) & others & ~mates).any(1)
        mate = ((left == 1) & mates).any(1)
        score = BASE[types, ranks] + np.where(lead[at], leads[types], follows[types])
        score += ((types == SINGLE) & lead[at]) * (mate[at] * 1.0 - foe[at] * 1.0)
        # of a split: the rest takes one turn less than the hand, which a pass leaves as it is
        least = np.minimum.reduceat(np.where(passes, 99, turns), starts)
        hand = np.where(lead, least + 1, np.maximum.reduceat(np.where(passes, turns, 0), starts))
        allowed = turns < hand[at]
        allowed &= ~(~lead[at] & (types >= STRAIGHT_FLUSH) & (score < 0)) & (lead | ~mate_leads)[at] & ~passes
        score = np.where(allowed, score, -1e9)
        score = np.where(passes, -1e6, score) - 1e-3 * ranks
        score = np.where(~passes & (turns == 0), 1e6, score)  # whoever can goes out
        return first_best(score, d.offsets)

    return choose
