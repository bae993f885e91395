"""Recipes as published and as they are trained; DanZero's preset: its function and its checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.guandan.network.inputs import FEATURE_HASH
from blueprint.guandan.network.q_network import make_network
from blueprint.guandan.play.duplicate import duplicate_deals, play_duplicate
from blueprint.guandan.play.network_play import NetworkPlay, network_agent
from blueprint.guandan.play.quick_agents import load_quick_agent
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.trainer import Trainer
from blueprint.learning.self_play import Setup
from blueprint.papers.danzero import DANZERO_HASH, DanZeroNetwork
from blueprint.papers.recipes import RECIPES, named_recipe
from games.guandan.views.features import action_features, state_features
from games.support.configuration import ConfigError
from tests.blueprint.guandan.positions import FAST, TINY, some_decisions

SIZES: dict[str, dict[str, Any]] = {
    "danzero": {"state": 16, "blocks": 3},
    "danzero+": {"state": 16, "blocks": 3},
    "pdhqn": {"state": 16, "blocks": 4, "personality": 8},
    "odmc": {"state": 16, "blocks": 3, "opponent": 8},
    "sdmc": {"state": 16, "blocks": 1, "action": 16, "action_blocks": 1},
    "ours": {"state": 16, "blocks": 1, "action": 16, "action_blocks": 1, "critic": 16},
}
SHORT = {"rounds": 4, "batch": 64, "seed": 3}


def trainer_of(name: str, **changes: Any) -> Trainer:
    recipe = named_recipe(name)
    config = recipe.train_config(**SHORT, **changes)
    return Trainer(recipe.network_config(**SIZES[name]), config, threads=1)


def played(trainer: Trainer) -> bytes:
    """Return what a trainer plays next, as bytes."""
    trainer.run_generation()
    return b"".join(s.states.tobytes() + s.actions.tobytes() + s.target.tobytes() for s in trainer.pending)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.some(2)
def test_a_recipe_trains_and_goes_on_from_its_checkpoint_as_without_a_break(
    name: str, tmp_path: Path
) -> None:
    begun = {"policy_from": 800.0} if name == "danzero+" else {}
    trainer = trainer_of(name, **begun)
    rows = [trainer.run_generation() for _ in range(3)]
    if name == "danzero":  # learns the plain return
        assert set(np.unique(np.abs(trainer.learner.replay[-1].target))) <= {1, 2, 3}
    losses = [row[loss] for row in rows[1:] for loss in ("advantage", "value", "policy")]
    assert np.isfinite(losses).all() and rows[-1]["advantage"] > 0
    path = tmp_path / "last.safetensors"
    trainer.save(path)
    _, description = read_checkpoint(path, prefix="-")
    assert description["train"]["recipe"] == name
    again = Trainer.begun(path, setup=Setup(threads=1))
    assert (again.config, again.network_config) == (trainer.config, trainer.network_config)
    one, other = (t.learner.optimiser.state_dict()["state"] for t in (trainer, again))
    assert one.keys() == other.keys()
    for index, moments in one.items():
        for key, value in moments.items():
            assert np.array_equal(value.numpy(), other[index][key].numpy())
    # the same weights and the same random stream: the same games, and the same values of them
    assert played(again) == played(trainer)
    again.run_generation()
    own, greedy = load_quick_agent(str(path), np.random.default_rng(0)), load_quick_agent("greedy", again.rng)
    same = load_quick_agent(str(path), np.random.default_rng(1))
    as_published = network_agent(path, NetworkPlay(**named_recipe(name).play), np.random.default_rng(0))
    first, second, third = (
        play_duplicate(agent, greedy, duplicate_deals(np.arange(1), 5)) for agent in (own, same, as_published)
    )
    assert first.shape == third.shape == (1, 2) and np.array_equal(first, second)


def test_every_recipe_says_where_it_is_from_and_what_is_claimed_for_it() -> None:
    assert set(RECIPES) == {"danzero", "danzero+", "sdmc", "pdhqn", "odmc", "ours"}
    for name, recipe in RECIPES.items():
        assert recipe.source and recipe.claim and recipe.differs and recipe.system
        assert recipe.train_config().recipe == name and isinstance(recipe.network_config(), NetworkConfig)
        other = recipe.climbing_config(seed=5)  # other games have every recipe
        assert (other.recipe, other.seed, bool(other.personas)) == (name, 5, name == "pdhqn")
    assert RECIPES["odmc"].climbing_config().prune == 2
    assert RECIPES["ours"].network_config() == NetworkConfig()
    assert RECIPES["ours"].train_config(recipe="") == TrainConfig()


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: named_recipe("pdhq"), r"no recipe is called 'pdhq'; did you mean pdhqn"),
    (lambda: named_recipe("xxxxxxx"), r"one of danzero, danzero\+, sdmc, pdhqn, odmc, ours"),
    # parts that make a recipe
    (lambda: network_of("pdhqn", kind="ours"), r"parts stay, kind=danzero; got kind=ours"),
    (lambda: network_of("pdhqn", personality=0), r"parts stay, personality=1024; got personality=0"),
    (lambda: network_of("danzero", opponent=8), r"parts stay, opponent=0; got opponent=8"),
    (lambda: network_of("danzero+", branch=False), r"parts stay, branch=True; got branch=False"),
    (lambda: network_of("sdmc", critic=512), r"parts stay, critic=0; got critic=512"),
    # parts of networks
    (lambda: NetworkConfig(opponent=8), "parts of danzero; got the kind 'ours'"),
    (lambda: NetworkConfig(kind="danzero"), "critic"),
    (lambda: network_of("pdhqn", blocks=2), "blocks must be at least 3; got 2"),
    # what is trained
    (lambda: TrainConfig(epsilon=2), r"epsilon must be in \[0, 1\]; got 2"),
    (lambda: TrainConfig(guide_share=1.5), "guide_share"),
    (lambda: TrainConfig(prune=-2), "prune"),
    (lambda: TrainConfig(strangers_share=0.1), "needs strangers"),
    (lambda: TrainConfig(strangers="strong", strangers_share=2), "strangers_share"),
    *(
        (lambda wrong=wrong: TrainConfig(policy=2.0, **wrong), "a policy needs a critic")
        for wrong in ({"critic": False}, {"guide": 1e6}, {"prune": 2}, {"temperature": 0.0})
    ),
    *(
        (lambda more=more: TrainConfig(personas=0.5, **more), "must be 0 beside a policy or strangers")
        for more in ({"policy": 1.0}, {"strangers": "strong", "strangers_share": 0.5})
    ),
    (lambda: Trainer(TINY, TrainConfig(personas=0.5)), "personality head need each other"),
    (lambda: Trainer(network_of("pdhqn", **SIZES["pdhqn"]), TrainConfig()), "need each other"),
    (lambda: Trainer(network_of("danzero"), TrainConfig(tribute_by_value=True)), "tribute_by_value"),
    (lambda: Trainer(TINY.replace(stakes=False), TrainConfig(matches=1.0)), "see"),
    (lambda: RECIPES["pdhqn"].climbing_config(guide=5.0), "must be 0 beside a policy or a guide"),
    (lambda: RECIPES["ours"].climbing_config(personas=0.5), "need each other"),
]


def network_of(name: str, **changes: Any) -> NetworkConfig:
    return named_recipe(name).network_config(**changes)


@pytest.mark.parametrize(("made", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_settings_that_cannot_be_are_refused_with_the_rule(made: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        made()


def test_a_policy_begins_after_its_decisions_of_plain_dmc() -> None:
    trainer = trainer_of("danzero+", policy_from=800.0)
    kinds, rates = [], []
    for _ in range(5):
        trainer.run_generation()
        kinds.append({samples.choices is None for samples in trainer.pending})
        rates.append(trainer.learner.optimiser.param_groups[0]["lr"])
    turn = kinds.index({False})
    assert 0 < turn < 4 and kinds[:turn] == [{True}] * turn and kinds[turn:] == [{False}] * (5 - turn)
    # the rate of DanZero+'s second step; a generation is learned from while the next one is played
    assert rates[:turn] == pytest.approx([0.001] * turn) and rates[-1] == pytest.approx(0.0001)
    # plain returns before, returns over the network's own value after
    assert not set(np.unique(np.abs(trainer.pending[0].target))) <= {1, 2, 3}


def test_without_a_critic_moves_learn_what_the_value_did_not_know_before_the_round() -> None:
    trainer = trainer_of("sdmc")
    learner, critic_values = trainer.learner, trainer.learner.critic_values()
    trainer.run_generation()
    (samples,) = trainer.pending
    states, seats = samples.states, samples.states["player"].astype(np.int64)
    returns = samples.target + learner.snapshot().values(states, np.arange(len(seats)), seats)
    assert np.abs(returns - np.rint(returns)).max() < 0.01
    assert set(np.abs(np.rint(returns))) <= {1, 2, 3}
    before = critic_values(states, seats)
    trainer.run_generation()  # which learns how those rounds ended
    assert np.array_equal(critic_values(states, seats), before)
    assert not np.allclose(learner.critic_values()(states, seats), before, atol=1e-4)


def test_a_part_without_weight_leaves_the_network_as_it_was() -> None:
    """Answers of the models weigh nothing at first: both networks of a seed score moves alike."""
    config = NetworkConfig(**{**RECIPES["danzero"].network, **SIZES["danzero"]})
    torch.manual_seed(4)
    plain = DanZeroNetwork(config)
    torch.manual_seed(4)
    more = DanZeroNetwork(config.replace(opponent=8, branch=True))
    for name, value in plain.state_dict().items():
        assert torch.equal(value, more.state_dict()[name])
    x = torch.randint(0, 2, (3, 513 + 1920)).float()
    assert torch.equal(plain.states(x[:, :513]), more.states(x))


TOLERANCE = 1e-5
"""Rounding of single precision through five layers."""
DANZERO = NetworkConfig(kind="danzero", state=16, blocks=3, action=1, action_blocks=0, critic=0)


def test_the_preset_has_the_published_sizes() -> None:
    network = make_network(named_recipe("danzero").network_config())
    assert isinstance(network, DanZeroNetwork)
    shapes = {name: tuple(p.shape) for name, p in network.named_parameters() if name.endswith("weight")}
    assert shapes["position.weight"][1] + shapes["action.weight"][1] == 567
    assert [s[0] for name, s in shapes.items() if name not in ("action.weight", "value.weight")] == [512] * 5
    assert shapes["value.weight"] == (1, 512)


def test_the_network_is_a_tanh_perceptron_over_one_row_of_567_inputs_per_action() -> None:
    torch.manual_seed(1)
    network = DanZeroNetwork(DANZERO).eval()
    decisions = some_decisions(2)
    states = decisions.states
    x, a = network.encode(decisions)
    rows = np.repeat(np.arange(len(decisions)), np.diff(decisions.offsets))
    with torch.inference_mode():
        h = network.states(torch.from_numpy(x).float())
        fast = network.advantages(h, torch.from_numpy(a).float(), torch.from_numpy(rows)).numpy()
    seen, moves = state_features(states, decisions.seats), action_features(decisions.actions)
    inputs = np.concatenate([seen[rows], moves], 1).astype(np.float64)
    assert inputs.shape[1] == 567
    p = {name: value.double().numpy() for name, value in network.state_dict().items()}
    z = np.tanh(inputs @ np.concatenate([p["position.weight"], p["action.weight"]], 1).T + p["position.bias"])
    for k in range(DANZERO.blocks - 1):
        z = np.tanh(z @ p[f"hidden.{k}.weight"].T + p[f"hidden.{k}.bias"])
    assert np.allclose(fast, (z @ p["value.weight"].T + p["value.bias"])[:, 0], atol=TOLERANCE)


def test_the_layout_has_a_name_of_its_own_and_others_are_refused(tmp_path: Path) -> None:
    assert DANZERO_HASH != FEATURE_HASH
    trainer = Trainer(DANZERO, FAST)
    trainer.save(tmp_path / "a.safetensors")
    tensors, description = read_checkpoint(tmp_path / "a.safetensors", features=DANZERO_HASH)
    with pytest.raises(CheckpointError, match="features"):
        read_checkpoint(tmp_path / "a.safetensors", features=FEATURE_HASH)
    write_checkpoint(tmp_path / "b.safetensors", tensors, description | {"features": FEATURE_HASH})
    with pytest.raises(CheckpointError, match="features"):
        Trainer.begun(tmp_path / "b.safetensors")
