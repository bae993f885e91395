"""The state of a round as one fixed-size row, and the kernels that deal and play in place.

Kernels see a batch of states as two views of the same memory: `words` [n, W] int64 and `bytes` [n, 8 W]
uint8, with the column constants below. Nothing here checks legality; `round` does.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import ACTION, NO_ACTION, PASS
from games.guandan.combos import combo_strength
from games.round_rows import byte_of, word_of
from games.support.array_types import Bytes, Int, Ints, Rows
from games.support.kernel import kernel
from games.support.splitmix import mix_hash, random_below

NOBODY = 255
"""Seat, team or finishing place that does not exist (yet)."""

ACT_KINDS = ("passed", "yielded", "led", "followed")
"""What a seat can be seen to do: pass on an opponent's move or on its partner's, lead, follow with a move."""
ACT_TYPES, ACT_PLACES = 10, 16
"""Types of moves (code less one), and places in the level-aware order, of what is remembered."""
ACTS_SEEN = len(ACT_KINDS) * ACT_TYPES * ACT_PLACES
"""Bits that are remembered of a seat."""

STATE = np.dtype(
    [
        ("hand", "<u8", (4, 2)),
        ("played", "<u8", (4, 2)),
        ("known", "<u8", (4, 2)),
        ("trick", ACTION, (4,)),
        ("last", ACTION, (4,)),
        ("beat", ACTION),
        ("acts", "<u8", (4, ACTS_SEEN // 64)),
        ("hash", "<u8", (2,)),
        ("plays", "<i8"),
        ("ace", "<u8"),
        ("player", "i1"),
        ("first", "u1"),
        ("leader", "u1"),
        ("passes", "u1"),
        ("left", "u1", (4,)),
        ("order", "u1", (4,)),
        ("finished", "u1"),
        ("level", "u1"),
        ("levels", "u1", (2,)),
        ("owner", "u1"),
        ("cap", "u1", (4,)),
        ("tricks", "u1"),
        ("fails", "u1", (2,)),
    ],
    align=True,
)
"""One round in progress (784 bytes).

hand: packed cards each seat holds. played: packed cards each seat has played; their sum is the initial hand.
known: packed cards of each seat's initial hand that everybody knows of (tribute and return cards received).
cap: highest place in the level-aware order (`ORDER`) that a seat's other cards can have, wild cards excepted,
    as paying tribute shows; 14 where nothing is known.
trick: last action of each seat in this trick; last: in the whole round; type NO_ACTION where there is none.
acts: what each seat has been seen to do in the round: bit (kind * 10 + type - 1) * 16 + place of the 640 is
    set once it passed on a move of this type and place, led it or followed with it (ACT_KINDS). Nothing is
    set where nobody knows how the round went.
beat: the action to beat, all zero (a PASS) when leading. leader: seat that played it, else NOBODY.
passes: passes since then. left: cards each seat holds. order: seats in the order they finished (the
    unfinished ones appended by seat at the end), else NOBODY. finished: seats out of cards.
player: seat to act, TERMINAL at the end. first: seat that led the round. plays: actions so far, passes
    included. tricks: tricks completed.
level: rank code of the round's level. levels: of each team. owner: team whose level it is, else NOBODY.
fails: failures of each team at its level A so far; NOBODY where the round is played for itself, not as part
    of a match. ace: what the match's rules say of level A (`Rules.ace`), 0 for the ruling; a word, so that
    a state has no bytes between its fields.
