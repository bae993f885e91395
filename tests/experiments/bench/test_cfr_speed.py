"""`gs2 bench cfr`: what it measures, and the file it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cfr.engine.kernels import SWEPT_ANYHOW, SWEPT_BESIDE
from cfr.solver import Solver
from experiments.bench import cfr_speed
from experiments.bench.benches import CFR
from experiments.bench.cfr_speed import cfr_tables, measure_cfr
from experiments.bench.group import as_markdown, bench, write_result


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build games in this process; with --long, one test builds in a fresh one, as the bench does."""
    monkeypatch.setattr(cfr_speed, "_construct", vars(cfr_speed)["_construct_here"])


def short(monkeypatch: pytest.MonkeyPatch, **less: Any) -> None:
    """Measure less than the bench does."""
    for name, value in less.items():
        monkeypatch.setattr(cfr_speed, name, value)


def test_every_figure_of_a_game_is_measured(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    runs: list[int] = []

    class Counted(Solver):
        def run(self, n: int) -> None:
            runs.append(n)
            super().run(n)

    short(monkeypatch, TARGETS=(1e-2, 1e-9), ITERATIONS=50, LIMIT=200, Solver=Counted)
    games, variants = ["kuhn_poker"], ("cfr+", "dcfr")
    result = measure_cfr(games=games, variants=variants, repeats=1, openspiel=False, progress=steps.append)
    assert len(steps) == 4 and max(runs) < SWEPT_ANYHOW / SWEPT_BESIDE  # even to compile all kernels
    (built,), (speed,) = result.construction, result.speed
    assert (built.histories, built.entries) == (58, 30)
    assert built.peak_mb > 1
    assert speed.iterations == 50
    assert 0 < speed.iteration_ms < 1000
    assert speed.openspiel_iterations is None
    assert [(c.variant, c.target) for c in result.convergence] == [
        (name, target) for name in ("cfr+", "dcfr") for target in (1e-2, 1e-9)
    ]
    for found in result.convergence:
        # Two hundred iterations reach a hundredth, but not a billionth.
        assert (found.seconds is not None) == (found.iterations is not None) == (found.target == 1e-2)
    assert len(cfr_tables(result)) == 3


@pytest.mark.long
def test_tables_are_written_as_markdown_with_their_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short(monkeypatch, ITERATIONS=5, LIMIT=20)
    result = measure_cfr(games=["kuhn_poker"], variants=("dcfr",), repeats=1, openspiel=False, progress=print)
    write_result(CFR, result, tmp_path / "r.md", "gs2 bench cfr kuhn_poker")
    text = (tmp_path / "r.md").read_text()
    assert text.startswith("# CFR on full games\n\nProcessor time")
    assert "`gs2 bench cfr kuhn_poker`; commit " in text
    lines = as_markdown(CFR.tables(result)[0]).splitlines()
    assert lines[0] == "## From game string to solver"
    assert lines[2].startswith("| game | histories | payoffs |")
    assert lines[4].startswith("| kuhn_poker | 58 | 30 |")
    assert lines[3].count("|") == lines[4].count("|") == lines[2].count("|")
    assert json.loads((tmp_path / "r.json").read_text())["construction"][0]["histories"] == 58


def test_the_command_names_itself_in_the_file(at_once: None, tmp_path: Path) -> None:
    path = tmp_path / "r.md"
    words = ["cfr", "kuhn_poker", "--repeats", "1", "--no-openspiel", "--output", str(path)]
    answer = CliRunner().invoke(bench, words)
    assert answer.exit_code == 0, answer.output
    assert "`gs2 bench cfr kuhn_poker --repeats 1 --no-openspiel`" in path.read_text()


@pytest.mark.parametrize(("taken", "output"), [("r.json", "r.md"), (None, "r.json")])
def test_a_bench_writes_over_nothing(taken: str | None, output: str, tmp_path: Path) -> None:
    if taken is not None:
        (tmp_path / taken).write_text("mine")
    words = ["cfr", "kuhn_poker", "--repeats", "1", "--no-openspiel", "-o", str(tmp_path / output)]
    answer = CliRunner().invoke(bench, words)
    assert answer.exit_code == 2 and (taken or output) in answer.output
    assert [path.name for path in tmp_path.iterdir()] == ([taken] if taken else [])
    assert taken is None or (tmp_path / taken).read_text() == "mine"
