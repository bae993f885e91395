"""The ablations: judged positions, choices and duplicate rounds, written once and read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.agent import ablate_agent as ablations
from experiments.agent.judge import DEPTHS, judge_moves, read_judged, write_judged
from experiments.agent.tables import Choice, RoundPair, RowFile, ablation_markdown, read_agent_rows
from gs2.guandan.agent.rollout import Rollouts
from tests.gs2.guandan.blueprints import CountEvaluator

QUICK = ablations.VARIANTS["standard"].replace(worlds=4, wave=2, depth=2, endgame=0)


@pytest.fixture(scope="module")
def judged(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("judge") / "judged.jsonl"
    assert list(write_judged(path, CountEvaluator(), 6, 4, 3))[-1] == 6
    return path


def test_a_judge_that_was_stopped_goes_on_with_the_same_positions(judged: Path, tmp_path: Path) -> None:
    lines = judged.read_text().splitlines(keepends=True)
    part = tmp_path / "part.jsonl"
    part.write_text("".join(lines[:2]))
    assert list(write_judged(part, CountEvaluator(), 6, 4, 3)) == [2, 3, 4, 5, 6]
    assert part.read_text() == judged.read_text()


def test_the_actual_deal_is_judged_as_it_was(judged: Path) -> None:
    for position in read_judged(judged, 3):
        assert position.payoffs.shape == (4, len(position.moves))
        assert position.values.shape == (len(DEPTHS), 4, len(position.moves))
        assert np.all(np.isin(position.payoffs, np.arange(-3, 4)))
        rng = np.random.default_rng(0)
        _, actual, _ = judge_moves(position.state, position.moves, 1, Rollouts(CountEvaluator()), rng)
        assert np.array_equal(actual, position.actual)


def test_a_variant_gains_what_the_judge_says_of_its_move(judged: Path) -> None:
    positions = read_judged(judged)
    rows = list(ablations.choose_moves("standard", QUICK, positions, ablations.Networks(CountEvaluator()), 1))
    assert [row.position for row in rows] == [position.name for position in positions]
    for row, position in zip(rows, positions, strict=True):
        gains = (position.payoffs - position.payoffs[:, :1]).mean(0)
        assert row.gain == pytest.approx(0.0) if not row.changed else np.isclose(row.gain, gains).any()


def test_replayed_rollouts_without_anchor_follow_the_first_half_of_the_judge(judged: Path) -> None:
    positions = read_judged(judged)
    rows = list(ablations.replay_rollouts(positions, CountEvaluator(), None, 2, 1e6))
    for row, position in zip(rows, positions, strict=True):
        first, second = position.payoffs[:2], position.payoffs[2:]
        best = int(np.argmax((first - first[:, :1]).mean(0)))
        assert row.gain == pytest.approx((second[:, best] - second[:, 0]).mean())


def test_duplicate_rounds_of_the_blueprint_against_itself_come_out_even() -> None:
    config = ablations.VARIANTS["standard"].replace(method="none")
    [rows] = ablations.play_pairs("blueprint", config, ablations.Networks(CountEvaluator()), 1, 5)
    assert [row.deal for row in rows] == list(range(5))
    assert all(row.gain == 0 and row.changed == 0 for row in rows)
    assert {row.first for row in rows} - {0.0}


def test_rows_are_read_as_they_were_written_and_tabled(tmp_path: Path) -> None:
    rows = [
        Choice("rollouts", "b", "1-0", 0.5, 1.0, True, 0.02, "rollout"),
        Choice("subgame", "b", "1-0", 0.25, 0.0, True, 0.2, "subgame"),
        RoundPair("standard", "b", 1, 0, 1.0, 2.0, 3.0, 20.0, 60.0, 1.2),
        RoundPair("standard", "b", 1, 1, -1.0, 1.0, 3.0, 20.0, 60.0, 1.2),
    ]
    path = tmp_path / "rows.jsonl"
    for part in (rows[:2], rows[2:]):
        with RowFile(path) as file:
            file.append(part)
    assert read_agent_rows([path]) == rows
    table = ablation_markdown(read_agent_rows([path]))
    assert "| standard | b | 2 | +0.750 ± " in table and "| 5.0% | 33.3% | 20.0 |" in table
    assert "| subgame | 1 | +250 ± 0 | -250 ± 0 |" in table
    path.write_text('{"kind": "Choice"}\n')
    with pytest.raises(ValueError, match="line 1"):
        read_agent_rows([path])
