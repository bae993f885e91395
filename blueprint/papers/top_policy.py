"""A policy over the best few moves of a network: proximal policy optimisation from a DMC network (DanZero+).

Its player draws by the softmax of scores among the k best moves and keeps what it chose among; the loss
compares what the same moves score later. The network's advantages over a temperature are the logits. What
moves them is how a return compares with a baseline, and only where play is in doubt: there the order of the
moves is learned, where deep Monte-Carlo learning fits the value of every move by itself. The squared loss of
that learning stays beside, so that advantages keep their unit. A policy may pay for its distance from uniform
play; at a price of one temperature both losses rest at exp(A / temperature).
Sources: Zhao et al. 2023 (DanZero+), Schulman et al. 2017 (PPO), Rudolph et al. 2025 (the price).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blueprint.protocol import Decisions, DrawingAgent
from blueprint.soft_choices import TopChoices
from games.support.array_types import Ints
from games.support.kernel import kernel


@kernel(nogil=True)
def _draw_top(
    scores: NDArray[np.float32],
    offsets: Ints,
    temperature: float,
    uniforms: NDArray[np.float64],
    index: Ints,
    count: Ints,
    picked: Ints,
    log_chance: NDArray[np.float32],
) -> None:
    """Write the best moves of each decision, [n, k] rows of `scores`, and draw one of them."""
    k = index.shape[1]
    for j in range(len(count)):
        n = 0
        for i in range(offsets[j], offsets[j + 1]):
            at = n
            if n == k:
                if scores[i] <= scores[index[j, k - 1]]:
                    continue
                at = k - 1
            else:
                n += 1
            while at > 0 and scores[index[j, at - 1]] < scores[i]:
                index[j, at] = index[j, at - 1]
                at -= 1
            index[j, at] = i
        count[j] = n
        for q in range(n, k):
            index[j, q] = index[j, 0]
        best = scores[index[j, 0]]
        total = 0.0
        for q in range(n):
            total += np.exp((scores[index[j, q]] - best) / temperature)
        left = uniforms[j] * total
        picked[j] = 0
        for q in range(n):
            left -= np.exp((scores[index[j, q]] - best) / temperature)
            if left < 0:
                picked[j] = q
                break
        log_chance[j] = (scores[index[j, picked[j]]] - best) / temperature - np.log(total)


class TopAgent(DrawingAgent):
    """Plays by the softmax of scores over a temperature among the k best moves; keeps what it chose among.

    scores: of each move of some decisions, [m] float32. k: moves; 2 or more.
    """

    def __init__(
        self,
        scores: Callable[[Decisions], NDArray[np.float32]],
        k: int,
        temperature: float,
        rng: np.random.Generator,
    ) -> None:
        self.scores, self.k, self.temperature, self.rng = scores, k, temperature, rng
        self._kept: list[TopChoices] = []

    def draw(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability."""
        n = len(decisions)
        index = np.zeros((n, self.k), np.int64)
        count, picked = np.zeros(n, np.int64), np.zeros(n, np.int64)
        log_chance = np.zeros(n, np.float32)
        drawn = (index, count, picked, log_chance)
        _draw_top(self.scores(decisions), decisions.offsets, self.temperature, self.rng.random(n), *drawn)
        self._kept.append(TopChoices(decisions.actions[index], count, picked, log_chance))
        return index[np.arange(n), picked] - decisions.offsets[:-1], np.exp(log_chance)

    def choices(self) -> TopChoices | None:
        """Return what was chosen among since the last call, in the order asked; None of none."""
        kept, self._kept = self._kept, []
        return TopChoices.joined(kept) if kept else None


def policy_loss(
    advantages: Tensor, choices: TopChoices, target: Tensor, at: tuple[float, float, float], weight: Tensor
) -> Tensor:
    """Return the clipped loss of proximal policy optimisation, in levels, a number a decision, [n].

    advantages: [n, k] of the moves chosen among, as the network has them now. target: [n], return minus
    baseline. at: temperature; share by which a move's probability may change before it counts no more; price
    of a nat away from uniform play over the moves, in temperatures. weight: [n], of decisions.
    """
    temperature, clip, price = at
    device = advantages.device
    beyond = torch.from_numpy(~choices.there()).to(device)
    logits = (advantages / temperature).masked_fill(beyond, -1e9)
    log = logits.log_softmax(1)
    now = log.gather(1, torch.from_numpy(choices.picked).to(device)[:, None])[:, 0]
    ratio = (now - torch.from_numpy(choices.log_chance).to(device)).exp()
    gained = torch.minimum(ratio * target, ratio.clamp(1 - clip, 1 + clip) * target)
    away = (log.exp() * log).sum(1) if price else 0.0  # from uniform play, less a constant
    # over the temperature a step of an advantage is a step of a logit: this way it is in levels again
    return -temperature * weight * (gained - price * temperature * away)
