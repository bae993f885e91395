"""Sequence-form CFR: `solve` a two-player tree, or drive a `Solver` by hand and resume it exactly."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from math import inf, isnan
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cfr.engine import kernels
from cfr.engine.kernels import Counted, FormArrays, Pair
from cfr.engine.layout import ROWS, WIDE, State
from cfr.engine.resume import other_variant, read_state, same_variant, start_regrets, state_of
from cfr.policies.lock import LockedTree
from cfr.policies.policy import Policy
from cfr.sequence_form import SequenceForm, is_two_sided, sequence_form
from cfr.tree import FlatTree
from cfr.tree_cfr import TreeSolver
from cfr.values import check_policy, check_probabilities, uniform
from cfr.variants import DEFAULT_VARIANT, REGRET_NOISE, START_WEIGHT, Variant, check_whole, variant


class SolverError(ValueError):
    """Bad input to a solver: the rule, the value received and the next step."""


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    iteration: iterations done, since the start (resumed ones included).
    exploitability: of the average policy, NashConv / 2, in payoffs.
    seconds: wall-clock time of this call so far.
    """

    iteration: int
    exploitability: float
    seconds: float


@dataclass(frozen=True)
class Stop:
    """What ends a run besides its iterations and its target.

    deadline: an instant of `time.perf_counter()`; an infinite one never comes.
    callback: called with a `Progress` at every check; the run ends when it returns True.
    check_every: iterations between checks, at least 1; by default they grow with the run, 5 % of it apart.
    """

    deadline: float | None = None
    callback: Callable[[Progress], bool | None] | None = None
    check_every: int | None = None

    def __post_init__(self) -> None:
        if self.check_every is not None:
            check_whole("solve: check_every", self.check_every, SolverError, 1)
        if self.deadline is not None and isnan(self.deadline):
            raise SolverError(
                f"solve: deadline must be an instant of time.perf_counter(); got {self.deadline}"
            )


NEVER = Stop()
"""Nothing."""


