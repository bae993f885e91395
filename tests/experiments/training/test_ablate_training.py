"""Ablations of training: runs, matches and tables, resumed without doing anything twice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.training.ablate_training import ARMS, BEGIN, END, Arm, ablate_blueprint, report, run
from gs2.cli import main

TINY = {"rounds": 2, "batch": 16}
ARMS_HERE = tuple(Arm(arm.name, arm.network, {**arm.train, **TINY}) for arm in (ARMS[0], ARMS[3]))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("ablation")
    run(directory, cpu_seconds=0.01, seeds=1, deals=4, arms=ARMS_HERE)
    return directory


def test_a_run_has_a_row_for_every_arm_and_every_match(rows: Path) -> None:
    found = [json.loads(line) for line in (rows / "rows.jsonl").read_text().splitlines()]
    runs = [r for r in found if r["kind"] == "run"]
    assert [r["arm"] for r in runs] == ["ours", "with pruning"]
    assert all((rows / point["file"]).exists() for r in runs for point in r["kept"])
    assert runs[1]["train"]["prune"] == 1 and runs[0]["train"]["prune"] == -1
    # two yardsticks each, and one against the other
    assert sum(r["kind"] == "match" for r in found) == 5


def test_what_is_there_is_not_done_again(rows: Path) -> None:
    before = (rows / "rows.jsonl").read_text()
    run(rows, cpu_seconds=0.01, seeds=1, deals=4, arms=ARMS_HERE)
    assert (rows / "rows.jsonl").read_text() == before


def test_more_deals_are_played_beside_those_that_are_there(rows: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(rows, copy)
    before = (copy / "rows.jsonl").read_text()
    for _ in range(2):
        run(copy, cpu_seconds=0.01, seeds=1, deals=6, arms=ARMS_HERE)
        text = (copy / "rows.jsonl").read_text()
        assert text.startswith(before)
        fresh = [json.loads(line) for line in text.removeprefix(before).splitlines()]
        assert [(row["kind"], row["deals"]) for row in fresh] == [("match", 6)] * 5
    table = report(copy)
    assert "| ours | 0 | greedy | 4 |" in table and "| ours | 0 | greedy | 6 |" in table


@pytest.mark.parametrize("noted", [True, False])
def test_arms_of_other_seconds_are_refused(noted: bool, rows: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(rows, copy)
    told = [json.loads(line) for line in (rows / "rows.jsonl").read_text().splitlines()]
    assert {row.get("asked_seconds") for row in told} == {0.01, None}
    if not noted:
        told = [{k: v for k, v in row.items() if k != "asked_seconds"} for row in told]
        (copy / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told))
    before = (copy / "rows.jsonl").read_text()
    done = CliRunner().invoke(main, ["experiment", "training", "run", str(copy), "--cpu-seconds", "5"])
    said = " ".join(done.output.split())
    assert done.exit_code == 2 and f"{'0.01' if noted else 'not noted'}; got 5; name another" in said
    assert (copy / "rows.jsonl").read_text() == before
    assert ("| 4 |" in report(copy)) and "with pruning" in report(copy)


def test_the_report_replaces_what_stands_between_its_marks(rows: Path, tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text(f"above\n{BEGIN}\nold\n{END}\nbelow\n")
    result = CliRunner().invoke(ablate_blueprint, ["report", str(rows), "-o", str(document)])
    assert result.exit_code == 0, result.output
    text = document.read_text()
    assert text.startswith("above") and text.endswith("below\n") and "old" not in text
    assert report(rows) in text and "with pruning | 0 | ours" in text


def test_a_folder_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="it has none"):
        report(tmp_path)
