"""A teacher makes a share of the decisions early in training."""

from __future__ import annotations

import numpy as np

from blueprint.climbing.move_inputs import move_inputs
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.selfplay import Scratch, play_rounds
from blueprint.guandan.rules.split_agents import StrongAgent
from blueprint.guandan.training.actors.pieces import piece_agent
from blueprint.guandan.training.trainer import Trainer
from blueprint.papers.players import Guided, guidance_share
from blueprint.protocol import Decisions
from games import load_game
from gs2.play.big2_shedding import BIG2_SHEDDING
from tests.blueprint.climbing.random_rounds import asked
from tests.blueprint.guandan.positions import FAST, SMALL


def first(decisions: Decisions) -> np.ndarray:
    return np.zeros(len(decisions), np.int64)


def last(decisions: Decisions) -> np.ndarray:
    return np.diff(decisions.offsets) - 1


def test_the_teachers_share_falls_linearly_to_zero_and_stays_there() -> None:
    assert [guidance_share(d, 100, 0.5) for d in (0, 50, 100, 500)] == [0.5, 0.25, 0.0, 0.0]
    assert guidance_share(0, 0, 0.5) == 0


def test_the_teacher_makes_its_share_of_the_decisions() -> None:
    counts = np.zeros(2)
    rng = np.random.default_rng(0)
    guided = Guided(first, last, 0.3, rng)

    def watch(decisions: Decisions) -> np.ndarray:
        choice = guided(decisions)
        counts[0] += (choice == last(decisions)).sum()
        counts[1] += len(decisions)
        assert np.all((choice == last(decisions)) | (choice == 0))
        return choice

    play_rounds(deal_rounds(20, np.random.default_rng(1)), [watch], Scratch())
    share = counts[0] / counts[1]
    assert abs(share - 0.3) < 4 * np.sqrt(0.21 / counts[1])


def test_training_with_guidance_plays_the_teachers_moves_until_it_ends() -> None:
    config = FAST.replace(guide=50, guide_share=1.0)
    trainer = Trainer(SMALL, config, threads=1)
    trainer.run_generation()
    teacher, (record,) = StrongAgent(), trainer.pending
    (piece,) = Trainer(SMALL, config, threads=1).deal()
    taught = play_rounds(piece.states(), [teacher], Scratch())
    assert np.array_equal(record.actions, taught.actions)
    assert trainer.decisions > 50
    unguided = Trainer(SMALL, FAST, threads=1)
    ended, never = (
        piece_agent(t.learner.agent(0.0, 0.0, t.rng), t.config, t.deal()[0], t.rng, 4)
        for t in (trainer, unguided)
    )
    assert type(ended) is type(never)


def test_a_guided_player_of_a_climbing_game_takes_the_moves_of_its_guide() -> None:
    game = load_game("big2")
    inputs = move_inputs(game)
    rng = np.random.default_rng(4)
    for d in asked(inputs, 3):
        taught = Guided(first, BIG2_SHEDDING, 1.0, rng)(d)
        for j in range(len(d)):
            legal = game.actions(d.states[j : j + 1])
            asked_of_it = Decisions.of(d.states[j : j + 1], legal, int(d.seats[j]), game=game)
            assert taught[j] == BIG2_SHEDDING(asked_of_it)[0]
