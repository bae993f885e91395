"""A piece comes out the same wherever it is played, and its record holds all that is learned from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.dmc import Learner
from blueprint.guandan.training.trainer import Trainer
from blueprint.learning.pieces import (
    BadRecord,
    Piece,
    PieceGame,
    PlayedPiece,
    pack_record,
    unpack_record,
)
from tests.blueprint.guandan.positions import FAST
from tests.blueprint.guandan.positions import TINY as SMALL

TAUGHT = NetworkConfig(
    kind="danzero", state=16, blocks=3, action=1, action_blocks=0, critic=0, personality=16
)
SENT = Learner.SENT
LEAGUE: dict[str, Any] = {
    "strangers": "varied,greedy,random",
    "strangers_share": 0.5,
    "strangers_by": "loss",
    "focus": 2.0,
}
WAYS = {
    "league": (SMALL, LEAGUE),
    "policy": (SMALL, {"policy": 1.0, "strangers": "greedy", "strangers_share": 0.5}),
    "guidance": (SMALL, {"guide": 1e4, "prune": 1}),
    "personas": (TAUGHT, {"critic": False, "personas": 0.5, "focus": 1.0}),
    "matches": (SMALL.replace(stakes=True), {"matches": 0.5}),
}


def piece_of(config: TrainConfig, rounds: int = 6) -> Piece:
    rng = np.random.default_rng(5)
    states = deal_rounds(rounds, rng, tribute=0.5, matches=config.matches)
    weights = np.array([0.5, 0.3, 0.2])[: len(config.strangers.split(","))]
    return Piece.of((2, 1), states, rng.spawn(1)[0], 1000, weights / weights.sum())


def play(learner: Learner, piece: Piece) -> PlayedPiece:
    return PieceGame(piece, learner, learner.critic_values()).play(lambda: False)


def assert_same(one: PlayedPiece, other: PlayedPiece) -> None:
    assert (one.steps, one.rounds) == (other.steps, other.rounds)
    assert one.final.tobytes() == other.final.tobytes()
    assert np.array_equal(one.of, other.of)
    for name in ("states", "actions", "outcome", "target", "share"):
        mine, theirs = getattr(one.samples, name), getattr(other.samples, name)
        assert mine.dtype == theirs.dtype and mine.tobytes() == theirs.tobytes(), name
    assert np.array_equal(one.samples.types, other.samples.types)
    assert (one.samples.choices is None) == (other.samples.choices is None)
    if one.samples.choices is not None:
        for name in ("actions", "count", "picked", "log_chance"):
            mine, theirs = getattr(one.samples.choices, name), getattr(other.samples.choices, name)
            assert mine.dtype == theirs.dtype and mine.tobytes() == theirs.tobytes(), name
    assert (one.met is None) == (other.met is None)
    if one.met is not None and other.met is not None:
        assert all(map(np.array_equal, one.met, other.met))


@pytest.mark.parametrize("way", WAYS)
def test_a_record_holds_all_that_is_learned_from_a_piece(way: str) -> None:
    network, changes = WAYS[way]
    trainer = Trainer(network, FAST.replace(**changes), threads=1)
    piece = piece_of(trainer.config)
    played = play(trainer.learner, piece)
    assert len(played.samples) > 20 and 0 < played.of.sum() == len(played.samples)
    data = pack_record(played, SENT)
    assert_same(played, unpack_record(data, piece, trainer.learner))


@pytest.mark.parametrize("way", ["league", "policy"])
def test_a_piece_comes_out_the_same_by_weights_that_travelled(way: str) -> None:
    config = FAST.replace(average=0.5, **WAYS[way][1])
    trainer = Trainer(SMALL, config, threads=1)
    for _ in range(2):
        trainer.run_generation()
    elsewhere = Learner(SMALL, config.replace(seed=99), trainer.learner.device)
    before = play(elsewhere, piece_of(config))
    elsewhere.take_weights(trainer.learner.weights())
    here, there = (play(learner, piece_of(config)) for learner in (trainer.learner, elsewhere))
    assert_same(here, there)
    assert before.final.tobytes() != here.final.tobytes()


def test_a_record_of_another_piece_or_a_damaged_one_is_refused() -> None:
    trainer = Trainer(SMALL, FAST, threads=1)
    piece = piece_of(FAST)
    data = pack_record(play(trainer.learner, piece), SENT)
    rng = np.random.default_rng(8)
    other = Piece.of((2, 1), deal_rounds(6, rng), rng, 1000, np.ones(1))
    with pytest.raises(BadRecord, match="piece 1 of generation 2: its rounds do not come out"):
        unpack_record(data, other, trainer.learner)
    for cut in (0, 7, len(data) // 2, len(data) - 1):
        with pytest.raises(BadRecord, match="damaged"):
            unpack_record(data[:cut], piece, trainer.learner)
    for at in rng.integers(300, len(data), 10):
        bad = bytearray(data)
        bad[at] ^= 0x55
        with pytest.raises(BadRecord):
            unpack_record(bytes(bad), piece, trainer.learner)
