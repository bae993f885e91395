"""Comparing candidate moves in common worlds: rollouts, successive elimination, an anchored estimate.

Every candidate is played in the same sampled deals, so the luck of the deal cancels in the differences. What
remains is noise: the difference of two moves is taken as normal around the blueprint's opinion with standard
deviation `trust`, and the rollouts update it. Few rollouts thus move little, many decide alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from games.guandan.round import advance
from gs2.guandan.config import GuanDanConfig
from gs2.guandan.rollout import Rollouts
from gs2.guandan.sampling import Worlds

__all__ = ["Comparison", "candidate_moves", "compare"]

SPREAD = 1.5
"""Standard deviation in levels that a difference of two rollouts is expected to have before any is seen."""
SPREAD_WEIGHT = 6.0
"""How many rollouts that expectation counts for."""
NOISE = 0.02
"""Standard deviation in levels that is left when every deal has been played: rollouts are not perfect."""
MARGIN = 0.9
"""Share of the time left that the next wave may be expected to take."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What the rollouts came to; moves are numbered as given.

    payoffs: [n, k] float64, levels to the player's team in each world; nan where a move had been given up.
    weights: [n] float64. mean, error: [k], estimated advantage over move 0, blueprint's opinion included, and
    its standard deviation. best: the move of highest mean. rollouts: how many. stopped: why it ended.
    """

    payoffs: NDArray[np.float64]
    weights: NDArray[np.float64]
    mean: NDArray[np.float64]
    error: NDArray[np.float64]
    best: int
    rollouts: int
    stopped: str


def candidate_moves(q: NDArray, types: NDArray, config: GuanDanConfig) -> NDArray[np.int64]:
    """Return the moves worth comparing, best first by the blueprint, [k] int64.

    q: [m] in levels. types: [m], codes of the moves' types; PASS (0) is always kept under `per_type`.
    """
    order = np.argsort(-q, kind="stable")
    order = order[q[order] >= q[order[0]] - config.gap]
    if config.per_type is not None:
        seen: dict[int, int] = {}
        kept = []
        for move in order:
            kind = int(types[move])
            seen[kind] = seen.get(kind, 0) + 1
            if seen[kind] <= config.per_type or kind == 0:
                kept.append(move)
        order = np.array(kept, np.int64)
    return order[: config.candidates]


def posterior(
    payoffs: NDArray, weights: NDArray, prior: NDArray, trust: float, reference: int, missing: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and standard deviation of each move's advantage over `reference`, [k] each.

    payoffs: [n, k], nan where not played. prior: [k], the blueprint's Q. missing: share of all deals that
    there are and that have not been played; 1 where they are countless.
    """
    opinion = prior - prior[reference]
    difference = payoffs - payoffs[:, [reference]]
    there = ~np.isnan(difference)
    share = np.where(there, weights[:, None], 0.0)
    total = share.sum(0)
    count = np.where(total > 0, total**2 / np.maximum((share**2).sum(0), 1e-300), 0.0)
    filled = np.where(there, difference, 0.0)
    mean = (share * filled).sum(0) / np.maximum(total, 1e-300)
    square = (share * (filled - mean) ** 2).sum(0) / np.maximum(total, 1e-300)
    variance = (count * square + SPREAD_WEIGHT * SPREAD**2) / (count + SPREAD_WEIGHT)
    noise = np.maximum(missing * variance / np.maximum(count, 1e-9), NOISE**2)
    weight = trust**2 / (trust**2 + noise)
    out = weight * mean + (1 - weight) * opinion
    error = np.sqrt(weight * noise)
    error[reference] = 0.0
    return out, error


def compare(
    state: NDArray,
    moves: NDArray,
    prior: NDArray,
    worlds: Worlds,
    rollouts: Rollouts,
    config: GuanDanConfig,
    deadline: float,
) -> Comparison:
    """Return the comparison of candidate moves in common worlds.

    state: [1] STATE. moves: [k] ACTION, best by the blueprint first. prior: [k], its Q in levels.
    deadline: an instant of `time.perf_counter()`.
    """
    n, k = len(worlds), len(moves)
    sign = 1 - 2 * (int(state["player"][0]) & 1)
    payoffs = np.full((n, k), np.nan)
    alive = np.arange(k)
    done, size, played, leader = 0, config.wave, 0, 0
    pace = 0.0
    missing = 1.0
    total = worlds.weights.sum()
    stopped = "worlds"
    while done < n:
        size = min(size, n - done)
        left = deadline - time.perf_counter()
        if pace > 0:
            size = min(size, int(MARGIN * left / (pace * len(alive))))
        if left <= 0 or size < 1:
            stopped = "deadline"
            break
        began = time.perf_counter()
        rows = slice(done, done + size)
        states = np.repeat(worlds.states[rows], len(alive))
        advance(states, np.tile(moves[alive], size))
        result = rollouts.payoffs(states, config.depth, deadline)
        payoffs[np.arange(done, done + size)[:, None], alive] = sign * result.reshape(size, len(alive))
        played += len(states)
        done += size
        pace = max((time.perf_counter() - began) / len(states), 1e-7)
        seen = payoffs[:done], worlds.weights[:done], prior, config.trust
        missing = 1.0 - worlds.weights[:done].sum() / total if worlds.exact else 1.0
        leader = _leader(seen, missing, alive, leader)
        mean, error = posterior(*seen, leader, missing)
        alive = alive[mean[alive] + config.confidence * error[alive] >= 0]
        if len(alive) == 1:
            stopped = "decided"
            break
        size *= 2
    played_worlds, weights = payoffs[:done], worlds.weights[:done]
    mean, error = posterior(played_worlds, weights, prior, config.trust, 0, missing)
    return Comparison(played_worlds, weights, mean, error, leader, played, stopped)


def _leader(
    seen: tuple[NDArray, NDArray, NDArray, float], missing: float, alive: NDArray, leader: int
) -> int:
    """Return the best of the moves alive: better than the leader, and than whoever beats it in turn."""
    for _ in range(len(alive)):
        mean, _ = posterior(*seen, leader, missing)
        best = int(alive[np.argmax(mean[alive])])
        if best == leader or mean[best] <= 0:
            break
        leader = best
    return leader
