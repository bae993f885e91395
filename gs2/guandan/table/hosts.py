"""Agents for a seat by name, and where they think: on the event loop, in threads, in processes of their own.

The server's loop must never wait for an agent. A trivial one answers at once; an object given by a program
answers from a thread; agents by name live in worker processes, so that a search that holds the interpreter
for a second delays nobody but its own table.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.protocol import PlayedMoves, UnknownAgent
from games.guandan.rounds.playout import legal
from gs2.guandan.table.seat import AgentError, Observation, Seated, Seats, canonical_places
from gs2.guandan.table.session import Listener, Session
from gs2.jobs import DIED, Jobs

if TYPE_CHECKING:
    from gs2.guandan.agent.agent import Gs2Agent


logger = logging.getLogger("gs2.guandan.table")

Progress = Callable[[int, int], None]


class RandomSeat:
    """Chooses evenly among all choices."""

    name = "random"

    def __init__(self, rng: np.random.Generator | None = None) -> None:
        self.rng = np.random.default_rng() if rng is None else rng

    def act(self, observation: Observation) -> int:
        """Return any index."""
        return int(self.rng.integers(len(observation.moves)))


class FirstSeat:
    """Plays the weakest single when it leads, and passes otherwise."""

    name = "first"

    def act(self, observation: Observation) -> int:
        """Return 0: the lists begin with PASS, or else with the weakest."""
        return 0


INSTANT = {"random": RandomSeat, "first": FirstSeat}
"""Agents that answer in microseconds and need no process of their own."""


def load_agent(name: str) -> Seated:
    """Return an agent by name.

    name: `random` among all moves, `first` or `human`; else any of `gs2.guandan.agent_families`.
    Raises AgentError if there is none, or it does not have what an agent needs.
    """
    if name in INSTANT:
        return Seated(INSTANT[name]())
    if name == "human":
        from gs2.guandan.table.client.human import HumanAgent

        return Seated(HumanAgent())
    from gs2.guandan.agent_families import guandan_agent

    try:
        named = guandan_agent(name)
        found, together = named.load(np.random.default_rng()), ":" in name or named.is_quick
    except UnknownAgent as error:
        raise AgentError(f"{error}; at a table also first and human") from error
    return found.load() if isinstance(found, Seats) else Seated(found, name, together=together)


def warmed_agent(name: str) -> Seated:
    """Return an agent as `load_agent` does, with what it loads on first use loaded.

    It decides about a made-up deal, and is warmed up in its own way if it has one. A stranger's agent is
    asked nothing that no game asks.
    """
    agent = load_agent(name)
    if ":" not in name:
        getattr(agent.agent, "warm_up", lambda: None)()
        session = Session(Listener(), seed=0)
        session.begin()
        (seat,) = session.pending
        agent.answers([session.observe(seat)])
    return agent


def check_agents(names: Iterable[str]) -> None:
    """Raise what `load_agent` would raise at these names or their files, before anything is started."""
    from gs2.guandan.agent_families import check_agent

    for name in dict.fromkeys(names):
        if name not in (*INSTANT, "human"):
            try:
                check_agent(name)
            except UnknownAgent as error:
                raise AgentError(f"{error}; at a table also first and human") from error


def checked(index: Any, observation: Observation) -> int:
    """Return an agent's answer if it is one of the choices. Raises AgentError if not."""
    try:
        chosen = int(index) if index == int(index) else -1
    except (TypeError, ValueError, OverflowError):
        chosen = -1
    if isinstance(index, bool) or not 0 <= chosen < len(observation.moves):
        last = len(observation.moves) - 1
        raise AgentError(f"an agent returns an index into observation.actions, 0..{last}; got {index!r}")
    return chosen


def chosen(agent: Seated, observation: Observation, name: str) -> int:
    """Return an agent's choice. Raises AgentError if it fails, with this name, or chooses what is none."""
    try:
        (index,) = agent.answers([observation])
    except Exception as error:
        raise AgentError(f"agent {name} failed: {error!r}") from error
    return checked(index, observation)


class ThreadHost:
    """Runs agents made by `make`, one for each seat, each in a thread: programs, people, language models.

    Like every host it answers for seats by their keys, and forgets a seat whose games are over. Once it gives
    a seat up, nobody expects its answer: its time is up.
    threads: 0 has one agent for all seats that it serves together, on the event loop itself: for one that
        answers in microseconds.
    """

    def __init__(self, make: Callable[[], Any], threads: int = 64) -> None:
        self.seats = Seats(make, alone=threads > 0)
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="seat") if threads else None

    async def answer(self, key: Hashable, observation: Observation) -> int:
        """Return the agent's choice. Raises AgentError if it fails or chooses what is not a choice."""
        agent = self.seats.of(key)
        if self.pool is None:
            return chosen(agent, observation, agent.name)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pool, chosen, agent, observation, agent.name)

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


