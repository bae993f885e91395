"""Hints at tables of GuanDan, asked for again, and for something else, while they are worked out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gs2.jobs import Job, JobsFull
from gs2.web.games.game_tables import GameTables
from gs2.web.tables.table_socket import TableSocket
from tests.web.tables.offline_line import OfflineLine
from tests.web.tables.stored_tables import reopened, stored_table_of_people


class SlowJobs:
    """Stands for the workers: jobs end when they are told to, with the cards that were held."""

    def __init__(self, most: int) -> None:
        self.most, self.made = most, list[Job]()

    def start(
        self, kind: str, function: str, observation: Any, *more: object, limits: Sequence[float] = ()
    ) -> Job:
        """Return a job that has begun."""
        if len(self.made) == self.most:
            raise JobsFull("jobs wait already")
        job = Job(
            str(len(self.made)),
            kind,
            ("", ()),
            status="running",
            result={"index": len(observation.moves) - 1},
        )
        self.made.append(job)
        return job

    async def ended(self, job: Job) -> None:
        """Wait for a job."""
        await job.ended.wait()


@pytest.mark.parametrize(
    ("kinds", "most"), [("a", 9), ("aa", 9), ("aA", 9), ("aAa", 9), ("aAAaA", 9), ("aA", 1)]
)
def test_every_press_ends_for_its_own_decision(tmp_path: Path, kinds: str, most: int) -> None:
    live, keys = stored_table_of_people(
        tmp_path, lambda table: len(table.play.choices) >= 8 and 0 in table.play.pending, seed=4
    )
    table = reopened(live)
    jobs = SlowJobs(most)
    wanted = []

    async def ask() -> list[dict[str, Any]]:
        line = OfflineLine(keys[0])
        tables = table.agents = GameTables()
        tables.jobs = jobs  # type: ignore[assignment]
        socket = TableSocket(table, line)  # type: ignore[arg-type]
        serving = asyncio.create_task(socket.run())
        for kind in kinds:
            while kind.isupper():
                if table.play.waiting:
                    table.enter("next", 1)
                table.choose(next(iter(table.play.pending)), 0)
                if 0 in table.play.pending:
                    break
            await line.say(type="hint")
            wanted.append(
                (table.versions.since(table.offer("choose", 0)), len(table.play.session.observe(0).moves))
            )
        for job in jobs.made:
            job.status = "done"
            job.ended.set()
        await line.settle()
        serving.cancel()
        return line.hints()

    said = asyncio.run(ask())
    changes = [one for at, one in enumerate(wanted) if at == 0 or wanted[at - 1] != one]
    begun = [message["since"] for message in said if message["status"] == "thinking"]
    ends = [message for message in said if message["status"] != "thinking"]
    assert begun == [message["since"] for message in ends] == [since for since, _ in changes]
    assert all(message["status"] == "failed" and message["error"] for message in ends[:-1])
    if len(changes) <= most:
        assert ends[-1]["status"] == "done" and ends[-1]["index"] == changes[-1][1] - 1
    else:
        assert ends[-1]["status"] == "failed" and "too many ask this agent" in ends[-1]["error"]
    table.close()
