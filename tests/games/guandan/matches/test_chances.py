"""Chances of winning a match: against matches that are played out, and what follows from symmetry."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from games.game import TERMINAL, GameError
from games.guandan.matches.chances import RESULTS, MatchChances, solve_chances
from games.guandan.matches.tribute import score_round
from games.guandan.rounds.round import GuanDan, deal
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import PRESETS, as_rules
from tests.patience import amount

SOME = np.array(
    [[0.3, 0.1, 0.2, 0.1, 0.1, 0.2], [0.2, 0.15, 0.15, 0.2, 0.1, 0.2], [0.4, 0.1, 0.15, 0.1, 0.05, 0.2]]
)
EVEN = np.tile([0.3, 0.12, 0.15, 0.13, 0.1, 0.2], (3, 1))
"""The same after every margin: then more levels are never worth less."""
ORDERS = np.array(
    [(1, 3, 2, 0), (3, 0, 1, 2), (1, 2, 0, 3), (0, 0, 0, 0), (2, 1, 3, 0), (0, 3, 2, 1), (0, 2, 1, 3)]
)
"""An order of finishing for each payoff to team 0, from -3 on."""


@cache
def solved(preset: str = "ruling", even: bool = False) -> MatchChances:
    return solve_chances(EVEN if even else SOME, as_rules(preset), tolerance=1e-10)


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_chance_is_the_mean_of_those_that_each_result_of_a_round_leaves(preset: str) -> None:
    win = solved(preset).win
    a, b, owner, margin, f, g = np.indices(win.shape).reshape(6, -1)
    levels, fails, nothing = np.stack([a, b], 1), np.stack([f, g], 1), np.zeros((len(a), 2), np.int64)
    mean = np.zeros(len(a))
    for share, result in zip(SOME.T, (3, 2, 1, -1, -2, -3), strict=True):
        to_first = np.where(owner == 0, result, -result)
        score = score_round(ORDERS[to_first + 3], owner, levels, fails, nothing, rules=as_rules(preset))
        after = (*score.levels.T, (to_first < 0).astype(int), abs(result) - 1, *score.fails.T)
        mean += share[margin] * np.where(score.winner == NOBODY, win[after], score.winner == 0)
    assert np.allclose(win.ravel(), mean, rtol=0, atol=1e-9)


def test_the_solution_is_symmetric_and_never_falls_with_a_level() -> None:
    win = solved().win
    assert np.all((win > 0) & (win < 1))
    swapped = win.transpose(1, 0, 2, 3, 5, 4)[:, :, ::-1]
    assert np.allclose(win, 1 - swapped, atol=1e-10)
    # a higher level never hurts, nor does one failure less
    assert np.all(np.diff(win[:12, :, :, :, 0, 0], axis=0) > -1e-9)
    assert np.all(np.diff(win[12, :, 0, :, :, 0], axis=2) < 1e-9)


def states_of(levels: tuple[int, int], owner: int, fails: tuple[int, int]) -> np.ndarray:
    states = deal(1, np.random.default_rng(0), level=levels[owner % 2], levels=levels, owner=owner)
    states["fails"] = fails
    return states


def test_far_from_ace_a_result_is_worth_its_levels_and_at_ace_what_wins() -> None:
    chances = solved(even=True)
    far = chances.utilities(states_of((0, 0), NOBODY, (0, 0)), np.array([0]))[0]
    assert np.allclose(far, RESULTS, atol=0.25)
    # at its own level A a team needs 2 or 3, which are worth the same, and 1 is hardly worth anything
    ace = chances.utilities(states_of((12, 12), 0, (0, 0)), np.array([0]))[0]
    assert ace[0] == pytest.approx(ace[1]) and ace[1] - ace[2] > 2
    assert ace[4] == pytest.approx(ace[5]) == pytest.approx(ace[6])
    # and the same from the other side
    theirs = chances.utilities(states_of((12, 12), 0, (0, 0)), np.array([1]))[0]
    assert np.allclose(theirs, -ace[::-1])


def test_utilities_have_the_mean_and_deviation_of_levels_and_never_fall() -> None:
    rng = np.random.default_rng(1)
    chances = solved(even=True)
    often = EVEN.mean(0)
    often = (often + often[::-1]) / 2
    some = [0, 1, 2, 4, 5, 6]
    spread = np.sqrt(often @ np.array([3.0, 2, 1, -1, -2, -3]) ** 2)
    for _ in range(amount(300, 60)):
        levels = tuple(int(x) for x in rng.integers(0, 13, 2))
        fails = tuple(int(x) for x in rng.integers(0, 3, 2))
        states = states_of(levels, int(rng.integers(2)), fails)
        found = chances.utilities(states, rng.integers(0, 4, 1))[0]
        assert np.all(np.diff(found[some]) <= 1e-9)
        assert found[some] @ often == pytest.approx(0, abs=1e-9)
        assert np.sqrt(found[some] ** 2 @ often) == pytest.approx(spread)


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_end_of_a_round_is_worth_the_chance_that_it_leaves(preset: str) -> None:
    rules, chances = as_rules(preset), solved(preset)
    orders = np.array(list(itertools.permutations(range(4))))
    n = len(orders)
    rng = np.random.default_rng(7)
    for _ in range(amount(120, 25)):
        # half of the levels are A, where what a result brings follows from the rules
        levels = np.where(rng.random(2) < 0.5, 12, rng.integers(0, 13, 2))
        owner, fails = int(rng.integers(2)), rng.integers(0, rules.ace_limit, 2)
        states = np.repeat(states_of(tuple(levels.tolist()), owner, tuple(fails.tolist())), n)
        states["player"], states["order"] = TERMINAL, orders
        nothing = np.zeros((n, 2), np.int64)
        score = score_round(orders, states["owner"], states["levels"], states["fails"], nothing, rules=rules)
        first = orders[:, 0] % 2
        margin = 3 - np.argmax(orders == (orders[:, :1] + 2) % 4, 1)
        a, b = score.levels.astype(np.int64).T
        f, g = score.fails.astype(np.int64).T
        after = np.where(score.winner == NOBODY, chances.win[a, b, first, margin, f, g], score.winner == 0)
        place = (3 - GuanDan().returns(states)[:, 0]).astype(np.int64)
        assert np.allclose(chances.worth(states)[np.arange(n), place], after)
        # and what it is worth to either side goes up and down with that chance
        for seat in (0, 1):
            worth = chances.utilities(states, np.full(n, seat))[
                np.arange(n), place if seat == 0 else 6 - place
            ]
            chance = after if seat == 0 else 1 - after
            apart = np.subtract.outer(chance, chance)
            assert np.all((np.subtract.outer(worth, worth) * apart)[np.abs(apart) > 1e-9] > 0)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (np.ones((3, 6)), "sums to 1"),
        (SOME[:2], "sums to 1"),
        (np.tile([0, 0, 1.0, 0, 0, 0], (3, 1)), "an owner must be able"),
        (SOME * [-1, 1, 1, 1, 1, 1], "sums to 1"),
    ],
)
def test_what_is_no_distribution_is_refused(wrong: np.ndarray, named: str) -> None:
    with pytest.raises(GameError, match=named):
        solve_chances(wrong)
