"""Matches are played for the match, rounds for levels: networks, rollouts and the agent."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from blueprint.guandan.network.inference import Inference
from blueprint.guandan.network.inputs import STAKES_SCALE, encode_stakes
from blueprint.guandan.network.q_network import Critic, QNetwork
from blueprint.guandan.objective import in_match, match_chances, result_worth, rounds_alone
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.network_play import InferenceAgent
from blueprint.guandan.train_config import NetworkConfig
from blueprint.guandan.training.trainer import Trainer
from blueprint.protocol import Decisions
from games.guandan.matches.chances import RESULTS
from games.guandan.matches.lockstep import Matches
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import PRESETS, RULING
from games.support.configuration import ConfigError
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.deals.dealing import DealNetworks
from gs2.guandan.agent.evaluator import evaluator_worth
from gs2.guandan.agent.guandan_config import PRESETS as AGENT_PRESETS
from gs2.guandan.agent.rollout import Rollouts
from gs2.guandan.agent_families import check_agent, guandan_agent
from tests.blueprint.guandan.positions import FAST, TINY, random_states

LEVELS = np.array(RESULTS, float)


def network(seed: int = 0) -> Inference:
    torch.manual_seed(seed)
    made = QNetwork(NetworkConfig(state=24, blocks=1, action=16, action_blocks=1, stakes=True))
    with torch.no_grad():
        made.advantage.weight.mul_(20)
        made.tower.stakes.normal_(0, 1)
    tensors = {f"network.{k}": v.detach().numpy() for k, v in made.state_dict().items()}
    critic = {f"critic.{k}": v.detach().numpy() for k, v in Critic(24).state_dict().items()}
    return Inference(tensors | critic, half=False)


def positions(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n positions of rounds in matches at all levels; every third round is one for itself."""
    states = random_states(n, rng)
    states["levels"] = rng.integers(0, 13, (n, 2))
    states["owner"] = rng.integers(0, 2, n)
    states["level"] = states["levels"][np.arange(n), states["owner"]]
    states["fails"] = rng.integers(0, 3, (n, 2))
    states["fails"][::3] = NOBODY
    return states


def test_stakes_are_what_results_are_worth_beyond_levels() -> None:
    states = positions(60, np.random.default_rng(0))
    seats = states["player"].astype(np.int64)
    found = encode_stakes(states, seats).astype(float) / STAKES_SCALE
    beyond = np.delete(result_worth(states, seats) - LEVELS, 3, axis=1)
    assert np.allclose(found[:, :6] - found[:, 6:], beyond, atol=0.6 / STAKES_SCALE)
    assert not found[~in_match(states)].any() and found[in_match(states)].any(1).all()
    assert not encode_stakes(rounds_alone(states), seats).any()


def test_a_network_that_sees_the_stakes_plays_by_them_unless_told_to_play_for_levels() -> None:
    states, played = positions(60, np.random.default_rng(1)), network()
    decisions = Decisions.of(states, legal(states, canonical=True))
    choice = [InferenceAgent(played, objective=name)(decisions) for name in ("match", "levels")]
    alone = Decisions.of(rounds_alone(states), legal(states, canonical=True))
    assert np.array_equal(choice[1], InferenceAgent(played)(alone))
    assert np.array_equal(choice[0][~in_match(states)], choice[1][~in_match(states)])
    assert np.any(choice[0] != choice[1])
    assert np.array_equal(states["fails"][::3], np.full((20, 2), NOBODY))  # nothing was changed in place


def test_rounds_of_matches_are_dealt_for_training() -> None:
    states = deal_rounds(400, np.random.default_rng(2), tribute=0.5, matches=0.5)
    inside = in_match(states)
    assert 140 < inside.sum() < 260
    levels, fails, owner = states["levels"][inside], states["fails"][inside], states["owner"][inside]
    assert np.array_equal(states["level"][inside], levels[np.arange(len(levels)), owner])
    assert fails.max() == 2 and not fails[levels != 12].any() and 0.2 < (levels == 12).mean() < 0.5
    plain = deal_rounds(50, np.random.default_rng(3), tribute=0.5)
    assert not in_match(plain).any()


def test_targets_in_a_match_are_what_results_are_worth() -> None:
    train = FAST.replace(rounds=20, matches=1.0, trace=1.0, critic=False, tribute=0.0)
    trainer = Trainer(TINY.replace(critic=0, stakes=True), train, threads=1)
    # without a critic the value of the network before it has seen the rounds is taken off the returns
    critic_values = trainer.learner.critic_values()
    assert critic_values is not None
    trainer.run_generation()
    (samples,) = trainer.pending
    seats = samples.states["player"].astype(np.int64)
    worth = result_worth(samples.states, seats)
    expected = (critic_values(samples.states, seats) * worth).sum(1)
    returns = samples.target + expected
    assert np.allclose(returns, worth[np.arange(len(samples)), samples.outcome], atol=1e-2)
    assert not np.allclose(returns, LEVELS[samples.outcome], atol=0.1)
    assert not np.allclose(samples.target, returns, atol=0.1)


