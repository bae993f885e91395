"""Where agents think: on the event loop, in threads, or in processes of their own.

The server's loop must never wait for an agent. A trivial one answers at once; an object given by a program
answers from a thread; agents by name live in worker processes, so that a search that holds the interpreter
for a second delays nobody but its own table.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Protocol

from gs2.guandan.table.agents import INSTANT, load_agent, warm_up
from gs2.guandan.table.seat import AgentError, Observation
from gs2.guandan.table.seated import Seats
from gs2.jobs import DIED, Jobs

logger = logging.getLogger("gs2.guandan.table")

Progress = Callable[[int, int], None]


class Host(Protocol):
    """Answers for seats. `answer` raises AgentError if the agent fails or chooses what is not a choice."""

    def answer(self, key: Hashable, observation: Observation) -> Awaitable[int]:
        """Return the index chosen by the agent in the seat called `key`."""

    def forget(self, key: Hashable) -> None:
        """Drop the agent of a seat whose games are over."""

    def give_up(self, key: Hashable) -> None:
        """Expect no answer for this seat any more: its time is up."""

    def close(self) -> None:
        """Stop."""


def checked(index: Any, observation: Observation) -> int:
    """Return an agent's answer if it is one of the choices. Raises AgentError if not."""
    try:
        chosen = int(index)
    except (TypeError, ValueError):
        chosen = -1
    if isinstance(index, bool) or not 0 <= chosen < len(observation.moves):
        last = len(observation.moves) - 1
        raise AgentError(f"an agent returns an index into observation.actions, 0..{last}; got {index!r}")
    return chosen


class ThreadHost:
    """Runs agents made by `make`, one for each seat, each in a thread: programs, people, language models.

    threads: 0 has one agent for all seats that it serves together, on the event loop itself.
    """

    def __init__(self, make: Callable[[], Any], threads: int = 64) -> None:
        self.seats = Seats(make, alone=threads > 0)
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="seat") if threads else None

    async def answer(self, key: Hashable, observation: Observation) -> int:
        """Return the agent's choice."""
        agent = self.seats.of(key)
        try:
            if self.pool is None:
                (index,) = agent.answers([observation])
            else:
                loop = asyncio.get_running_loop()
                (index,) = await loop.run_in_executor(self.pool, agent.answers, [observation])
        except Exception as error:
            raise AgentError(f"agent {agent.name} failed: {error!r}") from error
        return checked(index, observation)

    def forget(self, key: Hashable) -> None:
        """Drop a seat's agent."""
        self.seats.agents.pop(key, None)

    def give_up(self, key: Hashable) -> None:
        """Do nothing: no thread can be ended, and what answers at once is not waited for."""

    def close(self) -> None:
        """Stop; threads still at work are left to end, which an agent with a `close` is asked to see to."""
        if self.pool is not None:
            self.pool.shutdown(wait=False, cancel_futures=True)
            for agent in self.seats.agents.values():
                agent.close()


class InstantHost(ThreadHost):
    """Runs agents that answer in microseconds, on the event loop itself."""

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__(make, 0)


# --- in a worker process ---


@cache
def _seats(name: str) -> Seats:
    return Seats(lambda: load_agent(name))


def answer_all(
    name: str, asked: list[tuple[Hashable, Observation]], *, progress: Progress
) -> list[int | str]:
    """Return each seat's index, or what went wrong in words."""
    try:
        return [int(index) for index in _seats(name).answers(asked)]
    except Exception as error:
        return [f"agent {name} failed: {error!r}"] * len(asked)


def answer_one(name: str, key: Hashable, observation: Observation, *, progress: Progress) -> int:
    """Return a seat's index. Raises AgentError if its agent fails or chooses what is not a choice."""
    agent = _seats(name).of(key)
    progress(1, 2)
    try:
        (index,) = agent.answers([observation])
    except Exception as error:
        raise AgentError(f"agent {name} failed: {error!r}") from error
    return checked(index, observation)


def load(name: str, *, progress: Progress) -> bool:
    """Load an agent for the first seat, if that was not done before; return whether it serves all seats."""
    return _loaded(name)


@cache
def _loaded(name: str) -> bool:
    agent = _seats(name).load()
    if ":" not in name:
        # a stranger's agent is asked nothing that no game asks
        warm_up(agent)
    return agent.together


def forget(name: str, key: Hashable, *, progress: Progress) -> None:
    """Drop the agent of a seat."""
    _seats(name).agents.pop(key, None)


