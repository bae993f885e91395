"""What the GuanDan network sees: one row of bytes per state and one per action, written by batched kernels.

A state is encoded once per decision, from one seat's eyes; an action only by what it does: its type and
place, and the hand it leaves behind. Beyond DanZero's 567 inputs there are the action to beat (kept after
passes), types beside cards, wild cards by copies, rank counts as thermometers, what tribute made known, and
how many higher combinations of the same type the unseen cards still hold. A checkpoint names the layout that
it was trained on by its hash.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.objective import result_worth
from blueprint.protocol import Decisions, MoveRows
from blueprint.row_layout import at_least, block_starts, rows_hash, rows_width
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
    unpack,
)
from games.guandan.combos import ORDER
from games.guandan.matches.chances import RESULTS
from games.guandan.moves.packed import BITS5, COUNT, LANES, RANK_AT
from games.guandan.rounds.state import (
    ACT_KINDS,
    ACT_PLACES,
    ACT_TYPES,
    ACT_WORDS,
    ACTS,
    ACTS_SEEN,
    BEAT,
    CAP,
    FINISHED,
    HAND,
    KNOWN,
    LAST,
    LEADER,
    LEFT,
    LEVEL,
    ORDER_OUT,
    OWNER,
    PASSES,
    PLAYED,
    PLAYER,
    TRICK,
    action_words,
)
from games.round_rows import views
from games.support.array_types import Array, Bytes, Int, Ints
from games.support.kernel import kernel

OUTCOMES = tuple(map(float, RESULTS))
"""Payoffs of a round to one side, the classes of V."""
PLAYED_SCALE = 0.25
"""Counts of played cards reach 8, the other inputs are 0 or 1."""

STATE_BLOCKS = (
    ("hand", 108),  # own cards: at least one copy, two copies, card by card
    ("hand_ranks", 78),  # own natural cards of each rank 2..A: at least 1..6
    ("wild", 2),  # own wild cards: at least 1, 2
    ("unseen", 108),  # cards neither held nor played
    ("unseen_ranks", 104),  # the same by rank, at least 1..8, wild cards included
    ("left", 112),  # cards each seat holds, one-hot 0..27; seats count from the one who sees
    ("played", 60),  # cards each seat has played, counts of 15 ranks
    ("beat", 42),  # action to beat: type 11, place 15, bomb size 7, wild cards 2, whose 4, passes 3
    ("trick", 81),  # last action in this trick of the three others: type or none 12, place 15
    ("last", 108),  # last action in the round of all four: type or none 12, place 15
    ("level", 13),  # the round's level
    ("out", 16),  # place at which each seat finished: 1st, 2nd, 3rd, not yet
    ("known", 45),  # counts of ranks that the three others are known to hold still
    ("cap", 45),  # highest place their other cards can have
    ("actor", 4),  # who acts
    ("owner", 2),  # whose level it is: own team's, theirs
)
"""(name, width) of each block of a state's row, in order."""

HIDDEN_BLOCKS = (
    ("cards", 324),  # cards of the next, partner and previous seat: at least one copy, both copies
    ("ranks", 234),  # their natural cards of each rank: at least 1..6
    ("wild", 6),  # their wild cards: at least 1, 2
    ("spare", 12),
)
"""(name, width) of each block of what the critic sees beyond a state's row."""

ACTION_BLOCKS = (
    ("type", 11),
    ("place", 15),  # in the level-aware order: singles, pairs, trips, full houses, bombs
    ("low", 13),  # lowest place of a sequence, the low ace first
    ("size", 7),  # of a bomb, 4..10
    ("uses_wild", 2),  # at least 1, 2
    ("pair", 15),  # place of a full house's pair
    ("ranks", 78),  # natural cards left of each rank: at least 1..6
    ("jokers", 4),  # jokers left: at least 1, 2 of each
    ("wild", 2),  # wild cards left: at least 1, 2
    ("cards", 52),  # natural cards left, at least one copy
    ("left", 12),  # cards left: 0..10, more
    ("singles", 8),  # ranks left with one card: at least 1..8
    ("pairs", 6),
    ("trips", 5),
    ("bombs", 4),  # four or more
    ("straights", 4),  # straights within the natural cards left: windows, at least 1..4
    ("flushes", 3),  # straight flushes left, wild cards helping
    ("higher", 4),  # higher combinations of the type that unseen natural cards allow: 0, 1, 2, more
    ("spare", 11),
)
"""(name, width) of each block of an action's row, in order."""


