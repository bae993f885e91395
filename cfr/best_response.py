"""How good a policy is, exactly: expected value, best response, NashConv, exploitability.

Where one seat of each team decides, values are computed on the sequence form; pass one in to avoid building
it again. With more deciding seats they are computed on the tree, each seat deviating alone. Policies are
[n_slots] float64 on the tree's slots. Values of a forest are sums over its weighted roots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.engine.play import FormArrays
from cfr.policies.lock import LockedTree
from cfr.policies.policy import Policy
from cfr.sequence_form import SequenceForm, deciding_seats, is_two_sided, sequence_form
from cfr.tree import FlatTree
from cfr.values import (
    best_response_value,
    check_policy,
    check_probabilities,
    counterfactual_values,
    root_values,
)
from games.support.kernel import kernel

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


def _form(game_form: FlatTree | SequenceForm) -> SequenceForm | None:
    """Return the sequence form, or None for a tree that has none."""
    if isinstance(game_form, SequenceForm):
        return game_form
    return sequence_form(game_form) if is_two_sided(game_form) else None


def _checked(game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the policy as float64; raise ValueError unless every infoset has probabilities that sum to 1."""
    return check_probabilities(check_policy(game_form, policy), game_form.infoset_offset)


def _evaluate(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]
) -> tuple[float, tuple[float, ...], tuple[float, ...]]:
    """Return (value to team 0, values of the deciding seats, their best-response values)."""
    policy = _checked(game_form, policy)
    form = _form(game_form)
    if form is not None:
        play = FormArrays(form)
        value, *best = play.evaluate(play.from_slots(policy))
        return value, (value, -value), (best[0], best[1])
    assert isinstance(game_form, FlatTree)
    values = root_values(game_form, policy)
    seats = np.unique(game_form.infoset_player).tolist()
    best = [best_response_value(game_form, policy, seat) for seat in seats]
    return float(values[game_form.teams.index(0)]), tuple(values[seats].tolist()), tuple(best)


def expected_value(game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]) -> float:
    """Return the expected payoff to team 0 (side 0) when everyone follows `policy`.

    policy: [n_slots] float64. Raises ValueError for a policy of another size, or whose infosets'
    probabilities do not sum to 1; InvalidTree as `sequence_form`; as everything here, ImperfectRecall where a
    player has forgotten what it did.
    """
    return _evaluate(game_form, policy)[0]


def best_response(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64], player: int
) -> BestResponse:
    """Return a pure best response of `player` when the others follow `policy`.

    policy: [n_slots] float64. Raises ValueError for a policy of another size or whose probabilities do not
    sum to 1, and for a seat that does not decide.
    """
    policy = _checked(game_form, policy)
    form = _form(game_form)
    if form is None:
        assert isinstance(game_form, FlatTree)
        return _tree_best_response(game_form, policy, player)
    side = form.side_of(player)
    plex = form.sides[side]
    value = FormArrays(form).payoffs(policy, side)[form.layout.sides[side].position]
    pure = np.zeros(plex.n_sequences)
    _respond(plex.start, plex.parent, value, pure)
    answer = policy.copy()
    answer[plex.slot[1:]] = pure[1:]
    return BestResponse(player, float(value[0]), answer)


def _tree_best_response(tree: FlatTree, policy: NDArray[np.float64], player: int) -> BestResponse:
    seats = deciding_seats(tree)
    if player not in seats:
        raise ValueError(f"player must be one of the deciding seats {tuple(seats)}; got {player}")
    value = best_response_value(tree, policy, player)
    slots = counterfactual_values(tree, policy, player, best_response=True).slot
    answer = policy.copy()
    for infoset in np.flatnonzero(tree.infoset_player == player):
        first, last = tree.infoset_offset[infoset : infoset + 2]
        answer[first:last] = 0.0
        answer[first + int(np.argmax(slots[first:last]))] = 1.0
    return BestResponse(player, value, answer)


def best_response_values(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64], *, lock: Policy | None = None
) -> tuple[float, ...]:
    """Return what each deciding seat (side 0 and side 1) gets by best-responding alone to `policy`.

    lock: infosets at which everyone plays as it says, and nobody can deviate (`LockedTree`); needs the tree.
    """
    return _evaluate(*_unlocked(game_form, policy, lock))[2]


def nash_conv(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64], *, lock: Policy | None = None
) -> float:
    """Return the sum of what each deciding seat could gain by best-responding alone, in payoffs.

    lock: as of `best_response_values`.
    """
    _, values, best = _evaluate(*_unlocked(game_form, policy, lock))
    return sum(best) - sum(values)


def exploitability(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64], *, lock: Policy | None = None
) -> float:
    """Return NashConv / 2, in payoffs. lock: as of `best_response_values`."""
    return nash_conv(game_form, policy, lock=lock) / 2


def _unlocked(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64], lock: Policy | None
) -> tuple[FlatTree | SequenceForm, NDArray[np.float64]]:
    """Return the game and the policy without the locked infosets."""
    if lock is None:
        return game_form, policy
    locked = LockedTree(game_form, lock)
    return locked.tree, locked.part(_checked(locked.original, policy))


@kernel
def _respond(
    start: NDArray[np.int32],
    parent: NDArray[np.int32],
    value: NDArray[np.float64],
    policy: NDArray[np.float64],
) -> None:
    """Turn the utility of each sequence into best-response values, bottom up; fill `policy`, pure."""
    for i in range(len(parent) - 1, -1, -1):
        best = start[i]
        for s in range(start[i], start[i + 1]):
            if value[s] > value[best]:
                best = s
        policy[best] = 1.0
        value[parent[i]] += value[best]
