"""The value of a round move by move, and how the network would have played on from a move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.objective import result_worth
from games.game import TERMINAL
from games.guandan.rounds.round import GuanDan, advance, legal
from games.support.array_types import Array
from gs2.guandan.agent.evaluator import Evaluator, best_actions, evaluator_values, evaluator_worth
from gs2.guandan.agent.rollout import Rollouts
from gs2.guandan.review.recorded_rounds import RecordedRound

__all__ = ["better_lines", "losses_as_it_lay", "value_curve"]

_GAME = GuanDan()


def value_curve(played: RecordedRound, evaluator: Evaluator) -> tuple[NDArray[np.float64], int | None]:
    """Return the value to team 0 before every move and after the last, [n + 1], in levels, and whose view.

    None: as the cards lie, by the evaluator's critic of all hands, the result itself at the end of the round.
    Else a seat: what it expects from its own cards, where the other hands are not known.
    """
    states = played.states()
    values = np.zeros(len(states))
    seats = states["player"].astype(np.int64)
    on = np.flatnonzero(seats >= 0)
    over = np.flatnonzero(states["player"] == TERMINAL)
    if all(played.known):
        viewer = None
        values[on] = evaluator_worth(evaluator, states, on, seats[on]) * (1 - 2 * (seats[on] & 1))
    else:
        viewer = played.known.index(True) if any(played.known) else 0
        asked = np.full(len(on), viewer, np.int64)
        values[on] = evaluator.views(states, on, asked) * (1 - 2 * (viewer & 1))
    if len(over):
        place = 3 - _GAME.returns(states[over])[:, 0].astype(np.int64)
        worth = result_worth(states[over], np.zeros(len(over), np.int64))
        values[over] = worth[np.arange(len(over)), place]
    return values, viewer


def losses_as_it_lay(states: Array, moves: Array, others: Array, evaluator: Evaluator) -> NDArray[np.float64]:
    """Return what each move costs its seat's side beside another one in the very deal, [n] in levels.

    All four go on by the blueprint's best moves to the end, so one deal's luck is in it. Over the decisions
    of a round these add up to the difference between the blueprint's play of the deal and what came out.
    states: [n] STATE before, with all hands. moves, others: [n] ACTION.
    """
    if not len(states):
        return np.zeros(0)
    after = np.concatenate([states, states])
    advance(after, np.concatenate([others, moves]))
    values = Rollouts(evaluator).payoffs(after).reshape(2, len(states))
    out: NDArray[np.float64] = (values[0] - values[1]) * (1 - 2 * (states["player"] & 1))
    return out


def better_lines(
    states: Array, moves: Array, evaluator: Evaluator, *, plays: int = 8
) -> list[list[tuple[int, Array]]]:
    """Return how each round goes on by the blueprint's best moves after a move: (seat, [1] ACTION) each.

    states: [n] STATE, with all hands. moves: [n] ACTION, with which each line begins. plays: moves in a line
        at most.
    """
    now = np.ascontiguousarray(states).copy()
    lines: list[list[tuple[int, Array]]] = [[] for _ in range(len(now))]
    chosen: Array = np.ascontiguousarray(moves)
    live: Sequence[int] | NDArray[np.int64] = np.arange(len(now))
    for _ in range(plays):
        for j, row in enumerate(live):
            lines[row].append((int(now["player"][row]), chosen[j : j + 1].copy()))
        part = np.ascontiguousarray(now[live])
        advance(part, chosen)
        now[live] = part
        live = np.array([row for row in live if now["player"][row] >= 0], np.int64)
        if not len(live):
            break
        part = np.ascontiguousarray(now[live])
        listed = legal(part, canonical=True)
        best = best_actions(evaluator_values(evaluator, part, listed), listed)
        chosen = np.ascontiguousarray(listed.values[best])
    return lines
