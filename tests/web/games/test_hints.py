"""Hints of agents that are slow to load, that fail, and that search."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.protocol import Decisions, Trails, probabilities
from games.infosets.trail import SeatTrail
from gs2.play.agent_names import load_game_agent
from gs2.play.search_agent import SearchAgent
from gs2.web.games import agent_worker, game_tables
from gs2.web.games.agent_worker import Seated, agent_answer, agent_view
from gs2.web.games.game_play import GamePlay
from gs2.web.games.game_round import GameRound
from gs2.web.games.game_tables import GameTables
from gs2.web.games.offers import game_titled
from gs2.web.house import House
from gs2.web.tables.table import Refused, Table
from tests.web.games.playing import progress
from tests.web.tables.stored_tables import Onlooker, game_table

AGENT = """
import time
import numpy as np
class Slow:
    name = "slow"
    def __init__(self):
        time.sleep({loading})
    def __call__(self, decisions):
        counts = np.diff(decisions.offsets)
        return np.repeat(1 / counts, counts)
class Broken(Slow):
    def __call__(self, decisions):
        open(__file__ + ".missing")
"""


def own_agent(folder: Path, loading: float = 0) -> Path:
    """Return the file of agents that take so many seconds to load."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "mine.py"
    file.write_text(AGENT.format(loading=loading))
    return file


async def found(find: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    """Return what is found."""
    return await find()


def kuhn(folder: Path, players: tuple[str, ...] = ("person", "random")) -> Table[GamePlay]:
    """Return a table of Kuhn poker at which the person is to act; nobody looks at it."""
    return game_table(folder, "kuhn_poker", players)


def test_an_agent_is_loaded_in_the_first_step_of_every_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    def noted(name: str, word: str) -> None:
        function = getattr(agent_worker, name)

        def call(*given: Any) -> Any:
            told.append(word)
            return function(*given)

        monkeypatch.setattr(agent_worker, name, call)

    noted("load_game_agent", "loaded")
    noted("probabilities", "asked")
    history = kuhn(tmp_path).play.round.history()
    calls: list[tuple[Callable[..., Any], tuple[float, ...]]] = [(agent_view, ()), (agent_answer, (0.5,))]
    for at, (function, more) in enumerate(calls):
        seated = Seated("kuhn_poker", f"cfr:{at + 1}")
        for wanted in (["loaded", "1/2", "asked"], ["1/2", "asked"]):
            told.clear()
            function(seated, history, *more, progress=lambda done, of: told.append(f"{done}/{of}"))
            assert told == wanted


def test_an_agent_that_loads_slowly_hints_and_plays_at_a_table_of_before_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(game_tables, "PATIENCE", 2.0)
    label = "mine.py:Slow"
    kuhn(tmp_path / "tables", ("person", label)).close()

    async def play() -> None:
        house = House(tmp_path / "tables", GameTables([f"{own_agent(tmp_path, loading=2.5)}:Slow"]))
        await house.open()
        table = await house.table("abcdefgh")
        asked = asyncio.create_task(found(house.games.hint(table.play, 0, label)))
        legal = table.play.count(0)
        table.choose(0, 0)
        table.look(Onlooker())
        while 1 in table.play.pending:
            await asyncio.sleep(0.05)
        assert table.failure is None
        assert (await asked)["of"] == legal
        limits = {job.limits for job in house.games.jobs.jobs.values()}
        assert limits == {(game_tables.LOADING, 2.0)}, "no agent thinks for ever, nor keeps others waiting"
        house.close()

    asyncio.run(play())


def test_what_an_agent_fails_with_names_no_folder(tmp_path: Path) -> None:
    folder = "al@corp.com/pri:vate dir/'quoted'/a+b"
    file = own_agent(tmp_path / folder)
    table = kuhn(tmp_path / "t")

    async def ask() -> None:
        house = GameTables([f"{file}:Broken", f"{file}:Slow"])
        labels = [agent.label for agent in house.agents[:2]]
        assert labels == ["mine.py:Broken", "mine.py:Slow"]
        told = []
        for label in labels:
            with pytest.raises(Refused) as failed:
                await house.hint(table.play, 0, label)()
            told.append(str(failed.value))
            file.unlink(missing_ok=True)  # the second one is not there any more when it is to be loaded
        house.close()
        assert "mine.py.missing" in told[0] and "mine.py" in told[1]
        for text in told:
            for part in (*Path(folder).parts, *tmp_path.parts[1:]):
                assert part not in text, text

    asyncio.run(ask())


def test_a_hint_of_a_search_says_what_moves_gain_and_how_sure_that_is() -> None:
    game = game_titled("doudizhu")
    history = GameRound(game, 3, 1).history()
    name = "gs2.play.shedding:SHEDDING+rollout:branches=3,samples=8"

    moves = agent_view(Seated(game.name, name), history, progress=progress)["moves"]
    judged = [move for move in moves if move["gain"] is not None]
    assert 1 < len(judged) <= 3 < len(moves)
    usual = [move for move in judged if move["gain"] == 0 and move["error"] == 0]
    assert len(usual) == 1
    assert all(move["error"] > 0 for move in judged if move not in usual)
    assert all(move["gain"] is not None for move in moves if move["share"] > 0)


def test_the_search_whose_gains_are_said_is_the_one_that_plays() -> None:
    game = game_titled("doudizhu")
    played, trail = GameRound(game, 3, 1), SeatTrail()
    for each in played.states:
        trail.see(game.infoset_key(each, 0)[0])
    name, state = "gs2.play.shedding:SHEDDING+rollout:branches=3,samples=8", played.state
    legal = game.actions(state)
    told, plays = (load_game_agent(game, name) for _ in range(2))
    assert isinstance(told, SearchAgent)
    asked = Decisions.of(state, legal, 0, game=game, past=Trails([trail]))
    told.gains(asked)
    found = [probabilities(one, asked) for one in (told, plays)]
    assert np.array_equal(*found)
    assert told.searches == 0, "what was searched once is remembered"
