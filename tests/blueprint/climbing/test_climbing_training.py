"""Training on climbing games: fast and slow networks agree, runs resume to the bit, bad files are refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from blueprint import check_blueprint
from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_inputs import move_inputs
from blueprint.climbing.move_trainer import HandCritic, MoveTrainer, move_network, random_stake
from blueprint.layers.fast_moves import FastCritic, fast_moves
from blueprint.learning.learner import arrays_of
from blueprint.learning.pieces import PieceGame, pack_record, unpack_record
from blueprint.learning.run import RunLimits, RunManner, train
from blueprint.learning.self_play import Setup
from blueprint.networks import load_network
from blueprint.papers.pruning import pruner
from blueprint.protocol import Decisions, agent_name, probabilities
from blueprint.soft_choices import SoftAgent
from games import Game, load_game
from games.ragged import Ragged
from games.support.array_types import Ints
from games.support.configuration import ConfigError
from games.support.interruption import Interrupted
from gs2.play.agent_names import load_game_agent
from tests.blueprint.climbing.random_rounds import GAMES, at_random, moves_of, played, rows_of
from tests.patience import amount

SMALL = ClimbingConfig(state=32, blocks=1, action=16, critic=16, rounds=amount(24, 8), batch=128, hands=0.1)
POLICY = SMALL.replace(policy=1.0, policy_top=3, temperature=0.1)
GUIDED = SMALL.replace(guide=1e6)
GUANDAN = "guandan(moves=canonical)"


@pytest.mark.parametrize("name", (*GAMES, GUANDAN))
@pytest.mark.parametrize("config", [SMALL, SMALL.replace(hands_fed=False), SMALL.replace(hands=0.0)])
@pytest.mark.some(2)
def test_the_fast_network_says_what_the_trained_one_says(name: str, config: ClimbingConfig) -> None:
    inputs = move_inputs(load_game(name, general_sum=True))
    torch.manual_seed(1)
    network, critic = move_network(inputs, config), HandCritic(inputs, config.critic)
    for value in network.parameters():  # what begins small shall count
        value.data.add_(0.05 * torch.randn(value.shape))
    fast = fast_moves(inputs, arrays_of(network, "network."), half=False)
    seen, choose = at_random(2)
    played(inputs, inputs.deal(6, np.random.default_rng(2)), choose)
    d = max(seen, key=lambda d: len(d.actions))
    rows = np.arange(len(d))
    x, hidden = rows_of(inputs, d.states, d.seats)
    moves = moves_of(inputs, d.states, d.seats, Ragged(d.offsets, inputs.words(d.actions)))
    at = torch.from_numpy(np.repeat(rows, np.diff(d.offsets)))
    with torch.inference_mode():
        h = network.tower(torch.from_numpy(x).float())
        v, a = network.values(h), network.advantages(h[at], torch.from_numpy(moves).float())
        c = critic(torch.from_numpy(np.concatenate([x, hidden], 1)).float())
    found = fast.answer(d.states, rows, d.seats, d.offsets, inputs.words(d.actions))
    np.testing.assert_allclose(found[0], v.numpy(), atol=1e-4)
    np.testing.assert_allclose(found[1], a.numpy(), atol=1e-4)
    np.testing.assert_allclose(fast.values(d.states, rows, d.seats), v.numpy(), atol=1e-4)
    judged = FastCritic(inputs, arrays_of(critic, "critic."), half=False).values(d.states, d.seats)
    np.testing.assert_allclose(judged, c.numpy(), atol=1e-4)
    half = fast_moves(inputs, arrays_of(network, "network."), half=True)
    rough = half.answer(d.states, rows, d.seats, d.offsets, inputs.words(d.actions))
    np.testing.assert_allclose(rough[1], a.numpy(), atol=0.1)


@pytest.mark.parametrize("name", (*GAMES, GUANDAN))
def test_rounds_in_lockstep_are_those_of_the_game(name: str) -> None:
    game = load_game(name, general_sum=True)
    inputs = move_inputs(game)
    deals = inputs.deal(3, np.random.default_rng(3))
    seen, choose = at_random(3)
    record = played(inputs, deals.copy(), choose)
    assert len(record) == sum(len(d) for d in seen) and record.offered == sum(len(d.actions) for d in seen)
    assert record.steps >= len(record)
    for number in range(3):
        mine = np.flatnonzero(record.rounds == number)
        state, k = deals[number : number + 1], 0
        while game.player(state)[0] >= 0:
            legal = game.actions(state)
            action = legal.values[:1]
            if len(legal.values) > 1:
                row = mine[k]
                assert record.states[row].tobytes() == state[0].tobytes()
                assert record.seats[row] == game.player(state)[0]
                action = record.actions[row : row + 1]
                assert action[0] in legal.values
                k += 1
            state = game.step(state, np.zeros(1, np.int64), action)
        assert k == len(mine)
        assert game.returns(record.final)[number].tolist() == game.returns(state)[0].tolist()


def run(
    game: Game, folder: Path, generations: int, *, resume: bool = False, config: ClimbingConfig = SMALL
) -> MoveTrainer:
    """Return the trainer after so many generations in all."""
    teacher = load_game_agent(game, "uniform") if config.guide else None
    begin = partial(MoveTrainer.begun, game=game, config=None if resume else config, teacher=teacher)
    return train(folder, begin, RunLimits(generations=generations), RunManner(resume=resume, every=0.0))


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return the folder of a run of so many generations, each made once and only read from then on."""
    folders: dict[str, Path] = {}

    def made(name: str, generations: int, config: ClimbingConfig = SMALL) -> Path:
        key = repr((name, generations, config))
        if key not in folders:
            folders[key] = tmp_path_factory.mktemp("run")
            run(load_game(name), folders[key], generations, config=config)
        return folders[key]

    return made


