"""Sweeps over a public tree: the opponent's reaches go down, the traverser's values come up.

A sweep updates one player's regrets against the other's policy, and on its way adds that policy to the
other's average, for its reach is at hand there. Subtrees that the opponent does not reach pay nothing and
teach nothing: they are left out, and the discounts that they missed are made up for when they are met again.
Vectors over private states lie in `vec`, a stack as long as the path.

On several threads one of them sweeps the top of the tree, and the subtrees below are tasks. Every task is a
sweep of its own subtree, with numbers that no other touches: results are the same to the bit for any number
of threads.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.simd import (
    LANES,
    Numbers,
    above,
    address,
    any_nonzero,
    fma,
    maximum,
    select_positive,
    splat,
    store,
    take,
    zeros_packed,
)
from cfr.public.swept_payoffs import SweptPayoffs, add_payoffs, swept_payoffs
from cfr.public.tree import PublicTree, padded
from games.support.kernel import kernel

Floats = NDArray[Any]
"""float32 or float64, the type of the whole solver."""
TreeArrays = tuple[
    NDArray[np.int8], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]
]
"""(player, first_edge, child, size, row) of a `PublicTree`."""
SideArrays = tuple[Numbers, Numbers, Numbers, NDArray[np.int32], Numbers, Floats, int, int]
"""What is kept of one player: (regret, prediction, sums, stamp, held, free, wide, private states); free
[wide] is 1 for private states with which the player learns, 0 for those that go on as they began."""
Scratch = tuple[Floats, NDArray[np.int64], NDArray[np.int64], Floats, Floats]
"""(vec, stack, task_node, task_reach, task_value) of one thread."""
Job = tuple[int, int, int, int, int, int, int, float, int, int, bool]
"""(traverser, iteration t, what it does, which policies, phase, size of tasks, node, weight of the average,
iterations in which the traverser's and the opponent's regrets were last updated, hold)."""
Rules = tuple[bool, bool, float, NDArray[np.float64]]
"""(clip, predictive, noise, discount table) of a variant."""


def set_round(sides: tuple[SideArrays, SideArrays], t: int) -> None:
    """Tell packed numbers the iteration that they are stored in."""
    for side in sides:
        if isinstance(side[0], tuple):
            side[0][2][0] = t


def swept_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the type of the numbers that sweeps count with, where those kept are of a type."""
    return np.dtype(np.float32 if dtype == np.int16 else dtype)


def new_side(tree: PublicTree, player: int, dtype: Any, *, predictive: bool, held: bool) -> SideArrays:
    """Return a player's arrays before the first iteration.

    dtype: float64 or float32; int16 for packed numbers. held: whether its regrets may be held back.
    """
    wide = padded(tree.n_private[player])
    size = tree.n_rows[player] * wide

    tick = np.zeros(1, np.int32)

    def zeros(n: int) -> Numbers:
        return zeros_packed(n, tick) if dtype == np.int16 else np.zeros(n, dtype)

    return (
        zeros(size),
        zeros(size if predictive else LANES),
        zeros(size),
        np.zeros(len(tree), np.int32),
        zeros(size if held else LANES),
        np.ones(wide, swept_dtype(dtype)),
        wide,
        tree.n_private[player],
    )


WHOLE, GATHER, JOIN = 0, 1, 2
"""Phases: the whole subtree; its top, handing reaches to the tasks below it; the top again, from their
values."""
LEARN, BEST, VALUE = 0, 1, 2
"""What the traverser does: update its regrets, respond best, or follow its own policy."""
CURRENT, AVERAGE, POLICY = 0, 1, 2
"""Which policy is followed: that of the regrets; the sums', and the regrets' where the sums are zero; the
sums', and uniform play where they are zero."""
STACK_FIELDS = 6
_NODE, _EDGE, _REACH, _VALUE, _BASE, _BLOCK = 0, 1, 2, 3, 4, 5


