"""Strangers at the table: clients and message schemas that know the protocol documents and nothing of ours.

The schemas say for every message which fields it must have, of what kind, and which more it may have. They
are written from the documents (OpenGuanDan's paper, appendices B and C; the NJUPT platform), not from
`gs2.guandan.table.wire.messages`.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

CARDS = {suit + rank for suit in "SHCD" for rank in "23456789TJQKA"} | {"SB", "HR"}
RANKS = set("23456789TJQKA")
TYPES = {
    "Single": 1,
    "Pair": 2,
    "Trips": 3,
    "ThreePair": 6,
    "ThreeWithTwo": 5,
    "TwoTrips": 6,
    "Straight": 5,
    "StraightFlush": 5,
}


def card(x: Any) -> bool:
    return x in CARDS


def hand(x: Any) -> bool:
    return isinstance(x, list) and len(x) <= 28 and all(map(card, x)) and all(x.count(c) <= 2 for c in x)


def rank(x: Any) -> bool:
    return x in RANKS


def seat(x: Any) -> bool:
    return type(x) is int and 0 <= x <= 3


def seat_or_nobody(x: Any) -> bool:
    return type(x) is int and -1 <= x <= 3


def number(x: Any) -> bool:
    return type(x) is int


def move(x: Any) -> bool:
    if x == ["PASS", "PASS", "PASS"]:
        return True
    if not (isinstance(x, list) and len(x) == 3 and hand(x[2])):
        return False
    kind, name, cards = x
    if kind == "FourKings" or (kind == "Bomb" and name == "JOKER"):
        return sorted(cards) == ["HR", "HR", "SB", "SB"]
    if kind == "Bomb":
        return name in RANKS and 4 <= len(cards) <= 10
    return len(cards) == TYPES.get(kind) and name in RANKS | {"B", "R"}


def card_move(x: Any) -> bool:
    return x[0] == x[1] and x[0] in ("tribute", "back") and len(x[2]) == 1 and card(x[2][0])


def transfers(x: Any) -> bool:
    return isinstance(x, list) and all(len(t) == 3 and seat(t[0]) and seat(t[1]) and card(t[2]) for t in x)


def nothing_or_move(x: Any) -> bool:
    return x is None or move(x)


def nulls_or_move(x: Any) -> bool:
    return x == [None, None, None] or move(x)


def moves(x: Any) -> bool:
    return isinstance(x, list) and len(x) > 0 and (all(map(move, x)) or all(map(card_move, x)))


def rest_info(x: Any) -> bool:
    return len(x) == 4 and all(set(i) == {"rest"} and 0 <= i["rest"] <= 28 for i in x)


def area_info(x: Any) -> bool:
    return len(x) == 4 and all(set(i) == {"rest", "playArea"} and nothing_or_move(i["playArea"]) for i in x)


def order(x: Any) -> bool:
    return sorted(x) == [0, 1, 2, 3]


def rest_cards(x: Any) -> bool:
    return all(len(entry) == 2 and seat(entry[0]) and hand(entry[1]) for entry in x)


Fields = dict[str, Callable[[Any], bool]]

_RANKS: Fields = {"handCards": hand, "selfRank": rank, "oppoRank": rank, "curRank": rank}
_LIST: Fields = {"actionList": moves, "indexRange": number}
_NOTICES: dict[str, Fields] = {
    "tribute": {"result": transfers},
    "back": {"result": transfers},
    "anti-tribute": {"antiNums": number, "antiPos": lambda x: all(map(seat, x))},
    "episodeOver": {"order": order, "curRank": rank, "restCards": rest_cards},
}
SCHEMAS: dict[str, dict[tuple[str, str | None], tuple[Fields, Fields]]] = {
    "openguandan": {
        ("act", "play"): (
            {
                **_RANKS,
                **_LIST,
                "publicInfo": rest_info,
                "curPos": seat_or_nobody,
                "curAction": nothing_or_move,
                "greaterPos": seat_or_nobody,
                "greaterAction": nothing_or_move,
            },
            {},
        ),
        ("act", "tribute"): ({**_RANKS, **_LIST}, {}),
        ("act", "back"): ({**_RANKS, **_LIST, "tributePos": seat, "tribute": card}, {}),
        ("notify", "beginning"): ({"handCards": hand, "myPos": seat}, {"levelCard": rank}),
        ("notify", "play"): (
            {"curPos": seat, "curAction": move, "greaterPos": seat_or_nobody, "greaterAction": move},
            {},
        ),
        **{("notify", stage): (fields, {}) for stage, fields in _NOTICES.items()},
        ("notify", "gameOver"): (
            {"curTimes": number, "settingTimes": number},
            {"gameRound": number, "victory": number, "victoryRank": lambda x: all(map(rank, x))},
        ),
        ("notify", "gameResult"): (
            {"victory": number, "victoryRank": lambda x: len(x) == 2 and all(map(rank, x))},
            {"gameRound": number, "victoryNum": lambda x: len(x) == 2, "draws": number},
        ),
    },
    "njupt": {
        **{
            ("act", stage): (
                {
                    **_RANKS,
                    **_LIST,
                    "publicInfo": area_info,
                    "curPos": seat_or_nobody,
                    "curAction": nulls_or_move,
                    "greaterPos": seat_or_nobody,
                    "greaterAction": nulls_or_move,
                },
                {},
            )
            for stage in ("play", "tribute", "back")
        },
        ("notify", "beginning"): (
            {"handCards": hand, "myPos": seat, "curRank": rank, "selfRank": rank, "oppoRank": rank},
            {},
        ),
        ("notify", "play"): (
            {"curPos": seat, "curAction": move, "greaterPos": seat, "greaterAction": move},
            {},
        ),
        **{("notify", stage): (fields, {}) for stage, fields in _NOTICES.items()},
        ("notify", "gameOver"): ({"curTimes": number, "settingTimes": number}, {}),
        ("notify", "gameResult"): (
            {"victoryNum": lambda x: len(x) == 4, "draws": lambda x: len(x) == 4},
            {},
        ),
    },
}


SCHEMAS["official"] = {
    **SCHEMAS["openguandan"],
    ("notify", "beginning"): ({"handCards": hand, "myPos": seat, "levelCard": rank}, {}),
    ("notify", "back"): ({"result": transfers, "count": number}, {}),
    ("notify", "gameOver"): ({"curTimes": number, "settingTimes": number, "gameRound": number}, {}),
    ("notify", "gameResult"): (
        {
            "victory": number,
            "victoryRank": lambda x: len(x) == 2 and all(map(rank, x)),
            "gameRound": number,
            "gameResult": number,
            "victoryNum": lambda x: len(x) == 4 and all(map(number, x)),
        },
        {},
    ),
}
"""The official server's own forms, as seen on the wire."""


def check_official(message: dict[str, Any]) -> None:
    """Raise AssertionError unless a message is as the official server's, beyond its fields."""
    kind, stage = message["type"], message.get("stage")
    if kind == "tribute" or (kind, stage) == ("act", "tribute"):
        assert kind == "act" or message["code"] == 200
        listed = (message if kind == "act" else message["data"])["actionList"]
        assert moves(listed) and listed == listed[:1] * len(listed)
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
    must, may = SCHEMAS[dialect][message["type"], message["stage"]]
    names = set(message) - {"type", "stage"}
    assert set(must) <= names <= set(must) | set(may), (message["stage"], names ^ set(must))
    for name, fits in {**must, **may}.items():
        if name in message:
            assert fits(message[name]), (message["stage"], name, message[name])
    if message["type"] == "act":
        assert message["indexRange"] == len(message["actionList"]) - 1
        if message["stage"] == "play":
            assert (message["actionList"][0][0] == "PASS") == (message["greaterPos"] >= 0)


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
