"""The dialect of the NJUPT offline platform, which the competition bots speak."""

from __future__ import annotations

import msgspec

from gs2.guandan.table.seat import Transfer
from gs2.guandan.table.session import GameCount, RoundView
from gs2.guandan.table.wire.dialect import NULL, Choices, Dialect, Trick, notify, rank_words
from gs2.guandan.table.wire.encode import MoveList

__all__ = ["Njupt"]

NOTHING = b"[null,null,null]"


class Njupt(Dialect):
    """Messages of a server. A request has the same fields at every stage; the bots rely on each of them."""

    name = "njupt"

    def ask_play(self, seat: int, hand: bytes, view: RoundView, trick: Trick, moves: MoveList) -> bytes:
        """Return the request for a move; positions are -1 and moves three nulls when leading."""
        leading = trick.greatest is None
        choices = Choices(moves.json, len(moves))
        return self._ask(b"play", seat, hand, view, Trick() if leading else trick, choices)

    def ask_card(
        self, stage: str, seat: int, hand: bytes, view: RoundView, cards: Choices, paid: Transfer | None
    ) -> bytes:
        """Return the request for a tribute or return card."""
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
        """Return the notification of a move, the greatest one included."""
        greatest_seat, greatest = before.greatest_seat, before.greatest
        if move[:7] != b'["PASS"' or greatest is None:
            greatest_seat, greatest = seat, move
        return (
            b'{"type":"notify","stage":"play","curPos":%d,"curAction":%b,"greaterPos":%d,"greaterAction":%b}'
            % (seat, move, greatest_seat, greatest)
        )

    def error(self, message: str, kind: str = "ERROR") -> bytes:
        """Return what is sent for a message that was refused."""
        return msgspec.json.encode({"type": "error", "msg": message})

    def game_over(self, count: GameCount) -> list[bytes]:
        """Return gameOver, and after the last game gameResult with each seat's games won and drawn."""
        over = notify("gameOver", curTimes=count.played, settingTimes=count.wanted)
        if count.played < count.wanted:
            return [over]
        return [over, notify("gameResult", victoryNum=list(count.wins) * 2, draws=[count.draws] * 4)]