@kernel(nogil=True)
def _match(side: Any, node: int, row: int, n: int, vec: Any, at: int, which: int, rule: Any) -> None:
    """Write a side's policy at a node to vec[at:], [n, wide]; row: the node's first. rule: see `sweep`."""
    regret, prediction, sums, stamp, _, _, wide, _ = side
    last, predictive, noise, positive_next, negative_next = rule
    threshold, equal, one = splat(regret, noise), splat(regret, 1.0 / n), splat(regret, 1.0)
    positive, negative = splat(regret, positive_next), splat(regret, negative_next)
    start = row * wide
    expectant = which != POLICY and predictive and last > 0 and stamp[node] == last
    for j in range(0, wide, LANES):
        mass = splat(regret, 0.0)
        if which != POLICY:
            for k in range(j, n * wide, wide):
                number = take(regret, start + k)
                if expectant:
                    factor = select_positive(number, positive, negative)
                    number = fma(number, factor, take(prediction, start + k))
                number = above(number, threshold)
                store(vec, at + k, number)
                mass = mass + number
        scale = one / mass
        for k in range(j, n * wide, wide):
            store(vec, at + k, select_positive(mass, take(vec, at + k) * scale, equal))
        if which != CURRENT:
            mass = splat(regret, 0.0)
            for k in range(j, n * wide, wide):
                mass = mass + take(sums, start + k)
            scale = one / mass
            for k in range(j, n * wide, wide):
                store(vec, at + k, select_positive(mass, take(sums, start + k) * scale, take(vec, at + k)))


@kernel(nogil=True)
def _reach(side: Any, row: int, n: int, vec: Any, at: int, reach: int, weight: float) -> None:
    """Multiply a policy at vec[at:] by the reach at vec[reach:]; add weight times that to the sums."""
    wide, sums = side[6], side[2]
    weights = splat(vec, weight)
    start = row * wide
    for j in range(0, wide, LANES):
        mine = take(vec, reach + j)
        for k in range(j, n * wide, wide):
            here = take(vec, at + k) * mine
            store(vec, at + k, here)
            if weight > 0:
                store(sums, start + k, fma(weights, here, take(sums, start + k)))


@kernel(nogil=True)
def _add_regrets(side: Any, start: int, at: int, gain: Any, rule: Any) -> None:
    """Add instantaneous regrets at one place. rule: (positive factor, negative factor, clip, predictive)."""
    regret, prediction = side[0], side[1]
    positive, negative, clip, predictive = rule
    old = take(regret, start + at)
    new = fma(old, select_positive(old, splat(regret, positive), splat(regret, negative)), gain)
    if clip:
        new = above(new, splat(regret, 0.0))
    store(regret, start + at, new)
    if predictive:
        store(prediction, start + at, gain)


@kernel(nogil=True)
def _learn(side: Any, row: int, n: int, vec: Any, block: int, value: int, rule: Any, hold: bool) -> None:
    """Add the policy's value at a node to vec[value:] and its regrets to the side's, or hold them back.

    vec[block:] has the policy, then the values of its n actions.
    """
    wide, held, free = side[6], side[4], side[5]
    start, q = row * wide, block + n * wide
    for j in range(0, wide, LANES):
        expected = splat(vec, 0.0)
        for k in range(j, n * wide, wide):
            expected = fma(take(vec, block + k), take(vec, q + k), expected)
        store(vec, value + j, take(vec, value + j) + expected)
        may_change = take(free, j)
        for k in range(j, n * wide, wide):
            gain = (take(vec, q + k) - expected) * may_change
            if hold:
                store(held, start + k, gain)
            else:
                _add_regrets(side, start, k, gain, rule)


@kernel(nogil=True)
def _follow(wide: int, n: int, vec: Any, block: int, value: int, best: bool) -> None:
    """Add a node's value to vec[value:]: of its policy, or of its best action for each private state."""
    q = block + n * wide
    for j in range(0, wide, LANES):
        if best:
            expected = take(vec, q + j)
            for k in range(j + wide, n * wide, wide):
                expected = maximum(expected, take(vec, q + k))
        else:
            expected = splat(vec, 0.0)
            for k in range(j, n * wide, wide):
                expected = fma(take(vec, block + k), take(vec, q + k), expected)
        store(vec, value + j, take(vec, value + j) + expected)


@kernel(nogil=True)
def _discounts(stamp: int, t: int, discount: Any) -> tuple[float, float]:
    """Return what positive and negative regrets last updated in `stamp` are discounted by, before t."""
    now = 4 * (t - 1)
    positive, negative = discount[now], discount[now + 1]
    if stamp != t - 1 and discount[now + 2] + discount[now + 3] < 0.0:
        since = 4 * max(stamp - 1, 0)
        positive = np.exp(discount[now + 2] - discount[since + 2])
        negative = np.exp(discount[now + 3] - discount[since + 3])
    return positive, negative


