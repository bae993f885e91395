"""The benchmark measures what it says it does."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from rich.console import Console

from experiments.bench.guandan import engine_speed
from experiments.bench.guandan.engine_speed import (
    engine_tables,
    lockstep_rounds,
    measure_engine,
    random_rounds,
)
from experiments.guandan.simulate import check_play, simulate_matches
from games.guandan.matches.lockstep import Matches


@pytest.mark.long
def test_every_figure_is_there_and_prints() -> None:
    result = measure_engine(seconds=0.02, processes=1, seed=3)
    assert [speed.moves for speed in result.speeds] == ["full", "canonical"]
    for speed in result.speeds:
        assert 0 < speed.low <= speed.one_core <= speed.high and speed.all_cores >= speed.all_wall > 0
    assert {(m.where, m.moves) for m in result.moves} >= {("leading", "full"), ("following", "canonical")}
    for m in result.moves:
        assert 1 <= m.median <= m.p99 <= m.longest and m.mean <= m.longest and m.positions > 0
    assert 80 < result.decisions_per_round < 200
    assert min(result.state_us, result.observation_us, result.action_ns, result.matches_per_second) > 0
    json.dumps(asdict(result))
    console = Console(width=120, record=True, file=None, quiet=True)
    for table in engine_tables(result):
        console.print(table)


def test_canonical_lists_are_shorter_and_wild_cards_make_lists_longer() -> None:
    sizes, _ = vars(engine_speed)["_move_lists"](np.random.default_rng(3), 25)
    mean = {(m.where, m.moves): m.mean for m in sizes}
    for where in ("27-card lead, 0 wild", "leading", "following"):
        assert mean[where, "canonical"] < mean[where, "full"]
    for moves in ("full", "canonical"):
        assert mean["27-card lead, 0 wild", moves] < mean["27-card lead, 1 wild", moves]


def test_decisions_are_counted_alike_by_kernel_and_lockstep() -> None:
    kernel = random_rounds(np.random.default_rng(1), False) / 200
    lockstep = lockstep_rounds(np.random.default_rng(1), False) / 1000
    # decisions a round spread by about 30; five standard errors
    assert abs(kernel - lockstep) < 5 * 30 * np.sqrt(1 / 200 + 1 / 1000)


def test_a_broken_invariant_is_reported_with_the_matchs_seed() -> None:
    matches = Matches(np.arange(5))
    matches.states["left"][3, 0] -= 1
    with pytest.raises(AssertionError, match=r"public counts: broken in matches with seeds \[3\]"):
        check_play(matches, np.ones(5, np.int64))
    matches = Matches(np.arange(5))
    matches.states["hand"][1, 2, 0] ^= np.uint64(1)
    with pytest.raises(AssertionError, match=r"108 cards conserved: broken in matches with seeds \[1\]"):
        check_play(matches, np.ones(5, np.int64))


def test_a_match_without_end_is_reported() -> None:
    with pytest.raises(AssertionError, match="matches that do not end"):
        simulate_matches(4, 1, max_rounds=2)
