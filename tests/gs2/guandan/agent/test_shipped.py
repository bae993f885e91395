"""The agent on the shipped networks, the quick one beside the blueprint that taught it included."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.play.selfplay import PastMoves
from blueprint.protocol import PlayedMoves
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import advance, deal
from gs2.guandan.agent.agent import Gs2Agent, make_agent
from gs2.guandan.agent.deals.dealing import DealNetworks, load_networks
from gs2.guandan.agent.decision import Decision
from gs2.guandan.agent.evaluator import load_quick, quick_file
from gs2.guandan.agent.guandan_config import GuanDanConfig, agent_preset
from gs2.guandan.agent_families import guandan_agent
from tests.gs2.guandan.blueprints import CountEvaluator, random_choice

LITTLE = {"worlds": 6, "wave": 3, "depth": 2, "pool": 12}
CONFIGS: dict[str, GuanDanConfig] = {
    "standard": agent_preset("standard").replace(**LITTLE, leaf_worlds=4),
    "fast": agent_preset("fast").replace(**LITTLE, leaf_worlds=4),
    "rollout": agent_preset("rollout").replace(**LITTLE),
    "replay": agent_preset("rollout").replace(**LITTLE, replay=True),
    "paper": agent_preset("paper").replace(
        leaf="value", sample=20, k=3, room=60, subgame_depth=3, crowd_depth=2, iterations=10
    ),
}


@pytest.fixture(scope="module")
def networks() -> DealNetworks:
    """Return the networks that the agents share."""
    return load_networks()


def agent_of(name: str, networks: DealNetworks, seed: int = 0) -> Gs2Agent:
    config = CONFIGS[name].replace(deadline=600.0)
    rng = np.random.default_rng(seed)
    return Gs2Agent(networks, config, rng)


def assert_told(decision: Decision, config: GuanDanConfig) -> None:
    """Check that a decision has what its method promises."""
    assert np.any(legal(decision.state)[0] == decision.action[0])
    assert not decision.notes or decision.stage in ("rollout", "subgame"), decision.notes
    if config.method == "rollout":
        assert decision.solution is None and decision.stage != "subgame"
    if decision.comparison is not None and decision.comparison.rollouts and config.method == "subgame":
        contested = np.flatnonzero(~np.isnan(decision.comparison.payoffs[-1]))
        assert (decision.solution is not None) == (len(contested) > 1)
        assert (decision.stage == "subgame") == (decision.solution is not None)
    if decision.solution is not None:
        policy, moves = decision.solution.policy, decision.solution.moves
        assert policy.sum() == pytest.approx(1) and set(moves) <= set(decision.candidates)
        assert decision.choice == moves[np.argmax(policy)]


@pytest.mark.parametrize("known", [True, False], ids=["with moves", "without"])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.some(2)
def test_presets_play_a_round(name: str, known: bool, networks: DealNetworks) -> None:
    agent = agent_of(name, networks)
    other = Gs2Agent(networks, "blueprint")
    state = deal(1, np.random.default_rng(1), level=4)
    past = PastMoves(state)
    stages = []
    while state["player"][0] >= 0:
        if state["player"][0] == 0:
            decision = agent.decide(state, moves=past.of(0) if known else None)
            assert_told(decision, agent.config)
            stages.append(decision.stage)
            move = decision.action
        else:
            move = other.decide(state).action
        advance(state, move)
        past.step()
    assert ("rollout" if agent.config.method == "rollout" else "subgame") in stages, stages


def positions(n: int, seed: int) -> list[tuple[np.ndarray, PlayedMoves]]:
    """Return n states with a choice and the moves of their rounds."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < n:
        state = deal(1, rng, level=int(rng.integers(13)))
        past, wanted = PastMoves(state), int(rng.integers(4, 50))
        while state["player"][0] >= 0 and (
            len(past.of(0)) < wanted or len(legal(state, canonical=True).values) < 4
        ):
            advance(state, random_choice(state, rng))
            past.step()
        if state["player"][0] >= 0:
            found.append((state.copy(), past.of(0)))
    return found


@pytest.mark.parametrize("known", [True, False], ids=["with moves", "without"])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.some(3)
def test_hidden_cards_dealt_otherwise_change_nothing(name: str, known: bool, networks: DealNetworks) -> None:
    rng = np.random.default_rng(7)
    searched = 0
    for seed, (state, moves) in enumerate(positions(2, 3)):
        dealt = determinise(state, int(state["player"][0]), rng)
        assert np.any(dealt["hand"] != state["hand"])
        told, blind = (
            agent_of(name, networks, seed).decide(here, moves=moves if known else None)
            for here in (state, dealt)
        )
        assert told.choice == blind.choice and told.stage == blind.stage
        assert told.notes == blind.notes
        if told.comparison is not None:
            searched += 1
            assert np.array_equal(told.comparison.payoffs, blind.comparison.payoffs, equal_nan=True)
        if told.solution is not None:
            searched += 1
            assert np.array_equal(told.solution.policy, blind.solution.policy)
    assert searched


def test_what_was_played_changes_which_deals_are_thought_likely(networks: DealNetworks) -> None:
    changed = 0
    for seed, (state, _) in enumerate(positions(3, 5)):
        forgotten = state.copy()
        forgotten["acts"] = 0
        known, without = (agent_of("rollout", networks, seed).decide(given) for given in (state, forgotten))
        if known.worlds is not None and not known.worlds.exact:
            changed += not np.array_equal(known.worlds.states["hand"], without.worlds.states["hand"])
    assert changed >= 2


def test_the_shipped_blueprint_has_one_and_agents_play_rollouts_by_it() -> None:
    quick = load_quick()
    assert quick is not None and quick_file().is_file() and not quick.sees_all
    agent = make_agent(config="fast")
    assert agent.rollouts.player is not agent.evaluator and agent.rollouts.evaluator is agent.evaluator
    for config in (agent_preset("fast").replace(playing="blueprint"), agent_preset("paper")):
        own = make_agent(config=config)
        assert own.rollouts.player is own.evaluator


def test_a_blueprint_without_one_plays_its_own_rollouts(tmp_path) -> None:
    path = tmp_path / "alone.safetensors"
    shutil.copy(SHIPPED, path)
    assert load_quick(path) is None
    agent, before = make_agent(path, "fast"), guandan_agent(f"gs2@{path}").fingerprint()
    assert agent.rollouts.player is agent.evaluator
    shutil.copy(quick_file(), quick_file(path))
    again = make_agent(path, "fast")
    assert again.rollouts.player is not again.evaluator
    assert guandan_agent(f"gs2@{path}").fingerprint() != before, "results are of the quick network too"


def test_one_that_another_network_taught_is_refused(tmp_path) -> None:
    path = tmp_path / "other.safetensors"
    shutil.copy(SHIPPED, path)
    tensors, description = read_checkpoint(quick_file())
    write_checkpoint(quick_file(path), tensors, description | {"teacher_decisions": 1})
    with pytest.raises(CheckpointError, match="must have been taught by the network beside it"):
        make_agent(path, "fast")
    quick_file(path).write_bytes(b"x")
    with pytest.raises(CheckpointError, match="damaged"):
        make_agent(path, "fast")


def test_an_agent_without_a_network_takes_any_evaluator_for_its_rollouts() -> None:
    evaluator, quick = (CountEvaluator(noise=noise) for noise in (0.0, 1.0))
    agent = Gs2Agent(DealNetworks(evaluator, quick=quick), "fast", np.random.default_rng(0))
    assert agent.rollouts.player is quick