@pytest.fixture(scope="module")
def trained(folder_of: Callable[..., Path]) -> Path:
    """Return the folder of a short run."""
    return folder_of("doudizhu", 1)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("doudizhu", SMALL),
        ("big2(players=3,ranks=8,suits=3)", SMALL),
        ("doudizhu", POLICY),
        ("big2", SMALL.replace(critic=0, personality=8, personas=0.5)),
    ],
)
@pytest.mark.some(1)
def test_a_resumed_run_ends_where_one_without_a_break_does(
    name: str, config: ClimbingConfig, folder_of: Callable[..., Path], tmp_path: Path
) -> None:
    """Beside a curve that went on and was cut off; a network of before recipes had names still plays."""
    game, broken = load_game(name), tmp_path / "broken"
    generations = amount(4, 2)
    shutil.copytree(folder_of(name, generations // 2, config), broken)
    path = broken / "last.safetensors"
    tensors, about = read_checkpoint(path)
    assert about["config"].pop("recipe") == ""
    write_checkpoint(tmp_path / "before.safetensors", tensors, about)
    assert load_climbing_blueprint(tmp_path / "before.safetensors", game).prune == -1
    with open(broken / "curve.jsonl", "a") as file:
        file.write('{"generation": 3}\n{"generation": 4}\n{"genera')
    assert run(game, broken, generations, resume=True).config == config
    whole, about = read_checkpoint(folder_of(name, generations, config) / "last.safetensors")
    found, told = read_checkpoint(path)
    assert whole.keys() == found.keys() and len(whole) > 40
    for key, value in whole.items():
        assert np.array_equal(value, found[key]), key
    for key in about.keys() - {"seconds", "processor_seconds"}:
        assert about[key] == told[key]
    rows = [json.loads(line) for line in (broken / "curve.jsonl").read_text().splitlines()]
    assert [row["generation"] for row in rows] == list(range(1, generations + 1)) and "seconds" in rows[-1]
    assert told["decisions"] == rows[-1]["decisions"] and told["config"] == config.to_json()


@pytest.mark.parametrize("critic", [SMALL.critic, 8, 0])
def test_a_training_starts_from_the_weights_of_another_and_its_critic_where_it_fits(
    trained: Path, critic: int
) -> None:
    tensors, _ = read_checkpoint(trained / "last.safetensors")
    start, config = trained / "last.safetensors", SMALL.replace(critic=critic, seed=5)
    begun = MoveTrainer.begun(None, load_game("doudizhu"), config, start=start).learner.tensors()
    for name, value in begun.items():
        other = tensors[name.removeprefix("learned.")]
        fits = "network." in name or critic == SMALL.critic
        assert (value.shape == other.shape and np.array_equal(value, other)) == fits, name
    with pytest.raises(CheckpointError, match="layers"):
        MoveTrainer.begun(None, load_game("doudizhu"), config.replace(state=16), start=start)


@pytest.mark.parametrize("where", ["play", "learn_pending"])
def test_a_run_that_is_interrupted_tells_what_its_checkpoint_holds(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, calls = getattr(MoveTrainer, where), list[int]()

    def cut(trainer: MoveTrainer) -> object:
        calls.append(trainer.generation)
        found = whole(trainer)
        if trainer.generation == 2 and calls.count(2) > (where == "learn_pending"):
            raise Interrupted
        return found

    monkeypatch.setattr(MoveTrainer, where, cut)
    trainer = run(load_game("doudizhu"), tmp_path, 5)
    _, about = read_checkpoint(tmp_path / "last.safetensors", prefix="-")
    assert about["generation"] == 2
    assert {name: about[name] for name in trainer.COUNTED} == trainer.counted()


def test_a_network_that_trained_with_pruning_plays_by_it(tmp_path: Path) -> None:
    game = load_game("doudizhu")
    trainer = MoveTrainer(game, SMALL.replace(prune=0, recipe="odmc", critic=0, target="win"))
    trainer.run_generation()
    path = tmp_path / "x.safetensors"
    trainer.save(path)
    _, about = read_checkpoint(path, prefix="-")
    assert about["config"]["recipe"] == "odmc"
    inputs = trainer.inputs
    deals = inputs.deal(60, np.random.default_rng(4))
    legal = game.actions(deals)
    kept = pruner(game, 0)(Decisions.of(deals, legal, 0, game=game))
    soft = load_climbing_blueprint(path, game, temperature=5.0)
    assert np.array_equal(soft.policy(game, deals, 0, legal) > 0, kept) and not kept.all()
    assert load_climbing_blueprint(path, game, temperature=5.0, prune=-1).policy(game, deals, 0, legal).all()
    check_blueprint(soft, game, np.random.default_rng(2), plays=4, states=deals[:4])
    best = load_climbing_blueprint(path, game).policy(game, deals, 0, legal)  # as its run is evaluated
    chosen = trainer.learner.agent()(Decisions.of(deals, legal, 0, game=game)) + legal.offsets[:-1]
    assert kept[chosen].all() and (best[chosen] == 1).mean() > 0.9


def test_players_in_threads_play_the_same_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blueprint.climbing.move_trainer.TOGETHER", 3)
    game = load_game("doudizhu")
    one, two = MoveTrainer(game, SMALL), MoveTrainer(game, SMALL, threads=2)
    first, second = one.run_generation(), two.run_generation()
    for key in ("decisions", "choices", "offered", "spread"):
        assert first[key] == second[key]


@pytest.mark.parametrize("change", [{}, {"critic": 0}, {"policy": 1.0, "temperature": 0.1}])
@pytest.mark.long
def test_what_was_learned_beats_play_at_random(change: dict[str, float]) -> None:
    game = load_game("doudizhu(ranks=4)")
    config = SMALL.replace(rounds=256, target="win", learning_rate=5e-3, average=0.0, **change)
    trainer = MoveTrainer(game, config)
    rows = [trainer.run_generation() for _ in range(8)]
    assert rows[-1]["hands"] < 0.9 * rows[0]["hands"]
    network = SoftAgent(trainer.learner.snapshot())
    other = at_random(5)[1]
    for landlord in (True, False):

        def choose(d: Decisions, landlord: bool = landlord) -> Ints:
            ours = (d.seats == 0) == landlord
            return np.where(ours, network(d), other(d))

        ends = played(trainer.inputs, trainer.inputs.deal(400, np.random.default_rng(6)), choose).final
        assert ((game.returns(ends)[:, 0] > 0) == landlord).mean() > 0.6


@pytest.mark.parametrize(
    ("name", "config"),
    [("doudizhu", SMALL), *(pytest.param("big2", c, marks=pytest.mark.long) for c in (SMALL, GUIDED))],
)
def test_a_checkpoint_is_a_blueprint_by_its_path(
    name: str, config: ClimbingConfig, folder_of: Callable[..., Path]
) -> None:
    game = load_game(name)
    path = folder_of(name, 1, config) / "last.safetensors"
    found = load_network(path, game)
    deals = move_inputs(game).deal(4, np.random.default_rng(1))
    for one in (found, load_climbing_blueprint(path, game, temperature=0.1)):
        check_blueprint(one, game, np.random.default_rng(2), plays=4, states=deals)
    decisions = read_checkpoint(path, prefix="-")[1]["decisions"]
    assert agent_name(load_game_agent(game, str(path))) == found.name == f"last@{decisions}"
    with pytest.raises(ConfigError, match="it is a network for"):
        found.value(load_game("kuhn_poker"), deals, 0)


def test_a_foreign_checkpoint_is_refused(trained: Path, tmp_path: Path) -> None:
    game, path = load_game("doudizhu"), tmp_path / "last.safetensors"
    tensors, description = read_checkpoint(trained / "last.safetensors")
    for change, words in (
        ({"game": "big2"}, "was trained on 'big2'"),
        ({"kind": "game"}, "of kind 'game'"),
        ({"features": "0" * 16}, "was trained on features"),
        ({"rng": {}}, "PCG64"),
        ({"decisions": -1}, "at least 0"),
        ({"stake": "much"}, "stake must be"),
        ({"config": {"state": 0}}, "state must be"),
        ({"config": {k: v for k, v in description["config"].items() if k != "prune"}}, "prune is missing"),
        ({"config": SMALL.replace(state=48).to_json()}, "must have shape"),
        ({"config": 3}, "config must be"),
    ):
        write_checkpoint(path, tensors, description | change)
        with pytest.raises((CheckpointError, ConfigError), match=words):
            MoveTrainer.begun(path, game)
    for missing in ("network.value.weight", "learned.critic.value.bias", "optimiser.3.exp_avg"):
        write_checkpoint(path, {k: v for k, v in tensors.items() if k != missing}, description)
        with pytest.raises(CheckpointError):
            MoveTrainer.begun(path, game)


@pytest.mark.parametrize(
    ("name", "config"),
    [("doudizhu", POLICY), ("big2", SMALL.replace(critic=0, personality=8, personas=0.5))],
)
def test_a_record_holds_all_that_is_learned_from_a_piece(name: str, config: ClimbingConfig) -> None:
    trainer = MoveTrainer(load_game(name), config)
    learner, (piece,) = trainer.learner, trainer.deal()
    one = PieceGame(piece, learner, None).play(lambda: False)
    other = unpack_record(pack_record(one, learner.SENT), piece, learner)
    assert (one.steps, one.offered, one.rounds) == (other.steps, other.offered, other.rounds)
    assert one.final.tobytes() == other.final.tobytes() and len(one.samples) == len(other.samples) > 20
    for column in ("states", "actions", "seats", "worth", "types"):
        assert np.array_equal(getattr(one.samples, column), getattr(other.samples, column)), column
    assert (one.samples.choices is None) == (other.samples.choices is None) == (config is not POLICY)


def test_a_run_says_what_it_wins_and_keeps_it(tmp_path: Path) -> None:
    game, path = load_game("doudizhu(ranks=4)"), tmp_path / "x.safetensors"
    setup = Setup(threads=1, evaluate_minutes=60.0, opponents=("uniform",), rounds=4)
    how = {"setup": setup, "opponent": lambda name, rng: load_game_agent(game, name)}
    trainer = MoveTrainer.begun(None, game, SMALL, **how)
    trainer.run_generation()
    won = trainer.evaluation_due()["won"]
    assert 0 <= won["uniform"] <= 1 and trainer.evaluation["rounds"] == 8
    trainer.save(path)
    again = MoveTrainer.begun(path, game, **how)
    assert again.evaluation == trainer.evaluation and again.evaluation_due() == {}


def test_what_is_at_stake_is_the_spread_of_random_payoffs() -> None:
    inputs = move_inputs(load_game("doudizhu"))
    assert random_stake(inputs, "win") == 1.0
    stake = random_stake(inputs, "payoff")
    assert stake == random_stake(inputs, "payoff")
    _, choose = at_random(0)
    ends = played(inputs, inputs.deal(1000, np.random.default_rng(0)), choose).final
    assert stake == pytest.approx(inputs.game.returns(ends).std(), rel=0.1)


def test_a_policy_learns_from_the_moves_it_chose_among() -> None:
    trainer = MoveTrainer(load_game("big2"), POLICY)
    trainer.hand_out()
    (samples,), steps, _ = trainer.play()
    choices, rows = samples.choices, np.arange(len(samples))
    assert choices is not None and len(choices) == len(samples)
    assert np.array_equal(choices.actions[rows, choices.picked], samples.actions)
    assert np.all((choices.count >= 2) & (choices.count <= 3)) and np.all(choices.log_chance <= 0)
    # what was played has the probability that the weights give it, so that the first step's ratio is 1
    losses = trainer.learner.learn([samples], np.random.default_rng(0), steps, steps)
    assert set(losses) == {"advantage", "value", "critic", "hands", "policy"} and losses["policy"] != 0


def test_a_configuration_that_cannot_be_is_refused() -> None:
    for change in (
        {"target": "glory"},
        {"epsilon": 2.0},
        {"state": 0},
        {"guide": 5.0, "guide_share": 0.0},
        {"policy": 1.0, "prune": 1},
        {"policy": 1.0, "critic": 0},
    ):
        with pytest.raises(ConfigError):
            SMALL.replace(**change)


def test_a_network_of_so_many_decisions_is_an_agent_by_its_name() -> None:
    game = load_game("doudizhu(ranks=4)")
    found = load_game_agent(game, "network:300", seed=1)
    again = load_game_agent(game, "network:300", seed=1)
    deals = move_inputs(game).deal(8, np.random.default_rng(9))
    actions = game.actions(deals)
    asked = Decisions.of(deals, actions, 0, game=game)
    policy = probabilities(found, asked)
    assert agent_name(found) == "network:300" and np.array_equal(policy, probabilities(again, asked))
    assert policy.sum() == len(deals)
