"""Benches of pieces of work measure what they say, in turns, here and in processes of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.guandan.train_config import NetworkConfig
from experiments.bench.benches import CLIMBING
from experiments.bench.climbing_speed import measure_climbing
from experiments.bench.guandan.benches import BLUEPRINT
from experiments.bench.guandan.works import operations
from experiments.bench.works import Piece, Work, in_turns, timed
from games.game import GameError
from games.guandan.rounds.playout import random_playouts
from games.guandan.rounds.round import deal
from tests.blueprint.guandan.positions import random_tensors
from tests.unchanged.speed import WORKS, Worker, moves, solve

GAMES = ("doudizhu(ranks=7)", "big2(players=3)")


@pytest.mark.parametrize(
    ("bench", "options", "kinds"),
    [
        (CLIMBING, {"games": GAMES, "seconds": 0.01, "rounds": 16, "seed": 0}, {"self-play", "random play"}),
        pytest.param(
            BLUEPRINT,
            {"seconds": 0.02, "threads": 2, "rounds": 8, "seed": 0},
            {"one decision", "arithmetic", "batches", "self-play", "training"},
            marks=pytest.mark.long,
        ),
    ],
)
def test_every_figure_is_there_and_prints(bench: Any, options: dict[str, Any], kinds: set[str]) -> None:
    said: list[str] = []
    rows = bench.run(said.append, **options)
    assert {row.work for row in rows} <= set(said)
    assert all(any(kind in row.work for row in rows) for kind in kinds)
    for row in rows:
        assert 0 < row.low <= row.processor <= row.high and row.wall > 0 and row.share > 0, row
    assert len(json.loads(json.dumps([asdict(row) for row in rows]))) == len(rows)
    (table,) = bench.tables(rows)
    assert table.row_count == len(rows)


def test_a_game_of_another_kind_is_refused() -> None:
    with pytest.raises(GameError, match="games must be doudizhu or big2; got kuhn_poker"):
        measure_climbing(["kuhn_poker"])


DONE: list[str] = []


def note(*, name: str) -> Callable[[], int]:
    def do() -> int:
        DONE.append(name)
        return 5

    return do


def test_works_are_done_in_turns_each_as_often_as_wanted() -> None:
    place = f"{__name__}:note"
    DONE.clear()
    rows = in_turns([Work(n, place, {"name": n}, "calls") for n in "ab"], lambda said: None, repeats=3)
    assert "".join(DONE) == "ab" + 3 * "ab"
    assert [(row.work, row.counts, row.at_once) for row in rows] == [("a", "calls", 1), ("b", "calls", 1)]


def test_a_worker_does_a_piece_with_the_packages_of_a_checkout(tmp_path: Path) -> None:
    work = Work("cfr", "tests.unchanged.speed:solve", {"game": "kuhn_poker", "iterations": 3})
    (tmp_path / "cfr").mkdir()
    (tmp_path / "cfr" / "__init__.py").write_text("raise ImportError('of the other checkout')")
    workers = Worker(), Worker(tmp_path)
    try:
        for worker in workers:
            worker.ask(work)
        assert workers[0].answer().done == timed(solve(game="kuhn_poker", iterations=3)).done == 3
        with pytest.raises(RuntimeError, match="the process ended"):
            workers[1].answer()
    finally:
        for worker in workers:
            worker.close()


def test_every_piece_of_the_comparison_has_a_maker() -> None:
    assert {"refine", "moves", "self-play", "training", "agent"} <= WORKS.keys()
    assert isinstance(timed(WORKS["moves"].made()), Piece)


def test_decisions_are_counted_alike_by_kernel_and_lockstep() -> None:
    rng = np.random.default_rng(1)
    states = deal(200, rng, level=rng.integers(0, 13, 200))
    kernel, together = random_playouts(states, rng)[1].mean(), moves(canonical=False)() / 1000
    # decisions a round spread by about 30; five standard errors
    assert abs(kernel - together) < 5 * 30 * np.sqrt(1 / 200 + 1 / 1000)


def test_operations_count_every_weight_twice() -> None:
    config = NetworkConfig(state=24, blocks=2, action=16, action_blocks=2, critic=24)
    shared = ("tower.", "context.")
    sizes = {name: value.size for name, value in random_tensors(config).items() if name.endswith("weight")}
    scored = {k: v for k, v in sizes.items() if k.startswith("network.") and "value" not in k}
    once = sum(v for k, v in scored.items() if k.removeprefix("network.").startswith(shared))
    assert operations(config, 0) == 2 * once
    assert operations(config, 5) == 2 * once + 10 * (sum(scored.values()) - once)
