"""Paired rollouts: gains by the same luck, near what they are exactly."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.tree import grow
from cfr.values import node_values
from games.registry import load_game
from gs2.policies.tabulate import tabulate
from gs2.search.certificate import (
    columns_against,
    strategy_payoffs,
)
from gs2.search.continuation_policies import continuation_blueprints
from tests.cfr.trees import random_policy
from tests.games.random_games import RandomGame

SEEDS = pytest.mark.parametrize("seed", range(3))
AGAINST = "blueprint+uniform+last"


def prepared(seed: int, game=None):
    """Return a game, its tree, a random strategy, and that as a blueprint."""
    game = RandomGame(seed, public=bool(seed % 2)) if game is None else game
    tree = grow(game)
    policy = random_policy(tree, seed)
    return game, tree, policy, tabulate(game, tree, policy)


def an_infoset(tree, seed: int) -> tuple[int, int]:
    """Return an infoset with choices, and its player."""
    wide = np.flatnonzero(np.diff(tree.infoset_offset) > 1)
    infoset = int(np.random.default_rng(seed).choice(wide))
    return infoset, int(tree.infoset_player[infoset])


@SEEDS
def test_a_strategy_against_itself_gains_nothing_in_any_game(seed: int) -> None:
    game, tree, policy, base = prepared(seed)
    infoset, player = an_infoset(tree, seed)
    states = tree.states[np.repeat(np.flatnonzero(tree.infoset == infoset), 5)]
    twice = base, tabulate(game, tree, policy)
    columns = columns_against(game, player, base, continuation_blueprints(base, AGAINST))
    found = strategy_payoffs(game, states, player, twice, columns, np.random.default_rng(seed))
    assert found.shape == (len(states), 2, 3)
    assert np.array_equal(found[:, 0], found[:, 1])


@SEEDS
def test_gains_of_a_strategy_come_near_what_they_are_exactly(seed: int) -> None:
    game, tree, policy, base = prepared(seed)
    infoset, player = an_infoset(tree, seed)
    other = np.where(tree.slot_player == player, random_policy(tree, seed + 100), policy)
    node = int(np.flatnonzero(tree.infoset == infoset)[0])
    columns = columns_against(game, player, base, (base,))
    states = np.repeat(tree.states[node : node + 1], 3000, axis=0)
    both = tabulate(game, tree, other), base
    found = strategy_payoffs(game, states, player, both, columns, np.random.default_rng(seed))
    exact = node_values(tree, other)[node, player] - node_values(tree, policy)[node, player]
    low, high = game.payoff_range
    gain = (found[:, 0] - found[:, 1]).mean()
    assert gain == pytest.approx(exact, abs=4 * (high - low) / np.sqrt(3000))


def test_gains_by_the_same_luck_vary_less() -> None:
    game, tree, policy, base = prepared(0, load_game("leduc_poker"))
    infoset, player = an_infoset(tree, 3)
    near = 0.9 * policy + 0.1 * random_policy(tree, 9)
    states = tree.states[np.repeat(np.flatnonzero(tree.infoset == infoset), 60)]
    columns = columns_against(game, player, base, (base,))
    both = (tabulate(game, tree, near), base)
    together = strategy_payoffs(game, states, player, both, columns, np.random.default_rng(0))
    apart = [
        strategy_payoffs(game, states, player, (play,), columns, np.random.default_rng(k))
        for k, play in enumerate(both)
    ]
    assert (together[:, 0] - together[:, 1]).var() < 0.6 * (apart[0] - apart[1]).var()


def test_partners_play_the_blueprint_in_every_column() -> None:
    class Four:
        """A game of two teams of two."""

        num_players, teams = 4, (0, 1, 0, 1)

    columns = columns_against(Four(), 2, "base", ("base", "other"))
    assert columns == [["base", "base"], ["base", "other"], ["base", "base"], ["base", "other"]]
