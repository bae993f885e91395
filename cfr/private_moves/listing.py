"""The infosets of one player of a game with private moves, listed by what the opponent may hold.

A slot is an infoset with one of its actions; slot 0 is the empty sequence. An edge is `2 * slot + failed`,
and `child[edge]` is the infoset that follows, -1 where the player never acts again. An infoset's slots follow
each other from `first[infoset]`, one for each cell in the mask `legal[infoset]`, in ascending order.

What may follow a player's tries depends on the stones that the opponent may have by then: a set of masks.
Of its failed tries only their number counts, and that is its turns less its stones. So an infoset is listed
from the set of its parent, and no history is visited. Tries that place the same stones and fail at the same
places follow each other, as walks over placements meet them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.tree.memory import ALLOW_MORE, TooLarge, memory_limit, words_of_bytes
from games.infosets.private_moves import Placements
from games.support.kernel import kernel

SMALLEST, LISTED_BYTES = 1 << 16, 40
"""Infosets that are made room for at first; bytes of an infoset and its slots while they are listed."""
SLOTS_EACH = 3
"""Slots of an infoset on average, at most, in a large game: late infosets have few."""


@dataclass(frozen=True)
class Tries:
    """One player's infosets, parents before children, and their slots (see the head of this file).

    first: [infosets + 1] int32. legal: [infosets] uint16. parent: [infosets] int32, edges. child: [2 * slots]
    int32. Slot 0 is the empty sequence. height: entries that a walk needs for lists of the player's edges.
    """

    first: NDArray[np.int32]
    legal: NDArray[np.uint16]
    parent: NDArray[np.int32]
    child: NDArray[np.int32]
    height: int

    @property
    def n_infosets(self) -> int:
        """Return how many infosets the player decides at."""
        return len(self.parent)

    @property
    def n_slots(self) -> int:
        """Return how many slots there are, the empty sequence's included."""
        return len(self.child) // 2

    @property
    def nbytes(self) -> int:
        """Return the bytes that the arrays take."""
        return self.first.nbytes + self.legal.nbytes + self.parent.nbytes + self.child.nbytes

    def cells(self, infoset: int) -> list[int]:
        """Return the actions of an infoset, in the order of its slots."""
        mask = int(self.legal[infoset])
        return [cell for cell in range(16) if mask >> cell & 1]

    def tries(self, infoset: int) -> list[tuple[int, bool]]:
        """Return what the player has tried before an infoset, and whether it failed."""
        found = []
        while self.parent[infoset] > 0:
            slot, failed = divmod(int(self.parent[infoset]), 2)
            infoset = int(np.searchsorted(self.first, slot, side="right")) - 1
            found.append((self.cells(infoset)[slot - int(self.first[infoset])], bool(failed)))
        return found[::-1]

    def infoset(self, tries: list[tuple[int, bool]]) -> int:
        """Return the infoset after these tries; KeyError if the player never decides there."""
        at = 0
        for cell, failed in tries:
            cells = self.cells(at)
            edge = 2 * (int(self.first[at]) + cells.index(cell)) + failed if cell in cells else 0
            at = int(self.child[edge]) if edge else -1
            if at < 0:
                raise KeyError(tries)
        return at


@kernel(nogil=True)
def add_following(sets: Any, span: Any, rule: Any, mine: Any, seen: Any) -> Any:
    """Add to the end of `sets` what the opponent may hold after a try and its turn; return the new end.

    span: where the set before the try begins and ends, and where `sets` ends. rule: (cells, whether a failed
    try ends the turn, the opponent's winning masks, its turns before). mine: (the cell tried, whether the try
    failed, own stones after it). seen: [masks], the last call that met a mask; the last entry counts calls.
    """
    at, end, fill = span
    cells, abrupt, theirs, turns = rule
    cell, failed, own = mine
    whole = (1 << cells) - 1
    may_fail = 0
    for other in range(cells):
        may_fail += own >> other & 1
    seen[whole + 1] += 1
    call = seen[whole + 1]
    for i in range(at, end):
        stones = sets[i]
        if (stones >> cell & 1) != failed or stones | own == whole:
            continue
        if failed and not abrupt:  # the player tries again
            sets[fill] = stones
            fill += 1
            continue
        fails = turns
        for other in range(cells):
            fails -= stones >> other & 1
            more = stones | 1 << other
            if own >> other & 1 or more == stones or theirs[more] or more | own == whole:
                continue
            if seen[more] != call:
                seen[more] = call
                sets[fill] = more
                fill += 1
        if abrupt and fails < may_fail and seen[stones] != call:
            seen[stones] = call
            sets[fill] = stones
            fill += 1
    return fill


