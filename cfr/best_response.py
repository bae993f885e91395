"""Exact values of a policy: expectation, best response, NashConv, exploitability, counterfactual values.

Two-player questions go through the sequence form; pass one in to save building it again. Policies are
[n_slots] float64 on the tree's slots. Values of a forest are sums over its weighted roots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr import kernels
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


def _plan(form: SequenceForm, side: int, policy: NDArray[np.float64]) -> NDArray[np.float64]:
    plex = form.sides[side]
    by_sequence = np.empty(plex.n_sequences)
    by_sequence[0] = 1.0
    by_sequence[1:] = policy[plex.slot[1:]]
    plan = np.empty(plex.n_sequences)
    kernels.realize(plex.start, plex.parent, by_sequence, plan)
    return plan


def _utility(form: SequenceForm, side: int, policy: NDArray[np.float64]) -> NDArray[np.float64]:
    matrix = (form.row_start, form.column, form.payoff)
    if side == 1:
        matrix = kernels.transpose(*matrix, form.sides[1].n_sequences)
    out = np.empty(form.sides[side].n_sequences)
    kernels.gradient(*matrix, _plan(form, 1 - side, policy), 1.0 if side == 0 else -1.0, out)
    return out


def expected_value(game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]) -> float:
    """Return the expected payoff to side 0 when both follow `policy`.

    policy: [n_slots] float64. Raises ValueError for a policy of another size, InvalidTree as `sequence_form`.
    """
    form = _form(game_form)
    policy = _checked(policy, form.n_slots)
    return float(_plan(form, 0, policy) @ _utility(form, 0, policy))


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
    utility = _utility(form, side, policy)
    pure = np.empty(plex.n_sequences)
    kernels.respond(plex.start, plex.parent, utility, pure)
    answer = policy.copy()
    answer[plex.slot[1:]] = pure[1:]
    return BestResponse(player, float(utility[0]), answer)


def best_response_values(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]
) -> tuple[float, float]:
    """Return what side 0 and side 1 get when each best-responds to the other's part of `policy`."""
    form = _form(game_form)
    return (
        best_response(form, policy, form.players[0]).value,
        best_response(form, policy, form.players[1]).value,
    )


def nash_conv(game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]) -> float:
    """Return the sum of what both players could gain by best-responding to `policy`, in payoffs."""
    return sum(best_response_values(game_form, policy))


def exploitability(game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]) -> float:
    """Return NashConv / 2, in payoffs."""
    return nash_conv(game_form, policy) / 2