def test_rollouts_are_worth_what_their_results_are() -> None:
    rng = np.random.default_rng(1)
    states, evaluator = positions(30, rng), network(1)
    for depth in (None, 0, 3):
        after = states.copy()
        found = Rollouts(evaluator).payoffs(after, depth)
        over = after["player"] < 0
        worth = result_worth(after, np.zeros(30, np.int64))
        payoff = GuanDan().returns(after)[:, 0]
        assert over.all() == (depth is None)
        for j in np.flatnonzero(over):
            assert found[j] == pytest.approx(worth[j, RESULTS.index(int(payoff[j]))])
        for j in np.flatnonzero(~over):
            seat = int(after["player"][j])
            chance = evaluator.critic_results(after, np.array([j]), np.array([seat]))[0]
            mine = chance if seat % 2 == 0 else chance[::-1]
            assert found[j] == pytest.approx(mine @ worth[j], abs=1e-3)


def test_an_evaluator_that_knows_values_alone_is_worth_what_lies_between() -> None:
    states = positions(40, np.random.default_rng(2))
    values = np.linspace(-3.2, 3.2, 40)

    class Values:
        sees_all = False

        def values(self, states, rows, seats):
            return values[rows]

    rows, seats = np.arange(40), np.zeros(40, np.int64)
    found, worth = evaluator_worth(Values(), states, rows, seats), result_worth(states, seats)
    for j in range(40):
        wanted = np.interp(np.clip(values[j], -3, 3), LEVELS[::-1], worth[j][::-1])
        assert found[j] == pytest.approx(wanted)


def test_rounds_of_matches_know_their_match() -> None:
    matches = Matches(np.arange(20, dtype=np.uint64), levels=(12, 4), owner=0)
    assert in_match(matches.states).all() and not matches.states["fails"].any()
    matches.table["fails"][:, 0] = 2
    matches.states["player"] = -2
    matches.states["order"] = (1, 3, 0, 2)
    matches.settle()
    playing = matches.states["player"] >= 0
    assert np.array_equal(matches.states["fails"][playing], matches.table["fails"][playing])


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_results_are_worth_what_they_are_by_the_rules_of_their_match(preset: str) -> None:
    rules = PRESETS[preset]
    seats = np.arange(20) % 4
    begun = [
        Matches(np.arange(10, dtype=np.uint64), levels=(12, 10), owner=0, rules=each).states
        for each in (rules, RULING)
    ]
    states = np.concatenate(begun)  # rounds of matches by different rules are asked for at once
    found = result_worth(states, seats)
    for part, each in zip((slice(10), slice(10, 20)), (rules, RULING), strict=True):
        assert np.array_equal(found[part], match_chances(each).utilities(states[part], seats[part]))
    # by the platform's rules a win by two at one's own A is a failure
    lost = np.all(found[:10:2, 0] > found[:10:2, 1] + 1)
    assert lost == (rules.ace_win == "double")


def test_the_agent_maximises_levels_in_a_match_if_told_so() -> None:
    n = 5
    states, evaluator = positions(n, np.random.default_rng(3)), network(3)
    alone = states.copy()
    alone["fails"] = NOBODY
    for name in ("match", "levels"):
        changes = {"objective": name, "deadline": 60.0, "endgame": 0, "worlds": 8, "pool": 1280, "reach": 0.0}
        config = AGENT_PRESETS["rollout-fast"].replace(**changes)
        for j in range(n):
            one, other = (
                Gs2Agent(DealNetworks(evaluator), config, np.random.default_rng(j)).decide(s[j : j + 1])
                for s in (states, alone)
            )
            if name == "levels" or not in_match(states)[j]:
                assert one.choice == other.choice and np.array_equal(one.q, other.q, equal_nan=True)


def test_networks_are_named_with_how_they_play() -> None:
    for name in ("blueprint:objective=levels", "blueprint:tribute=value", "blueprint"):
        check_agent(name)
    assert len({guandan_agent(n).fingerprint() for n in ("blueprint", "blueprint:objective=levels")}) == 2
    assert guandan_agent("blueprint:objective=levels").load(np.random.default_rng()).objective == "levels"
    assert hasattr(guandan_agent("blueprint:tribute=value").load(np.random.default_rng()), "cards")
    for wrong, named in (("blueprint:objective=chips", "objective"), ("blueprint:worlds=3", "worlds")):
        with pytest.raises(ConfigError, match=named):
            check_agent(wrong)
