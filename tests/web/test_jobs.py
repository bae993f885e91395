"""Work in processes of its own: how long each step may take, and what becomes of it when nobody waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote

from gs2.jobs import Job, Jobs
from tests.web.serving import Server

Progress = Callable[[int, int], None]
HERE = f"{__name__}:"
FOR_EVER = 1e6


def loads_and_works(loading: float, working: float, *, progress: Progress) -> str:
    """Take so many seconds to load, then so many to work."""
    time.sleep(loading)
    progress(1, 2)
    time.sleep(working)
    return "done"


def run(*asked: tuple[float, float, tuple[float, ...]], leave: bool = False) -> list[Job]:
    """Return jobs of one worker when all have ended; `leave`: whoever asked for them goes away at once.

    asked: seconds to load and to work, and the limits.
    """

    async def wait() -> list[Job]:
        jobs = Jobs()
        made = [jobs.start("one", f"{HERE}loads_and_works", *one, limits=limits) for *one, limits in asked]
        waiting = [asyncio.create_task(jobs.ended(job)) for job in made]
        await asyncio.sleep(0)
        for task in waiting if leave else ():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await asyncio.wait_for(asyncio.gather(*(job.ended.wait() for job in made)), 100)
        jobs.close()
        return made

    return asyncio.run(wait())


def test_each_step_of_a_job_has_a_limit_of_its_own() -> None:
    slow, late = run((1.5, 0, (60, 1)), (FOR_EVER, 0, (0.5, 60)))
    assert (slow.status, slow.error) == ("done", None)
    assert (late.status, late.error) == ("failed", "it took more than 0.5 s")


def test_a_job_that_nobody_waits_for_any_more_keeps_no_other_waiting() -> None:
    first, second = run((0, FOR_EVER, (60, 0.5)), (0, FOR_EVER, (60, 0.5)), leave=True)
    assert (first.status, first.error) == ("failed", "it took more than 0.5 s"), "it goes on to its limit"
    assert second.status == "cancelled", "what has not begun is taken back"


def test_infosets_are_listed_of_a_game_with_parameters_and_as_many_as_may_be(server: Server) -> None:
    game = "leduc_poker(raise_caps=1/1,suit_isomorphism=true)"
    for spelled in (quote(game, safe=""), quote(game, safe="/()=,")):
        found = server.get(f"/api/games/{spelled}/infosets?grep=&most=3")["infosets"]
        assert len(found) == 3 and all(row["infoset"].startswith("P") for row in found)
    for most, status in ((1, 200), (1000, 200), (0, 400), (1001, 400), ("9" * 5000, 400), ("x", 400)):
        answer = server.http.get(f"/api/games/kuhn_poker/infosets?most={most}")
        assert answer.status_code == status, most
        assert status == 200 or "most" in answer.json()["error"]
