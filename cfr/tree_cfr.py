"""CFR on the tree itself, for any number of deciding seats; the same variants as on the sequence form.

A terminal counts for a seat with the product of *all the others'* reaches and chance's. With two teams of
several seats each, or general-sum payoffs, CFR need not converge to an equilibrium; each seat's regret
still vanishes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.best_response import best_response_value
from cfr.engine.kernels import Counted, discounts_until, iterations_at_once
from cfr.engine.resume import load_state, same_variant, state_of
from cfr.tree import FlatTree, require_tree
from cfr.tree.flat import Nodes, infoset_parent_slots
from cfr.values import normalised, root_values, uniform
from cfr.variants import DEFAULT_VARIANT, REGRET_NOISE, Variant, check_whole, variant
from games.support.kernel import kernel

Rule = tuple[float, bool, bool, bool, float]
"""(gamma, clip, predictive, alternating, noise) of a run."""
State = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""(regret, prediction, policy, strategy_sum), on slots."""


class TreeSolver(Counted):
    """CFR on a tree with any number of deciding seats, resumable exactly.

    iteration: iterations done so far. seats: the seats that decide, in the order of their updates.
    noise: regrets of at most this, in payoffs, are matched as if they were 0.
    """

    def __init__(
        self, tree: FlatTree, variant_name: str | Variant = DEFAULT_VARIANT, *, recall: bool = True
    ) -> None:
        """Start uniformly.

        recall: refuse a tree whose players forget; without it CFR runs there too, and promises nothing. What
            the average policy is worth cannot be told then.
        Raises ImperfectRecall where a player has forgotten what it did.
        """
        require_tree(tree)
        self.tree = tree
        self.variant = variant(variant_name)
        self._done = np.zeros(1, np.int64)
        self.seats = tuple(int(seat) for seat in np.unique(tree.infoset_player))
        self._parent_slot = infoset_parent_slots(tree, recall=recall)
        self._regret, self._prediction, self._sum = (np.zeros(tree.n_slots) for _ in range(3))
        self._policy = uniform(tree.infoset_offset)
        returns = np.zeros((tree.n_nodes, tree.n_players))
        returns[tree.terminal] = tree.returns
        scale = float(np.abs(tree.returns).max(initial=0.0))
        self.noise = REGRET_NOISE * scale * float(tree.chance_prob[: tree.n_roots].sum())
        self._returns = np.ascontiguousarray(returns.T)

    def run(self, n: int) -> None:
        """Run `n` more iterations. Raises ValueError unless that is a whole number of at least 0."""
        last = self.iteration + check_whole("iterations", n, ValueError)
        tree, row, seats = self.tree, self.variant, np.array(self.seats, np.int64)
        rule = float(row.gamma), bool(row.clip), bool(row.predictive), bool(row.alternating), self.noise
        game = tree.nodes, tree.infoset_player, tree.infoset_offset, self._parent_slot, self._returns
        state = self._regret, self._prediction, self._policy, self._sum
        discounts = np.empty((0, 4))
        at_once = iterations_at_once(len(self.seats) * tree.n_nodes)
        while self.iteration < last:
            some = min(at_once, last - self.iteration)
            discounts = discounts_until(discounts, self.iteration + some, row)
            _iterate(self._done, some, rule, discounts, seats, *game, state)

    def start_from(self, policy: NDArray[np.float64], regrets: NDArray[np.float64]) -> None:
        """Begin at a policy with the regrets that hold on to it (`start_regrets`), both [n_slots] float64.

        Raises ValueError once iterations were run.
        """
        if self.iteration:
            raise ValueError(f"start_from: must come first; {self.iteration} iterations were run already")
        self._policy[:] = policy
        self._regret[:] = regrets

    def current_policy(self) -> NDArray[np.float64]:
        """Return the policy that the next iteration starts from, [n_slots] float64."""
        return self._policy.copy()

    def average_policy(self) -> NDArray[np.float64]:
        """Return the average policy, [n_slots] float64; where it never plays, the current policy."""
        return normalised(self._sum, self.tree.infoset_offset, self._policy)

    def evaluate(self) -> tuple[float, tuple[float, ...]]:
        """Return (value to team 0 of the average policy, what each deciding seat gets by best-responding)."""
        policy = self.average_policy()
        best = tuple(best_response_value(self.tree, policy, seat) for seat in self.seats)
        return float(root_values(self.tree, policy)[self.tree.teams.index(0)]), best

    def exploitability(self) -> float:
        """Return NashConv / 2 of the average policy, in payoffs; each seat deviates alone."""
        values = root_values(self.tree, self.average_policy())[list(self.seats)]
        return float(sum(self.evaluate()[1]) - values.sum()) / 2

    def state_dict(self) -> dict[str, Any]:
        """Return everything a later `load_state_dict` needs to continue exactly; arrays are copies."""
        return state_of(self.tree, self.iteration, self._arrays, variant=asdict(self.variant))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` returned.

        Raises ValueError if it belongs to another tree or variant, StateError for numbers to which no run
        comes.
        """
        if state.get("format") != 1 or not same_variant(state.get("variant"), self.variant):
            raise ValueError(
                f"resume: the state must be of variant {self.variant.name} with the same parameters; "
                f"got {state.get('variant')}; solve afresh"
            )
        self.iteration = load_state(state, self._arrays, self.tree, ValueError)

    @property
    def _arrays(self) -> dict[str, NDArray[np.float64]]:
        """What a run keeps, by its names in saved states."""
        kept = self._regret, self._prediction, self._policy, self._sum
        return dict(zip(("regret", "prediction", "policy", "strategy_sum"), kept, strict=True))


@kernel
def _iterate(
    done: NDArray[np.int64],
    n: int,
    rule: Rule,
    discounts: NDArray[np.float64],
    seats: NDArray[np.int64],
    nodes: Nodes,
    infoset_player: NDArray[np.int8],
    infoset_offset: NDArray[np.int64],
    parent_slot: NDArray[np.int64],
    returns: NDArray[np.float64],
    state: State,
) -> None:
    """Run `n` more iterations than `done`, [1]."""
    gamma, _, _, alternating, _ = rule
    _, _, policy, strategy_sum = state
    plan = np.empty(len(policy))
    reach = np.empty(len(nodes[0]))
    value = np.empty(len(nodes[0]))
    gain = np.zeros(len(policy))
    for t in range(done[0] + 1, done[0] + n + 1):
        weight = float(t) ** gamma
        if not alternating:
            _accumulate(weight, infoset_offset, parent_slot, policy, plan, strategy_sum)
        for k in range(len(seats)):
            _instantaneous(seats[k], nodes, infoset_offset, policy, returns[seats[k]], reach, value, gain)
            if alternating:
                _learn(t, rule, discounts, seats[k], infoset_player, infoset_offset, gain, state)
                if k == 0:
                    # As on the sequence form: averages hold what the others' regrets were measured against.
                    _accumulate(weight, infoset_offset, parent_slot, policy, plan, strategy_sum)
        if not alternating:
            for seat in seats:
                _learn(t, rule, discounts, seat, infoset_player, infoset_offset, gain, state)
    done[0] += n


@kernel
def _instantaneous(
    seat: int,
    nodes: Nodes,
    infoset_offset: NDArray[np.int64],
    policy: NDArray[np.float64],
    returns: NDArray[np.float64],
    reach: NDArray[np.float64],
    value: NDArray[np.float64],
    gain: NDArray[np.float64],
) -> None:
    """Fill `gain`, at the seat's slots, with its instantaneous counterfactual regrets."""
    parent, first_child, player, infoset, chance_prob = nodes
    n = len(parent)
    for node in range(n):
        up = parent[node]
        reach[node] = chance_prob[node]
        value[node] = returns[node]
        if up >= 0:
            reach[node] *= reach[up]
            if player[up] >= 0 and player[up] != seat:
                reach[node] *= policy[infoset_offset[infoset[up]] + node - first_child[up]]
        if player[node] == seat:
            gain[infoset_offset[infoset[node]] : infoset_offset[infoset[node] + 1]] = 0.0
    for node in range(n - 1, -1, -1):
        up = parent[node]
        if up < 0:
            continue
        if player[up] < 0:
            value[up] += chance_prob[node] * value[node]
        else:
            slot = infoset_offset[infoset[up]] + node - first_child[up]
            value[up] += policy[slot] * value[node]
    for node in range(n):
        up = parent[node]
        if up >= 0 and player[up] == seat:
            slot = infoset_offset[infoset[up]] + node - first_child[up]
            gain[slot] += reach[up] * (value[node] - value[up])


@kernel
def learn_infoset(
    ends: tuple[int, int],
    gain: NDArray[np.float64],
    regret: NDArray[np.float64],
    prediction: NDArray[np.float64],
    policy: NDArray[np.float64],
    rule: tuple[float, float, float, float, float, bool, bool],
) -> None:
    """Add instantaneous regrets, `gain`, to an infoset's regrets, and match its policy to them.

    ends: its first slot, and the one after its last. prediction: not looked at without predictions.
    rule: (discounts of positive and of negative regrets now, and in the next iteration, what counts as 0,
    clip, predictive).
    """
    positive_now, negative_now, positive_next, negative_next, noise, clip, predictive = rule
    first, last = ends
    mass = 0.0
    for s in range(first, last):
        number = regret[s] * (positive_now if regret[s] > 0.0 else negative_now) + gain[s]
        if clip:
            number = max(number, 0.0)
        regret[s] = number
        if predictive:
            prediction[s] = gain[s]
            number = number * (positive_next if number > 0.0 else negative_next) + gain[s]
        policy[s] = number if number > noise else 0.0
        mass += policy[s]
    for s in range(first, last):
        policy[s] = policy[s] / mass if mass > 0.0 else 1.0 / (last - first)


@kernel
def _learn(
    t: int,
    rule: Rule,
    discounts: NDArray[np.float64],
    seat: int,
    infoset_player: NDArray[np.int8],
    infoset_offset: NDArray[np.int64],
    gain: NDArray[np.float64],
    state: State,
) -> None:
    """Add the seat's instantaneous regrets and match its policy to them."""
    _, clip, predictive, _, noise = rule
    regret, prediction, policy, _ = state
    now, later = discounts[t - 1], discounts[t]
    slot_rule = (now[0], now[1], later[0], later[1], noise, clip, predictive)
    for i in range(len(infoset_player)):
        if infoset_player[i] == seat:
            ends = infoset_offset[i], infoset_offset[i + 1]
            learn_infoset(ends, gain, regret, prediction, policy, slot_rule)


@kernel
def _accumulate(
    weight: float,
    infoset_offset: NDArray[np.int64],
    parent_slot: NDArray[np.int64],
    policy: NDArray[np.float64],
    plan: NDArray[np.float64],
    strategy_sum: NDArray[np.float64],
) -> None:
    """Add `weight` times everyone's plan to `strategy_sum`."""
    for i in range(len(parent_slot)):
        reach = plan[parent_slot[i]] if parent_slot[i] >= 0 else 1.0
        for s in range(infoset_offset[i], infoset_offset[i + 1]):
            plan[s] = reach * policy[s]
            strategy_sum[s] += weight * plan[s]
