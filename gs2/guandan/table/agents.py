"""Agents for a seat, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import UnknownAgent
from games.guandan.cards import pack
from games.guandan.matches.lockstep import CardDecisions
from games.guandan.rounds.round import legal
from games.ragged import Ragged
from gs2.guandan.table.hosts import Host, InstantHost, ProcessHost, ThreadHost
from gs2.guandan.table.seat import Agent, AgentError, Observation, as_agent
from gs2.guandan.table.seated import SeatedChooser
from gs2.guandan.table.session import Listener, Session
from gs2.guandan.table.wire.decode import packed_words

if TYPE_CHECKING:
    from blueprint.guandan.chooser import PlayedMoves

__all__ = [
    "ChooserSeat",
    "FirstAgent",
    "RandomAgent",
    "canonical_places",
    "check_agents",
    "host_for",
    "load_agent",
    "start_hosts",
    "warm_up",
]

INSTANT = ("random", "first")
"""Agents that answer in microseconds and need no process of their own."""


class RandomAgent:
    """Chooses evenly among all choices."""

    name = "random"

    def __init__(self, rng: np.random.Generator | None = None) -> None:
        self.rng = np.random.default_rng() if rng is None else rng

    def act_batch(self, observations: Sequence[Observation]) -> list[int]:
        """Return any indices."""
        return [int(self.rng.integers(len(seen.moves))) for seen in observations]


class FirstAgent:
    """Plays the weakest single when it leads, and passes otherwise."""

    name = "first"

    def act_batch(self, observations: Sequence[Observation]) -> list[int]:
        """Return 0 for each: the lists begin with PASS, or else with the weakest."""
        return [0] * len(observations)


class ChooserSeat:
    """Puts an agent that decides for batches of positions into seats at tables.

    choose: called with `Decisions`, returns one index within each row, as the agents of `blueprint` do. It
        sees one move of each effect (the canonical ones), where the table lists all.
    cards: called with `CardDecisions`, returns the tribute or return card of each; by rule if None.
    together: whether it gains from deciding for many tables at once, as a network does.
    """

    def __init__(
        self,
        name: str,
        choose: Callable[[Any], NDArray[np.int64]],
        cards: Callable[[CardDecisions], NDArray[np.int64]] | None = None,
        *,
        together: bool = True,
    ) -> None:
        self.name, self.choose, self.cards, self.together = name, choose, cards, together

    def act_batch(self, observations: Sequence[Observation]) -> list[int]:
        """Return the choices at many tables; those without a choice cost nothing."""
        answers = [0] * len(observations)
        asked = [k for k, seen in enumerate(observations) if len(seen.moves) > 1]
        plays = [k for k in asked if observations[k].stage == "play"]
        cards = [k for k in asked if observations[k].stage != "play"]
        for group, decide in ((plays, self._plays), (cards, self._cards)):
            if group:
                for k, index in zip(group, decide([observations[k] for k in group]), strict=True):
                    answers[k] = index
        return answers

    def _plays(self, seen: list[Observation]) -> list[int]:
        from blueprint.guandan.chooser import Decisions
        from blueprint.structured import join

        states = join([observation.state for observation in seen])
        canonical = legal(states, canonical=True)
        places = [canonical_places(canonical[k], observation.moves) for k, observation in enumerate(seen)]
        moves = join([observation.moves[place] for observation, place in zip(seen, places, strict=True)])
        offsets = Ragged.from_counts(np.array([len(place) for place in places]), moves).offsets
        rows = np.arange(len(seen), dtype=np.int64)
        seats = np.array([observation.seat for observation in seen], np.int64)
        chosen = self.choose(Decisions(states, rows, seats, offsets, moves, _Seen(seen)))
        return [int(place[index]) for place, index in zip(places, chosen, strict=True)]

    def _cards(self, seen: list[Observation]) -> list[int]:
        from blueprint.guandan.play.deals import card_choice

        options = np.zeros((len(seen), 54), bool)
        cards = [_card_indices(observation.moves) for observation in seen]
        for row, held in zip(options, cards, strict=True):
            row[held] = True
        decisions = CardDecisions(
            rows=np.arange(len(seen), dtype=np.int64),
            seats=np.array([observation.seat for observation in seen], np.uint8),
            slots=np.zeros(len(seen), np.uint8),
            back=np.array([observation.stage == "back" for observation in seen]),
            levels=np.array([observation.state["level"][0] for observation in seen]),
            hands=np.stack([observation.state["hand"][0, observation.seat] for observation in seen]),
            options=options,
        )
        chosen = (self.cards or card_choice)(decisions)
        return [int(np.flatnonzero(held == card)[0]) for held, card in zip(cards, chosen, strict=True)]


class _Seen:
    """What was played at some tables, as their observations tell."""

    def __init__(self, observations: list[Observation]) -> None:
        self.observations = observations

    def of(self, row: int) -> PlayedMoves:
        """Return the moves of one round, oldest first."""
        from blueprint.guandan.chooser import PlayedMoves

        seen = self.observations[row]
        return PlayedMoves(seen.actors, seen.record)


def canonical_places(canonical: NDArray[np.void], listed: NDArray[np.void]) -> NDArray[np.int64]:
    """Return where the canonical moves are in a table's list, [k]; everywhere if none of them is there."""
    words = packed_words(listed).reshape(-1, 3)
    at = {(int(a) & 0xFFFFFF, int(b), int(c)): j for j, (a, b, c) in enumerate(words)}
    wanted = packed_words(canonical).reshape(-1, 3)
    found = [at.get((int(a) & 0xFFFFFF, int(b), int(c)), -1) for a, b, c in wanted]
    places = np.array([j for j in found if j >= 0], np.int64)
    return places if len(places) else np.arange(len(listed), dtype=np.int64)


