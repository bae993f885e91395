"""Infosets tied together, buckets of hands, and how far opponents see through a forest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cfr.best_response import best_response_values
from cfr.lp import solve_lp
from cfr.policies.policy import uniform_policy
from cfr.sequence_form import sequence_form
from cfr.solver import solve
from cfr.tree import FlatTree, TreeRules, grow
from cfr.tree.recall import ImperfectRecall
from cfr.tree_cfr import TreeSolver
from cfr.values import node_values
from games.registry import load_game
from gs2.policies.tabulate import tabulate
from gs2.search.gadget.build import build_gadget
from gs2.search.gadget.entry import Entry
from gs2.search.subgame.buckets import cluster_rows, hand_buckets, hand_features
from gs2.search.subgame.cut import grow_subgame
from gs2.search.subgame.multi_valued import known_at, unvalued, with_multi_valued_leaves
from gs2.search.subgame.tying import (
    clairvoyance,
    infoset_labels,
    leaf_labels,
    situations,
    tie_entry,
    tie_infosets,
    tie_subgame,
)
from tests.cfr.trees import random_policy, random_tree
from tests.games.random_games import RandomGame
from tests.gs2.search.setting import LEDUC, LIARS_DICE, context

SEEDS = pytest.mark.parametrize("seed", range(10))
TEAMS = pytest.mark.parametrize("teams", [(0, 1), (0, 1, 0, 1)], ids=["two seats", "four seats"])


def some_labels(tree: FlatTree, seed: int) -> np.ndarray:
    """Return a few labels, and -1, at random."""
    return np.random.default_rng(seed).integers(-1, 3, tree.n_infosets)


def own_ways(tree: FlatTree, infoset: int, seat: int) -> set[tuple]:
    """Return the sequences of own (infoset, action) that lead to an infoset, one history at a time."""
    ways = set()
    for node in np.flatnonzero(tree.infoset == infoset).tolist():
        way = []
        while tree.parent[node] >= 0:
            up = int(tree.parent[node])
            if tree.player[up] == seat:
                way.append((int(tree.infoset[up]), node - int(tree.first_child[up])))
            node = up
        ways.add(tuple(way))
    return ways


@SEEDS
@TEAMS
@pytest.mark.parametrize("recall", [True, False])
def test_tied_infosets_are_those_of_one_label_player_and_number_of_actions(seed, teams, recall) -> None:
    tree = random_tree(seed, teams=teams)
    labels = some_labels(tree, seed)
    tied = tie_infosets(tree, labels, recall=recall)
    tied.tree.validate()
    counts = np.diff(tree.infoset_offset)
    for one in range(tree.n_infosets):
        for two in range(one):
            together = tied.infoset[one] == tied.infoset[two]
            alike = (
                labels[one] == labels[two] >= 0
                and tree.infoset_player[one] == tree.infoset_player[two]
                and counts[one] == counts[two]
            )
            assert alike or not together
            if not recall:
                assert together == alike
    # Ancestors come first still, and each slot goes to its own action.
    first = tied.tree.infoset_first_node()
    assert np.all(np.diff(first) > 0)
    within = np.arange(tree.n_slots) - tree.infoset_offset[tree.slot_infoset]
    new = tied.tree
    assert np.array_equal(within, tied.slot - new.infoset_offset[new.slot_infoset[tied.slot]])
    # A policy of the tied tree is worth the same on the old one.
    policy = random_policy(new, seed)
    np.testing.assert_allclose(node_values(new, policy), node_values(tree, tied.untied(policy)))


@SEEDS
@TEAMS
def test_recall_stays_perfect_and_as_much_is_tied_as_that_allows(seed, teams) -> None:
    tree = random_tree(seed, teams=teams)
    labels = some_labels(tree, seed)
    tied = tie_infosets(tree, labels)
    new = tied.tree
    ways = [own_ways(new, i, int(new.infoset_player[i])) for i in range(new.n_infosets)]
    assert all(len(found) == 1 for found in ways)
    counts = np.diff(tree.infoset_offset)
    for one in range(tree.n_infosets):
        for two in range(one):
            a, b = tied.infoset[one], tied.infoset[two]
            same = ways[a] == ways[b] and labels[one] == labels[two] >= 0 and counts[one] == counts[two]
            if same and tree.infoset_player[one] == tree.infoset_player[two]:
                assert a == b


@SEEDS
def test_without_labels_or_with_meanings_of_its_own_nothing_is_tied(seed) -> None:
    tree = random_tree(seed)
    nothing = tie_infosets(tree, np.full(tree.n_infosets, -1))
    assert np.array_equal(nothing.infoset, np.arange(tree.n_infosets))
    apart = tie_infosets(tree, np.zeros(tree.n_infosets, np.int64), meaning=np.arange(tree.n_slots))
    assert apart.tree.n_infosets == tree.n_infosets
    # Infosets whose actions mean the same in another order are not tied.
    two = np.flatnonzero(np.diff(tree.infoset_offset) == 2)
    meaning = np.zeros(tree.n_slots, np.int64)
    for turn, infoset in enumerate(two.tolist()):
        meaning[tree.slots(infoset)] = (5, 6) if turn % 2 else (6, 5)
    found = tie_infosets(tree, np.zeros(tree.n_infosets, np.int64), meaning=meaning, recall=False)
    for turn, infoset in enumerate(two.tolist()):
        for before in two[:turn].tolist():
            if found.infoset[infoset] == found.infoset[before]:
                assert np.array_equal(meaning[tree.slots(infoset)], meaning[tree.slots(before)])


@SEEDS
def test_who_is_tied_gains_nothing_by_it(seed) -> None:
    tree = random_tree(seed)
    labels = np.where(tree.infoset_player == 1, 0, -1)
    tied = tie_infosets(tree, labels)
    policy = random_policy(tied.tree, seed)
    before = best_response_values(tree, tied.untied(policy))[1]
    assert best_response_values(tied.tree, policy)[1] <= before + 1e-9
    assert solve_lp(tied.tree).value >= solve_lp(tree).value - 1e-9


def test_without_recall_the_sequence_form_refuses_and_the_tree_solver_runs() -> None:
    tree = context(LEDUC).tree
    tied = tie_infosets(tree, np.where(tree.infoset_player == 1, 0, -1), recall=False)
    with pytest.raises(ImperfectRecall):
        sequence_form(tied.tree)
    with pytest.raises(ImperfectRecall):
        TreeSolver(tied.tree)
    solver = TreeSolver(tied.tree, recall=False)
    solver.run(20)
    np.testing.assert_allclose(
        np.add.reduceat(solver.average_policy(), tied.tree.infoset_offset[:-1]), 1.0, atol=1e-9
    )


@SEEDS
def test_the_mean_policy_weighs_infosets_as_told(seed) -> None:
    tree = random_tree(seed)
    tied = tie_infosets(tree, some_labels(tree, seed), recall=False)
    policy = random_policy(tree, seed)
    weight = np.random.default_rng(seed).random(tree.n_infosets)
    weight[weight < 0.3] = 0.0
    found = tied.mean(policy, weight)
    for new in range(tied.tree.n_infosets):
        members = np.flatnonzero(tied.infoset == new)
        w = weight[members] if weight[members].sum() > 0 else np.ones(len(members))
        rows = np.stack([policy[tree.slots(i)] for i in members])
        np.testing.assert_allclose(found[tied.tree.slots(new)], w @ rows / w.sum())


def forest_of(name: str, hands: int):
    """Return a forest below some first decisions of player 0, its game, and the roots' states."""
    prepared = context(name)
    tree = prepared.tree
    infoset = int(np.flatnonzero(tree.infoset_player == 0)[0])
    states = tree.states[np.flatnonzero(tree.infoset == infoset)[:hands]]
    return prepared.game, states, grow_subgame(prepared.game, states, np.full(len(states), 1 / len(states)))


