"""A GuanDan network with a personality head as an agent that plays in a personality's manner."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.choosing.personality import PERSONALITIES, blended_scores
from blueprint.guandan.chooser import Decisions
from blueprint.guandan.network.torch_network import TorchNetwork
from games.support.configuration import ConfigError

__all__ = ["BlendedAgent"]


class BlendedAgent:
    """Plays the action that scores highest for a personality; alpha: weight of the values.

    Raises ConfigError where the network has no personality head, or there is no such personality.
    """

    def __init__(self, network: TorchNetwork, persona: str, alpha: float) -> None:
        if not network.has_personalities:
            raise ConfigError(
                f"agent {network.name}: persona={persona} needs a network with a personality head; it has "
                "none; train one with --recipe pdhqn"
            )
        if persona not in PERSONALITIES:
            raise ConfigError(
                f"BlendedAgent: persona must be one of {', '.join(PERSONALITIES)}; got {persona!r}"
            )
        self.network, self.alpha = network, alpha
        self._column = PERSONALITIES.index(persona)
        self.name = f"{network.name}:{persona}"

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        offsets = np.asarray(decisions.offsets)
        values, logits = self.network.personalities(decisions)
        labels = 1 / (1 + np.exp(-logits.astype(np.float64)))
        scores = blended_scores(values, labels, offsets, self.alpha)[:, self._column]
        best = np.repeat(np.maximum.reduceat(scores, offsets[:-1]), np.diff(offsets))
        first = np.where(scores == best, np.arange(len(scores)), len(scores))
        found: NDArray[np.int64] = np.minimum.reduceat(first, offsets[:-1]) - offsets[:-1]
        return found
