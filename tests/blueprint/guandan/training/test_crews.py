"""What a run learns depends on its pieces, not on who plays them; games are never older than allowed."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.guandan.training.trainer import Trainer
from blueprint.learning.pieces import Piece, PieceGame, PieceLearner, PlayedPiece, ThreadCrew
from blueprint.learning.run import RunLimits, train
from blueprint.learning.self_play import Setup
from games.support.interruption import Interrupted
from games.support.work.executor import BEHIND, niceness
from tests.blueprint.guandan import positions
from tests.blueprint.guandan.positions import TINY as SMALL
from tests.patience import PATIENCE, amount

FAST = positions.FAST.replace(rounds=amount(6, 3), pieces=3)


def tensors(trainer: Trainer) -> dict[str, Any]:
    return {name: value.tobytes() for name, value in trainer.checkpoint()[0].items()}


class Watched(ThreadCrew):
    """Keeps what was handed out and collected."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.out: list[tuple[int, int]] = []
        self.collected: list[int] = []
        self.most = 0

    def hand_out(self, pieces: list[Piece], learner: PieceLearner, version: int) -> None:
        self.out.append((pieces[0].generation, version))
        self.most = max(self.most, len(self.out) - len(self.collected))
        super().hand_out(pieces, learner, version)

    def collect(self) -> list[PlayedPiece]:
        self.collected.append(self.out[len(self.collected)][0])
        return super().collect()


@pytest.mark.parametrize("staleness", [0, 2])
@pytest.mark.some(1)
def test_the_same_pieces_are_learned_from_alike_by_any_number_of_threads(staleness: int) -> None:
    found = []
    for threads in (1, 3):
        trainer = Trainer(SMALL, FAST.replace(staleness=staleness), threads=threads)
        for _ in range(amount(4, 2)):
            trainer.run_generation()
        found.append((tensors(trainer), trainer.decisions, trainer.rounds))
    assert found[0] == found[1]


@pytest.mark.parametrize("staleness", [0, 2])
def test_no_more_generations_are_out_than_the_staleness_allows(staleness: int) -> None:
    trainer = Trainer(SMALL, FAST.replace(staleness=staleness), threads=2)
    crew = Watched(2)
    trainer.crew = crew
    rows = [trainer.run_generation() for _ in range(4)]
    assert crew.collected == list(range(4))
    assert [generation for generation, _ in crew.out] == list(range(4 + staleness))
    assert all(generation - version <= staleness for generation, version in crew.out)
    assert crew.most == staleness + 1
    assert max(row.get("staleness", 0) for row in rows) == staleness


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells threads apart")
def test_several_players_let_the_learner_go_first() -> None:
    class Noted(ThreadCrew):
        def _play(self, game: PieceGame) -> PlayedPiece:
            found.append(niceness())
            return super()._play(game)

    before = niceness()
    for threads in (2, 3):
        found: list[int] = []
        trainer = Trainer(SMALL, FAST, threads=threads)
        trainer.crew = Noted(threads)
        trainer.run_generation()
        assert niceness() == before
        assert set(found) == {before if threads < 3 else min(before + BEHIND, 19)}


def test_a_resumed_run_deals_other_games_than_those_that_were_out(tmp_path: Path) -> None:
    trainer = Trainer(SMALL, FAST.replace(staleness=2), threads=1)
    for _ in range(2):
        trainer.run_generation()
    trainer.save(tmp_path / "a.safetensors")
    again = Trainer.begun(tmp_path / "a.safetensors", setup=Setup(threads=1))
    assert again.config.staleness == 2 and again.ahead == 0 and again.decisions == trainer.decisions
    row = again.run_generation()
    assert row["generation"] == 3 and again.rounds == 3 * FAST.rounds
    assert np.isfinite(again.run_generation()["advantage"])


def test_a_run_that_ends_leaves_nobody_playing(tmp_path: Path) -> None:
    config, setup = FAST.replace(rounds=300, staleness=3), Setup(evaluate_minutes=0.0, threads=2)
    begin = partial(Trainer.begun, network=SMALL, config=config, setup=setup)
    trainer = train(tmp_path, begin, RunLimits(call_minutes=0.001))
    assert trainer.ahead == 3
    with pytest.raises((Interrupted, CancelledError)):
        trainer.crew.collect()
    players = [one for one in threading.enumerate() if one.name.startswith("players")]
    for one in players:
        one.join(PATIENCE)
    assert not any(one.is_alive() for one in players)
