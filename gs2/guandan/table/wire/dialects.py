"""The wire's dialects: how each server writes the same events, as JSON bytes.

OpenGuanDan's is as its paper prints it (appendices B and C) or as its server speaks it. The competition bots
speak NJUPT's, that of the offline platform. Which fields a message has, and in which order, stands in a table
of each; `Dialect` fills them in.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from games.guandan.cards import RANKS
from games.guandan.matches.match import AntiTribute, Exchange, RoundOver
from gs2.guandan.table.session import GameCount, News, Session
from gs2.guandan.table.wire.moves import PASS_JSON, MoveList

_RANK_JSON = [f'"{rank}"'.encode() for rank in RANKS]
_STAGES = {stage: f'"{stage}"'.encode() for stage in ("play", "tribute", "back")}
_NUMBERS = ("myPos", "curPos", "greaterPos", "tributePos", "indexRange")
"""Fields that hold a number; all others are filled with JSON."""


@dataclass
class Trick:
    """The moves on the table, in JSON, as the next to act sees them.

    last_seat, last: who acted last, and how; a pass counts. greatest_seat, greatest: the move to beat.
    Seats are -1 and moves None where there is none. areas: each seat's last move in this trick.
    """

    last_seat: int = -1
    last: bytes | None = None
    greatest_seat: int = -1
    greatest: bytes | None = None
    areas: list[bytes | None] = field(default_factory=lambda: [None] * 4)

    def play(self, seat: int, move: bytes) -> None:
        self.last_seat, self.last = seat, move
        self.areas[seat] = move
        if move != PASS_JSON:
            self.greatest_seat, self.greatest = seat, move


_NO_TRICK = Trick()


def _form(kind: str, fields: str) -> bytes:
    """Return a message of a type, its fields in their order, to be filled by their names."""
    parts = [f'"{name}":%({name}){"d" if name in _NUMBERS else "b"}' for name in fields.split()]
    return f'{{"type":"{kind}",{",".join(parts)}}}'.encode()


class Dialect(abc.ABC):
    """Builds every message of a server in one dialect, as JSON bytes.

    name: also that of the form of moves, see `encode_moves`. official: as for `OpenGuanDan`.
    tribute_in_hand: whether the hand in a request for a return card holds the tribute already.
    acts, deal: the forms of requests, by stage, and of the start of a round. nothing: a move that is none.
    """

    name: str
    official = False
    tribute_in_hand = True
    acts: dict[str, bytes]
    deal: bytes
    nothing = b"null"

    def ask(
        self,
        stage: str,
        seat: int,
        hand: bytes,
        session: Session,
        choices: MoveList,
        trick: Trick = _NO_TRICK,
    ) -> bytes:
        """Return the request for a move ("play"), tribute ("tribute") or return card ("back").

        trick: before a move; when leading, positions are -1, and moves `nothing`.
        """
        if trick.greatest is None:
            trick = _NO_TRICK
        last_seat, last = trick.last_seat, trick.last
        if self.official and last == PASS_JSON:
            last_seat, last = -1, None
        choices = self._listed(stage, choices)
        told: dict[bytes, bytes | int] = {
            b"stage": _STAGES[stage],
            b"handCards": hand,
            b"publicInfo": self._info(session.rest, trick.areas),
            b"curPos": last_seat,
            b"curAction": last or self.nothing,
            b"greaterPos": trick.greatest_seat,
            b"greaterAction": trick.greatest or self.nothing,
            b"actionList": choices.json,
            b"indexRange": len(choices) - 1,
        }
        paid = session.paid_to(seat) if stage == "back" else None
        if paid is not None:
            told |= {b"tributePos": paid[0], b"tribute": b'"%b"' % paid[2].encode()}
        told |= _ranks(session, seat)
        return self.acts[stage] % told

    def _listed(self, stage: str, choices: MoveList) -> MoveList:
        return choices

    def _info(self, rest: Sequence[int], areas: Sequence[bytes | None]) -> bytes:
        """Return what is public of each seat: the number of its cards."""
        return b'[{"rest":%d},{"rest":%d},{"rest":%d},{"rest":%d}]' % tuple(rest)

    def beginning(self, seat: int, hand: bytes, session: Session) -> bytes:
        ranks = _ranks(session, seat)
        told = {b"stage": b'"beginning"', b"handCards": hand, b"myPos": seat, b"levelCard": ranks[b"curRank"]}
        return self.deal % {**told, **ranks}

    def played(self, before: Trick, seat: int, move: bytes) -> bytes:
        """Return the notification of a move; `before` is the trick without it.

        The greatest move includes it, unless `official`.
        """
        greatest_seat, greatest = before.greatest_seat, before.greatest
        if not self.official and move != PASS_JSON:
            greatest_seat, greatest = seat, move
        return (
            b'{"type":"notify","stage":"play","curPos":%d,"curAction":%b,"greaterPos":%d,"greaterAction":%b}'
            % (seat, move, greatest_seat, greatest or PASS_JSON)
        )

    def tribute_begins(self, cards: MoveList) -> bytes | None:
        """Return what a payer is sent before its request for tribute, if anything."""
        return None

    def words(self, news: News) -> list[bytes]:
        """Return what everybody is sent of some news; each seat is dealt to by itself (`beginning`)."""
        match news:
            case AntiTribute(seats):
                return [notify("anti-tribute", antiNums=len(seats), antiPos=list(seats))]
            case Exchange(transfers):
                counted = {"count": len(transfers)} if self.official and news.stage == "back" else {}
                return [notify(news.stage, result=news.named, **counted)]
            case RoundOver(order=order, level=level):
                return [notify("episodeOver", order=list(order), curRank=RANKS[level], restCards=news.left)]
            case GameCount():
                return self.game_over(news)
        return []

    @abc.abstractmethod
    def error(self, message: str, kind: str = "ERROR") -> bytes:
        """Return what a client is told when its message of type `kind` was refused, or decided for it."""

    @abc.abstractmethod
    def game_over(self, count: GameCount) -> list[bytes]:
        """Return the messages at the end of a game; the last game's include the session's result."""


def _ranks(session: Session, seat: int) -> dict[bytes, bytes]:
    """Return selfRank, oppoRank and curRank in JSON, for one seat."""
    own, other = session.levels[seat & 1], session.levels[1 - (seat & 1)]
    return {
        b"selfRank": _RANK_JSON[own],
        b"oppoRank": _RANK_JSON[other],
        b"curRank": _RANK_JSON[session.level],
    }


def notify(stage: str, **fields: Any) -> bytes:
    return msgspec.json.encode({"type": "notify", "stage": stage, **fields})


def reply(kind: str, **data: Any) -> bytes:
    """Return the answer to a command that succeeded."""
    return msgspec.json.encode({"type": kind, "code": 200, "data": data})


class OpenGuanDan(Dialect):
    """Messages of a server.

    official: speak as the official server does where it departs from the paper: a notification carries the
        greatest move *before* the one it tells of; a request forgets who acted last after a pass; a list of
        tributes repeats one suit, one of return cards every card; cards returned are counted; a bare
        "tribute" message precedes the request to a payer; the hand in a request for a return card lacks the
        tribute; every game ends with a gameResult, and the last with one gameOver for all of them, whose
        counts are of games finished.
    """

    name = "openguandan"
    acts = {  # noqa: RUF012 - of the class, never changed
        stage: _form("act", f"stage handCards {fields} actionList indexRange")
        for stage, fields in (
            ("play", "publicInfo selfRank oppoRank curRank curPos curAction greaterPos greaterAction"),
            ("tribute", "selfRank oppoRank curRank"),
            ("back", "selfRank oppoRank curRank tributePos tribute"),
        )
    }
    deal = _form("notify", "stage handCards myPos levelCard")

    def __init__(self, *, official: bool = False) -> None:
        self.official = official
        self.tribute_in_hand = not official

    def _listed(self, stage: str, choices: MoveList) -> MoveList:
        if not self.official or stage == "play":
            return choices
        cards = [choices[index] for index in range(len(choices))]
        return MoveList.of(cards * 2 if stage == "back" else cards[:1] * len(cards))

    def tribute_begins(self, cards: MoveList) -> bytes | None:
        """Return the official server's word to a payer that tribute is due."""
        if not self.official:
            return None
        return b'{"type":"tribute","code":200,"data":{"actionList":%b}}' % self._listed("tribute", cards).json

    def error(self, message: str, kind: str = "ERROR") -> bytes:
        return msgspec.json.encode({"type": kind, "code": -1, "data": {"msg": message}})

    def game_over(self, count: GameCount) -> list[bytes]:
        """Return gameOver, and after the last game gameResult.

        Beyond the paper, gameOver names the game's winner and the levels reached (-1: a draw).
        `official`: gameResult after every game, its victoryNum for each seat, and gameOver after the last.
        What the field gameResult within gameResult holds is not known; here it is the winner.
        """
        victory, last = -1 if count.winner is None else count.winner, count.played >= count.wanted
        won = {"victory": victory, "victoryRank": [RANKS[level] for level in count.levels]}
        played, wins = count.played, list(count.wins)
        if self.official:
            ended = {**won, "gameRound": played, "gameResult": victory, "victoryNum": wins * 2}
            over = notify("gameOver", curTimes=played, settingTimes=played, gameRound=played)
            return [notify("gameResult", **ended), over][: 1 + last]
        told = {"curTimes": played, "settingTimes": count.wanted, "gameRound": count.rounds}
        result = {**won, "gameRound": count.rounds, "victoryNum": wins, "draws": count.draws}
        return [notify("gameOver", **told, **won), notify("gameResult", **result)][: 1 + last]


