"""How regrets are learnt from, a vector at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.simd import above, fma, load, maximum, select_positive, splat, store
from games.support.kernel import kernel

__all__ = ["current_discounts", "learn", "learning_rule"]


@kernel
def learning_rule(zero: Any, t: int, variant: tuple[float, ...], discounts: NDArray[np.float64]) -> Any:
    """Return what `learn` is told in iteration t: the usual discounts of regrets, and all the rest.

    The discounts are vectors, of positive and of negative regrets; `current_discounts` puts others in their
    place where an iteration was missed. variant, discounts: as of `kernels.iterate`; borrowed.
    """
    now = 4 * (t - 1)
    usual = splat(zero, discounts[now]), splat(zero, discounts[now + 1])
    later = splat(zero, discounts[now + 4]), splat(zero, discounts[now + 5])
    lowest = splat(zero, 0.0 if variant[3] > 0 else -np.inf)
    return usual, (*later, splat(zero, variant[6]), lowest, variant[4] > 0)


@kernel
def current_discounts(t: int, stamp: int, usual: Any, discounts: NDArray[np.float64]) -> Any:
    """Return the discounts of regrets that were last updated in iteration `stamp`, before those of t.

    Skipping is exact: without counterfactual reach the instantaneous regrets are zero.
    """
    now = 4 * (t - 1)
    if stamp == t - 1 or discounts[now] + discounts[now + 1] >= 2.0:
        return usual
    since = 4 * max(stamp - 1, 0)
    positive_now = np.exp(discounts[now + 2] - discounts[since + 2])
    negative_now = np.exp(discounts[now + 3] - discounts[since + 3])
    return splat(usual[0], positive_now), splat(usual[0], negative_now)


@kernel
def learn(regret: NDArray[np.float64], prediction: NDArray[np.float64], at: int, gain: Any, rule: Any) -> Any:
    """Add instantaneous regrets `gain` at `at`; return what the next policy is in proportion to."""
    positive_now, negative_now, positive_next, negative_next, noise, lowest, predictive = rule
    old = load(gain, regret, at)
    new = maximum(fma(old, select_positive(old, positive_now, negative_now), gain), lowest)
    store(regret, at, new)
    if predictive:
        store(prediction, at, gain)
        new = fma(new, select_positive(new, positive_next, negative_next), gain)
    return above(new, noise)