S, A, H = block_starts(STATE_BLOCKS), block_starts(ACTION_BLOCKS), block_starts(HIDDEN_BLOCKS)
"""Where each block of these rows starts, by name."""
STATE_WIDTH, ACTION_WIDTH, HIDDEN_WIDTH = map(rows_width, (STATE_BLOCKS, ACTION_BLOCKS, HIDDEN_BLOCKS))
VERSION = 1
FEATURE_HASH = rows_hash(VERSION, STATE_BLOCKS, ACTION_BLOCKS)
"""Names the layout; a checkpoint trained on another one is refused."""
PAST_WIDTH = 3 * ACTS_SEEN
"""Inputs of a network that remembers, after a state's row: what the others did (`acts` of STATE)."""
_PAST = [ACT_KINDS, ACT_TYPES, ACT_PLACES]
STAKES_WIDTH = 12
"""Inputs of a network that sees the stakes, last: how much more or less than levels results are worth."""
STAKES_SCALE = 32
"""Bytes of stakes are so many to a level."""


def layout_hash(*, past: bool, stakes: bool) -> str:
    """Return the name of the layout of a network that remembers or not, and sees the stakes or not."""
    more: list[object] = [[*_PAST] if past else None, [STAKES_WIDTH, STAKES_SCALE] if stakes else None]
    if not past and not stakes:
        return FEATURE_HASH
    return rows_hash(FEATURE_HASH, *more)


LAYOUTS = tuple(layout_hash(past=past, stakes=stakes) for past in (False, True) for stakes in (False, True))
"""The layouts that are written here."""


def state_scale() -> NDArray[np.float32]:
    """Return what each byte of a state's row is multiplied by before the first layer, [STATE_WIDTH]."""
    scale = np.ones(STATE_WIDTH, np.float32)
    width = dict(STATE_BLOCKS)["played"]
    scale[S.played : S.played + width] = PLAYED_SCALE
    return scale


DECK_LO = 0x00AAAAAAAAAAAAAA
DECK_HI = 0x000AAAAAAAAAAAAA
"""Two copies of every card, packed."""
BIT_AT = np.zeros(67, np.int64)
"""Number of the bit that is set alone in a word, by the word modulo 67: powers of two differ there."""
for _bit in range(64):
    BIT_AT[(1 << _bit) % 67] = _bit


@kernel(nogil=True)
def _rank_byte(lo: Int, hi: Int, r: Int) -> Int:
    """The byte of copies by suit of rank code r (jokers included)."""
    if r < 7:
        return lo >> 8 * r & 255
    if r < 13:
        return hi >> 8 * (r - 7) & 255
    return hi >> 48 & 3 if r == 13 else hi >> 50 & 3


@kernel(nogil=True)
def _natural_ranks(lo: Int, hi: Int, level: Int, ranks: Ints) -> Int:
    """Write the bytes of the natural cards of each rank code into `ranks` [15]; return the wild cards."""
    for r in range(15):
        ranks[r] = _rank_byte(lo, hi, r)
    wild: Int = ranks[level] & 3
    ranks[level] -= wild
    return wild


@kernel(nogil=True)
def _rank_lanes(ranks: Ints) -> Int:
    """Four lanes of 16 bits, one a suit: bit p says that the card at sequence place p is held.

    Place 0 is the low ace, 1..13 are 2..A.
    """
    lanes: Int = LANES[ranks[12]]
    for r in range(13):
        lanes |= LANES[ranks[r]] << r + 1
    return lanes


@kernel(nogil=True)
def unseen_cards(words: Ints, i: Int, p: Int) -> tuple[Int, Int]:
    """Return the packed cards, low and high, that seat p of state i neither holds nor has seen played."""
    lo, hi = DECK_LO - words[i, HAND + 2 * p], DECK_HI - words[i, HAND + 2 * p + 1]
    for seat in range(4):
        lo -= words[i, PLAYED + 2 * seat]
        hi -= words[i, PLAYED + 2 * seat + 1]
    return lo, hi


