"""What gs2 would do: a search for a person who asks, in whatever process has the time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from games.guandan.rounds.round import legal
from gs2.guandan.table.agents import load_agent
from gs2.guandan.table.seat import Observation
from gs2.guandan.table.seated import canonical_places

if TYPE_CHECKING:
    from gs2.guandan.agent.agent import Gs2Agent

__all__ = ["hint", "ready"]


@cache
def _agent(preset: str) -> Gs2Agent:
    from gs2.guandan.agent.agent import make_agent

    agent = make_agent(config=preset, rng=np.random.default_rng(0))
    agent.warm_up()  # the first hint shall not compile on its own time
    return agent


_loaded = cache(load_agent)


def ready(preset: str, *, progress: Callable[[int, int], None]) -> None:
    """Load what hints of a preset need, before anybody asks for one."""
    _agent(preset)


def hint(observation: Observation, preset: str, *, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Return what search thinks of a seat's choices: its explanation, each move with its index in the list.

    For a tribute or return card only the index that the network would choose.
    """
    progress(0, 1)
    if observation.stage != "play":
        return {"index": _loaded("blueprint").answers([observation])[0], "explanation": None}
    from blueprint.guandan.chooser import PlayedMoves
    from gs2.guandan.agent.explanation import explain_decision

    agent = _agent(preset)
    canonical = legal(observation.state, canonical=True).values
    places = canonical_places(canonical, observation.moves)
    moves = observation.moves[places]
    agent.rng = np.random.default_rng(int(observation.state["plays"][0]))
    decision = agent.decide(observation.state, moves, PlayedMoves(observation.actors, observation.record))
    explained = explain_decision(decision, agent.config).to_json()
    for row in explained["moves"]:
        row["index"] = int(places[row["place"]])
    return {"index": int(places[decision.choice]), "explanation": explained}
