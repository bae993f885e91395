"""Agents by name: each loads and plays, names are checked, checkpoints are told apart."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from blueprint.checkpoint import CheckpointError
from blueprint.guandan.chooser import Decisions
from blueprint.guandan.play.choosers import RULE_AGENTS
from blueprint.guandan.play.duplicate import duplicate_deals, play_duplicate
from blueprint.guandan.rules.rule_agents import GreedyAgent
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.trainer import Trainer
from blueprint.protocol import UnknownAgent
from games.guandan.rounds.round import legal
from games.support.configuration import ConfigError
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.agent_presets import PRESETS
from gs2.guandan.agent.evaluator import load_evaluator
from gs2.guandan.agent_families import (
    check_agent,
    deals_at_once,
    fingerprint,
    is_batched,
    load_batched_agent,
)
from gs2.guandan.beliefs.belief_network import DEFAULT
from gs2.guandan.beliefs.deal_network import DEALS
from gs2.play.arena import Meeting, play_match

SMALL = NetworkConfig(state=16, blocks=1, action=16, action_blocks=1, critic=16)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return two checkpoints of small untrained networks."""
    folder = tmp_path_factory.mktemp("networks")
    for seed in (1, 2):
        Trainer(SMALL, TrainConfig(seed=seed)).save(folder / f"{seed}.safetensors")
    return [str(folder / f"{seed}.safetensors") for seed in (1, 2)]


@pytest.mark.parametrize("name", RULE_AGENTS)
def test_rule_agents_play_whole_rounds(name: str) -> None:
    agent = load_batched_agent(name, np.random.default_rng(0))
    payoffs = play_duplicate(agent, GreedyAgent(), duplicate_deals(np.arange(3), 0))
    assert set(np.abs(payoffs).ravel()) <= {0, 1, 2, 3}
    assert is_batched(name) and deals_at_once(name) > 100


def test_a_checkpoint_plays_the_move_it_scores_highest(checkpoints: list[str]) -> None:
    agent, evaluator = load_batched_agent(checkpoints[0]), load_evaluator(checkpoints[0])
    states = duplicate_deals(np.arange(600), 1)
    moves = legal(states, canonical=True)
    decisions = Decisions.of(states, moves)
    chosen = agent(decisions)
    for row in range(0, len(states), 60):
        q = evaluator.q(decisions.span(row, row + 1))
        assert q[chosen[row]] >= q.max() - 0.02 * np.ptp(q)  # batches of other sizes round otherwise


def test_search_without_a_method_plays_as_its_blueprint(checkpoints: list[str]) -> None:
    name = f"gs2-blueprint@{checkpoints[0]}"
    payoffs = play_match(Meeting("guandan", name, checkpoints[0], 4)).games.payoffs
    assert np.mean(payoffs[:, 0] == -payoffs[:, 1]) >= 0.75  # a tie may be rounded either way


@pytest.mark.long
def test_a_searching_agent_plays_a_match_of_a_few_deals_at_once(checkpoints: list[str]) -> None:
    name = f"gs2-fast@{checkpoints[0]}"
    assert not is_batched(name) and 1 < deals_at_once(name) < 50
    assert deals_at_once("gs2-deep") == 1
    result = play_match(Meeting("guandan", name, checkpoints[1], 2))
    assert result.complete and len(result.games.payoffs) == 2


def test_fields_of_a_configuration_follow_a_colon(checkpoints: list[str]) -> None:
    agent = load_batched_agent(f"gs2-fast:worlds=5,per_type=none,theirs=blueprint+bomb@{checkpoints[0]}")
    assert isinstance(agent, Gs2Agent)
    config = agent.config
    assert (config.deals.worlds, config.moves.per_type, config.subgame.theirs) == (5, None, "blueprint+bomb")
    assert agent.config.moves.gap == PRESETS["fast"].moves.gap
    for wrong, says in (
        ("wolds=5", "no field 'wolds'"),
        ("worlds=0", "worlds must be"),
        ("leaf=x", "leaf must"),
    ):
        with pytest.raises(ConfigError, match=says):
            check_agent(f"gs2:{wrong}")


def test_a_fingerprint_follows_the_weights_not_the_name(checkpoints: list[str], tmp_path: Path) -> None:
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(Path(checkpoints[0]).read_bytes())
    assert fingerprint(str(copy)) == fingerprint(checkpoints[0])
    assert (
        fingerprint(f"gs2@{copy}") == fingerprint(f"gs2-standard@{checkpoints[0]}") != fingerprint(str(copy))
    )
    assert fingerprint(f"gs2:worlds=7@{copy}") != fingerprint(f"gs2@{copy}")
    # as result files of earlier versions know it: numbers as they are written
    digest = hashlib.sha256(copy.read_bytes())
    digest.update(json.dumps(PRESETS["fast"].replace(deadline=60).to_json(), sort_keys=True).encode())
    digest.update(DEFAULT.read_bytes())
    digest.update(DEALS.read_bytes())
    assert fingerprint(f"gs2-fast:deadline=60@{copy}") == digest.hexdigest()[:16]
    copy.write_bytes(Path(checkpoints[1]).read_bytes())
    assert fingerprint(str(copy)) == fingerprint(checkpoints[1]) != fingerprint(checkpoints[0])
    assert fingerprint("strong") == "strong"
    assert fingerprint("network") == fingerprint("blueprint")
    assert fingerprint(f"network@{copy}") == fingerprint(f"blueprint@{copy}") == fingerprint(str(copy))


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.safetensors"
    path.write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="damaged"):
        load_batched_agent(str(path))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("stong", "did you mean strong"),
        ("xyz", "one of random, greedy"),
        ("gs2-slow", "the preset must be one of"),
        ("gs2-fast@none.safetensors", "does not exist"),
        ("none.safetensors", "does not exist"),
        ("", "no agent of guandan is called"),
    ],
)
def test_names_that_no_agent_has_are_refused(name: str, says: str) -> None:
    with pytest.raises(UnknownAgent, match=says):
        check_agent(name)
