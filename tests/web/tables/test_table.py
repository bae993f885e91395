"""A table without a server: when agents act, and hints that are asked for again while they are worked out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gs2.jobs import Job, JobsFull
from gs2.web.games.game_tables import GameTables
from gs2.web.tables.table import Play, Refused, Table
from gs2.web.tables.table_socket import TableSocket
from tests.web.tables.stored_tables import Onlooker, game_table, reopened, stored_table_of_people


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
        table = game_table(tmp_path, game, seats, agents, seed=5, pace=0)
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
        table = game_table(tmp_path, "guandan", ("x",) * 4, First(), seed=5, pace=0)
        table.set_pace(None, True)
        before = await settled(table)
        assert before == await settled(table)
        table.step()
        assert await settled(table) == before + 1
        table.set_pace(None, False)
        assert await settled(table) > before + 1
        table.close()

    asyncio.run(visit())


ADVISERS = {"guandan": ("gs2", "blueprint"), "kuhn_poker": ("cfr", "random")}


class OfflineLine:
    """Stands for a WebSocket: what the browser says comes in order, and what it is told is kept."""

    def __init__(self, key: str | None = None) -> None:
        self.query_params = {} if key is None else {"key": key}
        self.told: list[dict[str, Any]] = []
        self._said: asyncio.Queue[str] = asyncio.Queue()

    async def accept(self) -> None:
        """Begin."""

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """End."""

    async def receive_text(self) -> str:
        """Return the browser's next message."""
        return await self._said.get()

    async def send_text(self, text: str) -> None:
        """Keep a message to the browser."""
        self.told.append(json.loads(text))

    async def say(self, **message: Any) -> None:
        """Have the server hear a message."""
        self._said.put_nowait(json.dumps(message))
        await self.settle()

    async def settle(self) -> None:
        """Wait until what is ready has been done."""
        for _ in range(20):
            await asyncio.sleep(0)

    def hints(self) -> list[dict[str, Any]]:
        """Return what was said of hints."""
        return [message for message in self.told if message["type"] == "hint"]


def known(play: Any) -> dict[str, int]:
    """Return what tells a decision of seat 0 from others."""
    if hasattr(play, "session"):
        return {"index": len(play.session.observe(0).moves) - 1}
    return {"steps": len(play.round.history())}


class SlowJobs:
    """Stands for the workers: jobs end when they are told to, with what was known when they began."""

    def __init__(self, table: Table[Any], most: int) -> None:
        self.table, self.most, self.made = table, most, list[Job]()

    def start(self, kind: str, function: str, *asked: object, limits: Sequence[float] = ()) -> Job:
        """Return a job that has begun."""
        if len(self.made) == self.most:
            raise JobsFull("jobs wait already")
        result = {"moves": [], **known(self.table.play)}
        self.made.append(Job(str(len(self.made)), kind, ("", ()), status="running", result=result))
        return self.made[-1]

    async def ended(self, job: Job) -> None:
        """Wait for a job."""
        await job.ended.wait()


def table_of(game: str, folder: Path) -> tuple[Table[Any], str]:
    """Return a table at which seat 0 is to act, and the key of that seat."""
    if game == "kuhn_poker":
        table = game_table(folder, game, ("person", "random"))
        return table, table.sit("Ann")[1]
    live, keys = stored_table_of_people(
        folder, lambda table: len(table.play.choices) >= 8 and 0 in table.play.pending, seed=4
    )
    return reopened(live), keys[0]


def move_on(table: Table[Any]) -> None:
    """Go on to the next decision of seat 0."""
    if table.setup.game == "kuhn_poker":
        table.enter("round", [0, 1])
        return
    while True:
        if table.play.waiting:
            table.enter("next", 1)
        table.choose(next(iter(table.play.pending)), 0)
        if 0 in table.play.pending:
            return


@pytest.mark.parametrize("game", ADVISERS)
@pytest.mark.parametrize(
    ("kinds", "most"), [*((kinds, 9) for kinds in ("aa", "ab", "aAAaA", "aAaBbA", "aC", "Caa")), ("aA", 1)]
)
def test_every_press_ends_for_its_own_decision_and_agent(
    tmp_path: Path, game: str, kinds: str, most: int
) -> None:
    """Each letter is a press: a capital comes at the next decision, b and c ask another agent, c fails."""
    table, key = table_of(game, tmp_path)
    jobs = SlowJobs(table, most)
    wanted = []

    async def ask() -> list[dict[str, Any]]:
        line = OfflineLine(key)
        tables = table.agents = GameTables()
        tables.jobs = jobs  # type: ignore[assignment]
        socket = TableSocket(table, line)  # type: ignore[arg-type]
        serving = asyncio.create_task(socket.run())
        for kind in kinds:
            if kind.isupper():
                move_on(table)
            agent = ADVISERS[game][kind not in "aA"]
            await line.say(type="hint", agent=agent)
            wanted.append((table.versions.since(table.offer("choose", 0)), agent, known(table.play)))
            if kind in "cC":
                jobs.made[-1].error = "it cannot"
        for job in jobs.made:
            job.status = "done" if job.error is None else "failed"
            job.ended.set()
        await line.settle()
        serving.cancel()
        return line.hints()

    said = asyncio.run(ask())
    changes = [one for at, one in enumerate(wanted) if at == 0 or wanted[at - 1][:2] != one[:2]]
    begun, ends = ([m for m in said if (m["status"] == "thinking") == begins] for begins in (True, False))
    for messages in (begun, ends):
        assert [(message["since"], message["agent"]) for message in messages] == [one[:2] for one in changes]
    assert all(message["status"] == "failed" and message["error"] for message in ends[:-1])
    if kinds[-1] in "cC":
        assert ends[-1]["error"] == "it cannot"
    elif len(changes) > most:
        assert ends[-1]["status"] == "failed" and "too many ask this agent" in ends[-1]["error"]
    else:
        assert ends[-1]["status"] == "done" and changes[-1][2].items() <= ends[-1].items()
    table.close()
