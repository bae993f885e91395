"""How much memory a tree takes and may take, how long it takes to grow, and the watch that keeps it to that.

A limit is two thirds of the memory that is free, or what GS2_MEMORY or an option of the commands says.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, Game, GameError
from games.registry import smaller_games
from games.size import GameSize, estimate_size

TREE_BYTES = 132
"""Bytes per history at the peak of growing a tree, without states: its arrays twice, as levels and joined.
Measured with tracemalloc on Leduc poker, Liar's Dice and Goofspiel: 123 to 131
(tests/cfr/tree/test_memory.py)."""
CFR_BYTES = 120
"""Bytes per history of the kept tree, its sequence form and a solver; less than growing the tree takes.
Measured like TREE_BYTES: 85 to 113."""
SEARCH_BYTES = 420
"""Bytes per history at the peak of a search on the whole tree. Measured like TREE_BYTES: 150 to 404."""
SHARE = 2 / 3
"""Of the free memory that may be taken by default."""
VARIABLE = "GS2_MEMORY"
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


ALLOW_MORE = f"allow more with --memory or {VARIABLE}"
"""The next step that every command has."""


class TooLarge(ValueError, MemoryError):
    """A tree that would take more memory than it may: the estimate, the limit, and what would fit.

    rule: the words without the next steps.
    """

    def __init__(self, rule: str, steps: str = "") -> None:
        super().__init__(f"{rule}; {steps}" if steps else rule)
        self.rule = rule


def in_bytes(text: str) -> float:
    """Return the number of bytes that a text such as "4G", "500MB" or "unlimited" names.

    Raises ValueError if it names none.
    """
    if text.strip().lower() in ("unlimited", "inf"):
        return float("inf")
    read = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if read is None or float(read[1]) == 0:
        raise ValueError(f"memory must be a size such as 500M, 4G or unlimited; got {text!r}")
    return float(read[1]) * UNITS[read[2].lower()]


def words_of_bytes(number: float) -> str:
    """Return a number of bytes in words: 512 MB, 4.4 GB; a GB is 2^30 bytes."""
    for name, unit in (("TB", 2**40), ("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if number >= unit:
            count = number / unit
            return f"{count:{'.3g' if count < 999.5 else ',.0f' if count < 1e5 else '.1e'}} {name}"
    return f"{number:.0f} bytes"


def free_memory() -> float:
    """Return the bytes that this process may still take, by the machine and by every cgroup it is in.

    inf where nothing says so. Page cache counts as free.
    """
    found = [float("inf")]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            found.append(float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    for folder in _cgroups():
        for limit, used, cache in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            try:
                most = float((folder / limit).read_text())  # "max" is no number: no limit
                taken = float((folder / used).read_text())
                stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            except (OSError, ValueError):
                continue
            if most < 2**60:
                found.append(max(0.0, most - taken + float(stat.get(cache, 0))))
    return min(found)


def _cgroups() -> list[Path]:
    """Return the folders of this process's memory cgroups and of those around them."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    folders = []
    for line in lines:
        _, kinds, path = [*line.split(":", 2), "", ""][:3]
        if kinds and "memory" not in kinds.split(","):
            continue
        top = Path("/sys/fs/cgroup/memory" if kinds else "/sys/fs/cgroup")
        inner = top / path.strip("/")
        folders += [inner, *[above for above in inner.parents if above.is_relative_to(top)]]
    return list(dict.fromkeys(folders))


def memory_limit() -> float:
    """Return the bytes that a tree may take: GS2_MEMORY if it is set, else two thirds of what is free.

    Raises ValueError if GS2_MEMORY is no size.
    """
    said = os.environ.get(VARIABLE, "").strip()
    return in_bytes(said) if said else SHARE * free_memory()


def bytes_per_history(game: Game, states: NDArray[Any] | None = None, *, keep_states: bool = True) -> float:
    """Return the bytes per history at the peak of growing a game's tree.

    states: histories it is grown from, at least one; by default the root, which not every game has.
    keep_states: whether the tree holds its states, which are then there twice for a moment.
    """
    states = game.root() if states is None else states[:1]
    state = states.nbytes / len(states)
    actions = game.actions(states).values
    action = actions.nbytes / max(len(actions), 1)
    keys = 24 * (game.key_width - 1)
    return TREE_BYTES + state * (2 if keep_states else 1) + 2 * max(0.0, action - 8) + keys


def too_large(game: Game, size: GameSize, above: float, each: float, limit: float) -> TooLarge:
    """Return the error for a tree that would take more than the limit, with a smaller game that would not.

    size: of what is still to be grown. above: histories grown already. each: bytes per history.
    """
    total = above + size.histories.mean
    count = f"{total:.3g}" if total >= 1e6 else f"{total:,.0f}"
    about = "about" if size.complete else "more than"
    fits = _that_fits(game, each, limit)
    return TooLarge(
        f"{game.name}: its tree must fit into {words_of_bytes(limit)} of memory; it has {about} {count} "
        f"histories of {each:.0f} bytes, which is {about} {words_of_bytes(total * each)}",
        f"{fits}train a network (gs2 train GAME), use cfr.grow with a depth_limit, or {ALLOW_MORE}",
    )


def _that_fits(game: Game, each: float, limit: float) -> str:
    """Return words about the games that fit, each with one parameter lowered, or nothing."""
    try:
        smaller = smaller_games(game.name)
    except GameError:
        return ""
    found = []
    for games in smaller:
        for other in games:
            size = estimate_size(other, width=300, infosets=False, enough=2 * limit / each)
            taken = size.histories.high * each
            if size.complete and taken <= limit:
                found.append(f"{other.name} ({words_of_bytes(size.histories.mean * each)})")
                break
    return f"{' or '.join(found)} would fit; " if found else ""


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
                f"least {nodes:,} histories of {each:.0f} bytes",
                f"set a depth or branch limit, take a smaller game, or {ALLOW_MORE}",
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
    """Return a time in words: 30 µs, 3 ms, 12 s, 4 min, 2.5 h, 12 days, 3e+06 years."""
    if seconds >= 1e4 * 365 * 86400:
        return f"{seconds / (365 * 86400):.1g} years"
    units = {"years": 31_536_000, "days": 86_400, "h": 3600, "min": 60, "s": 1, "ms": 1e-3, "µs": 1e-6}
    unit = next((unit for unit, size in units.items() if seconds >= (2 - (unit == "s")) * size), "µs")
    count = seconds / units[unit]
    return f"{count:{'.2g' if count < 99.5 else ',.0f'}} {unit}"
