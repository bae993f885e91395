"""Knowledge sets against a slow twin, and their sizes on the research games."""

from __future__ import annotations

import numpy as np
import pytest

from gs2.search.histories.knowledge_report import antichain, knowledge_report
from gs2.search.subgame.cut import subtree_sizes
from tests.gs2.search.setting import GAMES, KUHN, LEDUC, context
from tests.reference.knowledge import order_k_by_sets


@pytest.mark.parametrize("name", GAMES)
def test_order_k_sets_are_those_of_the_slow_twin(name):
    prepared = context(name)
    tree = prepared.tree
    rng = np.random.default_rng(1)
    for infoset in rng.choice(tree.n_infosets, size=4, replace=False):
        graph = prepared.graph(int(tree.infoset_player[infoset]))
        for k in (1, 2, 3):
            ours = set(graph.nodes[graph.order(int(infoset), k)].tolist())
            assert ours == order_k_by_sets(prepared.game, tree, int(infoset), k)


@pytest.mark.parametrize(
    "name, largest, deepest_mean",
    [
        # Closures computed from infoset connectivity on OpenSpiel's games, and mean two-hop sets at the
        # deepest decisions.
        ("leduc_poker", 30, 16),
        ("liars_dice(sides=4)", 16, 16),
        pytest.param("liars_dice", 36, 36, marks=pytest.mark.long),
        pytest.param("goofspiel(cards=5,turns=3,points_order=random)", 240, 49, marks=pytest.mark.long),
    ],
)
def test_closure_and_two_hop_sizes_are_known(name, largest, deepest_mean):
    prepared, found, means = context(name), 0, []
    for player in (0, 1):
        graph = prepared.graph(player)
        mine = np.flatnonzero(prepared.tree.infoset_player == player)
        level = prepared.infoset_level[mine]
        found = max(found, *(len(graph.order(int(i), None)) for i in mine[:: max(1, len(mine) // 300)]))
        deep = mine[level == level.max()]
        means.append(np.mean([len(graph.order(int(i), 2)) for i in deep[:: max(1, len(deep) // 300)]]))
    assert found == largest
    assert round(float(np.mean(means))) == deepest_mean


def test_a_report_grows_to_the_closure_and_reads_as_json():
    prepared = context(LEDUC)
    infoset = prepared.game.parse_infoset(prepared.infoset_text(5))
    report = knowledge_report(prepared, infoset)
    histories = [size.histories for size in report.sizes]
    assert histories == sorted(set(histories))
    assert report.closure_order == len(histories)
    assert report.to_json()["sizes"][0]["order"] == 1
    assert knowledge_report(prepared, infoset, max_order=1).sizes == report.sizes[:1]


def test_subtree_sizes_add_up():
    tree = context(KUHN).tree
    sizes = subtree_sizes(tree)
    assert sizes[0] == tree.n_nodes
    assert np.all(sizes[tree.terminal] == 1)
    for node in np.flatnonzero(tree.n_children):
        first = tree.first_child[node]
        assert sizes[node] == 1 + sizes[first : first + tree.n_children[node]].sum()


def test_roots_below_other_roots_are_left_out_and_bad_orders_and_foreign_infosets_refused():
    prepared = context(KUHN)
    graph = prepared.graph(0)
    kept = antichain(graph, np.arange(len(graph.nodes)), prepared.tree)
    assert set(graph.level[kept]) == {graph.level.min()}
    mine = int(np.flatnonzero(prepared.tree.infoset_player == 0)[0])
    with pytest.raises(ValueError, match="at least 1"):
        graph.order(mine, 0)
    with pytest.raises(ValueError, match="one of player 1"):
        prepared.graph(1).order(mine, 1)
