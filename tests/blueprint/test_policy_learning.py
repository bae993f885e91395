"""Policies learned by regularised gradients: the steps, the returns, and what training comes to."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
import torch
from click.testing import CliRunner

from blueprint.check import check_blueprint
from blueprint.checkpoint import read_checkpoint
from blueprint.learning.returns import shared_worth
from blueprint.learning.run import RunLimits, RunPlace
from blueprint.protocol import agent_of, blueprint_of
from blueprint.research.game_network import (
    LEARNERS,
    UNREAD,
    GameNetwork,
    GameNetworkConfig,
    NetworkLayout,
    learner_config,
    load_game_network,
)
from blueprint.research.game_selfplay import Decided, Turn, play_generation
from blueprint.research.game_training import GameTrainer, train_game_network
from blueprint.research.policy_learning import (
    CLIP,
    PolicyLearner,
    TowerWeights,
    clipped_gain,
    mirror_gain,
)
from cfr.best_response import exploitability
from cfr.policies.policy import uniform_policy
from cfr.tree import grow
from games import load_game
from games.support.array_types import Array
from games.support.configuration import ConfigError
from gs2.cli import main
from gs2.play.learned_response import Lesson, learned_responder, responder_config
from gs2.policies.tabulate import policy_of
from tests.games.random_games import RandomGame
from tests.patience import amount
from tests.reference.soft_policies import action_values, mirror_descent

POLICIES = ("mmd", "ppo")


def small(learner: str, **changes: object) -> GameNetworkConfig:
    sizes = {"width": 32, "blocks": 1, "episodes": 256, "batch": 256}
    return GameNetworkConfig(**{**LEARNERS[learner], **sizes, **changes})


def draw(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("seed", "price"), [(0, 0.5), (1, 2.0)])
def test_the_twin_comes_to_rest_where_actions_are_played_by_their_values(seed: int, price: float) -> None:
    tree = grow(RandomGame(seed, public=bool(seed % 2)))
    policy = mirror_descent(tree, price, step=0.3, iterations=400)
    scores = action_values(tree, policy) / price
    for i in range(tree.n_infosets):
        slots = tree.slots(i)
        weights = np.exp(scores[slots] - scores[slots].max())
        np.testing.assert_allclose(policy[slots], weights / weights.sum(), atol=1e-6)


@pytest.mark.parametrize(
    "name",
    ["goofspiel(cards=3,returns=total_points)", "leduc_poker", "big2(players=3,ranks=3,suits=2)", "2v1"],
)
def test_where_the_critic_is_silent_a_decision_leads_to_what_its_own_seat_is_paid(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what one seat gains is no loss of another's."""
    game = RandomGame(3, teams=(0, 1, 1)) if name == "2v1" else load_game(name, general_sum=True)
    trainer = GameTrainer(game, small("mmd", trace=1.0), rng=draw(1))
    learner, columns = trainer.learner, trainer.layout.columns.count
    played = play_generation(trainer.network(), 50, draw(2), epsilon=0.0)
    monkeypatch.setattr(learner, "_asked", lambda hands: torch.zeros(len(hands), columns))
    learner.learn([played], draw(), 0, 0)
    wanted = [played.payoff[turn.games, turn.seat] for turn in played.turns]
    found = learner.replay[-1].target
    np.testing.assert_allclose(found, np.concatenate(wanted) / learner.layout.stake, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(2))
