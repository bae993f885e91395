"""CFR as the papers print it: its printed use runs, its steps are what they say, a mean run converges."""

from __future__ import annotations

import doctest
from math import inf

import numpy as np
import pytest

import cfr
import cfr.plain
from cfr.best_response import exploitability
from cfr.plain import PlainCfr, discount
from cfr.solver import Solver
from cfr.variants import VARIANTS, UnknownVariant
from tests.cfr.trees import random_tree, tree_of


def test_its_printed_use_runs_as_printed() -> None:
    found = doctest.testmod(cfr.plain)
    assert found.attempted >= 6 and not found.failed
    assert cfr.PlainCfr is PlainCfr


@pytest.mark.parametrize(("t", "exponent", "wanted"), [(0, 1.5, 0), (1, 9, 0.5), (4, 0.5, 2 / 3)])
def test_a_discount_is_the_papers(t: int, exponent: float, wanted: float) -> None:
    assert discount(t, exponent) == pytest.approx(wanted)
    assert discount(t, inf) == 1 and discount(t, -inf) == 0


def test_the_first_regrets_of_kuhn_poker_are_those_worked_out_by_hand() -> None:
    plain = PlainCfr(tree_of("kuhn"), "cfr")
    plain.measure(0)
    # With the jack, everyone uniform, a bet wins 1 if player 1 folds and loses 2 if it calls. A check loses 1
    # if player 1 checks; if it bets, player 0 loses 1 by folding or 2 by calling.
    bet = (1 - 2) / 2
    check = (-1 + (-1 - 2) / 2) / 2
    mean = (bet + check) / 2
    assert plain.gain[0] == pytest.approx([(check - mean) / 3, (bet - mean) / 3])


def test_regrets_below_zero_leave_uniform_play_and_others_play_in_proportion() -> None:
    plain = PlainCfr(tree_of("kuhn"), "cfr")
    plain.regret[0], plain.regret[1] = [-1.0, -2.0], [3.0, 1.0]
    assert plain.matched(0) == [0.5, 0.5] and plain.matched(1) == [0.75, 0.25]


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_converges_and_averages_as_the_fast_solver_does(name: str) -> None:
    tree = tree_of("kuhn")
    solver = Solver(tree, name)
    plain = PlainCfr(tree, name, solver.noise)
    plain.run(60)
    solver.run(60)
    np.testing.assert_allclose(plain.average_policy(), solver.average_policy(), atol=1e-9)
    np.testing.assert_allclose(plain.current_policy(), solver.current_policy(), atol=1e-9)
    assert exploitability(tree, plain.average_policy()) < 0.05


def test_three_deciding_seats_and_weighted_roots_are_no_exception() -> None:
    tree = random_tree(1, teams=(0, 1, 1), levels=5)
    plain = PlainCfr(tree, "cfr+")
    plain.run(3)
    average = plain.average_policy()
    sums = np.add.reduceat(average, tree.infoset_offset[:-1])
    np.testing.assert_allclose(sums, 1.0)
    assert plain.on_slots(plain.table(average)).tolist() == average.tolist()


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(UnknownVariant, match="variant must be one of"):
        PlainCfr(tree_of("kuhn"), "fcr")
