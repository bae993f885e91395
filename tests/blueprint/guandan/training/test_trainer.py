"""Training runs, resumes from its checkpoint, and refuses files that are not one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.game_lockstep import play_rounds
from blueprint.guandan.network.inference import load_inference
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.duplicate import duplicate_deals
from blueprint.guandan.play.selfplay import GUANDAN
from blueprint.guandan.training.trainer import Trainer
from blueprint.learning.learner import looking_back
from blueprint.learning.run import RunLimits, RunManner, train
from blueprint.learning.self_play import Setup
from blueprint.networks import export_checkpoint
from blueprint.protocol import Decisions
from blueprint.soft_choices import draw_soft
from tests.blueprint.guandan.positions import FAST
from tests.blueprint.guandan.positions import TINY as SMALL
from tests.patience import amount


def trained(directory: Path, *how: Any) -> Trainer:
    """Return the trainer after a moment's run. how: network, configuration and setup."""
    limits, manner = RunLimits(call_minutes=0.001), RunManner(resume=True)
    return train(directory, lambda path: Trainer.begun(path, *how), limits, manner)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("run")
    trained(directory, SMALL, FAST, Setup(rounds=amount(100, 4)))
    return directory


def drawn(trainer: Trainer) -> list[tuple[bytes, tuple[int, ...]]]:
    """Return the next generation's cards and where its pieces' seeds come from."""
    return [(piece.states().tobytes(), piece.seed.spawn_key) for piece in trainer.deal()]


def test_no_run_is_trained_on_the_cards_or_draws_of_a_match_of_its_seed() -> None:
    for seed in range(amount(100, 10)):
        own = Trainer(SMALL, FAST.replace(seed=seed)).rng.bit_generator.random_raw(2).tolist()
        matches = (seed, *([seed, block] for block in range(3)), [seed, 0, 0, 0], [seed, 0, 0, 1])
        assert all(np.random.PCG64(one).random_raw(2).tolist() != own for one in matches)
    trainer = Trainer(SMALL, FAST.replace(rounds=512, seed=0))
    dealt = np.concatenate([piece.states() for piece in trainer.deal()])
    measured = {one.tobytes() for one in duplicate_deals(np.arange(1024), 0)["hand"]}
    assert len(measured) == 1024 and not measured & {one.tobytes() for one in dealt["hand"]}


@pytest.mark.parametrize("old", [False, True], ids=["new", "begun before runs had a stream of their own"])
def test_a_run_goes_on_with_the_cards_it_would_have_had(old: bool, tmp_path: Path) -> None:
    trainer = Trainer(SMALL, FAST)
    if old:
        trainer.rng = np.random.default_rng(FAST.seed)
    trainer.run_generation()
    tensors, told = trainer.checkpoint()
    assert told["stream"] == [] if old else told["stream"]
    if old:
        del told["stream"]
    write_checkpoint(tmp_path / "a.safetensors", tensors, told)
    assert drawn(Trainer.begun(tmp_path / "a.safetensors")) == drawn(trainer)
    for wrong in (5, "x", [-1]):
        write_checkpoint(tmp_path / "b.safetensors", tensors, {**told, "stream": wrong})
        with pytest.raises(CheckpointError, match="must hold the state of a PCG64"):
            Trainer.begun(tmp_path / "b.safetensors")


def test_what_is_still_to_be_learned_is_learned_once() -> None:
    trainer = Trainer(SMALL, FAST)
    assert trainer.learn_pending() == {}
    trainer.run_generation()
    before = [value.clone() for value in trainer.learner.network.parameters()]
    assert trainer.learn_pending()["learn_seconds"] >= 0
    after = list(trainer.learner.network.parameters())
    assert any(not torch.equal(one, two) for one, two in zip(before, after, strict=True))
    assert trainer.learn_pending() == {} and len(trainer.learner.replay) == 1
    assert "learn_seconds" not in trainer.run_generation() and len(trainer.pending) == 1


