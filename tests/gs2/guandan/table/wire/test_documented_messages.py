"""What docs/how-to/table.md shows works as shown; every message there is recorded, and read by us."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import re
import shlex
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.guandan.rules import PRESETS
from gs2.commands.guandan.playing import play
from gs2.commands.guandan.serving import serve
from gs2.guandan.table.agents import RandomSeat, load_agent
from gs2.guandan.table.client.own_table import play_games
from gs2.guandan.table.server.lobby import OpenGuanDanLobby
from gs2.guandan.table.server.place import RoomConfig, TableError
from gs2.guandan.table.server.room import Room
from gs2.guandan.table.wire import messages as m
from tests.gs2.guandan.table.protocol import answer_to, until
from tests.gs2.guandan.table.scenario import Ear
from tests.patience import PATIENCE, amount

ROOT = Path(__file__).parents[5]
PAGE = ROOT / "docs" / "how-to" / "table.md"
TRANSCRIPT = ROOT / "tests" / "data" / "openguandan_transcript.jsonl.gz"
SEED = 1
COMMANDS = ("CREATE_ROOM", "JOIN_ROOM", "PLAY", "TRIBUTE", "PAYTRIBUTE", "GET_ROOMPLAYER")
Message = dict[str, Any]


def kind(message: Message) -> str:
    """Return what a message is: its type, its stage, and whether it goes to the server or refuses."""
    client = message["type"] in COMMANDS and "code" not in message
    parts = ("to server" if client else "", message["type"], message.get("stage", ""))
    return " ".join(filter(None, (*parts, "refused" if message.get("code") == -1 else "")))


def match() -> list[Message]:
    """Return the messages of a match at a table of ours that follows the official server, both ways."""
    said: list[Message] = []
    rooms: dict[int, Room] = {}
    clients = [Ear(said) for _ in range(4)]

    def new_room(games: int, client: int) -> Room:
        config = RoomConfig(rules=PRESETS["openguandan"])
        rooms[1] = Room(1, lobby.dialect, config, games=games, seed=SEED)
        return rooms[1]

    lobby = OpenGuanDanLobby(rooms, new_room, official=True)

    def tell(seat: int, kind: str, **data: Any) -> None:
        said.append({"type": kind, "data": data})
        text = json.dumps(said[-1])
        try:
            lobby.received(clients[seat], text)  # type: ignore[arg-type]
        except TableError as error:
            clients[seat].send(lobby.dialect.error(str(error), lobby.kind(text)))

    async def play() -> None:
        tell(0, "CREATE_ROOM", userId="u0", round=1, seatNum=0)
        tell(1, "JOIN_ROOM", userId="u1", roomId=2)
        for seat in (1, 2, 3):
            tell(seat, "JOIN_ROOM", userId=f"u{seat}", roomId=1, seatNum=seat)
        tell(0, "GET_ROOMPLAYER", roomId=1)
        await until(lambda: rooms[1].state == "playing")
        while rooms[1].state == "playing":
            for seat, client in enumerate(clients):
                asked, client.asked = client.asked, None
                if asked is not None:
                    answer = answer_to(asked, -1, room=1, seat=seat)
                    tell(seat, answer["type"], **answer["data"])

    asyncio.run(asyncio.wait_for(play(), PATIENCE))
    return said


@pytest.fixture(scope="module")
def known() -> list[Message]:
    """Return the recorded messages, and those of a match for what the recording has not."""
    with gzip.open(TRANSCRIPT, "rt") as file:
        recorded = [json.loads(line)["msg"] for line in file]
    kinds = {kind(message) for message in recorded}
    return recorded + [message for message in match() if kind(message) not in kinds]


def shown() -> list[Message]:
    """Return the messages on the page."""
    text = PAGE.read_text(encoding="utf-8")
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.S)]


def test_each_message_on_the_page_was_sent_and_each_kind_is_there(known: list[Message]) -> None:
    blocks = shown()
    for message in blocks:
        assert message in known, message
    assert sorted(map(kind, blocks)) == sorted({kind(message) for message in known})


def test_each_message_on_the_page_is_read() -> None:
    for message in shown():
        text = json.dumps(message)
        if kind(message).startswith("to server"):
            assert type(m.decode_command(text)).__struct_config__.tag == message["type"]
        else:
            assert isinstance(m.decode_server_message(text), m.Reply) == (
                message["type"] not in ("act", "notify")
            ), message


@settings(max_examples=amount(40), deadline=None)
@given(st.data())
def test_all_that_a_message_lacks_is_said_at_once(data: st.DataObject) -> None:
    message = json.loads(json.dumps(data.draw(st.sampled_from(shown()))))
    reads = m.decode_command if kind(message).startswith("to server") else m.decode_server_message
    part = message["data"] if reads is m.decode_command else message

    def refused() -> str:
        try:
            reads(json.dumps(message))
        except m.MessageError as error:
            return str(error)
        return ""

    needed = set()
    for name in list(part):
        value = part.pop(name)
        if refused():
            needed.add(name)
        part[name] = value
    needed -= {"type"}
    gone = data.draw(st.sets(st.sampled_from(sorted(needed)), min_size=1)) if needed else set()
    for name in gone:
        del part[name]
    words = refused()
    assert all(f"{name} is missing" in words for name in gone), words
    assert words.count("is missing") == len(gone)


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Return the page's files by name; programs without a name by their place."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    named = {}
    for place, block in enumerate(blocks):
        name = re.match(r"# (\w+\.py)\n", block)
        named[name[1] if name else f"program{place}"] = block
    return named


def test_the_class_of_ten_lines_plays(files, tmp_path, monkeypatch, capsys):
    (tmp_path / "seats.py").write_text(files["seats.py"])
    agent = load_agent(f"{tmp_path / 'seats.py'}:Cautious")
    result = play_games([agent, RandomSeat(), agent, RandomSeat()], seed=2)
    assert result.rounds > 0
    monkeypatch.syspath_prepend(tmp_path)
    (program,) = (text for name, text in files.items() if name.startswith("program"))
    exec(program.replace("games=20", "games=1"), {})
    assert "Cautious + Cautious" in capsys.readouterr().out


def test_the_seat_of_a_language_model_asks_and_reads(files, tmp_path, monkeypatch):
    asked = []

    def reply(request: urllib.request.Request, timeout: float) -> Any:
        assert isinstance(request.data, bytes)
        asked.append(json.loads(request.data)["messages"][0]["content"])
        answer = {"choices": [{"message": {"content": "I would rather wait.\n0"}}]}
        return io.BytesIO(json.dumps(answer).encode())

    monkeypatch.setattr(urllib.request, "urlopen", reply)
    (tmp_path / "llm.py").write_text(files["llm.py"])
    agent = load_agent(f"{tmp_path / 'llm.py'}:Seat")
    play_games([agent, RandomSeat(), RandomSeat(), RandomSeat()], seed=3)
    assert asked and all("your hand" in prompt and "Choices:" in prompt for prompt in asked)


def test_every_command_shown_is_one_and_the_bot_a_program(files):
    commands = re.findall(r"gs2 (serve|play) ?([^`\n]*)", PAGE.read_text(encoding="utf-8"))
    assert len(commands) >= 8
    compile(files["bot.py"], "bot.py", "exec")
    for name, arguments in commands:
        command = {"play": play, "serve": serve}[name]
        context = command.make_context(name, ["--server", "ws://h:1"] if name == "play" else [])
        left = command.make_parser(context).parse_args(shlex.split(arguments))[1]
        assert not left, (name, arguments)