@kernel(nogil=True)
def _card_planes(row: Bytes, start: Int, lo: Int, hi: Int) -> None:
    """Two bytes a card: at least one copy, both copies."""
    for c in range(54):
        copies = lo >> 2 * c & 3 if c < 28 else hi >> 2 * (c - 28) & 3
        if copies:
            row[start + 2 * c] = 1
            row[start + 2 * c + 1] = copies >> 1


@kernel(nogil=True)
def rank_place(kind: Int, rank: Int, level: Int) -> Int:
    """Place of an action within its type: lowest first."""
    if kind in (STRAIGHT, STRAIGHT_FLUSH, THREE_PAIR, TWO_TRIPS):
        return (rank + 1) % 13
    place: Int = ORDER[level, rank]
    return place


@kernel(nogil=True)
def _wilds_in(lo: Int, hi: Int, level: Int) -> Int:
    return _rank_byte(lo, hi, level) & 3


@kernel(nogil=True)
def _public_action(row: Bytes, start: Int, head: Int, level: Int) -> None:
    """Type (11 means none) and place of somebody's action: 27 bytes."""
    kind = head & 255
    row[start + min(kind, 11)] = 1
    if 0 < kind < 11:
        row[start + 12 + rank_place(kind, head >> 8 & 255, level)] = 1


@kernel(nogil=True)
def _encode_state(words: Ints, bytes_: Bytes, i: Int, p: Int, row: Bytes) -> None:
    """Write the features of state i in the eyes of seat p."""
    row[:] = 0
    level = np.int64(bytes_[i, LEVEL])
    lo, hi = words[i, HAND + 2 * p], words[i, HAND + 2 * p + 1]
    _card_planes(row, S.hand, lo, hi)
    unseen_lo, unseen_hi = unseen_cards(words, i, p)
    _card_planes(row, S.unseen, unseen_lo, unseen_hi)
    wild = _wilds_in(lo, hi, level)
    at_least(row, S.wild, wild, 2)
    for r in range(13):
        count: Int = COUNT[_rank_byte(lo, hi, r)]
        if r == level:
            count -= wild
        at_least(row, S.hand_ranks + 6 * r, count, 6)
        at_least(row, S.unseen_ranks + 8 * r, COUNT[_rank_byte(unseen_lo, unseen_hi, r)], 8)
    for j in range(4):
        seat = (p + j) & 3
        row[S.left + 28 * j + bytes_[i, LEFT + seat]] = 1
        played_lo, played_hi = words[i, PLAYED + 2 * seat], words[i, PLAYED + 2 * seat + 1]
        for r in range(15):
            row[S.played + 15 * j + r] = COUNT[_rank_byte(played_lo, played_hi, r)]
        _public_action(row, S.last + 27 * j, words[i, LAST + 3 * seat], level)
        if j:
            _public_action(row, S.trick + 27 * (j - 1), words[i, TRICK + 3 * seat], level)
            known_lo, known_hi = words[i, KNOWN + 2 * seat], words[i, KNOWN + 2 * seat + 1]
            if known_lo | known_hi:
                for c in range(54):
                    if c < 28:
                        known, gone = known_lo >> 2 * c & 3, played_lo >> 2 * c & 3
                    else:
                        known, gone = known_hi >> 2 * (c - 28) & 3, played_hi >> 2 * (c - 28) & 3
                    if known > gone:
                        r = c // 4 if c < 52 else c - 39
                        row[S.known + 15 * (j - 1) + r] += known - gone
            row[S.cap + 15 * (j - 1) + min(bytes_[i, CAP + seat], 14)] = 1
        place = 3
        for k in range(3):
            if k < bytes_[i, FINISHED] and bytes_[i, ORDER_OUT + k] == seat:
                place = k
        row[S.out + 4 * j + place] = 1
    head = words[i, BEAT]
    kind = head & 255
    row[S.beat + kind] = 1
    if kind != PASS:
        row[S.beat + 11 + rank_place(kind, head >> 8 & 255, level)] = 1
        if kind == BOMB:
            row[S.beat + 26 + (head >> 16 & 255) - 4] = 1
        at_least(row, S.beat + 33, _wilds_in(words[i, BEAT + 1], words[i, BEAT + 2], level), 2)
        row[S.beat + 35 + (bytes_[i, LEADER] - p & 3)] = 1
    row[S.beat + 39 + min(bytes_[i, PASSES], 2)] = 1
    row[S.level + level] = 1
    if bytes_[i, PLAYER] < 4:
        row[S.actor + (bytes_[i, PLAYER] - p & 3)] = 1
    if bytes_[i, OWNER] < 2:
        row[S.owner + (bytes_[i, OWNER] ^ p & 1)] = 1