def test_the_mean_of_the_weights_plays_values_and_is_what_a_checkpoint_holds(tmp_path: Path) -> None:
    trainer = Trainer(SMALL, FAST.replace(average=0.5))
    for _ in range(3):
        trainer.run_generation()
    learner = trainer.learner
    path = tmp_path / "a.safetensors"
    trainer.save(path)
    again = Trainer.begun(path).learner
    for name, now, then in (
        ("network", learner.mean_network, again.mean_network),
        ("critic", learner.mean_critic, again.mean_critic),
        ("learned.network", learner.network, again.network),
        ("learned.critic", learner.critic, again.critic),
    ):
        held = read_checkpoint(path, prefix=f"{name}.")[0]
        for key, value in now.state_dict().items():
            assert np.array_equal(value.numpy(), held[f"{name}.{key}"])
            assert np.array_equal(value.numpy(), then.state_dict()[key].numpy())
    assert any(
        not np.array_equal(slow.detach(), fast.detach())
        for slow, fast in zip(learner.mean_network.parameters(), learner.network.parameters(), strict=True)
    )
    # what plays is the mean: its scores are those of the checkpoint's network
    players = [load_inference(path, critic=False), learner.agent().inference]
    scores: list[list] = [[], []]

    def watch(decisions: Decisions) -> np.ndarray:
        d = decisions
        for player, found in zip(players, scores, strict=True):
            found.append(player.advantages(d).copy())
        return np.zeros(len(d), np.int64)

    play_rounds(deal_rounds(1, np.random.default_rng(1)), watch, GUANDAN)
    for one, other in zip(*scores, strict=True):
        np.testing.assert_allclose(one, other, atol=0.01 * np.abs(one).max())


def test_the_probability_of_an_action_is_how_often_it_is_drawn() -> None:
    values = np.array([0.0, 0.05, -0.1, 0.3, 0.3])
    offsets = np.array([0, 3, 5])
    for temperature in (0.0, 0.05):
        rng = np.random.default_rng(1)
        drawn = [draw_soft(values, offsets, temperature, 0.2, rng) for _ in range(3000)]
        choice, chance = (np.stack(found) for found in zip(*drawn, strict=True))
        for row, count in enumerate(np.diff(offsets)):
            for action in range(count):
                taken = choice[:, row] == action
                wanted = chance[taken, row]
                assert np.ptp(wanted) == 0
                assert taken.mean() == pytest.approx(wanted[0], abs=0.03)


def test_the_mean_looks_back_on_its_share_of_the_decisions() -> None:
    trainer = Trainer(SMALL, FAST.replace(average=0.1, batch=50))
    learner = trainer.learner
    with torch.no_grad():
        for slow, fast in zip(learner.mean_network.parameters(), learner.network.parameters(), strict=True):
            slow.zero_()
            fast.fill_(1.0)
    learner.follow(looking_back(0.1, 1000, 50))  # half of the hundred decisions it looks back on
    assert all(torch.allclose(slow, torch.tensor(0.5)) for slow in learner.mean_network.parameters())
    learner.follow(looking_back(0.1, 100, 50))  # more decisions than it looks back on
    assert all(torch.allclose(slow, torch.tensor(1.0)) for slow in learner.mean_network.parameters())


def test_a_run_without_means_goes_on_with_them_and_back(tmp_path: Path) -> None:
    bare, path = FAST.replace(average=0.0), tmp_path / "last.safetensors"
    trainer = Trainer(SMALL, bare)
    for config in (FAST.replace(average=0.5), bare):
        trainer.run_generation()
        trainer.learn_pending()
        trainer.save(path)
        before, trainer = trainer.learner, Trainer.begun(path, config=config)
        assert (trainer.learner.mean_network is trainer.learner.network) == (config == bare)
        for name in ("network", "critic"):
            learned = getattr(before, name).state_dict()
            for key, value in getattr(trainer.learner, name).state_dict().items():
                assert torch.equal(value, learned[key])
        assert trainer.learner.optimiser.state_dict()["state"]


def test_a_foreign_or_damaged_checkpoint_is_refused(run: Path, tmp_path: Path) -> None:
    path, whole = tmp_path / "other.safetensors", (run / "last.safetensors").read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match="damaged"):
        Trainer.begun(path)
    save_file({"x": np.zeros(3)}, path)
    with pytest.raises(CheckpointError, match="format"):
        Trainer.begun(path)
    described = {"network": SMALL.to_json(), "train": FAST.to_json(), "decisions": 0}
    for more, told in (({}, "network is missing"), (described, "features")):
        write_checkpoint(path, {}, {"features": "0000", **more})
        with pytest.raises(CheckpointError, match=told):
            Trainer.begun(path)


def test_a_checkpoint_keeps_its_evaluation_and_can_be_trained_on_once_exported(tmp_path: Path) -> None:
    trainer = Trainer(SMALL, FAST)
    trainer.run_generation()
    won = trainer.evaluate(["random", "greedy"], 4)
    assert won.keys() == {"random", "greedy"} and won == trainer.evaluate(["random", "greedy"], 4)
    trainer.save(tmp_path / "a.safetensors")
    assert Trainer.begun(tmp_path / "a.safetensors").evaluation == trainer.evaluation
    export_checkpoint(tmp_path / "a.safetensors", tmp_path / "b.safetensors")
    again = Trainer.begun(tmp_path / "b.safetensors")
    assert again.decisions == trainer.decisions
    again.run_generation()
    assert np.isfinite(again.run_generation()["advantage"])
