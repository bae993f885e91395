"""A server of pages as its user starts it, and a browser's side of its WebSocket without a browser."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
from websockets.sync.client import ClientConnection, connect

from tests.patience import PATIENCE

State = dict[str, Any]


class Server:
    """`gs2 web` in a process of its own, on a folder that outlives it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder, self.arguments = folder, arguments
        self.port = 0
        self.url = self.printed = ""
        self.bearer: dict[str, str] = {}
        self.process: subprocess.Popen[str] | None = None
        self.said: list[str] = []
        self.http = httpx.Client(timeout=PATIENCE, trust_env=False)

    def start(self) -> Server:
        """Start it, on the port that it had before."""
        command = [sys.executable, "-m", "gs2", "web", "--no-open", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*command, "--data", str(self.folder), *self.arguments],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"COLUMNS": "200"},
        )
        assert self.process.stderr is not None
        while True:
            line = self.process.stderr.readline()
            assert line, f"the server ended: {self.said}"
            self.said.append(line)
            found = re.search(r"(http://[^ ]*:(\d+))/(?:\?token=(\S+))?", line)
            if found:
                break
        self.printed, self.url, self.port = found[0], found[1], int(found[2])
        self.bearer = {"authorization": f"Bearer {unquote(found[3])}"} if found[3] else {}
        self.http.base_url = self.url
        self.http.headers.update(self.bearer)
        return self

    def end(self, how: int = signal.SIGTERM) -> int:
        """End it by a signal; return its exit code."""
        assert self.process is not None
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code

    def kill(self) -> None:
        """End it as a power cut would."""
        self.end(signal.SIGKILL)

    def post(self, path: str, data: Any) -> Any:
        """Return the answer to a request that is granted."""
        answer = self.http.post(path, json=data)
        assert answer.is_success, answer.text
        return answer.json()

    def get(self, path: str) -> Any:
        """Return the answer to a question that is answered."""
        answer = self.http.get(path)
        assert answer.is_success, answer.text
        return answer.json()

    def table(self, seats: list[str], **options: Any) -> tuple[str, str | None]:
        """Return a new table and the key of the first person's seat."""
        made = self.post("/api/tables", {"seats": seats, "pace": 0, **options})
        return made["id"], made["key"]

    def seat(self, table: str, key: str | None = None) -> Seat:
        """Return a connection to a table."""
        return Seat(self, table, key)


class Seat:
    """A connection to a table, and the state that was shown last."""

    def __init__(self, server: Server, table: str, key: str | None = None) -> None:
        address = f"{server.url.replace('http', 'ws')}/ws/tables/{table}"
        line = connect(
            address if key is None else f"{address}?key={key}",
            max_size=1 << 22,
            ping_interval=None,
            additional_headers=server.bearer,
        )
        self.line: ClientConnection = ExitStack().enter_context(line)
        self.state: State = {}
        self.until(lambda state: True)

    def hear(self, patience: float = PATIENCE) -> dict[str, Any]:
        """Return the next message; a state is kept too."""
        message = json.loads(self.line.recv(patience))
        if message["type"] == "state":
            self.state = message
        return message

    def until(self, wanted: Callable[[State], Any]) -> State:
        """Return the first state, from the current one on, that is wanted."""
        while not self.state or not wanted(self.state):
            self.hear()
        return self.state

    def say(self, **message: Any) -> None:
        """Send a message."""
        self.line.send(json.dumps(message))

    def ask(self, *kinds: str, **message: Any) -> dict[str, Any]:
        """Return the answer of one of these kinds, or the error, to a message."""
        self.say(**message)
        while True:
            answer = self.hear()
            if answer["type"] in (*kinds, "error"):
                return answer

    def go(self, **message: Any) -> State:
        """Return the state after a message that is granted."""
        version = self.state["version"]
        self.say(**{"version": version, **message})
        return self._granted(lambda state: state["version"] > version)

    def _granted(self, wanted: Callable[[State], Any]) -> State:
        while not wanted(self.state):
            answer = self.hear()
            assert answer["type"] != "error", answer
        return self.state

    def next(self) -> None:
        """Leave a round's result."""
        self.go(type="next")

    def my_turn(self) -> State:
        """Return the state in which this seat is to act or to go on, or the session is over."""
        return self.until(lambda s: s["turn"]["you"] or s["waiting"] or s["round"]["over"])

    def my_turn_alone(self) -> State:
        """Return the state in which only this seat is to act, or go on, or the session is over.

        In a tribute others may act meanwhile; what is compared later must not change by that.
        """
        return self.until(
            lambda s: s["turn"]["seats"] == [s["table"]["you"]] or s["waiting"] or s["round"]["over"]
        )

    def play(self, index: int = 0, cards: Sequence[str] = ()) -> State:
        """Choose, and return the state that follows; what others do meanwhile, as in a tribute, is not it."""
        asked = self.state["since"]
        self.say(type="play", index=index, version=self.state["version"], cards=list(cards))
        return self._granted(lambda state: state["since"] != asked)

    def play_on(self, rng: random.Random, moves: int | None = None) -> State:
        """Return the state after so many random choices, or at the end of the match or of a game's round.

        After each round of a match it goes on.
        """
        made = 0
        while made != moves and not self.my_turn()["round"]["over"]:
            if self.state["waiting"]:
                self.next()
                continue
            self.play(rng.randrange(self.state["turn"]["you"]["count"]))
            made += 1
        return self.state

    def close(self) -> None:
        """Hang up."""
        self.line.close()


def first_round(record: str) -> str:
    """Return a match's record up to its second deal."""
    lines = record.splitlines(keepends=True)
    deals = [i for i, line in enumerate(lines) if line.startswith('{"chance"')]
    assert deals, record
    return "".join(lines[: deals[1]] if len(deals) > 1 else lines)
