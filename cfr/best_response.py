"""Exact values of a policy: expectation, best response, NashConv, exploitability, counterfactual values.

Two-player questions go through the sequence form; pass one in to save building it again. Policies are
[n_slots] float64 on the tree's slots. Values of a forest are sums over its weighted roots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cfr.play import Play
from cfr.sequence_form import SequenceForm, sequence_form
from cfr.tree import FlatTree

__all__ = [
    "BestResponse",
    "best_response",
    "best_response_values",
    "expected_value",
    "exploitability",
    "nash_conv",
]


@dataclass(frozen=True, eq=False)
class BestResponse:
    """A best response of one player.

    player: the seat. value: its payoff, summed over weighted roots.
    policy: [n_slots] float64, the given policy with this player's slots replaced by a pure best response
        (the first of equally good actions; counterfactually best at every infoset that can be reached).
    """

    player: int
    value: float
    policy: NDArray[np.float64]


def _form(game_form: FlatTree | SequenceForm) -> SequenceForm:
    return game_form if isinstance(game_form, SequenceForm) else sequence_form(game_form)


def _checked(policy: NDArray, n_slots: int) -> NDArray[np.float64]:
    policy = np.asarray(policy, np.float64)
    if policy.shape != (n_slots,):
        raise ValueError(
            f"policy must have one probability per slot, {n_slots}; got shape {policy.shape}; "
            "is it another game's?"
        )
    return policy


def _evaluate(game_form: FlatTree | SequenceForm, policy: NDArray) -> tuple[float, float, float]:
    form = _form(game_form)
    play = Play(form)
    return play.evaluate(*play.from_slots(_checked(policy, form.n_slots)))


def expected_value(game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]) -> float:
    """Return the expected payoff to side 0 when both follow `policy`.

    policy: [n_slots] float64. Raises ValueError for a policy of another size, InvalidTree as `sequence_form`.
    """
    return _evaluate(game_form, policy)[0]


def best_response(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64], player: int
) -> BestResponse:
    """Return a pure best response of `player` when the other follows `policy`.

    policy: [n_slots] float64. Raises ValueError for a policy of another size or a seat that does not decide.
    """
    form = _form(game_form)
    policy = _checked(policy, form.n_slots)
    side = form.side_of(player)
    plex = form.sides[side]
    value = Play(form).payoffs(policy, side)[form.layout.sides[side].position]
    pure = np.zeros(plex.n_sequences)
    _respond(plex.start, plex.parent, value, pure)
    answer = policy.copy()
    answer[plex.slot[1:]] = pure[1:]
    return BestResponse(player, float(value[0]), answer)


def best_response_values(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]
) -> tuple[float, float]:
    """Return what side 0 and side 1 get when each best-responds to the other's part of `policy`."""
    return _evaluate(game_form, policy)[1:]


def nash_conv(game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]) -> float:
    """Return the sum of what both players could gain by best-responding to `policy`, in payoffs."""
    return sum(best_response_values(game_form, policy))


def exploitability(game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]) -> float:
    """Return NashConv / 2, in payoffs."""
    return nash_conv(game_form, policy) / 2


@njit(cache=True)
def _respond(start, parent, value, policy):
    """Turn the utility of each sequence into best-response values, bottom up; fill `policy`, pure."""
    for i in range(len(parent) - 1, -1, -1):
        best = start[i]
        for s in range(start[i], start[i + 1]):
            if value[s] > value[best]:
                best = s
        policy[best] = 1.0
        value[parent[i]] += value[best]
