"""What tables need: the agents that may sit there, their workers, and the check of a request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from games.game import Game
from gs2.jobs import DIED, Jobs, JobsFull
from gs2.web.games.agent_worker import Seated
from gs2.web.games.game_play import GamePlay
from gs2.web.games.offers import (
    AgentOffer,
    game_from,
    game_titled,
    offered_agents,
    own_games,
    seat_labels,
    without_folders,
)
from gs2.web.tables.table import Call, Play, Refused
from gs2.web.tables.table_log import PERSON, DamagedTable, TableSetup
from gs2.wings import FIRST, games_with, own_part

logger = logging.getLogger("gs2.web")

PATIENCE = 60.0
"""Seconds an agent has for a move or a hint, once its worker has loaded it."""
LOADING = 300.0
"""Seconds an agent has to be loaded, by each worker; a strategy may have to be computed first."""
MOST_GAMES = 64
"""Games that are kept loaded for further tables."""


def play_of(game: Any) -> Any:
    """Return the class of the play at tables of a game: its own, or rounds one after the other."""
    return (own_part(game, "play") if isinstance(game, str) else None) or GamePlay


class GameTables:
    """What tables need: their agents, the check of a request, and hints.

    agents: names of `load_game_agent` from the command line. games: further ones, FILE.py:GAME. own_agents:
    names of agents for games whose play is their own; the page has them without their folders. workers:
    processes for each agent. Play and hints have workers of their own, and so has each slow agent, so that it
    keeps nobody else waiting.
    """

    def __init__(
        self,
        agents: Sequence[str] = (),
        games: Sequence[str] = (),
        *,
        own_agents: Sequence[str] = (),
        workers: int = 1,
    ) -> None:
        self.own = own_games(games)
        self.workers = workers
        self.agents = offered_agents(agents, self.own)
        for game in games_with("play"):
            listed: dict[str, str] = dict(play_of(game).AGENTS)
            given = {label: name for name, label in seat_labels(own_agents, list(listed)).items()}
            self.agents += tuple(
                AgentOffer(label=label, name=given.get(label, label), games=(game,), about=about)
                for label, about in (listed | dict.fromkeys(given, "from the command line")).items()
            )
        self.jobs = Jobs()  # those of reviews and searches are others, whose answers are kept longer
        self._games: dict[str, Game] = {}

    def close(self) -> None:
        """End the workers."""
        self.jobs.close()

    def _game(self, name: str, game: Game | None = None) -> Game:
        """Return a game by its canonical name: the one that is kept, or `game`, or a new one."""
        if name in self.own:
            return self.own[name][1]
        if name not in self._games:
            if len(self._games) >= MOST_GAMES:
                self._games.clear()  # tables have theirs
            self._games[name] = game or game_titled(name)
        return self._games[name]

    def offer(self, game: Game, label: Any) -> AgentOffer:
        """Return the agent of a label that plays a game. Raises Refused if there is none."""
        fitting = [agent for agent in self.agents if game.name.partition("(")[0] in agent.games]
        for agent in fitting:
            if agent.label == label and agent.plays(game):
                return agent
        other = next((agent for agent in fitting if agent.label == label), None)
        if other is not None:
            raise Refused("wrong", f"{other.label} was trained on {other.exactly}, not on {game.name}")
        known = ", ".join(agent.label for agent in fitting if agent.plays(game))
        raise Refused("wrong", f"no agent of {game.name} is called {label!r:.60} here; there are {known}")

    # --- tables ---

    async def asked(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return what is set up at a request: game, seats, and what only this kind of play has.

        Raises Refused at what cannot be.
        """
        players, name = data.get("seats"), data.get("game", FIRST)
        if not isinstance(players, list) or not all(isinstance(one, str) for one in players):
            raise Refused("wrong", f"seats are a list, each {PERSON!r} or an agent's name")
        kind = play_of(name)
        more = kind.fields(data)
        own = self.own[name][1] if isinstance(name, str) and name in self.own else None
        game = await asyncio.to_thread(kind.prepared, own or game_from(name, data.get("options", {})))
        if len(players) != game.num_players:
            raise Refused("wrong", f"{game.name} has {game.num_players} seats; got {str(players)[:200]}")
        for label in set(players) - {PERSON}:
            self.offer(game, label)
        return {"game": self._game(game.name, game).name, "seats": tuple(players), **more}

    async def load(self, play: Play) -> None:
        """Have the agents of a new table loaded. Raises Refused if one cannot be."""
        for label in dict.fromkeys(play.setup.seats):
            if label != PERSON:
                for worker in range(self.workers):
                    await self._run(*self._asked("load", play, label, 0), worker)
        ready = play.call("ready", None, 0)
        hints = f"hint {play.advisers[0]}" if play.advisers else ""
        if ready is not None and PERSON in play.setup.seats and not self.jobs.works(hints):
            self.jobs.start(hints, *ready)

    async def play(self, setup: TableSetup) -> Any:
        """Return the play of a setup, before its first round. Raises ValueError where it cannot be."""
        game = await asyncio.to_thread(self._game, setup.game)
        for label in setup.seats:
            try:
                if label != PERSON:
                    self.offer(game, label)
            except Refused as error:
                raise DamagedTable(f"{error}; give your own by --agent or --game-agent") from None
        play = play_of(setup.game)(setup, game)
        if not play.advisers:
            labels = [one.label for one in self.agents if one.plays(game) and one.label != "random"]
            play.advisers = tuple(dict.fromkeys([*labels, *(one for one in setup.seats if one != PERSON)]))
        return play

    # --- agents ---

    async def answer(self, play: Play, label: str, seat: int) -> int:
        return int(await self._run(*self._asked("answer", play, label, seat), self._home(play, seat)))

    def hint(self, play: Play, seat: int, label: Any) -> Callable[[], Awaitable[dict[str, Any]]]:
        """Return what finds out what an agent would do in a seat's place; label: None for the usual one."""
        label = play.advisers[0] if label is None and play.advisers else label
        told, asked = play.hint_told(seat), self._asked("hint", play, label, seat)

        async def find() -> dict[str, Any]:
            return told(dict(await self._run(*asked)))

        return find

    def forget(self, play: Play) -> None:
        for seat, label in enumerate(play.setup.seats):
            with suppress(Refused, JobsFull):
                agent, call = self._asked("forget", play, label, seat)
                kind = self._kind(agent, self._home(play, seat))
                if call is not None and self.jobs.works(kind):
                    self.jobs.start(kind, *call)

    def _home(self, play: Play, seat: int) -> int:
        """Return which of an agent's workers a seat has."""
        return (sum(play.setup.id.encode()) + seat) % self.workers

    def _kind(self, agent: AgentOffer, worker: int | None) -> str:
        """Return the jobs of an agent's worker; None for that of hints."""
        return f"hint {agent.worker}" if worker is None else f"play {agent.worker} {worker}"

    def _asked(self, what: str, play: Play, label: Any, seat: int) -> tuple[AgentOffer, Call | None]:
        """Return an agent, and what its worker is asked. Raises Refused if there is none of this label."""
        agent = self.offer(play.game, label)
        name = play.game.name
        seated = Seated(self.own[name][0] if name in self.own else name, agent.name)
        return agent, play.call(what, seated, seat)

    async def _run(self, agent: AgentOffer, call: Call | None, worker: int | None = None) -> Any:
        """Return what an agent's worker answers. Raises Refused if it fails or takes too long."""
        assert call is not None
        while True:
            try:
                job = self.jobs.start(self._kind(agent, worker), *call, limits=(LOADING, PATIENCE))
                break
            except JobsFull:
                if worker is None:
                    raise Refused("busy", "too many ask this agent; try again soon") from None
                await asyncio.sleep(0.1)
        await self.jobs.ended(job)
        if job.status != "done":
            logger.warning("agent %s: %s", agent.name, job.error)
            error = f"the process of agent {agent.label} died" if job.error == DIED else job.error
            raise Refused("agent", without_folders(error or job.status, agent.name, agent.label))
        return job.result