@pytest.mark.parametrize("name", [LEDUC, LIARS_DICE])
def test_an_opponent_in_one_bucket_does_not_see_through_the_deals(name) -> None:
    game, states, forest = forest_of(name, 5)
    seen = known_at(game, states, 1)
    before = clairvoyance(forest, (1,))
    assert before.roots == len(states)
    buckets = np.zeros(len(states), np.int64)
    labels = infoset_labels(forest, {1: buckets})
    assert np.all(labels[forest.tree.infoset_player == 0] == -1)
    made, tied = tie_subgame(forest, labels)
    after = clairvoyance(made, (1,))
    assert after.histories > before.histories
    assert after.alone < before.alone or before.alone == 0
    # What the opponent sees of the play is told apart still: tied infosets stand in one situation.
    where = situations(forest.tree)
    for new in range(made.tree.n_infosets):
        assert len(np.unique(where[tied.infoset == new])) == 1
    # A bucket for every hand ties nothing.
    finest = infoset_labels(forest, {1: seen})
    assert tie_infosets(forest.tree, finest).tree.n_infosets == forest.tree.n_infosets
    # The fewer hands the opponent can tell apart, the more the searching player gets.
    values = [
        solve_lp(tie_subgame(forest, infoset_labels(forest, {1: b}))[0].tree).value for b in (seen, buckets)
    ]
    assert values[0] <= values[1] + 1e-9


