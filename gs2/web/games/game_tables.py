"""Tables of games: the agents that may sit there, and their workers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np

from games.game import TERMINAL, Game
from gs2.jobs import Jobs, JobsFull
from gs2.web.games.agent_worker import Seated
from gs2.web.games.game_play import GamePlay
from gs2.web.games.game_round import GameRound
from gs2.web.games.offers import AgentOffer, game_from, game_titled, offered_agents, own_games
from gs2.web.tables.seat_labels import without_folders
from gs2.web.tables.table import Refused
from gs2.web.tables.table_log import PERSON, TableSetup

__all__ = ["GameTables"]

logger = logging.getLogger("gs2.web")

PATIENCE = 60.0
"""Seconds an agent has for a move or a hint, once its worker has loaded it."""
LOADING = 300.0
"""Seconds an agent has to be loaded, by each worker; a strategy may have to be computed first."""
WORKER = "gs2.web.games.agent_worker"
MOST_GAMES = 64
"""Games that are kept loaded for further tables."""


class GameTables:
    """What tables of games need: their agents, the check of a request, and hints.

    agents: names of `load_game_agent` from the command line. games: further ones, FILE.py:GAME. Play and
    hints have workers of their own, and so has each slow agent, so that it keeps nobody else waiting.
    """

    def __init__(self, agents: Sequence[str] = (), games: Sequence[str] = ()) -> None:
        self.own = own_games(games)
        self.agents = offered_agents(agents, list(self.own))
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
            if agent.label == label and agent.played_as(game) is not None:
                return agent
        other = next((agent for agent in fitting if agent.label == label), None)
        if other is not None:
            raise Refused("wrong", f"{other.label} was trained on {other.exactly}, not on {game.name}")
        raise Refused("wrong", f"no agent of {game.name} is called {label!r:.60} here")

    # --- tables ---

    async def asked(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return game, seats and rotation of the table that a request asks for; its agents are loaded.

        Raises Refused at what cannot be.
        """
        players, rotate = data.get("seats"), data.get("rotate", False)
        if not isinstance(rotate, bool):
            raise Refused("wrong", f"rotate is true or false; got {rotate!r:.40}")
        if not isinstance(players, list) or not all(isinstance(one, str) for one in players):
            raise Refused("wrong", f"seats are a list, each {PERSON!r} or an agent's name")
        name = data.get("game")
        own = self.own[name][1] if isinstance(name, str) and name in self.own else None
        game = await asyncio.to_thread(_prepared, own or game_from(name, data.get("options", {})))
        if len(players) != game.num_players:
            raise Refused("wrong", f"{game.name} has {game.num_players} seats; got {str(players)[:200]}")
        labels = [label for label in dict.fromkeys(players) if label != PERSON]
        for label in labels:
            self.offer(game, label)
        game = self._game(game.name, game)
        for label in labels:
            await self._run(game.name, label, "agent_ready")
        return {"game": game.name, "seats": tuple(players), "rotate": rotate}

    async def play(self, setup: TableSetup) -> GamePlay:
        """Return the play of a setup, before its first round. Raises ValueError where it cannot be."""
        play = GamePlay(setup, await asyncio.to_thread(self._game, setup.game))
        labels = [
            agent.label for agent in self.agents if agent.played_as(play.game) and agent.label != "random"
        ]
        play.advisers = tuple(dict.fromkeys([*labels, *(one for one in setup.seats if one != PERSON)]))
        return play

    # --- agents ---

    async def answer(self, play: GamePlay, label: str, seat: int) -> int:
        """Return an agent's choice for a seat. Raises Refused if it fails or takes too long."""
        history, draw = play.round.history(), play.round.draw(1)
        return int(await self._run(play.game.name, label, "agent_answer", history, draw))

    def forget(self, play: GamePlay) -> None:
        """Nothing to drop: agents are told a history for each answer."""

    def hint(self, play: GamePlay, seat: int, label: Any) -> Callable[[], Awaitable[dict[str, Any]]]:
        """Return what finds out what an agent would do in a seat's place: its moves, the best first."""
        game, history, told = play.game, play.round.history(), play.told()
        self.offer(game, label)

        async def find() -> dict[str, Any]:
            found = dict(await self._run(game.name, label, "agent_view", history, hint=True))
            return {**found, "moves": [{**move, **told(move["index"])} for move in found["moves"]]}

        return find

    async def _run(self, game: str, label: Any, what: str, *given: Any, hint: bool = False) -> Any:
        """Return what an agent's worker answers. Raises Refused if it fails or takes too long."""
        agent = self.offer(self._game(game), label)
        played_as = agent.played_as(self._game(game)) or game
        kind = f"{'hint' if hint else 'play'} {agent.worker}"
        while True:
            try:
                where, other = (self.own[one][0] if one in self.own else one for one in (game, played_as))
                seated = Seated(where, agent.name, other)
                job = self.jobs.start(kind, f"{WORKER}:{what}", seated, *given, limits=(LOADING, PATIENCE))
                break
            except JobsFull:
                if hint:
                    raise Refused("busy", "too many ask this agent; try again soon") from None
                await asyncio.sleep(0.1)
        await self.jobs.ended(job)
        if job.status != "done":
            logger.warning("agent %s: %s", agent.name, job.error)
            raise Refused("agent", without_folders(job.error or job.status, agent.name, agent.label))
        return job.result


def _prepared(game: Game) -> Game:
    """Return a game whose kernels are compiled: one round was played. Runs beside the event loop."""
    played = GameRound(game, 0, 0)
    rng = np.random.default_rng(0)
    while played.player != TERMINAL:
        played.take(int(rng.integers(len(played.legal))))
    return game
