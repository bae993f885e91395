"""Monte-Carlo CFR on a tree, for any number of deciding seats: external and outcome sampling.

One iteration is one traversal for each deciding seat. External sampling tries every action of the seat
that learns and samples everyone else's; outcome sampling follows a single history and weighs it by its
probability. Both match regrets.

Averages weigh all iterations alike. For that a seat's policy is noted where it is sampled as it plays, in
walks on which whether an infoset is met does not depend on how the others play: of two seats, while the other
one learns and tries every action; of any other number, on a walk of its own among uniform others. (Noted
where it learns, an iteration would count by whether the others happened to play to the infoset.)
Source: Lanctot, Waugh, Zinkevich and Bowling 2009.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.best_response import exploitability
from cfr.engine.kernels import Counted, iterations_at_once
from cfr.engine.resume import load_state, state_of
from cfr.tree import FlatTree, require_tree
from cfr.values import normalised, uniform
from cfr.variants import check_whole
from games.game import CHANCE, TERMINAL
from games.support.kernel import kernel
from games.support.splitmix import STEP, mixed_word

SAMPLING = ("external", "outcome")
FORMAT = 2
"""Of saved states. In the first, outcome sampling averaged by the others' play, and did not converge."""

Nodes = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int8], NDArray[np.int32], NDArray[np.float64]]
"""Fields of a tree: (first_child, n_children, player, infoset, chance_prob)."""
Tables = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]
"""(infoset_offset, regret, strategy_sum)."""


class MonteCarloError(ValueError):
    """Bad input to Monte-Carlo CFR: the rule, the value received and the next step."""