@kernel(nogil=True)
def _encode_hidden(words: Ints, bytes_: Bytes, i: Int, p: Int, row: Bytes) -> None:
    """Write the hands of the three others in state i, as a critic sees them."""
    row[:] = 0
    level = np.int64(bytes_[i, LEVEL])
    for j in range(3):
        seat = (p + j + 1) & 3
        lo, hi = words[i, HAND + 2 * seat], words[i, HAND + 2 * seat + 1]
        _card_planes(row, H.cards + 108 * j, lo, hi)
        wild = _wilds_in(lo, hi, level)
        at_least(row, H.wild + 2 * j, wild, 2)
        for r in range(13):
            count = COUNT[_rank_byte(lo, hi, r)]
            if r == level:
                count -= wild
            at_least(row, H.ranks + 78 * j + 6 * r, count, 6)


@kernel(nogil=True)
def higher_unseen(kind: Int, place: Int, level: Int, unseen_lo: Int, unseen_hi: Int) -> int:
    """Number of higher combinations (by place) of the type within the unseen cards, wild cards left aside."""
    found = 0
    if kind in (SINGLE, PAIR, TRIPS, THREE_WITH_TWO, BOMB):
        need = 1 if kind == SINGLE else 2 if kind == PAIR else 4 if kind == BOMB else 3
        for q in range(place + 1, 15):
            if COUNT[_rank_byte(unseen_lo, unseen_hi, RANK_AT[level, q])] >= need:
                found += 1
    elif kind != PASS and kind != FOUR_KINGS:
        slots, need = 5, 1
        if kind == THREE_PAIR:
            slots, need = 3, 2
        elif kind == TWO_TRIPS:
            slots, need = 2, 3
        for start in range(place + 1, 15 - slots):
            whole = 1
            for j in range(slots):
                if COUNT[_rank_byte(unseen_lo, unseen_hi, (start + 12 + j) % 13)] < need:
                    whole = 0
            found += whole
    return found


@kernel(nogil=True)
def _encode_action(
    lo: Int,
    hi: Int,
    left: Int,
    level: Int,
    unseen_lo: Int,
    unseen_hi: Int,
    head: Int,
    a_lo: Int,
    a_hi: Int,
    ranks: Ints,
    row: Bytes,
) -> None:
    """Write the features of one action of a hand (lo, hi) of `left` cards; ranks: [16] int64 scratch."""
    row[:] = 0
    kind, rank, size = head & 255, head >> 8 & 255, head >> 16 & 255
    row[kind] = 1
    place: Int = 0
    if kind != PASS:
        place = rank_place(kind, rank, level)
        if kind in (STRAIGHT, STRAIGHT_FLUSH, THREE_PAIR, TWO_TRIPS):
            row[A.low + place] = 1
        else:
            row[A.place + place] = 1
            if kind == BOMB:
                row[A.size + size - 4] = 1
            elif kind == THREE_WITH_TWO:
                # the pair is of the only other rank, or of the level if wild cards alone make it
                pair = level
                for r in range(15):
                    byte = _rank_byte(a_lo, a_hi, r)
                    if r == level:
                        byte &= 252
                    if byte and r != rank:
                        pair = r
                row[A.pair + ORDER[level, pair]] = 1
        at_least(row, A.uses_wild, _wilds_in(a_lo, a_hi, level), 2)
    lo -= a_lo
    hi -= a_hi
    left -= size
    wild = _natural_ranks(lo, hi, level, ranks)
    singles, pairs, trips, bombs = 0, 0, 0, 0
    for r in range(13):
        byte = ranks[r]
        count = COUNT[byte]
        if count:
            at_least(row, A.ranks + 6 * r, count, 6)
            for s in range(4):
                if byte >> 2 * s & 3:
                    row[A.cards + 4 * r + s] = 1
            if count == 1:
                singles += 1
            elif count == 2:
                pairs += 1
            elif count == 3:
                trips += 1
            else:
                bombs += 1
    at_least(row, A.jokers, ranks[13], 2)
    at_least(row, A.jokers + 2, ranks[14], 2)
    at_least(row, A.wild, wild, 2)
    row[A.left + min(left, 11)] = 1
    at_least(row, A.singles, singles, 8)
    at_least(row, A.pairs, pairs, 6)
    at_least(row, A.trips, trips, 5)
    at_least(row, A.bombs, bombs, 4)
    if left >= 5:
        lanes = _rank_lanes(ranks)
        every = (lanes | lanes >> 16 | lanes >> 32 | lanes >> 48) & 0x3FFF
        at_least(row, A.straights, _windows(every), 4)
        flushes = 0
        for start in range(10):
            for suit in range(4):
                if BITS5[lanes >> 16 * suit + start & 31] + wild >= 5:
                    flushes += 1
        at_least(row, A.flushes, flushes, 3)
    row[A.higher + min(higher_unseen(kind, place, level, unseen_lo, unseen_hi), 3)] = 1


