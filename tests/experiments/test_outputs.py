"""Reports go where they were asked to, and never into a package by themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import experiments.outputs
from experiments.outputs import NoCheckoutError, report_file
from gs2.cli import main

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "experiments" / "results" / "rows"


def test_without_a_word_a_report_is_written_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = str(ROWS / "agent" / "fast.jsonl.gz")
    done = CliRunner().invoke(main, ["experiment", "agent", "report", rows, "--json"])
    assert json.loads(done.stdout)["written"] == ["ABLATIONS_GUANDAN.md"]
    assert (tmp_path / "ABLATIONS_GUANDAN.md").read_text().count("\n| ") > 1


def test_a_report_replaces_an_earlier_one_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["experiment", "refine", "--game", "kuhn_poker", "--method", "maxmargin", "--seeds", "1"]
    made = CliRunner().invoke(main, [*words, "--iterations", "2", "--workers", "1", "-o", "run"])
    assert made.exit_code == 0, made.output
    agent = ["agent", "report", str(ROWS / "agent" / "fast.jsonl.gz")]
    for name, asked in (("RESULTS.md", ["report", "run"]), ("ABLATIONS_GUANDAN.md", agent)):
        mine = tmp_path / name
        mine.write_text("What I found out, on my own.\n")
        refused = CliRunner().invoke(main, ["experiment", *asked])
        assert refused.exit_code == 2 and "must be an earlier report to be replaced" in refused.stderr
        assert mine.read_text() == "What I found out, on my own.\n"
        mine.unlink()
        for _ in range(2):
            assert CliRunner().invoke(main, ["experiment", *asked]).exit_code == 0
        assert mine.read_text().startswith("# ")


def test_the_checkout_is_written_to_only_if_asked_for(tmp_path: Path) -> None:
    (tmp_path / "experiments" / "results").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments.outputs, "checkout_of_code", lambda: tmp_path)
        wanted = tmp_path / "experiments" / "results" / "R.md"
        assert report_file("R.md", None, checkout=True) == wanted
        with pytest.raises(NoCheckoutError, match="no file may be named beside it"):
            report_file("R.md", tmp_path / "mine.md", checkout=True)
    assert report_file("R.md", tmp_path / "mine.md", checkout=False) == tmp_path / "mine.md"


def test_an_installed_copy_has_no_checkout_to_write_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments.outputs, "checkout_of_code", lambda: None)
    with pytest.raises(NoCheckoutError, match="must run from a checkout"):
        report_file("R.md", None, checkout=True)


def test_the_reports_of_the_project_are_made_from_its_rows(tmp_path: Path) -> None:
    files = ("choices", "deep", "early-std", "fast", "std", "std183", "fast326", "std326", "std1215")
    words = [str(ROWS / "agent" / f"{name}.jsonl.gz") for name in files]
    made = tmp_path / "made.md"
    done = CliRunner().invoke(main, ["experiment", "agent", "report", *words, "-o", str(made)])
    assert done.exit_code == 0, done.output
    assert made.read_text() == (ROOT / "experiments" / "results" / "ABLATIONS_GUANDAN.md").read_text()
