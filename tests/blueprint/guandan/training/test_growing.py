"""Growth leaves play as it is, and training goes on from there."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import attrs
import numpy as np
import pytest

from blueprint.checkpoint import read_checkpoint
from blueprint.guandan.network.inference import load_inference
from blueprint.guandan.training.growing import grow_checkpoint
from blueprint.guandan.training.trainer import Trainer
from blueprint.learning.self_play import Setup
from blueprint.protocol import Decisions
from games.support.configuration import ConfigError
from tests.blueprint.guandan.positions import FAST, random_decisions
from tests.blueprint.guandan.positions import TINY as SMALL
from tests.patience import amount


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trainer = Trainer(SMALL, FAST)
    for _ in range(2):
        trainer.run_generation()
    path = tmp_path_factory.mktemp("run") / "last.safetensors"
    trainer.save(path)
    return path


@cache
def asked() -> Decisions:
    return random_decisions(amount(40, 10), np.random.default_rng(0))


@pytest.mark.parametrize(
    "changes",
    [
        {"past": True},
        {"hands": True},
        {"stakes": True},
        {"state": 24},
        {"action": 40},
        {"critic": 33},
        {"past": True, "hands": True, "state": 48, "action": 17, "critic": 20},
    ],
)
@pytest.mark.some(2)
def test_a_grown_network_plays_and_values_as_before(changes: dict, trained: Path, tmp_path: Path) -> None:
    grown = tmp_path / "grown.safetensors"
    config = grow_checkpoint(trained, grown, changes)
    assert config == attrs.evolve(SMALL, **changes)
    decisions = asked()
    before, after = load_inference(trained, half=False), load_inference(grown, half=False)
    where = (decisions.states, decisions.rows, decisions.seats)
    assert np.allclose(before.advantages(decisions), after.advantages(decisions), atol=1e-5)
    for ask in ("values", "critic_values"):
        found = [getattr(network, ask)(*where) for network in (before, after)]
        assert np.allclose(*found, atol=1e-5)
    assert read_checkpoint(grown)[1]["decisions"] == read_checkpoint(trained)[1]["decisions"] > 0
    # and it learns: with new parts, and from where it was
    inside = FAST.replace(matches=0.5) if "stakes" in changes else FAST
    trainer = Trainer.begun(grown, config=inside, setup=Setup(threads=1))
    rows = [trainer.run_generation() for _ in range(2)]
    assert trainer.decisions > rows[0]["decisions"] > read_checkpoint(trained)[1]["decisions"]
    moved = trainer.learner.network.state_dict()
    if "past" in changes:
        assert moved["tower.past"].abs().sum() > 0
    if "hands" in changes:
        assert 0 < rows[-1]["hands"] < 1.3
    if "stakes" in changes:
        assert moved["tower.stakes"].abs().sum() > 0
    if "state" in changes:
        # nothing listened to the new units; now something does
        assert moved["context.weight"][:, 16:].abs().sum() > 0


def test_a_further_residual_layer_changes_little(trained: Path, tmp_path: Path) -> None:
    grown = tmp_path / "grown.safetensors"
    grow_checkpoint(trained, grown, {"blocks": 2, "action_blocks": 2})
    decisions = asked()
    before, after = (load_inference(path, half=False).advantages(decisions) for path in (trained, grown))
    assert 0 < np.abs(before - after).max() < 0.1 * before.std()


def test_what_cannot_grow_is_refused(trained: Path, tmp_path: Path) -> None:
    for changes, named in (
        ({"state": 8}, "state must be at least 16"),
        ({"critic": 0}, "critic"),
        ({"blocks": 0}, "blocks"),
    ):
        with pytest.raises(ConfigError, match=named):
            grow_checkpoint(trained, tmp_path / "no.safetensors", changes)
        assert not (tmp_path / "no.safetensors").exists()


def test_grown_parts_may_learn_faster_than_the_rest(trained: Path, tmp_path: Path) -> None:
    grown = tmp_path / "grown.safetensors"
    grow_checkpoint(trained, grown, {"past": True, "stakes": True})
    moved = []
    for fresh in (0.0, 1.0, 10.0):
        config = FAST.replace(matches=0.5, fresh=fresh, focus=0.0)
        trainer = Trainer.begun(grown, config=config, setup=Setup(threads=1))
        for _ in range(2):
            trainer.run_generation()
        now = trainer.learner.network.state_dict()
        moved.append([float(now[name].abs().sum()) for name in ("tower.past", "tower.stakes")])
    assert moved[0] == [0.0, 0.0]
    assert all(fast > 3 * slow > 0 for slow, fast in zip(moved[1], moved[2], strict=True))
    trainer.save(tmp_path / "again.safetensors")
    again = Trainer.begun(tmp_path / "again.safetensors", setup=Setup(threads=1))
    one, two = trainer.learner.optimiser.state_dict(), again.learner.optimiser.state_dict()
    assert len(one["state"]) == len(two["state"]) == len(again.learner.parameters)
