"""Covers: no opponent infoset may reach from inside a group of histories to outside of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfr.best_response import best_response_values
from cfr.policies.policy import uniform_policy
from games import GameError, load_game
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext
from gs2.search.histories.cover import Cover
from gs2.search.pipeline import refine_infoset
from gs2.search.strategy import Strategy
from tests.games.random_games import Node, NodeGame, RandomGame, hidden_move
from tests.patience import amount


def root_of(tree, nodes: np.ndarray) -> np.ndarray:
    """Return which of the roots each node of the tree lies at or below, [N]; -1 for none. Slow and plain."""
    found = np.full(tree.n_nodes, -1)
    for number, node in enumerate(nodes.tolist()):
        found[node] = number
    for node in range(tree.n_nodes):
        up = tree.parent[node]
        if up >= 0 and found[up] >= 0:
            assert found[node] < 0, "no root lies below another"
            found[node] = found[up]
    return found


def check_cover(context: SearchContext, player: int, infoset: int, cover: Cover, whole: bool) -> None:
    """Raise AssertionError unless the lemma's condition holds."""
    tree = context.tree
    at = root_of(tree, cover.nodes)
    group = np.where(at >= 0, cover.group[at], -1)
    for number in range(tree.n_infosets):
        groups = set(group[tree.infoset == number].tolist())
        if tree.infoset_player[number] != player:
            assert len(groups) == 1, "an opponent infoset lies in one group or outside of all"
        elif whole or number == infoset:
            assert -1 not in groups or groups == {-1}, "what may change lies inside"
    assert np.all(group[tree.infoset == infoset] >= 0)
    last = context.own_slot(1 - player)[cover.nodes]
    for name in np.unique(cover.group):
        assert len(set(last[cover.group == name].tolist())) == 1, "one own past of the opponent in each group"
    holds = {int(r) for r in at[tree.infoset == infoset]}
    assert {int(r) for r in np.flatnonzero(cover.own_infoset == infoset)} == holds


@given(seed=st.integers(0, 10**6), public=st.booleans(), whole=st.booleans())
@settings(max_examples=amount(150), deadline=None)
def test_covers_of_random_games_satisfy_the_lemma(seed, public, whole):
    context = SearchContext(RandomGame(seed, public=public))
    infoset = seed % context.tree.n_infosets
    player = int(context.tree.infoset_player[infoset])
    graph = context.graph(player)
    top = graph.order(infoset, None if whole else 1)
    every = graph.neighbours(top, (1 - player,))
    maker = context.covers(player)
    check_cover(context, player, infoset, maker.make(infoset, top, every, whole=whole), whole)


def test_the_research_games_need_no_extension():
    for name in ("kuhn_poker", "leduc_poker", "liars_dice(sides=4)", "goofspiel(cards=4,turns=3)"):
        context = SearchContext(load_game(name))
        assert context.covers(0).turns_are_noticed and context.covers(1).turns_are_noticed


def test_an_opponent_that_cannot_tell_whether_we_moved_makes_the_cover_wider():
    context = SearchContext(hidden_move())
    infoset = int(np.flatnonzero(context.tree.infoset_player == 1)[0])
    maker = context.covers(1)
    assert not maker.turns_are_noticed
    graph = context.graph(1)
    top = graph.of_infoset(infoset)
    cover = maker.make(infoset, top, top)
    assert cover.nodes.tolist() == [1, 2], "the history without a move belongs to the opponent's infoset"
    assert len(set(cover.group.tolist())) == 1
    assert cover.own_infoset.tolist() == [infoset, -1]


@pytest.mark.parametrize("method", ["gs2+", "gs2+path"])
def test_a_search_where_the_opponent_may_not_have_noticed_our_move_certifies_no_loss(method):
    # The certificate once took the opponent's reply for free below its infoset: +2.000 became +2.167.
    context = SearchContext(hidden_move())
    policy = uniform_policy(context.tree)
    infoset = int(np.flatnonzero(context.tree.infoset_player == 1)[0])
    found = refine_infoset(
        context, Strategy(context.tree, policy), infoset, preset(method), np.random.default_rng(0)
    )
    after = policy.copy()
    after[found.slots] = found.probs
    assert best_response_values(context.tree, policy)[0] == pytest.approx(2.0)
    assert best_response_values(context.tree, after)[0] <= 2.0 + 1e-12


def test_a_certificate_stays_available_where_the_cover_was_extended():
    improved, games = 0, amount(40, 20)
    for seed in range(games):
        context = SearchContext(RandomGame(seed, public=False))
        tree = context.tree
        player = int(tree.infoset_player[0])
        if context.covers(player).turns_are_noticed:
            continue
        policy = uniform_policy(tree)
        found = refine_infoset(context, Strategy(tree, policy), 0, preset("gs2+"), np.random.default_rng(0))
        after = policy.copy()
        after[found.slots] = found.probs
        values = [best_response_values(tree, p)[1 - player] for p in (policy, after)]
        improved += values[1] < values[0] - 1e-3
    assert improved > games // 4


def test_keys_that_forget_the_opponents_own_past_are_refused_by_name():
    # Seat 0 acts first; while seat 1 is asked, seat 0 is said to have forgotten its own move.
    nodes = [
        Node(-1, 0, (("first",), ()), 0, 2),
        Node(0, 0, (("forgot",), ("asked", 0)), 1, 2),
        Node(0, 1, (("forgot",), ("asked", 0)), 1, 2),
        *(
            Node(up, move, ((up, move), (up, move)), payoff=float(up - move))
            for up in (1, 2)
            for move in (0, 1)
        ),
    ]
    context = SearchContext(NodeGame("forgetful", nodes))
    with pytest.raises(GameError, match="own past"):
        context.covers(1)
