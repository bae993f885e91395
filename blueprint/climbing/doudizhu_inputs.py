"""What the network sees of a round of DouDiZhu: a row of bits for a seat's view, one for each of its moves.

Counts of cards are thermometers: bit k of a rank is set where more than k are held, 54 bits a multiset. Seats
count from the one who sees: itself, the next, the one after. Beyond the round's own features
(`games.climbing.doudizhu.doudizhu`) there are the cards that the landlord is known to hold still, and
what the others passed on; a move is told with the hand that it leaves behind.
Source: the kinds of inputs are those of Zha et al. 2021 (DouZero), table 4; the layout is ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blueprint.climbing.doudizhu_auction import Auction
from blueprint.protocol import Untaught
from blueprint.row_layout import Blocks, at_least, block_starts, rows_hash, rows_width
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import (
    PAIR,
    PASS,
    ROCKET,
    SOLO,
    TRIO,
    TRIO_PAIR,
    TRIO_SOLO,
    Tables,
    move_table,
)
from games.climbing.doudizhu.multiset import DECK_COPIES, NUM_PLAIN
from games.climbing.doudizhu.round_state import (
    BEAT,
    BID,
    BOMBS,
    BOTTOM,
    CALLED,
    CALLS,
    CALLS_MADE,
    GAPS,
    HAND,
    LANDLORD,
    LEADER,
    LEFT,
    MOVES,
    NO_SEAT,
    OVER,
    PASSES,
    PLAYED,
    PLAYER,
    PLAYS,
    RECORD,
    Halves,
    act_all,
    round_views,
)
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array, Bytes, Int, Ints
from games.support.kernel import kernel

CARDS = 54
RECENT = 5
"""Last moves whose cards are told, the latest first."""
REFUSED = 3
"""Kinds of moves that others are remembered to have passed on: solo, pair, trio with or without a kicker."""
ONE_MOVE = CARDS + 5

SEAT_BLOCKS: Blocks = (
    ("hand", CARDS),
    ("unseen", CARDS),  # neither held nor played
    ("played", 3 * CARDS),  # by each seat
    ("known", CARDS),  # of the bottom, not yet played: the landlord holds them
    ("left", 60),  # cards of each seat, one-hot 1..20
    ("role", 3),  # who is landlord
    ("actor", 3),
    ("beat_kind", 15),  # of the move to beat; pass for none
    ("beat_rank", 15),
    ("beat_links", 12),
    ("leader", 3),
    ("passes", 2),  # at least 1, 2
    ("recent", RECENT * ONE_MOVE),  # each: cards, who, at least 1, 2 passes after it
    ("refused", 2 * REFUSED * 15),  # by the next seat and the one after: ranks passed on, an opponent's move
    ("bombs", 6),  # played so far: at least 1..6
    ("moved", 6),  # of each seat: has it played, has it played twice
    ("auction", 1),
    ("bid", 3),  # at least 1, 2, 3
    ("calls", 12),  # the highest call of each seat, one-hot 0..3
    ("spare", 14),
)
MOVE_BLOCKS: Blocks = (
    ("kind", 15),
    ("call", 4),
    ("rank", 15),
    ("links", 12),
    ("cards", CARDS),
    ("rest", CARDS),  # the hand that is left
    ("left", 20),  # how many cards that are: 0..19
    ("solos", 8),  # ranks left with one card: at least 1..8
    ("pairs", 6),
    ("trios", 5),
    ("fours", 4),
    ("chains", 5),  # five solos in a row that are left: at least 1..5
    ("pair_chains", 3),
    ("trio_chains", 3),
    ("higher", 4),  # unseen cards that beat it in its own kind: 0, 1, 2, more
    ("bombs", 3),  # fours and the rocket among unseen cards: at least 1, 2, 3
    ("spare", 9),
)
SEAT_BITS, MOVE_BITS = rows_width(SEAT_BLOCKS), rows_width(MOVE_BLOCKS)
HIDDEN_BITS = 2 * CARDS
"""The hands of the next seat and the one after."""
DOUDIZHU_HASH = rows_hash(1, SEAT_BLOCKS, MOVE_BLOCKS)
"""Names the layout; a checkpoint trained on another one is refused."""

S, M = block_starts(SEAT_BLOCKS), block_starts(MOVE_BLOCKS)

_COPIES = np.array([0, 1, 2, 3, 1, 2, 3, 3, 3, 3, 3, 4, 4, 4, 5], np.int64)
"""Cards of each rank of a body, by kind; nothing beats the rocket."""


@kernel(nogil=True)
def _card_row(row: Bytes, at: Int, cards: Int) -> None:
    """Write a packed multiset as 54 bits."""
    for rank in range(13):
        count = cards >> 4 * rank & 15
        for k in range(4):
            row[at + 4 * rank + k] = count > k
    row[at + 52] = cards >> 52 & 1
    row[at + 53] = cards >> 56 & 1


@kernel(nogil=True)
def _unseen(words: Ints, i: Int, seat: Int, deck: Int) -> Int:
    """Return the packed cards that a seat neither holds nor has seen played."""
    left: Int = deck - words[i, HAND + seat]
    for other in range(3):
        left -= words[i, PLAYED + other]
    return left


@kernel(nogil=True)
def _write_past(
    words: Ints, halves: Halves, bytes_: Bytes, i: Int, seat: Int, tables: Tables, row: Bytes
) -> None:
    """Write the last moves, and what the others have passed on."""
    plays, landlord = np.int64(bytes_[i, PLAYS]), np.int64(bytes_[i, LANDLORD])
    mover = landlord
    for k in range(plays):
        move = halves[i, RECORD + k]
        gap = words[i, GAPS + (k >> 5)] >> 2 * (k & 31) & 3
        head = tables[1][move]
        kind, rank = head & 255, head >> 8 & 255
        group = np.int64(-1)
        if kind in (SOLO, PAIR):
            group = kind - SOLO
        elif kind in (TRIO, TRIO_SOLO, TRIO_PAIR):
            group = np.int64(2)
        if group >= 0:
            for g in range(1, gap + 1):
                who = (mover + g) % 3
                if who != seat and (who == landlord) != (mover == landlord):
                    row[S.refused + 15 * (REFUSED * ((who - seat + 3) % 3 - 1) + group) + rank] = 1
        back = plays - 1 - k
        if back < RECENT:
            at = S.recent + ONE_MOVE * back
            _card_row(row, at, tables[0][move])
            row[at + CARDS + (mover - seat + 3) % 3] = 1
            at_least(row, at + CARDS + 3, gap, 2)
        mover = (mover + gap + 1) % 3


@kernel(nogil=True)
def _write_auction(halves: Halves, bytes_: Bytes, i: Int, seat: Int, row: Bytes) -> None:
    """Write the calls that were made: seat 0 opens, and each calls in turn."""
    calls, called = np.int64(halves[i, CALLS_MADE]), int(bytes_[i, CALLED])
    for who in range(min(called, 3)):
        best = np.int64(0)
        for k in range(who, called, 3):
            best = max(best, calls >> 2 * k & 3)
        row[S.calls + 4 * ((who - seat + 3) % 3) + best] = 1
    at_least(row, S.bid, np.int64(bytes_[i, BID]), 3)


@kernel(nogil=True)
def _write_seats(
    words: Ints,
    halves: Halves,
    bytes_: Bytes,
    rows: Ints,
    seats: Ints,
    deck: int,
    tables: Tables,
    out: Bytes,
) -> None:
    """Write what seats see, [len(rows), SEAT_BITS].

    words, halves, bytes_: `round_views` of the states. rows: [k] which of them; seats: [k] in whose eyes.
    deck: the packed cards that there are. tables: `MoveTable.tables`.
    """
    for j in range(len(rows)):
        i, seat = rows[j], seats[j]
        row = out[j]
        row[:] = 0
        landlord, player = np.int64(bytes_[i, LANDLORD]), np.int64(bytes_[i, PLAYER])
        _card_row(row, S.hand, words[i, HAND + seat])
        _card_row(row, S.unseen, _unseen(words, i, seat, deck))
        for k in range(3):
            who = (seat + k) % 3
            _card_row(row, S.played + CARDS * k, words[i, PLAYED + who])
            left = np.int64(bytes_[i, LEFT + who])
            if left:
                row[S.left + 20 * k + left - 1] = 1
            at_least(row, S.moved + 2 * k, np.int64(bytes_[i, MOVES + who]), 2)
        if player < 3:
            row[S.actor + (player - seat + 3) % 3] = 1
        _write_auction(halves, bytes_, i, seat, row)
        if landlord == NO_SEAT:
            row[S.auction] = player != OVER
            continue
        row[S.role + (landlord - seat + 3) % 3] = 1
        known = np.int64(0)
        for rank in range(15):
            shown = words[i, BOTTOM] >> 4 * rank & 15
            gone = words[i, PLAYED + landlord] >> 4 * rank & 15
            known |= max(shown - gone, 0) << 4 * rank
        _card_row(row, S.known, known)
        head = tables[1][halves[i, BEAT]]
        row[S.beat_kind + (head & 255)] = 1
        if head:
            row[S.beat_rank + (head >> 8 & 255)] = 1
            row[S.beat_links + (head >> 16 & 255) - 1] = 1
        row[S.leader + (np.int64(bytes_[i, LEADER]) - seat + 3) % 3] = 1
        at_least(row, S.passes, np.int64(bytes_[i, PASSES]), 2)
        at_least(row, S.bombs, np.int64(bytes_[i, BOMBS]), 6)
        _write_past(words, halves, bytes_, i, seat, tables, row)


@kernel(nogil=True)
def _write_hidden(words: Ints, rows: Ints, seats: Ints, out: Bytes, at: int) -> None:
    """Write the hands of the next seat and of the one after, HIDDEN_BITS from `at` on."""
    for j in range(len(rows)):
        for k in range(2):
            _card_row(out[j], at + CARDS * k, words[rows[j], HAND + (seats[j] + 1 + k) % 3])


@kernel(nogil=True)
def _ranks_with(cards: Int, copies: int) -> Int:
    """Return the ranks held at least so many times, a mask of 15 bits."""
    found = np.int64(0)
    for rank in range(15):
        found |= np.int64((cards >> 4 * rank & 15) >= copies) << rank
    return found


@kernel(nogil=True)
def _runs(mask: Int, links: Int) -> Int:
    """Return the ranks from 3 to A at which a run of so many ranks of a mask starts."""
    found = mask & 4095
    for k in range(1, links):
        found &= (mask & 4095) >> k
    return found


@kernel(nogil=True)
def _set_bits(mask: Int) -> Int:
    count = np.int64(0)
    while mask:
        mask &= mask - 1
        count += 1
    return count


@kernel(nogil=True)
def _write_rest(row: Bytes, rest: Int) -> None:
    """Write the hand that a move leaves."""
    _card_row(row, M.rest, rest)
    total, ones, twos, threes, fours = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    m1, m2, m3 = np.int64(0), np.int64(0), np.int64(0)
    for rank in range(15):
        count = rest >> 4 * rank & 15
        total += count
        ones += count == 1
        twos += count == 2
        threes += count == 3
        fours += count == 4
        m1 |= np.int64(count > 0) << rank
        m2 |= np.int64(count > 1) << rank
        m3 |= np.int64(count > 2) << rank
    row[M.left + min(int(total), 19)] = 1
    at_least(row, M.solos, ones, 8)
    at_least(row, M.pairs, twos, 6)
    at_least(row, M.trios, threes, 5)
    at_least(row, M.fours, fours, 4)
    at_least(row, M.chains, _set_bits(_runs(m1, 5)), 5)
    at_least(row, M.pair_chains, _set_bits(_runs(m2, 3)), 3)
    at_least(row, M.trio_chains, _set_bits(_runs(m3, 2)), 3)


@kernel(nogil=True)
def _write_moves(
    words: Ints,
    rows: Ints,
    seats: Ints,
    offsets: Ints,
    actions: Ints,
    deck: int,
    tables: Tables,
    out: Bytes,
) -> None:
    """Write the moves of decisions, [offsets[-1], MOVE_BITS]; those of j are actions from offsets[j] on.

    rows, seats: [k] the state of each decision and who decides.
    """
    held = np.empty(6, np.int64)
    for j in range(len(rows)):
        hand = words[rows[j], HAND + seats[j]]
        unseen = _unseen(words, rows[j], seats[j], deck)
        for copies in range(1, 6):
            held[copies] = _ranks_with(unseen, copies)
        bombs = _set_bits(held[4]) + (unseen >> 52 == 0x11)
        for m in range(offsets[j], offsets[j + 1]):
            row = out[m]
            row[:] = 0
            action = actions[m]
            rest = hand
            if action >= CALLS:
                row[M.call + action - CALLS] = 1
            else:
                head = tables[1][action]
                kind, rank, links = head & 255, head >> 8 & 255, head >> 16 & 255
                row[M.kind + kind] = 1
                if action != PASS:
                    cards = tables[0][action]
                    rest = hand - cards
                    row[M.rank + rank] = 1
                    row[M.links + links - 1] = 1
                    _card_row(row, M.cards, cards)
                    bodies = held[_COPIES[kind]]
                    if links > 1:
                        bodies = _runs(bodies, links)
                    row[M.higher + min(_set_bits(bodies >> rank + 1), 3)] = kind < ROCKET
            _write_rest(row, rest)
            at_least(row, M.bombs, bombs, 3)


class DouDizhuInputs:
    """DouDiZhu, with any deck, and with or without an auction.

    A network that learned without one is not told of it: what it never met would be noise.
    """

    layout = DOUDIZHU_HASH
    action_type: Any = np.int64
    seat_bits, move_bits, hidden_bits, others = SEAT_BITS, MOVE_BITS, HIDDEN_BITS, 2
    trial_rounds = 4096
    past = None

    def __init__(self, game: DouDizhu, learned: DouDizhu | None = None) -> None:
        self.game: Game = game
        alone = learned is not None and game.by_bid and not learned.by_bid
        self.untaught: Untaught | None = Auction(game) if alone else None
        self._rules, self.deal, self._played = game.rules, game.sample_deals, game.play_randomly
        self._tables = move_table().tables
        copies = np.where(
            (np.arange(len(DECK_COPIES)) < game.ranks) | (np.arange(len(DECK_COPIES)) >= NUM_PLAIN),
            DECK_COPIES,
            0,
        )
        self._deck = sum(int(count) << 4 * rank for rank, count in enumerate(copies))

    def legal(self, states: Array) -> Ragged:
        return self.game.actions(states)

    def act(self, states: Array, actions: Ints) -> None:
        act_all(*round_views(states), actions, self._rules, self._tables)

    def play_randomly(self, states: Array, rng: np.random.Generator) -> Array:
        return self._played(states, rng)[0]

    def write_seats(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        _write_seats(*round_views(states), rows, seats, self._deck, self._tables, out)
        if self.untaught is not None:
            out[: len(rows), S.auction : S.spare] = 0

    def write_moves(
        self, states: Array, rows: Ints, seats: Ints, offsets: Ints, words: Ints, out: Bytes
    ) -> None:
        views = round_views(states)
        _write_moves(views[0], rows, seats, offsets, words, self._deck, self._tables, out)

    def write_hidden(self, states: Array, rows: Ints, seats: Ints, out: Bytes, at: int = 0) -> None:
        _write_hidden(round_views(states)[0], rows, seats, out, at)

    def words(self, actions: Array) -> Ints:
        return np.ascontiguousarray(actions, np.int64)
