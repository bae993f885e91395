"""Knowledge sets against a slow twin, covers that no opponent infoset reaches out of, and strategies that
never change, of which what they share with their successors still holds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from blueprint.tabular import TabularBlueprint
from cfr.best_response import best_response_values
from cfr.policies.policy import PolicyError, load_policy, save_policy, tabular_policy, uniform_policy
from cfr.tree import FlatTree
from games import GameError
from games.registry import load_game
from gs2.policies.tabulate import tabulate
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext, Strategy
from gs2.search.gadget.path import gifts
from gs2.search.histories.covers import Cover
from gs2.search.histories.knowledge_report import antichain, knowledge_report
from gs2.search.pipeline import refine_infoset
from gs2.search.refine.whole import RefineOptions, refine_both, refine_policy
from gs2.search.subgame.cut import subtree_sizes
from gs2.search.successive import with_certified
from tests.games.random_games import Node, NodeGame, RandomGame, hidden_move
from tests.gs2.search.setting import (
    GAMES,
    KUHN,
    LEDUC,
    LIARS_DICE,
    blueprint,
    context,
    random_policy,
    searched,
    spliced,
)
from tests.patience import amount
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
    for order in range(1, len(histories) + 1):
        part = knowledge_report(prepared, infoset, max_order=order)
        assert part.sizes == report.sizes[:order]
        assert part.closure_order == (order if order == len(histories) else None)


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


def check_cover(there: SearchContext, player: int, infoset: int, cover: Cover, whole: bool) -> None:
    """Raise AssertionError unless the lemma's condition holds."""
    tree = there.tree
    at = root_of(tree, cover.nodes)
    group = np.where(at >= 0, cover.group[at], -1)
    for number in range(tree.n_infosets):
        groups = set(group[tree.infoset == number].tolist())
        if tree.infoset_player[number] != player:
            assert len(groups) == 1, "an opponent infoset lies in one group or outside of all"
        elif whole or number == infoset:
            assert -1 not in groups or groups == {-1}, "what may change lies inside"
    assert np.all(group[tree.infoset == infoset] >= 0)
    last = there.own_slot(1 - player)[cover.nodes]
    for name in np.unique(cover.group):
        assert len(set(last[cover.group == name].tolist())) == 1, "one own past of the opponent in each group"
    holds = {int(r) for r in at[tree.infoset == infoset]}
    assert {int(r) for r in np.flatnonzero(cover.own_infoset == infoset)} == holds


@given(seed=st.integers(0, 10**6), public=st.booleans(), whole=st.booleans())
@settings(max_examples=amount(150, 12), deadline=None)
def test_covers_of_random_games_satisfy_the_lemma(seed, public, whole):
    there = SearchContext(RandomGame(seed, public=public))
    infoset = seed % there.tree.n_infosets
    player = int(there.tree.infoset_player[infoset])
    graph = there.graph(player)
    top = graph.order(infoset, None if whole else 1)
    every = graph.neighbours(top, (1 - player,))
    maker = there.covers(player)
    check_cover(there, player, infoset, maker.make(infoset, top, every, whole=whole), whole)


def test_the_research_games_need_no_extension():
    assert all(context(name).covers(seat).turns_are_noticed for name in GAMES for seat in (0, 1))


def test_an_opponent_that_cannot_tell_whether_we_moved_makes_the_cover_wider():
    there = SearchContext(hidden_move())
    infoset = int(np.flatnonzero(there.tree.infoset_player == 1)[0])
    maker = there.covers(1)
    assert not maker.turns_are_noticed
    graph = there.graph(1)
    top = graph.of_infoset(infoset)
    cover = maker.make(infoset, top, top)
    assert cover.nodes.tolist() == [1, 2], "the history without a move belongs to the opponent's infoset"
    assert len(set(cover.group.tolist())) == 1
    assert cover.own_infoset.tolist() == [infoset, -1]


@pytest.mark.parametrize("method", ["gs2+", "gs2+path"])
def test_a_search_where_the_opponent_may_not_have_noticed_our_move_certifies_no_loss(method):
    # The certificate once took the opponent's reply for free below its infoset: +2.000 became +2.167.
    there = SearchContext(hidden_move())
    policy = uniform_policy(there.tree)
    infoset = int(np.flatnonzero(there.tree.infoset_player == 1)[0])
    found = refine_infoset(
        there, Strategy(there.tree, policy), infoset, preset(method), np.random.default_rng(0)
    )
    after = spliced(policy, found)
    assert best_response_values(there.tree, policy)[0] == pytest.approx(2.0)
    assert best_response_values(there.tree, after)[0] <= 2.0 + 1e-12


