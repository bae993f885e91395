"""What OpenGuanDan's server asks of a seat, from a match of ours: compared with its own messages."""

from __future__ import annotations

from typing import Any

from games.game import GameError
from games.guandan.cards import CARD_NAMES, NUM_CARDS, RANKS
from games.guandan.matches.match import Match
from games.guandan.notation import action_list
from games.guandan.rounds.state import NOBODY
from games.support.array_types import Bytes, Row


def last_actor(state: Row) -> int | None:
    """Return the seat that acted last in the trick of one state (a row of STATE); None when leading."""
    if state["leader"] == NOBODY:
        return None
    if state["passes"] == 0:
        return int(state["leader"])
    seat = (int(state["player"]) + 3) % 4
    while state["left"][seat] == 0:
        seat = (seat + 3) % 4
    return seat


def observation_message(match: Match, seat: int) -> dict[str, Any]:
    """Return what OpenGuanDan's server asks of a seat that is to act, as its JSON `act` message.

    The fields are those of the paper's appendix B. curPos and curAction are the last actor's in this trick,
    even if it passed; when leading, positions are -1 and actions None.
    Raises GameError if the seat is not to act.
    """
    due = next((p for p in match.pending() if p.seat == seat), None)
    if due is None:
        raise GameError(f"guandan: seat {seat!r} is not to act ({match.phase}); see Match.pending()")
    levels = [RANKS[level] for level in match.levels]
    message: dict[str, Any] = {
        "type": "act",
        "handCards": _names(match.hands[seat]),
        "selfRank": levels[seat % 2],
        "oppoRank": levels[1 - seat % 2],
        "curRank": RANKS[match.level],
        "stage": due.stage,
    }
    words = [action_list(action, match.level) for action in due.actions]
    if due.stage == "play":
        state = match.state[0]
        actor, leader = last_actor(state), int(state["leader"])
        message |= {
            "publicInfo": [{"rest": int(rest)} for rest in state["left"]],
            "curPos": -1 if actor is None else actor,
            "curAction": None if actor is None else action_list(state["trick"][actor], match.level),
            "greaterPos": -1 if actor is None else leader,
            "greaterAction": None if actor is None else action_list(state["beat"], match.level),
        }
    else:
        words = [[due.stage, due.stage, cards] for _, _, cards in words]
        if due.stage == "back":
            giver, card = next((giver, card) for giver, taker, card in match.tributes if taker == seat)
            message |= {"tributePos": giver, "tribute": CARD_NAMES[card]}
    return message | {"actionList": words, "indexRange": len(words) - 1}


def _names(counts: Bytes) -> list[str]:
    """Return the cards of a hand as the official server lists them: by natural rank, then S, H, C, D."""
    suit_place = (1, 0, 2, 3)
    order = sorted(range(NUM_CARDS), key=lambda c: (c, 0) if c > 51 else (c // 4 * 4, suit_place[c % 4]))
    return [CARD_NAMES[c] for c in order for _ in range(counts[c])]
