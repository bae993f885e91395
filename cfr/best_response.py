"""How good a policy is, exactly: expected value, best response, NashConv, exploitability.

Where one seat of each team decides, values are computed on the sequence form; pass one in to avoid building
it again. With more deciding seats they are computed on the tree, each seat deviating alone. Policies are
[n_slots] float64 on the tree's slots. Values of a forest are sums over its weighted roots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.engine.kernels import FormArrays
from cfr.policies.lock import LockedTree
from cfr.policies.policy import Policy
from cfr.sequence_form import SequenceForm, is_two_sided, sequence_form
from cfr.tree import FlatTree
from cfr.tree.flat import infoset_parent_slot, own_slots
from cfr.values import check_policy, check_probabilities, reach, root_values
from games.support.kernel import kernel


def _checked(game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the policy as float64; raise ValueError unless every infoset has probabilities that sum to 1."""
    return check_probabilities(check_policy(game_form, policy), game_form.infoset_offset)


def _evaluate(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64]
) -> tuple[float, tuple[float, ...], tuple[float, ...]]:
    """Return (value to team 0, values of the deciding seats, their best-response values)."""
    policy = _checked(game_form, policy)
    if isinstance(game_form, SequenceForm) or is_two_sided(game_form):
        play = FormArrays(game_form if isinstance(game_form, SequenceForm) else sequence_form(game_form))
        value, *best = play.evaluate(play.from_slots(policy))
        return value, (value, -value), (best[0], best[1])
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
    """Return the payoff of each deciding seat (side 0 and side 1) that best-responds alone to `policy`.

    policy: [n_slots] float64, errors as of `expected_value`. lock: infosets at which everyone plays as it
    says, and nobody can deviate (`LockedTree`); needs the tree, InvalidTree is raised without.
    """
    return _evaluate(*_unlocked(game_form, policy, lock))[2]


def nash_conv(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64], *, lock: Policy | None = None
) -> float:
    """Return the sum of what each deciding seat could gain by best-responding alone, in payoffs.

    policy: [n_slots] float64. lock: as of `best_response_values`, whose errors are raised here too.
    """
    _, values, best = _evaluate(*_unlocked(game_form, policy, lock))
    return sum(best) - sum(values)


def exploitability(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64], *, lock: Policy | None = None
) -> float:
    """Return NashConv / 2, in payoffs. policy: [n_slots] float64; lock and errors: as of `nash_conv`."""
    return nash_conv(game_form, policy, lock=lock) / 2


def _unlocked(
    game_form: FlatTree | SequenceForm, policy: NDArray[np.float64], lock: Policy | None
) -> tuple[FlatTree | SequenceForm, NDArray[np.float64]]:
    """Return the game and the policy without the locked infosets."""
    if lock is None:
        return game_form, policy
    locked = LockedTree(game_form, lock)
    return locked.tree, locked.part(_checked(locked.original, policy))


@dataclass(frozen=True, eq=False)
class CounterfactualValues:
    """Values to one player, weighted by everyone else's reach (unnormalised).

    player: the seat.
    infoset: [I] float64, value of each infoset of the player; nan at the infosets of others.
    slot: [n_slots] float64, value of each of the player's actions; nan elsewhere.
    reach: [I] float64, counterfactual reach: the others' and chance's reach summed over the histories; nan
        at the infosets of others.
        The arrays are read-only.
    root: value of the whole game, nan where nobody asked. until: they hold at the infosets above any node of
        a lower number than this; None for all.
    """

    player: int
    infoset: NDArray[np.float64]
    slot: NDArray[np.float64]
    reach: NDArray[np.float64]
    root: float = np.nan
    until: int | None = None

    def __post_init__(self) -> None:
        for array in (self.infoset, self.slot, self.reach):
            array.flags.writeable = False

    @property
    def normalised(self) -> NDArray[np.float64]:
        """Return the values of infosets in payoffs, [I] float64; nan where the counterfactual reach is 0."""
        out = np.full(len(self.infoset), np.nan)
        np.divide(self.infoset, self.reach, out=out, where=self.reach > 0)
        return out


def counterfactual_values(
    tree: FlatTree, policy: NDArray[np.float64], player: int, *, best_response: bool = False
) -> CounterfactualValues:
    """Return the counterfactual values of the player's infosets and actions.

    best_response: the player best-responds from each infoset on, to the others' part of `policy`;
        otherwise it too follows `policy` (Burch, Johanson and Bowling 2014).
    Raises ValueError for a policy of another size or a seat out of range, ImperfectRecall where the player
    has forgotten what it did.
    """
    policy = check_policy(tree, policy)
    if not 0 <= player < tree.n_players:
        raise ValueError(f"player must be in [0, {tree.n_players}); got {player}")
    others = reach(tree, policy).without(player)
    own = own_slots(tree, player)
    ends = own[tree.terminal]
    decided = ends >= 0
    slot = np.bincount(
        ends[decided],
        (others[tree.terminal] * tree.returns[:, player])[decided],
        minlength=tree.n_slots,
    ).astype(np.float64)
    mine = np.flatnonzero(tree.player == player)
    parent = infoset_parent_slot(tree, player, own)
    infoset_reach = np.bincount(tree.infoset[mine], others[mine], tree.n_infosets).astype(np.float64)
    infoset = np.zeros(tree.n_infosets)
    fold_values(
        tree.infoset_offset, tree.infoset_player, parent, policy, player, best_response, slot, infoset
    )
    foreign = tree.infoset_player != player
    infoset[foreign] = np.nan
    infoset_reach[foreign] = np.nan
    slot[tree.slot_player != player] = np.nan
    return CounterfactualValues(player, infoset, slot, infoset_reach)


def best_response_value(tree: FlatTree, policy: NDArray[np.float64], player: int) -> float:
    """Return what a seat gets by best-responding alone to the others' part of `policy`, over all roots.

    For any number of players; a seat that never decides gets its expected payoff.
    Raises ValueError as `counterfactual_values`.
    """
    values = counterfactual_values(tree, policy, player, best_response=True)
    own = own_slots(tree, player)
    first = (tree.infoset_player == player) & (infoset_parent_slot(tree, player, own) < 0)
    ends = own[tree.terminal] < 0
    undecided = reach(tree, policy).without(player)[tree.terminal] * tree.returns[:, player]
    return float(values.infoset[first].sum() + undecided[ends].sum())


@kernel(lazy=True)
def fold_values(
    infoset_offset: NDArray[np.int64],
    infoset_player: NDArray[np.int8],
    parent: NDArray[np.int64],
    policy: NDArray[np.float64],
    me: int,
    best_response: bool,
    slot: NDArray[np.float64],
    value: NDArray[np.float64],
) -> float:
    """Add what the seat's infosets are worth to its slots before them, last ones first; return the rest.

    That is the sum at infosets before which the seat never acted. `value` is filled with what each is worth.
    """
    root = 0.0
    for i in range(len(infoset_player) - 1, -1, -1):
        if infoset_player[i] != me:
            continue
        first, last = infoset_offset[i], infoset_offset[i + 1]
        total = slot[first] if best_response else 0.0
        for s in range(first, last):
            if best_response:
                total = max(total, slot[s])
            else:
                total += policy[s] * slot[s]
        value[i] = total
        if parent[i] >= 0:
            slot[parent[i]] += total
        else:
            root += total
    return root
