"""The ablations: judged positions, choices and duplicate rounds, written once and read again."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from experiments.agent import ablate_agent as ablations
from experiments.agent import judge
from experiments.agent.agent_variants import VARIANTS
from experiments.agent.judge import DEPTHS, judge_moves, read_judged, write_judged
from experiments.agent.tables import Choice, RoundPair, RowFile, ablation_markdown, read_agent_rows
from gs2.cli import main
from gs2.guandan.agent.rollout import Rollouts
from tests.gs2.guandan.blueprints import CountEvaluator

QUICK = VARIANTS["standard"].replace(worlds=4, wave=2, depth=2, endgame=0)
FREE = VARIANTS["rollouts without anchor"].replace(worlds=4, wave=2, depth=2)
"""Plays other moves than the blueprint's now and then."""


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


def test_a_gain_is_over_the_blueprints_own_move_wherever_it_stands(judged: Path) -> None:
    networks, there = ablations.Networks(CountEvaluator()), read_judged(judged)
    turned = [
        replace(
            position,
            moves=position.moves[::-1],
            payoffs=position.payoffs[:, ::-1],
            actual=position.actual[::-1],
            values=position.values[:, :, ::-1],
        )
        for position in there
    ]
    told, found = (
        [(row.gain, row.actual, row.changed) for row in ablations.choose_moves("x", FREE, part, networks, 1)]
        for part in (there, turned)
    )
    assert found == told and any(gain for gain, _, changed in told if changed)


def asked(monkeypatch: pytest.MonkeyPatch, evaluator: CountEvaluator, *words: str) -> tuple[int, str]:
    monkeypatch.setattr(ablations, "_load", lambda checkpoint: ablations.Networks(evaluator))
    monkeypatch.setitem(VARIANTS, "standard", QUICK)
    done = CliRunner().invoke(main, ["experiment", "agent", *words])
    return done.exit_code, " ".join(done.output.split())


