"""Where agents think: on the event loop, in threads, or in processes of their own.

The server's loop must never wait for an agent. A trivial one answers at once; an object given by a program
answers from a thread; agents by name live in worker processes, so that a search that holds the interpreter
for a second delays nobody but its own table.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import signal
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, Protocol

from games.support.interruption import deaf_children, end_with_parent
from gs2.guandan.table.seat import Agent, AgentError, BatchAgent, Observation

__all__ = ["Host", "InstantHost", "ProcessHost", "ThreadHost"]

logger = logging.getLogger("gs2.guandan.table")


class Host(Protocol):
    """Answers for seats. `answer` raises AgentError if the agent fails or chooses what is not a choice."""

    def answer(self, key: Hashable, observation: Observation) -> Awaitable[int]:
        """Return the index chosen by the agent in the seat called `key`."""
        ...

    def forget(self, key: Hashable) -> None:
        """Drop the agent of a seat whose games are over."""
        ...

    def give_up(self, key: Hashable) -> None:
        """Expect no answer for this seat any more: its time is up."""
        ...

    def close(self) -> None:
        """Stop."""
        ...


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


class InstantHost:
    """Runs agents that answer in microseconds, on the event loop itself."""

    def __init__(self, make: Callable[[], Agent]) -> None:
        self.make = make
        self.agents: dict[Hashable, Agent] = {}

    async def answer(self, key: Hashable, observation: Observation) -> int:
        """Return the agent's choice."""
        return self.answer_now(key, observation)

    def answer_now(self, key: Hashable, observation: Observation) -> int:
        """Return the agent's choice without waiting."""
        agent = self.agents.get(key)
        if agent is None:
            agent = self.agents[key] = self.make()
        return checked(agent.act(observation), observation)

    def forget(self, key: Hashable) -> None:
        """Drop a seat's agent."""
        self.agents.pop(key, None)

    def give_up(self, key: Hashable) -> None:
        """Nothing to wait for: answers come at once."""

    def close(self) -> None:
        """Nothing to stop."""


class ThreadHost:
    """Runs agents made by `make`, one for each seat, each in a thread: programs, people, language models."""

    def __init__(self, make: Callable[[], Agent], threads: int = 64) -> None:
        self.make = make
        self.agents: dict[Hashable, Agent] = {}
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="seat")

    async def answer(self, key: Hashable, observation: Observation) -> int:
        """Return the agent's choice."""
        agent = self.agents.get(key)
        if agent is None:
            agent = self.agents[key] = self.make()
        loop = asyncio.get_running_loop()
        try:
            index = await loop.run_in_executor(self.pool, agent.act, observation)
        except Exception as error:
            raise AgentError(f"agent {type(agent).__name__} failed: {error!r}") from error
        return checked(index, observation)

    def forget(self, key: Hashable) -> None:
        """Drop a seat's agent."""
        self.agents.pop(key, None)

    def give_up(self, key: Hashable) -> None:
        """Leave the thread to itself: nothing can end it. Another goes on with the same agent."""

    def close(self) -> None:
        """Stop; threads still at work are left to end, which an agent with a `close` is asked to see to."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        for agent in self.agents.values():
            close = getattr(agent, "close", None)
            if close is not None:
                close()


# --- in a worker process ---


def _begin_worker() -> None:
    """Leave Ctrl-C to the process that started this one, where signals cannot be held back; end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


_agents: dict[Hashable, Any] = {}
_spares: dict[str, Any] = {}


def _agent(name: str, key: Hashable) -> Any:
    """Return the worker's agent for a seat; one instance serves every seat if it answers in batches."""
    from gs2.guandan.table.agents import load_agent

    for known in (name, (name, key)):
        if known in _agents:
            return _agents[known]
    agent = _spares.pop(name, None) or load_agent(name)
    _agents[name if isinstance(agent, BatchAgent) else (name, key)] = agent
    return agent


def _answer_all(name: str, asked: list[tuple[Hashable, Observation]]) -> list[int | str]:
    """Return each seat's index, or what went wrong in words."""
    try:
        agents = [_agent(name, key) for key, _ in asked]
        if agents and isinstance(agents[0], BatchAgent):
            return [int(i) for i in agents[0].act_batch([observation for _, observation in asked])]
    except Exception as error:
        return [f"agent {name} failed: {error!r}"] * len(asked)
    answers: list[int | str] = []
    for agent, (_, observation) in zip(agents, asked, strict=True):
        try:
            answers.append(int(agent.act(observation)))
        except Exception as error:
            answers.append(f"agent {name} failed: {error!r}")
    return answers


