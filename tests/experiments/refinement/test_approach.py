"""The experiment on how near sampled searches come: rows, resumed, and a plot."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.refinement.approach import EVERYTHING, main, read_approach


def test_rows_and_a_plot_are_written_once_and_everything_drawn_is_exact(tmp_path: Path) -> None:
    """Searches with other iterations have rows of their own, beside those that are there."""
    words = ["--game", "kuhn_poker", "--infosets", "3", "--seeds", "1", "-o", str(tmp_path), "--iterations"]
    before: list[object] = []
    for iterations, held in ((40, {40}), (40, {40}), (2, {40, 2})):
        found = CliRunner().invoke(main, [*words, str(iterations)], catch_exceptions=False)
        assert found.exit_code == 0, found.output
        rows = read_approach(tmp_path / "rows.csv")
        assert {row.iterations for row in rows} == held and len({row.key for row in rows}) == len(rows)
        assert rows[: len(before)] == before and (not before or len(rows) == len(held) * len(before))
        before = before or [*rows]
    assert len({row.infoset for row in rows}) == 3
    for row in rows:
        assert 0 <= row.away <= 1 and 1 <= row.drawn <= min(row.samples, row.histories)
        assert row.samples < EVERYTHING or row.iterations == 2 or (row.complete and row.away < 1e-9)
    assert (tmp_path / "approach.png").stat().st_size > 1000


def test_rows_of_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="its columns must be"):
        read_approach(path)
