"""The same policy has the same expected value and NashConv in OpenSpiel."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.best_response import best_response_values, expected_value, nash_conv
from cfr.policy import uniform_policy
from cfr.solver import solve
from cfr.tree import FlatTree
from tests.cfr.trees import random_policy, tree_of

pyspiel = pytest.importorskip("pyspiel")

AGREEMENT = 1e-9
GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards={},num_turns={},"
    "points_order={},returns_type={}))"
)
GAMES = {
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
    "liars_dice(sides=3)": "liars_dice(dice_sides=3)",
    "liars_dice(sides=4,bidding_rule=reset-quantity)": "liars_dice(dice_sides=4,bidding_rule=reset-quantity)",
    "goofspiel(cards=5,turns=3,points_order=ascending)": GOOFSPIEL.format(
        5, 3, "ascending", "point_difference"
    ),
    "goofspiel(cards=4,turns=2,points_order=random)": GOOFSPIEL.format(4, 2, "random", "point_difference"),
    "goofspiel(cards=4,turns=2,points_order=descending,returns_type=win_loss)": GOOFSPIEL.format(
        4, 2, "descending", "win_loss"
    ),
}


def actions_of(state) -> list[int]:
    return [a for a, _ in state.chance_outcomes()] if state.is_chance_node() else state.legal_actions()


def tables(tree: FlatTree, game) -> dict[int, str]:
    """Return OpenSpiel's name of each of our infosets, walking both trees in step."""
    names: dict[int, str] = {}
    stack = [(game.new_initial_state(), 0)]
    while stack:
        state, node = stack.pop()
        assert state.is_terminal() == (tree.n_children[node] == 0)
        if state.is_terminal():
            continue
        actions = actions_of(state)
        assert len(actions) == tree.n_children[node]
        if not state.is_chance_node():
            assert state.current_player() == tree.player[node]
            name = state.information_state_string()
            assert names.setdefault(int(tree.infoset[node]), name) == name
        stack += [(state.child(a), int(tree.first_child[node]) + k) for k, a in enumerate(actions)]
    return names


def their_policy(tree: FlatTree, game, names: dict[int, str], probs: np.ndarray):
    """Return our probabilities as OpenSpiel's tabular policy."""
    table = {}
    stack = [(game.new_initial_state(), 0)]
    while stack:
        state, node = stack.pop()
        if state.is_terminal():
            continue
        actions = actions_of(state)
        if not state.is_chance_node():
            infoset = int(tree.infoset[node])
            first, last = tree.infoset_offset[infoset : infoset + 2]
            table[names[infoset]] = list(zip(actions, probs[first:last].tolist(), strict=True))
        stack += [(state.child(a), int(tree.first_child[node]) + k) for k, a in enumerate(actions)]
    return pyspiel.TabularPolicy(table)


@pytest.mark.parametrize("ours", GAMES)
def test_values_and_nash_conv_are_openspiels(ours: str) -> None:
    tree, game = tree_of(ours), pyspiel.load_game(GAMES[ours])
    names = tables(tree, game)
    assert len(names) == tree.n_infosets
    assert len(set(zip(tree.infoset_player.tolist(), names.values(), strict=False))) == len(names)
    for probs in (
        uniform_policy(tree),
        random_policy(tree, 0),
        random_policy(tree, 1, zeros=0.4),
        solve(tree, iterations=50).policy,
    ):
        policy = their_policy(tree, game, names, probs)
        values = pyspiel.expected_returns(game.new_initial_state(), policy, -1, True)
        assert expected_value(tree, probs) == pytest.approx(values[0], abs=AGREEMENT)
        assert nash_conv(tree, probs) == pytest.approx(pyspiel.nash_conv(game, policy, True), abs=AGREEMENT)
        for player, best in enumerate(best_response_values(tree, probs)):
            theirs = pyspiel.TabularBestResponse(game, player, policy).value_from_state(
                game.new_initial_state()
            )
            assert best == pytest.approx(theirs, abs=AGREEMENT)