@kernel(nogil=True)
def _reached(vec: Any, at: int, wide: int) -> bool:
    """Return whether a reach is not all zero."""
    found = False
    for j in range(at, at + wide, LANES):
        found |= any_nonzero(take(vec, j))
    return found


@kernel(nogil=True)
def sweep(
    job: Job,
    rules: Rules,
    tree: TreeArrays,
    both: tuple[SideArrays, SideArrays],
    payoffs: SweptPayoffs,
    room: Scratch,
) -> int:
    """Sweep the subtree of a node once; return how many tasks its top had.

    both: the sides of the traverser and of the opponent. payoffs: the traverser's. room: its `vec` begins
    with the opponent's reach at the node, and the traverser's values are added to what follows it.
    """
    me, t, mode, which, phase, cut, root, weight, last_me, last_other, hold = job
    clip, predictive, noise, table = rules
    discount = address(table)
    player, first_edge, child, size, rows = address(tree)
    mine, other, payoff = address(both[0]), address(both[1]), address(payoffs)
    wide, other_wide = mine[6], other[6]
    sizes = other[7], other_wide, wide
    vec, stack, task_node, task_reach, task_value = address(room)
    my_rule = (last_me, predictive, noise, discount[4 * last_me], discount[4 * last_me + 1])
    other_rule = (last_other, predictive, noise, discount[4 * last_other], discount[4 * last_other + 1])
    tasks = 0
    # The node to enter, with its reach and value in `vec`.
    node, reach, value, free = root, 0, other_wide, other_wide + wide
    depth = -1
    entering = True
    while True:
        if entering:
            entering = False
            depth += 1
            at = STACK_FIELDS * depth
            edge = first_edge[node]
            n = first_edge[node + 1] - edge
            stack[at + _NODE], stack[at + _EDGE] = node, edge
            stack[at + _REACH], stack[at + _VALUE], stack[at + _BLOCK] = reach, value, free
            seat = player[node]
            if seat == me:
                if phase != GATHER:
                    if mode != BEST:
                        _match(mine, node, rows[node], n, vec, free, which, my_rule)
                    for k in range(free + n * wide, free + 2 * n * wide, LANES):
                        store(vec, k, splat(vec, 0.0))
                free += 2 * n * wide
            elif seat >= 0:
                _match(other, node, rows[node], n, vec, free, which, other_rule)
                _reach(other, rows[node], n, vec, free, reach, 0.0 if phase == JOIN else weight)
                free += n * other_wide
            stack[at + _BASE] = free
        at = STACK_FIELDS * depth
        node, edge = stack[at + _NODE], stack[at + _EDGE]
        reach, value, block = stack[at + _REACH], stack[at + _VALUE], stack[at + _BLOCK]
        seat, first = player[node], first_edge[node]
        n = first_edge[node + 1] - first
        if edge == first + n:
            if seat == me and phase != GATHER:
                if mode == LEARN:
                    stamp = mine[3]
                    positive, negative = _discounts(stamp[node], t, discount)
                    rule = (positive, negative, clip, predictive)
                    _learn(mine, rows[node], n, vec, block, value, rule, hold)
                    if not hold:
                        stamp[node] = t
                else:
                    _follow(wide, n, vec, block, value, mode == BEST)
            if depth == 0:
                return tasks
            depth -= 1
            continue
        stack[at + _EDGE] = edge + 1
        to = child[edge]
        if seat == me:
            value = block + (n + edge - first) * wide
        elif seat >= 0:
            reach = block + (edge - first) * other_wide
            if not _reached(vec, reach, other_wide):
                continue
        if to < 0:
            if phase != GATHER:
                add_payoffs(payoff, -1 - to, sizes, vec, reach, value)
        elif size[to] <= cut:
            if phase == GATHER:
                task_node[tasks] = to
                for j in range(0, other_wide, LANES):
                    store(task_reach, tasks * other_wide + j, take(vec, reach + j))
            else:
                for j in range(0, wide, LANES):
                    store(vec, value + j, take(vec, value + j) + take(task_value, tasks * wide + j))
            tasks += 1
        else:
            node, free = to, stack[at + _BASE]
            entering = True


