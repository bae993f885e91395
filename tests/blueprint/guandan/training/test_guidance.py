"""Guidance: the teacher's share of decisions, and its end."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.guandan.chooser import Decisions
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.selfplay import Scratch, play_rounds
from blueprint.guandan.rules.split_agents import StrongAgent
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.actors.pieces import chooser_of
from blueprint.guandan.training.guidance import GuidedChooser, guidance_share
from blueprint.guandan.training.trainer import Trainer
from games.support.configuration import ConfigError

SMALL = NetworkConfig(state=16, blocks=1, action=16, action_blocks=1, critic=16)


def last(decisions: Decisions) -> np.ndarray:
    return np.diff(decisions.offsets) - 1


def first(decisions: Decisions) -> np.ndarray:
    return np.zeros(len(decisions), np.int64)


def test_the_share_falls_linearly_to_zero_and_stays_there() -> None:
    assert [guidance_share(d, 100, 0.5) for d in (0, 50, 100, 500)] == [0.5, 0.25, 0.0, 0.0]
    assert guidance_share(0, 0, 0.5) == 0


def test_the_teacher_makes_its_share_of_the_decisions() -> None:
    counts = np.zeros(2)
    guided = GuidedChooser(first, last, 0.3, np.random.default_rng(0))

    def watch(decisions: Decisions) -> np.ndarray:
        choice = guided(decisions)
        counts[0] += (choice == last(decisions)).sum()
        counts[1] += len(decisions)
        assert np.all((choice == last(decisions)) | (choice == 0))
        return choice

    play_rounds(deal_rounds(20, np.random.default_rng(1)), [watch], Scratch())
    share = counts[0] / counts[1]
    assert abs(share - 0.3) < 4 * np.sqrt(0.21 / counts[1])


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_all_or_nothing_is_one_player_alone(share: float) -> None:
    rounds = [deal_rounds(4, np.random.default_rng(2)) for _ in range(2)]
    guided = GuidedChooser(first, last, share, np.random.default_rng(0))
    one = play_rounds(rounds[0], [guided], Scratch())
    other = play_rounds(rounds[1], [last if share else first], Scratch())
    assert np.array_equal(one.actions, other.actions)


def test_training_with_guidance_plays_the_teachers_moves_until_it_ends() -> None:
    config = TrainConfig(rounds=4, batch=64, seed=3, guide=50, guide_share=1.0)
    trainer = Trainer(SMALL, config, threads=1)
    trainer.run_generation()
    teacher, (record,) = StrongAgent(), trainer.pending
    (piece,) = Trainer(SMALL, config, threads=1).deal()
    taught = play_rounds(piece.states(), [teacher], Scratch())
    assert np.array_equal(record.actions, taught.actions)
    assert trainer.decisions > 50
    unguided = Trainer(SMALL, TrainConfig(rounds=4, batch=64, seed=3), threads=1)
    ended, never = (
        chooser_of(t.learner.chooser(0.0, 0.0, t.rng), t.config, t.deal()[0], t.rng, 4)
        for t in (trainer, unguided)
    )
    assert type(ended) is type(never)


def test_a_share_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError, match="guide_share"):
        TrainConfig(guide_share=1.5)