class MonteCarloSolver(Counted):
    """Monte-Carlo CFR, resumable exactly.

    tree: roots with weights of at least 0; they are sampled in proportion, and values scaled by the total.
    rng: seeds the kernel's own generator, once.
    sampling: "external" or "outcome".
    exploration: outcome sampling plays uniformly with this probability at the learner's nodes.
    iteration: iterations done so far. seats: the seats that decide.
    Raises MonteCarloError for options out of range.
    """

    def __init__(
        self,
        tree: FlatTree,
        rng: np.random.Generator,
        *,
        sampling: str = "external",
        exploration: float = 0.6,
    ) -> None:
        if sampling not in SAMPLING:
            raise MonteCarloError(f"sampling must be one of {', '.join(SAMPLING)}; got {sampling!r}")
        if not 0 < exploration <= 1:
            raise MonteCarloError(f"exploration must be in (0, 1]; got {exploration}")
        require_tree(tree)
        weights = tree.chance_prob[: tree.n_roots]
        if not (np.all(weights >= 0) and weights.sum() > 0):
            raise MonteCarloError("roots must have weights of at least 0 that are not all 0")
        self.tree = tree
        self.sampling = sampling
        self.exploration = float(exploration)
        self._done = np.zeros(1, np.int64)
        self.seats = tuple(int(seat) for seat in np.unique(tree.infoset_player))
        self._random = rng.integers(0, 2**64, 1, np.uint64)
        self._regret, self._sum = np.zeros(tree.n_slots), np.zeros(tree.n_slots)
        returns = np.zeros((tree.n_nodes, tree.n_players))
        returns[tree.terminal] = tree.returns
        self._returns = np.ascontiguousarray(returns.T)

    def run(self, n: int) -> None:
        """Run `n` more iterations. Raises MonteCarloError unless that is a whole number of at least 0."""
        last = self.iteration + check_whole("iterations", n, MonteCarloError)
        tree, seats = self.tree, np.array(self.seats, np.int64)
        nodes = tree.first_child, tree.n_children, tree.player, tree.infoset, tree.chance_prob
        tables = tree.infoset_offset, self._regret, self._sum
        sizes = int(tree.n_children.max()), len(tree.level_offsets)
        exploration = self.exploration if self.sampling == "outcome" else 0.0
        at_once = iterations_at_once(sizes[1] if exploration else tree.n_nodes)
        game = seats, tree.n_roots, nodes, tables, self._returns
        while self.iteration < last:
            some = min(at_once, last - self.iteration)
            _run(self._done, some, *game, self._random, sizes, exploration)

    def current_policy(self) -> NDArray[np.float64]:
        """Return the policy that matches the regrets, [n_slots] float64."""
        return self._normalised(np.maximum(self._regret, 0.0))

    def average_policy(self) -> NDArray[np.float64]:
        """Return the average policy, [n_slots] float64; uniform where it was never sampled."""
        return self._normalised(self._sum)

    def exploitability(self) -> float:
        """Return NashConv / 2 of the average policy, in payoffs, exactly."""
        return exploitability(self.tree, self.average_policy())

    def _normalised(self, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        offset = self.tree.infoset_offset
        return normalised(mass, offset, uniform(offset))

    def state_dict(self) -> dict[str, Any]:
        """Return everything a later `load_state_dict` needs to continue exactly; arrays are copies."""
        about = {"sampling": self.sampling, "exploration": self.exploration, "random": self._random.copy()}
        return state_of(self.tree, self.iteration, self._arrays, **about) | {"format": FORMAT}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` returned.

        Raises MonteCarloError if it belongs to another tree or other options, StateError for numbers to
        which no run comes.
        """
        mine = (FORMAT, self.sampling, self.exploration)
        theirs = tuple(state.get(name) for name in ("format", "sampling", "exploration"))
        if mine != theirs:
            raise MonteCarloError(
                f"resume: format, sampling and exploration must be {mine}; got {theirs}; solve afresh"
            )
        random = np.asarray(state.get("random"))
        if random.shape != (1,) or random.dtype.kind not in "ui":
            raise MonteCarloError(f"resume: random must be one whole number; got {random}; solve afresh")
        self.iteration = load_state(state, self._arrays, self.tree, MonteCarloError)
        self._random[:] = random.astype(np.uint64)

    @property
    def _arrays(self) -> dict[str, NDArray[np.float64]]:
        """What a run keeps, by its names in saved states."""
        return {"regret": self._regret, "strategy_sum": self._sum}


@kernel
def _uniform(random: NDArray[np.uint64]) -> float:
    """Return the next number in [0, 1), of SplitMix64."""
    random[0] += STEP
    return float(mixed_word(random[0]) >> np.uint64(11)) * 2.0**-53


@kernel
def _pick_node(
    first: int, n: int, weight: NDArray[np.float64], total: float, random: NDArray[np.uint64]
) -> int:
    """Return one of the nodes `first` … `first + n - 1`, in proportion to `weight`, which sums to `total`."""
    left = _uniform(random) * total
    last = first
    for node in range(first, first + n):
        if weight[node] > 0:
            last = node
            left -= weight[node]
            if left < 0:
                break
    return last


@kernel
def _pick_outcome(node: int, nodes: Nodes, random: NDArray[np.uint64]) -> int:
    """Return the node to which chance leads."""
    first, n, chance_prob = nodes[0][node], nodes[1][node], nodes[4]
    return _pick_node(first, n, chance_prob, chance_prob[first : first + n].sum(), random)


@kernel
def _match(infoset: int, tables: Tables, policy: NDArray[np.float64]) -> tuple[int, int]:
    """Write the infoset's current policy to `policy`; return its first slot and number of actions."""
    offset, regret, _ = tables
    first = offset[infoset]
    n = offset[infoset + 1] - first
    mass = 0.0
    for k in range(n):
        mass += max(regret[first + k], 0.0)
    for k in range(n):
        policy[k] = max(regret[first + k], 0.0) / mass if mass > 0 else 1.0 / n
    return first, n


@kernel
def _note_average(
    root: int,
    seat: int,
    nodes: Nodes,
    tables: Tables,
    random: NDArray[np.uint64],
    policy: NDArray[np.float64],
) -> None:
    """Walk from `root`: `seat` plays its policy, which is added to its average, and the others uniformly."""
    first_child, n_children, player, infoset, _ = nodes
    strategy_sum = tables[2]
    node = root
    while player[node] != TERMINAL:
        n = n_children[node]
        if player[node] == CHANCE:
            node = _pick_outcome(node, nodes, random)
        elif player[node] == seat:
            first, n = _match(infoset[node], tables, policy)
            for k in range(n):
                strategy_sum[first + k] += policy[k]
            node = first_child[node] + _pick_node(0, n, policy, 1.0, random)
        else:
            node = first_child[node] + int(_uniform(random) * n)


@kernel
def _external(
    root: int,
    seat: int,
    averaged: int,
    nodes: Nodes,
    tables: Tables,
    returns: NDArray[np.float64],
    random: NDArray[np.uint64],
    frames: NDArray[np.int64],
    policy: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    """Traverse from `root` for `seat`; the seat `averaged`, if any, adds to its average policy.

    frames, policy, values: scratch for each own decision on the way: (node, first slot, actions, actions
    done), the policy there, and the values of the actions done.
    """
    first_child, _, player, infoset, _ = nodes
    _, regret, strategy_sum = tables
    depth = 0
    node = root
    while True:
        while player[node] != TERMINAL and player[node] != seat:
            if player[node] == CHANCE:
                node = _pick_outcome(node, nodes, random)
                continue
            first, n = _match(infoset[node], tables, policy[depth])
            if player[node] == averaged:
                for k in range(n):
                    strategy_sum[first + k] += policy[depth, k]
            node = first_child[node] + _pick_node(0, n, policy[depth], 1.0, random)
        if player[node] == seat:
            first, n = _match(infoset[node], tables, policy[depth])
            frames[depth, 0], frames[depth, 1], frames[depth, 2], frames[depth, 3] = node, first, n, 0
            depth += 1
            node = first_child[node]
            continue
        value = returns[node]
        while depth > 0:
            top = depth - 1
            first, n, done = frames[top, 1], frames[top, 2], frames[top, 3]
            values[top, done] = value
            if done + 1 < n:
                frames[top, 3] = done + 1
                node = first_child[frames[top, 0]] + done + 1
                break
            value = 0.0
            for k in range(n):
                value += policy[top, k] * values[top, k]
            for k in range(n):
                regret[first + k] += values[top, k] - value
            depth = top
        if depth == 0:
            break


@kernel
def _outcome(
    root: int,
    seat: int,
    averaged: int,
    total: float,
    nodes: Nodes,
    tables: Tables,
    returns: NDArray[np.float64],
    random: NDArray[np.uint64],
    exploration: float,
    decision: NDArray[np.int64],
    policy: NDArray[np.float64],
    chosen: NDArray[np.float64],
) -> None:
    """Follow one history from `root` for `seat`; the seat `averaged`, if any, adds to its average policy.

    total: of the roots' weights. decision, policy, chosen: scratch for each own decision on the way: (first
    slot, actions, choice), the policy at one, and the choice's probability.
    """
    first_child, _, player, infoset, _ = nodes
    _, regret, strategy_sum = tables
    node = root
    # Own reach by sampling; the others and chance are sampled as they play.
    sampled = 1.0
    decisions = 0
    while player[node] != TERMINAL:
        if player[node] == CHANCE:
            node = _pick_outcome(node, nodes, random)
            continue
        first, m = _match(infoset[node], tables, policy)
        if player[node] != seat:
            if player[node] == averaged:
                for k in range(m):
                    strategy_sum[first + k] += policy[k] / sampled
            node = first_child[node] + _pick_node(0, m, policy, 1.0, random)
            continue
        if _uniform(random) < exploration:
            choice = int(_uniform(random) * m)
        else:
            choice = _pick_node(0, m, policy, 1.0, random)
        decision[decisions, 0], decision[decisions, 1], decision[decisions, 2] = first, m, choice
        chosen[decisions] = policy[choice]
        sampled *= exploration / m + (1.0 - exploration) * policy[choice]
        decisions += 1
        node = first_child[node] + choice
    # The others' reach cancels against their sampling; what is left is weighed by the own one.
    value = total * returns[node] / sampled
    for d in range(decisions - 1, -1, -1):
        first, m, choice = decision[d, 0], decision[d, 1], decision[d, 2]
        regret[first + choice] += value
        value *= chosen[d]
        for k in range(m):
            regret[first + k] -= value


@kernel
def _run(
    done: NDArray[np.int64],
    n: int,
    seats: NDArray[np.int64],
    n_roots: int,
    nodes: Nodes,
    tables: Tables,
    returns: NDArray[np.float64],
    random: NDArray[np.uint64],
    sizes: tuple[int, int],
    exploration: float,
) -> None:
    """Run `n` more iterations than `done`, [1].

    sizes: the most actions, and levels. exploration: 0 for external sampling.
    """
    most, depth = sizes
    chance_prob = nodes[4]
    total = chance_prob[:n_roots].sum()
    frames = np.empty((depth, 4), np.int64)
    policy, values = np.empty((depth, most)), np.empty((depth, most))
    chosen = np.empty(depth)
    for _ in range(n):
        for k in range(len(seats)):
            root = _pick_node(0, n_roots, chance_prob, total, random)
            seat = seats[k]
            pays = returns[seat]
            if len(seats) == 2:
                averaged = seats[1 - k]
            else:
                averaged = TERMINAL
                _note_average(root, seat, nodes, tables, random, policy[0])
            if exploration == 0.0:
                _external(root, seat, averaged, nodes, tables, pays, random, frames, policy, values)
            else:
                drawn = random, exploration, frames, policy[0], chosen
                _outcome(root, seat, averaged, total, nodes, tables, pays, *drawn)
    done[0] += n
