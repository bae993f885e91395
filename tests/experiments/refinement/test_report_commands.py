"""The commands of a report: what they run is what the rows are of."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from experiments.commands import refine
from experiments.refinement.grid import GRIDS, Grid, GridError
from experiments.refinement.report import refine_command, write_report
from experiments.refinement.rows import ROWS, read_grid
from experiments.refinement.run import run_grid

STORED = Path(__file__).parents[3] / "experiments" / "results" / "rows"


def run_of(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the fields of the grid that a command would run."""
    words = shlex.split(command)
    assert words[:3] == ["gs2", "experiment", "refine"]
    asked: list[Grid] = []

    def noted(grid: Grid, folder: Path, **options: Any) -> Path:
        asked.append(grid)
        return folder / ROWS

    with monkeypatch.context() as patched:
        patched.setattr("experiments.refinement.run.run_grid", noted)
        CliRunner().invoke(refine, [*words[3:], "-o", str(folder)], catch_exceptions=False)
    found: dict[str, Any] = json.loads(json.dumps(asked[0].to_json()))
    return found


def test_the_command_of_every_stored_run_and_preset_runs_its_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grids = [read_grid(path.parent) for path in sorted(STORED.glob("*/grid.json"))]
    grids += [json.loads(json.dumps(made.to_json())) for made in GRIDS.values()]
    told = 0
    for grid in grids:
        command = refine_command(grid)
        if command is not None:
            told += 1
            assert run_of(command, tmp_path, monkeypatch) == grid
    assert told > len(GRIDS)


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "gs2+>gs2+path", "--method", "maxmargin:depth=1", "--seeds", "2"],
        ["--game", "goofspiel(cards=4,turns=3)", "--sample", "3", "--iterations", "5", "--iterations", "7"],
        ["--limit", "0.001", "--blueprint", "uniform", "--mode", "independent", "--mode", "nested"],
        ["--preset", "limits", "--game", "liars_dice_7"],
        ["--preset", "strength", "--blueprint", "it's mine.npz"],
    ],
)
def test_options_come_back(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = run_of(shlex.join(["gs2", "experiment", "refine", *options]), tmp_path, monkeypatch)
    command = refine_command(grid)
    assert command is not None
    assert run_of(command, tmp_path, monkeypatch) == grid


def test_a_grid_that_no_options_make_has_no_command() -> None:
    quick = json.loads(json.dumps(GRIDS["quick"].to_json()))
    others: tuple[dict[str, Any], ...] = (
        {"name": "mine"},
        {"samples": {"leduc_poker": 3, "kuhn_poker": 4}},
        {"few_seeds": {"leduc_poker": 1}},
        {"limits": [], "iterations": []},
        {"games": []},
        {"games": 3},
        {"more": 1},
    )
    for other in others:
        assert refine_command(quick | other) is None


def test_a_report_names_the_command_of_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.refinement.report.find_spec", lambda name: None)  # its text alone
    changes: tuple[dict[str, Any], ...] = ({"blueprints": ("uniform",)}, {"methods": ("1-klss",)})
    quick = Grid("quick", ("kuhn_poker",), methods=("maxmargin",), iterations=(5,), seeds=1)
    folders = []
    for number, change in enumerate(changes):
        folders.append(tmp_path / str(number))
        run_grid(replace(quick, **change), folders[-1])
    text = write_report(folders, tmp_path / "R.md")[0].read_text()
    commands = re.findall(r"^- `(gs2 experiment refine .*) -o DIR`$", text, re.M)
    assert [run_of(command, tmp_path, monkeypatch) for command in commands] == list(map(read_grid, folders))
    alone = write_report(folders[:1], tmp_path / "R1.md")[0].read_text()
    assert f"\n`{commands[0]} -o DIR`; 1 rows, commit" in alone
    rows = folders[0] / ROWS
    rows.write_text(rows.read_text().splitlines(keepends=True)[0])
    with pytest.raises(GridError, match=rf"must have rows; got none in {folders[0]}; let gs2 experiment"):
        write_report(folders[:1], tmp_path / "R2.md")
