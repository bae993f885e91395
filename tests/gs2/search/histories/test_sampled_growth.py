"""Branches, leaves played out in common luck, and prices that grow with doubt, below drawn histories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.checkpoint import write_checkpoint
from blueprint.protocol import Blueprint
from blueprint.research.game_network import (
    GameNetwork,
    GameNetworkConfig,
    NetworkLayout,
    NetworkWeights,
    network_description,
)
from cfr.policies.policy import uniform_policy
from cfr.tree import FlatTree, TreeRules, grow
from games.game import Game
from games.infosets.trail import Trail, find_trail
from games.ragged import Ragged
from games.support.configuration import ConfigError
from gs2.play.agent_names import blueprint_named
from gs2.search.config.presets import PRESETS, preset
from gs2.search.config.search import SearchConfig
from gs2.search.context import SearchContext, Strategy
from gs2.search.explain import solve_infoset
from gs2.search.histories.enumerated import action_values
from gs2.search.histories.sampled_growth import (
    LikeliestBranches,
    action_errors,
    grow_sampled,
    play_out_leaves,
)
from gs2.search.histories.sampled_source import sample_tree
from gs2.search.refine.at import refine_at
from gs2.search.refine.policy_only import PlayedStrategy
from gs2.search.refine.whole import refine_policy
from tests.gs2.search.setting import GOOFSPIEL, LEDUC, LIARS_DICE, context, random_policy, rng
from tests.gs2.search.test_random_games import blueprint as random_blueprint
from tests.gs2.search.test_random_games import prepared
from tests.patience import amount

SAME = 1e-9


def played(name: str, seed: int) -> tuple[SearchContext, Strategy, PlayedStrategy]:
    """Return a game with a random strategy on it, twice."""
    there = context(name)
    strategy = Strategy(there.tree, random_policy(name, rng(seed)))
    return there, strategy, PlayedStrategy(there, strategy)


def some_trail(there: SearchContext, seed: int, least: int = 2) -> tuple[Trail, int]:
    """Return the way to a random infoset with at least so many actions, and its number."""
    wide = np.flatnonzero(np.diff(there.tree.infoset_offset) >= least)
    number = int(rng(seed).choice(wide))
    return there.trail_to(number), number


@pytest.mark.parametrize("name", [LEDUC, LIARS_DICE, GOOFSPIEL])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.some(3)
def test_the_likeliest_actions_are_kept(name: str, n: int) -> None:
    there, strategy, blueprint = played(name, n)
    for player in (0, 1):
        mine = np.flatnonzero(there.tree.infoset_player == player)
        states = there.tree.states[there.tree.infoset_first_node()[mine]]
        actions = there.game.actions(states)
        kept = LikeliestBranches(blueprint, n)(there.game, states, player, actions)
        for row, infoset in enumerate(mine.tolist()):
            here = kept[actions.offsets[row] : actions.offsets[row + 1]]
            prob = strategy.probs[there.tree.slots(infoset)]
            assert here.sum() == min(n, len(here))
            assert here.all() or prob[here].min() >= prob[~here].max()


@pytest.mark.parametrize("beyond", ["never", "blueprint"])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_no_branch_is_played_as_the_configuration_says(seed: int, beyond: str) -> None:
    there, strategy, blueprint = played(LIARS_DICE, seed)
    trail, number = some_trail(there, seed, least=3)
    config = preset("gs2", branches=2, samples=8, beyond=beyond)
    probs = refine_at(there.game, blueprint, trail, config, rng(seed))
    old = strategy.probs[there.tree.slots(number)]
    likeliest = np.sort(np.argsort(-old, kind="stable")[:2])
    rest = np.delete(old, likeliest) * (beyond == "blueprint")
    np.testing.assert_allclose(np.delete(probs, likeliest), rest, atol=1e-12)
    assert probs.shape == old.shape and probs.sum() == pytest.approx(1)
    dropped = refine_at(there.game, blueprint, trail, config.replace(beyond="never"), rng(seed))
    np.testing.assert_allclose(probs[likeliest], dropped[likeliest] * (1 - rest.sum()), atol=1e-12)


@pytest.mark.parametrize("name", [LEDUC, LIARS_DICE])
@pytest.mark.parametrize("method", [name for name, config in PRESETS.items() if config.subgame.branches])
def test_a_result_shows_what_the_blueprint_plays_and_every_action(method: str, name: str) -> None:
    left_out = 0
    for seed in range(amount(6, 3)):
        there, strategy, blueprint = played(name, seed)
        trail, number = some_trail(there, seed)
        config = preset(method, source="sampled", branches=2, samples=8)
        probs = refine_at(there.game, blueprint, trail, config, rng(seed))
        for given in (blueprint, strategy):
            found = solve_infoset(there, given, number, config, rng(seed))
            assert list(found.blueprint.values()) == pytest.approx(strategy.probs[there.tree.slots(number)])
            assert list(found.refined.values()) == pytest.approx(probs)
            beyond = [row for row in found.actions if row.q is None]
            keeps = config.subgame.beyond == "blueprint"
            assert all(row.refined == pytest.approx(row.blueprint * keeps) for row in beyond)
            note = f"actions not searched: {len(beyond)} of {len(probs)} (branches = 2"
            assert any(said.startswith(note) for said in found.cut_off) == bool(beyond)
            assert json.loads(json.dumps(found.to_json()))["actions"][0].keys() == {
                *("action", "blueprint", "refined", "q", "error")
            }
            left_out += len(beyond)
    assert left_out > 0


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_branches_never_cut_off_the_infoset_searched_where_turns_are_hidden(seed: int) -> None:
    # Histories that may be confused with what lies below begin above it, and branches may not lead there.
    there, _ = prepared(seed, False)
    strategy = uniform_policy(there.tree)
    for infoset in range(there.tree.n_infosets):
        config = preset("kluss", source="sampled", branches=1, iterations=1)
        found = solve_infoset(there, strategy, infoset, config, rng(seed))
        assert sorted(found.refined.values()) == [*[0.0] * (len(found.refined) - 1), 1.0]


def test_a_whole_strategy_needs_every_action() -> None:
    there, strategy, _ = played(LIARS_DICE, 1)
    with pytest.raises(ConfigError, match="branches must be at least"):
        refine_policy(there, strategy, 0, preset("gs2", branches=2))
    with pytest.raises(ConfigError, match="branches needs a source that draws"):
        SearchConfig.of(source="enumerated", branches=2)


@pytest.mark.parametrize("name", [LEDUC, LIARS_DICE])
def test_leaves_played_out_are_worth_what_the_strategy_gets(name: str) -> None:
    there, strategy, blueprint = played(name, 3)
    _, number = some_trail(there, 3)
    nodes = np.flatnonzero(there.tree.infoset == number).astype(np.int32)
    rules = TreeRules(1, lambda game, states: np.zeros((len(states), 2)))
    tree = grow(there.game, there.tree.states[nodes], np.full(len(nodes), 1 / len(nodes)), rules=rules)
    found = np.stack(
        [play_out_leaves(there.game, tree, blueprint, rng(k), rollouts=4)[0].returns for k in range(300)]
    )
    exact = there.tree.first_child[nodes][:, None] + np.arange(there.tree.n_children[nodes[0]])
    start = tree.first_child[: len(nodes), None] + np.arange(tree.n_children[0])
    row = {int(node): at for at, node in enumerate(tree.terminal)}
    checked = 0
    for ours, theirs in zip(start.reshape(-1), exact.reshape(-1), strict=True):
        if int(ours) in row:  # chance comes before the others
            drawn = found[:, row[int(ours)], 0]
            error = max(drawn.std() / np.sqrt(len(drawn)), SAME)
            assert abs(drawn.mean() - strategy.values[theirs, 0]) <= 5 * error
            checked += 1
    assert checked > 0


def test_leaves_of_one_root_meet_the_same_luck() -> None:
    there, _, blueprint = played(LEDUC, 4)
    # Two players who go on alike: what is drawn for one leaf is drawn for its twin below the same root.
    state: NDArray[Any] = there.tree.states[there.tree.infoset_first_node()[:1]]
    rules = TreeRules(1, lambda game, states: np.zeros((len(states), 2)))
    tree = grow(there.game, np.repeat(state, 40), np.full(40, 1 / 40), rules=rules)
    once = play_out_leaves(there.game, tree, blueprint, rng(5), rollouts=2)[0].returns
    again = play_out_leaves(there.game, tree, blueprint, rng(5), rollouts=2)[0].returns
    other = play_out_leaves(there.game, tree, blueprint, rng(6), rollouts=2)[0].returns
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(once, other)
    assert len(np.unique(once.reshape(40, -1), axis=0)) > 1


@pytest.mark.parametrize("seed", range(2))
def test_errors_are_those_of_weighted_means(seed: int) -> None:
    there, strategy, _ = played(LEDUC, seed)
    tree, number = there.tree, some_trail(there, seed)[1]
    player, slots = int(tree.infoset_player[number]), tree.slots(number)
    nodes = np.flatnonzero(tree.infoset == number).astype(np.int32)
    reach = strategy.reach_at(nodes)
    weight = reach.chance * reach.players[:, 1 - player]
    weight = weight / weight.sum() if weight.sum() > 0 else np.full(len(nodes), 1 / len(nodes))
    errors = action_errors(strategy, number).gains(strategy.probs[slots])
    for action in range(len(slots)):
        gain = strategy.values[tree.first_child[nodes] + action, player] - strategy.values[nodes, player]
        wanted = np.sqrt(np.sum((weight * (gain - weight @ gain)) ** 2))
        assert errors[action] == pytest.approx(wanted, abs=SAME)


class Decided:
    """A blueprint whose actions of highest Q are those that a strategy on a tree plays most often."""

    name = "decided"

    def __init__(self, plays: Blueprint) -> None:
        self.plays = plays

    def policy(self, game: Game, states: NDArray[Any], player: int, actions: Ragged) -> NDArray[np.float64]:
        return self.plays.policy(game, states, player, actions)

    def q(self, game: Game, states: NDArray[Any], player: int, actions: Ragged) -> NDArray[np.float64]:
        return self.plays.policy(game, states, player, actions)

    def value(self, game: Game, states: NDArray[Any], player: int) -> NDArray[np.float64]:
        return np.zeros(len(states))


def first_decision(seed: int) -> tuple[SearchContext, Strategy, Decided, Trail]:
    """Return a random game that begins with a decision, a strategy, it as a blueprint, and the way there."""
    there, form = prepared(seed, True)
    strategy = there.strategy(random_blueprint(there, form, "dirichlet", seed))
    plays = Decided(PlayedStrategy(there, strategy))
    return there, strategy, plays, there.trail_to(int(there.tree.infoset[0]))


FIRST = (20, 22, 40, 51, 67, 77, 87, 96)
"""Random games without chance that begin with a decision: greedy play from there repeats one game."""


def first_values(tree: FlatTree, strategy: Strategy, player: int) -> NDArray[np.float64]:
    """Return what the actions at the root of a tree are worth, [a] float64."""
    found: NDArray[np.float64] = strategy.values[tree.first_child[0] + np.arange(tree.n_children[0]), player]
    return found


def test_where_there_is_one_history_values_come_with_the_error_of_many_games() -> None:
    off = []
    for seed in FIRST:
        there, strategy, plays, trail = first_decision(seed)
        exact = first_values(there.tree, strategy, trail.player)
        for run in range(4):
            config = preset("gs2", branches=9, iterations=20)
            part = sample_tree(there.game, plays, trail, config, rng(run))
            assert part.errors is not None
            found = first_values(part.context.tree, part.strategy, trail.player)
            errors = part.errors.of(np.eye(len(found)))
            np.testing.assert_allclose(found[errors == 0], exact[errors == 0], atol=SAME)
            off += ((found - exact)[errors > 0] / errors[errors > 0]).tolist()
    assert len(off) > 20 and 0.5 < np.sqrt(np.mean(np.square(off))) < 1.6


@pytest.mark.parametrize("seed", FIRST[:3])
def test_few_histories_are_played_out_as_often_as_many_would_be(seed: int) -> None:
    there, _, plays, _ = first_decision(seed)
    roots = there.game.root(), np.ones(1), np.ones(1)
    for samples, rollouts, wanted in ((64, 1, 64), (8, 3, 24), (1, 1, 2), (10**6, 1, 64)):
        config = preset("gs2", samples=samples, rollouts=rollouts)
        _, playouts = grow_sampled(there.game, plays, roots, config, rng(0))
        assert playouts is None or playouts.payoffs.shape[1] == wanted


@pytest.mark.parametrize("seed", FIRST[:3])
def test_a_policy_moves_no_further_than_its_errors_allow(seed: int) -> None:
    there, strategy, plays, trail = first_decision(seed)
    old = strategy.probs[there.tree.slots(int(there.tree.infoset[0]))]
    for doubt in (1.0, 4.0):
        config = preset("gs2", branches=9, samples=8, doubt=doubt, iterations=2000)
        part = sample_tree(there.game, plays, trail, config, rng(seed))
        answer = refine_at(there.game, plays, trail, config, rng(seed))
        assert part.errors is not None
        found = first_values(part.context.tree, part.strategy, trail.player)
        error = float(part.errors.gains(old).max())
        if error == 0:
            continue
        # Each nat costs `doubt` errors: the odds of two actions change by what one is better, in these.
        odds = np.log(np.maximum(answer, 1e-12) / old)
        allowed = (found.max() - found.min()) / (doubt * error)
        assert odds.max() - odds.min() <= allowed + 0.05


@pytest.mark.parametrize("name", [LEDUC, LIARS_DICE, GOOFSPIEL])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.some(3)
def test_a_step_shrinks_with_the_luck_of_its_values_and_with_nothing_else(name: str, seed: int) -> None:
    there, _, blueprint = played(name, seed)
    trail, number = some_trail(there, seed)
    config = preset("gs2-s", source="sampled", branches=None, belief=1.0)
    few, every = config.replace(samples=2), config.replace(samples=10_000)
    for caution in (0.0, 1.0, 16.0):
        for asked in (few, every):
            part = sample_tree(there.game, blueprint, trail, asked.replace(caution=caution), rng(seed))
            slots = part.context.tree.slots(part.infoset)
            policy = part.strategy.probs[slots]
            values = action_values(part.context, part.strategy, part.infoset)
            gains = np.zeros(len(policy)) if part.errors is None else part.errors.gains(policy)
            there_are = np.count_nonzero(there.tree.infoset == number)
            if part.size.histories == there_are and part.errors is not None:
                shares = np.eye(len(policy)) - policy
                gains = np.sqrt(np.maximum(np.diag(shares @ part.errors.played @ shares.T), 0.0))
            share = (gains**2 @ policy) / max((values - values @ policy) ** 2 @ policy, 1e-150)
            assert part.config.solve.step == pytest.approx(0.8 / (1 + caution * share))
    exact = config.replace(depth=None, samples=10_000)
    part = sample_tree(there.game, blueprint, trail, exact, rng(seed))
    assert part.config.solve.step == 0.8


def test_no_companions_are_drawn_where_none_are_asked_for() -> None:
    there, _, blueprint = played(LEDUC, 2)
    trail, number = some_trail(there, 2)
    part = sample_tree(there.game, blueprint, trail, preset("gs2", samples=50), rng(0))
    roots = part.context.tree.infoset[: part.context.tree.n_roots]
    assert np.all(roots == part.infoset)
    assert len(roots) == np.count_nonzero(there.tree.infoset == number)


def test_a_network_of_a_large_game_is_a_blueprint_by_its_file(tmp_path: Path) -> None:
    game = context(LEDUC).game
    config = GameNetworkConfig(width=8, blocks=1)
    layout = NetworkLayout.of(game, config)
    arrays = {
        name: rng(1).normal(size=shape).astype(np.float32) for name, shape in layout.shapes(config).items()
    }
    network = GameNetwork(layout, NetworkWeights(arrays), config)
    path = str(tmp_path / "leduc.safetensors")
    tensors = {f"network.{name}": array for name, array in arrays.items()}
    write_checkpoint(path, tensors, network_description(layout, config))
    found = blueprint_named(path, game)
    infoset = game.parse_infoset("P1 holds Ks | raise")
    trail = find_trail(game, infoset, rng(0))
    wanted = refine_at(game, network, trail, preset("gs2"), rng(2))
    np.testing.assert_array_equal(refine_at(game, found, trail, preset("gs2"), rng(2)), wanted)
