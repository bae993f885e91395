"""Strangers at the table: clients that know the protocol documents, and the fields of messages there.

Which fields a message must have, and which more it may have, is written from the documents (OpenGuanDan's
paper, appendices B and C; the NJUPT platform), not from `gs2.guandan.table.wire.messages`.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from gs2.guandan.table.wire import messages as m
from gs2.guandan.table.wire.moves import read_move

_ASKED = "handCards selfRank oppoRank curRank actionList indexRange"
_PLAYED = "curPos curAction greaterPos greaterAction"
_NOTICES = {
    "notify play": _PLAYED,
    "notify tribute": "result",
    "notify back": "result",
    "notify anti-tribute": "antiNums antiPos",
    "notify episodeOver": "order curRank restCards",
}
FIELDS: dict[str, dict[str, str]] = {
    "openguandan": {
        "act play": f"{_ASKED} publicInfo {_PLAYED}",
        "act tribute": _ASKED,
        "act back": f"{_ASKED} tributePos tribute",
        "notify beginning": "handCards myPos levelCard?",
        **_NOTICES,
        "notify gameOver": "curTimes settingTimes gameRound? victory? victoryRank?",
        "notify gameResult": "victory victoryRank gameRound? victoryNum? draws?",
    },
    "njupt": {
        **dict.fromkeys(("act play", "act tribute", "act back"), f"{_ASKED} publicInfo {_PLAYED}"),
        "notify beginning": "handCards myPos curRank selfRank oppoRank",
        **_NOTICES,
        "notify gameOver": "curTimes settingTimes",
        "notify gameResult": "victoryNum draws",
    },
}
"""The fields of each message, by the documents; ? follows one that may be missing."""
FIELDS["official"] = FIELDS["openguandan"] | {
    "notify beginning": "handCards myPos levelCard",
    "notify back": "result count",
    "notify gameOver": "curTimes settingTimes gameRound",
    "notify gameResult": "victory victoryRank gameRound gameResult victoryNum",
}
"""The official server's own forms, as seen on the wire."""


def check_official(message: dict[str, Any]) -> None:
    """Raise AssertionError unless a message is as the official server's, beyond its fields."""
    kind, stage = message["type"], message.get("stage")
    if kind == "tribute" or (kind, stage) == ("act", "tribute"):
        assert kind == "act" or message["code"] == 200
        listed = (message if kind == "act" else message["data"])["actionList"]
        assert len(listed) and listed == listed[:1] * len(listed)
    elif (kind, stage) == ("act", "back"):
        listed = message["actionList"]
        assert len(message["handCards"]) == 27
        assert listed[: len(listed) // 2] == listed[len(listed) // 2 :]
    elif kind == "JOIN_ROOM":
        assert set(message["data"]) == {"userNum", "roomId"}


def check_message(dialect: str, message: dict[str, Any]) -> None:
    """Raise AssertionError unless a server's message is one of the dialect's, field by field."""
    if dialect == "official":
        check_official(message)
    if message["type"] not in ("act", "notify"):
        if dialect != "njupt":
            assert set(message) == {"type", "code", "data"}, message
            assert message["code"] in (200, -1), message
        else:
            assert set(message) == {"type", "msg"}, message
        return
    words = FIELDS[dialect][f"{message['type']} {message['stage']}"].split()
    names, must = set(message) - {"type", "stage"}, {word for word in words if not word.endswith("?")}
    assert must <= names <= {word.removesuffix("?") for word in words}, (message["stage"], names ^ must)
    read = m.decode_server_message(json.dumps(message))  # which says what each field holds
    assert not isinstance(read, m.Reply), message
    if not isinstance(read, m.Act):
        return
    assert message["indexRange"] == len(message["actionList"]) - 1
    assert all(read_move(move) is not None for move in message["actionList"])
    if message["stage"] == "play":
        assert (message["actionList"][0][0] == "PASS") == (message["greaterPos"] >= 0)
    if "greaterAction" in message:
        nothing = [None] * 3 if dialect == "njupt" else None
        assert (message["greaterAction"] == nothing) == (message["greaterPos"] < 0)
        told = {"rest", "playArea"} if dialect == "njupt" else {"rest"}
        assert [set(info) for info in message["publicInfo"]] == [told] * 4


Heard = list[dict[str, Any]]


def answer_to(act: dict[str, Any], index: int, *, room: Any, seat: Any) -> dict[str, Any]:
    """Return a client's answer to a request of openguandan."""
    kind = {"play": "PLAY", "tribute": "TRIBUTE", "back": "PAYTRIBUTE"}[act["stage"]]
    paid = {name: act[name] for name in ("tributePos", "tribute") if name in act}
    return {"type": kind, "data": {"roomId": room, "player": seat, **paid, "act": act["actionList"][index]}}


async def openguandan_client(
    url: str,
    user: str,
    seat_number: int | None,
    *,
    room: Awaitable[int] | int | None = None,
    created: Any = None,
    games: int = 1,
    rng: random.Random | None = None,
    compact: bool = False,
    last: str = "gameResult",
) -> Heard:
    """Play at random as a plain client would; return all messages heard. Creates a room if `room` is None."""
    rng = rng or random.Random(user)
    heard: Heard = []
    async with connect(url, max_size=None) as socket:
        data: dict[str, Any] = {"userId": user}
        if seat_number is not None:
            data["seatNum"] = seat_number
        if room is None:
            await socket.send(json.dumps({"type": "CREATE_ROOM", "data": {**data, "round": games}}))
        else:
            room = room if isinstance(room, int) else await room
            await socket.send(json.dumps({"type": "JOIN_ROOM", "data": {**data, "roomId": room}}))
        position = None
        while True:
            message = json.loads(await socket.recv())
            heard.append(message)
            if message["type"] in ("CREATE_ROOM", "JOIN_ROOM") and message["code"] == 200:
                room = message["data"]["roomId"]
                if created is not None and not created.done():
                    created.set_result(room)
            elif message["type"] == "notify" and message["stage"] == "beginning":
                position = message["myPos"]
            elif message["type"] == "act":
                index = rng.randint(0, message["indexRange"])
                answer = answer_to(message, index, room=room, seat=position)
                await socket.send(json.dumps(answer, separators=(",", ":") if compact else None))
            elif message.get("stage") == last:
                return heard


async def njupt_client(url: str, name: str, *, rng: random.Random | None = None) -> Heard:
    """Play at random as a competition bot would; return all messages heard."""
    rng = rng or random.Random(name)
    heard: Heard = []
    async with connect(f"{url}/game/{name}", max_size=None) as socket:
        while True:
            message = json.loads(await socket.recv())
            heard.append(message)
            if message["type"] == "act":
                await socket.send(json.dumps({"actIndex": rng.randint(0, message["indexRange"])}))
            elif message.get("stage") == "gameResult":
                return heard


async def heard_until(socket: ClientConnection, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the first message that is wanted; others are dropped."""
    while True:
        message = json.loads(await socket.recv())
        if wanted(message):
            return message


async def until(holds: Callable[[], Any]) -> None:
    """Wait until something holds; the test's own time limit ends a wait in vain."""
    while not holds():
        await asyncio.sleep(0.01)
