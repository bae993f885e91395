"""The sequence-form linear programme: exact values and equilibrium policies, by SciPy's HiGHS.

Source: Koller, Megiddo and von Stengel 1996. Side 0 chooses a plan x that maximises what is left to it
after side 1's best answer; the answer's plan is the dual solution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.best_response import best_response_values
from cfr.sequence_form import SequenceForm, Treeplex, sequence_form
from cfr.tree import FlatTree
from cfr.values import normalised, uniform
from games.support.interruption import heard

LONG = 2_000
"""Slots from which a programme may take so long that Ctrl-C must be heard meanwhile."""
LP_METHODS = ("highs-ds", "highs-ipm")


class LpError(ValueError):
    """An unknown method, a time limit out of range, or a programme that HiGHS could not finish."""


class LpTimeout(LpError):
    """The time limit came before an optimum."""


@dataclass(frozen=True, eq=False)
class LpSolution:
    """An equilibrium.

    policy: [n_slots] float64, on the tree's slots; uniform where its own player never arrives.
    value: payoff to side 0 (team 0), summed over weighted roots.
    exploitability: NashConv / 2 of the policy, in payoffs: how exact the solution is.
    """

    policy: NDArray[np.float64]
    value: float
    exploitability: float


def solve_lp(
    game_form: FlatTree | SequenceForm, *, method: str = "highs-ds", time_limit: float | None = None
) -> LpSolution:
    """Return an equilibrium of a two-player tree.

    HiGHS's tolerances are absolute, so it is handed payoffs whose largest is about 1: what comes out is as
    exact in proportion to the payoffs, whatever their scale and the weights of the roots.
    method: "highs-ds" (dual simplex) or "highs-ipm" (interior point, faster on the largest games).
    time_limit: seconds.
    Raises LpError if HiGHS does not reach an optimum, LpTimeout if the time is up; InvalidTree as
    `sequence_form`.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack

    if method not in LP_METHODS:
        raise LpError(f"solve_lp: method must be one of {', '.join(LP_METHODS)}; got {method!r}")
    if time_limit is not None and not time_limit >= 0:
        raise LpError(f"solve_lp: time_limit must be at least 0, in seconds; got {time_limit}")
    form = game_form if isinstance(game_form, SequenceForm) else sequence_form(game_form)
    row, column = form.sides
    # Variables: x, a plan of side 0; v, what side 1 can still hold it to at each of its infosets.
    exponent = math.frexp(float(np.abs(form.payoff).max(initial=0.0)))[1]  # a power of 2 rounds nothing
    payoff = csr_array(
        (np.ldexp(form.payoff, -exponent), form.column, form.row_start),
        shape=(row.n_sequences, column.n_sequences),
    )
    row_flow, column_flow = _flow(row), _flow(column)
    n_x, n_v = row.n_sequences, column_flow.shape[0]
    objective = np.zeros(n_x + n_v)
    objective[n_x] = -1.0
    programme = partial(
        linprog,
        objective,
        A_ub=hstack([-payoff.T, column_flow.T], format="csr"),
        b_ub=np.zeros(column.n_sequences),
        A_eq=hstack([row_flow, csr_array((row_flow.shape[0], n_v))], format="csr"),
        b_eq=np.concatenate(([1.0], np.zeros(row_flow.shape[0] - 1))),
        bounds=np.array([(0.0, np.inf)] * n_x + [(-np.inf, np.inf)] * n_v),
        method=method,
        options={} if time_limit is None else {"time_limit": time_limit},
    )
    result = heard(programme) if form.n_slots > LONG else programme()
    if result.status != 0:
        # status 1: HiGHS met a limit, and time is the only one that it is given
        raise (LpTimeout if result.status == 1 else LpError)(
            f"solve_lp: HiGHS must reach an optimum; {method} stopped with {result.message.strip()!r}; "
            "try the other method, a longer time_limit, or CFR"
        )
    policy = np.zeros(form.n_slots)
    _behaviour(row, np.maximum(result.x[:n_x], 0.0), policy)
    _behaviour(column, np.maximum(-result.ineqlin.marginals, 0.0), policy)
    value = math.ldexp(0.0 - float(result.fun), exponent)
    return LpSolution(policy, value, sum(best_response_values(form, policy)) / 2)


def _flow(plex: Treeplex) -> Any:
    """Return the constraints of a plan, [1 + I, S]: 1 in all, and each infoset passes its parent's on."""
    from scipy.sparse import csr_array

    n = plex.n_infosets
    infoset = np.repeat(np.arange(n), np.diff(plex.start))
    rows = np.concatenate(([0], 1 + infoset, 1 + np.arange(n)))
    columns = np.concatenate(([0], np.arange(1, plex.n_sequences), plex.parent))
    values = np.concatenate((np.ones(plex.n_sequences), -np.ones(n)))
    return csr_array((values, (rows, columns)), shape=(1 + n, plex.n_sequences))


def _behaviour(plex: Treeplex, plan: NDArray[np.float64], policy: NDArray[np.float64]) -> None:
    """Write the action probabilities of a plan into `policy`, [n_slots]."""
    even = uniform(plex.start)
    policy[plex.slot[1:]] = normalised(plan[1:], plex.start - 1, even, least=1e-12)
