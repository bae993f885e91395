"""Subgames cut from a full tree are those grown from the game."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.tree import FlatTree, TreeRules
from games.game import CHANCE, TERMINAL
from gs2.policies.tabulate import policy_of, tabulate
from gs2.search.subgame.cut import Roots
from gs2.search.subgame.forest import grow_subgame
from tests.gs2.search.setting import GAMES, KUHN, LEDUC, blueprint, context, random_policy


def assert_same_tree(one: FlatTree, two: FlatTree) -> None:
    """Fail unless two trees agree in every array but the action into a root and the states."""
    for name in FlatTree.__dataclass_fields__:
        if name in ("states", "action", "teams", "n_truncated", "chance_prob", "returns", "first_child"):
            continue
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    inner = one.n_children > 0
    assert np.array_equal(one.first_child[inner], two.first_child[inner])
    assert np.allclose(one.chance_prob, two.chance_prob, atol=1e-15)
    assert np.allclose(one.returns, two.returns, atol=1e-12)
    assert np.array_equal(one.action[one.n_roots :], two.action[two.n_roots :])
    assert one.n_truncated == two.n_truncated


def roots_of(name: str, player: int, rng: np.random.Generator) -> np.ndarray:
    """Return the histories of the order-2 knowledge set of some infoset."""
    prepared = context(name)
    graph = prepared.graph(player)
    infoset = int(rng.choice(np.flatnonzero(prepared.tree.infoset_player == player)))
    return graph.nodes[graph.order(infoset, 2)]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("depth", [None, 1, 2])
def test_a_cut_subgame_is_the_grown_one(name, depth):
    prepared, rng = context(name), np.random.default_rng(3)
    limit = {"depth": depth, "leaf": lambda nodes: np.ones((len(nodes), 2))} if depth else {}
    rules = TreeRules(depth_limit=depth, leaf=lambda g, s: np.ones((len(s), 2)))
    for player in (0, 1):
        roots = roots_of(name, player, rng)
        weights = rng.random(len(roots))
        cut = prepared.cutter.cut(Roots(roots, weights), **limit)
        grown = grow_subgame(prepared.game, prepared.tree.states[roots], weights, rules=rules)
        cut.tree.validate()
        assert_same_tree(cut.tree, grown.tree)
        assert np.array_equal(cut.root_of, grown.root_of)
        assert np.array_equal(cut.truncated, grown.truncated)
        assert np.array_equal(prepared.tree.states[cut.origin], grown.tree.states)


@pytest.mark.parametrize("name", GAMES)
def test_frozen_seats_become_the_same_chance_nodes(name):
    prepared, rng = context(name), np.random.default_rng(4)
    policy = random_policy(name, rng, sharpness=3)
    made = tabulate(prepared.game, prepared.tree, policy)
    assert np.allclose(policy_of(made, prepared.game, prepared.tree), policy)
    roots, seats = roots_of(name, 0, rng), np.array([False, True])
    states, weights = prepared.tree.states[roots], np.ones(len(roots))
    cut = prepared.cutter.cut(Roots(roots, weights, policy, np.tile(seats, (len(roots), 1))))
    rules = TreeRules(policy=made.policy, frozen=lambda game, states, players: players == 1)
    grown = grow_subgame(prepared.game, states, weights, rules=rules)
    cut.tree.validate()
    assert not np.any(cut.tree.player == 1)
    assert_same_tree(cut.tree, grown.tree)


def test_the_whole_game_is_the_subgame_of_its_root():
    prepared = context(KUHN)
    cut = prepared.cutter.cut(Roots(np.zeros(1, np.int32), np.ones(1)))
    assert_same_tree(cut.tree, prepared.tree)
    assert np.array_equal(cut.slot_origin, np.arange(prepared.tree.n_slots))
    assert np.array_equal(cut.origin, np.arange(prepared.tree.n_nodes))


def test_a_seat_that_plays_on_leaves_only_the_others_deciding_below():
    prepared = context(LEDUC)
    policy = blueprint(LEDUC)
    roots = roots_of(LEDUC, 0, np.random.default_rng(6))
    cut = prepared.cutter.cut(Roots(roots, np.ones(len(roots)), policy), 1, play_on=0)
    cut.tree.validate()
    assert set(np.flatnonzero(cut.tree.player == 0)) == set(range(len(roots)))
    assert np.any(cut.tree.player[len(roots) :] == 1)
    assert cut.tree.n_truncated == 0


def test_options_that_need_each_other_are_refused():
    cutter = context(KUHN).cutter
    root, weight = np.zeros(1, np.int32), np.ones(1)
    with pytest.raises(ValueError, match="policy"):
        cutter.cut(Roots(root, weight), 1, play_on=0)
    with pytest.raises(ValueError, match="policy"):
        TreeRules(frozen=lambda game, states, players: players >= 0)


def test_the_kernel_spells_out_who_acts_as_the_games_do():
    assert (CHANCE, TERMINAL) == (-1, -2)
