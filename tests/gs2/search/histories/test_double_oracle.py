"""Summaries: once no plan gains more, the solution is that of the subgame with every history generated."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.sequence_form import sequence_form
from gs2.search.config.presets import preset
from gs2.search.histories.double_oracle import choose_plans
from gs2.search.pipeline import MISSED
from gs2.search.subgame.cut import Roots
from tests.gs2.search.setting import (
    GAMES,
    KUHN,
    LEDUC,
    LIARS_DICE,
    blueprint,
    context,
    random_policy,
    rng,
    searched,
)
from tests.patience import amount

PLUS = preset("gs2+", solver="lp", certificate="none", whole=0, plans=60)


def least_margin(name: str, seed: int, **changes) -> tuple[float, bool]:
    """Return (least true margin over all opponent infosets of the closure, whether the summary completed)."""
    mine = np.flatnonzero(context(name).tree.infoset_player == seed % 2)
    config, infoset = PLUS.replace(certificate="margin", **changes), int(rng(seed, 1).choice(mine[:4]))
    found = searched(name, random_policy(name, rng(seed)), infoset, config, seed)
    # The certificate evaluates the whole closure, whatever the subgame held.
    assert found.certified is not None
    return float(np.min(found.certified.before - found.certified.after)), found.complete


@pytest.mark.parametrize("name, k", [(KUHN, 1), (LIARS_DICE, 2)])
def test_a_completed_summary_has_the_margin_of_the_whole_closure(name, k):
    for seed in range(amount(4, 3)):
        whole, _ = least_margin(name, seed, whole=10**6)
        ours, complete = least_margin(name, seed, k=k)
        assert complete
        low, high = context(name).game.payoff_range
        assert ours == pytest.approx(whole, abs=3 * MISSED * (high - low))


def test_without_completion_a_summary_underrates_the_opponent():
    missed = 0
    for seed in range(6):
        policy = random_policy(LIARS_DICE, rng(seed))
        found = searched(LIARS_DICE, policy, 0, PLUS.replace(k=1, plans=1))
        missed += not found.complete
        assert found.complete or any("better replies" in note for note in found.cut_off)
    assert missed > 0


def test_a_summary_is_smaller_than_the_closure():
    whole, ours = (
        searched(LEDUC, blueprint(LEDUC), 0, PLUS.replace(solver="cfr", iterations=20, **size))
        for size in ({"whole": 10**6}, {"k": 1, "plans": 1})
    )
    assert ours.nodes < whole.nodes / 2
    assert len(ours.kept.rows) == len(whole.kept.rows)
    assert ours.kept.summary.sum() > 0 and whole.kept.summary.sum() == 0


@pytest.mark.parametrize("name", GAMES)
def test_copies_below_choices_make_a_valid_tree_of_perfect_recall(name):
    prepared = context(name)
    tree = prepared.tree
    rng = np.random.default_rng(4)
    graph = prepared.graph(0)
    roots = graph.nodes[graph.order(int(np.flatnonzero(tree.infoset_player == 0)[0]), None)]
    group = np.unique(graph.group[1, np.searchsorted(graph.nodes, roots)], return_inverse=True)[1]
    by_group = np.argsort(group, kind="stable")
    roots, group = roots[by_group], group[by_group].astype(np.int32)
    counts = np.where(group == 0, 3, np.where(group == 1, 1, 2))
    plans = np.stack([random_policy(name, rng, sharpness=3) for _ in range(3)])
    plan = np.concatenate([np.arange(c) if c > 1 else [-1] for c in counts]).astype(np.int32)
    copied = np.repeat(np.arange(len(roots)), counts)
    frozen = np.zeros((len(copied), 2), bool)
    frozen[:, 1] = counts[copied] > 1
    cut = prepared.cutter.cut(Roots(roots[copied], np.ones(len(copied)), plans[0], frozen, plans, plan))
    weights = rng.random(len(roots))
    chosen = choose_plans(cut, counts, weights, group, 1)
    chosen.tree.validate()
    sequence_form(chosen.tree)
    assert chosen.tree.n_roots == len(roots)
    assert np.array_equal(chosen.tree.chance_prob[: len(roots)], weights)
    assert np.array_equal(chosen.origin[: len(roots)], roots)
    picks = chosen.infoset_origin < 0
    assert picks.sum() == len(np.unique(group[counts > 1]))
    assert np.all(chosen.tree.infoset_player[picks] == 1)
    old = cut.tree.terminal
    assert np.array_equal(chosen.tree.returns, cut.tree.returns)
    assert np.array_equal(chosen.origin[chosen.tree.terminal], cut.origin[old])


def test_single_copies_change_nothing():
    prepared = context(LEDUC)
    cut = prepared.cutter.cut(Roots(np.array([1, 2], np.int32), np.ones(2)))
    assert choose_plans(cut, np.ones(2, np.int64), np.ones(2), np.arange(2, dtype=np.int32), 1) is cut
