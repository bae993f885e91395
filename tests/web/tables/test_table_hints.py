"""Hints at tables of GuanDan, asked for again, and for something else, while they are worked out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gs2.web.guandan.match_tables import MatchTables
from gs2.web.jobs import Job, JobsFull
from gs2.web.tables.person_table import PersonTable
from gs2.web.tables.table_log import TableLog, read_table
from gs2.web.tables.table_socket import TableSocket
from tests.web.tables.stored_tables import stored_table_of_people


class SlowJobs:
    """Stands for the workers: jobs end when they are told to, with the cards that were held."""

    def __init__(self, most: int) -> None:
        self.most, self.made = most, list[Job]()

    def start(self, kind: str, function: str, observation: Any, *more: object) -> Job:
        """Return a job that has begun."""
        if len(self.made) == self.most:
            raise JobsFull("jobs wait already")
        job = Job(
            str(len(self.made)), kind, ("", ()), status="running", result={"index": len(observation.moves)}
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
        tmp_path, lambda table: len(table.choices) >= 8 and 0 in table.session.pending, seed=4
    )
    setup, lines = read_table(live.log.path)
    table = PersonTable.restored(setup, lines, TableLog(live.log.path, setup, new=False), {})
    jobs = SlowJobs(most)
    wanted = []

    async def ask() -> list[dict[str, Any]]:
        line = SimpleNamespace(query_params={"key": keys[0]})
        socket = TableSocket(
            SimpleNamespace(matches=MatchTables(jobs), watchers={table.setup.id: set()}), table, line
        )  # type: ignore[arg-type]
        for kind in kinds:
            while kind.isupper():
                table.go_on()
                seat = next(iter(table.session.pending))
                table.choose(seat, 0)
                if 0 in table.session.pending and not table.waiting:
                    break
            socket._hear('{"type": "hint"}')
            wanted.append((table.versions.since(table.offer("choose", 0)), len(table.observe(0).moves)))
            await asyncio.sleep(0)
        for job in jobs.made:
            job.status = "done"
            job.ended.set()
        for _ in range(5):
            await asyncio.sleep(0)
        return socket._others

    said = asyncio.run(ask())
    assert {message["type"] for message in said} == {"hint"}
    changes = [one for at, one in enumerate(wanted) if at == 0 or wanted[at - 1] != one]
    begun = [message["since"] for message in said if message["status"] == "thinking"]
    ends = [message for message in said if message["status"] != "thinking"]
    assert begun == [message["since"] for message in ends] == [since for since, _ in changes]
    assert all(message["status"] == "failed" and message["error"] for message in ends[:-1])
    if len(changes) <= most:
        assert ends[-1]["status"] == "done" and ends[-1]["index"] == changes[-1][1]
    else:
        assert ends[-1]["status"] == "failed" and ends[-1]["error"] == "jobs wait already"
    table.close()
