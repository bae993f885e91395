"""One step of magnetic mirror descent at an infoset, from all or a weighted few of its histories."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gs2.search.config.stages import GenerationConfig, SolveConfig
from gs2.search.gadget.entry import LIVE
from gs2.search.generation import generate

__all__ = ["ANSWERS", "KeptValues", "keep", "mirror_descent_step", "plain_size", "step_from", "step_up"]

ANSWERS = 0xA25
"""Seed of the histories from which opponents answer a step."""
PRIOR = 0.3
"""Standard deviation that advantages are taken to have over histories before any is seen, as a share of the
payoff's: a few histories that agree are no proof. Of 0 and 0.3: docs/measurements/generation.md."""
LEAST_DEVIATION = 0.01
"""Least deviation of payoffs that a step reckons with, as a share of the payoff range: where strategies never
hesitate, nothing deviates."""

LEAST_PROBABILITY = 1e-6
"""What a step takes a probability of zero for, so that an action can come alive."""
PARTS = 10
"""Parts of a mixture of answers."""
ROUNDING = 1e-9
"""Share of a history's weight below which nothing was left out for it."""


def keep(
    alternative: NDArray[np.float64],
    weight: NDArray[np.float64],
    config: GenerationConfig,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the histories of an infoset that a generator keeps, and `KeptValues.carried` and `unkept`, [n].

    They come by rising value to the opponent. alternative: [m] float64, that value at each history. weight:
    [m] float64, the share of the infoset's reach that each has. config: its generator is not "all".
    """
    assert config.k is not None  # SearchConfig requires it with a generator that chooses
    chosen, carried = generate(config.generator, alternative, weight, config.k, rng)
    by_value = np.argsort(alternative[chosen], kind="stable")
    rows, carried = chosen[by_value], carried[by_value]
    if not carried.sum() > LIVE:
        carried = np.ones(len(rows))
    carried = carried / carried.sum()
    unkept = 1 - np.divide(weight[rows], carried, out=np.ones(len(rows)), where=carried > 0)
    return rows, carried, np.where(unkept > ROUNDING, unkept, 0.0)


@dataclass(frozen=True, eq=False)
class KeptValues:
    """What n histories kept of an infoset say of its actions.

    values: [n, a] float64, payoff to the player of each action at each history when everyone goes on as
        before, by rising value to the opponent. squares: [n] float64, expected squared payoff at each.
    carried: [n] float64, share of the infoset's reach that each carries; they add up to 1.
    unkept: [n] float64, how much of that belongs to histories left out, in [0, 1].
    """

    values: NDArray[np.float64]
    squares: NDArray[np.float64]
    carried: NDArray[np.float64]
    unkept: NDArray[np.float64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Return the action values, [a] float64; without bias if the histories are a weighted sample."""
        found: NDArray[np.float64] = self.carried @ self.values
        return found

    def deviation(self, policy: NDArray[np.float64]) -> float:
        """Return the standard deviation of the payoff from the infoset on. policy: [a] float64."""
        variance = float(self.carried @ self.squares - (self.mean @ policy) ** 2)
        return float(np.sqrt(max(variance, 0.0)))

    def noise_share(self, policy: NDArray[np.float64], deviation: float) -> float:
        """Return the squared error of the actions' advantages over their square, both weighed by the policy.

        An action's error counts a history as a draw from its stratum, whose variance is that between
        neighbours by value to the opponent, and as much again as `PRIOR` says. 0 if everything was kept.
        """
        variance = self.carried**2 * self.unkept
        if not variance.any():
            return 0.0
        advantage = self.values - (self.values @ policy)[:, None]
        if len(advantage) == 1:
            spread = advantage**2
        else:
            between = np.diff(advantage, axis=0) ** 2 / 2
            spread = np.concatenate([between[:1], (between[1:] + between[:-1]) / 2, between[-1:]])
        noise = float((variance @ spread) @ policy + (PRIOR * deviation) ** 2 * variance.sum())
        signal = float((self.carried @ advantage) ** 2 @ policy)
        return noise / max(signal, np.finfo(float).tiny ** 0.5)


def step_from(
    seen: KeptValues,
    old: NDArray[np.float64],
    config: SolveConfig,
    span: float,
    others: Sequence[NDArray[np.float64]] = (),
) -> NDArray[np.float64]:
    """Return the policy after one step from what some histories say, [a] float64.

    old: [a] float64, the policy now. span: the game's payoff range. others: action values against further
    answers of the opponent, [a] float64 each, of which the step must gain against the worst. The first
    answer's deviation and noise set the price.
    """
    step = step_size(seen, old, config, span)
    return step_up(np.stack([seen.mean, *others]), old, step, config.magnet * span)


def step_size(seen: KeptValues, old: NDArray[np.float64], config: SolveConfig, span: float) -> float:
    """Return the size of the step from what some histories say, in inverse payoffs."""
    deviation = seen.deviation(old)
    step = plain_size(deviation, config, span)
    if config.caution > 0:
        step /= 1 + config.caution * seen.noise_share(old, max(deviation, LEAST_DEVIATION * span))
    return float(step)


def plain_size(
    deviation: float | NDArray[np.float64], config: SolveConfig, span: float
) -> NDArray[np.float64]:
    """Return the size of a step from values without noise, in inverse payoffs, of the deviation's shape."""
    unit = deviation if config.unit == "deviation" else np.full_like(deviation, span)
    size: NDArray[np.float64] = config.step / np.maximum(unit, LEAST_DEVIATION * span)
    return size


def step_up(
    values: NDArray[np.float64],
    old: NDArray[np.float64],
    step: float | NDArray[np.float64],
    magnet: float,
) -> NDArray[np.float64]:
    """Return the policies after the steps whose least gain against n answers is largest, of old's shape.

    Gains are over `old`, less the price of leaving it. By duality a step is the plain one up a mixture of the
    action values, the mixture against which it would gain least; here the best of a grid of `PARTS`.

    values: [n, a] float64, action values against each answer, or [n, m, a] at m infosets. old: [a] or [m, a]
    float64. step: η > 0, or [m, 1]. magnet: as of `mirror_descent_step`.
    """
    if len(values) == 1:
        return mirror_descent_step(old, values[0], step=step, magnet=magnet)
    gains = np.tensordot(mixtures(len(values)), values - (values * old).sum(axis=-1, keepdims=True), 1)
    logits = np.log(np.maximum(old, LEAST_PROBABILITY)) + step * gains
    most = logits.max(axis=-1, keepdims=True)
    worth = most + np.log(np.exp(logits - most).sum(axis=-1, keepdims=True))
    worst = np.take_along_axis(gains, worth.argmin(axis=0)[None], axis=0)[0]
    return mirror_descent_step(old, worst, step=step, magnet=magnet)


@cache
def mixtures(n: int) -> NDArray[np.float64]:
    """Return the mixtures of n things by `PARTS` parts, [m, n] float64; the first is the first thing."""
    parts = [one for one in itertools.product(range(PARTS + 1), repeat=n - 1) if sum(one) <= PARTS]
    found: NDArray[np.float64] = np.array([(PARTS - sum(one), *one) for one in parts]) / PARTS
    return found


def mirror_descent_step(
    policy: NDArray[np.float64],
    q: NDArray[np.float64],
    *,
    step: float | NDArray[np.float64],
    magnet: float = 0.0,
    towards: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the policy after one step up the action values, [a] float64, or [n, a] at n infosets at once.

    policy: [a] float64, the policy now; a small floor keeps actions of probability zero alive.
    q: [a] float64, action values. step: step size η > 0, in inverse units of q; [n, 1] of n infosets.
    magnet: pull α >= 0 towards `towards` ([a] float64, uniform by default).
    Source: Sokota et al. 2023: π' ∝ (π · ρ^(αη) · e^(ηq))^(1 / (1 + αη)).
    """
    rho = np.full(policy.shape[-1], 1.0 / policy.shape[-1]) if towards is None else towards
    floor = LEAST_PROBABILITY
    logits = np.log(np.maximum(policy, floor)) + magnet * step * np.log(np.maximum(rho, floor)) + step * q
    logits /= 1.0 + magnet * step
    weights: NDArray[np.float64] = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights
