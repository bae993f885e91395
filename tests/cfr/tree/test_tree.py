"""Growing trees: beside a plain recursion, with limits, and against broken games."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cfr.tree import EnumeratedTree, InvalidTree, TreeBudget, TreeRules, grow, require_states
from games import load_game
from games.game import CHANCE, TERMINAL, Game
from games.ragged import Ragged
from tests.cfr.trees import SMALL, tree_of

Walk = list[tuple[int, int, float, tuple, list[float] | None]]


def plain_levels(game: Game) -> list[Walk]:
    """Return every history level by level: (parent's place, player, chance probability, infoset, returns)."""
    level: list[tuple[Any, int, float]] = [(game.root(), -1, 1.0)]
    levels = []
    while level:
        rows: Walk = []
        nxt = []
        for place, (state, up, prob) in enumerate(level):
            player = int(game.player(state)[0])
            key: tuple = ()
            returns = None
            if player == TERMINAL:
                returns = game.returns(state)[0].tolist()
            else:
                actions = game.actions(state)
                probs = game.chance_probs(state, actions)
                if player >= 0:
                    key = (player, *game.infoset_key(state, player)[0].tolist())
                for k in range(len(actions.values)):
                    child = game.step(state, np.zeros(1, np.int64), actions.values[k : k + 1])
                    nxt.append((child, place, float(probs[k]) if player == CHANCE else 1.0))
            rows.append((up, player, prob, key, returns))
        levels.append(rows)
        level = nxt
    return levels


@pytest.mark.parametrize("name", ["kuhn", "dice", "random order"])
def test_trees_hold_every_history_once_level_by_level(name: str) -> None:
    game = load_game(SMALL[name])
    tree = grow(game)
    levels = plain_levels(game)
    assert np.diff(tree.level_offsets).tolist() == [len(rows) for rows in levels]
    number: dict[tuple, int] = {}
    node = 0
    returns = dict(zip(tree.terminal.tolist(), tree.returns.tolist(), strict=True))
    for depth, rows in enumerate(levels):
        above = int(tree.level_offsets[depth - 1]) if depth else 0
        for up, player, prob, key, payoff in rows:
            assert tree.parent[node] == (above + up if depth else -1)
            assert tree.player[node] == player
            assert tree.chance_prob[node] == prob
            assert returns.get(node) == payoff
            if player >= 0:
                assert tree.infoset[node] == number.setdefault(key, len(number))
            else:
                assert tree.infoset[node] == -1
            node += 1
    assert node == tree.n_nodes
    for key, infoset in number.items():
        assert tree.infoset_player[infoset] == key[0]
        assert tree.infoset_key[infoset].tolist() == list(key[1:])
    assert tree.validate() is tree


@pytest.mark.parametrize("name", ["leduc", "goofspiel"])
def test_slots_number_the_actions_of_infosets_and_know_infoset_and_player(name: str) -> None:
    tree = tree_of(name)
    slot = tree.child_slot()
    actions = tree.slot_actions()
    below = np.flatnonzero(tree.parent >= 0)
    decided = tree.player[tree.parent[below]] >= 0
    assert (slot[below[~decided]] == -1).all()
    assert sorted(set(slot[below[decided]].tolist())) == list(range(tree.n_slots))
    np.testing.assert_array_equal(actions[slot[below[decided]]], tree.action[below[decided]])
    first = tree.infoset_first_node()
    np.testing.assert_array_equal(tree.infoset[first], np.arange(tree.n_infosets))
    for infoset in range(tree.n_infosets):
        slots = tree.slots(infoset)
        assert slots.tolist() == list(range(*tree.infoset_offset[infoset : infoset + 2].tolist()))
        assert (tree.slot_infoset[slots] == infoset).all()
        assert (tree.slot_player[slots] == tree.infoset_player[infoset]).all()
    assert len(tree.slot_infoset) == len(tree.slot_player) == tree.n_slots
    for array in (tree.slot_infoset, tree.slot_player):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def midway(game: Game, states: np.ndarray) -> np.ndarray:
    out = np.zeros((len(states), 2))
    out[:, 0], out[:, 1] = 0.25, -0.25
    return out


def test_a_depth_limit_counts_decisions_and_leaves_the_rest_to_the_leaf_rule() -> None:
    game = load_game("leduc_poker")
    tree = grow(game, rules=TreeRules(depth_limit=2, leaf=midway))
    assert tree.n_truncated > 0
    decisions = np.zeros(tree.n_nodes, int)
    for node in range(tree.n_nodes):
        up = tree.parent[node]
        if up >= 0:
            decisions[node] = decisions[up] + (tree.player[up] >= 0)
    assert decisions.max() == 2
    # Chance after the last decision is still grown.
    assert not (game.player(tree.states[tree.terminal]) == CHANCE).any()
    really_over = game.player(tree.states[tree.terminal]) == TERMINAL
    assert (~really_over).sum() == tree.n_truncated
    assert (tree.returns[~really_over] == (0.25, -0.25)).all()
    np.testing.assert_array_equal(
        tree.returns[really_over], game.returns(tree.states[tree.terminal[really_over]])
    )
    whole = grow(game)
    deep = grow(game, rules=TreeRules(depth_limit=100, leaf=midway))
    assert deep.n_truncated == 0
    assert deep.n_nodes == whole.n_nodes


def all_but_the_last(game: Game, states: np.ndarray, player: int, actions: Ragged) -> np.ndarray:
    keep = np.ones(len(actions.values), bool)
    keep[actions.offsets[1:] - 1] = actions.counts < 2
    return keep


def by_row(game: Game, states: np.ndarray, player: int, actions: Ragged) -> np.ndarray:
    """Wrongly look at the row, not at the infoset alone."""
    keep = np.ones(len(actions.values), bool)
    odd = np.arange(len(states)) % 2 == 1
    keep[actions.offsets[:-1][odd]] = actions.counts[odd] < 2
    return keep


@pytest.mark.parametrize("rule", [all_but_the_last, by_row])
def test_branch_limits_hold_for_whole_infosets(rule: Callable) -> None:
    tree = grow(load_game("liars_dice(sides=3)"), rules=TreeRules(branch_limit=rule))
    assert tree.n_nodes < tree_of("dice").n_nodes
    decision = tree.player >= 0
    sizes = np.diff(tree.infoset_offset)[tree.infoset[decision]]
    np.testing.assert_array_equal(sizes, tree.n_children[decision])


def uniform(game: Game, states: np.ndarray, player: int, actions: Ragged) -> np.ndarray:
    return 1.0 / actions.counts[actions.rows]


def first_only(game: Game, states: np.ndarray, player: int, actions: Ragged) -> np.ndarray:
    out = np.zeros(len(actions.values))
    out[actions.offsets[:-1]] = 1.0
    return out


@pytest.mark.parametrize("rule", [uniform, first_only])
def test_frozen_nodes_follow_the_policy_as_chance(rule: Callable) -> None:
    from cfr.policies.policy import uniform_policy
    from cfr.values import root_values

    game = load_game("leduc_poker")
    tree = grow(game, rules=TreeRules(frozen=lambda game, states, players: players == 1, policy=rule))
    assert set(tree.infoset_player) == {0}
    assert (tree.player != 1).all()
    below = np.flatnonzero(tree.parent >= 0)
    chance = below[tree.player[tree.parent[below]] == CHANCE]
    assert (tree.chance_prob[chance] > 0).all()
    sums = np.bincount(tree.parent[chance], tree.chance_prob[chance])
    np.testing.assert_allclose(sums[tree.player[: len(sums)] == CHANCE], 1.0)
    whole = grow(game)
    both = uniform_policy(whole)
    if rule is first_only:
        theirs = whole.slot_player == 1
        both[theirs] = 0.0
        both[whole.infoset_offset[:-1][whole.infoset_player == 1]] = 1.0
    np.testing.assert_allclose(root_values(tree, uniform_policy(tree)), root_values(whole, both), atol=1e-12)


def test_an_enumerated_tree_always_has_its_states() -> None:
    tree = grow(load_game("kuhn_poker"))
    assert isinstance(tree, EnumeratedTree) and require_states(tree, "test") is tree
    bare = tree_of("kuhn")
    assert not isinstance(bare, EnumeratedTree) and bare.states is None
    assert len(tree.states) == bare.n_nodes == tree.n_nodes
    with pytest.raises(
        ValueError, match="test: the tree must hold its states; grow it with keep_states=True"
    ):
        require_states(bare, "test")
    with pytest.raises(InvalidTree, match="must hold its states"):
        replace(tree, states=None)
    with pytest.raises(InvalidTree, match="states must have one entry per node, 58; got 57"):
        replace(tree, states=tree.states[1:]).validate()


def test_options_that_need_each_other_are_asked_for() -> None:
    game = load_game("kuhn_poker")
    with pytest.raises(ValueError, match="depth_limit needs a leaf evaluator; pass leaf="):
        TreeRules(depth_limit=2)
    with pytest.raises(ValueError, match="frozen nodes need a policy to follow; pass policy="):
        TreeRules(frozen=lambda game, states, players: players == 0)
    with pytest.raises(ValueError, match="at least one root; got none"):
        grow(game, game.root()[:0])
    with pytest.raises(ValueError, match=r"one entry per root, 1; got \(2,\)"):
        grow(game, game.root(), np.ones(2))
    with pytest.raises(MemoryError, match=r"more than 50 nodes .* set a depth or branch limit"):
        grow(game, budget=TreeBudget(max_nodes=50))


class Broken:
    """Kuhn poker with one function replaced."""

    def __init__(self, **changes: Callable) -> None:
        self._game = load_game("kuhn_poker")
        self._changes = changes

    def __getattr__(self, name: str) -> Any:
        return self._changes[name] if name in self._changes else getattr(self._game, name)


def test_games_with_uneven_infosets_and_decisions_without_actions_are_refused() -> None:
    game = load_game("kuhn_poker")

    def actions(states: np.ndarray) -> Ragged:
        all_actions = game.actions(states)
        keep = np.ones(len(all_actions.values), bool)
        deciding = np.flatnonzero(game.player(states) >= 0)
        if len(deciding) > 3:
            keep[all_actions.offsets[deciding[0]]] = False
        rows = all_actions.rows[keep]
        return Ragged.from_counts(np.bincount(rows, minlength=len(states)), all_actions.values[keep])

    def nothing(states: np.ndarray) -> Ragged:
        return Ragged(np.zeros(len(states) + 1, np.int64), np.zeros(0, np.int64))

    with pytest.raises(InvalidTree, match="all histories of an infoset must have the same actions"):
        grow(Broken(actions=actions))  # type: ignore[arg-type]
    with pytest.raises(InvalidTree, match="a history without actions must be terminal; got "):
        grow(Broken(actions=nothing))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "change", "rule"),
    [
        ("player", lambda a: a[:-1], "player must have one entry per node"),
        ("parent", lambda a: np.where(np.arange(len(a)) == 5, 40, a), "parents must come before"),
        ("n_children", lambda a: np.where(np.arange(len(a)) == 0, a + 1, a), "every node but a root"),
        ("first_child", lambda a: a + 1, "children must stand together"),
        ("player", lambda a: np.where(a == TERMINAL, 0, a), "a node is terminal if and only if"),
        ("returns", lambda a: a[:-1], "one row of returns each"),
        ("infoset", lambda a: np.where(a == 0, -1, a), "exactly the decision nodes have an infoset"),
        ("infoset_player", lambda a: 1 - a, "an infoset belongs to one player"),
    ],
)
def test_arrays_that_are_no_tree_are_refused(name: str, change: Callable, rule: str) -> None:
    tree = tree_of("kuhn")
    with pytest.raises(InvalidTree, match=rule):
        replace(tree, **{name: change(getattr(tree, name))}).validate()


@pytest.mark.parametrize("chip", [1e-140, 1e140])
def test_trees_of_large_and_small_payoffs_have_fingerprints_of_their_own(chip: float) -> None:
    tree = grow(load_game("kuhn_poker"))
    paid = [replace(tree, returns=tree.returns * size).digest for size in (chip, 2 * chip, 3 * chip)]
    assert len(set(paid)) == 3
    assert replace(tree, returns=tree.returns * chip * (1 + 1e-12)).digest == paid[0]


def test_a_tree_prints_in_three_lines() -> None:
    tree = grow(load_game("leduc_poker"))
    assert str(tree).splitlines() == [
        "EnumeratedTree: 9,457 nodes in 12 levels, 1 root",
        "infosets: 468 of player 0, 468 of player 1; 2,184 slots",
        "5,520 terminals; payoffs -13 to 13; states held",
    ]
    dropped = grow(load_game("kuhn_poker"), keep_states=False)
    assert str(dropped).startswith("FlatTree: 58 nodes") and str(dropped).endswith("states dropped")
    assert len(repr([dropped])) < 300
