"""Mixtures of draws play as the draws do on average."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from cfr.tree import FlatTree
from experiments.refinement.grid import Cell, Grid, GridError
from experiments.refinement.methods import MixtureError, mix_policies, split_draws
from experiments.refinement.rows import ROWS, read_rows
from experiments.refinement.run import run_cell, run_grid
from tests.cfr.trees import random_policy, random_tree, tree_of
from tests.patience import amount

RANDOM = {f"random {seed}": seed for seed in range(amount(12, 4))}
TREES = {"kuhn": None, "leduc": None, "dice": None, **RANDOM}


def tree_called(name: str) -> FlatTree:
    seed = TREES[name]
    return tree_of(name) if seed is None else random_tree(seed, levels=5)


def mixture_by_terminals(tree: FlatTree, policies: list[np.ndarray], player: int) -> list[Fraction | None]:
    """Return the mixture's probabilities as fractions, one history after another; None where nothing leads.

    A slot's realization is the product of the player's own probabilities on the way to it, slot included.
    """
    parent, acts, infoset = tree.parent.tolist(), tree.player.tolist(), tree.infoset.tolist()
    offset, first = tree.infoset_offset.tolist(), tree.first_child.tolist()
    through = [Fraction(0)] * tree.n_slots
    for node in range(tree.n_nodes):
        if acts[node] != player:
            continue
        for slot in range(offset[infoset[node]], offset[infoset[node] + 1]):
            realization = Fraction(0)
            for policy in policies:
                product, at = Fraction(float(policy[slot])), node
                while parent[at] >= 0:
                    up = parent[at]
                    if acts[up] == player:
                        product *= Fraction(float(policy[offset[infoset[up]] + at - first[up]]))
                    at = up
                realization += product
            through[slot] = realization
    out: list[Fraction | None] = [None] * tree.n_slots
    for i in range(tree.n_infosets):
        total = sum(through[offset[i] : offset[i + 1]])
        for slot in range(offset[i], offset[i + 1]):
            out[slot] = through[slot] / total if total else None
    return out


def draws_of(tree: FlatTree, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    zeros = (0.0, 0.4, 1.0)
    return [random_policy(tree, 10 * seed + n, zeros=zeros[n % 3]) for n in range(rng.integers(1, 6))]


@pytest.mark.parametrize("name", TREES)
def test_a_mixture_realizes_every_sequence_as_often_as_its_draws(name: str) -> None:
    tree = tree_called(name)
    policies = draws_of(tree, len(name))[: 2 if name == "leduc" else None]
    for player in (0, 1):
        mixed = mix_policies(tree, policies, player)
        slow = mixture_by_terminals(tree, policies, player)
        mine = tree.slot_player == player
        for slot in np.flatnonzero(mine).tolist():
            wanted = slow[slot]
            plain = float(np.mean([policy[slot] for policy in policies]))
            assert mixed[slot] == pytest.approx(plain if wanted is None else float(wanted), abs=1e-12)
        assert np.array_equal(mixed[~mine], policies[0][~mine])


def test_a_mixture_of_nothing_is_refused() -> None:
    with pytest.raises(MixtureError, match="at least one policy"):
        mix_policies(tree_of("kuhn"), [], 0)


@pytest.mark.parametrize(
    ("method", "split"),
    [
        ("gs2-r:k=3,draws=5", ("gs2-r:k=3", 5)),
        ("gs2-r:draws=2", ("gs2-r", 2)),
        ("gs2-r:draws=4,k=2", ("gs2-r:k=2", 4)),
        ("gs2-d:k=3", ("gs2-d:k=3", None)),
        ("1-klss", ("1-klss", None)),
    ],
)
def test_a_method_says_how_many_draws_it_mixes(method: str, split: tuple[str, int | None]) -> None:
    assert split_draws(method) == split


@pytest.mark.parametrize("draws", ["0", "-1", "many", "", "2,draws=3", "1e3", "²"])
def test_draws_that_are_no_number_are_refused(draws: str) -> None:
    with pytest.raises(MixtureError, match="draws must be one integer"):
        split_draws(f"gs2-r:k=3,draws={draws}")
    with pytest.raises(GridError, match="draws must be one integer"):
        Grid("test", games=("kuhn_poker",), methods=(f"gs2-r:draws={draws}",))


def test_mixtures_share_the_seeds_out(tmp_path) -> None:
    grid = Grid(
        "test",
        games=("kuhn_poker",),
        blueprints=("cfr:3",),
        methods=("gs2-r:k=1,draws=2", "gs2-r:k=1"),
        iterations=(20,),
        seeds=5,
    )
    assert [c.seed for c in grid.cells() if "draws" in c.method] == [0, 1]
    assert [c.seed for c in replace(grid, seeds=1).cells() if "draws" in c.method] == [0]
    run_grid(grid, tmp_path)
    rows = {(row.method, row.seed): row for row in read_rows(tmp_path / ROWS)}
    for seed in (0, 1):
        mixed = rows["gs2-r:k=1,draws=2", seed]
        single = [rows["gs2-r:k=1", 2 * seed + n] for n in (0, 1)]
        assert mixed.searches == sum(row.searches for row in single)
        assert mixed.exploitability <= np.mean([row.exploitability for row in single]) + 1e-9
    # Draws that a mixture left behind are those that a cell makes by itself.
    alone = run_cell(Cell("kuhn_poker", "cfr:3", "gs2-r:k=1", iterations=20, seed=4))
    assert alone.exploitability == rows["gs2-r:k=1", 4].exploitability


def test_a_mixture_of_one_draw_is_that_draw() -> None:
    cell = Cell("kuhn_poker", "cfr:3", "gs2-r:k=1", iterations=20, seed=2)
    alone, mixed = run_cell(cell), run_cell(replace(cell, method="gs2-r:k=1,draws=1"))
    assert mixed.exploitability == pytest.approx(alone.exploitability, abs=1e-12)
    assert (mixed.searches, mixed.nodes) == (alone.searches, alone.nodes)
