"""A table of a game as its person may see it, as plain data: the message from which the page draws all."""

from __future__ import annotations

from typing import Any

from games.game import Game
from gs2.web.games.game_round import GameRound
from gs2.web.games.game_table import GameTable
from gs2.web.games.seen_cards import card_face, seat_points
from gs2.web.tables.table_log import PERSON

__all__ = ["round_view", "table_line", "table_view"]

Data = dict[str, Any]
SHOWN_ROUNDS = 60
"""Rounds that the score sheet lists."""


def table_line(table: GameTable) -> Data:
    """Return one line of the list of tables."""
    return {
        "id": table.setup.id,
        "game": table.game.name,
        "names": table.names,
        "round": table.number,
        "scores": table.scores,
        "created": table.setup.created,
    }


def table_view(table: GameTable) -> Data:
    """Return what the person sees of a table."""
    names, scores = table.names, table.scores
    return {
        "type": "state",
        "version": table.versions.now,
        "table": {
            "id": table.setup.id,
            "game": table.game.name,
            "seats": [
                {
                    "name": names[player],
                    "kind": PERSON if table.setup.seats[player] == PERSON else "agent",
                    "label": table.setup.seats[player],
                    "player": player,
                    "score": scores[player],
                }
                for player in table.order
            ],
            "you": table.you,
            "pace": table.pace,
            "rotate": table.setup.rotate,
            "undo": table.playing.last_step_of(table.you) is not None,
            "failure": table.failure,
        },
        "number": table.number,
        "round": round_view(table.game, table.playing, table.you),
        "players": names,
        "finished": [
            {"number": done.number, "points": list(done.points), "order": list(done.order)}
            for done in table.finished[-SHOWN_ROUNDS:]
        ],
        "rounds": len(table.finished),
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
