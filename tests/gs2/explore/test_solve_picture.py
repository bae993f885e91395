"""What a page shows of a search agrees with the search, on generated games and on small ones of ours."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfr.best_response import best_response_values
from cfr.sequence_form import sequence_form
from cfr.values import node_values
from games import Game
from games.registry import load_game
from gs2.explore.prepared_games import PreparedGame
from gs2.explore.solve_picture import SearchedGame, search_game, solve_picture
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext, Strategy
from tests.games.random_games import RandomGame
from tests.patience import amount

ROUNDED = 1e-6
"""Of numbers that a page writes with seven digits."""
METHODS = ("gs2+", "gs2-d", "gs2-r", "1-klss", "maxmargin", "unsafe", "mirror-descent", "gs2", "rollout")
SMALL = ("kuhn_poker", "leduc_poker", "liars_dice(sides=3)", "goofspiel(cards=4,turns=3)")


def ready(game: Game) -> PreparedGame:
    """Return a game with its tree."""
    context = SearchContext(game)
    return PreparedGame(game, context, sequence_form(context.tree))


@lru_cache(maxsize=32)
def random_game(seed: int, public: bool) -> PreparedGame:
    return ready(RandomGame(seed, public=public))


@lru_cache(maxsize=4)
def small_game(name: str) -> PreparedGame:
    return ready(load_game(name))


def searched(prepared: PreparedGame, method: str, seed: int) -> SearchedGame:
    """Return a search at a random infoset of a random strategy."""
    rng = np.random.default_rng(seed)
    tree = prepared.context.tree
    weights = rng.gamma(0.5, size=tree.n_slots) + 1e-3
    weights /= np.bincount(tree.slot_infoset, weights)[tree.slot_infoset]
    strategy = Strategy(tree, weights)
    infoset = int(rng.integers(tree.n_infosets))
    return search_game(prepared, strategy, infoset, preset(method), rng)


def check_tree(tree: dict[str, Any], most: int) -> None:
    """Fail unless shares of every step sum to one, reaches follow from them, and limits are kept and told."""
    nodes = tree["nodes"]
    below = defaultdict(list)
    for number, node in enumerate(nodes):
        if node["parent"] is not None:
            assert node["parent"] < number
            below[node["parent"]].append(number)
    assert len(nodes) <= most == tree["most"]
    for number, node in enumerate(nodes):
        assert node["unfolded"] == bool(below[number])
        assert len(below[number]) in (0, node["children"])
        assert (node["player"] == "end") == (node["children"] == 0)
        for when in (0, 1):
            if below[number]:
                shares = [nodes[child]["probability"][when] for child in below[number]]
                assert sum(shares) == pytest.approx(1, abs=len(shares) * ROUNDED)
            for child in below[number]:
                told = node["reach"][when] * nodes[child]["probability"][when]
                assert nodes[child]["reach"][when] == pytest.approx(told, rel=1e-5, abs=ROUNDED)
    cut = sum(1 for node in nodes if node["children"] and not node["unfolded"])
    assert cut == tree["cut"]


def check_policy(found: SearchedGame, tree: dict[str, Any]) -> None:
    """Fail unless the steps of every infoset that is named have its probabilities, before and after."""
    context = found.prepared.context
    numbers = {context.infoset_text(number): number for number in range(context.tree.n_infosets)}
    below = defaultdict(list)
    for node in tree["nodes"]:
        below[node["parent"]].append(node)
    for number, node in enumerate(tree["nodes"]):
        if node["infoset"] is None:
            assert node["player"] in ("chance", "end") or node["merged"] > 1
            continue
        told = tree["infosets"][node["infoset"]]
        slots = context.tree.slots(numbers[told["infoset"]])
        assert told["blueprint"] == pytest.approx(found.strategy.probs[slots], abs=ROUNDED)
        assert told["refined"] == pytest.approx(found.refined[slots], abs=ROUNDED)
        assert told["player"] == node["player"]
        # A merged step of the opponent may lead to several nodes where the player sees more than the move.
        if node["unfolded"] and node["children"] == len(slots) and node["merged"] == 1:
            for when, name in ((0, "blueprint"), (1, "refined")):
                assert [child["probability"][when] for child in below[number]] == told[name]


def check_picture(found: SearchedGame, most: int = 600) -> dict[str, Any]:
    """Fail unless a picture says what its search says; return it."""
    made = solve_picture(found.result, found, most=most, blueprint_spec="drawn", seed=0)
    assert json.loads(json.dumps(made, allow_nan=False)) == made, "plain JSON, nothing lost"
    assert (made["format"], made["version"], made["kind"]) == ("gs2 solve", 1, "search")
    result = found.result
    assert [row["value"] for row in made["actions"]] == [row.q for row in result.actions]
    for name in ("blueprint", "refined"):
        assert sum(row[name] for row in made["actions"]) == pytest.approx(1)
    alternatives = {row["number"]: row["alternative"] for row in made["opponents"]}
    for row in made["histories"]:
        assert row["alternative"] == alternatives[row["opponent_infoset"]]
        assert row["kept"] or not row["generated"]
    for row, told in zip(made["opponents"], result.opponents, strict=True):
        if told.margin is None:
            assert row["solved"] is None and row["margin"] is None
        else:
            assert row["margin"] == told.margin == told.alternative - told.solved
    best = made["whole_game"]["best_response"]
    assert best[0] == pytest.approx(best_response_values(found.prepared.form, found.strategy.raw))
    assert best[1] == pytest.approx(best_response_values(found.prepared.form, found.refined))
    assert made["whole_game"]["exploitability"] == pytest.approx([sum(best[0]) / 2, sum(best[1]) / 2])
    for tree in made["trees"].values():
        check_tree(tree, most)
        check_policy(found, tree)
    start = made["trees"]["seen"]["nodes"][0]
    assert start["reach"] == [1, 1] and start["player"] == result.player
    if found.refinement is not None:  # else values are of the histories that were drawn
        assert start["value"][0] == pytest.approx(result.blueprint_value, abs=1e-5)
    return made


@settings(max_examples=amount(25), deadline=None)
@given(st.integers(0, 40), st.booleans(), st.sampled_from(METHODS[:-1]), st.integers(0, 1000))
def test_a_picture_of_a_random_game_agrees_with_its_search(
    seed: int, public: bool, method: str, draw: int
) -> None:
    check_picture(searched(random_game(seed, public), method, draw))


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.some(12)
def test_a_picture_of_a_small_game_agrees_with_its_search(name: str, method: str) -> None:
    found = searched(small_game(name), method, 3)
    made = check_picture(found)
    assert made["payoffs"] == list(found.prepared.game.payoff_range)
    assert ("histories" in made["trees"]) == (found.refinement is not None)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 60), st.integers(0, 1000))
def test_a_tree_is_cut_where_it_is_told_to_and_says_so(most: int, draw: int) -> None:
    made = check_picture(searched(small_game("liars_dice(sides=3)"), "maxmargin", draw), most)
    for tree in made["trees"].values():
        everything = tree["histories"] <= most
        assert everything <= (tree["cut"] == 0)
        if tree["cut"] == 0 and "roots" in tree:
            shown = [node for node in tree["nodes"] if node["parent"] is None]
            assert len(shown) < tree["roots"] or len(tree["nodes"]) == tree["histories"]


def test_the_roots_of_the_history_tree_are_the_histories_of_the_subgame() -> None:
    found = searched(small_game("leduc_poker"), "gs2-d", 8)
    made = solve_picture(found.result, found)
    roots = [node for node in made["trees"]["histories"]["nodes"] if node["parent"] is None]
    kept = {row["history"]: row for row in made["histories"] if row["kept"]}
    assert {node["text"] for node in roots} == set(kept) and kept
    for node in roots:
        for mark in ("generated", "frozen", "summary"):
            assert node[mark] == kept[node["text"]][mark]
    assert sum(node["reach"][0] for node in roots) == pytest.approx(1)


def test_the_likeliest_nodes_are_unfolded_first_if_what_follows_fits() -> None:
    closed_anywhere = 0
    for seed in range(6):
        found = searched(small_game("leduc_poker"), "unsafe", seed)
        nodes = solve_picture(found.result, found, most=90)["trees"]["histories"]["nodes"]
        unfolded = [(max(node["reach"]), node["children"]) for node in nodes if node["unfolded"]]
        closed = [
            (max(node["reach"]), node["children"])
            for node in nodes
            if node["children"] and not node["unfolded"]
        ]
        closed_anywhere += len(closed)
        for reach, children in closed:
            larger = [other for other, few in unfolded if few >= children]
            assert all(other >= reach * (1 - ROUNDED) for other in larger)
    assert closed_anywhere


def test_values_after_are_those_of_the_refined_strategy() -> None:
    found = searched(small_game("kuhn_poker"), "maxmargin", 2)
    made = solve_picture(found.result, found)
    tree, player = found.prepared.context.tree, found.result.player
    values = node_values(tree, found.refined)[:, player]
    texts = {found.prepared.game.state_text(tree.states[node]): values[node] for node in range(tree.n_nodes)}
    for node in made["trees"]["histories"]["nodes"]:
        assert node["value"][1] == pytest.approx(texts[node["text"]], abs=1e-5)


def test_without_a_tree_only_what_is_known_is_told() -> None:
    found = searched(small_game("kuhn_poker"), "gs2", 1)
    made = solve_picture(found.result, None, blueprint_spec="uniform")
    assert made["trees"] is None and made["whole_game"] is None and made["sampled"]["histories"] >= 1
    json.dumps(made, allow_nan=False)
