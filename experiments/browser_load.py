"""`gs2 bench web`: many people at tables of their own at once, and how long their clicks wait.

The server is `gs2 web` as a user starts it, agents and all. People are connections that do what the page
does: pick cards, hear whether they make a move, play, go on after a round. In the end the server is killed
and started again, and every table is compared with what its person saw last.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from experiments.bench.bench import Progress, SpeedBench, figures
from experiments.bench.benches import SEED_OPTION, usual
from experiments.bench.served import served
from gs2.commands.common import COUNT, FiniteRange

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class BrowserLoad:
    """What people waited for, in milliseconds.

    select_*: from picking cards to what they make. play_*: from a move's click to the table with it.
    reply_*: from a move's click to the next agent's move, less the pace.
    lost: tables that were not as their person saw them last, after the server was killed and started again.
    """

    tables: int
    agent: str
    pace: float
    think: float
    seconds: float
    plays: int
    plays_per_second: float
    select_p50_ms: float
    select_p99_ms: float
    play_p50_ms: float
    play_p99_ms: float
    reply_p50_ms: float
    reply_p99_ms: float
    lost: int


class _Person:
    """One browser at one table."""

    def __init__(self, url: str, table: str, key: str, seed: int) -> None:
        self.address = f"{url.replace('http', 'ws')}/ws/tables/{table}?key={key}"
        self.rng = random.Random(seed)
        self.state: dict[str, Any] = {}
        self.selects: list[float] = []
        self.plays: list[float] = []
        self.replies: list[float] = []

    async def sit(self) -> None:
        from websockets.asyncio.client import connect

        self.line = await connect(self.address, max_size=1 << 22, compression=None, open_timeout=60)
        await self._until(lambda state: True)

    async def _hear(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(await self.line.recv())
        if message["type"] == "state":
            self.state = message
        return message

    async def _until(self, wanted: Any) -> None:
        while not self.state or not wanted(self.state):
            await self._hear()

    async def _ask(self, kind: str, **message: Any) -> dict[str, Any]:
        await self.line.send(json.dumps(message))
        while (answer := await self._hear())["type"] not in (kind, "error"):
            pass
        return answer

    async def play_on(self, until: float, think: float) -> None:
        """Play until a time, thinking up to twice `think` seconds at each move."""
        try:
            async with asyncio.timeout(until - time.monotonic()):
                while not self.state["match"]["over"]:
                    await self._move(think)
        except TimeoutError:
            pass

    async def _move(self, think: float) -> None:
        await self._until(lambda s: s["turn"]["you"] or s["waiting"] or s["match"]["over"])
        version, pace = self.state["version"], self.state["table"]["pace"]
        if self.state["waiting"]:
            await self.line.send(json.dumps({"type": "next", "version": version}))
            await self._until(lambda s: s["version"] > version)
            return
        await asyncio.sleep(2 * think * self.rng.random())
        answer = await self._ask("suggestions", type="suggest")
        if answer["type"] == "error":
            # where two pay tribute, the state that came was of the other's choice, before one's own
            return
        offered = answer["moves"]
        index = self.rng.choice(offered)["index"] if offered else 0
        if offered:
            cards = self.rng.choice(offered)["move"][2]
            began = time.perf_counter()
            await self._ask("fits", type="select", cards=cards, id=1)
            self.selects.append(time.perf_counter() - began)
        began = time.perf_counter()
        await self.line.send(json.dumps({"type": "play", "index": index, "version": version}))
        await self._until(lambda s: s["version"] > version)
        self.plays.append(time.perf_counter() - began)
        if not self.state["turn"]["you"] and not self.state["waiting"] and not self.state["match"]["over"]:
            await self._until(lambda s: s["version"] > version + 1)
            self.replies.append(max(0.0, time.perf_counter() - began - pace))


def _quantile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values) or [float("nan")]
    return round(1e3 * ordered[min(len(ordered) - 1, int(part * len(ordered)))], 1)


async def _measure(load: dict[str, Any], seed: int, progress: Progress) -> BrowserLoad:
    import httpx

    tables, agent, seconds = load["tables"], load["agent"], load["seconds"]
    with tempfile.TemporaryDirectory() as folder:
        web = ("web", "--no-open", "--data", folder, "--port")
        with served(*web, 0) as server:
            async with httpx.AsyncClient(base_url=server.url, timeout=120, trust_env=False) as http:
                people = []
                for number in range(tables):
                    setup = {"seats": ["person", agent, agent, agent], "pace": load["pace"]}
                    answer = await http.post("/api/tables", json={**setup, "seed": (seed + number) % 2**62})
                    if not answer.is_success:
                        raise click.ClickException(answer.json()["error"])
                    made = answer.json()
                    people.append(_Person(server.url, made["id"], made["key"], seed + number))
            await asyncio.gather(*(person.sit() for person in people))
            progress(f"{tables} people play for {seconds:g} s")
            began = time.monotonic()
            await asyncio.gather(*(p.play_on(began + seconds, load["think"]) for p in people))
            spent = time.monotonic() - began
            await asyncio.gather(*(person.line.close() for person in people))
        progress("the server was killed; another takes up its tables")
        with served(*web, server.port):
            lost = 0
            for person in people:
                rounds, results = person.state["match"]["round"], person.state["results"]
                await person.sit()
                # agents may have moved on since the person looked last, but nothing was taken back
                ahead = person.state["match"]["round"] >= rounds
                lost += not (ahead and person.state["results"][: len(results)] == results)
                await person.line.close()
    plays = [seconds for person in people for seconds in person.plays]
    selects = [seconds for person in people for seconds in person.selects]
    replies = [seconds for person in people for seconds in person.replies]
    return BrowserLoad(
        **load,
        plays=len(plays),
        plays_per_second=round(len(plays) / spent, 1),
        select_p50_ms=_quantile(selects, 0.5),
        select_p99_ms=_quantile(selects, 0.99),
        play_p50_ms=_quantile(plays, 0.5),
        play_p99_ms=_quantile(plays, 0.99),
        reply_p50_ms=_quantile(replies, 0.5),
        reply_p99_ms=_quantile(replies, 0.99),
        lost=lost,
    )


def measure_web(*, seed: int, progress: Progress, **load: Any) -> BrowserLoad:
    """Return what people waited for. load: the first five fields of the record."""
    return asyncio.run(_measure(load, seed, progress))


def web_tables(result: BrowserLoad) -> list[Table]:
    """Return the record as a table."""
    rows = [
        ("cards picked", result.select_p50_ms, result.select_p99_ms),
        ("move played", result.play_p50_ms, result.play_p99_ms),
        ("next agent's move", result.reply_p50_ms, result.reply_p99_ms),
        ("tables lost by a kill", result.lost, ""),
        ("moves a second", result.plays_per_second, ""),
    ]
    title = f"{result.tables} tables, {result.agent} in the other seats"
    return [figures(title, "click | median ms | 99 % below, ms", "{0} | {1} | {2}", rows, box=None)]


WEB = SpeedBench(
    name="web",
    title="People at tables in the browser",
    help="Measure the browser's server under many people at once: how long a click waits.",
    about="Each person sits at a table with three agents, picks cards and plays at random. "
    "In the end the server is killed and started again.",
    options=(
        usual("--tables", COUNT, 50, "Tables at once."),
        usual("--agent", None, "blueprint", "Agent of the other seats."),
        usual("--pace", FiniteRange(0, 10.0), 0.7, "Seconds between agents' moves."),
        usual("--think", FiniteRange(min=0.001), 1.0, "Seconds a person thinks, on average."),
        usual("--seconds", FiniteRange(min=0.001), 60.0, "Seconds of play."),
        SEED_OPTION,
    ),
    measure="experiments.browser_load:measure_web",
    show="experiments.browser_load:web_tables",
)