@kernel(nogil=True)
def _windows(every: Int) -> int:
    """Number of runs of five among 14 sequence places."""
    run = every & every >> 1 & every >> 2 & every >> 3 & every >> 4
    found = 0
    while run:
        run &= run - 1
        found += 1
    return found


@kernel(nogil=True)
def _encode_states(words: Ints, bytes_: Bytes, rows: Ints, seats: Ints, out: Bytes) -> None:
    """Write states into the first columns of out; whole rows let one compilation serve every caller."""
    for j in range(len(rows)):
        _encode_state(words, bytes_, rows[j], np.int64(seats[j]), out[j, :STATE_WIDTH])


@kernel(nogil=True)
def past_indices(words: Ints, i: Int, p: Int, index: Ints) -> int:
    """Write which inputs of the past are set at state i in the eyes of seat p; return how many there are."""
    n = 0
    for j in range(3):
        first = ACTS + ACT_WORDS * ((p + 1 + j) & 3)
        for k in range(ACT_WORDS):
            word = np.uint64(words[i, first + k])
            at = j * ACTS_SEEN + 64 * k
            while word:
                low = word & (~word + np.uint64(1))
                index[n] = at + BIT_AT[low % np.uint64(67)]
                n += 1
                word ^= low
    return n


@kernel(nogil=True)
def _encode_actions(
    words: Ints, bytes_: Bytes, rows: Ints, seats: Ints, offsets: Ints, actions: Ints, out: Bytes
) -> None:
    ranks = np.empty(16, np.int64)
    for j in range(len(rows)):
        i, p = rows[j], np.int64(seats[j])
        lo, hi = words[i, HAND + 2 * p], words[i, HAND + 2 * p + 1]
        unseen_lo, unseen_hi = unseen_cards(words, i, p)
        level, left = np.int64(bytes_[i, LEVEL]), np.int64(bytes_[i, LEFT + p])
        for m in range(offsets[j], offsets[j + 1]):
            head = actions[m, 0] & 0xFFFFFF
            a_lo, a_hi = actions[m, 1], actions[m, 2]
            _encode_action(lo, hi, left, level, unseen_lo, unseen_hi, head, a_lo, a_hi, ranks, out[m])


@kernel(nogil=True)
def _encode_hands(words: Ints, bytes_: Bytes, rows: Ints, seats: Ints, out: Bytes, at: Int) -> None:
    """Write hidden hands into columns of out from `at` on."""
    for j in range(len(rows)):
        _encode_hidden(words, bytes_, rows[j], np.int64(seats[j]), out[j, at : at + HIDDEN_WIDTH])


class GuanDanRows:
    """The `MoveRows` of GuanDan."""

    seat_bits, move_bits, hidden_bits = STATE_WIDTH, ACTION_WIDTH, HIDDEN_WIDTH

    def write_seats(self, states: Array, rows: Ints, seats: Ints, out: Bytes) -> None:
        _encode_states(*views(states), rows, seats, out)

    def write_moves(
        self, states: Array, rows: Ints, seats: Ints, offsets: Ints, words: Ints, out: Bytes
    ) -> None:
        _encode_actions(*views(states), rows, seats, offsets, words, out)

    def write_hidden(self, states: Array, rows: Ints, seats: Ints, out: Bytes, at: int = 0) -> None:
        _encode_hands(*views(states), rows, seats, out, at)

    def words(self, actions: Array) -> Ints:
        return action_words(actions)


