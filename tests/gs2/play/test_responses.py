"""Responders gain no more than the best response, and no less than the agent that they answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blueprint.checkpoint import read_checkpoint
from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_inputs import move_inputs
from blueprint.climbing.move_trainer import MoveTrainer
from blueprint.protocol import Decisions, Trails, agent_of
from cfr.best_response import best_response_values
from cfr.policies.policy import tabular_policy
from cfr.tree import EnumeratedTree, grow
from cfr.values import root_values
from games.game import Game
from games.infosets.trail import SeatTrail
from games.registry import load_game
from games.support.array_types import Array
from games.support.configuration import ConfigError
from gs2.play.agent_names import load_game_agent
from gs2.play.exploit import ExploitConfig, exploit_game
from gs2.play.learned_response import Lesson, learned_responder, responder_config
from gs2.play.local_response import LocalResponder, systematic_rows, tree_response
from gs2.policies.tabulate import policy_of
from gs2.search.refine.policy_only import AgentPlay, KeyedPlay, PolicyOnly
from tests.games.random_games import Node, NodeGame, RandomGame

ROUNDING = 1e-9


def trail_to(game: Game, tree: EnumeratedTree, node: int, player: int) -> SeatTrail:
    """Return the trail of `player` from the root to a node."""
    way = [node]
    while tree.parent[way[-1]] >= 0:
        way.append(int(tree.parent[way[-1]]))
    trail = SeatTrail()
    for at, after in zip(way[::-1], [*way[-2::-1], None], strict=True):
        trail.see(game.infoset_key(tree.states[at : at + 1], player)[0])
        if after is not None and tree.player[at] == player:
            trail.act(tree.action[after])
    return trail


def random_policy(tree: EnumeratedTree, rng: np.random.Generator) -> np.ndarray:
    """Return random probabilities on a tree's slots, some of them 0 or nearly so."""
    weights = rng.gamma(0.5, size=tree.n_slots) + 1e-9
    starts, sizes = tree.infoset_offset[:-1], np.diff(tree.infoset_offset)
    return weights / np.repeat(np.add.reduceat(weights, starts), sizes)


def positions(game: Game, count: int) -> Iterator[Array]:
    """Yield decisions of random play of a climbing game, [1] each."""
    inputs, rng = move_inputs(game), np.random.default_rng(3)
    for _ in range(count):
        state = inputs.deal(1, rng)
        for _ in range(int(rng.integers(6))):
            legal = inputs.legal(state)
            after = state.copy()
            inputs.act(after, rng.choice(legal.values, 1))
            if game.player(after)[0] < 0:
                break
            state = after
        yield state


@pytest.mark.parametrize("seed", range(5))
def test_a_local_response_is_not_above_the_best_one_nor_below_the_strategy_itself(seed: int) -> None:
    game = RandomGame(seed, public=seed % 2 == 0)
    tree = grow(game)
    policy = random_policy(tree, np.random.default_rng(seed))
    own = root_values(tree, policy)
    for player, best in enumerate(best_response_values(tree, policy)):
        local, highest = (tree_response(tree, policy, player, best=how) for how in (False, True))
        assert own[player] - ROUNDING <= root_values(tree, local)[player] <= best + ROUNDING
        assert abs(root_values(tree, highest)[player] - best) < ROUNDING
        others = tree.slot_player != player
        assert all(np.array_equal(found[others], policy[others]) for found in (local, highest))


@pytest.mark.parametrize(
    "game",
    [load_game("kuhn_poker"), *(RandomGame(s, public=False) for s in (1, 2))],
    ids=lambda game: game.name,
)
def test_a_local_responder_that_plays_does_what_the_one_on_the_tree_does(game) -> None:  # type: ignore[no-untyped-def]
    tree = grow(game)
    policy = random_policy(tree, np.random.default_rng(4))
    agent = PolicyOnly(KeyedPlay(tabular_policy(game.name, tree, policy), "drawn"))
    for wrong in ({"most": 3}, {"rollouts": 0}, {"halvings": 0}):
        with pytest.raises(ValueError, match=r"LocalResponder: most must be at least 4.*; got \d"):
            LocalResponder(agent, **wrong)
    responder = LocalResponder(agent, rollouts=1000, halvings=2)
    first = tree.infoset_first_node()
    for player, best in enumerate(best_response_values(tree, policy)):
        infosets = np.flatnonzero(tree.infoset_player == player)
        if len(infosets) == 0:
            continue
        states = tree.states[first[infosets]]
        actions = game.actions(states)
        trails = Trails([trail_to(game, tree, int(node), player) for node in first[infosets]])
        asked = Decisions.of(states, actions, player, game=game, past=trails)
        answer = responder(asked)
        assert np.array_equal(answer, responder(asked)), "remembered"
        played = policy.copy()
        played[tree.slot_player == player] = answer
        value = root_values(tree, played)[player]
        exactly = root_values(tree, tree_response(tree, policy, player))[player]
        # rollouts may take near-ties the other way
        assert exactly - 0.02 * np.ptp(game.payoff_range) <= value <= best + ROUNDING
    with pytest.raises(ValueError, match=r"pass Decisions\.past"):
        responder(replace(asked, past=None))