@kernel(nogil=True)
def list_infosets(rule: Any, infosets: Any, held: Any, sets: Any, nodes: Any, widest: Any) -> Any:
    """List a player's infosets; return how many there are, and slots, or (-1, -1) where arrays are too short.

    rule: (cells, whether a failed try ends the turn, the player, its winning masks and the opponent's).
    infosets: (first, legal, parent, child), as of `Tries`. held: [infosets], the size of the set of each.
    sets: the sets of infosets whose tries are still to be listed, end to end. nodes: [most, 4], those
    infosets, by what was placed and failed when: own stones, first and last infoset, where their sets begin.
    widest: [cells, cells], filled with the most infosets of a node after so many placed and failed tries.
    """
    cells, abrupt, player, wins, theirs = rule
    first, legal, parent, child = infosets
    seen = np.zeros((1 << cells) + 1, np.int64)
    top = 0
    for stones in range(1 << cells):  # those of one turn, or none
        if (stones > 0) == (player > 0) and not stones & (stones - 1):
            sets[top] = stones
            top += 1
    parent[0], legal[0], held[0], first[0] = 0, (1 << cells) - 1, top, 1
    child[0], child[1] = 0, -1
    n, slot = 1, 1 + cells
    first[1] = slot
    child[2 : 2 * slot] = -1
    nodes[0] = (0, 0, 1, 0)
    pending = 1
    while pending:
        pending -= 1
        own, low, high, begin = nodes[pending]
        placed = tried = 0
        for cell in range(cells):
            placed += own >> cell & 1
            tried += 1 - (legal[low] >> cell & 1)
        widest[placed, tried - placed] = max(widest[placed, tried - placed], high - low)
        reply = cells, abrupt, theirs, tried + player
        end = fill = top
        for kind in range(cells + 1):  # each placement, then all failed tries at once
            fails = kind == cells
            after = own if fails else own | 1 << kind
            if not fails and (after == own or wins[after]):
                continue
            block, beginning, at = n, fill, begin
            for infoset in range(low, high):
                edge = 2 * first[infoset] + fails
                for cell in range(cells):
                    if not legal[infoset] >> cell & 1:
                        continue
                    if fails or cell == kind:
                        if fill + (cells + 1) * held[infoset] >= len(sets) or n + 2 > len(legal):
                            return -1, -1
                        start, span = fill, (at, at + held[infoset], fill)
                        fill = add_following(sets, span, reply, (cell, fails, after), seen)
                        if fill > start:
                            if 2 * (slot + cells) > len(child):
                                return -1, -1
                            child[edge] = n
                            parent[n], legal[n], held[n] = edge, legal[infoset] ^ 1 << cell, fill - start
                            child[2 * slot : 2 * (slot + cells - tried - 1)] = -1
                            slot += cells - tried - 1
                            n += 1
                            first[n] = slot
                    edge += 2
                at += held[infoset]
            if n > block:
                nodes[pending] = (after, block, n, beginning - end + begin)
                pending += 1
        for i in range(fill - end):  # those of the node itself are not needed again
            sets[begin + i] = sets[end + i]
        top = begin + fill - end
    return n, slot


def list_tries(rules: Placements, player: int, name: str) -> Tries:
    """Return the infosets of a player of a game, called by its name in errors.

    Raises TooLarge if they do not fit into memory.
    """
    cells, room = rules.cells, SMALLEST
    rule = cells, bool(rules.abrupt), player, rules.wins[player], rules.wins[1 - player]
    while True:
        if 2 * room * LISTED_BYTES > memory_limit():
            raise TooLarge(
                f"{name}: its infosets must fit into {words_of_bytes(memory_limit())} of memory; "
                f"more than {room // 8:,} of a player do not",
                ALLOW_MORE,
            )
        first, parent, held = (np.empty(room + 1, np.int32) for _ in range(3))
        legal, child = np.empty(room, np.uint16), np.empty(2 * (SLOTS_EACH * room + 64), np.int32)
        sets, nodes = np.empty(room, np.uint16), np.empty((2 * cells * (cells + 1), 4), np.int64)
        widest = np.zeros((cells + 1, cells + 1), np.int64)
        n, slots = list_infosets(rule, (first, legal, parent, child), held, sets, nodes, widest)
        if n > 0:
            break
        room *= 8
    # A walk has lists of all tries with the same placements, whenever they failed, for each number of these.
    height = 2 + sum(
        math.comb(placed + failed, failed) * int(widest[placed, failed]) * (2 * cells + 1)
        for placed in range(cells)
        for failed in range(cells)
    )
    return Tries(
        first[: n + 1].copy(), legal[:n].copy(), parent[:n].copy(), child[: 2 * slots].copy(), height
    )
