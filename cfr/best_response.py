"""How good a policy is, exactly: expected value, best response, NashConv, exploitability.

Where one seat of each team decides, values are computed on the sequence form; pass one in to avoid building
it again. With more deciding seats they are computed on the tree, each seat deviating alone. Policies are
[n_slots] float64 on the tree's slots. Values of a forest are sums over its weighted roots.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfr.engine.play import FormArrays
from cfr.policies.lock import LockedTree
from cfr.policies.policy import Policy
from cfr.sequence_form import SequenceForm, is_two_sided, sequence_form
from cfr.tree import FlatTree
from cfr.values import best_response_value, check_policy, check_probabilities, root_values

__all__ = [
    "best_response_values",
    "expected_value",
    "exploitability",
    "nash_conv",
]


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