@kernel(nogil=True)
def release_side(seat: int, t: int, rules: Rules, tree: TreeArrays, arrays: SideArrays) -> None:
    """Add the regrets that a sweep of this seat's held back in iteration t."""
    clip, predictive, _, table = rules
    player, first_edge, _, _, rows = tree
    side, discount = address(arrays), address(table)
    wide, stamp, held = side[6], side[3], side[4]
    for node in range(len(player)):
        if player[node] != seat:
            continue
        start, n = rows[node] * wide, first_edge[node + 1] - first_edge[node]
        touched = False
        for k in range(0, n * wide, LANES):
            touched |= any_nonzero(take(held, start + k))
        if not touched:
            continue
        positive, negative = _discounts(stamp[node], t, discount)
        rule = (positive, negative, clip, predictive)
        for k in range(0, n * wide, LANES):
            _add_regrets(side, start, k, take(held, start + k), rule)
            store(held, start + k, splat(held, 0.0))
        stamp[node] = t


TASKS = 256
"""About so many tasks a sweep is cut into."""
LEAST_TASK = 1024
"""Nodes below which a subtree is not worth a task of its own."""
NO_RULES: Rules = (False, False, 0.0, np.array([[1.0, 1.0, 0.0, 0.0]]))
"""Policies that are followed, not learnt, discount nothing."""


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Sweep:
    """What one sweep does.

    traverser: the player whose values come up. mode, which: see `cfr.public.sweeper`.
    t: the iteration, from 1. weight: of the opponent's policy in its average; 0 leaves the average alone.
    updated: for each player, the iteration in which its regrets were last updated, 0 if never.
    hold: whether the traverser's regrets are held back.
    """

    traverser: int
    mode: int
    which: int
    updated: tuple[int, int]
    t: int = 1
    weight: float = 0.0
    hold: bool = False

    def job(self, phase: int, cut: int, node: int) -> Job:
        """Return what the kernel takes."""
        me = self.traverser
        numbers = (me, self.t, self.mode, self.which, phase, cut, node, self.weight)
        return (*numbers, self.updated[me], self.updated[1 - me], self.hold)


@dataclass(frozen=True)
class Evaluation:
    """What a pair of policies is worth, in payoffs.

    value: expected payoff to player 0. best_response: what each player gets by best-responding alone.
    """

    value: float
    best_response: tuple[float, float]

    @property
    def exploitability(self) -> float:
        """NashConv / 2."""
        return sum(self.best_response) / 2


