"""Every message of the two wire dialects as a typed model, and the decoders that validate them.

The models hold what the dialects agree on, and make optional what only some servers send; unknown fields are
ignored, as programs of this field always did. Field names are those on the wire.
Source: OpenGuanDan's paper, appendices B and C; the NJUPT platform; traffic of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from games.guandan.cards import CARD_NAMES, RANKS


class MessageError(ValueError):
    """A message that is not JSON, or not one of the dialect's."""


if TYPE_CHECKING:
    Card: TypeAlias = str
    Rank: TypeAlias = str
else:
    Card, Rank = Literal[CARD_NAMES], Literal[tuple(RANKS[:13])]
Seat = Annotated[int, Meta(ge=0, le=3)]
SeatOrNobody = Annotated[int, Meta(ge=-1, le=3)]
Id = Annotated[str, Meta(min_length=1, max_length=64)]
Hand = Annotated[list[Card], Meta(max_length=28)]
MoveWire = tuple[str, str, list[Card] | Literal["PASS"]]
"""`[type, rank, cards]`; a pass is three times "PASS"."""
MaybeMove = tuple[str | None, str | None, list[Card] | Literal["PASS"] | None] | None
"""A move, or nothing: null (OpenGuanDan) or three nulls (NJUPT)."""


# --- client to server, OpenGuanDan ---


class RoomData(Struct):
    """userId: whose seat it is, also after a lost connection. seatNum: seat wanted, else the first free."""

    userId: Id | int
    seatNum: Seat | None = None


class CreateData(RoomData):
    """round: number of games, 1..1,000,000."""

    round: Annotated[int, Meta(ge=1, le=1_000_000)] = 1


class JoinData(RoomData, kw_only=True):
    """roomId: as the creator was told."""

    roomId: int


class ActData(Struct, kw_only=True):
    """act: an entry of the request's actionList, not read yet. roomID: appendix C's spelling of roomId.

    With a return card clients say who paid what, as the request did; it is not read.
    """

    player: int
    act: Raw
    roomId: int | None = None
    roomID: int | None = None


class RoomQuery(Struct):
    """roomId: any room."""

    roomId: int


class _Command(Struct):
    """A client's message: its type, and what that says, not read yet."""

    type: str
    data: Raw = Raw(b"{}")


STAGES = {"PLAY": "play", "TRIBUTE": "tribute", "PAYTRIBUTE": "back"}
"""The stage of a request that each command answers."""
_DATA: dict[str, type[Struct]] = {
    "CREATE_ROOM": CreateData,
    "JOIN_ROOM": JoinData,
    **dict.fromkeys(STAGES, ActData),
    "GET_ROOMPLAYER": RoomQuery,
}
"""What each command says. The official server is woken by the last when it hangs."""


class ActIndex(Struct):
    """NJUPT's only message from a client: an index into actionList."""

    actIndex: int


# --- server to client ---


class Reply(Struct, kw_only=True):
    """Answer to a command, JOIN notice or error: `code` 200, or -1 with `data.msg`; NJUPT: `msg` alone."""

    type: str
    code: int = 200
    data: Any = None
    msg: Any = None


class Rest(Struct):
    """rest: cards held. playArea (NJUPT): last move in this trick."""

    rest: Annotated[int, Meta(ge=0, le=28)]
    playArea: MaybeMove | UnsetType = UNSET


class Act(Struct, kw_only=True):
    """A request to the seat that is to act; `stage` is play, tribute or back."""

    stage: Literal["play", "tribute", "back"]
    handCards: Hand
    selfRank: Rank
    oppoRank: Rank
    curRank: Rank
    actionList: list[tuple[Any, Any, Any]]
    indexRange: int
    publicInfo: list[Rest] | None = None
    curPos: SeatOrNobody = -1
    curAction: MaybeMove = None
    greaterPos: SeatOrNobody = -1
    greaterAction: MaybeMove = None
    tributePos: SeatOrNobody | None = None
    tribute: Any = None


class Beginning(Struct):
    """A round begins. levelCard: the official server's name for curRank."""

    handCards: Hand
    myPos: Seat
    levelCard: Rank | None = None
    curRank: Rank | None = None
    selfRank: Rank | None = None
    oppoRank: Rank | None = None


class PlayNotice(Struct):
    """Seat `curPos` played `curAction`."""

    curPos: Seat
    curAction: MoveWire
    greaterPos: SeatOrNobody = -1
    greaterAction: MaybeMove = None


class TributeNotice(Struct):
    """Tribute paid: [from, to, card] each."""

    result: list[tuple[Seat, Seat, Card]]


class Back(TributeNotice):
    """Cards returned: [from, to, card] each."""


class AntiTributeNotice(Struct):
    """No tribute: `antiPos` hold both big jokers."""

    antiNums: int
    antiPos: list[Seat]


class EpisodeOver(Struct):
    """A round is over. restCards: [seat, cards] of who still held any."""

    order: list[Seat]
    curRank: Rank
    restCards: list[tuple[Seat, list[Card]]]


class GameOver(Struct):
    """A game is over: the curTimes-th of settingTimes. victory: who won it, from a gs2 server."""

    curTimes: int
    settingTimes: int
    victory: Any = None


