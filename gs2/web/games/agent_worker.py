"""What a worker is asked about a game: to load an agent, to play a move, to say what it thinks of all moves.

Everything comes as plain data: names, and the actions from the root. The agent is told its own infosets on
the way; which state it is handed among those that look alike makes no difference to it. A job
has two steps, of which loading is the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from blueprint.protocol import Agent, Blueprint, Decisions, Trails, blueprint_of, follows, probabilities
from games.game import Game
from games.infosets.trail import SeatTrail
from games.ragged import pick_by
from games.registry import load_game
from games.support.array_types import Array
from gs2.play.agent_names import load_game_agent
from gs2.play.search_agent import SearchAgent
from gs2.web.games.card_face import card_face

KEPT = 6
"""Agents that a worker keeps loaded."""
STEPS = 2
"""Of a job: loading, and what is asked."""
MOST_SHOWN = 12
"""Moves that a hint lists."""

Progress = Callable[[int, int], None]
_ONE = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Seated:
    """An agent at a table. game: that is played. name: of `load_game_agent`."""

    game: str
    name: str


@lru_cache(maxsize=KEPT)
def _agent(game: str, name: str) -> tuple[Game, Agent]:
    loaded = load_game(game, general_sum=True)
    return loaded, load_game_agent(loaded, name)


def _loaded(seated: Seated, progress: Progress) -> tuple[Game, Agent]:
    """Return the game of a table and an agent there. progress: told once they are loaded."""
    found = _agent(seated.game, seated.name)
    progress(1, STEPS)
    return found


def _asked(game: Game, agent: Agent, history: Array) -> Decisions:
    """Return the one decision of an agent after a history; with what its seat saw and did, if it follows."""
    states = [game.root()]
    for at in range(len(history)):
        states.append(game.step(states[-1], _ONE, history[at : at + 1]))
    seat, seen = int(game.player(states[-1])[0]), SeatTrail()
    for at, state in enumerate(states if follows(agent) else ()):
        seen.see(game.infoset_key(state, seat)[0])
        if at < len(history) and int(game.player(state)[0]) == seat:
            seen.act(history[at])
    past = Trails([seen]) if follows(agent) else None
    return Decisions.of(states[-1], game.actions(states[-1]), seat, game=game, past=past)


def agent_ready(seated: Seated, *, progress: Progress) -> None:
    """Load an agent. Raises ValueError if it cannot be."""
    _agent(seated.game, seated.name)


def agent_answer(seated: Seated, history: Array, draw: float, *, progress: Progress) -> int:
    """Return the place of the action that an agent takes after a history.

    draw: the random number in [0, 1) that decides among actions of its mixed strategy.
    """
    game, agent = _loaded(seated, progress)
    asked = _asked(game, agent, history)
    return int(pick_by(asked.table, probabilities(agent, asked), np.array([draw]))[0])


def agent_view(
    seated: Seated, history: Array, *, progress: Progress, most: int | None = MOST_SHOWN, win: float = 1.0
) -> dict[str, Any]:
    """Return what an agent would do after a history: its best move and those it weighs, at most so many.

    best: the place of the action. moves: [{index, share, value, gain, error}], the best first. value is what
    the action is worth to the seat by the agent's own estimate, before any search, in the points of the
    table, or `win` for a win and -`win` for a loss if that is what it learned; None without one. gain, error:
    of an agent that searches drawn deals, what the action wins in them over the agent's usual one, in the
    points of the table, and the standard error; else None.
    """
    game, agent = _loaded(seated, progress)
    asked = _asked(game, agent, history)
    gains = agent.gains(asked) if isinstance(agent, SearchAgent) else None  # first: the search is remembered
    shares = probabilities(agent, asked)
    blueprint = _valued(agent)
    values: Array | None = None
    face = card_face(game)
    points = 1.0 if face is None else face.unit(asked.states, int(asked.seats[0]))
    by_rule = getattr(blueprint, "by_rule", None)
    if blueprint is not None and not (by_rule and by_rule(asked.states)[0]):
        unit = win if getattr(blueprint, "wins", False) else points
        values = unit * np.asarray(
            blueprint.q(game, asked.states, int(asked.seats[0]), asked.table), np.float64
        )
    rank = np.lexsort((-shares if values is None else -values, -shares))
    moves = [
        {
            "index": int(at),
            "share": round(float(shares[at]), 4),
            "value": None if values is None else round(float(values[at]), 4),
            **_gain(gains, int(at), points),
        }
        for at in rank[:most]
    ]
    return {"best": int(rank[0]), "moves": moves, "of": len(shares)}


def _gain(gains: Array | None, at: int, points: float) -> dict[str, float | None]:
    """Return the gain of an action and its error in the points of the table."""
    if gains is None or np.isnan(gains[0, at]):
        return {"gain": None, "error": None}
    gain, error = (round(points * float(one), 4) for one in gains[:, at])
    return {"gain": gain, "error": error}


def _valued(agent: Agent) -> Blueprint | None:
    """Return the blueprint behind an agent that gives values of single moves, if there is one."""
    from gs2.search.refine.policy_only import PolicyOnly

    found = blueprint_of(agent)
    return None if isinstance(found, PolicyOnly) else found
