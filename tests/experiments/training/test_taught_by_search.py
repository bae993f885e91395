"""What a network learned from search, held against the targets of other positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from blueprint.checkpoint import SHIPPED
from blueprint.guandan.chooser import Decisions
from blueprint.guandan.network.inference import load_inference
from experiments.training.taught_by_search import compare_taught, taught_by_search
from gs2.guandan.agent.agent import make_agent
from gs2.guandan.learning.expert_iteration import save_network, trainable_network
from gs2.guandan.learning.searched_positions import (
    APART,
    SEARCH,
    SearchedPositions,
    SeekConfig,
    seek_positions,
)


@pytest.fixture(scope="module")
def positions() -> SearchedPositions:
    rng = np.random.default_rng(7)
    agent = make_agent(None, SEARCH.replace(worlds=8, wave=8, pool=16, depth=4), rng)
    return seek_positions(agent, 8, rng, SeekConfig(rounds=8, share=0.6, kept=0.3))


@pytest.mark.parametrize("truth", [0.0, 0.5, 1.0])
def test_the_slope_is_the_share_of_a_change_that_search_finds(
    positions: SearchedPositions, truth: float
) -> None:
    rng = np.random.default_rng(1)
    m = len(positions.target)
    before = rng.normal(0, 0.1, m).astype(np.float32)
    change = rng.normal(0, 0.1, m).astype(np.float32)
    noise = rng.normal(0, 0.02, m).astype(np.float32)
    told = compare_taught(replace(positions, target=before + truth * change + noise), before, before + change)
    assert told.slope[1] < 0.1 and abs(told.slope[0] - truth) < 2 * told.slope[1]
    assert told.decisions == positions.searched.sum() and told.pairs >= told.decisions
    assert 0.2 < told.changed < 0.9 and told.expected > 0
    if truth == 1.0:
        assert abs(told.gain[0] - told.expected) < 0.02
    # what is common to a decision's moves is no change, and moves that nobody searched do not count
    shift = np.repeat(rng.normal(0, 5, len(positions)), positions.actions.counts).astype(np.float32)
    aside = np.isclose(positions.weight, APART**-2)
    again = compare_taught(
        replace(positions, target=before + truth * change + noise + shift + 3 * aside),
        before,
        before + change + 2 * shift,
    )
    assert again.slope == pytest.approx(told.slope, rel=1e-3) and again.changed == told.changed


def test_without_a_searched_position_there_is_nothing_to_say(positions: SearchedPositions) -> None:
    rows = np.flatnonzero(~positions.searched)
    some = positions.take(rows)
    with pytest.raises(ValueError, match="no position was searched"):
        compare_taught(some, some.target, some.target)


def test_the_program_compares_two_networks(positions: SearchedPositions, tmp_path) -> None:
    path, taught = tmp_path / "searched.npz", tmp_path / "taught.safetensors"
    positions.save(path)
    network = trainable_network()
    network.advantage.weight.data *= 1.5
    save_network(taught, network, None, {})
    told = CliRunner().invoke(taught_by_search, [str(taught), str(path), str(path)])
    assert told.exit_code == 0, told.output
    asked = Decisions.of(positions.states, positions.actions)
    said = [load_inference(at, critic=False).advantages(asked) for at in (SHIPPED, taught)]
    found = compare_taught(positions, *said)
    assert told.output.count(f"{found.decisions:,} decisions, {found.pairs:,} pairs") == 2
