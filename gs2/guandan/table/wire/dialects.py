"""The wire's dialects: how each server writes the same events, as JSON bytes.

OpenGuanDan's is as its paper prints it (appendices B and C) or as its server speaks it. The competition bots
speak NJUPT's, that of the offline platform. Which fields a request has, and in which order, stands in a table
of each; `Dialect` fills them in.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from games.guandan.cards import RANKS
from games.guandan.matches.match import AntiTribute, Exchange, RoundOver
from gs2.guandan.table.session import GameCount, News, Session
from gs2.guandan.table.wire.moves import PASS_JSON, MoveList


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


class Dialect(abc.ABC):
    """Builds every message of a server in one dialect, as JSON bytes.

    name: also that of the form of moves, see `encode_moves`. official: as for `OpenGuanDan`.
    acts, deal: the fields of requests, by stage, and of the start of a round. nothing: a move that is none.
    """

    name: str
    official = False
    acts: dict[str, str]
    deal: str
    nothing = Raw(b"null")

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
        told = {
            "stage": stage,
            "handCards": Raw(hand),
            "publicInfo": self._info(session.rest, trick.areas),
            "curPos": last_seat,
            "curAction": Raw(last) if last else self.nothing,
            "greaterPos": trick.greatest_seat,
            "greaterAction": Raw(trick.greatest) if trick.greatest else self.nothing,
            "actionList": Raw(choices.json),
            "indexRange": len(choices) - 1,
            **_ranks(session, seat),
        }
        paid = session.paid_to(seat) if stage == "back" else None
        if paid is not None:
            told |= {"tributePos": paid[0], "tribute": paid[2]}
        return msgspec.json.encode({"type": "act", **{name: told[name] for name in self.acts[stage].split()}})

    def _listed(self, stage: str, choices: MoveList) -> MoveList:
        return choices

    def _info(self, rest: Sequence[int], areas: Sequence[bytes | None]) -> list[dict[str, Any]]:
        """Return what is public of each seat: the number of its cards."""
        return [{"rest": count} for count in rest]

    def beginning(self, seat: int, hand: bytes, session: Session) -> bytes:
        ranks = _ranks(session, seat)
        told = {"handCards": Raw(hand), "myPos": seat, "levelCard": ranks["curRank"], **ranks}
        return notify("beginning", **{name: told[name] for name in self.deal.split()})

    def played(self, before: Trick, seat: int, move: bytes) -> bytes:
        """Return the notification of a move; `before` is the trick without it.

        The greatest move includes it, unless `official`.
        """
        greatest_seat, greatest = before.greatest_seat, before.greatest
        if not self.official and move != PASS_JSON:
            greatest_seat, greatest = seat, move
        beat = Raw(greatest or PASS_JSON)
        return notify("play", curPos=seat, curAction=Raw(move), greaterPos=greatest_seat, greaterAction=beat)

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


def _ranks(session: Session, seat: int) -> dict[str, str]:
    """Return selfRank, oppoRank and curRank for one seat."""
    own, other = session.levels[seat & 1], session.levels[1 - (seat & 1)]
    return {"selfRank": RANKS[own], "oppoRank": RANKS[other], "curRank": RANKS[session.level]}


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
        stage: f"stage handCards {fields} actionList indexRange"
        for stage, fields in (
            ("play", "publicInfo selfRank oppoRank curRank curPos curAction greaterPos greaterAction"),
            ("tribute", "selfRank oppoRank curRank"),
            ("back", "selfRank oppoRank curRank tributePos tribute"),
        )
    }
    deal = "handCards myPos levelCard"

    def __init__(self, *, official: bool = False) -> None:
        self.official = official

    def _listed(self, stage: str, choices: MoveList) -> MoveList:
        if not self.official or stage == "play":
            return choices
        cards = [choices[index] for index in range(len(choices))]
        return MoveList.of(cards * 2 if stage == "back" else cards[:1] * len(cards))

    def tribute_begins(self, cards: MoveList) -> bytes | None:
        """Return the official server's word to a payer that tribute is due."""
        if not self.official:
            return None
        return reply("tribute", actionList=Raw(self._listed("tribute", cards).json))

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
        "handCards publicInfo selfRank oppoRank curRank stage curPos curAction greaterPos greaterAction "
        "actionList indexRange",
    )
    deal = "handCards myPos selfRank oppoRank curRank"
    nothing = Raw(b"[null,null,null]")

    def _info(self, rest: Sequence[int], areas: Sequence[bytes | None]) -> list[dict[str, Any]]:
        shown = zip(rest, areas, strict=True)
        return [{"rest": count, "playArea": Raw(area or b"null")} for count, area in shown]

    def error(self, message: str, kind: str = "ERROR") -> bytes:
        return msgspec.json.encode({"type": "error", "msg": message})

    def game_over(self, count: GameCount) -> list[bytes]:
        """Return gameOver, and after the last game gameResult with each seat's games won and drawn."""
        over = notify("gameOver", curTimes=count.played, settingTimes=count.wanted)
        result = notify("gameResult", victoryNum=list(count.wins) * 2, draws=[count.draws] * 4)
        return [over, result] if count.played >= count.wanted else [over]
