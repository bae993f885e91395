"""What the public form of a factored game takes, before its tree is grown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cfr.engine.simd import LANES
from cfr.public.sweep_kernels import swept_dtype
from cfr.public.swept_payoffs import swept_bytes
from cfr.public.tree import PublicTree, PublicView, grow_public, padded, past_forced
from cfr.tree.memory import TooLarge, memory_limit, words_of_bytes
from cfr.variants import DEFAULT_VARIANT, Variant, variant
from games.infosets.factored import FactoredGame
from games.size import Count, estimate_size

__all__ = ["PublicSize", "estimate_public_size", "require_memory", "solver_bytes"]

NODE_BYTES, EDGE_BYTES = 21 + 2 * 4, 4
"""Of the tree, and of both players' stamps."""


@dataclass(frozen=True)
class PublicSize:
    """Sizes of a public tree; counted if it is small, else estimated.

    nodes: public states at which somebody has a choice. private: private states of each player.
    slots: probabilities in a policy. cfr_bytes: of CFR without predictions in float64; float32_bytes: in
    float32.
    """

    nodes: Count
    private: tuple[int, int]
    slots: Count
    cfr_bytes: Count
    float32_bytes: Count


def estimate_public_size(game: FactoredGame, *, seed: int = 0) -> PublicSize:
    """Return how large a game's public tree is, and what CFR on it takes; from a sample if it is large.

    seed: of the sample (`games.size`). In an estimate all actions count as players'.
    """
    seen: Any = PublicView(game)
    size = estimate_size(seen, past_forced(game, game.public_root()), seed=seed, infosets=False)
    private = game.private_states()
    if size.exact:
        tree = grow_public(game)
        bytes_of = [float(solver_bytes(tree, DEFAULT_VARIANT, dtype)) for dtype in (np.float64, np.float32)]
        found = [float(len(tree)), float(tree.n_slots), *bytes_of]
    else:
        inner, edges = size.histories.mean - size.terminals.mean, size.histories.mean - 1.0
        tree_bytes, row = inner * NODE_BYTES + edges * EDGE_BYTES, padded(max(private)) * 2
        found = [inner, edges * max(private), *(tree_bytes + edges * row * b for b in (8, 4))]
    low, high = (end / size.histories.mean for end in (size.histories.low, size.histories.high))
    nodes, slots, full, half = (Count(float(n), float(n * low), float(n * high), size.exact) for n in found)
    return PublicSize(nodes, private, slots, full, half)


def solver_bytes(tree: PublicTree, variant_name: str | Variant, dtype: Any) -> int:
    """Return the bytes that a solver on a public tree takes, the tree's included.

    dtype: of what it keeps, as of `PublicSolver`.
    """
    row = variant(variant_name)
    numbers = 0
    for player in (0, 1):
        arrays = 2 + row.predictive + (player == 0 and not row.alternating)
        numbers += tree.n_rows[player] * padded(tree.n_private[player]) * arrays
    payoffs = swept_bytes(tree.payoffs, tree.kinds_used, swept_dtype(dtype))
    exponents = numbers // LANES if np.dtype(dtype) == np.int16 else 0
    return int(tree.nbytes + payoffs + 2 * 4 * len(tree) + numbers * np.dtype(dtype).itemsize + exponents)


def require_memory(
    tree: PublicTree, variant_name: str | Variant, dtype: Any, smaller: str | None = None
) -> None:
    """Raise TooLarge if a solver would take more memory than it may.

    smaller: what the error tells a user to choose for smaller numbers; default the next `--precision`.
    """
    taken, limit = solver_bytes(tree, variant_name, dtype), memory_limit()
    if taken > limit:
        if smaller is None:
            smaller = {8: "--precision 32, ", 4: "--precision 16, "}.get(np.dtype(dtype).itemsize, "")
        plainer = "a variant without predictions, " if variant(variant_name).predictive else ""
        raise TooLarge(
            f"{tree.game.name}: CFR on its public tree must fit into {words_of_bytes(limit)} of memory; it "
            f"takes {words_of_bytes(taken)} in {np.dtype(dtype).name}; choose {smaller}{plainer}a smaller "
            "game, or allow more with --memory or GS2_MEMORY"
        )
