"""A table as one viewer may see it, as plain data: the one message from which the page draws everything."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from games.guandan.cards import NO_ACTION, PASS, RANKS, hand_text, unpack
from games.guandan.notation import action_list
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import as_rules
from games.support.array_types import Row
from gs2.guandan.table.session import Session
from gs2.web.guandan.match_play import MatchPlay
from gs2.web.tables.table import Table

__all__ = ["table_state"]

Data = dict[str, Any]


def table_state(table: Table[MatchPlay], you: int | None, *, hands: bool) -> Data:
    """Return what one viewer sees of a table.

    you: the viewer's seat, None for a watcher. hands: whether all hands may be seen, as at a table of agents.
    In what is returned, "since" is the version since which the viewer is asked what it now is, 0 if it is
    asked nothing.
    """
    session, present = table.play.session, {watcher.seat for watcher in table.watchers}
    seats = [
        {"name": sitter.name, "kind": sitter.kind, "connected": sitter.agent or seat in present}
        for seat, sitter in enumerate(table.sitters)
    ]
    return {
        "type": "state",
        "version": table.versions.now,
        "since": 0 if you is None else table.versions.since(table.offer("choose", you)),
        "table": {
            "id": table.setup.id,
            "seats": seats,
            "you": you,
            "games": table.setup.games,
            "pace": table.pace,
            "paused": table.paused,
            "open": hands,
            "people": bool(table.people),
            "undo": table.can_undo(you),
            "failure": table.failure,
        },
        "match": _match(table),
        "round": _round(table, you, hands),
        "turn": {"seats": sorted(session.pending), "you": _your_turn(table, you)},
        "waiting": "next" if table.play.waiting else None,
        "results": [asdict(end) for end in table.play.account.results],
        "games_over": [game.over for game in table.play.account.games if game.over is not None],
    }


def _match(table: Table[MatchPlay]) -> Data:
    match = table.play.session.match
    return {
        "game": len(table.play.account.games),
        "levels": [RANKS[level] for level in match.levels],
        "owner": match.owner,
        "round": match.round,
        "wins": list(table.play.session.wins),
        "fails": list(table.play.account.fails),
        "tries": as_rules(table.setup.rules).ace_limit,
        "over": table.play.over,
    }


def _your_turn(table: Table[MatchPlay], you: int | None) -> Data | None:
    due = table.play.session.pending.get(-1 if you is None else you)
    if due is None:
        return None
    may_pass = due.stage == "play" and bool(np.any(due.actions["type"] == PASS))
    return {"stage": due.stage, "count": len(due.actions), "pass": may_pass}


def _round(table: Table[MatchPlay], you: int | None, hands: bool) -> Data:
    session = table.play.session
    level = session.level
    state = session.match.state[0]
    playing = session.stage in ("play", "over")
    beat = state["beat"]
    return {
        "level": RANKS[level],
        "phase": session.stage,
        "hands": [_hand(session, seat) if hands or seat == you else None for seat in range(4)],
        "rest": [int(rest) for rest in session.view().rest],
        "tributes": [list(transfer) for transfer in session.tributes],
        "returns": [list(transfer) for transfer in session.returns],
        "anti": table.play.account.anti,
        "plays": table.play.account.plays,
        "trick": [_words(move, level) if playing else None for move in state["trick"]],
        "greater": {"seat": int(state["leader"]), "move": _words(beat, level)}
        if playing and state["leader"] != NOBODY
        else None,
        "order": [int(seat) for seat in state["order"] if seat != NOBODY] if playing else [],
    }


def _hand(session: Session, seat: int) -> list[str]:
    counts = unpack(np.array(session.hand(seat), np.uint64))
    return hand_text(counts, session.level).split()


def _words(move: Row, level: int) -> list[Any] | None:
    return None if move["type"] == NO_ACTION else action_list(move, level)
