"""Sweeps over a whole public tree, on several threads: its top by one of them, the subtrees below as tasks.

Every task is a sweep of its own subtree, with numbers that no other touches: results are the same to the bit
for any number of threads.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.public.sweep_kernels import (
    BEST,
    GATHER,
    JOIN,
    POLICY,
    STACK_FIELDS,
    VALUE,
    WHOLE,
    Floats,
    Job,
    Rules,
    Scratch,
    SideArrays,
    TreeArrays,
    sweep,
)
from cfr.public.swept_payoffs import swept_payoffs
from cfr.public.tree import PublicTree, padded

__all__ = ["NO_RULES", "Evaluation", "PolicySweeper", "Sweep", "Sweeper", "usable_cores"]

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

    traverser: the player whose values come up. mode, which: see `cfr.public.sweep_kernels`.
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

        mode: BEST or VALUE of `cfr.public.sweep_kernels`. reach: of the other's private states at the root,
        by default 1.
        """
        sides = self.side(0, policies[0]), self.side(1, policies[1])
        reach = None if reach is None else reach.astype(self.dtype, copy=False)
        found = self.sweep(Sweep(player, mode, POLICY, (0, 0)), NO_RULES, sides, reach)
        return np.asarray(found, np.float64)

    def worth(self, policies: Any) -> Evaluation:
        """Return what a pair of policies is worth, and what best responses win against it."""
        return self.evaluate(POLICY, (0, 0), NO_RULES, (self.side(0, policies[0]), self.side(1, policies[1])))
