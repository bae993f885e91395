"""The best mixture of a solution with the old policy by which no private state of the opponent's gains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cfr.public.sweep_kernels import BEST
from cfr.public.tree import PublicTree
from gs2.public.public_strategy import TreeSweeper
from gs2.public.public_subgame import PublicProblem
from gs2.search.config.search import SearchConfig
from gs2.search.gadget.entry import LIVE

__all__ = ["certified_mixture"]

ROUNDING = 1e-12
"""Gain of the opponent, as a share of the payoff range, that counts as none."""
WEIGHTS_TRIED = 7
"""Bisections for the largest weight that certifies."""


def certified_mixture(
    sweeper: TreeSweeper,
    base: PublicProblem,
    policies: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    lanes: NDArray[np.bool_],
    config: SearchConfig,
) -> tuple[float, NDArray[np.float64]]:
    """Return (weight of the solution, the policy below the state): the best mixture that no private state of
    the opponent's gains by, as far as the pairs of `base` show. policies: old, new, the opponent's.

    base: with the pairs that `gs2.public.pairs.certified_pairs` names; sweeper: of its masked tree.
    """
    old, new, reply = policies
    player, kind = base.player, config.safety.certificate
    new = new.copy()
    new[:, : len(lanes)] = np.where(lanes, new[:, : len(lanes)], old[:, : len(lanes)])
    if kind == "none" and config.safety.anchor == 1:
        return 1.0, new
    before, after = sweeper.plans(player, old), sweeper.plans(player, new)

    def mix(weight: float) -> NDArray[np.float64]:
        plans = (1 - weight) * before + weight * after
        return _as_policy(sweeper.tree, player, plans, new)

    if kind == "none":
        return config.safety.anchor, mix(config.safety.anchor)
    mass = base.mass
    live = mass > LIVE
    low, high = base.tree.game.payoff_range
    slack = ROUNDING * (high - low)

    def values(policy: NDArray[np.float64]) -> NDArray[np.float64]:
        pair = (policy, reply) if player == 0 else (reply, policy)
        found = sweeper.values(1 - player, BEST, pair, base.reach)
        return np.where(live, found / np.where(live, mass, 1), 0.0)

    start = values(old)
    return _best_weight(values, mix, start, start + slack, mass, config)


def _best_weight(
    values: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    mix: Callable[[float], NDArray[np.float64]],
    start: NDArray[np.float64],
    most: NDArray[np.float64],
    mass: NDArray[np.float64],
    config: SearchConfig,
) -> tuple[float, NDArray[np.float64]]:
    """Return (weight, policy) of the mixture that costs the opponent most among the sound ones tried."""
    found: dict[float, tuple[float, NDArray[np.float64]]] = {}

    def sound(weight: float) -> bool:
        policy = mix(weight)
        now = values(policy)
        good = bool(np.all(now <= most))
        if good:
            found[weight] = float(mass @ now), policy
        return good

    top = config.safety.anchor
    if sound(top) or config.safety.certificate == "margin":
        below = 0.0
    else:
        below, above = 0.0, top
        for _ in range(WEIGHTS_TRIED):
            middle = (below + above) / 2
            if sound(middle):
                below = middle
            else:
                above = middle
        top = below
    if config.safety.certificate == "anchored" and top > 0:
        for share in (0.25, 0.5, 0.75):
            sound(top * share)
    if not found:
        return 0.0, mix(0.0)
    cost, policy = min(found.values(), key=lambda entry: entry[0])
    weight = next(w for w, entry in found.items() if entry[1] is policy)
    return (weight, policy) if cost < float(mass @ start) else (0.0, policy)


def _as_policy(
    tree: PublicTree, player: int, plans: NDArray[np.float64], instead: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return plans [rows, wide] as a policy, `instead` where they never lead."""
    nodes = np.flatnonzero(tree.player == player)
    starts = tree.row[nodes]
    total = np.add.reduceat(plans, starts, axis=0)
    counts = np.diff(np.append(starts, len(plans)))
    total = np.repeat(total, counts, axis=0)
    return np.where(total > 0, plans / np.where(total > 0, total, 1), instead)
