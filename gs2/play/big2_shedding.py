"""A rule agent for Big2: it plays towards the fewest turns in which its hand could be shed.

    gs2 match --game big2 gs2.play.big2_shedding:BIG2_SHEDDING uniform

How many turns a hand needs is counted over its straights and flushes, with the rest taken by rank
(`blueprint.climbing.big2_turns`). On lead it plays what leaves the fewest turns, low and many cards
first. It answers with the lowest play that costs no turn, with more where somebody is about to go out. The
rules are ours, of no program.
"""

from __future__ import annotations

import numpy as np

from blueprint.climbing.big2_turns import big2_turns
from blueprint.protocol import Decisions
from games.climbing.big2.big2 import Big2
from games.climbing.big2.big2_rules import PLAYERS, Book
from games.climbing.big2.card_masks import count_cards, lowest_place
from games.climbing.big2.combinations import play_head
from games.climbing.big2.table_rows import BIG2_STATE, HELD
from games.round_rows import views
from games.support.array_types import Ints
from games.support.kernel import kernel
from gs2.play.shedding import SheddingAgent

NEAR_END = 3
"""Cards left to another seat from which on plays that cost a turn are worth it."""


@kernel(nogil=True)
def _choose(words: Ints, seats: Ints, offsets: Ints, actions: Ints, book: Book, out: Ints) -> None:
    """Write the place of the chosen action of each decision, [n]."""
    room = np.empty(26, np.int64)
    players = book[0][PLAYERS]
    for i in range(len(words)):
        player, begin, end = seats[i], offsets[i], offsets[i + 1]
        out[i] = begin
        if end - begin < 2:
            continue
        hand = words[i, HELD + player]
        fewest, following = 13, count_cards(words[i, HELD + (player + 1) % players])
        for seat in range(players):
            if seat != player:
                fewest = min(fewest, count_cards(words[i, HELD + seat]))
        before = big2_turns(hand, book, room)
        follows = actions[begin] == 0
        best = 1 << 40
        for j in range(begin + follows, end):
            cards = actions[j]
            rest = hand & ~cards
            turns = big2_turns(rest, book, room)
            size = count_cards(cards)
            top = cards
            place = 0
            while top:
                place = lowest_place(top)
                top &= top - 1
            # between plays of five cards the head decides, otherwise the highest card
            rank = (play_head(cards, book) & 0xFFFF) >> 5 if size == 5 else place
            cost = 1000 * int(turns) + 4 * rank - 5 * size
            if size == 1 and following == 1:
                cost += 4000 - 20 * place
            if turns == 0:
                cost = -1
            elif follows:
                allowed = turns < before or (fewest <= NEAR_END and turns <= before + 1)
                if not allowed:
                    continue
            if cost < best:
                best = cost
                out[i] = j


def _chosen(decisions: Decisions, out: Ints) -> None:
    game = decisions.game
    assert isinstance(game, Big2)
    words, _ = views(np.ascontiguousarray(decisions.states[decisions.rows], BIG2_STATE))
    moves = np.ascontiguousarray(decisions.actions, np.uint64).view(np.int64)
    _choose(words, decisions.seats, decisions.offsets, moves, game.rules.book(), out)


BIG2_SHEDDING = SheddingAgent("big2-shedding", "big2", _chosen)
"""The agent, ready to be named as MODULE:NAME."""