def _load(name: str) -> bool | str:
    """Load an agent for the first seat; return whether it answers in batches, or what is wrong with it."""
    from gs2.guandan.table.agents import load_agent, warm_up

    try:
        agent = _spares[name] = load_agent(name)
        if ":" not in name:
            # a stranger's agent is asked nothing that no game asks
            warm_up(agent)
        return isinstance(agent, BatchAgent)
    except Exception as error:
        return str(error)


def _forget(name: str, key: Hashable) -> None:
    _agents.pop((name, key), None)


class ProcessHost:
    """Runs one named agent in worker processes; a seat stays with its worker.

    What is asked while a worker is busy is gathered. A BatchAgent gets it in one batch when it is free, which
    is what a network on many tables wants; another agent gets one request after the other, first come first
    served. A worker that dies, or is given up, fails what it was asked and is started anew.
    workers: processes; a seat goes to the one with the fewest.
    """

    def __init__(self, name: str, workers: int = 1) -> None:
        self.name = name
        self.pools: list[ProcessPoolExecutor | None] = [None] * workers
        self.waiting: dict[int, list[tuple[Hashable, Observation, asyncio.Future[int]]]] = defaultdict(list)
        self.busy: dict[int, list[Hashable]] = {}
        self.homes: dict[Hashable, int] = {}
        self.batch = True
        self.tasks: set[asyncio.Task[None]] = set()

    def _pool(self, worker: int) -> ProcessPoolExecutor:
        pool = self.pools[worker]
        if pool is None:
            # a forked copy of a process with threads may hang; a fresh one costs a second once
            pool = ProcessPoolExecutor(
                1, mp_context=multiprocessing.get_context("spawn"), initializer=_begin_worker
            )
            self.pools[worker] = pool
        return pool

    async def start(self) -> None:
        """Load the agent in every worker, so that the first decision does not wait for it.

        Raises AgentError if it cannot be loaded.
        """
        loop = asyncio.get_running_loop()
        with deaf_children():
            jobs = [loop.run_in_executor(self._pool(w), _load, self.name) for w in range(len(self.pools))]
        for found in await asyncio.gather(*jobs):
            if isinstance(found, str):
                raise AgentError(found)
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
        loop = asyncio.get_running_loop()
        try:
            while self.waiting[worker]:
                count = len(self.waiting[worker]) if self.batch else 1
                batch, self.waiting[worker] = self.waiting[worker][:count], self.waiting[worker][count:]
                batch = [entry for entry in batch if not entry[2].done()]
                asked = [(key, observation) for key, observation, _ in batch]
                self.busy[worker] = [key for key, _ in asked]
                answers: list[int | str]
                try:
                    with deaf_children():
                        job = loop.run_in_executor(self._pool(worker), _answer_all, self.name, asked)
                    answers = await job
                except (BrokenExecutor, RuntimeError) as error:
                    self.pools[worker] = None
                    answers = [f"the worker of agent {self.name} died ({error!r})"] * len(asked)
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
        pool = self.pools[self.homes.pop(key, 0)]
        if pool is not None:
            try:
                pool.submit(_forget, self.name, key)
            except (BrokenExecutor, RuntimeError):
                logger.debug("no worker left to forget %s", key)

    def give_up(self, key: Hashable) -> None:
        """End the worker if it is this seat that it thinks about, lest others wait for it for ever."""
        worker = self._home(key)
        if key in self.busy.get(worker, ()):
            logger.warning("the worker of agent %s takes too long and is ended", self.name)
            self._end(worker)

    def close(self) -> None:
        """Stop the workers; one that is still thinking is ended."""
        for worker in range(len(self.pools)):
            self._end(worker)

    def _home(self, key: Hashable) -> int:
        """Return the worker of a seat; a new one goes where the fewest are."""
        if key not in self.homes:
            seats = Counter(self.homes.values())
            self.homes[key] = min(range(len(self.pools)), key=lambda worker: seats[worker])
        return self.homes[key]

    def _end(self, worker: int) -> None:
        pool, self.pools[worker] = self.pools[worker], None
        if pool is not None:
            processes = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
