"""What a round's moves say about hidden hands, as inputs of the belief network.

For each of the other seats: the moves that it passed on, its opponents' and its partner's, those it led and
those it followed with; each by type and by place in the level-aware order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.chooser import PlayedMoves
from games.guandan.cards import PASS
from games.guandan.combos import combo_strength
from games.guandan.rounds.round import restarted
from games.guandan.rounds.state import BEAT, LEADER, LEVEL, NOBODY, PLAYER, action_words, play_move, views
from games.support.array_types import Array, Bytes, Ints
from games.support.kernel import kernel

__all__ = ["PAST_WIDTH", "SEEN", "follow", "past_inputs", "seen_by"]

KINDS, TYPES, PLACES = 4, 10, 16
SEEN = KINDS * TYPES * PLACES
"""Inputs of one seat: passed on an opponent's move, on its partner's, led, followed with."""
PAST_WIDTH = 3 * SEEN


@kernel(nogil=True)
def _follow(words: Ints, bytes_: Bytes, actions: Ints, seen: Bytes) -> None:
    """Take note of one move of each round that goes on, and play it."""
    for i in range(len(words)):
        if bytes_[i, PLAYER] > 3:
            continue
        p = np.int64(bytes_[i, PLAYER])
        level = np.int64(bytes_[i, LEVEL])
        leader = np.int64(bytes_[i, LEADER])
        head = actions[i, 0] & 0xFFFFFF
        if head & 255 == PASS:
            about = words[i, BEAT] & 0xFFFFFF
            kind = 1 if (leader - p) & 1 == 0 else 0
        else:
            about = head
            kind = 2 if leader == NOBODY else 3
        if about & 255 != PASS:
            place = combo_strength(about & 255, about >> 8 & 255, about >> 16 & 255, level) & 255
            seen[i, p, (kind * TYPES + (about & 255) - 1) * PLACES + place] = 1
        play_move(words, bytes_, i, head, actions[i, 1], actions[i, 2])


def follow(states: Array, actions: Array, seen: NDArray[np.uint8]) -> None:
    """Play one action at each state, in place, and note it in `seen`; finished rounds stay as they are.

    states: [n] STATE; actions: [n] ACTION; seen: [n, 4, SEEN], 1 for what each seat has done.
    """
    _follow(*views(states), action_words(actions), seen)


def seen_by(seen: NDArray[np.uint8], rows: NDArray[np.int64], seats: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return what each of some seats has seen of the three after it, [k, PAST_WIDTH] uint8."""
    parts = [seen[rows, (seats + j) % 4] for j in (1, 2, 3)]
    return np.concatenate(parts, axis=1)


def past_inputs(state: Array, seat: int, moves: PlayedMoves) -> NDArray[np.uint8] | None:
    """Return what a seat has seen of the others in one round, [1, PAST_WIDTH] uint8.

    state: [1] STATE. None if the moves do not lead there from the start of its round, as where a client
    came to a table later.
    """
    at = restarted(state)
    seen = np.zeros((1, 4, SEEN), np.uint8)
    if len(moves) != int(state["plays"][0]):
        return None
    for k in range(len(moves)):
        if int(at["player"][0]) != int(moves.seats[k]):
            return None
        follow(at, moves.actions[k : k + 1], seen)
    if not np.array_equal(at["hash"], state["hash"]):
        return None
    return seen_by(seen, np.zeros(1, np.int64), np.array([seat]))
