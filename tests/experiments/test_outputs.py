"""Reports go where they were asked to, and never into a package by themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.runner import gs2, ran


def test_a_report_replaces_an_earlier_one_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["experiment", "refine", "--game", "kuhn_poker", "--method", "maxmargin", "--seeds", "1"]
    ran(*words, "--iterations", "2", "--workers", "1", "-o", "run")
    mine = tmp_path / "run" / "RESULTS.md"
    mine.write_text("What I found out, on my own.\n")
    refused = gs2("experiment", "report", "run")
    assert refused.exit_code == 2 and "must be an earlier report to be replaced" in refused.stderr
    assert mine.read_text() == "What I found out, on my own.\n"
    mine.unlink()
    for _ in range(2):
        ran("experiment", "report", "run")
    assert mine.read_text().startswith("# ")


def test_a_report_lies_beside_its_runs_and_says_why_a_plot_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    grids = {"plain": ("maxmargin",), "several": ("gs2-r:k=1", "gs2-r:k=2")}
    for name, methods in grids.items():
        words = [word for method in methods for word in ("--method", method)]
        words += ["--game", "kuhn_poker", "--seeds", "1", "--workers", "1"]
        limits = ["--limit", "0.001"] if name == "several" else ["--iterations", "2"]
        ran("experiment", "refine", *words, *limits, "-o", f"runs/{name}")

    def reported(*folders: str) -> tuple[list[str], str]:
        found = ran("experiment", "report", *folders, "--json")
        return json.loads(found.stdout)["written"], " ".join(json.loads(found.stdout)["missing"])

    written, missing = reported("runs/plain")
    assert written == ["runs/plain/RESULTS.md"] and "no strength.png: it takes 3 blueprints" in missing
    assert "quick-…-k.png: it takes methods with several k" in missing
    assert "quick-…-time.png: its searches have no limits in seconds" in missing
    written, missing = reported("runs/several")
    assert {Path(path).name for path in written} >= {
        "RESULTS.md",
        "quick-cfr-100-k.png",
        "quick-cfr-100-time.png",
    }
    assert "-k.png" not in missing and "-time.png" not in missing
    shown = gs2("experiment", "report", "runs/plain")
    assert "no strength.png" in shown.stderr and "no " not in shown.stdout
    with monkeypatch.context() as patched:
        patched.setattr("experiments.refinement.report.find_spec", lambda name: None)
        written, missing = reported("runs/several")
        assert reported("runs/plain", "runs/several")[0] == [str(tmp_path / "runs" / "RESULTS.md")]
    assert written == ["runs/several/RESULTS.md"] and "pip install 'gs2[plots]'" in missing
