"""When agents act at a table, whatever is played there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gs2.web.games.game_tables import play_of
from gs2.web.games.offers import game_titled
from gs2.web.tables.table import Play, Refused, Table
from gs2.web.tables.table_log import TableLog, TableSetup
from tests.web.tables.stored_tables import Onlooker


class First:
    """Agents that take their first choice, or fail."""

    def __init__(self, fails: bool = False) -> None:
        self.fails, self.asked = fails, list[str]()

    async def answer(self, play: Play, label: str, seat: int) -> int:
        """Return the first choice."""
        self.asked.append(label)
        if self.fails:
            raise Refused("agent", "no move today")
        return 0

    def forget(self, play: Play) -> None:
        """Have nothing to drop."""


def table_of(folder: Path, game: str, seats: tuple[str, ...], agents: First) -> Table[Any]:
    """Return a new table without a pace, at which an agent is the first to act."""
    setup = TableSetup(id="abcdefgh", game=game, seats=seats, seed=5, pace=0)
    log = TableLog(folder / "abcdefgh.jsonl", setup, new=True)
    return Table(log, play_of(game)(setup, game_titled(game)), agents)


async def settled(table: Table[Any]) -> int:
    """Return how many lines a table's file has once nothing more happens."""
    table.drive()
    for _ in range(200):
        await asyncio.sleep(0)
    return len(table.log.path.read_text().splitlines())


@pytest.mark.parametrize(
    ("game", "seats"), [("guandan", ("person", "x", "x", "x")), ("doudizhu", ("x", "person", "x"))]
)
@pytest.mark.parametrize("fails", [False, True])
def test_agents_act_while_somebody_looks_until_a_person_is_to_act(
    tmp_path: Path, game: str, seats: tuple[str, ...], fails: bool
) -> None:
    async def visit() -> None:
        agents = First(fails)
        table = table_of(tmp_path, game, seats, agents)
        before = await settled(table)
        assert not agents.asked
        table.look(Onlooker())
        assert await settled(table) > before and agents.asked
        assert list(table.play.pending) == [seats.index("person")]
        assert ("no move today" in (table.failure or "")) == fails
        table.close()

    asyncio.run(visit())


def test_agents_among_themselves_act_unseen_until_the_table_is_paused(tmp_path: Path) -> None:
    async def visit() -> None:
        table = table_of(tmp_path, "guandan", ("x",) * 4, First())
        table.set_pace(None, True)
        before = await settled(table)
        assert before == await settled(table)
        table.step()
        assert await settled(table) == before + 1
        table.set_pace(None, False)
        assert await settled(table) > before + 1
        table.close()

    asyncio.run(visit())
