"""The games' part of a server: its tables, on disk too, the agents that may sit there, and their workers."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from games.game import TERMINAL, Game, GameError
from games.support.array_types import Array
from gs2.web.games.agent_worker import Seated
from gs2.web.games.game_round import GameRound
from gs2.web.games.game_table import GameTable
from gs2.web.games.offers import AgentOffer, game_from, game_offers, game_titled, offered_agents
from gs2.web.jobs import Jobs, JobsFull
from gs2.web.tables.person_table import LONGEST_PACE, Refused
from gs2.web.tables.seat_labels import without_folders
from gs2.web.tables.table_log import PERSON, TableLog, TableSetup, read_table, stored_table, stored_tables

__all__ = ["GameHouse"]

logger = logging.getLogger("gs2.web")

MOST_TABLES = 256
"""Tables that are open at once; the others are on disk, and opened when somebody asks for them."""
PATIENCE = 60.0
"""Seconds an agent has for a move or a hint, once its worker has loaded it."""
LOADING = 300.0
"""Seconds an agent has to be loaded, by each worker; a strategy may have to be computed first."""
WORKER = "gs2.web.games.agent_worker"
SEEDS = 2**62
PACE = 0.8
"""Seconds between the moves of agents, where nothing else is asked."""
MOST_GAMES = 64
"""Games that are kept loaded for further tables."""


class GameHouse:
    """All tables of games of a server, and what they share.

    folder: of the tables' files. agents: names of `load_game_agent` from the command line. Play and hints
    have workers of their own, and so has each slow agent, so that it keeps nobody else waiting.
    """

    def __init__(self, folder: Path, *, agents: Sequence[str] = ()) -> None:
        self.folder = folder
        self.agents = offered_agents(agents)
        self.tables: dict[str, GameTable] = {}
        self.damaged: list[str] = []
        self._jobs: Jobs | None = None
        self._games: dict[str, Game] = {}
        self._opening = asyncio.Lock()

    @property
    def jobs(self) -> Jobs:
        """The workers; those of reviews and searches are others, whose answers are kept longer."""
        assert self._jobs is not None
        return self._jobs

    def open(self) -> None:
        """Take up the folder's tables where they were left, as many as may be open, those played at last.

        A damaged one is named and left alone.
        """
        self._jobs = Jobs()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = [self._stored(path) for path in stored_tables(self.folder)[:MOST_TABLES]]
        self.tables = {table.setup.id: table for table in reversed(found) if table is not None}

    async def table(self, key: str) -> GameTable | None:
        """Return the table of an id, taken up from its file if it is not open; None if there is none.

        Raises Refused if too many are open.
        """
        if key not in self.tables:
            async with self._opening:  # whoever asks at the same time gets the same table
                path = None if key in self.tables else stored_table(self.folder, key)
                if path is not None:
                    self._make_room()
                    # beside the event loop: kernels may have to be compiled
                    found = await asyncio.to_thread(self._stored, path)
                    if found is not None:
                        self.tables[key] = found
        return self.tables.get(key)

    def _stored(self, path: Path) -> GameTable | None:
        """Return a table as its file has it; None if that is damaged, which is noted."""
        log = None
        try:
            setup, lines = read_table(path)
            log = TableLog(path, setup, new=False)
            table = GameTable.restored(setup, lines, log, self._game(setup.game), self._answer)
            if table.round is None:
                raise GameError(f"{path}: it has no round; move it away")
        except (ValueError, OSError) as error:
            if log is not None:
                log.close()
            told = str(error) if str(path) in str(error) else f"{path}: {error}"
            self.damaged.append(told)
            logger.warning("left alone: %s", told)
            return None
        return table

    def close(self) -> None:
        """End everything; the tables stay on disk."""
        for table in self.tables.values():
            table.close()
        if self._jobs is not None:
            self._jobs.close()

    def _game(self, name: str, game: Game | None = None) -> Game:
        """Return a game by its canonical name: the one that is kept, or `game`, or a new one."""
        if name not in self._games:
            if len(self._games) >= MOST_GAMES:
                self._games.clear()  # tables have theirs
            self._games[name] = game or game_titled(name)
        return self._games[name]

    def offers(self) -> list[dict[str, Any]]:
        """Return the games as the page lists them."""
        return game_offers(self.agents)

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

    async def create(self, data: dict[str, Any], name: str) -> tuple[GameTable, str]:
        """Return a new table with its first round, and the person's key. Raises Refused at what cannot be."""
        game = await asyncio.to_thread(_prepared, data.get("game"), data.get("options", {}))
        players = data.get("players")
        if not isinstance(players, list) or not all(isinstance(one, str) for one in players):
            raise Refused("wrong", f"players are a list of names, {PERSON!r} once among them")
        if len(players) != game.num_players or players.count(PERSON) != 1:
            rule = f"{game.name} has {game.num_players} seats, one of them the {PERSON}'s"
            raise Refused("wrong", f"{rule}; got {str(players)[:200]}")
        for label in dict.fromkeys(players):
            if label != PERSON:
                self.offer(game, label)
        _check_play(data)
        game = self._game(game.name, game)
        for label in dict.fromkeys(players):
            if label != PERSON:
                await self._run(game.name, label, "agent_ready")
        self._make_room()
        seed = data.get("seed")
        setup = TableSetup(
            id=secrets.token_urlsafe(9),
            game=game.name,
            seats=tuple(players),
            rotate=data.get("rotate", False),
            seed=secrets.randbelow(SEEDS) if seed is None else seed,
            pace=float(data.get("pace", PACE)),
            created=round(time.time(), 3),
        )
        log = TableLog(self.folder / f"{setup.id}.jsonl", setup, new=True)
        table = GameTable(setup, game, log, self._answer)
        key = table.sit(name)
        table.new_round()
        self.tables[setup.id] = table
        return table, key

    def _make_room(self) -> None:
        """Let go of the table opened first at which nobody looks, if no other may be open; its file stays.

        Raises Refused if somebody looks at every table.
        """
        if len(self.tables) < MOST_TABLES:
            return
        key = next((one for one, table in self.tables.items() if not table.looked_at), None)
        if key is None:
            raise Refused("full", f"{MOST_TABLES} tables are open; close some of their pages first")
        self.tables.pop(key).close()

    # --- agents ---

    async def _answer(self, game: str, label: str, history: Array, draw: float) -> int:
        return int(await self._run(game, label, "agent_answer", history, draw))

    async def hint(self, game: str, label: Any, history: Array) -> dict[str, Any]:
        """Return what an agent would do after a history. Raises Refused if it cannot say."""
        return dict(await self._run(game, label, "agent_view", history, hint=True))

    async def _run(self, game: str, label: Any, what: str, *given: Any, hint: bool = False) -> Any:
        """Return what an agent's worker answers. Raises Refused if it fails or takes too long."""
        agent = self.offer(self._game(game), label)
        played_as = agent.played_as(self._game(game)) or game
        kind = f"{'hint' if hint else 'play'} {agent.worker}"
        while True:
            try:
                seated = Seated(game, agent.name, played_as)
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


def _check_play(data: dict[str, Any]) -> None:
    """Raise Refused where rotation, seed or pace of a table make no sense."""
    rotate, seed, pace = data.get("rotate", False), data.get("seed"), data.get("pace", PACE)
    if not isinstance(rotate, bool):
        raise Refused("wrong", f"rotate is true or false; got {rotate!r:.40}")
    whole = isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < SEEDS
    if seed is not None and not whole:
        raise Refused("wrong", f"a seed is a whole number in 0..{SEEDS - 1}; got {seed!r:.40}")
    if isinstance(pace, bool) or not isinstance(pace, int | float) or not 0 <= pace <= LONGEST_PACE:
        raise Refused("wrong", f"a pace is in 0..{LONGEST_PACE:g} seconds; got {pace!r:.40}")


def _prepared(name: Any, options: Any) -> Game:
    """Return a game whose kernels are compiled: one round was played. Runs beside the event loop."""
    game = game_from(name, options)
    played = GameRound(game, 0, 0)
    rng = np.random.default_rng(0)
    while played.player != TERMINAL:
        played.take(int(rng.integers(len(played.legal))))
    return game
