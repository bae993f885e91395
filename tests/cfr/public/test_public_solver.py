"""Vector-form CFR does what CFR on the listed tree does, number by number."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.best_response import best_response_values, expected_value
from cfr.public import sweeper
from cfr.public.policies.public_policy import PublicPolicy
from cfr.public.public_solver import PublicSolver, PublicSolverError
from cfr.public.tree import grow_public
from cfr.solver import Solver
from cfr.tree.memory import TooLarge
from cfr.variants import VARIANTS, variant
from games import GameError, load_game
from tests.cfr.public.setting import GAMES, RANDOM, both, solver_of
from tests.patience import amount
from tests.reference.public_cfr import SlowPublicCfr

AGREEMENT, LATER = 1e-9, 1e-6
SINGLE = 2e-4
"""What float32 may differ by in exploitability after 200 iterations, in payoffs of at most 1."""


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


@pytest.mark.long
@pytest.mark.parametrize("name", ["leduc_poker", "leduc_poker(ranks=5)", "liars_dice(dice=2,sides=3)"])
def test_both_forms_agree_until_rounding_parts_them(name: str) -> None:
    """A change of 1e-15 in the payoffs grows tenfold in ten iterations, in either form alike."""
    forms = both(name)
    for row in VARIANTS.values():
        public, listed = PublicSolver(forms.tree, row, threads=2), Solver(forms.form, row)
        for n, bound in ((30, AGREEMENT), (20, LATER)):
            public.run(n)
            listed.run(n)
            assert abs(public.exploitability() - listed.exploitability()) < bound, row.name
        public.run(250)
        listed.run(250)
        assert max(public.exploitability(), listed.exploitability()) < 0.05 * forms.tree.payoff_scale, (
            row.name
        )


@pytest.mark.parametrize(
    "name", ["kuhn_poker", "liars_dice(sides=3,wild=false,bidding=reset-quantity)", *RANDOM]
)
def test_the_kernels_do_what_a_plain_recursion_does(name: str) -> None:
    forms, iterations = both(name), amount(8, 5)
    for row in VARIANTS.values():
        for alternating in (True, False):
            kind = variant(row, alternating=alternating)
            fast, slow = PublicSolver(forms.tree, kind, threads=1), SlowPublicCfr(forms.tree, kind)
            fast.run(iterations)
            slow.run(iterations)
            policy = PublicPolicy.of(fast)
            for node in slow.regret:
                assert np.abs(policy.probs(node) - slow.average(node)).max() < AGREEMENT, row.name


def test_threads_and_tasks_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    def numbers(threads: int, variant_name: str) -> list[bytes]:
        solver = solver_of("liars_dice(dice=2,sides=2)", 6, variant_name, threads)
        return [array.tobytes() for side in solver.sides for array in side[:4]]

    for name in ("dcfr", "pdcfr+"):
        whole = numbers(1, name)
        monkeypatch.setattr(sweeper, "LEAST_TASK", 4)
        monkeypatch.setattr(sweeper, "TASKS", 64)
        cut, three = numbers(1, name), numbers(3, name)
        monkeypatch.undo()
        assert cut == three
        # One task's values are added up before they are given on: other rounding, the same numbers.
        for one, other in zip(whole, cut, strict=True):
            kind = np.float64 if len(one) % 8 == 0 and len(one) > 4 * 256 else np.uint8
            assert np.allclose(np.frombuffer(one, kind), np.frombuffer(other, kind), atol=1e-9)


@pytest.mark.long
def test_float32_comes_close_to_float64() -> None:
    tree = grow_public(load_game("liars_dice(dice=2,sides=3)"))  # type: ignore[arg-type]
    found = []
    for dtype in (np.float32, np.float64):
        solver = PublicSolver(tree, "dcfr", dtype=dtype, threads=1)
        solver.run(200)
        found.append(solver.exploitability())
    assert abs(found[0] - found[1]) < SINGLE


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


def test_nodes_lie_in_preorder_with_their_subtrees_behind_them() -> None:
    for name in (*GAMES, *RANDOM):
        tree = both(name).tree
        for node in range(len(tree)):
            below = tree.child[tree.first_edge[node] : tree.first_edge[node + 1]]
            assert len(below) >= 2  # a forced move is no node
            at = node + 1
            for to in below[below >= 0].tolist():
                assert to == at
                at += int(tree.size[to])
            assert at == node + int(tree.size[node])


def test_what_cannot_be_solved_is_refused_in_words() -> None:
    tree = both("kuhn_poker").tree
    with pytest.raises(PublicSolverError, match="dtype must be float32, float64 or int16; got"):
        PublicSolver(tree, dtype=np.int64)
    with pytest.raises(PublicSolverError, match="threads must be at least 1; got 0"):
        PublicSolver(tree, threads=0)
    for number in (-1, 2.5, np.nan, np.inf, "3"):
        with pytest.raises(PublicSolverError, match=r"iterations must be at least 0; .* give a whole number"):
            PublicSolver(tree, threads=1).run(number)  # type: ignore[arg-type]
    with pytest.raises(TooLarge, match=r"liars_dice.*its public tree must fit into 1000 bytes"):
        grow_public(load_game("liars_dice"), memory=1000)  # type: ignore[arg-type]
    game = both("kuhn_poker").game
    last = game.step(game.public_root(), np.zeros(1, np.int64), np.ones(1, np.int64))
    over = game.step(last, np.zeros(1, np.int64), np.ones(1, np.int64))
    with pytest.raises(GameError, match="at least one player must have a choice below this public state"):
        grow_public(game, over)