# --- in a worker process ---


@cache
def _seats(name: str) -> Seats:
    return Seats(lambda: warmed_agent(name))


def answer_all(
    name: str, asked: list[tuple[Hashable, Observation]], *, progress: Progress
) -> list[int | str]:
    """Return each seat's index, or what went wrong in words."""
    try:
        answers = _seats(name).answers(asked)
        return [checked(index, seen) for index, (_, seen) in zip(answers, asked, strict=True)]
    except Exception as error:
        return [f"agent {name} failed: {error!r}"] * len(asked)


def answer_one(name: str, key: Hashable, observation: Observation, *, progress: Progress) -> int:
    """Return a seat's index. Raises AgentError if its agent fails or chooses what is not a choice."""
    agent = _seats(name).of(key)
    progress(1, 2)
    return chosen(agent, observation, name)


def load(name: str, *, progress: Progress) -> bool:
    """Load an agent for the next new seat; return whether it serves all seats."""
    return _seats(name).load().together


def forget(name: str, key: Hashable, *, progress: Progress) -> None:
    _seats(name).agents.pop(key, None)


@cache
def _agent(preset: str) -> Gs2Agent:
    from gs2.guandan.agent.agent import make_agent

    agent = make_agent(config=preset, rng=np.random.default_rng(0))
    agent.warm_up()  # the first hint shall not compile on its own time
    return agent


def ready(preset: str, *, progress: Progress) -> None:
    """Load what hints of a preset need, before anybody asks for one."""
    _agent(preset)


def hint(observation: Observation, preset: str, *, progress: Progress) -> dict[str, Any]:
    """Return what search thinks of a seat's choices: its explanation, each move with its index in the list.

    For a tribute or return card only the index that the network would choose.
    """
    progress(0, 1)
    if observation.stage != "play":
        return {"index": _seats("blueprint").load().answers([observation])[0], "explanation": None}
    from gs2.guandan.agent.explanation import explain_decision

    agent = _agent(preset)
    canonical = legal(observation.state, canonical=True).values
    places = canonical_places(canonical, observation.moves)
    moves = observation.moves[places]
    agent.rng = np.random.default_rng(int(observation.state["plays"][0]))
    decision = agent.decide(observation.state, moves, PlayedMoves(observation.actors, observation.record))
    explained = explain_decision(decision, agent.config).to_json()
    for row in explained["moves"]:
        row["index"] = int(places[row["place"]])
    return {"index": int(places[decision.choice]), "explanation": explained}


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
        self.busy: dict[int, list[Hashable]] = defaultdict(list)
        self.drains: dict[int, asyncio.Task[None]] = {}
        self.homes: dict[Hashable, int] = {}
        self.batch = False

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
        if worker not in self.drains:
            self.drains[worker] = asyncio.get_running_loop().create_task(self._drain(worker))
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
                for (_, _, future), answer in zip(batch, answers, strict=True):
                    if future.done():
                        continue
                    if isinstance(answer, str):
                        future.set_exception(AgentError(answer))
                    else:
                        future.set_result(answer)
        finally:
            del self.drains[worker]
            self.busy[worker] = []

    def forget(self, key: Hashable) -> None:
        """Drop a seat's agent, once its worker is free."""
        worker = str(self.homes.pop(key, 0))
        if self.jobs.works(worker):
            self.jobs.start(worker, f"{__name__}:forget", self.name, key)

    def give_up(self, key: Hashable) -> None:
        """Cancel what the seat asked; a worker that thinks about it is ended, lest others wait for ever."""
        worker = self._home(key)
        for asker, _, future in self.waiting[worker]:
            if asker == key:
                future.cancel()
        if key in self.busy[worker]:
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


Host = ThreadHost | ProcessHost


def host_for(name: str, *, workers: int = 1) -> Host:
    """Return where a named agent thinks: on the loop if it takes no time, in processes of its own if it does.

    workers: processes for an agent that gets its own.
    """
    if name in INSTANT:
        return ThreadHost(lambda: load_agent(name), threads=0)
    if name == "human":
        return ThreadHost(lambda: load_agent(name), threads=1)
    return ProcessHost(name, workers)


async def start_hosts(hosts: Iterable[Host]) -> None:
    """Load every agent where it will think. Raises AgentError if one cannot be loaded."""
    for host in hosts:
        if isinstance(host, ProcessHost):
            await host.start()
        else:
            host.seats.load()
