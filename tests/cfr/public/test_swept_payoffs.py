"""Sweeps take payoffs in whichever form costs least, and every form pays the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfr.engine.simd import address
from cfr.public import swept_payoffs as swept
from cfr.public.array_file import ArrayFile, Member, write_arrays
from cfr.public.policies.policy_file import FORMAT, MAGIC, open_public_policy, save_public_policy
from cfr.public.policies.public_policy import PublicPolicy, PublicPolicyError
from cfr.public.public_solver import PublicSolver
from cfr.public.swept_payoffs import FLAT, PLAN_FIELDS, STAIRS, add_payoffs
from cfr.public.tree import PublicTree, grow_public, padded
from games import load_game
from games.infosets.payoff_forms import PayoffForms
from games.support.kernel import kernel
from tests.cfr.public.random_factored import RandomStructured
from tests.cfr.public.random_forms import random_forms
from tests.cfr.public.setting import both, solver_of
from tests.patience import amount

AGREEMENT, SINGLE = 1e-9, 1e-4
NEVER = 1e9
FORMS = ("as it costs", "matrices", "flat", "stairs")


def prefer(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """Let sweeps take one form wherever it can be had."""
    costs = {"matrices": (0.0, 1.0, 1.0), "flat": (NEVER, 0.0, NEVER), "stairs": (NEVER, NEVER, 0.0)}
    if form in costs:
        matrix, flat, stairs = costs[form]
        for name, cost in (("VECTOR", matrix), ("FAR_VECTOR", matrix)):
            monkeypatch.setattr(swept, name, cost)
        monkeypatch.setattr(swept, "FLAT_ITEM", flat)
        monkeypatch.setattr(swept, "STAIRS_ITEM", stairs)


@kernel
def pay_once(payoffs: Any, kind: int, sizes: tuple[int, int, int], vec: Any, places: tuple[int, int]) -> None:
    matrix, first, plan, amounts, numbers, index, spare = payoffs
    tables = (
        address(matrix),
        address(first),
        address(plan),
        address(amounts),
        address(numbers),
        address(index),
        spare,
    )
    add_payoffs(tables, kind, sizes, address(vec), places[0], places[1])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_form_pays_what_the_pairs_do(monkeypatch: pytest.MonkeyPatch, form: str, dtype: Any) -> None:
    prefer(monkeypatch, form)
    met = set()
    for seed in range(amount(25, 10)):
        forms, rng = random_forms(seed), np.random.default_rng(seed)
        used = rng.random(len(forms)) < 0.9
        for player in (0, 1):
            n, wide = forms.private[1 - player], padded(forms.private[player])
            other = padded(n)
            spare = 2 * (wide + other)
            payoffs = swept.swept_payoffs(forms, used, player, dtype, spare)
            met |= set(payoffs[2].reshape(-1, PLAN_FIELDS)[:, 0].tolist())
            for kind in np.flatnonzero(used).tolist():
                vec = np.zeros(spare + max(wide, other) + 1, dtype)
                vec[:n] = rng.random(n) * (rng.random(n) < 0.8)
                before = rng.normal(size=wide)
                vec[other : other + wide] = before
                reach = vec[:n].astype(np.float64)
                pay_once(payoffs, kind, (n, other, wide), vec, (0, other))
                paid = forms.dense(kind) if player == 0 else -forms.dense(kind).T
                wanted = before[: len(paid)] + paid @ reach
                exact = AGREEMENT if dtype == np.float64 else SINGLE
                assert np.allclose(vec[other : other + len(paid)], wanted, atol=exact)
    known = {"matrices": set(), "flat": {FLAT}, "stairs": {FLAT, STAIRS}}
    assert met == known.get(form, met)


NAMES = ("kuhn_poker(cards=5)", "leduc_poker(raise_caps=1/1)", "liars_dice(sides=3)")


@pytest.mark.parametrize("form", FORMS[1:])
def test_iterates_are_the_same_in_every_form(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    prefer(monkeypatch, form)
    iterations = amount(6, 3)
    trees = [both(name).tree for name in NAMES] + [
        grow_public(RandomStructured(seed)) for seed in range(amount(4, 1))
    ]
    for tree in trees:
        dense = [tree.payoffs.dense(kind) for kind in range(len(tree.payoffs))]
        plain = replace(tree, payoffs=PayoffForms.of_matrices(np.array(dense)))
        for variant in ("cfr+", "pdcfr+"):
            policies = []
            for paid in (tree, plain):
                solver = PublicSolver(paid, variant, threads=1)
                solver.run(iterations)
                policies.append(PublicPolicy.of(solver))
            for ours, theirs in zip(policies[0].rows, policies[1].rows, strict=True):
                assert np.abs(ours - theirs).max(initial=0) < AGREEMENT


def held(solver: PublicSolver) -> int:
    """Return the bytes of a solver's payoffs."""
    return sum(array.nbytes for paid in solver.sweeper.payoffs for array in paid[:6])


