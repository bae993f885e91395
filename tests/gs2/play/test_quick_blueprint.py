"""The quicker copy of a climbing game's network: who gets one, and that it plays nearly the same."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from blueprint.climbing.climbing_blueprint import ClimbingBlueprint
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_trainer import MoveTrainer
from blueprint.layers.bfloat import native_half
from blueprint.learning.run import RunLimits, RunPlace, train
from games import load_game
from games.climbing.doudizhu.doudizhu import DouDizhu
from gs2.play.agent_names import load_game_agent, load_searched, with_quick_copy
from gs2.play.game_pairs import play_agents
from gs2.search.refine.policy_only import PolicyOnly, UniformPlay

SMALL = ClimbingConfig(state=32, blocks=1, action=16, critic=0, rounds=8, batch=64)
GAME = "doudizhu(ranks=4)"


def trained(folder: Path, config: ClimbingConfig = SMALL) -> Path:
    """Return the file of a network that was hardly trained."""
    place = RunPlace.of(folder)
    begin = partial(MoveTrainer.begun, game=load_game(GAME), config=config)
    train(place, begin, RunLimits(decisions=1))
    return place.checkpoint


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("run"))


def test_a_network_gets_a_copy_where_the_processor_has_bfloat16(network: Path) -> None:
    game = DouDizhu(ranks=4)
    blueprint = load_searched(game, str(network))
    quick = getattr(blueprint, "quick", None)
    assert (quick is not None) == native_half()
    other = PolicyOnly(UniformPlay())
    assert with_quick_copy(other, network) is other
    if not isinstance(quick, ClimbingBlueprint):
        return
    states = game.sample_deals(40, np.random.default_rng(0))
    actions = game.actions(states)
    exact, near = (of.q(game, states, 0, actions) for of in (blueprint, quick))
    assert np.abs(exact - near).max() <= 0.05 * max(1.0, float(np.abs(exact).max()))
    assert not np.array_equal(exact, near)


def test_a_search_over_a_network_plays_whole_games_and_the_same_ones_again(network: Path) -> None:
    game = load_game(GAME)

    def net() -> float:
        agent = load_game_agent(game, f"{network}+rollout:samples=4,gap=None", seed=1)
        other = load_game_agent(game, str(network))
        return float(play_agents(game, (agent, other), np.random.default_rng(1), 1).net[0])

    assert net() == net()


def test_a_network_that_was_trained_with_pruning_is_pruned_in_rollouts_too(tmp_path: Path) -> None:
    blueprint = load_searched(DouDizhu(ranks=4), str(trained(tmp_path, SMALL.replace(prune=0))))
    assert isinstance(blueprint, ClimbingBlueprint) and blueprint.prune == 0
    quick = getattr(blueprint, "quick", None)
    assert quick is None or quick.prune == 0
