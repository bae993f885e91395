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
