"""Racing candidate moves in common deals: rollouts, successive elimination, an anchored estimate.

Every candidate is played in the same sampled deals, so the luck of the deal cancels in the differences. What
remains is noise: the difference of two moves is taken as normal around the blueprint's opinion with standard
deviation `trust`, and the rollouts update it. Few rollouts thus move little, many decide alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from games.guandan.rounds.round import advance
from games.guandan.rounds.state import STATE
from games.support.array_types import Array
from gs2.guandan.agent.deals.determinize import Worlds
from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.agent.rollout import Rollouts

SPREAD, SPREAD_VALUED = 1.5, 0.7
"""Standard deviation in levels that a difference of two rollouts is expected to have before any is seen, when
they are played to the end and when they are valued before (our measurement)."""
SPREAD_WEIGHT = 6.0
"""How many rollouts that expectation counts for."""
NOISE = 0.02
"""Standard deviation in levels that is left when every deal has been played: rollouts are not perfect."""
MARGIN = 0.9
"""Share of the time left that the next wave may be expected to take."""


@dataclass(frozen=True, eq=False)
class MoveComparison:
    """What the rollouts came to; moves are numbered as given.

    payoffs: [n, k] float64, levels to the player's team in each world; nan where a move had been given up.
    worlds: the deals that there were to play. weights: [n] float64, of those played.
    mean, error: [k], estimated advantage over move 0, blueprint's opinion included, and its standard
    deviation. best: the move of highest mean. rollouts: how many. stopped: why it ended.
    """

    payoffs: NDArray[np.float64]
    worlds: Worlds
    weights: NDArray[np.float64]
    mean: NDArray[np.float64]
    error: NDArray[np.float64]
    best: int
    rollouts: int
    stopped: str


def candidate_moves(q: Array, types: Array, config: GuanDanConfig) -> NDArray[np.int64]:
    """Return the moves worth comparing, best first by the blueprint, [k] int64.

    q: [m] in levels. types: [m], codes of the moves' types; PASS (0) is always kept under `per_type`.
    """
    order = np.argsort(-q, kind="stable")
    order = order[q[order] >= q[order[0]] - config.moves.gap]
    if config.moves.per_type is not None:
        seen: dict[int, int] = {}
        kept = []
        for move in order:
            kind = int(types[move])
            seen[kind] = seen.get(kind, 0) + 1
            if seen[kind] <= config.moves.per_type or kind == 0:
                kept.append(move)
        order = np.array(kept, np.int64)
    return order[: config.moves.candidates]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What rollouts have shown of some moves, beside what was thought before.

    payoffs: [n, k], levels of each move in each deal, nan where it was not played. weights: [n] of the deals.
    prior: [k], the blueprint's Q. trust: standard deviation of its error in comparing two moves, in levels.
    missing: share of all deals that there are and that have not been played; 1 where they are countless.
    spread: standard deviation expected of a difference.
    """

    payoffs: NDArray[np.float64]
    weights: NDArray[np.float64]
    prior: NDArray[np.float64]
    trust: float
    missing: float = 1.0
    spread: float = SPREAD


