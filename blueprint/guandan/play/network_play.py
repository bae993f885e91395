"""How a network plays GuanDan, and the agent that plays so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.objective import OBJECTIVES, rounds_alone
from blueprint.paper_parts import check_paper_fields, paper_part
from blueprint.protocol import Agent, Decisions
from blueprint.soft_choices import SoftAgent
from games.guandan.rounds.round import GuanDan
from games.support.configuration import ConfigError, Configuration, flag, integer, one_of, real, text

if TYPE_CHECKING:
    from blueprint.guandan.network.inference import Inference
    from blueprint.guandan.network.q_network import TorchNetwork


@attrs.frozen(slots=False)
class NetworkPlay(Configuration):
    """How a network plays matches.

    objective: what it maximises there, the chance of winning the match ("match") or "levels". tribute: which
    cards it gives, by "rule" or by its own "value" of what is left.
    temperature: of a soft choice, in levels (0: the best move); near: levels below the best within which it
    is made, 0 for among all (SDMC). prune: margin of move pruning by minimum combination, in moves, -1 for
    none (ODMC).
    persona: whose style it plays, where it has a personality head (PDHQN); none is its own. alpha: weight of
    its values beside the style, in [0, 1), of which None is a half. heeds: whether it listens to its models
    of the others, where it has them.
    """

    label: ClassVar[str] = "NetworkPlay"

    objective: str = attrs.field(default="match", validator=one_of(OBJECTIVES))
    tribute: str = attrs.field(default="rule", validator=one_of(("rule", "value")))
    temperature: float = attrs.field(default=0.0, validator=real(0, 10))
    near: float = attrs.field(default=0.0, validator=real(0, 10))
    prune: int = attrs.field(default=-1, validator=integer(-1, 27))
    persona: str = attrs.field(default="", validator=text)
    alpha: float | None = attrs.field(default=None, validator=real(0, 1, below=True, optional=True))
    heeds: bool = attrs.field(default=True, validator=flag)

    def check(self) -> None:
        """Raise ConfigError for a field that nothing would read."""
        if self.near and not self.temperature:
            raise ConfigError(
                f"NetworkPlay: near={self.near:g} is of a soft choice; set a temperature too, such as 0.06"
            )
        check_paper_fields(self, "persona", "alpha", "prune", "heeds")

    def told(self) -> dict[str, Any]:
        """Return what tells this way of playing from others: newer fields only where they are set."""
        fields, defaults = self.to_json(), self.defaults()
        if self.persona and self.alpha is None:
            fields["alpha"] = paper_part("alpha")
        return {k: v for k, v in fields.items() if k in ("objective", "tribute") or v != defaults[k]}


class InferenceAgent(SoftAgent):
    """A network of GuanDan that plays its best move, or a soft choice among its moves.

    In rounds of a match it maximises the chance of winning the match, if it sees the stakes
    (`Inference.sees_stakes`); elsewhere levels.
    """

    def __init__(self, inference: Inference | TorchNetwork, *, objective: str = "match", **soft: Any) -> None:
        """Take a network. objective: of OBJECTIVES; "levels" maximises levels in matches too."""
        super().__init__(inference, **soft)
        self.objective = objective

    def draw(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability."""
        if self.objective == "levels" and self.inference.sees_stakes:
            decisions = replace(decisions, states=rounds_alone(decisions.states))
        return super().draw(decisions)


def network_agent(path: Path, play: NetworkPlay, rng: np.random.Generator | None = None) -> Agent:
    """Return a checkpoint as an agent; a soft choice draws from `rng`.

    Raises CheckpointError if it cannot be used, ConfigError if it lacks what the way of playing needs.
    """
    from blueprint.guandan.network.q_network import load_any_network
    from blueprint.guandan.play.network_tribute import NetworkTribute

    network = load_any_network(path, heeds=play.heeds)
    if not play.heeds and not getattr(network, "has_models", False):
        raise ConfigError(
            f"agent {network.name}: heeds=false needs a network with models of the others; it has none; "
            "leave it out, or train one with --recipe pdhqn or odmc"
        )
    agent: Any
    if play.persona:
        agent = paper_part("style")(network, play.persona, play.alpha)
    else:
        soft: Any = {"temperature": play.temperature, "near": play.near}
        generator = np.random.default_rng(0) if rng is None else rng
        agent = InferenceAgent(network, **soft, rng=generator, objective=play.objective)
    if play.prune >= 0:
        agent = paper_part("pruned")(agent, GuanDan(), play.prune)
    if play.tribute == "value":
        if not getattr(network, "has_value", True):
            raise ConfigError(
                f"agent {network.name}: tribute=value needs a network with a value of positions; it has "
                "none; play tribute=rule"
            )
        agent.cards, agent.name = NetworkTribute(network), f"{network.name}+tribute"
    return cast(Agent, agent)