@dataclass(frozen=True, eq=False)
class Start:
    """A policy to begin at instead of the uniform one.

    policy: [n_slots] float64, on the slots of the tree that is solved.
    weight: iterations' worth of regrets with which it is held on to at first, positive and finite (see
        `start_regrets`).
    """

    policy: NDArray[np.float64]
    weight: float = START_WEIGHT


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of a run.

    policy: [n_slots] float64, the average policy on the tree's slots.
    current: [n_slots] float64, the policy of the last iteration.
    value: expected payoff to team 0 (side 0) of the average policy, summed over weighted roots.
    best_response: what each deciding seat (side 0 and side 1) gets by best-responding alone to it.
    exploitability: NashConv / 2 of the average policy, in payoffs.
    iteration: iterations done.
    seconds: wall-clock time of this run.
    variant: what ran.
    stopped: what ended it: "iterations", "target", "deadline" or "callback".
    """

    policy: NDArray[np.float64]
    current: NDArray[np.float64]
    value: float
    best_response: tuple[float, ...]
    exploitability: float
    iteration: int
    seconds: float
    variant: Variant
    stopped: str


class Solver(Counted):
    """CFR on a sequence form, resumable exactly.

    iteration: iterations done so far.
    noise: regrets of at most this, in payoffs, are matched as if they were 0, so that rounding does not
        break ties.
    lock: infosets whose play is fixed (`LockedTree`); the game must then be a tree. Policies are on its slots
        all the same; values and exploitability are those of the locked game.
    """

    def __init__(
        self,
        game_form: FlatTree | SequenceForm,
        variant_name: str | Variant = DEFAULT_VARIANT,
        *,
        lock: Policy | None = None,
    ):
        self._locked = None if lock is None else LockedTree(game_form, lock)
        game_form = game_form if self._locked is None else self._locked.tree
        form = game_form if isinstance(game_form, SequenceForm) else sequence_form(game_form)
        self.form = form
        self.variant = variant(variant_name)
        self._done = np.zeros(1, np.int64)
        v, lead = self.variant, 1 + (form.sides[0].n_sequences == 1)  # who decides alone leads
        self.noise = max(REGRET_NOISE * form.payoff_scale * form.total_weight, kernels.LEAST_MASS)
        row = (v.alpha, v.beta, v.gamma, v.clip, v.predictive, v.alternating * lead, self.noise)
        self._variant = tuple(float(number) for number in row)
        self._discounts = kernels.discounts_until(np.zeros((0, 4)), 0, v)
        self._play = FormArrays(form)
        sides = form.layout.sides
        self._regret, self._prediction, self._policy, self._sum = (self._play.zeros() for _ in range(4))
        self._stamp = np.zeros(len(sides[0].bundle), np.int32), np.zeros(len(sides[1].bundle), np.int32)
        self._work = self._play.work()
        for side, policy, plex in zip(sides, self._policy, form.sides, strict=True):
            policy[side.position[1:]] = uniform(plex.start)

    def run(self, n: int) -> None:
        """Run `n` more iterations. Raises SolverError unless that is a whole number of at least 0."""
        last = self.iteration + check_whole("iterations", n, SolverError)
        states = self._state(0), self._state(1)
        at_once = kernels.iterations_at_once(len(self.form.payoff) + self.form.n_slots)
        while self.iteration < last:
            some = min(at_once, last - self.iteration)
            self._discounts = kernels.discounts_until(self._discounts, self.iteration + some, self.variant)
            rules, layout = (self._variant, self._discounts), (self._play.sides, self._play.boxes)
            kernels.iterate(self._play.ways(some), self._done, some, *rules, *layout, states, self._work)

    def _state(self, side: int) -> State:
        """Return what the kernels update for a side."""
        regret, prediction, policy, sums = (pair[side] for pair in self._by_slot.values())
        return regret, prediction, policy, sums, self._stamp[side]

    def start_from(self, policy: NDArray[np.float64], regrets: NDArray[np.float64]) -> None:
        """Begin at a policy with the regrets that hold on to it (`start_regrets`), both [n_slots] float64.

        Raises SolverError once iterations were run.
        """
        if self.iteration:
            raise SolverError(f"start_from: must come first; {self.iteration} iterations were run already")
        if self._locked is not None:
            policy, regrets = self._locked.part(policy), self._locked.part(regrets)
        self._play.from_slots(policy, self._policy)
        self._play.from_slots(regrets, self._regret)

    def current_policy(self) -> NDArray[np.float64]:
        """Return the policy that the next iteration starts from, [n_slots] float64."""
        return self._whole(self._play.to_slots(self._policy))

    def average_policy(self) -> NDArray[np.float64]:
        """Return the average policy, [n_slots] float64; where it never plays, the current policy."""
        return self._whole(self._play.to_slots(self._averages()))

    def _whole(self, policy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a policy on the slots of the game that was given, with what is locked in it."""
        return policy if self._locked is None else self._locked.whole(policy)

    def _averages(self) -> Pair:
        a, b = (np.zeros_like(policy) for policy in self._policy)
        for side, sums, policy, out in zip(self._play.sides, self._sum, self._policy, (a, b), strict=True):
            kernels.average(*side[:2], sums, policy, out)
        return a, b

    def regrets(self) -> NDArray[np.float64]:
        """Return the cumulative regrets after the last iteration, [n_slots] float64, in payoffs.

        Kernels leave infosets without counterfactual reach alone; their discounts are caught up here. With a
        lock they are on the slots of the locked tree.
        """
        table = self._discounts
        out = []
        for side, regret, stamp in zip(self._play.form.layout.sides, self._regret, self._stamp, strict=True):
            since = np.maximum(stamp, 1)
            now = max(self.iteration, 1)
            factors = np.exp(table[now - 1, 2:] - table[np.minimum(since - 1, now - 1), 2:])
            rows = side.bundle[:, ROWS] * side.bundle[:, WIDE]
            factor = np.ones((side.n_positions, 2))
            factor[side.width : side.width + rows.sum()] = np.repeat(factors, rows, axis=0)
            out.append(regret * np.where(regret > 0, factor[:, 0], factor[:, 1]))
        return self._play.to_slots((out[0], out[1]))

    def evaluate(self) -> tuple[float, tuple[float, float]]:
        """Return (value to side 0 of the average policy, both sides' best-response values against it)."""
        value, best_0, best_1 = self._play.evaluate(self._averages())
        return value, (best_0, best_1)

    def exploitability(self) -> float:
        """Return NashConv / 2 of the average policy, in payoffs."""
        return sum(self.evaluate()[1]) / 2

    def state_dict(self) -> dict[str, Any]:
        """Return everything a later `load_state_dict` needs to continue exactly; arrays are copies."""
        arrays = {name: self._play.to_slots(pair) for name, pair in self._by_slot.items()}
        arrays |= {name: self._play.to_infosets(pair) for name, pair in self._by_infoset.items()}
        return state_of(self.form, self.iteration, arrays, variant=asdict(self.variant))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` returned, on the same tree and with the same variant.

        Raises SolverError if it belongs to another tree or variant, StateError for numbers to which no run
        comes.
        """
        if state.get("format") != 1:
            raise SolverError(f"resume: format must be 1; got {state.get('format')!r}; solve afresh")
        if not same_variant(state.get("variant"), self.variant):
            raise SolverError(other_variant(state.get("variant"), self.variant))
        names = (*self._by_slot, *self._by_infoset)
        self.iteration, saved = read_state(state, names, self.form, SolverError)
        for name, arrays in self._by_slot.items():
            self._play.from_slots(saved[name], arrays)
        for name, arrays in self._by_infoset.items():
            self._play.from_infosets(saved[name], arrays)
        self._discounts = kernels.discounts_until(self._discounts, self.iteration, self.variant)

    @property
    def _by_slot(self) -> dict[str, Pair]:
        """What a run keeps by slot, by its names in saved states."""
        kept = self._regret, self._prediction, self._policy, self._sum
        return dict(zip(("regret", "prediction", "policy", "strategy_sum"), kept, strict=True))

    @property
    def _by_infoset(self) -> dict[str, Pair]:
        """What it keeps by infoset."""
        return {"stamp": self._stamp, "marked": (self._work[0][3], self._work[1][3])}


def solve(
    game_form: FlatTree | SequenceForm,
    *,
    variant: str | Variant = DEFAULT_VARIANT,
    iterations: int | None = None,
    target: float | None = None,
    stop: Stop = NEVER,
    start: Start | Mapping[str, Any] | None = None,
    lock: Policy | None = None,
) -> Solution:
    """Return the average policy of CFR, run until the first limit is met.

    On the sequence form where one seat of each team decides, otherwise on the tree itself.

    iterations: how many to run in this call. target: stop once the average policy's exploitability is at
    most this, in payoffs. stop: a deadline, or what else ends the run. Iterations, a target or a deadline
    must be given.
    start: a `Start`, which needs the tree, or the `Solver.state_dict()` of a run to continue; by default
    uniform play.
    lock: infosets of the tree whose play is fixed (`LockedTree`). The policy has them as they are locked;
    values and exploitability are those of the locked game, in which nobody can deviate there.
    Raises SolverError for limits out of range, a state of another game or a start that cannot be used;
    InvalidTree as `sequence_form`; ImperfectRecall where a player has forgotten what it did; ValueError for
    a start of another size or whose infosets' probabilities do not sum to 1.
    """
    check_limits("solve", iterations, target, stop)
    began = time.perf_counter()
    locked = None if lock is None else LockedTree(game_form, lock)
    if locked is not None:
        game_form = locked.tree
        start = replace(start, policy=locked.part(start.policy)) if isinstance(start, Start) else start
    solver: Solver | TreeSolver
    if isinstance(game_form, FlatTree) and not is_two_sided(game_form):
        solver = TreeSolver(game_form, variant)
    else:
        solver = Solver(game_form, variant)
    if start is not None:
        _begin(solver, game_form, start)
    stopped = run_until(
        solver, inf if iterations is None else solver.iteration + iterations, target, stop, began
    )
    value, best = solver.evaluate()
    whole = (lambda policy: policy) if locked is None else locked.whole
    return Solution(
        policy=whole(solver.average_policy()),
        current=whole(solver.current_policy()),
        value=value,
        best_response=best,
        exploitability=solver.exploitability() if isinstance(solver, TreeSolver) else sum(best) / 2,
        iteration=solver.iteration,
        seconds=time.perf_counter() - began,
        variant=solver.variant,
        stopped=stopped,
    )


def check_limits(caller: str, iterations: int | None, target: float | None, stop: Stop) -> None:
    """Raise SolverError, naming the caller, for limits out of range or if there is none."""
    if iterations is None and target is None and stop.deadline is None:
        raise SolverError(
            f"{caller}: give iterations, target or a deadline, Stop(deadline=…); got none of them"
        )
    if iterations is not None:
        check_whole(f"{caller}: iterations", iterations, SolverError)
    if target is not None and not target > 0:
        raise SolverError(f"{caller}: target must be positive, in payoffs; got {target}")


def _begin(
    solver: Solver | TreeSolver, game_form: FlatTree | SequenceForm, start: Start | Mapping[str, Any]
) -> None:
    """Put a fresh solver where the run begins."""
    if isinstance(start, Mapping):
        solver.load_state_dict(start)
        return
    if not isinstance(start, Start):
        raise SolverError(
            f"solve: start must be a Start or a saved state; got {type(start).__name__}; "
            "begin at a policy with cfr.Start(policy)"
        )
    if not isinstance(game_form, FlatTree) or not 0 < start.weight < inf:
        raise SolverError(
            "solve: start needs a tree and a positive, finite weight; "
            f"got {type(game_form).__name__}, {start.weight}"
        )
    policy = check_probabilities(check_policy(game_form, start.policy), game_form.infoset_offset)
    scale = float(np.abs(game_form.returns).max(initial=0.0))
    solver.start_from(policy, start_regrets(game_form, policy, start.weight, scale))


class Runs(Protocol):
    """A solver that goes on iteration by iteration and says how far it has come.

    iteration: those done so far. run: does `n` more. exploitability: how far its policy is from an
    equilibrium, NashConv / 2, in payoffs.
    """

    @property
    def iteration(self) -> int: ...

    def run(self, n: int) -> None: ...

    def exploitability(self) -> float: ...


def run_until(solver: Runs, last: float, target: float | None, stop: Stop, began: float) -> str:
    """Return what ended a run: "iterations", "target", "deadline" or "callback".

    last: the iteration, counted from the solver's first, at which it ends. target: the exploitability, in
    payoffs. began: an instant of `time.perf_counter()`.
    """
    first = solver.iteration
    checks = target is not None or stop.callback is not None
    check_at = first + _check_distance(first, stop.check_every) if checks else inf
    while solver.iteration < last:
        until = min(last, check_at)
        if stop.deadline is not None:
            gone, left = time.perf_counter() - began, stop.deadline - time.perf_counter()
            until = min(until, solver.iteration + _affordable(solver.iteration - first, gone, left))
        solver.run(int(until - solver.iteration))
        now = time.perf_counter()
        if checks and solver.iteration >= min(last, check_at):
            check_at = solver.iteration + _check_distance(solver.iteration, stop.check_every)
            exploitability = solver.exploitability()
            if stop.callback is not None and stop.callback(
                Progress(solver.iteration, exploitability, time.perf_counter() - began)
            ):
                return "callback"
            if target is not None and exploitability <= target:
                return "target"
        if stop.deadline is not None and now >= stop.deadline:
            return "deadline"
    return "iterations"


def _check_distance(iteration: int, check_every: int | None) -> int:
    """Return how many iterations to run before the next check."""
    return max(10, iteration // 20) if check_every is None else check_every


def _affordable(iterations: int, gone: float, left: float) -> int:
    """Return how many iterations to run before looking at the clock again, at least 1.

    As many as fill half of the seconds `left`, judged by `iterations` in the seconds `gone`; at most as many
    as those, because the first ones may not be typical.
    """
    if iterations == 0:
        return 1
    return max(1, int(min(float(iterations), max(0.0, 0.5 * left * iterations / max(gone, 1e-9)))))
