"""One position solved and explained: what would you play here, and why?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from games.game import GameError
from games.guandan.rounds.position import parse_position
from games.support.files import read_text
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.explanation import Explanation, explain_decision

EXAMPLES = Path(__file__).parent / "positions.json"
MOST_TEXT = 1 << 20
"""Bytes of a position that is read; a whole round has some 20,000."""


def example_positions() -> dict[str, dict[str, object]]:
    """Return the positions that come with the package by name: {"title": …, "position": {…}}."""
    found: dict[str, dict[str, object]] = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    return found


def read_position(source: str | Path) -> str:
    """Return the line of JSON that names a position.

    source: a file that holds one (or an object with the position under "position"), an example's name, or
        the line itself.
    Raises GameError if it is none of these.
    """
    if str(source).lstrip().startswith("{"):
        return str(source)
    path = Path(source)
    examples = example_positions()
    if str(source) in examples:
        return json.dumps(examples[str(source)]["position"])
    if not path.is_file():
        raise GameError(
            f"guandan: position: must be a file or one of {', '.join(examples)}; got {str(source)!r}"
        )
    text = read_text(path, most=MOST_TEXT)
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(fields, dict) and isinstance(fields.get("position"), dict):
        fields = fields["position"]
    return json.dumps(fields)


def solve_position(position: str, agent: Gs2Agent, *, listed: int = 8, warmed: bool = False) -> Explanation:
    """Return what the agent would play at a position, and why.

    position: a line of JSON, see `games.guandan.rounds.position`; it is the player to act who looks. Hidden
        hands may be missing. listed: moves and deals listed at most. warmed: compile first what the decision
        needs, which its deadline has no time for.
    Raises GameError at bad input, a finished round, or a seat that is not to act.
    """
    state, seat = parse_position(position)
    player = int(state["player"][0])
    if player < 0:
        raise GameError(
            "guandan: position: the round is over and no player can act; take a position before its end"
        )
    if seat is not None and seat != player:
        raise GameError(
            f"guandan: position: seat {player} is to act but the hand shown is seat {seat}'s; "
            "show the hand of the player to act"
        )
    if int(np.asarray(state["left"][0])[player]) == 0:
        raise GameError(f"guandan: position: seat {player} is to act but holds no card")
    if warmed:
        agent.warm_up(state)
    return explain_decision(agent.decide(state), agent.config, listed=listed)
