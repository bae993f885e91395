"""The kernels of sequence-form CFR and best response. They trust their callers and allocate nothing big."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def discount(t, exponent):
    """Return t^e / (t^e + 1); 1 for e = inf, 0 for e = -inf."""
    if exponent == np.inf:
        return 1.0
    if exponent == -np.inf:
        return 0.0
    power = t**exponent
    return power / (power + 1.0)


@njit(cache=True)
def realize(start, parent, policy, plan):
    """Fill `plan`, the probability of each sequence under `policy` (both by sequence)."""
    plan[0] = 1.0
    for i in range(len(parent)):
        reach = plan[parent[i]]
        for s in range(start[i], start[i + 1]):
            plan[s] = reach * policy[s]


@njit(cache=True)
def gradient(row_start, column, payoff, plan, sign, out):
    """Fill `out`: sign times the payoff matrix times `plan`."""
    for r in range(len(row_start) - 1):
        total = 0.0
        for k in range(row_start[r], row_start[r + 1]):
            total += payoff[k] * plan[column[k]]
        out[r] = sign * total


@njit(cache=True)
def respond(start, parent, value, policy):
    """Turn `value` (utility of each sequence) into best-response values, bottom up; fill `policy`, pure.

    Afterwards value[s] counts everything below sequence s; ties go to the first action.
    """
    for i in range(len(parent) - 1, -1, -1):
        best = start[i]
        for s in range(start[i], start[i + 1]):
            policy[s] = 0.0
            if value[s] > value[best]:
                best = s
        policy[best] = 1.0
        value[parent[i]] += value[best]


@njit(cache=True)
def evaluate(start, parent, value, policy):
    """Turn `value` (utility of each sequence) into counterfactual values under `policy`, bottom up."""
    for i in range(len(parent) - 1, -1, -1):
        total = 0.0
        for s in range(start[i], start[i + 1]):
            total += policy[s] * value[s]
        value[parent[i]] += total


@njit(cache=True)
def average(start, strategy_sum, policy, out):
    """Fill `out` with the average policy of each infoset, `policy` where the infoset was never reached."""
    out[0] = 1.0
    for i in range(len(start) - 1):
        total = 0.0
        for s in range(start[i], start[i + 1]):
            total += strategy_sum[s]
        for s in range(start[i], start[i + 1]):
            out[s] = strategy_sum[s] / total if total > 0 else policy[s]


@njit(cache=True)
def _update(t, variant, start, parent, value, regret, prediction, policy):
    alpha, beta, _, clip, predictive, _ = variant
    positive, negative = discount(t - 1, alpha), discount(t - 1, beta)
    positive_next, negative_next = discount(t, alpha), discount(t, beta)
    for i in range(len(parent) - 1, -1, -1):
        first, last = start[i], start[i + 1]
        expected = 0.0
        for s in range(first, last):
            expected += policy[s] * value[s]
        value[parent[i]] += expected
        total = 0.0
        for s in range(first, last):
            r = value[s] - expected
            R = regret[s] * (positive if regret[s] > 0 else negative) + r
            if clip > 0 and R < 0:
                R = 0.0
            regret[s] = R
            if predictive > 0:
                prediction[s] = r
                R = R * (positive_next if R > 0 else negative_next) + r
            R = max(R, 0.0)
            policy[s] = R
            total += R
        if total > 0:
            for s in range(first, last):
                policy[s] /= total
        else:
            for s in range(first, last):
                policy[s] = 1.0 / (last - first)


@njit(cache=True)
def _accumulate(weight, plan, strategy_sum):
    for s in range(len(plan)):
        strategy_sum[s] += weight * plan[s]


@njit(cache=True)
def iterate(t0, n, variant, plex0, plex1, rows, columns, state0, state1, work0, work1):
    """Run iterations t0 + 1 … t0 + n.

    plex: (start, parent); rows, columns: the payoff matrix in compressed rows and in compressed columns;
    state: (regret, prediction, policy, strategy_sum); work: (plan, value), per sequence.
    """
    _, _, gamma, _, _, alternating = variant
    start0, parent0 = plex0
    start1, parent1 = plex1
    regret0, prediction0, policy0, sum0 = state0
    regret1, prediction1, policy1, sum1 = state1
    plan0, value0 = work0
    plan1, value1 = work1
    for t in range(t0 + 1, t0 + n + 1):
        weight = float(t) ** gamma
        realize(start1, parent1, policy1, plan1)
        _accumulate(weight, plan1, sum1)
        if alternating == 0:
            realize(start0, parent0, policy0, plan0)
            _accumulate(weight, plan0, sum0)
        gradient(rows[0], rows[1], rows[2], plan1, 1.0, value0)
        _update(t, variant, start0, parent0, value0, regret0, prediction0, policy0)
        if alternating > 0:
            realize(start0, parent0, policy0, plan0)
            _accumulate(weight, plan0, sum0)
        gradient(columns[0], columns[1], columns[2], plan0, -1.0, value1)
        _update(t, variant, start1, parent1, value1, regret1, prediction1, policy1)


@njit(cache=True)
def transpose(row_start, column, payoff, n_columns):
    """Return the same matrix in compressed columns: (column_start, row, payoff)."""
    column_start = np.zeros(n_columns + 1, np.int64)
    for c in column:
        column_start[c + 1] += 1
    for c in range(n_columns):
        column_start[c + 1] += column_start[c]
    fill = column_start[:-1].copy()
    row = np.empty(len(column), np.int32)
    flipped = np.empty(len(column))
    for r in range(len(row_start) - 1):
        for k in range(row_start[r], row_start[r + 1]):
            c = column[k]
            row[fill[c]] = r
            flipped[fill[c]] = payoff[k]
            fill[c] += 1
    return column_start, row, flipped
