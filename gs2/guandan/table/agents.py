"""Agents for a seat, by name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from blueprint.protocol import UnknownAgent
from gs2.guandan.table.seat import AgentError, Observation
from gs2.guandan.table.seated import Seated, SeatedChooser
from gs2.guandan.table.session import Listener, Session

__all__ = ["INSTANT", "FirstAgent", "RandomAgent", "check_agents", "load_agent", "warm_up"]


class RandomAgent:
    """Chooses evenly among all choices."""

    name = "random"

    def __init__(self, rng: np.random.Generator | None = None) -> None:
        self.rng = np.random.default_rng() if rng is None else rng

    def act(self, observation: Observation) -> int:
        """Return any index."""
        return int(self.rng.integers(len(observation.moves)))


class FirstAgent:
    """Plays the weakest single when it leads, and passes otherwise."""

    name = "first"

    def act(self, observation: Observation) -> int:
        """Return 0: the lists begin with PASS, or else with the weakest."""
        return 0


INSTANT = {"random": RandomAgent, "first": FirstAgent}
"""Agents that answer in microseconds and need no process of their own."""


def load_agent(name: str) -> Seated:
    """Return an agent by name.

    name: `random` among all moves, `first` or `human`; else any of `gs2.guandan.agent_families`.
    Raises AgentError if there is none, or it does not have what an agent needs.
    """
    if name in INSTANT:
        return Seated(INSTANT[name]())
    if name == "human":
        from gs2.guandan.table.client.human import HumanAgent

        return Seated(HumanAgent())
    from gs2.guandan.agent_families import is_batched, load_batched_agent

    try:
        found = load_batched_agent(name)
        together = ":" in name or is_batched(name)
    except UnknownAgent as error:
        raise AgentError(f"{error}; at a table also first and human") from error
    if isinstance(found, SeatedChooser):
        return found.seats.load()
    return Seated(found, name, together=together)


def warm_up(agent: Seated) -> None:
    """Let an agent decide about a made-up deal, so that what it loads on first use is loaded.

    An agent with a `warm_up` of its own is asked for that as well.
    """
    getattr(agent.agent, "warm_up", lambda: None)()
    session = Session(Listener(), seed=0)
    session.begin()
    (seat,) = session.pending
    agent.answers([session.observe(seat)])


def check_agents(names: Iterable[str]) -> None:
    """Raise what `load_agent` would raise at these names or their files, before anything is started."""
    from gs2.guandan.agent_families import check_agent

    for name in dict.fromkeys(names):
        if name not in (*INSTANT, "human"):
            try:
                check_agent(name)
            except UnknownAgent as error:
                raise AgentError(f"{error}; at a table also first and human") from error
