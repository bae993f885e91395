"""Every agent by name: legal, repeatable, and ranked as it should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.checkpoint import write_checkpoint
from blueprint.game_lockstep import play_rounds
from blueprint.guandan.network.inference import Inference
from blueprint.guandan.network.inputs import FEATURE_HASH
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.duplicate import duplicate_deals, play_duplicate
from blueprint.guandan.play.network_play import InferenceAgent
from blueprint.guandan.play.quick_agents import RULE_AGENTS, load_quick_agent
from blueprint.guandan.play.selfplay import GUANDAN
from blueprint.networks import load_network
from blueprint.protocol import Decisions, UnknownAgent
from games.guandan.rounds.round import GuanDan
from tests.blueprint.guandan.positions import SMALL, random_tensors


@pytest.mark.parametrize("name", [*RULE_AGENTS, "blueprint"])
def test_an_agent_plays_rounds_to_the_end_with_legal_moves_and_repeats_itself(name: str) -> None:
    finals = []
    for _ in range(2):
        rng = np.random.default_rng(4)
        agent = load_quick_agent(name, rng)

        def watched(decisions: Decisions, agent=agent) -> NDArray[np.int64]:
            choice = agent(decisions)
            assert choice.shape == (len(decisions),)
            assert np.all((choice >= 0) & (choice < np.diff(decisions.offsets)))
            return choice

        record = play_rounds(deal_rounds(3, np.random.default_rng(7), tribute=0.5), watched, GUANDAN)
        finals.append(record.final)
        assert np.all(np.isin(GuanDan().returns(record.final)[:, 0], [-3, -2, -1, 1, 2, 3]))
    assert finals[0].tobytes() == finals[1].tobytes()


def test_the_shipped_network_beats_the_strongest_rule() -> None:
    deals = duplicate_deals(np.arange(30), seed=2)
    rng = np.random.default_rng(0)
    payoff = play_duplicate(load_quick_agent("blueprint", rng), load_quick_agent("strong", rng), deals)
    assert payoff.mean() > 0.3


def test_a_checkpoint_is_an_agent_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.safetensors"
    described = {"features": FEATURE_HASH, "network": SMALL.to_json(), "decisions": 5}
    write_checkpoint(path, random_tensors(), described)
    agent = load_quick_agent(str(path), np.random.default_rng(0))
    assert agent.name == "mine@5"  # type: ignore[attr-defined]
    assert load_network(path, GuanDan()).name == "mine@5"  # one so old that it names no game
    with pytest.raises(UnknownAgent, match="does not exist; give a checkpoint that exists"):
        load_quick_agent(str(tmp_path / "other.safetensors"), np.random.default_rng(0))


@pytest.mark.parametrize("more", ["", ",prune=2", ",tribute=value", ",prune=2,tribute=value"])
def test_a_soft_agent_draws_from_the_generator_that_it_is_given(more: str) -> None:
    agent: Any = load_quick_agent(f"network:temperature=0.5{more}", np.random.default_rng(0))
    finals = []
    for _ in range(2):
        agent.rng = np.random.default_rng(1)
        finals.append(play_rounds(deal_rounds(3, np.random.default_rng(7)), agent, GUANDAN).final)
    assert finals[0].tobytes() == finals[1].tobytes()
    assert agent.name.startswith("guandan@") and agent.name.endswith("+tribute") == ("tribute" in more)


def test_a_soft_agent_needs_a_generator_and_then_varies() -> None:
    inference = Inference(random_tensors())
    with pytest.raises(ValueError, match="need an rng"):
        InferenceAgent(inference, temperature=0.1)
    finals = []
    for seed in (1, 2):
        agent = InferenceAgent(inference, temperature=1.0, rng=np.random.default_rng(seed))
        finals.append(play_rounds(deal_rounds(3, np.random.default_rng(7)), agent, GUANDAN).final)
    assert finals[0].tobytes() != finals[1].tobytes()
