"""The experiment on how near sampled searches come: rows, resumed, and a plot."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.refinement.approach import EVERYTHING, main, read_approach


def test_rows_and_a_plot_are_written_once_and_everything_drawn_is_exact(tmp_path: Path) -> None:
    folder = tmp_path / "approach"
    words = [
        "--game",
        "kuhn_poker",
        "--infosets",
        "3",
        "--seeds",
        "1",
        "--iterations",
        "40",
        "-o",
        str(folder),
    ]
    first = CliRunner().invoke(main, words, catch_exceptions=False)
    assert first.exit_code == 0, first.output
    rows = read_approach(folder / "rows.csv")
    assert len({row.infoset for row in rows}) == 3
    for row in rows:
        assert 0 <= row.away <= 1 and 1 <= row.drawn <= min(row.samples, row.histories)
        assert row.samples < EVERYTHING or (row.complete and row.away < 1e-9)
    assert (folder / "approach.png").stat().st_size > 1000
    again = CliRunner().invoke(main, words, catch_exceptions=False)
    assert again.exit_code == 0
    assert read_approach(folder / "rows.csv") == rows


def test_searches_with_other_iterations_have_rows_of_their_own(tmp_path: Path) -> None:
    words = ["--game", "kuhn_poker", "--infosets", "1", "--seeds", "1", "-o", str(tmp_path)]
    for iterations, held in ((40, {40}), (2, {40, 2})):
        found = CliRunner().invoke(main, [*words, "--iterations", str(iterations)], catch_exceptions=False)
        assert found.exit_code == 0, found.output
        rows = read_approach(tmp_path / "rows.csv")
        assert {row.iterations for row in rows} == held and len({row.key for row in rows}) == len(rows)
    assert len({row.samples for row in rows}) * 2 == len(rows)


def test_rows_of_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="its columns must be"):
        read_approach(path)
