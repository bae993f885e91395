"""Who else plays in training: strangers, whose moves are neither learned nor counted."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.game_lockstep import PlayRecord, play_rounds
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.selfplay import GUANDAN
from blueprint.guandan.rules.split_agents import StrongAgent
from blueprint.guandan.train_config import TrainConfig
from blueprint.guandan.training.opponents import LEAST, NOBODY, YARDSTICKS, League, SparringAgent
from blueprint.guandan.training.trainer import Trainer
from blueprint.protocol import Decisions, UnknownAgent
from games.support.configuration import ConfigError
from tests.blueprint.guandan.positions import SMALL


class Watched:
    """Plays the first or the last move and keeps what it was asked."""

    def __init__(self, last: bool) -> None:
        self.last = last
        self.asked: list[np.ndarray] = []

    def __call__(self, decisions: Decisions) -> np.ndarray:
        self.asked.append(np.stack([decisions.rows, decisions.seats % 2], 1))
        return (np.diff(decisions.offsets) - 1) * self.last


def play(share: float, strangers: int = 1) -> tuple[SparringAgent, PlayRecord]:
    others = [Watched(True) for _ in range(strangers)]
    sparring = SparringAgent(Watched(False), others, share, 40, np.random.default_rng(0))
    return sparring, play_rounds(deal_rounds(40, np.random.default_rng(1)), sparring, GUANDAN)


def asked(agent: object) -> set[tuple[int, int]]:
    assert isinstance(agent, Watched)
    return {(int(row), int(side)) for row, side in np.concatenate(agent.asked)}


def test_a_stranger_plays_one_side_of_its_rounds_and_the_network_the_rest() -> None:
    sparring, _ = play(0.5, strangers=2)
    met = {(i, int(sparring.side[i])): int(who) for i, who in enumerate(sparring.met) if who != NOBODY}
    assert 0 < len(met) < 40
    for k, stranger in enumerate(sparring.agents[1:]):
        assert asked(stranger) == {seat for seat, who in met.items() if who == k} != set()
    assert asked(sparring.agents[0]) == {(i, side) for i in range(40) for side in (0, 1)} - met.keys()
    sides = [side for _, side in met]
    assert 0 < sum(sides) < len(sides)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_only_the_networks_decisions_stay_in_the_record(share: float) -> None:
    sparring, record = play(share)
    own = sparring.own(record)
    sides = own.states["player"] % 2
    assert np.all((sparring.met[own.rounds] == NOBODY) | (sides != sparring.side[own.rounds]))
    assert isinstance(sparring.agents[0], Watched)
    assert len(own.states) == len(own.actions) == len(own.chance) == sum(map(len, sparring.agents[0].asked))
    assert record.steps - own.steps == len(record.states) - len(own.states) and own.final is record.final
    assert (record.steps == own.steps) == (share == 0)
    if share != 0.5:
        assert len({*zip(own.rounds.tolist(), sides.tolist(), strict=True)}) == (40 if share else 80)


def test_a_run_learns_from_rounds_against_strangers_and_counts_its_own_decisions() -> None:
    config = TrainConfig(rounds=6, batch=64, seed=3, strangers="strong,greedy", strangers_share=1.0)
    trainer = Trainer(SMALL, config, threads=1)
    trainer.run_generation()
    (samples,) = trainer.pending
    alone = Trainer(SMALL, TrainConfig(rounds=6, batch=64, seed=3), threads=1)
    alone.run_generation()
    assert len(samples) < trainer.decisions < alone.decisions
    assert 0 < len(samples) < len(alone.pending[0])
    assert {"value", "critic", "advantage"} <= trainer.run_generation().keys()
    (met,) = (s for s in trainer.league.load(trainer.rng) if isinstance(s, StrongAgent))
    assert met.name == "strong"


def test_strangers_that_cannot_be_met_are_refused() -> None:
    with pytest.raises(UnknownAgent, match="strogn"):
        Trainer(SMALL, TrainConfig(strangers="strogn", strangers_share=0.1), threads=1)
    with pytest.raises(ConfigError, match="must be named once"):
        Trainer(SMALL, TrainConfig(strangers="strong,strong", strangers_share=0.5), threads=1)


def test_more_is_met_of_whom_more_is_lost_to() -> None:
    league = League(["strong", "greedy", "random"], by_loss=True)
    assert np.allclose(league.weights(), 1 / 3)
    who = np.array([0, 1, 2] * 200 + [NOBODY] * 50)
    league.note(who, np.where(who == 0, -0.5, np.where(who == 1, 1.0, 3.0)))
    weights = league.weights()
    assert weights.sum() == pytest.approx(1)
    assert weights[0] > 2 * weights[1] > 4 * weights[2] and weights[2] == pytest.approx(LEAST)
    assert np.allclose(League(["strong", "greedy"], by_loss=False).weights(), 0.5)
    # what was long ago fades
    for _ in range(30):
        league.note(np.zeros(500, np.int64), np.full(500, 2.0))
    assert league.won[0] == pytest.approx(2.0, abs=0.01)


def test_rounds_are_drawn_by_the_weights() -> None:
    rng = np.random.default_rng(5)
    drawn = SparringAgent(Watched(False), [Watched(True)] * 2, 0.5, 8000, rng, np.array([0.9, 0.1]))
    met = drawn.met[drawn.met != NOBODY]
    assert abs(len(met) / 8000 - 0.5) < 0.03 and abs((met == 0).mean() - 0.9) < 0.03
    who, payoff = drawn.met_by(np.arange(8000)[:, None])
    assert who is drawn.met
    assert np.array_equal(np.sign(payoff[1:]), np.where(drawn.side == 0, -1, 1)[1:])


def test_a_league_is_kept_with_the_checkpoint(tmp_path) -> None:
    config = TrainConfig(
        rounds=12, batch=64, strangers="strong, greedy,varied", strangers_share=0.8, strangers_by="loss"
    )
    trainer = Trainer(SMALL, config, threads=2)
    trainer.run_generation()
    assert trainer.league.names == ("strong", "greedy", "varied")
    assert 0 < trainer.league.met.sum() <= 12 and np.any(trainer.league.won < 0)
    trainer.save(tmp_path / "a.safetensors")
    again = Trainer.begun(tmp_path / "a.safetensors")
    assert again.league.to_json() == trainer.league.to_json()
    fewer = Trainer.begun(tmp_path / "a.safetensors", config=config.replace(strangers="greedy,strong"))
    assert fewer.league.met.tolist() == [trainer.league.met[1], trainer.league.met[0]]


def test_varied_weights_differ_from_one_generation_to_the_next() -> None:
    league, rng = League(["varied"], by_loss=False), np.random.default_rng(0)
    first, second = (league.load(rng)[0] for _ in range(2))
    assert not np.array_equal(first._parameters, second._parameters)


def test_yardsticks_are_not_met_in_training_unless_a_responder_to_them_learns() -> None:
    for name in YARDSTICKS:
        for strangers, share in ((f"strong,{name}", 1.0), (name, 0.5)):
            with pytest.raises(ConfigError, match="yardstick"):
                Trainer(SMALL, TrainConfig(strangers=strangers, strangers_share=share), threads=1)
        alone = Trainer(SMALL, TrainConfig(strangers=name, strangers_share=1.0), threads=1)
        assert alone.league.names == (name,)