def _card_indices(moves: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the card index of each single card, [m]."""
    return np.array([_CARDS[int(move["lo"]), int(move["hi"])] for move in moves])


_CARDS = {(int(lo), int(hi)): card for card, (lo, hi) in enumerate(pack(np.eye(54, dtype=np.uint8)))}


def load_agent(name: str) -> Agent:
    """Return an agent by name.

    name: `random` among all moves, `first` or `human`; else any of `gs2.guandan.agent_families`.
    Raises AgentError if there is none, or it does not have what an agent needs.
    """
    if name == "random":
        return RandomAgent()
    if name == "first":
        return FirstAgent()
    if name == "human":
        from gs2.guandan.table.client.human import HumanAgent

        return as_agent(HumanAgent())
    from gs2.guandan.agent_families import is_batched, load_batched_agent

    try:
        found = load_batched_agent(name)
        batched = is_batched(name)
    except UnknownAgent as error:
        raise AgentError(f"{error}; at a table also first and human") from error
    if isinstance(found, SeatedChooser):
        return found.seats.load()
    return ChooserSeat(name, found, together=batched)


def warm_up(agent: Agent) -> None:
    """Let an agent decide about a made-up deal, so that what it loads on first use is loaded.

    An agent with a `warm_up` of its own, or whose `choose` has one, is asked for that as well.
    """
    for part in (agent, getattr(agent, "choose", None)):
        getattr(part, "warm_up", lambda: None)()
    session = Session(Listener(), seed=0)
    session.begin()
    (seat,) = session.pending
    agent.act_batch([session.observe(seat)])


def check_agents(names: Iterable[str]) -> None:
    """Raise what `load_agent` would raise at these names or their files, before anything is started."""
    from gs2.guandan.agent_families import check_agent

    for name in dict.fromkeys(names):
        if name not in (*INSTANT, "human"):
            try:
                check_agent(name)
            except UnknownAgent as error:
                raise AgentError(f"{error}; at a table also first and human") from error


def host_for(name: str, *, workers: int = 1) -> Host:
    """Return where a named agent thinks: on the loop if it takes no time, in processes of its own if it does.

    workers: processes for an agent that gets its own.
    """
    if name in INSTANT:
        return InstantHost(lambda: load_agent(name))
    if name == "human":
        return ThreadHost(lambda: load_agent(name), threads=1)
    return ProcessHost(name, workers)


async def start_hosts(hosts: Iterable[Host]) -> None:
    """Load every agent where it will think. Raises AgentError if one cannot be loaded."""
    for host in hosts:
        if isinstance(host, ProcessHost):
            await host.start()
        elif isinstance(host, InstantHost | ThreadHost):
            host.seats.load()