@pytest.mark.parametrize("words", [("choose", "--variant", "standard"), ("replay",)])
def test_positions_that_another_network_judged_are_refused(
    words: tuple[str, ...], judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    other = CountEvaluator()
    other.name = "other"
    code, said = asked(monkeypatch, other, *words, str(judged), "-o", str(out))
    assert code == 2 and "judged by the network that is asked, other; it was by count" in said
    assert not out.exists()
    row = json.loads(judged.read_text().splitlines()[0])
    (tmp_path / "old.jsonl").write_text(json.dumps({**row, "position": "3-0"}) + "\n")
    code, said = asked(monkeypatch, CountEvaluator(), *words, str(tmp_path / "old.jsonl"), "-o", str(out))
    assert code == 2 and "a network it does not name" in said and not out.exists()
    assert asked(monkeypatch, CountEvaluator(), *words, str(judged), "-o", str(out))[0] == 0
    assert {row.blueprint for row in read_agent_rows([out])} == {"count"}


def test_another_seed_is_asked_and_an_earlier_one_is_not_asked_again(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    words = ("choose", "--variant", "standard", "--positions", "3", str(judged), "-o", str(out))
    numbers = []
    for seed in ("1", "2", "1"):
        assert asked(monkeypatch, CountEvaluator(), *words, "--seed", seed)[0] == 0
        numbers.append(len(read_agent_rows([out])))
    assert numbers == [3, 6, 6]
    told = [json.loads(line) for line in out.read_text().splitlines()]
    without = [{k: v for k, v in row.items() if k != "seed"} for row in told[:3]]
    out.write_text("".join(json.dumps(row) + "\n" for row in without))  # as rows were, of the default seed
    assert asked(monkeypatch, CountEvaluator(), *words)[0] == 0
    assert [json.loads(line) for line in out.read_text().splitlines()] == without


def test_several_seeds_of_a_position_count_as_one_with_their_mean() -> None:
    gains = {1: (0.1, 0.3), 2: (0.2, 0.6)}
    rows = [
        Choice("rollouts", "b", f"1-{place}", gain, gain / 2, True, 0.02, "rollout", seed)
        for seed, found in gains.items()
        for place, gain in enumerate(found)
    ]
    mean = [replace(row, gain=gain, actual=gain / 2) for row, gain in zip(rows, (0.15, 0.45), strict=False)]
    assert "| rollouts | 2 | +300 ± 294 |" in ablation_markdown(rows)
    assert ablation_markdown(rows) == ablation_markdown(mean)


def test_replayed_rollouts_without_anchor_follow_the_first_half_of_the_judge(judged: Path) -> None:
    positions = read_judged(judged)
    rows = list(ablations.replay_rollouts(positions, CountEvaluator(), None, 2, 1e6))
    for row, position in zip(rows, positions, strict=True):
        first, second = position.payoffs[:2], position.payoffs[2:]
        best = int(np.argmax((first - first[:, :1]).mean(0)))
        assert row.gain == pytest.approx((second[:, best] - second[:, 0]).mean())


def test_duplicate_rounds_of_the_blueprint_against_itself_come_out_even() -> None:
    config = VARIANTS["standard"].replace(method="none")
    [rows] = ablations.play_pairs("blueprint", config, ablations.Networks(CountEvaluator()), 1, 5)
    assert [row.deal for row in rows] == list(range(5))
    assert all(row.gain == 0 and row.changed == 0 for row in rows)
    assert {row.first for row in rows} - {0.0}


def test_fewer_deals_are_the_first_of_more() -> None:
    config = VARIANTS["standard"].replace(method="none")
    networks = ablations.Networks(CountEvaluator())
    [few] = ablations.play_pairs("blueprint", config, networks, 1, 3)
    [more] = ablations.play_pairs("blueprint", config, networks, 1, 6)
    assert [row.first for row in few] == [row.first for row in more[:3]]
    assert {row.first for row in more} - {0.0}


def test_fewer_positions_are_the_first_of_more_and_others_have_other_names(
    judged: Path, tmp_path: Path
) -> None:
    few, more = tmp_path / "few.jsonl", tmp_path / "more.jsonl"
    for path, positions in ((few, 2), (more, 4), (few, 4)):
        assert list(write_judged(path, CountEvaluator(), positions, 4, 3))[-1] == positions
    assert few.read_text() == more.read_text() == "".join(judged.read_text().splitlines(keepends=True)[:4])
    assert list(write_judged(few, CountEvaluator(), 1, 2, 3))[-1] == 1
    assert list(write_judged(few, CountEvaluator(), 1, 4, 5))[-1] == 1
    names = [position.name for position in read_judged(few)]
    assert len(set(names)) == len(names) == 6 and {name.rpartition("/")[2] for name in names[4:]} == {
        "3-0",
        "5-0",
    }


def test_positions_go_on_after_a_chunk_of_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "ROUNDS", 1)
    first = len(judge.decision_positions(CountEvaluator(), 1, np.random.default_rng([3, 0, 1])))
    drawn = itertools.islice(judge.drawn_positions(CountEvaluator(), 3), first + 2)
    assert len({state.tobytes() for state in drawn}) == first + 2


def test_the_base_of_the_comparison_is_named_and_is_the_blank_row() -> None:
    rows = [
        Choice(variant, "b", f"1-{n}", gain, 0.0, True, 0.02, "rollout")
        for variant, gain in (("rollouts", 0.2), ("rollouts uniform deals", 0.3))
        for n in range(2)
    ]
    both = ablation_markdown(rows)
    assert "| against `rollouts uniform deals` |" in both and "against `rollouts` |" not in both
    assert "| rollouts uniform deals | 2 | +300 ± 0 |  |" in both
    assert "| rollouts | 2 | +200 ± 0 | -100 ± 0 |" in both
    alone = ablation_markdown(rows[:2])
    assert "| against `rollouts` |" in alone and "| rollouts | 2 | +200 ± 0 |  |" in alone


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