class GameResult(Struct):
    """What came of the games: victory and victoryRank (OpenGuanDan), victoryNum and draws (NJUPT)."""

    victory: int | None = None
    victoryRank: list[Rank] | None = None
    victoryNum: list[int] | int | None = None
    draws: list[int] | int | None = None


ServerMessage = (
    Act
    | Beginning
    | PlayNotice
    | TributeNotice
    | Back
    | AntiTributeNotice
    | EpisodeOver
    | GameOver
    | GameResult
    | Reply
)


class _Head(Struct):
    type: str
    stage: str | None = None


_NOTICES: dict[str, msgspec.json.Decoder[ServerMessage]] = {
    "beginning": msgspec.json.Decoder(Beginning),
    "play": msgspec.json.Decoder(PlayNotice),
    "tribute": msgspec.json.Decoder(TributeNotice),
    "back": msgspec.json.Decoder(Back),
    "anti-tribute": msgspec.json.Decoder(AntiTributeNotice),
    "episodeOver": msgspec.json.Decoder(EpisodeOver),
    "gameOver": msgspec.json.Decoder(GameOver),
    "gameResult": msgspec.json.Decoder(GameResult),
}
_ACT = msgspec.json.Decoder(Act)
_HEAD = msgspec.json.Decoder(_Head)
_REPLY = msgspec.json.Decoder(Reply)
_COMMAND = msgspec.json.Decoder(_Command)
_DATA_READERS = {kind: msgspec.json.Decoder(data) for kind, data in _DATA.items()}
_ACT_INDEX = msgspec.json.Decoder(ActIndex, strict=False)

encode = msgspec.json.encode
"""Return any of the models, or plain data, as JSON bytes."""


def _clean(error: Exception) -> str:
    return str(error).replace("`", "")


def _all_wrong(error: Exception, text: str | bytes, kind: type[Struct], where: str = "") -> str:
    """Return everything that a message of a kind lacks or has wrong, where the reader names the first alone.

    error: the reader's own, for what is no such message at all. where: the field that holds the message.
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _clean(error)
    return "; ".join(_problems(value, kind, where)) or _clean(error)


def _problems(value: Any, kind: type[Struct], where: str) -> Iterator[str]:
    """Yield what is wrong with each field of an object."""
    if not isinstance(value, dict):
        yield f"{where or 'the message'} must be an object; got {type(value).__name__}"
        return
    for field in msgspec.structs.fields(kind):
        name = f"{where}.{field.encode_name}".lstrip(".")
        if isinstance(field.type, type) and issubclass(field.type, Struct):
            yield from _problems(value.get(field.encode_name, {}), field.type, name)
        elif field.encode_name not in value:
            if field.required:
                yield f"{name} is missing"
        elif field.type is not Raw:
            try:
                msgspec.convert(value[field.encode_name], field.type)
            except msgspec.ValidationError as error:
                yield f"{name}: {_clean(error)}"


def decode_command(text: str | bytes) -> tuple[str, Any]:
    """Return the type of an OpenGuanDan client's message, and what it says: one of the models above.

    Raises MessageError that says what is wrong and where: bad JSON, unknown type, all missing and bad fields.
    """
    data: bytes | None = None
    try:
        command = _COMMAND.decode(text)
        if command.type not in _DATA:
            raise msgspec.ValidationError(f"Invalid value {command.type!r} - at $.type")
        data = bytes(command.data)
        return command.type, _DATA_READERS[command.type].decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        wrong = _clean(error) if data is None else _all_wrong(error, data, _DATA[command.type], "data")
        raise MessageError(
            "a message is {type, data} with type CREATE_ROOM, JOIN_ROOM, PLAY, TRIBUTE, PAYTRIBUTE or "
            f"GET_ROOMPLAYER: {wrong}"
        ) from None


def decode_value(text: bytes) -> Any:
    """Return the value of a part of a message that was left unread. Raises MessageError if it has none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MessageError(f"a move is [type, rank, cards]: {_clean(error)}") from None


def decode_act_index(text: str | bytes) -> int:
    """Return the index in an NJUPT client's message. Raises MessageError if it is not one."""
    try:
        return _ACT_INDEX.decode(text).actIndex
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MessageError(f'an answer is {{"actIndex": i}}: {_clean(error)}') from None


def decode_server_message(text: str | bytes) -> ServerMessage:
    """Return a server's message, of either dialect.

    Replies, JOIN notices, errors and kinds that we do not know come back as Reply.
    Raises MessageError if it is not JSON, or a known kind with a bad field.
    """
    reader: msgspec.json.Decoder[Any] = _HEAD
    try:
        head = _HEAD.decode(text)
        if head.type == "act":
            reader = _ACT
        elif head.type == "notify" and head.stage in _NOTICES:
            reader = _NOTICES[head.stage]
        else:
            reader = _REPLY
        message: ServerMessage = reader.decode(text)
        return message
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        kind: Any = reader.type  # of a type that msgspec's releases tell differently
        wrong = _all_wrong(error, text, kind)
        raise MessageError(f"not a message of a GuanDan server: {wrong}") from None
