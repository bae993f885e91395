"""How much memory a tree takes, how much is free, and the error raised before a tree that would not fit.

A limit is two thirds of the memory that is free, or what GS2_MEMORY or an option of the commands says.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from games.game import Game, GameError
from games.registry import smaller_games
from games.size import GameSize, estimate_size

__all__ = [
    "CFR_BYTES",
    "SEARCH_BYTES",
    "TooLarge",
    "bytes_per_history",
    "free_memory",
    "in_bytes",
    "memory_limit",
    "too_large",
    "words_of_bytes",
]

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


class TooLarge(ValueError, MemoryError):
    """A tree that would take more memory than it may: the estimate, the limit, and what would fit."""


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
            return f"{number / unit:.3g} {name}" if number < 1e5 * unit else f"{number / unit:.1e} {name}"
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
        f"histories of {each:.0f} bytes, which is {about} {words_of_bytes(total * each)}; {fits}"
        "train a network (gs2 train GAME), use cfr.grow with a depth_limit, or allow more with --memory or "
        f"{VARIABLE}"
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
