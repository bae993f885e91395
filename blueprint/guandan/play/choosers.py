"""GuanDan agents that answer without search: the rules by name, and networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blueprint.choosing import draw_soft, near_best
from blueprint.guandan.chooser import Chooser, Decisions
from blueprint.guandan.objective import rounds_alone
from blueprint.guandan.rules.rule_agents import GreedyAgent, RandomChooser
from blueprint.guandan.rules.split_agents import MinCombinationAgent, PersonalityAgent, StrongAgent
from games.support.array_types import Array

if TYPE_CHECKING:
    from blueprint.guandan.network.inference import Inference
    from blueprint.guandan.network.torch_network import TorchNetwork

__all__ = ["RULE_AGENTS", "InferenceAgent"]

RULE_AGENTS: dict[str, Callable[[np.random.Generator], Chooser]] = {
    "random": RandomChooser,
    "greedy": lambda rng: GreedyAgent(),
    "mincomb": lambda rng: MinCombinationAgent(),
    "aggressive": lambda rng: PersonalityAgent("aggressive"),
    "conservative": lambda rng: PersonalityAgent("conservative"),
    "balanced": lambda rng: PersonalityAgent("balanced"),
    "strong": lambda rng: StrongAgent(),
}
"""Makes each rule agent; what an agent that draws draws from is given, and only `random` draws."""


class InferenceAgent:
    """A network that plays its best move, or a soft choice among its moves.

    In rounds of a match it maximises the chance of winning the match, if it sees the stakes
    (`Inference.sees_stakes`); elsewhere levels.
    """

    def __init__(
        self,
        inference: Inference | TorchNetwork,
        *,
        temperature: float = 0.0,
        epsilon: float = 0.0,
        near: float = 0.0,
        rng: np.random.Generator | None = None,
        objective: str = "match",
    ) -> None:
        """Take a network; temperature and epsilon as in `choose_soft`, which draws from `rng`.

        near: levels below the best move within which the soft choice is made; 0 for among all.
        objective: of OBJECTIVES; "levels" maximises levels in matches too.
        Raises ValueError if a choice needs `rng` and there is none.
        """
        if rng is None and (temperature > 0 or epsilon > 0):
            raise ValueError(
                f"InferenceAgent: temperature {temperature} and epsilon {epsilon} need an rng; give one"
            )
        self.inference: Any = inference
        self.objective = objective
        self.name = inference.name
        self.temperature, self.epsilon, self.near = temperature, epsilon, near
        self.rng = np.random.default_rng(0) if rng is None else rng

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        return self.draw(decisions)[0]

    def draw(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability."""
        if self.objective == "levels" and self.inference.sees_stakes:
            decisions = replace(decisions, states=rounds_alone(decisions.states))
        scores: Array = self.inference.advantages(decisions)
        if self.near > 0:
            scores = near_best(scores, decisions.offsets, self.near)
        return draw_soft(scores, decisions.offsets, self.temperature, self.epsilon, self.rng)
