"""A table as one viewer may see it, and as a line of the list of tables, as plain data."""

from __future__ import annotations

from typing import Any

from gs2.web.tables.table import Table

__all__ = ["table_row", "table_state"]


def table_row(table: Table[Any]) -> dict[str, Any]:
    """Return one line of the list of tables; seats in the order of the setup."""
    return {
        "id": table.setup.id,
        "game": table.setup.game,
        "seats": [
            {"name": name or None, "kind": sitter.kind}
            for name, sitter in zip(table.play.names, table.sitters, strict=True)
        ],
        "over": table.play.over,
        "created": table.setup.created,
        **table.play.standing,
    }


def table_state(table: Table[Any], you: int | None, *, hands: bool = False) -> dict[str, Any]:
    """Return what one viewer sees of a table: the one message from which the page draws everything.

    you: the viewer's seat, None for a watcher. hands: whether all hands may be seen, as at a table of agents.
    In what is returned, "since" is the version since which the viewer is asked what it now is, 0 if it is
    asked nothing.
    """
    play, present = table.play, {watcher.seat for watcher in table.watchers}
    seats = []
    for seat, player in enumerate(play.order):
        sitter = table.sitters[player]
        shown = {"name": play.names[player] or None, "kind": sitter.kind, "player": player}
        seats.append({**shown, "connected": sitter.agent or seat in present})
        if play.scores is not None:
            seats[-1]["score"] = play.scores[player]
    return {
        "type": "state",
        "version": table.versions.now,
        "since": 0 if you is None else table.versions.since(table.offer("choose", you)),
        "table": {
            "id": table.setup.id,
            "game": table.setup.game,
            "face": play.look,
            "seats": seats,
            "you": you,
            "games": table.setup.games,
            "pace": table.pace,
            "paused": table.paused,
            "open": hands,
            "people": len(table.people),
            "undo": table.can_undo(you),
            "failure": table.failure,
            "advisers": list(play.advisers),
        },
        **play.view(you, hands),
    }
