"""The bench of climbing games measures what it says."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from experiments.bench.climbing_speed import climbing_tables, measure_climbing
from games.climbing.big2.table_rows import BIG2_STATE
from games.climbing.doudizhu.round_state import ROUND
from games.game import GameError


def test_every_figure_is_there_and_prints() -> None:
    said: list[str] = []
    games = ("doudizhu(ranks=7)", "big2(players=3)")
    result = measure_climbing(games, seconds=0.02, rounds=16, progress=said.append)
    assert [speed.game for speed in result] == list(games)
    assert [speed.state_bytes for speed in result] == [ROUND.itemsize, BIG2_STATE.itemsize]
    for speed in result:
        rates = [speed.random, *speed.network.values(), speed.selfplay, speed.training]
        assert all(rate.processor > 0 and rate.wall > 0 and rate.threads == 1 for rate in rates)
        assert "float32" in speed.network and speed.moves >= 2 and 0 < speed.choices <= 1
        assert speed.random.processor > speed.selfplay.processor
    assert len(said) == 8 and json.loads(json.dumps([asdict(speed) for speed in result]))
    (table,) = climbing_tables(result)
    assert table.row_count == sum(3 + len(speed.network) for speed in result)


def test_a_game_of_another_kind_is_refused() -> None:
    with pytest.raises(GameError, match="games must be doudizhu or big2; got kuhn_poker"):
        measure_climbing(["kuhn_poker"])
