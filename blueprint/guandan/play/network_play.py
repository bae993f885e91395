"""How a network plays matches, and the agent that plays so."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import attrs

from blueprint.guandan.chooser import Chooser
from blueprint.guandan.objective import OBJECTIVES
from games.support.configuration import Configuration, one_of

__all__ = ["NetworkPlay", "network_agent"]


@attrs.frozen(slots=False)
class NetworkPlay(Configuration):
    """How a network plays matches.

    objective: what it maximises there, the chance of winning the match ("match") or "levels". tribute: which
    cards it gives, by "rule" or by its own "value" of what is left.
    """

    label: ClassVar[str] = "NetworkPlay"

    objective: str = attrs.field(default="match", validator=one_of(OBJECTIVES))
    tribute: str = attrs.field(default="rule", validator=one_of(("rule", "value")))


def network_agent(path: Path, play: NetworkPlay) -> Chooser:
    """Return a checkpoint's best move as an agent; raise CheckpointError if it cannot be used."""
    from blueprint.guandan.network.inference import load_inference
    from blueprint.guandan.play.choosers import InferenceAgent
    from blueprint.guandan.play.network_tribute import TributeAgent

    network = load_inference(path, critic=False)
    agent = InferenceAgent(network, objective=play.objective)
    return TributeAgent(agent, network) if play.tribute == "value" else agent