class Njupt(Dialect):
    """Messages of a server. A request has the same fields at every stage; the bots rely on each of them."""

    name = "njupt"
    acts = dict.fromkeys(
        ("play", "tribute", "back"),
        _form(
            "act",
            "handCards publicInfo selfRank oppoRank curRank stage curPos curAction greaterPos greaterAction "
            "actionList indexRange",
        ),
    )
    deal = _form("notify", "stage handCards myPos selfRank oppoRank curRank")
    nothing = b"[null,null,null]"

    def _info(self, rest: Sequence[int], areas: Sequence[bytes | None]) -> bytes:
        shown = zip(rest, areas, strict=True)
        return b"[%b]" % b",".join([b'{"rest":%d,"playArea":%b}' % (n, area or b"null") for n, area in shown])

    def error(self, message: str, kind: str = "ERROR") -> bytes:
        return msgspec.json.encode({"type": "error", "msg": message})

    def game_over(self, count: GameCount) -> list[bytes]:
        """Return gameOver, and after the last game gameResult with each seat's games won and drawn."""
        over = notify("gameOver", curTimes=count.played, settingTimes=count.wanted)
        result = notify("gameResult", victoryNum=list(count.wins) * 2, draws=[count.draws] * 4)
        return [over, result] if count.played >= count.wanted else [over]
