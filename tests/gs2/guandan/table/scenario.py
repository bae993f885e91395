"""A server with four clients in the seats of its first room, and what they say and hear."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial, wraps
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from gs2.guandan.table.client import own_table
from gs2.guandan.table.server import room
from gs2.guandan.table.server.room import RoomConfig
from gs2.guandan.table.server.server import ServerConfig, TableServer
from gs2.guandan.table.session import Session
from tests.gs2.guandan.table.protocol import answer_to, heard_until
from tests.patience import LONG


class Ear:
    """In place of a connection: keeps what it is sent."""

    path = "/"

    def __init__(self, heard: list[dict[str, Any]] | None = None) -> None:
        self.heard: list[dict[str, Any]] = [] if heard is None else heard
        self.seat: Any = None
        self.asked: dict[str, Any] | None = None

    def send(self, frame: bytes) -> None:
        message = json.loads(frame[frame.index(b"{") :])
        self.heard.append(message)
        if message["type"] == "act":
            self.asked = message

    queue = send

    def flush(self) -> None: ...


def is_act(message: dict[str, Any]) -> bool:
    return message["type"] == "act"


def is_error(message: dict[str, Any]) -> bool:
    return message.get("code") == -1 or message["type"] == "error"


async def tell(socket: ClientConnection, kind: str, **data: Any) -> None:
    await socket.send(json.dumps({"type": kind, "data": data}))


@asynccontextmanager
async def table(**options: Any):
    """Yield a server, and four sockets in the seats of its room 1, the game begun."""
    of_room = RoomConfig(**options.pop("room", {}))
    hosts = options.pop("hosts", {})
    config = ServerConfig(port=0, seed=1, room=of_room, **options)
    async with TableServer(config, hosts) as server:
        sockets = [await connect(server.url, max_size=None, max_queue=None) for _ in range(4)]
        await tell(sockets[0], "CREATE_ROOM", userId="u0", round=1, seatNum=0)
        await heard_until(sockets[0], lambda message: message["type"] == "CREATE_ROOM")
        for seat in (1, 2, 3):
            await tell(sockets[seat], "JOIN_ROOM", userId=f"u{seat}", roomId=1, seatNum=seat)
        try:
            yield server, sockets
        finally:
            for socket in sockets:
                await socket.close()


async def first_request(sockets: list[ClientConnection]) -> tuple[int, dict[str, Any]]:
    """Return the seat that leads and its request."""
    tasks = [asyncio.create_task(heard_until(socket, is_act)) for socket in sockets]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    seat = tasks.index(next(iter(done)))
    return seat, tasks[seat].result()


async def play_on(socket: ClientConnection, seat: int, rng: random.Random) -> dict[str, Any]:
    """Play at random from here to the end; return the result."""
    while True:
        message = json.loads(await socket.recv())
        if message["type"] == "act":
            await answer(socket, seat, message, rng.randint(0, message["indexRange"]))
        elif message.get("stage") == "gameResult":
            return message


async def answer(socket: ClientConnection, seat: int, act: dict[str, Any], index: int) -> None:
    await socket.send(json.dumps(answer_to(act, index, room=1, seat=seat)))


def run(scenario: Any, seconds: float = 300) -> Any:
    """Run a scenario; what hangs is shown with the place where each of its tasks waits."""
    return asyncio.run(_watched(scenario, seconds))


def with_a_limit(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Let pytest run a test that is a scenario."""

    @wraps(test)
    def run_it(*arguments: Any, **options: Any) -> None:
        run(test(*arguments, **options))

    return run_it


async def _watched(scenario: Any, seconds: float) -> Any:
    task = asyncio.ensure_future(scenario)
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if not done:
        for waiting in asyncio.all_tasks():
            waiting.print_stack()
        task.cancel()
        raise TimeoutError(f"the scenario took more than {seconds:g} s; its tasks are printed above")
    return task.result()


def near_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first game of every table begin at Q, without --long: it is over after a few rounds."""
    if LONG not in os.environ:
        for module in (room, own_table):
            monkeypatch.setattr(module, "Session", partial(Session, levels=("Q", "Q")))