class ProcessHost:
    """Runs one named agent in worker processes; a seat stays with its worker.

    What is asked while a worker is busy is gathered. An agent that serves all seats gets it in one batch when
    it is free, as suits a network; another agent gets one request after the other, first come first served.
    A worker that dies, or is given up, fails what it was asked and is started anew.
    workers: processes; a seat goes to the one with the fewest.
    """

    def __init__(self, name: str, workers: int = 1) -> None:
        self.name, self.workers = name, workers
        self.jobs = Jobs(behind=False)
        self.waiting: dict[int, list[tuple[Hashable, Observation, asyncio.Future[int]]]] = defaultdict(list)
        self.busy: dict[int, list[Hashable]] = {}
        self.homes: dict[Hashable, int] = {}
        self.batch = False
        self.tasks: set[asyncio.Task[None]] = set()

    async def _ask(self, place: int, function: str, *arguments: Any) -> Any:
        """Return the answer of a function of this module by a worker; AgentError if it fails or dies."""
        job = self.jobs.start(str(place), f"{__name__}:{function}", self.name, *arguments)
        await job.ended.wait()
        if job.status != "done":
            died = f"the process of agent {self.name} died; gs2 play --agent {self.name} shows why"
            raise AgentError(died if job.error == DIED else job.error or job.status)
        return job.result

    async def start(self) -> None:
        """Load the agent in every worker, so that the first decision does not wait for it.

        Raises AgentError if it cannot be loaded, or takes its process along.
        """
        for found in await asyncio.gather(*(self._ask(w, "load") for w in range(self.workers))):
            self.batch = found

    def answer(self, key: Hashable, observation: Observation) -> asyncio.Future[int]:
        """Return the agent's choice, as a future."""
        worker = self._home(key)
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.waiting[worker].append((key, observation, future))
        if worker not in self.busy:
            self.busy[worker] = []
            task = asyncio.get_running_loop().create_task(self._drain(worker))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        return future

    async def _drain(self, worker: int) -> None:
        try:
            while self.waiting[worker]:
                count = len(self.waiting[worker]) if self.batch else 1
                batch, self.waiting[worker] = self.waiting[worker][:count], self.waiting[worker][count:]
                batch = [entry for entry in batch if not entry[2].done()]
                asked = [(key, observation) for key, observation, _ in batch]
                self.busy[worker] = [key for key, _ in asked]
                answers: list[int | str]
                try:
                    answers = await self._ask(worker, "answer_all", asked)
                except AgentError as error:
                    answers = [str(error)] * len(asked)
                for (_, observation, future), answer in zip(batch, answers, strict=True):
                    if future.done():
                        continue
                    try:
                        if isinstance(answer, str):
                            raise AgentError(answer)
                        future.set_result(checked(answer, observation))
                    except AgentError as error:
                        future.set_exception(error)
        finally:
            del self.busy[worker]

    def forget(self, key: Hashable) -> None:
        """Drop a seat's agent, once its worker is free."""
        worker = str(self.homes.pop(key, 0))
        if self.jobs.works(worker):
            self.jobs.start(worker, f"{__name__}:forget", self.name, key)

    def give_up(self, key: Hashable) -> None:
        """End the worker if it is this seat that it thinks about, lest others wait for it for ever."""
        worker = self._home(key)
        if key in self.busy.get(worker, ()):
            logger.warning("the worker of agent %s takes too long and is ended", self.name)
            self.jobs.stop(str(worker))

    def close(self) -> None:
        """Stop the workers; one that is still thinking is ended."""
        self.waiting.clear()
        self.jobs.close()

    def _home(self, key: Hashable) -> int:
        """Return the worker of a seat; a new one goes where the fewest are."""
        if key not in self.homes:
            seats = Counter(self.homes.values())
            self.homes[key] = min(range(self.workers), key=lambda worker: seats[worker])
        return self.homes[key]


def host_for(name: str, *, workers: int = 1) -> Host:
    """Return where a named agent thinks: on the loop if it takes no time, in processes of its own if it does.

    workers: processes for an agent that gets its own.
    """
    if name in INSTANT:
        return InstantHost(lambda: load_agent(name))
    if name == "human":
        return ThreadHost(lambda: load_agent(name), threads=1)
    return ProcessHost(name, workers)


async def start_hosts(hosts: Iterable[Host]) -> None:
    """Load every agent where it will think. Raises AgentError if one cannot be loaded."""
    for host in hosts:
        if isinstance(host, ProcessHost):
            await host.start()
        elif isinstance(host, ThreadHost):
            host.seats.load()
