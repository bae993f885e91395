"""The wire's dialects: how each server writes the same events, as JSON bytes.

OpenGuanDan's is as its paper prints it (appendices B and C) or as its server speaks it. The competition bots
speak NJUPT's, that of the offline platform.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from games.guandan.cards import RANKS
from gs2.guandan.table.seat import Transfer
from gs2.guandan.table.session import GameCount, RoundView
from gs2.guandan.table.wire.encode import PASS_JSON, MoveList

__all__ = ["NULL", "Choices", "Dialect", "Njupt", "OpenGuanDan", "Trick", "notify", "rank_words", "reply"]

NULL = b"null"
_RANK_JSON = [f'"{rank}"'.encode() for rank in RANKS]


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
        """Note a move."""
        self.last_seat, self.last = seat, move
        self.areas[seat] = move
        if move != PASS_JSON:
            self.greatest_seat, self.greatest = seat, move


def rank_words(view: RoundView, seat: int) -> tuple[bytes, bytes, bytes]:
    """Return selfRank, oppoRank and curRank in JSON, for one seat."""
    own, other = view.levels[seat & 1], view.levels[1 - (seat & 1)]
    return _RANK_JSON[own], _RANK_JSON[other], _RANK_JSON[view.level]


@dataclass(frozen=True, slots=True)
class Choices:
    """What a request offers: the list in JSON, and how long it is."""

    json: bytes
    count: int


class Dialect(abc.ABC):
    """Builds every message of a server in one dialect, as JSON bytes."""

    name: str
    """Also the name of the form of moves: see `encode_moves`."""
    tribute_in_hand = True
    """Whether the hand in a request for a return card holds the tribute already."""

    # --- requests ---

    @abc.abstractmethod
    def ask_play(self, seat: int, hand: bytes, view: RoundView, trick: Trick, moves: MoveList) -> bytes:
        """Return the request for a move; positions are -1, and moves null or three nulls, when leading."""

    @abc.abstractmethod
    def ask_card(
        self, stage: str, seat: int, hand: bytes, view: RoundView, cards: Choices, paid: Transfer | None
    ) -> bytes:
        """Return the request for a tribute ("tribute") or return card ("back").

        paid: the tribute that is answered, for "back".
        """

    # --- notifications ---

    @abc.abstractmethod
    def beginning(self, seat: int, hand: bytes, view: RoundView) -> bytes:
        """Return the start of a round."""

    @abc.abstractmethod
    def played(self, before: Trick, seat: int, move: bytes) -> bytes:
        """Return the notification of a move; `before` is the trick without it."""

    def tribute_begins(self, cards: Choices) -> bytes | None:
        """Return what a payer is sent before its request for tribute, if anything."""
        return None

    def exchanged(self, stage: str, transfers: Sequence[Transfer]) -> bytes:
        """Return the notification of tribute paid ("tribute") or cards returned ("back")."""
        return notify(stage, result=transfers)

    def anti_tribute(self, seats: Sequence[int]) -> bytes:
        """Return the notification that these seats hold both big jokers, so that no tribute is paid."""
        return notify("anti-tribute", antiNums=len(seats), antiPos=list(seats))

    def episode_over(
        self, order: Sequence[int], level: int, left: Sequence[tuple[int, Sequence[str]]]
    ) -> bytes:
        """Return the end of a round: finishing order, and the cards [seat, names] that were left."""
        return notify("episodeOver", order=list(order), curRank=RANKS[level], restCards=left)

    @abc.abstractmethod
    def error(self, message: str, kind: str = "ERROR") -> bytes:
        """Return what a client is told when its message of type `kind` was refused, or decided for it."""

    @abc.abstractmethod
    def game_over(self, count: GameCount) -> list[bytes]:
        """Return the messages at the end of a game; the last game's include the session's result."""


def notify(stage: str, **fields: Any) -> bytes:
    """Return a notification."""
    return msgspec.json.encode({"type": "notify", "stage": stage, **fields})


def reply(kind: str, **data: Any) -> bytes:
    """Return the answer to a command that succeeded."""
    return msgspec.json.encode({"type": kind, "code": 200, "data": data})


class OpenGuanDan(Dialect):
    """Messages of a server.

    official: speak as the official server does where it departs from the paper: a notification carries the
        greatest move *before* the one it tells of; a request forgets who acted last after a pass; a list of
        tributes repeats one suit, one of return cards every card; a bare "tribute" message precedes the
        request to a payer; the hand in a request for a return card lacks the tribute; every game ends with a
        gameResult, and the last with one gameOver for all of them, whose counts are of games finished.
    """

    name = "openguandan"

    def __init__(self, *, official: bool = False) -> None:
        self.official = official
        self.tribute_in_hand = not official

    def ask_play(self, seat: int, hand: bytes, view: RoundView, trick: Trick, moves: MoveList) -> bytes:
        last_seat, last = trick.last_seat, trick.last
        if trick.greatest is None or (self.official and last == PASS_JSON):
            last_seat, last = -1, None
        self_rank, oppo_rank, cur_rank = rank_words(view, seat)
        a, b, c, d = view.rest
        return (
            b'{"type":"act","stage":"play","handCards":%b,'
            b'"publicInfo":[{"rest":%d},{"rest":%d},{"rest":%d},{"rest":%d}],'
            b'"selfRank":%b,"oppoRank":%b,"curRank":%b,"curPos":%d,"curAction":%b,"greaterPos":%d,'
            b'"greaterAction":%b,"actionList":%b,"indexRange":%d}'
            % (
                hand,
                a,
                b,
                c,
                d,
                self_rank,
                oppo_rank,
                cur_rank,
                last_seat,
                last or NULL,
                trick.greatest_seat,
                trick.greatest or NULL,
                moves.json,
                len(moves) - 1,
            )
        )

    def ask_card(
        self, stage: str, seat: int, hand: bytes, view: RoundView, cards: Choices, paid: Transfer | None
    ) -> bytes:
        cards = self._listed(stage, cards)
        told = b"" if paid is None else b'"tributePos":%d,"tribute":"%b",' % (paid[0], paid[2].encode())
        return (
            b'{"type":"act","stage":"%b","handCards":%b,"selfRank":%b,"oppoRank":%b,"curRank":%b,%b'
            b'"actionList":%b,"indexRange":%d}'
            % (stage.encode(), hand, *rank_words(view, seat), told, cards.json, cards.count - 1)
        )

    def _listed(self, stage: str, cards: Choices) -> Choices:
        """Return tribute or return cards as this server lists them."""
        if not self.official:
            return cards
        if stage == "back":
            return Choices(b"%b,%b]" % (cards.json[:-1], cards.json[1:-1]), 2 * cards.count)
        first = cards.json[1 : cards.json.index(b"]]") + 2]
        return Choices(b"[" + b",".join([first] * cards.count) + b"]", cards.count)

    def tribute_begins(self, cards: Choices) -> bytes | None:
        """Return the official server's word to a payer that tribute is due."""
        if not self.official:
            return None
        return b'{"type":"tribute","code":200,"data":{"actionList":%b}}' % self._listed("tribute", cards).json

    def exchanged(self, stage: str, transfers: Sequence[Transfer]) -> bytes:
        """Return the notification of tribute paid or cards returned; the official one counts the latter."""
        if self.official and stage == "back":
            return notify(stage, result=transfers, count=len(transfers))
        return super().exchanged(stage, transfers)

    def beginning(self, seat: int, hand: bytes, view: RoundView) -> bytes:
        """Return the start of a round, with the official server's levelCard."""
        rank = rank_words(view, seat)[2]
        return b'{"type":"notify","stage":"beginning","handCards":%b,"myPos":%d,"levelCard":%b}' % (
            hand,
            seat,
            rank,
        )

    def played(self, before: Trick, seat: int, move: bytes) -> bytes:
        """Return the notification of a move: the greatest one includes it, unless `official`."""
        greatest_seat, greatest = before.greatest_seat, before.greatest
        if not self.official and move != PASS_JSON:
            greatest_seat, greatest = seat, move
        return (
            b'{"type":"notify","stage":"play","curPos":%d,"curAction":%b,"greaterPos":%d,"greaterAction":%b}'
            % (seat, move, greatest_seat, greatest or PASS_JSON)
        )

    def error(self, message: str, kind: str = "ERROR") -> bytes:
        return msgspec.json.encode({"type": kind, "code": -1, "data": {"msg": message}})

    def game_over(self, count: GameCount) -> list[bytes]:
        """Return gameOver, and after the last game gameResult.

        Beyond the paper, gameOver names the game's winner and the levels reached (-1: a draw).
        `official`: gameResult after every game, its victoryNum for each seat, and gameOver after the last.
        What the field gameResult within gameResult holds is not known; here it is the winner.
        """
        victory = -1 if count.winner is None else count.winner
        ranks = [RANKS[level] for level in count.levels]
        last = count.played >= count.wanted
        wins = list(count.wins)
        if self.official:
            played = count.played
            result = notify(
                "gameResult",
                victory=victory,
                victoryRank=ranks,
                gameRound=played,
                gameResult=victory,
                victoryNum=wins * 2,
            )
            over = notify("gameOver", curTimes=played, settingTimes=played, gameRound=played)
            return [result, over] if last else [result]
        over = notify(
            "gameOver",
            curTimes=count.played,
            settingTimes=count.wanted,
            gameRound=count.rounds,
            victory=victory,
            victoryRank=ranks,
        )
        result = notify(
            "gameResult",
            victory=victory,
            victoryRank=ranks,
            gameRound=count.rounds,
            victoryNum=wins,
            draws=count.draws,
        )
        return [over, result] if last else [over]