def test_a_bucket_may_not_part_an_infoset() -> None:
    game, states, _ = forest_of(LEDUC, 5)
    seen = known_at(game, states, 1)
    again = np.concatenate([states, states])
    twice = grow_subgame(game, again, np.ones(2 * len(states)))
    parted = np.concatenate([seen, seen + 10])
    with pytest.raises(ValueError, match="one bucket"):
        infoset_labels(twice, {1: parted})
    group = np.stack([np.concatenate([seen, seen])]).astype(np.int32)
    entry = Entry((1,), group, np.zeros((1, len(again))), np.ones(len(again)), np.ones(len(again)))
    with pytest.raises(ValueError, match="one bucket"):
        tie_entry(entry, parted[None])


@pytest.mark.parametrize("kind", ["resolve", "maxmargin"])
@pytest.mark.parametrize("name", [LEDUC, LIARS_DICE])
def test_a_gadget_over_a_tied_forest_takes_a_tied_entry(name, kind) -> None:
    game, states, forest = forest_of(name, 5)
    rng = np.random.default_rng(0)
    seen = known_at(game, states, 1)
    r = len(states)
    buckets = seen // 2
    order = np.argsort(buckets, kind="stable")
    states, seen, buckets = states[order], seen[order], buckets[order]
    forest = grow_subgame(game, states, np.full(r, 1 / r))
    worth = rng.normal(size=seen.max() + 1)[seen]
    entry = Entry((1,), seen[None].astype(np.int32), worth[None], rng.random(r) + 0.1, np.ones(r))
    made, tied = tie_subgame(forest, infoset_labels(forest, {1: buckets}))
    with pytest.raises(ImperfectRecall):
        sequence_form(build_gadget(kind, made.tree, made.root_of, entry).tree)
    known = tie_entry(entry, buckets[None])
    for bucket in np.unique(buckets):
        at = buckets == bucket
        mean = np.average(worth[at], weights=entry.reach[at])
        np.testing.assert_allclose(known.alternative[0, at], mean)
    gadget = build_gadget(kind, made.tree, made.root_of, known)
    found = solve(gadget.tree, variant="pcfr+", iterations=300)
    assert found.exploitability < 0.05
    policy = tied.untied(gadget.to_forest(found.policy, made.tree.n_slots))
    sums = np.add.reduceat(policy, forest.tree.infoset_offset[:-1])
    np.testing.assert_allclose(sums, 1.0, atol=1e-9)


@SEEDS
def test_continuations_are_chosen_by_bucket(seed) -> None:
    game = RandomGame(seed, public=True, depth=6)
    tree = grow(game)
    nodes = np.flatnonzero(
        (tree.player == 0) & (tree.level_offsets.searchsorted(np.arange(tree.n_nodes), "right") == 2)
    )
    if len(nodes) == 0:
        pytest.skip("player 0 never moves second")
    zeros = TreeRules(depth_limit=1, leaf=unvalued)
    forest = grow_subgame(game, tree.states[nodes], np.ones(len(nodes)), rules=zeros)
    if len(forest.truncated) == 0:
        pytest.skip("the game ends before its depth limit")
    states = forest.tree.states[forest.truncated]
    known = [known_at(game, states, seat) for seat in (0, 1)]
    coarse = leaf_labels(forest, np.zeros(len(nodes), np.int64), known[1])
    fine = leaf_labels(forest, known_at(game, tree.states[nodes], 1), known[1])
    assert len(np.unique(coarse)) <= len(np.unique(fine)) <= len(np.unique(known[1]))
    # One infoset has one label.
    for labels in (coarse, fine):
        assert len(np.unique(np.stack([known[1], labels]), axis=1).T) == len(np.unique(known[1]))
    base = tabulate(game, tree, uniform_policy(tree))
    sets = [(base,), (base, base)]
    made = with_multi_valued_leaves(
        game, forest, sets, np.random.default_rng(seed), rollouts=1, known=[known[0], coarse]
    )
    assert made.tree.n_infosets == forest.tree.n_infosets + len(np.unique(coarse))


