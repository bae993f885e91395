"""Sequence-form CFR: `solve` a two-player tree, or drive a `Solver` by hand and resume it exactly."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from cfr import kernels
from cfr.sequence_form import SequenceForm, sequence_form
from cfr.tree import FlatTree
from cfr.variants import DEFAULT_VARIANT, Variant, variant

__all__ = ["Progress", "Solution", "Solver", "SolverError", "solve"]


class SolverError(ValueError):
    """Bad input to a solver: the rule, the value received and the next step."""


@dataclass(frozen=True)
class Progress:
    """Where a run stands.

    iteration: iterations done, since the start (resumed ones included).
    exploitability: of the average policy, NashConv / 2, in payoffs.
    seconds: wall-clock time of this call so far.
    """

    iteration: int
    exploitability: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Solution:
    """What a run came to.

    policy: [n_slots] float64, the average policy on the tree's slots.
    current: [n_slots] float64, the policy of the last iteration.
    value: expected payoff to side 0 (team 0) of the average policy, summed over weighted roots.
    best_response: payoffs of side 0 and side 1 that best-respond to the average policy.
    exploitability: NashConv / 2 of the average policy, in payoffs.
    iteration: iterations done.
    seconds: wall-clock time of this run.
    variant: what ran.
    stopped: why it ended: "iterations", "target", "deadline" or "callback".
    """

    policy: NDArray[np.float64]
    current: NDArray[np.float64]
    value: float
    best_response: tuple[float, float]
    exploitability: float
    iteration: int
    seconds: float
    variant: Variant
    stopped: str


class Solver:
    """CFR on a sequence form, resumable exactly.

    iteration: iterations done so far.
    """

    def __init__(self, game_form: FlatTree | SequenceForm, variant_name: str | Variant = DEFAULT_VARIANT):
        form = game_form if isinstance(game_form, SequenceForm) else sequence_form(game_form)
        self.form = form
        self.variant = variant(variant_name)
        self.iteration = 0
        v = self.variant
        row = (v.alpha, v.beta, v.gamma, v.clip, v.predictive, v.alternating)
        self._variant = tuple(float(number) for number in row)
        self._rows = (form.row_start, form.column, form.payoff)
        self._columns = kernels.transpose(*self._rows, form.sides[1].n_sequences)
        self._plexes = tuple((plex.start, plex.parent) for plex in form.sides)
        self._state = tuple(np.zeros((4, plex.n_sequences)) for plex in form.sides)
        self._work = tuple(np.zeros((2, plex.n_sequences)) for plex in form.sides)
        for plex, state in zip(form.sides, self._state, strict=True):
            sizes = np.diff(plex.start)
            state[2, 0] = 1.0
            state[2, 1:] = np.repeat(1.0 / sizes, sizes)

    def run(self, n: int) -> None:
        """Run `n` more iterations."""
        if n < 0:
            raise SolverError(f"iterations must be at least 0; got {n}")
        a, b = self._state
        kernels.iterate(
            self.iteration,
            n,
            self._variant,
            *self._plexes,
            self._rows,
            self._columns,
            (a[0], a[1], a[2], a[3]),
            (b[0], b[1], b[2], b[3]),
            (self._work[0][0], self._work[0][1]),
            (self._work[1][0], self._work[1][1]),
        )
        self.iteration += n

    def _on_slots(self, by_sequence: tuple[NDArray, ...]) -> NDArray[np.float64]:
        out = np.zeros(self.form.n_slots)
        for plex, values in zip(self.form.sides, by_sequence, strict=True):
            out[plex.slot[1:]] = values[1:]
        return out

    def current_policy(self) -> NDArray[np.float64]:
        """Return the policy that the next iteration starts from, [n_slots] float64."""
        return self._on_slots(tuple(state[2] for state in self._state))

    def average_policy(self) -> NDArray[np.float64]:
        """Return the average policy, [n_slots] float64; where it never plays, the current policy."""
        return self._on_slots(self._averages())

    def _averages(self) -> tuple[NDArray, ...]:
        out = []
        for plex, state in zip(self.form.sides, self._state, strict=True):
            policy = np.empty(plex.n_sequences)
            kernels.average(plex.start, state[3], state[2], policy)
            out.append(policy)
        return tuple(out)

    def evaluate(self) -> tuple[float, tuple[float, float]]:
        """Return (value to side 0 of the average policy, both sides' best-response values against it)."""
        policies = self._averages()
        plans = []
        for (start, parent), policy in zip(self._plexes, policies, strict=True):
            plan = np.empty(len(policy))
            kernels.realize(start, parent, policy, plan)
            plans.append(plan)
        best = []
        value = 0.0
        for side, matrix in ((0, self._rows), (1, self._columns)):
            start, parent = self._plexes[side]
            utility = np.empty(len(plans[side]))
            kernels.gradient(*matrix, plans[1 - side], 1.0 if side == 0 else -1.0, utility)
            if side == 0:
                value = float(plans[0] @ utility)
            kernels.respond(start, parent, utility, np.empty(len(utility)))
            best.append(float(utility[0]))
        return value, (best[0], best[1])

    def exploitability(self) -> float:
        """Return NashConv / 2 of the average policy, in payoffs."""
        return sum(self.evaluate()[1]) / 2

    def state_dict(self) -> dict:
        """Return everything a later `load_state_dict` needs to continue exactly; arrays are copies."""
        regret, prediction, policy, total = (
            self._on_slots(tuple(state[k] for state in self._state)) for k in range(4)
        )
        return {
            "format": 1,
            "variant": asdict(self.variant),
            "iteration": self.iteration,
            "regret": regret,
            "prediction": prediction,
            "policy": policy,
            "strategy_sum": total,
        }

    def load_state_dict(self, state: dict) -> None:
        """Continue from what `state_dict` returned, on the same tree and with the same variant.

        Raises SolverError if it belongs to another tree or variant.
        """
        if state.get("format") != 1:
            raise SolverError(f"resume: format must be 1; got {state.get('format')!r}; solve afresh")
        if Variant(**state["variant"]) != self.variant:
            raise SolverError(
                f"resume: the variant must stay {self.variant.name} with the same parameters; "
                f"the saved run used {state['variant']}; solve afresh or use that variant"
            )
        names = ("regret", "prediction", "policy", "strategy_sum")
        for name in names:
            if np.shape(state[name]) != (self.form.n_slots,):
                raise SolverError(
                    f"resume: {name} must have one entry per slot, {self.form.n_slots}; "
                    f"got shape {np.shape(state[name])}; is this another game's file?"
                )
        for plex, mine in zip(self.form.sides, self._state, strict=True):
            for row, name in zip(mine, names, strict=True):
                row[1:] = np.asarray(state[name], np.float64)[plex.slot[1:]]
        self.iteration = int(state["iteration"])


def solve(
    game_form: FlatTree | SequenceForm,
    *,
    variant: str | Variant = DEFAULT_VARIANT,
    iterations: int | None = None,
    target: float | None = None,
    deadline: float | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
    check_every: int | None = None,
    resume: dict | None = None,
) -> Solution:
    """Return the average policy of CFR on a two-player tree, run until the first limit is met.

    iterations: how many to run in this call. target: stop once the average policy's exploitability is at
    most this, in payoffs. deadline: an instant of `time.perf_counter()`. At least one must be given.
    callback: called with a `Progress` at every check; return True to stop.
    check_every: iterations between checks; by default they grow with the run, 5 % of it apart.
    resume: a `Solver.state_dict()` to continue from.
    Raises SolverError for limits out of range or a state of another game; InvalidTree as `sequence_form`.
    """
    if iterations is None and target is None and deadline is None:
        raise SolverError("solve: give iterations, target or deadline; got none of them")
    if iterations is not None and iterations < 0:
        raise SolverError(f"solve: iterations must be at least 0; got {iterations}")
    if target is not None and not target > 0:
        raise SolverError(f"solve: target must be positive, in payoffs; got {target}")
    if check_every is not None and check_every < 1:
        raise SolverError(f"solve: check_every must be at least 1; got {check_every}")
    began = time.perf_counter()
    solver = Solver(game_form, variant)
    if resume is not None:
        solver.load_state_dict(resume)
    last = inf if iterations is None else solver.iteration + iterations
    checks = target is not None or callback is not None
    stopped = "iterations"
    while solver.iteration < last:
        step = _next_step(solver.iteration, checks, deadline is not None, check_every)
        solver.run(int(min(step, last - solver.iteration)))
        now = time.perf_counter()
        if checks:
            exploitability = solver.exploitability()
            if callback is not None and callback(
                Progress(solver.iteration, exploitability, time.perf_counter() - began)
            ):
                stopped = "callback"
                break
            if target is not None and exploitability <= target:
                stopped = "target"
                break
        if deadline is not None and now >= deadline:
            stopped = "deadline"
            break
    value, best = solver.evaluate()
    return Solution(
        policy=solver.average_policy(),
        current=solver.current_policy(),
        value=value,
        best_response=best,
        exploitability=sum(best) / 2,
        iteration=solver.iteration,
        seconds=time.perf_counter() - began,
        variant=solver.variant,
        stopped=stopped,
    )


def _next_step(iteration: int, checks: bool, timed: bool, check_every: int | None) -> float:
    """Return how many iterations to run before looking up again."""
    if checks or check_every is not None:
        return check_every or max(10, iteration // 20)
    return max(1, iteration // 20) if timed else inf
