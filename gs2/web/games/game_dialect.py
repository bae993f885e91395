"""What is said at a table of a game only: picked cards, and a new round."""

from __future__ import annotations

from collections.abc import Callable

from gs2.web.games.game_play import GamePlay
from gs2.web.games.game_tables import GameTables
from gs2.web.games.seat_view import table_view
from gs2.web.tables.table import Refused
from gs2.web.tables.table_socket import Hint, Message, TableSocket

__all__ = ["GameDialect"]

Line = TableSocket[GamePlay]


class GameDialect:
    """The messages of games. tables: whose agents give hints."""

    private = True

    def __init__(self, tables: GameTables) -> None:
        self.tables = tables
        self.answers = {"select": _select, "round": _new_round}

    def state(self, line: Line) -> Message:
        """Return the whole state as the person sees it."""
        return table_view(line.table, line.mine())

    def layout(self, line: Line) -> Callable[[], list[list[str]]]:
        """Return what lays the person's hand out by its moves. Raises Refused at a game without cards."""
        play, face = line.table.play, line.table.play.face
        if face is None:
            raise Refused("wrong", f"{play.game.name} has no hand of cards")
        hand = face.seen(play.round, line.mine())["hand"]
        return lambda: face.moves(hand)

    def hint(self, line: Line, message: Message) -> Hint:
        """Return which version and agent a hint is about, and what finds it."""
        line.due(message)
        label, game, history = message.get("agent"), line.table.play.game, line.table.play.round.history()
        self.tables.offer(game, label)
        wanted = {"version": line.table.versions.now, "agent": label}
        return wanted, lambda: self.tables.hint(game.name, label, history)


def _new_round(line: Line, message: Message) -> None:
    line.seen(message, "round")
    line.table.enter("round", line.table.play.next_order(line.mine(), message.get("seat")))


def _select(line: Line, message: Message) -> None:
    """Say what cards make that are no move now."""
    cards, face = line.cards(message), line.table.play.face
    line.say({"type": "makes", "cards": cards, "kind": None if face is None else face.kind_of(cards)})