def test_a_certificate_stays_available_where_the_cover_was_extended():
    improved, games, config = 0, amount(40, 12), preset("gs2+", iterations=100)
    for seed in range(games):
        there = SearchContext(RandomGame(seed, public=False))
        tree = there.tree
        player = int(tree.infoset_player[0])
        if there.covers(player).turns_are_noticed:
            continue
        policy = uniform_policy(tree)
        found = refine_infoset(there, Strategy(tree, policy), 0, config, np.random.default_rng(0))
        after = spliced(policy, found)
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
    there = SearchContext(NodeGame("forgetful", nodes))
    with pytest.raises(GameError, match="own past"):
        there.covers(1)


ROUNDING = 1e-9


def changed_at(tree: FlatTree, infosets: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return slots of some infosets, and other probabilities there."""
    rng = np.random.default_rng(seed)
    slots, probs = [np.zeros(0, np.int64)], [np.zeros(0)]
    for infoset in infosets.tolist():
        slots.append(tree.slots(infoset))
        weight = rng.exponential(size=len(slots[-1]))
        probs.append(weight / weight.sum())
    return np.concatenate(slots), np.concatenate(probs)


def assert_derived_anew(strategy: Strategy) -> None:
    """Raise AssertionError if anything that a strategy says of itself differs from what a fresh one says."""
    fresh = Strategy(strategy.tree, strategy.probs, strategy.blueprint)
    every = np.arange(strategy.tree.n_nodes, dtype=np.int32)
    for nodes in (every, every[: len(every) // 3], every[-1:], every[:0]):
        mine, theirs = strategy.reach_at(nodes), fresh.reach_at(nodes)
        assert np.array_equal(mine.chance, theirs.chance)
        assert np.array_equal(mine.players, theirs.players)
    assert np.array_equal(strategy.reach.players, fresh.reach.players)
    assert np.array_equal(strategy.values, fresh.values)
    for seat in range(strategy.tree.n_players):
        assert np.array_equal(strategy.best_response(seat), fresh.best_response(seat))
        assert np.array_equal(gifts(strategy, seat), gifts(fresh, seat))
        mine, theirs = strategy.opponent_values(seat), fresh.opponent_values(seat)
        assert mine.root == theirs.root and mine.until is None and theirs.until is None
        for name in ("infoset", "slot", "reach"):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name), equal_nan=True)


@given(seed=st.integers(0, 10**6), public=st.booleans(), changes=st.integers(1, 4), ask=st.booleans())
@settings(max_examples=amount(40), deadline=None)
def test_what_follows_from_a_strategy_is_right_after_any_changes(seed, public, changes, ask):
    prepared = SearchContext(RandomGame(seed, public=public))
    tree = prepared.tree
    rng = np.random.default_rng(seed)
    strategies = [Strategy(tree, uniform_policy(tree))]
    wanted = [uniform_policy(tree)]
    for number in range(changes):
        if ask:
            assert_derived_anew(strategies[-1])
        some = rng.choice(tree.n_infosets, int(rng.integers(0, tree.n_infosets + 1)), replace=False)
        slots, probs = changed_at(tree, some, seed + number)
        strategies.append(strategies[-1].with_changes(slots, probs))
        wanted.append(wanted[-1].copy())
        wanted[-1][slots] = probs
    for strategy, policy in zip(strategies, wanted, strict=True):
        assert np.array_equal(strategy.probs, policy)
        assert_derived_anew(strategy)


def test_reach_above_the_changes_is_not_derived_again(monkeypatch):
    prepared = context(LEDUC)
    tree = prepared.tree
    first = Strategy(tree, blueprint(LEDUC))
    _ = first.reach
    deep = int(np.argmax(prepared.infoset_level))
    second = first.with_changes(*changed_at(tree, np.array([deep]), 1))

    def never(*_: object) -> None:
        raise AssertionError("the reach above a change is known")

    monkeypatch.setattr("gs2.search.context.reach", never)
    above = np.arange(tree.infoset_first_node()[deep] + 1, dtype=np.int32)
    assert np.array_equal(second.reach_at(above).players, first.reach.players[above])
    with pytest.raises(AssertionError, match="is known"):
        second.reach_at(np.array([tree.n_nodes - 1], np.int32))


def test_a_strategy_cannot_be_changed():
    policy = uniform_policy(context(KUHN).tree)
    strategy = Strategy(context(KUHN).tree, policy)
    policy[0] = 0.25
    assert strategy.probs[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        strategy.probs[0] = 1.0
    with pytest.raises(FrozenInstanceError):
        strategy.probs = policy
    for array in (strategy.values, strategy.best_response(0), strategy.reach.chance, gifts(strategy, 1)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(ValueError, match="one probability per slot, 24; got shape"):
        Strategy(context(KUHN).tree, policy[1:])


def test_the_same_probabilities_are_the_same_strategy_and_a_changed_one_has_the_first_ones_blueprint():
    prepared = context(KUHN)
    first = Strategy(prepared.tree, blueprint(KUHN))
    slots = np.array([3, 1, 0])
    assert first.with_changes(slots, first.probs[slots]) is first
    assert first.with_changes(slots[:0], np.zeros(0)) is first
    shared = first.with_best_response(1)
    assert shared.whole == {1} and first.whole == frozenset() and shared.with_best_response(1) is shared
    assert shared.best_response(1) is first.best_response(1)
    slots, probs = changed_at(prepared.tree, np.arange(4), 5)
    last = first.with_changes(slots[:4], probs[:4]).with_changes(slots, probs)
    made = last.known_blueprint(prepared.game)
    assert isinstance(made, TabularBlueprint) and made is first.known_blueprint(prepared.game)
    given_one = tabulate(prepared.game, prepared.tree, first.probs)
    known = Strategy(prepared.tree, first.probs, given_one).with_changes(slots, probs)
    assert known.blueprint is given_one and known.known_blueprint(prepared.game) is given_one


@pytest.mark.parametrize("name", [KUHN, LEDUC, LIARS_DICE])
@pytest.mark.parametrize("scope", ["block", "infoset", "subtree"])
@pytest.mark.some(3)
def test_a_certificate_brings_the_opponents_values_up_to_date(name, scope):
    prepared, fell = context(name), 0.0
    config = preset("gs2+path", scope=scope, freeze="none", iterations=30)
    level = prepared.infoset_level
    for player in (0, 1):
        mine = np.flatnonzero(prepared.tree.infoset_player == player)
        for depth in np.unique(level[mine])[:2].tolist():
            strategy = Strategy(prepared.tree, blueprint(name, 5))
            for infoset in mine[level[mine] == depth][: amount(8, 3)].tolist():
                before = strategy.opponent_values(1 - player).root
                found = searched(name, strategy, infoset, config)
                strategy = with_certified(prepared, strategy, found.slots, found.probs, found.certified)
                known = strategy.opponent_values(1 - player, found.considered.nodes)
                assert known is strategy.known_opponent_values(1 - player), "nothing is derived anew"
                fresh = Strategy(prepared.tree, strategy.probs).opponent_values(1 - player)
                assert known.root == pytest.approx(fresh.root, abs=ROUNDING)
                above = level < depth
                np.testing.assert_allclose(known.infoset[above], fresh.infoset[above], atol=ROUNDING)
                fell = max(fell, before - known.root)
    assert fell > 1e-4


STEPS = (
    *(
        "pipeline.consider_histories",
        "histories.enumerated.choose_histories",
        "pipeline.solve_subgame",
    ),
    *(
        "pipeline.certify",
        "pipeline.build_gadget",
        "pipeline.solve",
    ),
    *("context.reach", "context.node_values", "context.best_responses"),
    *(
        "context.counterfactual_values",
        "safety.cover",
        "safety.opponent_path",
        "histories.enumerated.cut_to_depth",
    ),
)
"""Functions that a search calls, named below gs2.search, at any of which it may be interrupted."""


def interrupt(patch: pytest.MonkeyPatch, at: int, late: bool) -> None:
    """Make the call of that number, of all functions in STEPS, end in Ctrl-C: before its work or after it."""
    left = at

    def watched(inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            now = left < 0
            if now and not late:
                raise KeyboardInterrupt
            found = inner(*args, **options)
            if now:
                raise KeyboardInterrupt
            return found

        return call

    for name in STEPS:
        module, _, function = f"gs2.search.{name}".rpartition(".")
        patch.setattr(f"{module}.{function}", watched(getattr(__import__(module, fromlist=["_"]), function)))


@given(
    seed=st.integers(0, 10**6),
    public=st.booleans(),
    at=st.integers(0, 40),
    late=st.booleans(),
    method=st.sampled_from(["gs2+", "gs2+path", "path", "1-klss", "gs2-d", "reach-maxmargin"]),
    depth=st.sampled_from([None, 1]),
)
@example(seed=3, public=True, at=8, late=True, method="gs2+path", depth=None)
@example(seed=0, public=False, at=0, late=False, method="1-klss", depth=1)  # the infoset lies below the limit
@example(seed=101206, public=False, at=0, late=False, method="gs2+", depth=1)  # one leaf infoset, two entries
@settings(max_examples=amount(60, 6), deadline=None)
def test_an_interrupted_search_leaves_the_callers_strategy_as_it_was(seed, public, at, late, method, depth):
    prepared = SearchContext(RandomGame(seed, public=public))
    tree = prepared.tree
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=tree.n_slots)
    policy = weight / np.add.reduceat(weight, tree.infoset_offset[:-1])[tree.slot_infoset]
    infoset = int(rng.integers(tree.n_infosets))
    changes: dict[str, Any] = {} if depth is None else {"depth": 1, "leaf": "continuations"}
    config = preset(method, iterations=5, **changes)
    strategy = Strategy(tree, policy)
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, at, late)
        with contextlib.suppress(KeyboardInterrupt):
            refine_infoset(prepared, strategy, infoset, config, np.random.default_rng(1))
    assert np.array_equal(strategy.probs, policy)
    again = refine_infoset(prepared, strategy, infoset, config, np.random.default_rng(1))
    fresh = refine_infoset(prepared, Strategy(tree, policy), infoset, config, np.random.default_rng(1))
    assert np.array_equal(again.slots, fresh.slots) and np.array_equal(again.probs, fresh.probs)
    assert_derived_anew(strategy)


def test_both_players_refined_are_the_two_refinements_spliced():
    prepared, policy = context(KUHN), random_policy(KUHN, np.random.default_rng(1))
    config, options = preset("gs2-r", k=1, iterations=5), RefineOptions(seed=4)
    both = refine_both(prepared, policy, config, options)
    alone = [refine_policy(prepared, policy, player, config, options) for player in (0, 1)]
    joined = np.where(prepared.tree.slot_player == 0, alone[0].policy, alone[1].policy)
    for mine, result in zip(both.results, alone, strict=True):
        assert np.array_equal(mine.policy, result.policy)
    assert np.array_equal(both.policy, joined) and np.array_equal(both.strategy.probs, joined)
    for name in ("skipped", "seconds"):
        assert getattr(both, name) == sum(getattr(result, name) for result in both.results)
    assert len(both.searches) == sum(len(result.searches) for result in alone)
    both.policy[0] = 7.0
    assert both.strategy.probs[0] == joined[0]


def test_a_game_and_a_blueprint_of_any_shape_are_refined(tmp_path):
    game = load_game(KUHN)
    prepared = SearchContext(game)
    policy = blueprint(KUHN)
    config = preset("gs2+", iterations=20)
    wanted = refine_both(prepared, policy, config).policy
    save_policy(tmp_path / "refined.npz", tabular_policy(game.name, prepared.tree, policy, "by hand"))
    read = load_policy(tmp_path / "refined.npz", game.name)
    assert read.note == "by hand"
    for shape in (policy, read, tabulate(game, prepared.tree, policy)):
        assert np.array_equal(refine_both(game, shape, config).policy, wanted)
    assert np.array_equal(refine_both(prepared, prepared.strategy(policy), config).policy, wanted)
    with pytest.raises(ValueError, match="must be on the tree that is searched"):
        refine_both(game, prepared.strategy(policy), config)
    with pytest.raises(PolicyError, match="it must belong to kuhn_poker"):
        prepared.strategy(tabular_policy(LEDUC, context(LEDUC).tree, blueprint(LEDUC)))


def test_infosets_asked_for_are_shared_out_among_the_players():
    prepared = context(KUHN)
    some = np.array([0, 1, 7])
    calls: list[tuple[int, int]] = []
    options = RefineOptions(infosets=some, progress=lambda *now: calls.append(now))
    both = refine_both(prepared, blueprint(KUHN), preset("gs2-r", k=1, iterations=5), options)
    owner = prepared.tree.infoset_player
    assert [search.infoset for search in both.searches] == sorted(some.tolist(), key=lambda i: owner[i])
    assert {total for _, total in calls} == {int((owner[some] == player).sum()) for player in (0, 1)}