hash: running 128-bit hash of the whole public record.
"""

WORDS = STATE.itemsize // 8
_word, _byte = partial(word_of, STATE), partial(byte_of, STATE)
HAND, PLAYED, KNOWN = _word("hand"), _word("played"), _word("known")
ACTS, ACT_WORDS = _word("acts"), ACTS_SEEN // 64
TRICK, LAST, BEAT, HASH, PLAYS = _word("trick"), _word("last"), _word("beat"), _word("hash"), _word("plays")
PLAYER, FIRST, LEADER, PASSES = _byte("player"), _byte("first"), _byte("leader"), _byte("passes")
LEFT, ORDER_OUT, FINISHED, LEVEL = _byte("left"), _byte("order"), _byte("finished"), _byte("level")
LEVELS, OWNER, CAP, TRICKS = _byte("levels"), _byte("owner"), _byte("cap"), _byte("tricks")
OVER = 254
"""TERMINAL (-2) as a byte."""


def action_words(actions: Rows) -> NDArray[np.int64]:
    """Return actions [m] as words [m, 3] int64, for the kernels."""
    return np.ascontiguousarray(actions, ACTION).view(np.int64).reshape(-1, 3)


@kernel
def _fold(words: Ints, i: int, x: Int) -> None:
    """Fold one word into the public hash: two lanes that see it differently."""
    words[i, HASH] = np.int64(mix_hash(np.uint64(words[i, HASH]), np.uint64(x)))
    words[i, HASH + 1] = np.int64(
        mix_hash(np.uint64(words[i, HASH + 1]), np.uint64(x) * np.uint64(0xD6E8FEB86659FD93) + np.uint64(1))
    )


@kernel(nogil=True)
def deal_hands(seeds: NDArray[np.uint64], words: Ints) -> None:
    """Shuffle the 108 cards with each seed and deal 27 to each seat."""
    deck = np.empty(108, np.int64)
    for i in range(len(seeds)):
        state = seeds[i]
        for c in range(108):
            deck[c] = c >> 1
        for c in range(107, 0, -1):
            state, j = random_below(state, c + 1)
            deck[c], deck[j] = deck[j], deck[c]
        for c in range(108):
            card, seat = deck[c], c // 27
            if card < 28:
                words[i, HAND + 2 * seat] += 1 << 2 * card
            else:
                words[i, HAND + 2 * seat + 1] += 1 << 2 * (card - 28)


@kernel
def begin_rounds(words: Ints, bytes_: Bytes) -> None:
    """Start the public record: levels, first lead, what tribute showed, cards held."""
    for i in range(len(words)):
        words[i, HASH] = 1
        words[i, HASH + 1] = 2
        x = np.int64(bytes_[i, FIRST])
        for k in (LEVEL, LEVELS, LEVELS + 1, OWNER):
            x = x << 8 | bytes_[i, k]
        _fold(words, i, x)
        x = np.int64(0)
        for s in range(4):
            x = x << 16 | bytes_[i, CAP + s] << 8 | bytes_[i, LEFT + s]
        _fold(words, i, x)
        for k in range(8):
            _fold(words, i, words[i, KNOWN + k])


@kernel
def _clear_trick(words: Ints, bytes_: Bytes, i: int) -> None:
    for s in range(4):
        words[i, TRICK + 3 * s] = NO_ACTION
        words[i, TRICK + 3 * s + 1] = 0
        words[i, TRICK + 3 * s + 2] = 0
    for k in range(3):
        words[i, BEAT + k] = 0
    bytes_[i, LEADER] = NOBODY
    bytes_[i, PASSES] = 0


@kernel
def _remember(words: Ints, bytes_: Bytes, i: int, head: int) -> None:
    """Note what the player of state i is about to do."""
    p, leader = np.int64(bytes_[i, PLAYER]), np.int64(bytes_[i, LEADER])
    about = head
    if head & 255 == PASS:
        about = words[i, BEAT]
        kind = 1 if (leader - p) & 1 == 0 else 0
    else:
        kind = 2 if leader == NOBODY else 3
    if about & 255 == PASS:
        return
    place = combo_strength(about & 255, about >> 8 & 255, about >> 16 & 255, np.int64(bytes_[i, LEVEL])) & 255
    bit = (kind * ACT_TYPES + (about & 255) - 1) * ACT_PLACES + place
    words[i, ACTS + ACT_WORDS * p + (bit >> 6)] |= np.int64(1) << (bit & 63)


@kernel
def play_move(words: Ints, bytes_: Bytes, i: int, head: int, lo: int, hi: int) -> None:
    """Let the player of state i take the action with these words."""
    p = np.int64(bytes_[i, PLAYER])
    _remember(words, bytes_, i, head)
    _fold(words, i, head << 2 | p)
    _fold(words, i, lo)
    _fold(words, i, hi)
    for base in (LAST + 3 * p, TRICK + 3 * p):
        words[i, base] = head
        words[i, base + 1] = lo
        words[i, base + 2] = hi
    words[i, PLAYS] += 1
    if head & 255 == PASS:
        bytes_[i, PASSES] += 1
        leader = np.int64(bytes_[i, LEADER])
        q = (p + 1) % 4
        while q != leader and bytes_[i, LEFT + q] == 0:
            q = (q + 1) % 4
        if q == leader:
            # everyone had a turn: the trick is its leader's, or his partner's if he is out of cards
            if bytes_[i, LEFT + q] == 0:
                q = (q + 2) % 4
            bytes_[i, TRICKS] += 1
            _clear_trick(words, bytes_, i)
        bytes_[i, PLAYER] = q
        return
    words[i, HAND + 2 * p] -= lo
    words[i, HAND + 2 * p + 1] -= hi
    words[i, PLAYED + 2 * p] += lo
    words[i, PLAYED + 2 * p + 1] += hi
    words[i, BEAT] = head
    words[i, BEAT + 1] = lo
    words[i, BEAT + 2] = hi
    bytes_[i, LEADER] = p
    bytes_[i, PASSES] = 0
    bytes_[i, LEFT + p] -= head >> 16 & 255
    if bytes_[i, LEFT + p] == 0:
        bytes_[i, ORDER_OUT + bytes_[i, FINISHED]] = p
        bytes_[i, FINISHED] += 1
        if bytes_[i, LEFT + (p + 2) % 4] == 0:
            place = np.int64(bytes_[i, FINISHED])
            for s in range(4):
                if bytes_[i, LEFT + s] > 0:
                    bytes_[i, ORDER_OUT + place] = s
                    place += 1
            bytes_[i, PLAYER] = OVER
            return
    q = (p + 1) % 4
    while bytes_[i, LEFT + q] == 0:
        q = (q + 1) % 4
    bytes_[i, PLAYER] = q


@kernel(nogil=True)
def play_all(words: Ints, bytes_: Bytes, actions: Ints) -> None:
    """Let the player of each state take the action in its row; finished rounds stay as they are."""
    for i in range(len(words)):
        if bytes_[i, PLAYER] < 4:
            play_move(words, bytes_, i, actions[i, 0] & 0xFFFFFF, actions[i, 1], actions[i, 2])


_LOW_PAIRS = 0x3333_3333_3333_3333
_GUARD = 0x4444_4444_4444_4444


@kernel
def _covers(held: int, used: int) -> bool:
    """Return whether every two-bit field of `used` is at most that of `held` (one word of packed cards)."""
    for shift in (0, 2):
        # every other field, each with a guard bit above it that a borrow would clear
        rest = (held >> shift & _LOW_PAIRS | _GUARD) - (used >> shift & _LOW_PAIRS)
        if rest & _GUARD != _GUARD:
            return False
    return True


@kernel
def _card_count(word: int) -> int:
    """Return the number of cards in one word of packed cards."""
    x = (word & _LOW_PAIRS) + (word >> 2 & _LOW_PAIRS)
    n = 0
    while x:
        n += x & 15
        x >>= 4
    return n


@kernel(nogil=True)
def first_unplayable(words: Ints, bytes_: Bytes, actions: Ints) -> int:
    """Return the first row that is finished, or whose action is none or not in hand, or -1."""
    for i in range(len(words)):
        p = np.int64(bytes_[i, PLAYER])
        head = actions[i, 0]
        if p > 3 or (head & 255) > 10 or (head & 255 == PASS) != (head >> 16 & 255 == 0):
            return i
        size = 0
        for k in range(2):
            if not _covers(words[i, HAND + 2 * p + k], actions[i, 1 + k]):
                return i
            size += _card_count(actions[i, 1 + k])
        if size != head >> 16 & 255:
            return i
    return -1
