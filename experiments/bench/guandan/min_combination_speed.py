"""Speed of Minimum Combination Search on dealt hands, by wild cards held.

gs2 bench min-combination
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.bench.bench import figures, processor_seconds

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["SplitSpeed", "dealt_hands", "measure_splits", "split_tables"]


@dataclass(frozen=True)
class SplitSpeed:
    """Speed on hands with as many wild cards; None for hands as dealt.

    hands: measured. moves: fewest of a hand, on average. cheapest: microseconds of processor time a hand.
    """

    wild: int | None
    hands: int
    moves: float
    cheapest: float


def dealt_hands(n: int, rng: np.random.Generator) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return n hands of 27 cards, [n, 2] uint64 packed, and a level of each, [n]."""
    from games.guandan.cards import NUM_CARDS, pack

    deck = np.repeat(np.arange(NUM_CARDS), 2)
    counts = np.zeros((n, NUM_CARDS), np.uint8)
    for row in counts:
        np.add.at(row, rng.permutation(deck)[:27], 1)
    return pack(counts), rng.integers(0, 13, n)


def measure_splits(
    *, hands: int, seed: int = 0, repeats: int = 5, progress: Callable[[str], None] = lambda what: None
) -> list[SplitSpeed]:
    """Return the speed with 0, 1 and 2 wild cards and of all hands, the least of `repeats` each."""
    from blueprint.guandan.rules.min_combination import min_combinations
    from games.guandan.cards import unpack

    progress("splitting hands")
    dealt, levels = dealt_hands(hands, np.random.default_rng(seed))
    held = unpack(dealt)[np.arange(hands), 4 * levels]
    found = []
    for wild in (0, 1, 2):
        rows = held == wild
        moves = min_combinations(dealt[rows], levels[rows])
        seconds = min(
            processor_seconds(partial(min_combinations, dealt[rows], levels[rows])) for _ in range(repeats)
        )
        k = int(rows.sum())
        found.append(SplitSpeed(wild, k, float(moves.mean()), 1e6 * seconds / k))
    total = [sum(s.hands * getattr(s, name) for s in found) / hands for name in ("moves", "cheapest")]
    return [*found, SplitSpeed(None, hands, *total)]


def split_tables(result: list[SplitSpeed]) -> list[Table]:
    """Return the figures as a table to print."""
    heads = "wild cards | hands | mean moves | µs"
    cells = "{1} | {0.hands:,} | {0.moves:.2f} | {0.cheapest:.1f}"
    rows = [(s, "as dealt" if s.wild is None else s.wild) for s in result]
    return [figures("Minimum Combination Search, a dealt hand", heads, cells, rows)]
