"""Agents for a seat, by name, and what gs2 would do in a person's seat, in whatever process has the time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.protocol import UnknownAgent
from games.guandan.rounds.playout import legal
from gs2.guandan.table.seat import AgentError, Observation
from gs2.guandan.table.seated import Seated, Seats, canonical_places
from gs2.guandan.table.session import Listener, Session

if TYPE_CHECKING:
    from gs2.guandan.agent.agent import Gs2Agent


class RandomSeat:
    """Chooses evenly among all choices."""

    name = "random"

    def __init__(self, rng: np.random.Generator | None = None) -> None:
        self.rng = np.random.default_rng() if rng is None else rng

    def act(self, observation: Observation) -> int:
        """Return any index."""
        return int(self.rng.integers(len(observation.moves)))


class FirstSeat:
    """Plays the weakest single when it leads, and passes otherwise."""

    name = "first"

    def act(self, observation: Observation) -> int:
        """Return 0: the lists begin with PASS, or else with the weakest."""
        return 0


INSTANT = {"random": RandomSeat, "first": FirstSeat}
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
    from gs2.guandan.agent_families import guandan_agent

    try:
        named = guandan_agent(name)
        found, together = named.load(np.random.default_rng()), ":" in name or named.is_quick
    except UnknownAgent as error:
        raise AgentError(f"{error}; at a table also first and human") from error
    return found.load() if isinstance(found, Seats) else Seated(found, name, together=together)


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
    from blueprint.protocol import PlayedMoves
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