@SEEDS
def test_clusters_are_few_deterministic_and_alike_for_equal_features(seed) -> None:
    rng = np.random.default_rng(seed)
    features = np.round(rng.normal(size=(40, 3)), 1)
    features[::4] = features[0]
    k = int(rng.integers(1, 9))
    found = cluster_rows(features, k, seed=seed)
    assert np.array_equal(found, cluster_rows(features * 7 + 3, k, seed=seed))
    assert len(np.unique(found)) <= k
    assert len(np.unique(found[::4])) == 1
    assert np.array_equal(np.unique(found), np.arange(found.max() + 1))
    first = np.unique(found, return_index=True)[1]
    assert np.all(np.diff(first) > 0)
    far = np.where(np.arange(40) < 20, 0.0, 100.0) + rng.normal(size=40)
    two = cluster_rows(far, 2, seed=seed)
    assert np.array_equal(two, (np.arange(40) >= 20).astype(int))


def test_features_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        cluster_rows(np.array([1.0, np.nan]), 2)
    with pytest.raises(ValueError, match="k must be"):
        cluster_rows(np.ones(3), 0)
    assert len(cluster_rows(np.zeros((0, 2)), 3)) == 0


def test_buckets_of_hands_never_part_an_infoset_and_follow_the_features() -> None:
    prepared = context(LEDUC)
    game, tree = prepared.game, prepared.tree
    base = tabulate(game, tree, uniform_policy(tree))
    nodes = np.flatnonzero(tree.player == 1)
    level = np.searchsorted(tree.level_offsets, nodes, side="right")
    first = nodes[level == level.min()]
    two = first[tree.n_children[first] == tree.n_children[first[0]]]
    states = tree.states[two]
    features = hand_features(game, states, 1, base)
    actions = int(tree.n_children[two[0]])
    assert features.shape == (len(two), 1 + 2 * actions)
    assert hand_features(game, states, 0, base).shape == (len(two), 1)
    for k in (1, 2, 3):
        buckets = hand_buckets(game, states, 1, features, k)
        known = known_at(game, states, 1)
        assert len(np.unique(buckets)) <= k
        assert len(np.unique(np.stack([known, buckets]), axis=1).T) == len(np.unique(known))

    class Offering:
        """A game that says what a hand is like."""

        def __getattr__(self, name):
            return getattr(game, name)

        def infoset_features(self, states, player):
            return np.full((len(states), 2), 7.0)

    assert hand_features(Offering(), states, 1, base).shape == (len(two), 3 + 2 * actions)


def test_labels_of_another_size_are_refused() -> None:
    tree = random_tree(0)
    with pytest.raises(ValueError, match="one entry per infoset"):
        tie_infosets(tree, np.zeros(tree.n_infosets + 1, np.int64))
    with pytest.raises(ValueError, match="one per slot"):
        tie_infosets(tree, np.zeros(tree.n_infosets, np.int64), meaning=np.zeros(1, np.int64))
    entry = Entry((1,), np.zeros((1, 2), np.int32), np.zeros((1, 2)), np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="buckets must be"):
        tie_entry(entry, np.zeros((1, 3), np.int64))


def test_a_tree_without_decisions_has_nothing_to_tie() -> None:
    game = load_game("kuhn_poker")
    tree = grow(game)
    ends = grow_subgame(game, tree.states[tree.terminal[:2]], np.ones(2))
    assert tie_infosets(ends.tree, np.zeros(0, np.int64)).tree.n_infosets == 0
    assert clairvoyance(ends, (0, 1)).histories == 2
    assert replace(clairvoyance(ends, (0,)), roots=0).alone == 0.0