def test_a_step_of_mirror_descent_has_its_closed_form(seed: int) -> None:
    """Gradient steps on scores come to (last^(1/step) magnet^price exp Q)^(1 / (price + 1/step))."""
    rng = draw(seed)
    legal = rng.random((7, 5)) < 0.7
    legal[:, 0] = True
    q = torch.from_numpy(rng.normal(size=(7, 5)))
    allowed = torch.from_numpy(legal)
    drawn = (torch.from_numpy(rng.normal(size=(7, 5))) for _ in range(2))
    last, magnet = (torch.softmax(one.masked_fill(~allowed, -torch.inf), 1) for one in drawn)
    price, step = 0.3, 0.7
    scores = torch.zeros((7, 5), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([scores], max_iter=500, tolerance_grad=1e-10, tolerance_change=1e-14)

    def policy_log() -> torch.Tensor:
        return torch.log_softmax(scores.masked_fill(~allowed, -torch.inf), 1).masked_fill(~allowed, 0.0)

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        log = policy_log()
        away = (log.exp() * allowed * (log - magnet.clamp_min(1e-12).log())).sum(1)
        found = (price * away - mirror_gain(log, allowed, q, last, step)).sum()
        found.backward()  # type: ignore[no-untyped-call]  # of torch
        return found

    optimiser.step(loss)  # type: ignore[arg-type]  # a tensor is a number
    wanted = (last.clamp_min(1e-12).log() / step + price * magnet.clamp_min(1e-12).log() + q) / (
        price + 1 / step
    )
    wanted = torch.softmax(wanted.masked_fill(~allowed, -torch.inf), 1)
    found = policy_log().exp() * allowed
    np.testing.assert_allclose(found.detach().numpy(), wanted.numpy(), atol=1e-5)


def test_ppo_gains_nothing_beyond_its_clip() -> None:
    ratio = torch.tensor([1.5, 0.5, 1.1, 1.5, 0.5])
    edge = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0])
    wanted = [1 + CLIP, -(1 - CLIP), 1.1, -1.5, 0.5]
    np.testing.assert_allclose(clipped_gain(ratio, edge).numpy(), wanted, rtol=1e-6)


def plain_targets(
    played: Decided, q: Array, trace: float, stake: float, teams: tuple[int, ...]
) -> list[float]:
    """Return what each decision is learned from, one game and one decision at a time, from the end."""
    rows = [(turn, k) for turn in played.turns for k in range(len(turn.column))]
    found = [0.0] * len(rows)
    for game in range(len(played.payoff)):
        worth = {seat: value / stake for seat, value in enumerate(played.payoff[game])}
        for at, (turn, k) in reversed([*enumerate(rows)]):
            if turn.games[k] != game:
                continue
            taken = turn.column[k]
            found[at] = worth[turn.seat]
            kept = trace * min(1.0, turn.policy[k, taken] / turn.chance[k])
            value = float(turn.policy[k] @ q[at]) + kept * (found[at] - q[at, taken])
            if len(set(teams)) == 2:
                worth = {s: value if teams[s] == teams[turn.seat] else -value for s in worth}
            else:
                worth[turn.seat] = value
    return found


