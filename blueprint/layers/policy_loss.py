"""The loss of policy learning over the best few moves: proximal policy optimisation from a DMC network.

The network's advantages over a temperature are the logits of its play among its k best moves
(`blueprint.choosing.top_choices`). What moves them is how a return compares with a baseline, and only where
play is in doubt: there the order of the moves is learned, where deep Monte-Carlo learning fits the value of
every move by itself. The squared loss of that learning stays beside, so that advantages keep their unit.
Sources: Zhao et al. 2023 (DanZero+: PPO on the top-k of a DMC network), Schulman et al. 2017 (PPO).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from blueprint.choosing.top_choices import TopChoices

__all__ = ["policy_loss"]


def policy_loss(
    advantages: Tensor, choices: TopChoices, target: Tensor, temperature: float, clip: float, weight: Tensor
) -> Tensor:
    """Return the clipped loss of proximal policy optimisation, in levels, a number a decision, [n].

    advantages: [n, k] of the moves chosen among, as the network has them now. target: [n], return minus
    baseline. clip: how far the probability of a move may go from what it was, as a share, before it counts no
    more. weight: [n] of each decision.
    """
    device = advantages.device
    beyond = np.arange(advantages.shape[1])[None] >= choices.count[:, None]
    logits = (advantages / temperature).masked_fill(torch.from_numpy(beyond).to(device), -1e9)
    picked = torch.from_numpy(choices.picked).to(device)
    now = logits.log_softmax(1).gather(1, picked[:, None])[:, 0]
    ratio = (now - torch.from_numpy(choices.log_chance).to(device)).exp()
    gained = torch.minimum(ratio * target, ratio.clamp(1 - clip, 1 + clip) * target)
    # over the temperature a step of an advantage is a step of a logit: this way it is in levels again
    return -temperature * weight * gained
