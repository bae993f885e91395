"""What the network sees of a round of Big2: a row of bits for a seat's view, one for each of its plays.

Cards are bits by their place in the whole deck, whatever deck is played with. Seats count from the one who
sees; those that do not exist hold nothing. Passes are not in the state's record: whoever stands between the
seats of two plays passed on the first of them, but for those who had passed before and were out of the trick.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blueprint.protocol import Untaught
from blueprint.row_layout import Blocks, at_least, block_starts, rows_hash, rows_width
from games.climbing.big2.big2 import Big2
from games.climbing.big2.big2_rules import PLAYERS, STAYS_OUT, Book
from games.climbing.big2.card_masks import count_cards, lowest_place
from games.climbing.big2.combinations import play_head
from games.climbing.big2.table_rows import (
    BEAT,
    HEAD,
    HELD,
    OUT,
    OWNER,
    PASSES,
    PLAYED,
    PLAYER,
    PLAYS,
    WENT,
    apply_all,
)
from games.game import Game
from games.ragged import Ragged
from games.round_rows import views
from games.support.array_types import Array, Bytes, Int, Ints
from games.support.kernel import kernel

CARDS = 52
RECENT = 4
"""Last plays whose cards are told, the latest first."""
ONE_PLAY = CARDS + 4
KINDS = 9
"""Kinds of a play: pass, one, two, three cards, and five kinds of five (see PLAY_KINDS)."""
REFUSED = 28
"""What a seat passed on: ranks of singles, ranks of pairs, a triple, five cards."""

SEAT_BLOCKS: Blocks = (
    ("hand", CARDS),
    ("unseen", CARDS),  # neither held nor played
    ("played", 4 * CARDS),  # by each seat
    ("left", 52),  # cards of each seat, one-hot 1..12, more
    ("actor", 4),
    ("beat_kind", KINDS),  # of the play to beat; pass for none
    ("beat_rank", 13),
    ("beat_suit", 4),
    ("owner", 4),
    ("passes", 3),  # at least 1, 2, 3
    ("out", 4),  # who waits for the next lead
    ("opens", 1),  # nothing was played yet
    ("recent", RECENT * ONE_PLAY),  # each: cards, whose
    ("refused", 3 * REFUSED),  # by the next seat, the one after and the last
    ("spare", 22),
)
MOVE_BLOCKS: Blocks = (
    ("kind", KINDS),
    ("rank", 13),  # of what decides
    ("suit", 4),
    ("cards", CARDS),
    ("rest", CARDS),  # the hand that is left
    ("left", 14),  # how many cards that are: 0..12, more
    ("singles", 8),  # ranks left with one card: at least 1..8
    ("pairs", 6),
    ("triples", 4),
    ("fours", 3),
    ("straights", 5),  # straights that are left, suits aside: at least 1..5
    ("flushes", 2),  # suits left with five cards
    ("higher", 6),  # unseen cards, or ranks for pairs and triples, that beat it: 0..4, more
    ("spare", 14),
)
SEAT_BITS, MOVE_BITS = rows_width(SEAT_BLOCKS), rows_width(MOVE_BLOCKS)
HIDDEN_BITS = 3 * CARDS
"""The hands of the next seat, the one after and the last."""
BIG2_HASH = rows_hash(1, SEAT_BLOCKS, MOVE_BLOCKS)
"""Names the layout; a checkpoint trained on another one is refused."""
BIG2_STAYS_OUT_HASH = rows_hash(2, SEAT_BLOCKS, MOVE_BLOCKS)
"""The same where who has passed stays out: before, seats that were not asked were told to have passed."""

S, M = block_starts(SEAT_BLOCKS), block_starts(MOVE_BLOCKS)


@kernel(nogil=True)
def _card_row(row: Bytes, at: Int, cards: Int) -> None:
    for c in range(52):
        row[at + c] = cards >> c & 1


@kernel(nogil=True)
def _kind_of(head: Int) -> Int:
    """Return the kind of a play by its head: 0 to 3 cards, or 4 to 8 for kinds of five."""
    size = head >> 16
    return 3 + (head >> 8 & 255) if size == 5 else size


@kernel(nogil=True)
def _decider(cards: int, head: Int) -> Int:
    """Return the card, rank << 2 | suit, that a play's strength is told by: of five cards their highest.

    Of a full house or four of a kind it is a card of the three or four.
    """
    if head >> 16 < 5:
        return head & 255
    kind = head >> 8 & 255
    if kind == 3 or kind == 4:
        return (head & 255) << 2
    rest = cards
    top = 0
    while rest:
        top = lowest_place(rest)
        rest &= rest - 1
    return top


@kernel(nogil=True)
def _write_past(words: Ints, bytes_: Bytes, i: Int, seat: Int, book: Book, plays: Ints, row: Bytes) -> None:
    """Write the last plays, and what the others passed on. plays: [64, 2] to work in."""
    players = book[0][PLAYERS]
    number = np.int64(bytes_[i, PLAYS])
    plays[: number + 1] = 0
    for c in range(52):
        went = np.int64(bytes_[i, WENT + c])
        if went:
            plays[went & 63, 0] |= np.int64(1) << c
            plays[went & 63, 1] = went >> 6
    out = np.int64(0)  # who waits for the next lead
    for k in range(1, number + 1):
        cards, who = plays[k, 0], plays[k, 1]
        if number - k < RECENT:
            at = S.recent + ONE_PLAY * (number - k)
            _card_row(row, at, cards)
            row[at + CARDS + (who - seat + players) % players] = 1
        after = np.int64(bytes_[i, PLAYER])
        if k < number:
            after = plays[k + 1, 1]
        elif after >= players:  # the round is over
            after = who + 1
        # the same seat again: everyone else has passed
        between = (after - who + players - 1) % players
        size = count_cards(cards)
        place = 27 if size == 5 else 26
        if size < 3:
            place = 13 * (size - 1) + (lowest_place(cards) >> 2)
        for g in range(1, between + 1):
            other = (who + g) % players
            if other != seat and not out >> other & 1:
                row[S.refused + REFUSED * ((other - seat + players) % players - 1) + place] = 1
            if book[0][STAYS_OUT]:
                out |= np.int64(1) << other
        if after == who:  # the lead is free again
            out = np.int64(0)


@kernel(nogil=True)
def _write_seats(
    words: Ints, bytes_: Bytes, rows: Ints, seats: Ints, deck: int, book: Book, out: Bytes
) -> None:
    """Write what seats see, [len(rows), SEAT_BITS].

    words, bytes_: `views` of the states. rows: [k] which of them; seats: [k] in whose eyes.
    deck: the mask of the cards that there are.
    """
    players = book[0][PLAYERS]
    plays = np.zeros((64, 2), np.int64)
    for j in range(len(rows)):
        i, seat = rows[j], seats[j]
        row = out[j]
        row[:] = 0
        gone = np.int64(0)
        for k in range(players):
            who = (seat + k) % players
            gone |= words[i, PLAYED + who]
            _card_row(row, S.played + CARDS * k, words[i, PLAYED + who])
            left = count_cards(words[i, HELD + who])
            if left:
                row[S.left + 13 * k + min(left, 13) - 1] = 1
            row[S.out + k] = bytes_[i, OUT] >> who & 1
        _card_row(row, S.hand, words[i, HELD + seat])
        _card_row(row, S.unseen, deck & ~gone & ~words[i, HELD + seat])
        player, owner = np.int64(bytes_[i, PLAYER]), np.int64(bytes_[i, OWNER])
        if player < players:
            row[S.actor + (player - seat + players) % players] = 1
        head, beat = words[i, HEAD], words[i, BEAT]
        row[S.beat_kind + _kind_of(head)] = 1
        if beat:
            card = _decider(beat, head)
            row[S.beat_rank + (card >> 2)] = 1
            row[S.beat_suit + (card & 3)] = 1
            row[S.owner + (owner - seat + players) % players] = 1
        at_least(row, S.passes, np.int64(bytes_[i, PASSES]), 3)
        row[S.opens] = bytes_[i, PLAYS] == 0
        _write_past(words, bytes_, i, seat, book, plays, row)


@kernel(nogil=True)
def _write_hidden(words: Ints, rows: Ints, seats: Ints, players: int, out: Bytes, at: int) -> None:
    """Write the hands of the other seats, HIDDEN_BITS from `at` on; nothing for seats that are not."""
    for j in range(len(rows)):
        out[j, at : at + HIDDEN_BITS] = 0
        for k in range(players - 1):
            _card_row(out[j], at + CARDS * k, words[rows[j], HELD + (seats[j] + 1 + k) % players])


@kernel(nogil=True)
def _write_rest(row: Bytes, rest: int, book: Book) -> None:
    """Write the hand that a play leaves."""
    _card_row(row, M.rest, rest)
    row[M.left + min(count_cards(rest), 13)] = 1
    singles, pairs, triples, fours, ranks = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for rank in range(13):
        count = count_cards(rest >> 4 * rank & 15)
        singles += count == 1
        pairs += count == 2
        triples += count == 3
        fours += count == 4
        ranks |= np.int64(count > 0) << rank
    at_least(row, M.singles, singles, 8)
    at_least(row, M.pairs, pairs, 6)
    at_least(row, M.triples, triples, 4)
    at_least(row, M.fours, fours, 3)
    straights, flushes = np.int64(0), np.int64(0)
    rows = book[2]
    for place in range(len(rows)):
        mask = np.int64(0)
        for k in range(5):
            mask |= np.int64(1) << rows[place, k]
        straights += ranks & mask == mask
    for suit in range(4):
        flushes += count_cards(rest >> suit & 0x1_1111_1111_1111) > 4
    at_least(row, M.straights, straights, 5)
    at_least(row, M.flushes, flushes, 2)


@kernel(nogil=True)
def _higher(unseen: int, head: int) -> Int:
    """Return how many unseen cards beat a single, or how many unseen ranks a pair or a triple."""
    size, top = head >> 16, head & 255
    if size == 1:
        return count_cards(unseen >> top + 1)
    count = np.int64(0)
    for rank in range(top >> 2, 13):
        held = unseen >> 4 * rank & 15
        enough = count_cards(held) >= size
        if rank == top >> 2:
            # a pair of the same rank beats it by its higher card alone
            enough = enough and held >> (top & 3) + 1 != 0
        count += enough
    return count


@kernel(nogil=True)
def _write_moves(
    words: Ints, rows: Ints, seats: Ints, offsets: Ints, actions: Ints, deck: int, book: Book, out: Bytes
) -> None:
    """Write the plays of decisions, [offsets[-1], MOVE_BITS].

    rows, seats: [k] the state of each decision and who decides; its plays are
    actions[offsets[j]:offsets[j + 1]], as masks.
    """
    players = book[0][PLAYERS]
    for j in range(len(rows)):
        i = rows[j]
        hand = words[i, HELD + seats[j]]
        unseen = deck & ~hand
        for who in range(players):
            unseen &= ~words[i, PLAYED + who]
        for m in range(offsets[j], offsets[j + 1]):
            row = out[m]
            row[:] = 0
            cards = actions[m]
            head = play_head(cards, book)
            row[M.kind + _kind_of(head)] = 1
            if cards:
                card = _decider(cards, head)
                row[M.rank + (card >> 2)] = 1
                row[M.suit + (card & 3)] = 1
                _card_row(row, M.cards, cards)
                if head >> 16 < 5:
                    row[M.higher + min(_higher(unseen, head), 5)] = 1
            _write_rest(row, hand & ~cards, book)


class Big2Inputs:
    """Big2, with any number of seats and any deck."""

    action_type: Any = np.uint64
    seat_bits, move_bits, hidden_bits, others = SEAT_BITS, MOVE_BITS, HIDDEN_BITS, 3
    trial_rounds = 4096
    past = None
    untaught: Untaught | None = None

    def __init__(self, game: Big2, learned: Game | None = None) -> None:
        self.game: Game = game
        self.deal, self._played, self._book = game.sample_deals, game.play_randomly, game.rules.book()
        self.layout = BIG2_STAYS_OUT_HASH if game.rules.stays_out else BIG2_HASH
        self._deck = int(game.whole)
        self._players = game.num_players

    def legal(self, states: Array) -> Ragged:
        found = self.game.actions(states)
        return Ragged(found.offsets, found.values.view(np.int64))

    def act(self, states: Array, actions: Ints) -> None:
        apply_all(*views(states), actions, self._book)

    def play_randomly(self, states: Array, rng: np.random.Generator) -> Array:
        return self._played(states, rng)[0]

    def write_seats(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        _write_seats(*views(states), rows, seats, self._deck, self._book, out)

    def write_moves(
        self, states: Array, rows: Ints, seats: Ints, offsets: Ints, words: Ints, out: Bytes
    ) -> None:
        _write_moves(views(states)[0], rows, seats, offsets, words, self._deck, self._book, out)

    def write_hidden(self, states: Array, rows: Ints, seats: Ints, out: Bytes, at: int = 0) -> None:
        _write_hidden(views(states)[0], rows, seats, self._players, out, at)

    def words(self, actions: Array) -> Ints:
        return np.ascontiguousarray(actions, np.uint64).view(np.int64)