def posterior(seen: Evidence, reference: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and standard deviation of each move's advantage over move `reference`, [k] each."""
    payoffs, weights, trust = seen.payoffs, seen.weights, seen.trust
    opinion = seen.prior - seen.prior[reference]
    difference = payoffs - payoffs[:, [reference]]
    there = ~np.isnan(difference)
    share = np.where(there, weights[:, None], 0.0)
    total = share.sum(0)
    count = np.where(total > 0, total**2 / np.maximum((share**2).sum(0), 1e-300), 0.0)
    filled = np.where(there, difference, 0.0)
    mean = (share * filled).sum(0) / np.maximum(total, 1e-300)
    square = (share * (filled - mean) ** 2).sum(0) / np.maximum(total, 1e-300)
    variance = (count * square + SPREAD_WEIGHT * seen.spread**2) / (count + SPREAD_WEIGHT)
    noise = np.maximum(seen.missing * variance / np.maximum(count, 1e-9), NOISE**2)
    weight = trust**2 / (trust**2 + noise)
    out = weight * mean + (1 - weight) * opinion
    error = np.sqrt(weight * noise)
    error[reference] = 0.0
    return out, error


def difference_noise(
    payoffs: NDArray[np.float64],
    weights: NDArray[np.float64],
    reference: int,
    to_the_end: bool,
    missing: float = 1.0,
) -> float:
    """Return the mean variance of the moves' mean differences from one of them, in levels squared.

    payoffs: [n, k] without nan. weights: [n]. to_the_end: whether the rollouts were; see `SPREAD`.
    missing: share of all deals that has not been played, see `Evidence`.
    """
    others = np.arange(payoffs.shape[1]) != reference
    share = weights / weights.sum()
    difference = payoffs[:, others] - payoffs[:, [reference]]
    count = 1.0 / (share**2).sum()
    square = share @ (difference - share @ difference) ** 2
    expected = SPREAD if to_the_end else SPREAD_VALUED
    variance = (count * square + SPREAD_WEIGHT * expected**2) / (count + SPREAD_WEIGHT)
    return float(np.maximum(missing * variance / count, NOISE**2).mean())


@dataclass(frozen=True, eq=False)
class Question:
    """Moves to compare at one decision.

    state: [1] STATE. moves: [k] ACTION, best by the blueprint first. prior: [k], its Q in levels.
    worlds: the deals to play them in. more: draws further ones, once, when these have not been enough.
    """

    state: Array
    moves: Array
    prior: NDArray[np.float64]
    worlds: Worlds
    more: Callable[[], Worlds] | None = None


class _Race:
    """How far the comparison of one decision's moves has come."""

    def __init__(self, question: Question, config: GuanDanConfig) -> None:
        self.question, self.config = question, config
        self.worlds, self.more = question.worlds, question.more
        n, k = len(self.worlds), len(question.moves)
        self.sign = 1 - 2 * (int(question.state["player"][0]) & 1)
        self.payoffs = np.full((n, k), np.nan)
        self.alive = np.arange(k)
        self.done, self.size, self.played, self.leader = 0, min(config.comparison.wave, n), 0, 0
        self.missing = 1.0
        self.spread = SPREAD if config.comparison.depth is None else SPREAD_VALUED
        self.stopped = "" if n else "worlds"

    def fill(self, states: Array, size: int) -> None:
        """Write the positions after each move alive in the next `size` worlds, [size * alive] STATE."""
        rows = slice(self.done, self.done + size)
        states[:] = np.repeat(self.worlds.states[rows], len(self.alive))
        advance(states, np.tile(self.question.moves[self.alive], size))

    def take(self, result: NDArray[np.float64]) -> None:
        """Take the payoffs of the positions that `fill` wrote; give up the moves that fell behind."""
        size = len(result) // len(self.alive)
        at = np.arange(self.done, self.done + size)[:, None]
        self.payoffs[at, self.alive] = self.sign * result.reshape(size, len(self.alive))
        self.played += len(result)
        self.done += size
        worlds = self.worlds
        if worlds.exact:
            self.missing = 1.0 - worlds.weights[: self.done].sum() / worlds.weights.sum()
        seen = self._evidence()
        self.leader = _leader(seen, self.alive, self.leader)
        mean, error = posterior(seen, self.leader)
        self.alive = self.alive[mean[self.alive] + self.config.comparison.confidence * error[self.alive] >= 0]
        if len(self.alive) == 1:
            self.stopped = "decided"
        elif self.done == len(self.worlds):
            self._draw_more()
        self.size = min(2 * self.size, len(self.worlds) - self.done)

    def result(self) -> MoveComparison:
        seen = self._evidence()
        mean, error = posterior(seen, 0)
        told = mean, error, self.leader, self.played, self.stopped
        return MoveComparison(seen.payoffs, self.worlds, seen.weights, *told)

    def _draw_more(self) -> None:
        """Draw the deals that were not drawn at first; without any, the race has ended."""
        try:
            found = None if self.more is None or self.worlds.exact else self.more()
        except TimeoutError:
            self.stopped = "deadline"
            return
        self.more = None
        if found is None or not len(found):
            self.stopped = "worlds"
            return
        self.worlds = self.worlds.joined(found)
        self.payoffs = np.concatenate([self.payoffs, np.full((len(found), self.payoffs.shape[1]), np.nan)])

    def _evidence(self) -> Evidence:
        weights = self.worlds.weights[: self.done]
        payoffs, prior = self.payoffs[: self.done], self.question.prior
        return Evidence(payoffs, weights, prior, self.config.comparison.trust, self.missing, self.spread)


def compare_moves(
    questions: Sequence[Question], rollouts: Rollouts, config: GuanDanConfig, deadline: float
) -> list[MoveComparison]:
    """Return the comparison of each question's moves in common worlds; all questions are rolled out together.

    deadline: an instant of `time.perf_counter()`, of all of them.
    """
    races = [_Race(question, config) for question in questions]
    pace = 0.0
    while open_ := [race for race in races if not race.stopped]:
        wanted = np.array([race.size for race in open_])
        width = np.array([len(race.alive) for race in open_])
        left = deadline - time.perf_counter()
        share = min(1.0, MARGIN * left / (pace * (wanted @ width))) if pace > 0 else 1.0
        if share < 1.0:
            wanted = (wanted * share).astype(np.int64)
        if left <= 0 or not wanted.any():
            for race in open_:
                race.stopped = "deadline"
            break
        began = time.perf_counter()
        ends = np.cumsum(wanted * width)
        states = np.empty(ends[-1], STATE)
        for race, size, end in zip(open_, wanted, ends, strict=True):
            race.fill(states[end - size * len(race.alive) : end], size)
        result = rollouts.payoffs(states, config.comparison.depth, deadline)
        for race, size, end in zip(open_, wanted, ends, strict=True):
            if size:
                race.take(result[end - size * len(race.alive) : end])
        pace = max((time.perf_counter() - began) / len(states), 1e-7)
    return [race.result() for race in races]


def _leader(seen: Evidence, alive: NDArray[np.int64], leader: int) -> int:
    """Return the best of the moves alive: better than the leader, and than whoever beats it in turn."""
    for _ in range(len(alive)):
        mean, _ = posterior(seen, leader)
        best = int(alive[np.argmax(mean[alive])])
        if best == leader or mean[best] <= 0:
            break
        leader = best
    return leader