ROWS: MoveRows = GuanDanRows()


def encode_full(states: Array, seats: Array) -> NDArray[np.uint8]:
    """Return what the critic sees: the rows of `encode_states`, then the others' hands, uint8.

    [n, STATE_WIDTH + HIDDEN_WIDTH], the latter as in HIDDEN_BLOCKS.
    """
    states, rows, seats = _asked(states, seats)
    out = np.empty((len(rows), STATE_WIDTH + HIDDEN_WIDTH), np.uint8)
    ROWS.write_seats(states, rows, seats, out)
    ROWS.write_hidden(states, rows, seats, out, STATE_WIDTH)
    return out


def encode_states(states: Array, seats: Array, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
    """Return the features of states in the eyes of seats, [n, STATE_WIDTH] uint8.

    states: [..] STATE. seats: [n] seat 0..3. rows: [n] which state each row encodes; default all, in order.
    """
    states, rows, seats = _asked(states, seats, rows)
    out = np.empty((len(rows), STATE_WIDTH), np.uint8)
    ROWS.write_seats(states, rows, seats, out)
    return out


def encode_past(states: Array, seats: Array, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
    """Return what seats have seen the three others do in the round, [n, PAST_WIDTH] uint8.

    The arguments are those of `encode_states`. For the next, the opposite and the previous seat: which moves
    it passed on, led and followed with, by type and place (`acts` of STATE).
    """
    states, rows, seats = _asked(states, seats, rows)
    acts = states["acts"][rows[:, None], seats[:, None] + (1, 2, 3) & 3]
    return np.unpackbits(acts.view(np.uint8).reshape(len(rows), PAST_WIDTH // 8), axis=1, bitorder="little")


def encode_stakes(states: Array, seats: Array, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
    """Return what the results of the rounds are worth to seats beyond their levels, [n, STAKES_WIDTH] uint8.

    The arguments are those of `encode_states`. For the results 3, 2, 1, -1, -2, -3 how much more, then how
    much less, STAKES_SCALE to a level; nothing in a round for itself.
    """
    picked = states if rows is None else states[rows]
    beyond = result_worth(picked, np.broadcast_to(np.asarray(seats), len(picked))) - np.asarray(RESULTS)
    told = np.rint(STAKES_SCALE * np.delete(beyond, RESULTS.index(0), axis=1))
    found: NDArray[np.uint8] = np.clip(np.concatenate([told, -told], 1), 0, 255).astype(np.uint8)
    return found


def hidden_hands(states: Array, seats: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the hands of the three seats after each of `seats`, [n, 3, 54] counts."""
    hands = unpack(states["hand"])
    rows = np.arange(len(states))
    return np.stack([hands[rows, (seats + j) % 4] for j in (1, 2, 3)], 1)


def encode_actions(decisions: Decisions) -> NDArray[np.uint8]:
    """Return the features of the decisions' actions, [m, ACTION_WIDTH] uint8."""
    d, out = decisions, np.empty((len(decisions.actions), ACTION_WIDTH), np.uint8)
    rows, seats = np.asarray(d.rows, np.int64), np.asarray(d.seats, np.int64)
    states, words = np.ascontiguousarray(d.states), action_words(d.actions)
    ROWS.write_moves(states, rows, seats, np.asarray(d.offsets), words, out)
    return out


def _asked(
    states: Array, seats: Array, rows: NDArray[np.int64] | None = None
) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """Return contiguous states, and the state and seat of each row to write; arguments of `encode_states`.

    Seats are writable: kernels are compiled again for arrays that are only read.
    """
    states = np.ascontiguousarray(states)
    rows = np.arange(len(states), dtype=np.int64) if rows is None else np.asarray(rows, np.int64)
    seats = np.array(np.broadcast_to(np.asarray(seats, np.int64), rows.shape))
    if seats.size and not 0 <= seats.min() <= seats.max() < 4:
        raise ValueError(f"encode_states: a seat is 0..3; got {seats.min()}..{seats.max()}")
    return states, rows, seats