@pytest.mark.parametrize(("seed", "trace"), [(0, 0.0), (1, 0.6), (2, 1.0)])
def test_returns_are_those_of_each_game_alone(
    seed: int, trace: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = RandomGame(seed, public=bool(seed % 2))
    trainer = GameTrainer(game, small("mmd", trace=trace))
    played = play_generation(trainer.network(), 24, draw(seed), epsilon=0.3)
    learner = trainer.learner
    n = sum(len(turn.column) for turn in played.turns)
    q = draw(seed + 9).normal(size=(n, trainer.layout.columns.count)).astype(np.float32)
    monkeypatch.setattr(PolicyLearner, "_asked", lambda self, hands: torch.from_numpy(q[: len(hands)]))
    learner.learn([played], draw(), 0, 0)
    wanted = plain_targets(played, q, trace, trainer.layout.stake, game.teams)
    np.testing.assert_allclose(learner.replay[-1].target, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("teams", [(0, 1, 2), (0, 1, 0, 1)])
def test_returns_of_three_players_and_of_two_teams(
    teams: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = NetworkLayout.of(load_game("kuhn_poker"), small("mmd"))
    learner = PolicyLearner(layout, small("mmd", critic="own", trace=0.5, passes=0.01))
    monkeypatch.setattr(learner, "players", len(teams))
    monkeypatch.setattr(learner, "shared", shared_worth(SimpleNamespace(teams=teams)))
    rng, games, columns = draw(), 6, layout.columns.count
    turns = []
    for seat in [0, 1, len(teams) - 1, 0]:
        policy = rng.dirichlet(np.ones(columns), games).astype(np.float32)
        column = rng.integers(columns, size=games)
        hands = np.zeros((games, layout.features.width * len(teams)), np.uint8)
        chance = rng.uniform(0.1, 1, games).astype(np.float32)
        legal = np.ones((games, columns), bool)
        turns.append(Turn(seat, hands, legal, policy, column, chance, np.arange(games)))
    nothing = np.zeros(0, np.float32)
    payoff = rng.normal(size=(games, len(teams)))
    if len(set(teams)) == 2:
        payoff = np.where(np.array(teams) == 0, payoff[:, :1], -payoff[:, :1])
    played = Decided(nothing, np.zeros(0, np.int64), nothing, nothing, nothing, turns, payoff)
    q = rng.normal(size=(4 * games, columns)).astype(np.float32)
    monkeypatch.setattr(learner, "_asked", lambda hands: torch.from_numpy(q))
    learner.learn([played], draw(), 0, 0)
    wanted = plain_targets(played, q, 0.5, layout.stake, teams)
    np.testing.assert_allclose(learner.replay[-1].target, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("critic", ["hands", pytest.param("own", marks=pytest.mark.long)])
def test_at_a_constant_price_the_network_learns_the_policy_of_the_twin(critic: str) -> None:
    game = load_game("kuhn_poker")
    tree = grow(game)
    config = small("mmd", price=0.3, last_price=0.3, critic=critic, step=1.0, passes=4.0, learning_rate=4e-3)
    config = attrs.evolve(config, epsilon=0.1)  # few decisions, which should meet every infoset
    network = train_game_network(game, draw(), RunLimits(decisions=amount(60_000, 20_000)), config=config)
    soft = mirror_descent(tree, 0.3 * network.layout.stake, step=0.3, iterations=200)
    found = policy_of(network, game, tree)
    apart = np.abs(found - soft)
    assert np.abs(uniform_policy(tree) - soft).max() > 0.3
    assert apart.max() < 0.15 and apart.mean() < 0.08
    values = action_values(tree, found)
    answered = np.concatenate([network_values(network, game, tree, i) for i in range(tree.n_infosets)])
    assert np.abs(answered - values).mean() < 0.15


def network_values(network: object, game: object, tree: object, infoset: int) -> Array:
    """Return the network's Q of an infoset's actions."""
    node = int(np.flatnonzero(tree.infoset == infoset)[0])  # type: ignore[attr-defined]
    state = tree.states[node : node + 1]  # type: ignore[attr-defined]
    player = int(tree.infoset_player[infoset])  # type: ignore[attr-defined]
    return network.q(game, state, player, game.actions(state))  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("learner", POLICIES)
def test_a_learned_policy_is_a_blueprint_that_a_file_keeps(learner: str, tmp_path: Path) -> None:
    game = load_game("leduc_poker")
    path = tmp_path / "leduc.safetensors"
    config = small(learner)
    network = train_game_network(game, draw(), RunLimits(decisions=5_000), config=config, output=path)
    check_blueprint(network, game, draw(1), plays=30)
    tree = grow(game)
    kept = load_game_network(path, game)
    np.testing.assert_allclose(policy_of(kept, game, tree), policy_of(network, game, tree), atol=1e-6)
    assert exploitability(tree, policy_of(network, game, tree)) < exploitability(tree, uniform_policy(tree))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_resumed_learner_is_the_one_that_was_saved(learner: str, tmp_path: Path) -> None:
    game = load_game("kuhn_poker")
    more = {} if learner == "dmc" else {"critic": "hands"}
    trainer = GameTrainer(game, small(learner, replay=1, **more))
    for _ in range(3):
        trainer.run_generation()
    trainer.save(tmp_path / "a.safetensors")
    state = RunPlace.with_state(tmp_path / "a.safetensors").state
    other = GameTrainer.begun(state, game, small("dmc", seed=9))
    for one in (trainer, other):
        one.rng, one.share = draw(5), 0.5
        one.run_generation()
    mine, its = trainer.learner.tensors(), other.learner.tensors()
    assert mine.keys() == its.keys() and any(name.startswith("critic.") for name in mine) == bool(more)
    for name, value in mine.items():
        np.testing.assert_allclose(value, its[name], atol=1e-6)


@pytest.mark.parametrize("learner", LEARNERS)
def test_layers_answer_where_they_are_trained_as_their_arrays_do(learner: str) -> None:
    game = load_game("leduc_poker")
    trainer = GameTrainer(game, small(learner))
    trainer.run_generation()
    network = trainer.network(smooth=False)
    x = draw(1).integers(0, 2, (9000, trainer.layout.features.width)).astype(np.uint8)
    asked = TowerWeights(trainer.learner.network)
    for mine, its in zip(asked.answer(x), network.weights.answer(x), strict=True):
        np.testing.assert_allclose(mine, its, atol=1e-4)
    layers = GameNetwork(trainer.layout, asked, trainer.config)
    one, other = (play_generation(who, 64, draw(2), epsilon=0.1) for who in (layers, network))
    assert np.array_equal(one.column, other.column) and len(one.turns) == len(other.turns)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_gpu_learns_what_a_processor_does(learner: str, tmp_path: Path) -> None:
    game = load_game("leduc_poker")
    found = []
    for device in ("cpu", "cuda"):
        trainer = GameTrainer(game, small(learner), device=device)
        trainer.run_generation()
        trainer.save(tmp_path / f"{device}.safetensors")
        state = RunPlace.with_state(tmp_path / f"{device}.safetensors").state
        other = GameTrainer.begun(state, game, device=device)
        found.append(
            {name: value.cpu().numpy() for name, value in trainer.learner.network.state_dict().items()}
        )
        for name, value in other.learner.network.state_dict().items():
            assert np.array_equal(value.cpu().numpy(), found[-1][name])
        other.rng, other.share = draw(1), 0.5
        other.run_generation()
    for name, value in found[0].items():
        np.testing.assert_allclose(value, found[1][name], atol=1e-3)


@pytest.mark.parametrize("learner", ["dmc", "mmd"])
def test_a_responder_to_a_network_begins_with_its_values(learner: str) -> None:
    game = load_game("kuhn_poker")
    trainer = GameTrainer(game, small(learner))
    trainer.run_generation()
    model = trainer.network(smooth=False)
    config = responder_config(model)
    assert config.learner == "dmc" and config.width == model.config.width
    still = config.replace(learning_rate=0.0, episodes=64)
    responder = blueprint_of(learned_responder(game, model, Lesson(generations=1, seed=3), config=still))
    assert responder is not None
    tree = grow(game)
    states = tree.states[tree.player == 0]
    asked = [one.q(game, states, 0, game.actions(states)) for one in (responder, model)]
    np.testing.assert_allclose(*asked, atol=1e-6)


def test_a_policy_is_not_learned_against_a_rival_nor_under_another_name(tmp_path: Path) -> None:
    game = load_game("kuhn_poker")
    network = GameTrainer(game, small("dmc")).network()
    with pytest.raises(ConfigError, match="learner must be dmc against a rival; got ppo"):
        GameTrainer(game, small("ppo"), rival=agent_of(network))
    for learner, fields in UNREAD.items():
        for name in fields:
            with pytest.raises(ConfigError, match=f"drop {name}"):
                learner_config(learner, {name: getattr(GameNetworkConfig(), name)})
    path = tmp_path / "kuhn.safetensors"
    begun = ["train", "kuhn_poker", "-o", str(path)]
    for words, told in (
        (["--set", "learner=mmd"], "--learner names a learner"),
        (["--learner", "ppo", "--set", "step=0.3"], "drop step"),
    ):
        refused = CliRunner().invoke(main, [*begun, *words])
        assert refused.exit_code == 2 and told in refused.output
    made = CliRunner().invoke(main, [*begun, "--learner", "mmd", "--decisions", "1000", "--measure", "2"])
    assert made.exit_code == 0 and "exploitability" in made.output, made.output
    description = read_checkpoint(path)[1]
    assert description["config"]["learner"] == "mmd" and description["config"]["epsilon"] == 0.03
    other = CliRunner().invoke(main, [*begun, "--resume", "--learner", "ppo"])
    assert other.exit_code == 2 and "keeps its settings; got learner=ppo" in other.output
    onward = CliRunner().invoke(main, [*begun, "--resume", "--learner", "mmd", "--decisions", "2000"])
    assert onward.exit_code == 0, onward.output
    assert read_checkpoint(path)[1]["decisions"] >= 2000
