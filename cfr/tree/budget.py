"""What a growing tree may take, how long it takes, and the watch that keeps it to that."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.tree.memory import TooLarge, bytes_per_history, memory_limit, too_large, words_of_bytes
from games.game import CHANCE, Game
from games.size import estimate_size

__all__ = [
    "CFR_SECONDS",
    "GROWTH_SECONDS",
    "LOOK_AFTER",
    "USUAL_BUDGET",
    "GrowthWatch",
    "TreeBudget",
    "seconds_per_history",
    "words_of_seconds",
]

LOOK_AFTER = 100_000
"""Histories after which a growing tree's size is estimated; below, growing takes less than looking."""
ANNOUNCED = 2**30
"""Bytes from which on what a tree is about to take is logged, as a warning."""
ANNOUNCED_SECONDS = 30.0
"""Seconds from which on it is, too."""
_log = logging.getLogger("gs2")
MAX_NODES = 50_000_000
"""Histories that a tree may have unless its caller says otherwise."""

GROWTH_SECONDS = 2.5e-7
"""Seconds that growing takes for each history besides what the game itself takes; measured on Leduc poker,
Liar's Dice and Goofspiel of 300,000 to 1.6 million histories: 1e-7 to 3.5e-7 on a shared core."""
CFR_SECONDS = 1e-9
"""Seconds of a CFR+ iteration for each history. Measured on the same: 3e-11 to 1.4e-9."""
PLAYS = 2048


@dataclass(frozen=True)
class TreeBudget:
    """What a growing tree may take.

    max_nodes: histories. memory: bytes while it grows, by default `cfr.tree.memory.memory_limit()`.
    history_bytes: what the caller will need for each history, its share of the tree included, if that is more
        than growing the tree takes.
    """

    max_nodes: int = MAX_NODES
    memory: float | None = None
    history_bytes: float = 0.0


USUAL_BUDGET = TreeBudget()
"""What a tree may take unless somebody says otherwise."""


class GrowthWatch:
    """Sees to it that a growing tree keeps to its limits; reads the free memory only when it is large."""

    def __init__(
        self, game: Game, roots: NDArray[Any], budget: TreeBudget, keep_states: bool, limited: bool
    ) -> None:
        """Take what is to be grown. limited: whether its size can be told only level by level."""
        self.game, self.max_nodes = game, budget.max_nodes
        self._root = roots[:1]
        self._memory, self._history_bytes = budget.memory, budget.history_bytes
        self._keep_states = keep_states
        self._limit: float | None = budget.memory
        self._each = 0.0
        self._looked = limited

    def _known(self) -> tuple[float, float]:
        """Return the bytes that may be taken, and the bytes per history."""
        if not self._each:
            self._limit = memory_limit() if self._memory is None else self._memory
            each = bytes_per_history(self.game, self._root, keep_states=self._keep_states)
            self._each = max(each, self._history_bytes)
        assert self._limit is not None
        return self._limit, self._each

    def look(self, above: int, states: NDArray[Any]) -> None:
        """Estimate the size of the whole tree, once it is large; raise TooLarge if it will not fit."""
        if self._looked or above + len(states) <= LOOK_AFTER:
            return
        self._looked = True
        limit, each = self._known()
        few = self.max_nodes < MAX_NODES and self.max_nodes * each < limit
        # Far too much; by how much does not matter, nor may it be awaited where few nodes are allowed.
        enough = 10 * self.max_nodes if few else 1e4 * max(limit / each, self.max_nodes)
        size = estimate_size(self.game, states, infosets=False, enough=enough)
        total = above + size.histories.mean
        if total * each > limit and not few:
            raise too_large(self.game, size, above, each, limit)
        if above + size.histories.low > self.max_nodes:
            raise TooLarge(self._more_nodes(f"{'about' if size.complete else 'more than'} {total:.3g}"))
        seconds = total * seconds_per_history(self.game, np.random.default_rng(0), plays=200)
        if total * each > ANNOUNCED or seconds > ANNOUNCED_SECONDS:
            _log.warning(
                "%s: about %.3g histories, about %s of memory (%s may be taken), about %s to grow",
                self.game.name,
                total,
                words_of_bytes(total * each),
                words_of_bytes(limit),
                words_of_seconds(seconds),
            )

    def admit(self, nodes: int) -> None:
        """Raise TooLarge if that many nodes are too many, before they are made."""
        if nodes > self.max_nodes:
            raise TooLarge(self._more_nodes(f"more than {self.max_nodes}"))
        if nodes <= LOOK_AFTER and self._memory is None:
            return
        limit, each = self._known()
        if nodes * each > limit:
            raise TooLarge(
                f"{self.game.name}: the tree must fit into {words_of_bytes(limit)} of memory; it has at "
                f"least {nodes:,} histories of {each:.0f} bytes; set a depth or branch limit, take a smaller "
                "game, or allow more with --memory or GS2_MEMORY"
            )

    def _more_nodes(self, count: str) -> str:
        return (
            f"grow: {self.game.name} has {count} nodes below these roots, and at most {self.max_nodes:,} are "
            "allowed; set a depth or branch limit, or raise max_nodes"
        )


def seconds_per_history(game: Game, rng: np.random.Generator, *, plays: int = PLAYS) -> float:
    """Return the seconds that growing a game's tree takes for each history, on this machine as busy as it is.

    plays: random plays in which the game is asked what a tree asks it.
    """
    states = np.repeat(game.root(), plays, axis=0)
    spent, asked = 0.0, 0
    while len(states):
        began = time.perf_counter()
        players, actions = game.player(states), game.actions(states)
        for seat in range(game.num_players):
            game.infoset_key(states, seat)
        going = np.flatnonzero(players >= CHANCE)
        pick = actions.offsets[:-1][going] + (rng.random(len(going)) * actions.counts[going]).astype(np.int64)
        asked += len(states)
        states = game.step(states, going, actions.values[pick])
        spent += time.perf_counter() - began
    return spent / asked + GROWTH_SECONDS


def words_of_seconds(seconds: float) -> str:
    """Return a time in words: 3 ms, 12 s, 4 min, 2.5 h, 12 days, 3e+06 years."""
    if seconds >= 1e4 * 365 * 86400:
        return f"{seconds / (365 * 86400):.1g} years"
    for unit, size in (("years", 365 * 86400.0), ("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= 2 * size or (unit == "s" and seconds >= 1):
            return f"{seconds / size:.2g} {unit}" if seconds < 100 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds * 1e3:.2g} ms"