def test_a_network_learns_to_answer_an_agent_of_a_game_without_listing_it() -> None:
    game = load_game("liars_dice(sides=3)")
    tree = grow(game)
    agent = load_game_agent(game, "noise:0.5")
    policy = policy_of(AgentPlay(agent), game, tree)
    config = responder_config(agent).replace(
        width=32, blocks=1, episodes=512, batch=256, learning_rate=3e-3, epsilon=0.2
    )
    own = root_values(tree, policy)
    gains, best = [], best_response_values(tree, policy)
    answers = policy_of(
        AgentPlay(learned_responder(game, agent, Lesson(generations=60), config=config)), game, tree
    )
    for player in (0, 1):
        played = np.where(tree.slot_player == player, answers, policy)
        gains.append(root_values(tree, played)[player])
        assert gains[player] <= best[player] + ROUNDING
    assert sum(gains) > sum(own) + 0.5 * (sum(best) - sum(own))


@pytest.mark.parametrize("name", ["doudizhu(ranks=4)", "big2(players=2,ranks=6,suits=2)"])
def test_a_responder_by_moves_starts_as_the_network_that_it_answers(name: str, tmp_path: Path) -> None:
    game = load_game(name)
    trainer = MoveTrainer(game, ClimbingConfig(state=16, action=8, critic=8, rounds=64, batch=64))
    trainer.run_generation()
    trainer.learner.stake *= 3  # as of a network that started from another game's
    file, output = tmp_path / "x.safetensors", tmp_path / "y.safetensors"
    trainer.save(file)
    model = load_climbing_blueprint(file, game)
    begun = MoveTrainer(game, ClimbingConfig(state=16, action=8, critic=0))
    other = MoveTrainer(game, ClimbingConfig(state=32, action=8, critic=0))
    tensors = read_checkpoint(file)[0]
    assert begun.learner.start_from(tensors) and not other.learner.start_from(tensors)
    answer = learned_responder(game, model, Lesson(generations=1, output=output))
    kept = load_climbing_blueprint(output, game)
    assert kept.scale == model.scale
    for state in positions(game, 20):
        player, actions = int(game.player(state)[0]), game.actions(state)
        asked = Decisions.of(state, actions, player, game=game)
        assert np.array_equal(agent_of(kept)(asked), answer(asked))
        words = begun.inputs.words(actions.values)
        same, wanted = (
            network.answer(state, np.zeros(1, np.int64), np.array([player]), actions.offsets, words)
            for network in (begun.learner.snapshot(), model.network)
        )
        np.testing.assert_allclose(same[1], wanted[1], atol=0.02)


def test_responders_answer_teams_of_two_and_no_more() -> None:
    config = ExploitConfig(method="trained", minutes=1e-6, games=4)
    (bound,) = exploit_game(load_game("doudizhu(ranks=4)"), "uniform", config).bounds
    assert bound.method == "trained" and bound.games == 4 and len(bound.seats) == 2
    with pytest.raises(ConfigError, match="lbr needs a game of two players"):
        exploit_game(load_game("doudizhu(ranks=4)"), "uniform", config.replace(method="lbr"))
    with pytest.raises(ConfigError, match="two teams"):
        exploit_game(load_game("big2(players=3,ranks=6,suits=3)"), "uniform", config)
    general = NodeGame("both win", [Node(-1, 0, ((), ()), 0, 1), Node(0, 0, ((), ()), paid=(3.0, 2.0))])
    general.zero_sum = False  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="payoffs sum to zero"):
        exploit_game(general, "uniform", config)


def test_systematic_resampling_keeps_every_weight_to_within_one_particle() -> None:
    rng = np.random.default_rng(5)
    weight = rng.random(30)
    offsets = np.array([0, 4, 5, 30])
    drawn = systematic_rows(weight, offsets, 50, rng)
    for k, (first, last) in enumerate(itertools.pairwise(offsets)):
        counts = np.bincount(drawn[k], minlength=30)
        wanted = 50 * weight[first:last] / weight[first:last].sum()
        assert counts.sum() == counts[first:last].sum() == 50
        assert np.all(np.abs(counts[first:last] - wanted) <= 1)
