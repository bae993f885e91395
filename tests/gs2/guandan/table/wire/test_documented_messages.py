"""What docs/how-to/table.md shows works as shown, and every message there is recorded, and read by us.

`tests/data/openguandan_transcript.jsonl.gz` is one game of four random clients on the official server: our
models read it, and our server says the same in its place.
"""

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

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.guandan.cards import pack, parse_cards
from games.guandan.matches import lockstep
from games.guandan.rules import PRESETS
from gs2.commands.guandan.playing import play
from gs2.commands.guandan.serving import serve
from gs2.guandan.table.client.own_table import play_games
from gs2.guandan.table.client.tracker import Tracker
from gs2.guandan.table.hosts import RandomSeat, load_agent
from gs2.guandan.table.server.lobby import OpenGuanDanLobby
from gs2.guandan.table.server.room import Room, RoomConfig, TableError
from gs2.guandan.table.wire import messages as m
from gs2.guandan.table.wire.dialects import OpenGuanDan
from gs2.guandan.table.wire.moves import find_move
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

    lobby = OpenGuanDanLobby(OpenGuanDan(official=True), rooms, new_room)

    def tell(seat: int, kind: str, **data: Any) -> None:
        said.append({"type": kind, "data": data})
        text = json.dumps(said[-1])
        try:
            lobby.received(clients[seat], text)  # type: ignore[arg-type]
        except TableError as error:
            clients[seat].send(lobby.dialect.error(str(error), lobby.kind))

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
def transcript() -> list[Message]:
    with gzip.open(TRANSCRIPT, "rt") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def known(transcript: list[Message]) -> list[Message]:
    """Return the recorded messages, and those of a match for what the recording has not."""
    recorded = [line["msg"] for line in transcript]
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
            assert m.decode_command(text)[0] == message["type"]
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


def test_the_tracker_follows_the_official_server_through_every_request(transcript):
    trackers = [Tracker() for _ in range(4)]
    requests = 0
    for line in transcript:
        if line["dir"] == "c2s":
            continue
        message = m.decode_server_message(json.dumps(line["msg"]))
        tracker = trackers[line["seat"]]
        tracker.note(message)
        if isinstance(message, m.Act):
            observation, places = tracker.observe(message)
            requests += 1
            assert places == list(range(len(message.actionList)))
            assert tracker.followed, "the round could not be replayed from the messages"
            assert sorted(observation.hand) == sorted(message.handCards)
            assert observation.rest == [info.rest for info in message.publicInfo]
            assert len(observation.plays) == len(tracker.plays)
    assert requests == 245


def same_move(move: Any) -> Any:
    """Return a move without the order of its cards."""
    return None if move is None else (move[0], move[1], tuple(sorted(move[2])))


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without what has no order: hands, cards within moves, the list of moves."""
    message = dict(message)
    for name in ("curAction", "greaterAction"):
        if name in message:
            message[name] = same_move(message[name])
    if "handCards" in message:
        message["handCards"] = sorted(message["handCards"])
    if "restCards" in message:
        message["restCards"] = [[seat, sorted(cards)] for seat, cards in message["restCards"]]
    if "actionList" in message:
        message["actionList"] = {same_move(move) for move in message["actionList"]}
        del message["indexRange"]
    return message


def heart_straights(message: dict[str, Any]) -> set[Any]:
    """Return what the official generator forgets: straights all of hearts, a wild card among them."""
    wild = "H" + message["curRank"]
    flushes = {move for move in plain(message)["actionList"] if move[0] == "StraightFlush"}
    return {
        ("Straight", rank, cards)
        for _, rank, cards in flushes
        if wild in cards and all(card[0] == "H" for card in cards)
    }


def dealt(transcript: list[dict[str, Any]]) -> np.ndarray:
    """Return the hands of both rounds, [2, 4, 54] counts."""
    begin = [line for line in transcript if line["msg"].get("stage") == "beginning"]
    rounds = [sorted(begin[at : at + 4], key=lambda line: line["seat"]) for at in (0, 4)]
    assert [line["seat"] for four in rounds for line in four] == [*range(4)] * 2 and len(begin) == 8
    return np.array([[parse_cards(line["msg"]["handCards"]) for line in four] for four in rounds])


def test_our_server_in_its_official_form_says_what_the_official_server_said(transcript, monkeypatch):
    """A whole round, the refusal of tribute by two losers with one big joker each, most of the next round."""
    hands = pack(dealt(transcript))
    game = [line for line in transcript if line["msg"]["type"] in ("act", "notify", "PLAY")]
    monkeypatch.setattr(lockstep, "deal_round", lambda seeds, number: hands[number.astype(int) - 1])

    async def play() -> list[list[dict[str, Any]]]:
        room = Room(1, OpenGuanDan(official=True), RoomConfig(rules=PRESETS["openguandan"]))
        ears = [Ear() for _ in range(4)]
        for seat, ear in enumerate(ears):
            room.take(ear, f"u{seat}", seat)
        room.start_if_full()
        await until(lambda: room.state == "playing")
        for line in game:
            if line["msg"]["type"] == "PLAY":
                seat = line["seat"]
                index = find_move(line["msg"]["data"]["act"], room.session.due(seat).actions)
                assert index is not None
                room.session.choose(seat, index)
        assert room.session.match.round == 2
        return [ear.heard for ear in ears]

    heard, requests = asyncio.run(play()), 0
    for seat in range(4):
        theirs = [line["msg"] for line in game if line["seat"] == seat and line["dir"] == "s2c"]
        for mine, other in zip(heard[seat], theirs, strict=False):
            requests += mine["type"] == "act"
            forgets = heart_straights(mine) if mine["type"] == "act" else set()
            mine, other = plain(mine), plain(other)
            ours, listed = (one.pop("actionList", set()) for one in (mine, other))
            assert mine == other
            assert listed <= ours and ours - listed <= forgets
        assert len(heard[seat]) >= len(theirs)
    assert requests == 245
