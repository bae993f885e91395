"""The kernels for short bundles beside the ones for any bundle: the same numbers, to the bit."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from cfr.engine.layout import ANY_SHAPE, EVERY_SHAPE, MEMBERS, ROWS, WIDE, Ways
from cfr.engine.sweeps import CLOSE
from cfr.sequence_form import SequenceForm, sequence_form
from cfr.solver import Solver
from cfr.tree import grow
from cfr.variants import VARIANTS
from games import load_game
from tests.cfr.trees import random_tree

ROW_GAMES = ("leduc_poker", "liars_dice(sides=5)", "leduc_poker(ranks=2,suits=2,raise_caps=3/1)")
SINGLE_GAMES = (
    "goofspiel(cards=9,turns=2,points_order=ascending)",
    "goofspiel(cards=11,turns=2,points_order=ascending)",
)
NARROW = "goofspiel(cards=4,turns=3)"
"""A game whose vectors have half the width: other kernels, which take ten seconds to compile."""


@cache
def form_of(name: str) -> SequenceForm:
    return sequence_form(grow(load_game(name), keep_states=False))


def swept(solver: Solver, ways: Ways) -> Solver:
    """Return the solver with the kernels that are compiled for these ways."""
    solver._play.ways = lambda n: ways  # type: ignore[method-assign]
    return solver


def plainly(solver: Solver) -> Solver:
    """Return the solver with the kernels for any bundle, among those for every shape."""
    none, table = np.empty(0, np.int32), np.empty((0, 4), np.int32)
    solver._play.sides = tuple(  # type: ignore[assignment]
        (*side[:6], (none, none, table), side[7], False) for side in solver._play.sides
    )
    return solver


def assert_alike(form: SequenceForm, variant: str, iterations: int) -> None:
    short = swept(Solver(form, variant), EVERY_SHAPE)
    plain = swept(plainly(Solver(form, variant)), EVERY_SHAPE)
    small = swept(Solver(form, variant), ANY_SHAPE)
    for n in (1, iterations - 1):
        short.run(n)
        for other in (plain, small):
            other.run(n)
            ours, theirs = short.state_dict(), other.state_dict()
            for name in ("regret", "prediction", "policy", "strategy_sum"):
                np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
            assert short.evaluate() == other.evaluate()


@pytest.mark.parametrize("name", [*ROW_GAMES, *SINGLE_GAMES, pytest.param(NARROW, marks=pytest.mark.long)])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.some(7)
def test_short_bundles_are_swept_as_any_others(name: str, variant: str) -> None:
    assert_alike(form_of(name), variant, 60)


def test_the_games_have_bundles_of_every_short_shape() -> None:
    for name in ROW_GAMES:
        for side in form_of(name).layout.sides:
            assert len(side.rows[1]) and not side.singles
    rows = np.concatenate(
        [side.bundle[1:, ROWS] for name in ROW_GAMES for side in form_of(name).layout.sides]
    )
    assert set(rows.tolist()) >= {1, 2, 3, 4, 5}
    vectors = set()
    for name in SINGLE_GAMES:
        for side in form_of(name).layout.sides:
            assert side.singles and not len(side.rows[1]) and (side.bundle[1:, MEMBERS] == 1).all()
            vectors |= set((side.bundle[1:, WIDE] // side.width).tolist())
    assert vectors == {1, 2}
    boxes = form_of(SINGLE_GAMES[1]).layout.boxes[0]
    assert (3, 10) in set(map(tuple, boxes.shape.tolist())) and boxes.columns == 0


def test_many_bundles_are_swept_alike_where_memory_is_asked_ahead() -> None:
    for name in ("liars_dice(sides=6)", "goofspiel(cards=5,turns=2)"):
        form = form_of(name)
        assert_alike(form, "dcfr+", 5)
    assert len(form_of("liars_dice(sides=6)").layout.sides[0].bundle) > CLOSE


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.some(3)
def test_random_trees_are_swept_alike(seed: int) -> None:
    assert_alike(sequence_form(random_tree(seed)), "pdcfr+", 30)


def test_the_faster_ways_stay_once_a_process_has_swept_long_enough() -> None:
    play = Solver(form_of("leduc_poker"))._play
    assert [play.ways(10**9) for _ in range(5)] == 5 * [EVERY_SHAPE]
    assert play.ways(1) == EVERY_SHAPE and play.ways(np.int32(2**31 - 1)) == EVERY_SHAPE
