"""A network learns from positions that search has looked at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from blueprint.checkpoint import read_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.network.inference import load_inference
from blueprint.protocol import Decisions
from games.guandan.cards import PASS
from games.guandan.rounds.playout import legal
from games.support.files import FileProblem
from gs2.commands.guandan.learning import search_positions as seek
from gs2.guandan.agent.agent import make_agent
from gs2.guandan.learning.expert_iteration import (
    ExpertConfig,
    expert_loss,
    learn_from_search,
    save_taught,
    trainable_network,
)
from gs2.guandan.learning.searched_positions import (
    APART,
    SEARCH,
    PositionsError,
    SearchedPositions,
    SeekConfig,
    seek_positions,
)
from tests.forked import run_module
from tests.patience import amount

LITTLE = {"worlds": 8, "wave": 8, "pool": 16, "depth": 4}


@pytest.fixture(scope="module")
def positions() -> SearchedPositions:
    rng = np.random.default_rng(1)
    agent = make_agent(None, SEARCH.replace(**LITTLE), rng)
    rounds = amount(6, 1)
    return seek_positions(agent, rng, SeekConfig(rounds=rounds, share=0.5, kept=0.5))


@pytest.mark.long
def test_every_move_has_a_target_and_what_nobody_searched_keeps_the_networks_value(positions) -> None:
    table = legal(positions.states, canonical=True)
    assert np.array_equal(table.offsets, positions.actions.offsets)
    assert np.array_equal(table.values, positions.actions.values)
    assert (positions.weight > 0).all() and np.isfinite(positions.target).all()
    own = load_inference(critic=False).advantages(Decisions.of(positions.states, positions.actions))
    moved = 0
    for j in range(len(positions)):
        row = slice(*positions.actions.offsets[j : j + 2])
        same = np.abs(positions.target[row] - own[row]) < 0.02
        if not positions.searched[j]:
            # rounding depends on what is asked together
            assert same.all() and len({*positions.weight[row].tolist()}) == 1
            continue
        compared = ~np.isclose(positions.weight[row], APART**-2)
        assert 2 <= compared.sum() <= 3 and compared[own[row].argmax()]
        assert same[~compared].all()
        moved += int(not same.all())
    assert positions.searched.sum() > 100 and (~positions.searched).sum() > 20
    assert moved > 0.4 * positions.searched.sum()


def test_positions_come_back_from_their_file(positions, tmp_path) -> None:
    path = tmp_path / "searched.npz"
    positions.save(path)
    again = SearchedPositions.load(path)
    assert np.array_equal(again.states, positions.states) and len(again) == len(positions)
    assert np.array_equal(again.actions.values, positions.actions.values)
    for name in ("target", "weight", "searched"):
        assert np.array_equal(getattr(again, name), getattr(positions, name))


def test_files_that_hold_no_positions_are_refused(positions, tmp_path) -> None:
    path = tmp_path / "searched.npz"
    positions.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(2)
    for _ in range(amount(12, 6)):
        path.write_bytes(whole[: rng.integers(len(whole))])
        with pytest.raises(PositionsError, match="must hold searched positions"):
            SearchedPositions.load(path)
    np.savez(path, format=np.frombuffer(b"another", np.uint8))
    with pytest.raises(PositionsError, match="another format"):
        SearchedPositions.load(path)
    with pytest.raises((PositionsError, FileProblem)):
        SearchedPositions.load(tmp_path / "none.npz")
    with pytest.raises(PositionsError, match="play more rounds"):
        seek_positions(make_agent(None, SEARCH, rng), rng, SeekConfig(rounds=1, share=1e-12, kept=0.0))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.some(2)
def test_the_loss_is_that_of_a_plain_walk(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 6, 9)
    rows = np.repeat(np.arange(9), counts)
    found, target = (rng.normal(size=len(rows)) for _ in range(2))
    weight = rng.uniform(0.1, 3, len(rows))
    got = expert_loss(
        *(torch.tensor(x, dtype=torch.float32) for x in (found, target, weight)), torch.tensor(rows), 9
    )
    for j in range(9):
        at = rows == j
        shifts = np.linspace(-4, 4, 4001)
        apart = (found - target)[at]
        least = min((weight[at] * (apart - shift) ** 2).sum() for shift in shifts)
        assert got[j] == pytest.approx(least, abs=1e-3)


def test_one_searched_position_is_held_out_of_however_many_and_without_one_nothing_is_learned(
    positions,
) -> None:
    few = positions.take(np.arange(12))
    rng, config = np.random.default_rng(4), ExpertConfig(passes=0.5, held_out=0.0)
    one = replace(few, searched=np.arange(12) == 7)
    score = learn_from_search(trainable_network(), one, rng, config)[1]
    assert np.isfinite(list(score.values())).all()
    for some in (replace(few, searched=np.zeros(12, bool)), one.take(np.array([7]))):
        with pytest.raises(PositionsError, match="one of them searched"):
            learn_from_search(trainable_network(), some, rng, config)


@pytest.mark.long
def test_a_network_moves_towards_the_targets_and_keeps_its_values(positions, tmp_path) -> None:
    network = trainable_network()
    kept = {name: value.clone() for name, value in network.state_dict().items()}
    # something to be learned that held-out positions share: passing is better than it thinks
    passes = positions.actions.values["type"] == PASS
    own = load_inference(critic=False).advantages(Decisions.of(positions.states, positions.actions))
    target = (own + 0.4 * passes).astype(np.float32)
    weight, searched = np.full(len(own), 100, np.float32), np.ones(len(positions), bool)
    positions = replace(positions, target=target, weight=weight, searched=searched)
    config = ExpertConfig(passes=16, batch=64, learning_rate=5e-4, held_out=0.2)
    rows: list[dict[str, float]] = []
    student, score = learn_from_search(
        network, positions, np.random.default_rng(3), config, progress=rows.append
    )
    assert all(torch.equal(value, kept[name]) for name, value in network.state_dict().items())
    assert score == rows[-1] and score["after"] < 0.6 * score["before"]
    path = tmp_path / "learned.safetensors"
    save_taught(path, student, None, {"searched": 1})
    before, after = load_inference(), load_inference(path)
    at = np.arange(len(positions))
    seats = positions.states["player"].astype(np.int64)
    apart = before.values(positions.states, at, seats) - after.values(positions.states, at, seats)
    assert np.abs(apart).mean() < 0.1
    same = before.critic_values(positions.states, at, seats) - after.critic_values(
        positions.states, at, seats
    )
    assert np.abs(same).max() < 1e-6
    assert read_checkpoint(path)[1]["searched"] == 1


def test_the_commands_search_by_the_fields_that_are_set_and_learn(tmp_path) -> None:
    searched, learned = tmp_path / "searched.npz", tmp_path / "learned.safetensors"
    asked = ["-o", str(searched), "--minutes", "1e-12", "--rounds", "2"]
    for setting, words in (("wrlds=8", "worlds"), ("worlds=0", "at least 1")):
        told = run_module("gs2", "guandan", "search-positions", *asked, "--set", setting)
        assert told.returncode == 2 and words in told.stderr and not searched.exists()
    done = CliRunner().invoke(seek, [*asked, *(w for s in LITTLE for w in ("--set", f"{s}={LITTLE[s]}"))])
    assert done.exit_code == 0, done.output
    assert len(SearchedPositions.load(searched)) > 10
    learn = ["guandan", "learn", str(SHIPPED), str(searched), "-o", str(learned), "--passes", "0.5"]
    told = run_module("gs2", *learn)
    assert told.returncode == 0 and "after=" in told.stdout, told.stderr
    assert read_checkpoint(learned)[1]["searched"] > 5