NOTHING = b"[null,null,null]"


class Njupt(Dialect):
    """Messages of a server. A request has the same fields at every stage; the bots rely on each of them."""

    name = "njupt"

    def ask_play(self, seat: int, hand: bytes, view: RoundView, trick: Trick, moves: MoveList) -> bytes:
        leading = trick.greatest is None
        choices = Choices(moves.json, len(moves))
        return self._ask(b"play", seat, hand, view, Trick() if leading else trick, choices)

    def ask_card(
        self, stage: str, seat: int, hand: bytes, view: RoundView, cards: Choices, paid: Transfer | None
    ) -> bytes:
        return self._ask(stage.encode(), seat, hand, view, Trick(), cards)

    def _ask(
        self, stage: bytes, seat: int, hand: bytes, view: RoundView, trick: Trick, choices: Choices
    ) -> bytes:
        info = b",".join(
            [
                b'{"rest":%d,"playArea":%b}' % (n, area or NULL)
                for n, area in zip(view.rest, trick.areas, strict=True)
            ]
        )
        return (
            b'{"type":"act","handCards":%b,"publicInfo":[%b],"selfRank":%b,"oppoRank":%b,"curRank":%b,'
            b'"stage":"%b","curPos":%d,"curAction":%b,"greaterPos":%d,"greaterAction":%b,'
            b'"actionList":%b,"indexRange":%d}'
            % (
                hand,
                info,
                *rank_words(view, seat),
                stage,
                trick.last_seat,
                trick.last or NOTHING,
                trick.greatest_seat,
                trick.greatest or NOTHING,
                choices.json,
                choices.count - 1,
            )
        )

    def beginning(self, seat: int, hand: bytes, view: RoundView) -> bytes:
        """Return the start of a round; some clients read the ranks."""
        return (
            b'{"type":"notify","stage":"beginning","handCards":%b,"myPos":%d,'
            b'"selfRank":%b,"oppoRank":%b,"curRank":%b}' % (hand, seat, *rank_words(view, seat))
        )

    def played(self, before: Trick, seat: int, move: bytes) -> bytes:
        greatest_seat, greatest = before.greatest_seat, before.greatest
        if move[:7] != b'["PASS"' or greatest is None:
            greatest_seat, greatest = seat, move
        return (
            b'{"type":"notify","stage":"play","curPos":%d,"curAction":%b,"greaterPos":%d,"greaterAction":%b}'
            % (seat, move, greatest_seat, greatest)
        )

    def error(self, message: str, kind: str = "ERROR") -> bytes:
        return msgspec.json.encode({"type": "error", "msg": message})

    def game_over(self, count: GameCount) -> list[bytes]:
        """Return gameOver, and after the last game gameResult with each seat's games won and drawn."""
        over = notify("gameOver", curTimes=count.played, settingTimes=count.wanted)
        if count.played < count.wanted:
            return [over]
        return [over, notify("gameResult", victoryNum=list(count.wins) * 2, draws=[count.draws] * 4)]
