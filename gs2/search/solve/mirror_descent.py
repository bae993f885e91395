"""One step of magnetic mirror descent at an infoset: the baseline without a subgame that search must beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["mirror_descent_step"]


def mirror_descent_step(
    policy: NDArray[np.float64],
    q: NDArray[np.float64],
    *,
    step: float,
    magnet: float = 0.0,
    towards: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the policy after one step up the action values, [a] float64.

    policy: [a] float64, the policy now; a small floor keeps actions of probability zero alive.
    q: [a] float64, action values. step: step size η > 0, in inverse units of q.
    magnet: pull α >= 0 towards `towards` ([a] float64, uniform by default).
    Source: Sokota et al. 2023: π' ∝ (π · ρ^(αη) · e^(ηq))^(1 / (1 + αη)).
    """
    rho = np.full(len(policy), 1.0 / len(policy)) if towards is None else towards
    floor = 1e-6
    logits = np.log(np.maximum(policy, floor)) + magnet * step * np.log(np.maximum(rho, floor)) + step * q
    logits /= 1.0 + magnet * step
    weights: NDArray[np.float64] = np.exp(logits - logits.max())
    weights /= weights.sum()
    return weights