def test_the_cheapest_form_is_taken_and_its_bytes_are_known_before() -> None:
    for name, most in (("leduc_poker(ranks=9,suits=4)", 0.04), ("leduc_poker", 1.2), ("random", 1.2)):
        tree = grow_public(RandomStructured(1)) if name == "random" else grow_public(load_game(name))  # type: ignore[arg-type]
        for dtype in (np.float64, np.float32):
            solver = PublicSolver(tree, dtype=dtype, threads=1)
            assert held(solver) == swept.swept_bytes(tree.payoffs, tree.kinds_used, dtype)
            rows = sum(n * padded(m) for n, m in zip(tree.n_private, tree.n_private[::-1], strict=True))
            matrices = int(tree.kinds_used.sum()) * rows * np.dtype(dtype).itemsize
            assert held(solver) < most * matrices + 20_000
    small = PublicSolver(both("liars_dice(sides=3)").tree, threads=1)
    assert small.sweeper.payoffs[0][0].all()  # three private states: matrices


def test_subtrees_keep_only_the_kinds_that_they_have() -> None:
    tree = both("leduc_poker").tree
    for node in (0, 3, len(tree) - 1):
        below = tree.below(node)
        kinds = sorted({-1 - int(to) for to in below.child if to < 0})
        assert np.flatnonzero(below.kinds_used).tolist() == kinds
        matrix, first, *_ = PublicSolver(below, threads=1).sweeper.payoffs[0]
        there = (matrix > 0) | (np.diff(first) > 0)
        assert set(np.flatnonzero(there).tolist()) <= set(kinds)


def old_file(path: Path, tree: PublicTree) -> None:
    """Write a policy as format 1 had it: payoffs as matrices."""
    file = ArrayFile.open(path, MAGIC, FORMAT)
    members = [Member.of(name, file.mapped(name)) for name in file.names if not name.startswith("payoffs_")]
    dense = np.array([tree.payoffs.dense(kind) for kind in range(len(tree.payoffs))])
    meta = {name: value for name, value in file.meta.items() if name != "checksums"}
    write_arrays(path, meta | {"format": 1}, [*members, Member.of("payoffs", dense)])


@pytest.mark.parametrize("name", ["leduc_poker", "liars_dice(sides=3)"])
def test_files_hold_the_forms_and_those_with_matrices_are_read_as_before(tmp_path: Path, name: str) -> None:
    solver, path = solver_of(name, 8), tmp_path / "a.policy"
    save_public_policy(path, solver)
    game = both(name).game
    read = open_public_policy(path, game)
    for known, array in solver.tree.payoffs.arrays().items():
        assert np.array_equal(getattr(read.tree.payoffs, known), array)
    old_file(path, solver.tree)
    old = open_public_policy(path, game)
    assert np.allclose(old.tree.payoffs.dense(0), read.tree.payoffs.dense(0), atol=1e-15)
    first = int(np.flatnonzero(old.tree.player == 0)[0])
    one, other = ([*policy.values.normalised(0, first)] for policy in (old, read))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_files_whose_payoffs_do_not_hold_together_are_refused(tmp_path: Path) -> None:
    solver, path = solver_of("leduc_poker", 2), tmp_path / "a.policy"
    save_public_policy(path, solver)
    file = ArrayFile.open(path, MAGIC, FORMAT)
    arrays = {name: np.array(file.mapped(name)) for name in file.names}
    meta = {name: value for name, value in file.meta.items() if name != "checksums"}
    for name, wrong in (
        ("payoffs_deal", arrays["payoffs_deal"] + 1000),
        ("payoffs_first", arrays["payoffs_first"][:, :-1]),
        ("payoffs_share", arrays["payoffs_share"] * np.nan),
    ):
        write_arrays(path, meta, [Member.of(key, a) for key, a in (arrays | {name: wrong}).items()])
        with pytest.raises(PublicPolicyError, match="payoff"):
            open_public_policy(path, solver.tree.game)
