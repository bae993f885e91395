"""Vector-form CFR does what CFR on the listed tree does, number by number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfr.best_response import best_response_values, expected_value
from cfr.public import sweeper
from cfr.public.public_solver import PublicSolver, PublicSolverError
from cfr.public.tree import grow_public
from cfr.solver import Solver
from cfr.tree.memory import TooLarge
from cfr.variants import VARIANTS, Variant, variant
from games import GameError, load_game
from tests.cfr.public.setting import GAMES, RANDOM, both

AGREEMENT, LATER = 1e-9, 1e-6


@pytest.mark.parametrize("name", [*GAMES, *RANDOM])
@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.some(4)
def test_both_forms_come_to_the_same_policies_and_values(name: str, alternating: bool) -> None:
    forms = both(name)
    for row in VARIANTS.values():
        kind = variant(row, alternating=alternating)
        public = PublicSolver(forms.tree, kind, threads=1)
        listed = Solver(forms.form, kind)
        for n in (1, 1, 8, 20):
            public.run(n)
            listed.run(n)
            average = forms.slots(public)
            early = public.iteration <= 10  # later rounding may part actions that are equally good
            assert np.abs(average - listed.average_policy()).max() < (AGREEMENT if early else LATER), row.name
            current = forms.slots(public, current=True)
            if early:
                assert np.abs(current - listed.current_policy()).max() < AGREEMENT, row.name
        told = public.evaluate()
        assert abs(told.value - expected_value(forms.form, average)) < AGREEMENT
        assert np.allclose(told.best_response, best_response_values(forms.form, average), atol=AGREEMENT)
        last = public.evaluate(current=True)
        assert np.allclose(last.best_response, best_response_values(forms.form, current), atol=AGREEMENT)


@pytest.mark.parametrize(("dtype", "name"), [(np.float64, "dcfr"), (np.int16, "pdcfr+")])
def test_threads_and_tasks_do_not_change_a_bit(
    monkeypatch: pytest.MonkeyPatch, dtype: Any, name: str
) -> None:
    def numbers(threads: int) -> list[np.ndarray]:
        solver = PublicSolver(both("liars_dice(dice=2,sides=2)").tree, name, dtype=dtype, threads=threads)
        solver.run(6)
        kept = [array for side in solver.sides for array in side[:4]]
        return [part for array in kept for part in (array[:2] if isinstance(array, tuple) else (array,))]

    whole = numbers(1)
    monkeypatch.setattr(sweeper, "LEAST_TASK", 4)
    monkeypatch.setattr(sweeper, "TASKS", 64)
    cut, three = numbers(1), numbers(3)
    assert [array.tobytes() for array in cut] == [array.tobytes() for array in three]
    if dtype == np.float64:
        # One task's values are added up before they are given on: other rounding, the same numbers.
        for one, other in zip(whole, cut, strict=True):
            assert np.allclose(one, other, atol=1e-9)


def test_a_subtree_is_the_tree_below_its_node() -> None:
    tree = both("leduc_poker").tree
    for node in (0, 1, 7, len(tree) // 2, len(tree) - 1):
        below = tree.below(node)
        end = node + int(tree.size[node])
        assert np.array_equal(below.player, tree.player[node:end])
        assert below.first_edge[0] == 0 and below.first_edge[-1] == len(below.child)
        edges = slice(int(tree.first_edge[node]), int(tree.first_edge[end]))
        inner = tree.child[edges] >= 0
        assert np.array_equal(below.child, tree.child[edges] - node * inner)
        for player in (0, 1):
            rows = tree.rows_below(node, player)
            assert rows.stop - rows.start == below.n_rows[player]
            own = np.flatnonzero(below.player == player)
            assert np.array_equal(below.row[own], tree.row[own + node] - rows.start)


def test_what_cannot_be_solved_is_refused_in_words() -> None:
    tree = both("kuhn_poker").tree
    with pytest.raises(PublicSolverError, match="dtype must be float32, float64 or int16; got"):
        PublicSolver(tree, dtype=np.int64)
    with pytest.raises(PublicSolverError, match="threads must be at least 1; got 0"):
        PublicSolver(tree, threads=0)
    for number in (-1, 2.5, np.nan, np.inf, "3"):
        with pytest.raises(PublicSolverError, match=r"iterations must be at least 0; .* give a whole number"):
            PublicSolver(tree, threads=1).run(number)  # type: ignore[arg-type]
    steep = PublicSolver(tree, Variant("steep", gamma=30), dtype=np.float32, threads=1)
    steep.run(17)
    assert np.isfinite(steep.exploitability())
    with pytest.raises(PublicSolverError, match="at most 17 with gamma=30 in float32; got 18; use float64"):
        steep.run(1)
    with pytest.raises(TooLarge, match=r"liars_dice.*its public tree must fit into 1000 bytes"):
        grow_public(load_game("liars_dice"), memory=1000)  # type: ignore[arg-type]
    with pytest.raises(TooLarge, match=r"it has about .* public states by an estimate; choose a smaller"):
        grow_public(load_game("liars_dice(dice=5)"), memory=1e9)  # type: ignore[arg-type]
    game = both("kuhn_poker").game
    last = game.step(game.public_root(), np.zeros(1, np.int64), np.ones(1, np.int64))
    over = game.step(last, np.zeros(1, np.int64), np.ones(1, np.int64))
    with pytest.raises(GameError, match="at least one player must have a choice below this public state"):
        grow_public(game, over)
