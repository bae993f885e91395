"""The agents of the other packages by name, as choosers for batches of decisions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gs2.table.seat import AgentError

if TYPE_CHECKING:
    from gs2.guandan.evaluator import Evaluator

__all__ = ["CHOOSER_NAMES", "Chooser", "load_chooser"]

Chooser = Callable[[Any], NDArray[np.int64]]
"""Takes `blueprint.selfplay.Decisions`, returns one index within each decision's row."""

RULE_AGENTS = ("greedy", "mincomb", "aggressive", "conservative", "balanced", "strong")
CHOOSER_NAMES = (*RULE_AGENTS, "blueprint", "gs2", "gs2-fast", "gs2-deep", "gs2-paper")


def load_chooser(name: str) -> tuple[Chooser, bool]:
    """Return an agent by name, and whether it gains from deciding for many tables together.

    name: a rule agent; `blueprint`, the shipped network's best move; `gs2` or `gs2-PRESET`, search on top of
        it; or the path of a checkpoint for its best move. `gs2@PATH` and `gs2-PRESET@PATH` search on another.
    Raises AgentError if there is no such agent, CheckpointError if a checkpoint cannot be used.
    """
    if name in RULE_AGENTS:
        return _rule_agent(name), True
    agent, _, path = name.partition("@")
    if agent == "gs2" or agent.startswith("gs2-"):
        from gs2.guandan.agent import Gs2Agent
        from gs2.guandan.evaluator import load_evaluator

        preset = agent.removeprefix("gs2").removeprefix("-") or "standard"
        return Gs2Agent(load_evaluator(path or None), preset), False
    if name == "blueprint" or name.endswith(".safetensors"):
        from gs2.guandan.evaluator import load_evaluator

        return best_by_score(load_evaluator(None if name == "blueprint" else name)), True
    raise AgentError(
        f"there is no agent {name!r}; there are random, first, human, {', '.join(CHOOSER_NAMES)}, "
        "the path of a checkpoint (.safetensors), and MODULE:CLASS or FILE.py:CLASS for your own"
    )


def _rule_agent(name: str) -> Chooser:
    from blueprint.rule_agents import GreedyAgent
    from blueprint.split_agents import MinCombinationAgent, PersonalityAgent, StrongAgent

    if name == "greedy":
        return GreedyAgent()
    if name == "mincomb":
        return MinCombinationAgent()
    return StrongAgent() if name == "strong" else PersonalityAgent(name)


def best_by_score(evaluator: Evaluator) -> Chooser:
    """Return the chooser of the action with the highest score."""

    def choose(decisions: Any) -> NDArray[np.int64]:
        offsets = decisions.offsets
        scores = evaluator.q(decisions.states, decisions.rows, decisions.seats, offsets, decisions.actions)
        return np.array([int(scores[a:b].argmax()) for a, b in pairwise(offsets)], np.int64)

    return choose
