"""A table of a game as its person may see it, as plain data: the message from which the page draws all."""

from __future__ import annotations

from typing import Any

from games.game import Game
from gs2.web.games.game_play import GamePlay
from gs2.web.games.game_round import GameRound
from gs2.web.games.seen_cards import card_face, seat_points
from gs2.web.tables.table import Table

__all__ = ["round_view", "table_view"]

Data = dict[str, Any]
SHOWN_ROUNDS = 60
"""Rounds that the score sheet lists."""


def table_view(table: Table[GamePlay], seat: int) -> Data:
    """Return what the person on a seat sees of a table."""
    names, scores = table.play.names, table.play.scores
    return {
        "type": "state",
        "version": table.versions.now,
        "table": {
            "id": table.setup.id,
            "game": table.play.game.name,
            "seats": [
                {
                    "name": names[player],
                    "kind": table.sitters[player].kind,
                    "label": table.sitters[player].label,
                    "player": player,
                    "score": scores[player],
                }
                for player in table.play.order
            ],
            "you": seat,
            "pace": table.pace,
            "rotate": table.setup.rotate,
            "undo": table.can_undo(seat),
            "failure": table.failure,
        },
        "number": table.play.number,
        "round": round_view(table.play.game, table.play.round, seat),
        "players": names,
        "finished": [
            {"number": done.number, "points": list(done.points), "order": list(done.order)}
            for done in table.play.finished[-SHOWN_ROUNDS:]
        ],
        "rounds": len(table.play.finished),
    }


def round_view(game: Game, played: GameRound, seat: int) -> Data:
    """Return what a seat sees of a round: a function of its infoset, and of everything once it is over.

    moves: the seat's legal actions if it is to act, in words, with their kinds where cards are shown.
    """
    face = card_face(game)
    over = played.over
    legal = played.legal if played.player == seat else None
    state = played.state[0]
    return {
        "over": over,
        "turn": None if over else played.player,
        "points": seat_points(played) if over else None,
        "words": game.state_text(state) if over else game.infoset_text(state, seat),
        "cards": None if face is None else face.seen(played, seat),
        "moves": None
        if legal is None
        else {
            "texts": [game.action_text(state, action) for action in legal],
            "kinds": None if face is None else face.kinds(game, legal),
        },
    }