class Sweeper:
    """The tree's arrays, the payoffs in a solver's type, and the threads that sweep.

    dtype: float32 or float64. threads: how many sweep at once, at least 1.
    """

    def __init__(self, tree: PublicTree, dtype: Any, threads: int) -> None:
        self.tree, self.dtype = tree, np.dtype(dtype)
        self.wide = padded(tree.n_private[0]), padded(tree.n_private[1])
        # In memory, and of one type for the compiler: those of a file can only be read.
        names = ("player", "first_edge", "child", "size", "row")
        held: Any = tuple(np.require(getattr(tree, name), requirements=["C", "W"]) for name in names)
        self.arrays: TreeArrays = held
        used, spare = tree.kinds_used, self._room()
        self.payoffs = tuple(swept_payoffs(tree.payoffs, used, p, self.dtype, spare) for p in (0, 1))
        cut = max(LEAST_TASK, len(tree) // TASKS)
        self._cut = cut if cut < len(tree) else 0
        most = self._most_tasks() if self._cut else 1
        self._top = self._scratch(most)
        self._idle = [self._scratch(1) for _ in range(threads if self._cut else 0)]
        self._pool = ThreadPoolExecutor(threads) if self._cut and threads > 1 else None

    def _room(self) -> int:
        """Return how many numbers the vectors of a path take."""
        actions = int(np.diff(self.tree.first_edge).max())
        return 2 * max(self.wide) * (1 + actions * (self.tree.depth + 2))

    def _most_tasks(self) -> int:
        size, node, found = self.tree.size, 0, 0
        while node < len(size):
            task = size[node] <= self._cut
            found += int(task)
            node += int(size[node]) if task else 1
        return found

    def _scratch(self, tasks: int) -> Scratch:
        wide = max(self.wide)
        return (
            np.zeros(self._room() + wide + 1, self.dtype),
            np.zeros(STACK_FIELDS * (self.tree.depth + 2), np.int64),
            np.zeros(tasks, np.int64),
            np.zeros((tasks, wide), self.dtype),
            np.zeros((tasks, wide), self.dtype),
        )

    def sweep(
        self, what: Sweep, rules: Rules, sides: tuple[SideArrays, SideArrays], reach: Floats | None = None
    ) -> Floats:
        """Return the traverser's values at the root, [its private states].

        reach: of the opponent's private states at the root, by default 1.
        """
        me, n = what.traverser, self.tree.n_private[what.traverser]
        start = np.ones(self.tree.n_private[1 - me], self.dtype) if reach is None else reach
        pair = (sides[0], sides[1]) if me == 0 else (sides[1], sides[0])
        if not self._cut:
            return self._run(self._top, what.job(WHOLE, 0, 0), rules, pair, start)[0][:n]
        _, tasks = self._run(self._top, what.job(GATHER, self._cut, 0), rules, pair, start)
        _, _, nodes, reaches, values = self._top
        wide, other_wide = self.wide[me], self.wide[1 - me]
        flat_reach, flat_value = reaches.reshape(-1), values.reshape(-1)
        # Tasks are taken by whichever thread is free, largest first; each writes its own places.
        queue = iter(np.argsort(-self.tree.size[nodes[:tasks]], kind="stable").tolist())

        def work(scratch: Scratch) -> None:
            for k in queue:
                job = what.job(WHOLE, 0, int(nodes[k]))
                vector = flat_reach[k * other_wide : (k + 1) * other_wide]
                flat_value[k * wide : (k + 1) * wide] = self._run(scratch, job, rules, pair, vector)[0]

        if self._pool is None:
            work(self._idle[0])
        else:
            list(self._pool.map(work, self._idle))
        return self._run(self._top, what.job(JOIN, self._cut, 0), rules, pair, start)[0][:n]

    def evaluate(
        self, which: int, updated: tuple[int, int], rules: Rules, sides: tuple[SideArrays, SideArrays]
    ) -> Evaluation:
        """Return what policies are worth. which, updated: as of `Sweep`."""

        def value(player: int, mode: int) -> float:
            return float(self.sweep(Sweep(player, mode, which, updated), rules, sides).sum(dtype=np.float64))

        return Evaluation(value(0, VALUE), (value(0, BEST), value(1, BEST)))

    def _run(
        self, scratch: Scratch, job: Job, rules: Rules, pair: tuple[SideArrays, SideArrays], reach: Floats
    ) -> tuple[Floats, int]:
        """Run one sweep of the kernel; return (values of the traverser at its node, tasks of the top)."""
        vec, (mine, other) = scratch[0], pair
        wide, other_wide = mine[6], other[6]
        vec[: wide + other_wide] = 0.0
        vec[: len(reach)] = reach
        tasks = sweep(job, rules, self.arrays, pair, self.payoffs[job[0]], scratch)
        return vec[other_wide : other_wide + wide].copy(), tasks

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


class PolicySweeper(Sweeper):
    """Sweeps of fixed policies over one public tree, with room to spare for what a sweep writes nowhere.

    Policies are a pair, [rows, wide] of each player, of the sweeper's type: numbers in proportion to which
    actions are played.
    """

    def __init__(self, tree: PublicTree, dtype: Any = np.float64, threads: int | None = None) -> None:
        super().__init__(tree, dtype, threads or usable_cores())
        self._none, self._stamp = np.zeros(1, self.dtype), np.zeros(len(tree), np.int32)

    def side(self, player: int, numbers: Floats) -> SideArrays:
        """Return a player's policy as the arrays that a sweep follows."""
        rows, wide = np.ascontiguousarray(numbers).reshape(-1), self.wide[player]
        held = self._none, np.ones(wide, self.dtype), wide, self.tree.n_private[player]
        return rows, self._none, rows, self._stamp, *held

    def values(
        self, player: int, mode: int, policies: Any, reach: Floats | None = None
    ) -> NDArray[np.float64]:
        """Return a player's counterfactual values at the root, [its private states], in payoffs times chance.

        mode: BEST or VALUE of `cfr.public.sweeper`. reach: of the other's private states at the root,
        by default 1.
        """
        sides = self.side(0, policies[0]), self.side(1, policies[1])
        reach = None if reach is None else reach.astype(self.dtype, copy=False)
        found = self.sweep(Sweep(player, mode, POLICY, (0, 0)), NO_RULES, sides, reach)
        return np.asarray(found, np.float64)

    def worth(self, policies: Any) -> Evaluation:
        """Return what a pair of policies is worth, and what best responses win against it."""
        return self.evaluate(POLICY, (0, 0), NO_RULES, (self.side(0, policies[0]), self.side(1, policies[1])))
