"""A rule agent for DouDiZhu: it plays towards the fewest turns in which its hand could be shed.

    gs2 match --game doudizhu gs2.play.shedding:SHEDDING uniform

How many turns a hand needs is counted over its chains, with the rest taken by rank and trios carrying solos
or pairs. On lead it plays what leaves the fewest turns, low cards first. It answers an opponent with the
lowest move that costs no turn, and lets a partner's move stand. The rules are ours, of no program.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from blueprint.climbing.doudizhu_auction import called_by_rule
from blueprint.climbing.doudizhu_turns import TURN_ROOM, doudizhu_turns
from blueprint.protocol import Decisions
from games.climbing.doudizhu.move_table import BOMB, PASS, SOLO, Tables, move_table
from games.climbing.doudizhu.round_state import (
    BID,
    CALLS,
    HAND,
    LANDLORD,
    LEADER,
    LEFT,
    NO_SEAT,
    ROUND,
    round_views,
)
from games.game import GameError
from games.support.array_types import Bytes, Ints
from games.support.kernel import kernel

FOURS = 0x0444_4444_4444_4444
"""The bits of a packed hand that are set for four of a rank."""
NEAR_END = 4
"""Cards left to an opponent from which on bombs and broken groups are worth an answer."""


@kernel(nogil=True)
def _choose(
    words: Ints, bytes_: Bytes, seats: Ints, offsets: Ints, actions: Ints, tables: Tables, out: Ints
) -> None:
    """Write the place of the chosen action of each decision, [n]."""
    stack = np.empty(TURN_ROOM, np.int64)
    for i in range(len(words)):
        player, begin, end = seats[i], offsets[i], offsets[i + 1]
        out[i] = begin
        hand = words[i, HAND + player]
        landlord = np.int64(bytes_[i, LANDLORD])
        if landlord == NO_SEAT:
            wanted = CALLS + called_by_rule(hand, int(bytes_[i, BID]))
            for j in range(begin, end):
                if actions[j] == wanted:
                    out[i] = j
            continue
        # the fewest cards of an opponent
        fewest = 20
        for seat in range(3):
            if (seat == landlord) != (player == landlord):
                fewest = min(fewest, int(bytes_[i, LEFT + seat]))
        follows = actions[begin] == PASS
        leader = np.int64(bytes_[i, LEADER])
        partner = follows and leader != landlord and player != landlord
        before = doudizhu_turns(hand, stack)
        best = 1 << 40
        for j in range(begin + follows, end):
            head = tables[1][actions[j]]
            kind, rank, size = head & 255, head >> 8 & 255, head >> 24
            rest = hand - tables[0][actions[j]]
            turns = doudizhu_turns(rest, stack) if rest else 0
            cost = 1000 * turns + 10 * rank - size
            if kind >= BOMB:
                cost += 2500
            elif (hand ^ rest) & FOURS & hand:
                cost += 800  # a four is broken
            if kind == SOLO and fewest == 1:
                cost += 4000 - 20 * rank
            if turns == 0:
                cost = -1
            elif follows:
                urgent = fewest <= NEAR_END
                allowed = turns < before if kind < BOMB else turns <= 2 or urgent
                if not partner and urgent and turns <= before + 1:
                    allowed = True
                if partner and turns > 1:
                    allowed = False
                if not allowed:
                    continue
            if cost < best:
                best = cost
                out[i] = j


class SheddingAgent:
    """A rule agent of one game: deterministic, as fast as its count of turns.

    name: of the agent. plays: the name of its game. choose: called with decisions and room [n] for the places
    of the actions that it chooses.
    """

    def __init__(self, name: str, plays: str, choose: Callable[..., None]) -> None:
        self.name, self.plays, self.choose = name, plays, choose

    def __call__(self, decisions: Decisions) -> Ints:
        """Return one action per decision, as an index within its row.

        Raises GameError at any game but its own.
        """
        game = decisions.game
        if game.name.partition("(")[0] != self.plays:
            raise GameError(f"{self.name}: this agent plays {self.plays} alone; got {game.name}")
        chosen = np.empty(len(decisions), np.int64)
        self.choose(decisions, chosen)
        return chosen - decisions.offsets[:-1]


def _chosen(decisions: Decisions, out: Ints) -> None:
    words, _, marks = round_views(np.ascontiguousarray(decisions.states[decisions.rows], ROUND))
    moves = np.ascontiguousarray(decisions.actions, np.int64)
    _choose(words, marks, decisions.seats, decisions.offsets, moves, move_table().tables, out)


SHEDDING = SheddingAgent("shedding", "doudizhu", _chosen)
"""The agent, ready to be named as MODULE:NAME."""
