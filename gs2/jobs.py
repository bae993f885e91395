"""Work that an event loop does not wait for, each kind in a process of its own: an agent's moves, a review.

A kind's worker keeps what it has loaded from one job to the next, and does them one after the other. A job
is a function's name and plain data; so are its answer and how far it has come.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from games.support.work.pipe_worker import PipeWorker

MOST_WAITING = 32
"""Jobs of a kind that may wait."""
MOST_KEPT = 256
"""Jobs whose answers are kept."""
DIED = "the process that did it died"
"""Error of a job whose process ended."""


class JobsFull(RuntimeError):
    """Too many jobs wait."""


@dataclass
class Job:
    """One piece of work. status: waiting, running, done, failed or cancelled; done of `of` steps.

    limits: seconds that it may work on each step, the last of them on every further one; none for any time.
    unasked: seconds after which a job is cancelled that nobody asks about; None for a job that is awaited.
    """

    id: str
    kind: str
    call: tuple[str, tuple[Any, ...]]
    limits: tuple[float, ...] = ()
    unasked: float | None = None
    status: str = "waiting"
    done: int = 0
    of: int = 0
    result: Any = None
    error: str | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    watch: asyncio.TimerHandle | None = None
    asked: asyncio.TimerHandle | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as the page asks for it."""
        names = ("id", "status", "done", "of", "result", "error")
        return {name: getattr(self, name) for name in names}


class Jobs:
    """Jobs and their processes. behind: whether these work behind others, and a queue has an end."""

    def __init__(self, *, behind: bool = True) -> None:
        self.behind = behind
        self.jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: dict[str, list[Job]] = {}
        self._running: dict[str, Job] = {}
        self._workers: dict[str, PipeWorker] = {}

    def start(
        self,
        kind: str,
        function: str,
        *arguments: Any,
        limits: Sequence[float] = (),
        unasked: float | None = None,
    ) -> Job:
        """Return a new job: MODULE:FUNCTION, called with the arguments and `progress`, a function (done, of).

        limits: seconds for its steps, counted from when it begins to work on one; it fails after that,
        whether anybody still waits for it or not. unasked: seconds that it goes on without `ask`.
        Raises JobsFull if too many of its kind wait.
        """
        queue = self._waiting.setdefault(kind, [])
        if self.behind and len(queue) >= MOST_WAITING:
            raise JobsFull(f"{len(queue)} jobs wait already; try again when some are done")
        job = Job(secrets.token_urlsafe(12), kind, (function, arguments), tuple(limits), unasked)
        self.jobs[job.id] = job
        queue.append(job)
        self.ask(job)
        self._forget()
        self._next(kind)
        return job

    def ask(self, job: Job) -> None:
        """Note that somebody still wants a job: one that nobody asks about ends with its client."""
        if job.asked is not None:
            job.asked.cancel()
        if job.unasked is not None and not job.ended.is_set():
            gone = f"nobody asked about it for {job.unasked:g} s; ask for it again"
            loop = asyncio.get_running_loop()
            job.asked = loop.call_later(job.unasked, self._break_off, job, "cancelled", gone)

    async def ended(self, job: Job) -> None:
        """Wait for a job to end. Whoever stops waiting before it has begun takes it back.

        One that has begun goes on: its worker would have to load everything anew.
        """
        try:
            await job.ended.wait()
        except asyncio.CancelledError:
            if job.status == "waiting":
                self.cancel(job)
            raise

    def cancel(self, job: Job) -> None:
        """End a job, whatever it is doing."""
        self._break_off(job, "cancelled", "cancelled")

    def works(self, kind: str) -> bool:
        """Return whether there is a process for a kind."""
        return kind in self._workers

    def stop(self, kind: str) -> None:
        """End the process of a kind in the middle of its job, which fails; what waits gets another."""
        if kind in self._running:
            self._break_off(self._running[kind], "failed", DIED)

    def _break_off(self, job: Job, status: str, error: str) -> None:
        if job.status == "waiting":
            self._waiting[job.kind].remove(job)
        elif job.status == "running":
            worker = self._workers.pop(job.kind, None)
            if worker is not None:
                worker.end()
            del self._running[job.kind]
        else:
            return
        self._end(job, status, error=error)
        self._next(job.kind)

    def _watch(self, job: Job) -> None:
        """Count a job's time from now on."""
        if job.watch is not None:
            job.watch.cancel()
        if job.limits:
            limit = job.limits[min(job.done, len(job.limits) - 1)]
            late = f"it took more than {limit:g} s"
            job.watch = asyncio.get_running_loop().call_later(limit, self._break_off, job, "failed", late)

    def close(self) -> None:
        """End every worker; jobs that are not done fail."""
        self._waiting.clear()
        for job in self.jobs.values():
            if not job.ended.is_set():
                self._end(job, "failed", error=DIED)
        self._running.clear()
        for worker in self._workers.values():
            worker.end()
        self._workers.clear()

    def _forget(self) -> None:
        for key in [key for key, job in self.jobs.items() if job.ended.is_set()]:
            if len(self.jobs) <= MOST_KEPT:
                return
            del self.jobs[key]

    def _next(self, kind: str) -> None:
        if kind in self._running or not self._waiting[kind]:
            return
        job = self._waiting[kind].pop(0)
        worker = self._workers.get(kind)
        if worker is None:
            worker = self._workers[kind] = PipeWorker(
                lambda who, said: self._heard(kind, who, said), behind=self.behind
            )
        self._running[kind] = job
        job.status = "running"
        self._watch(job)
        function, arguments = job.call
        worker.ask(function, *arguments)

    def _heard(self, kind: str, worker: PipeWorker, said: tuple[Any, ...]) -> None:
        if self._workers.get(kind) is not worker:
            return
        job = self._running.get(kind)
        if said[0] == "gone":
            del self._workers[kind]
        if job is None:
            return
        if said[0] == "progress":
            step, (job.done, job.of) = job.done, said[1:]
            if job.done != step:
                self._watch(job)
            return
        del self._running[kind]
        if said[0] == "done":
            self._end(job, "done", result=said[1])
        else:
            self._end(job, "failed", error=said[1] if len(said) > 1 else DIED)
        self._next(kind)

    def _end(self, job: Job, status: str, *, result: Any = None, error: str | None = None) -> None:
        job.status, job.result, job.error = status, result, error
        job.call = ("", ())
        for timer in (job.watch, job.asked):
            if timer is not None:
                timer.cancel()
        job.ended.set()
