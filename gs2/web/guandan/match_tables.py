"""Tables of matches: the agents that may sit there, loaded once for all of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import attrs

from gs2.guandan.table.hosts import Host, host_for, start_hosts
from gs2.guandan.table.seat import AgentError, Observation
from gs2.jobs import Jobs, JobsFull
from gs2.web.guandan.match_play import MatchPlay
from gs2.web.tables.seat_labels import seat_labels, without_folders
from gs2.web.tables.table import Refused
from gs2.web.tables.table_log import PERSON, DamagedTable, TableSetup

__all__ = ["MatchTables"]

logger = logging.getLogger("gs2.web")

AGENTS = (
    ("gs2", "searches half a second at most"),
    ("gs2-fast", "searches 50 ms at most"),
    ("gs2-deep", "searches 3 seconds at most"),
    ("blueprint", "the network alone"),
    ("strong", "the strongest of the rule-based agents"),
    ("mincomb", "rules: plays towards the fewest moves"),
    ("aggressive", "rules: beats what it can"),
    ("conservative", "rules: saves its high cards"),
    ("balanced", "rules: in between"),
    ("greedy", "rules: the simplest"),
    ("random", "any legal move"),
)
"""Agents that anybody may seat, and what they are; the command line may add others."""
SEATS = 4
USUAL = ("gs2-fast", "blueprint", "greedy")
"""Agents that one meets where nothing is said, the first of them before others."""
MOST_GAMES = 100
"""Games at a table."""
PATIENCE = 60.0
"""Seconds an agent has for a move."""
HINT = "standard"
"""How deeply a hint searches."""


class MatchTables:
    """What tables of matches need: their agents, the check of a request, and hints.

    jobs: where hints are worked out. given: agents of the command line; the page has them without their
    folders. workers: processes for each agent.
    """

    def __init__(self, jobs: Jobs, given: Sequence[str] = (), *, workers: int = 1) -> None:
        self.jobs, self.workers = jobs, workers
        self._labels = seat_labels(given, [name for name, _ in AGENTS])
        self._given = {label: name for name, label in self._labels.items()}
        self.agents = dict(AGENTS) | dict.fromkeys(self._given, "from the command line")
        self.hosts: dict[str, Host] = {}
        self._starting: dict[str, asyncio.Task[None]] = {}
        self._hints = False

    @property
    def offer(self) -> dict[str, Any]:
        """GuanDan as the page lists it."""
        agents = [{"label": label, "about": about, "exactly": None} for label, about in self.agents.items()]
        more = {"teams": [0, 1, 0, 1], "matches": True, "usual": USUAL}
        return {"name": "guandan", "summary": "", "options": [], "seats": SEATS, "agents": agents, **more}

    async def asked(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return seats and games of the table that a request asks for; its agents are loaded.

        Raises Refused at what cannot be, and AgentError if an agent cannot be loaded.
        """
        seats, games = data.get("seats", ()), data.get("games", 1)
        texts = isinstance(seats, Sequence) and all(isinstance(name, str) for name in seats)
        if not texts or len(seats) != SEATS:
            raise Refused("wrong", f"a table has four seats, each {PERSON!r} or an agent's name")
        for name in seats:
            if name != PERSON and name not in self.agents:
                known = ", ".join(self.agents)
                raise Refused("wrong", f"no agent is called {name[:40]!r} here; there are {known}")
        if isinstance(games, bool) or not isinstance(games, int) or not 1 <= games <= MOST_GAMES:
            raise Refused("wrong", f"games is a whole number in 1..{MOST_GAMES}; got {games!r:.40}")
        await self._load(seats)
        if PERSON in seats and not self._hints:
            self._hints = True
            self.jobs.start("hint", "gs2.guandan.table.agents:ready", HINT)
        return {"seats": tuple(seats), "games": games}

    async def play(self, setup: TableSetup) -> MatchPlay:
        """Return the play of a setup; its agents are loaded.

        Raises DamagedTable, or AgentError, if one cannot be had.
        """
        if len(setup.seats) != SEATS:
            raise DamagedTable(f"a table of matches has four seats, each a name; got {len(setup.seats)}")
        # a table that is older than the labels has the agents' own names
        setup = attrs.evolve(setup, seats=tuple(self._labels.get(s, s) for s in setup.seats))
        for name in setup.seats:
            if name != PERSON and name not in self.agents:
                raise DamagedTable(f"no agent is called {name[:80]!r} here; give your own by --agent")
        await self._load(setup.seats)
        return MatchPlay(setup)

    async def answer(self, play: MatchPlay, label: str, seat: int) -> int:
        """Return an agent's choice for a seat. Raises Refused if it fails or takes too long."""
        host, key = self.hosts[label], (play.setup.id, seat)
        try:
            return await asyncio.wait_for(host.answer(key, play.session.observe(seat)), PATIENCE)
        except TimeoutError:
            host.give_up(key)
            raise Refused("agent", f"it took more than {PATIENCE:g} s") from None
        except AgentError as error:
            told = without_folders(str(error), getattr(host, "name", label), label)
            raise Refused("agent", told) from None

    def forget(self, play: MatchPlay) -> None:
        """Drop what the agents remember of a table."""
        for seat, label in enumerate(play.setup.seats):
            if label in self.hosts:
                self.hosts[label].forget((play.setup.id, seat))

    def hint(self, play: MatchPlay, seat: int, label: Any) -> Callable[[], Awaitable[dict[str, Any]]]:
        """Return what finds a hint for a seat: the choice that a search advises, whoever is asked."""
        observation = play.session.observe(seat)
        moves = play.session.choices(seat)

        async def find() -> dict[str, Any]:
            found = await self._search(observation)
            return {**found, "choice": play.move(moves, found["index"])["move"]}

        return find

    async def _search(self, observation: Observation) -> dict[str, Any]:
        """Return what a search advises. Raises Refused if it fails, or too many wait."""
        try:
            job = self.jobs.start("hint", "gs2.guandan.table.agents:hint", observation, HINT)
        except JobsFull as error:
            raise Refused("busy", str(error)) from None
        await self.jobs.ended(job)
        if job.status != "done":
            raise Refused("agent", job.error or job.status)
        return dict(job.result)

    def close(self) -> None:
        """End the agents."""
        for host in self.hosts.values():
            host.close()

    async def _load(self, seats: Sequence[str]) -> None:
        """Have the agents loaded. Raises AgentError if one cannot be."""
        for name in dict.fromkeys(seats):
            if name == PERSON or name in self.hosts:
                continue
            if name not in self._starting:
                self._starting[name] = asyncio.ensure_future(self._start(name))
            try:
                await asyncio.shield(self._starting[name])
            finally:
                self._starting.pop(name, None)

    async def _start(self, name: str) -> None:
        given = self._given.get(name, name)
        host = host_for(given, workers=self.workers)
        try:
            await start_hosts([host])
        except AgentError as error:
            host.close()
            logger.warning("agent %s: %s", given, error)
            raise AgentError(without_folders(str(error), given, name)) from None
        except BaseException:
            host.close()
            raise
        self.hosts[name] = host
