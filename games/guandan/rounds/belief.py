"""Determinisation: hidden hands sampled from what one seat knows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.game import GameError
from games.guandan.combos import ORDER
from games.guandan.rounds.state import CAP, HAND, KNOWN, LEFT, LEVEL, PLAYED
from games.round_rows import views
from games.support.array_types import Bytes, Int, Ints, Rows
from games.support.kernel import kernel
from games.support.splitmix import random_below


@kernel(nogil=True)
def held_copies(words: Ints, i: Int, base: Int, card: Int) -> Int:
    """Return how many copies of a card the packed multiset at column `base` holds."""
    if card < 28:
        held: Int = words[i, base] >> 2 * card & 3
    else:
        held = words[i, base + 1] >> 2 * (card - 28) & 3
    return held


@kernel(nogil=True)
def give_copies(words: Ints, i: Int, seat: Int, card: Int, copies: Int) -> None:
    """Add copies of a card to the hand of a seat, or with a number below 0 take them."""
    if card < 28:
        words[i, HAND + 2 * seat] += copies << 2 * card
    else:
        words[i, HAND + 2 * seat + 1] += copies << 2 * (card - 28)


@kernel(nogil=True)
def _determinise(words: Ints, bytes_: Bytes, seats: Ints, seeds: NDArray[np.uint64]) -> int:
    """Redeal the hands that each row's seat cannot see, in place; return a row with no such deal, or -1."""
    free = np.empty(5, np.int64)
    unseen = np.empty(54, np.int64)
    for i in range(len(words)):
        me = seats[i]
        level = np.int64(bytes_[i, LEVEL])
        rng = seeds[i]
        pool = 0
        for card in range(54):
            unseen[card] = 2 - held_copies(words, i, HAND + 2 * me, card)
            for s in range(4):
                unseen[card] -= held_copies(words, i, PLAYED + 2 * s, card)
            if unseen[card] < 0:
                return i
            pool += unseen[card]
        for s in range(4):
            free[s] = 0
            if s == me:
                continue
            words[i, HAND + 2 * s] = 0
            words[i, HAND + 2 * s + 1] = 0
            free[s] = np.int64(bytes_[i, LEFT + s])
            # cards that everybody knows of, as far as they have not been played
            for card in range(54):
                rest = held_copies(words, i, KNOWN + 2 * s, card) - held_copies(
                    words, i, PLAYED + 2 * s, card
                )
                if rest > 0:
                    rest = min(rest, unseen[card])
                    give_copies(words, i, s, card, rest)
                    unseen[card] -= rest
                    free[s] -= rest
                    pool -= rest
            if free[s] < 0:
                return i
        # cards out of play, in a deal of fewer than 108
        free[4] = pool - free[0] - free[1] - free[2] - free[3]
        if free[4] < 0:
            return i
        # From the highest place downwards, the wild cards last: the seats that may hold a card then only grow
        # in number, so giving each card a uniformly drawn free place makes every allowed deal equally likely.
        for place in range(14, -2, -1):
            for card in range(54):
                rank = card // 4 if card < 52 else card - 39
                wild = card == 4 * level
                if wild != (place < 0) or (not wild and ORDER[level, rank] != place):
                    continue
                for _ in range(unseen[card]):
                    total = free[4]
                    for s in range(4):
                        if place <= bytes_[i, CAP + s]:
                            total += free[s]
                    if total == 0:
                        return i
                    rng, j = random_below(rng, total)
                    s = 0
                    while True:
                        room = free[s] if s == 4 or place <= bytes_[i, CAP + s] else 0
                        if j < room:
                            break
                        j -= room
                        s += 1
                    free[s] -= 1
                    if s < 4:
                        give_copies(words, i, s, card, 1)
    return -1


def determinise(states: Rows, seats: ArrayLike, rng: np.random.Generator) -> Rows:
    """Return states with the hands that a seat cannot see sampled anew, [n] STATE.

    states: [n] STATE; their hidden hands are ignored (see `parse_position`). seats: the seat that looks, one
        for all or [n]. For many samples of one infoset, repeat its state.
    Every deal that respects the cards seen, the numbers of cards left, the tribute cards known to be held and
    the highest cards shown by paying tribute is equally likely: no inference from how the others played.
    A known card counts as played once its owner has played one like it. Cards of seats that hold fewer than
    108 in all may also be out of play.
    Raises GameError if no deal is consistent.
    """
    after = np.array(states, copy=True, ndmin=1)
    looking = np.array(np.broadcast_to(np.asarray(seats, np.int64), len(after)))
    if looking.size and not 0 <= looking.min() <= looking.max() < 4:
        raise GameError(f"guandan: a seat is 0..3; got {looking.min()}..{looking.max()}")
    seeds = rng.integers(0, 2**64, len(after), np.uint64)
    words, bytes_ = views(after)
    bad = _determinise(words, bytes_, looking, seeds)
    if bad >= 0:
        raise GameError(
            f"guandan: no deal agrees with what seat {looking[bad]} knows in row {bad}; check the hand, the "
            "cards played, the numbers left and the tribute cards"
        )
    return after
