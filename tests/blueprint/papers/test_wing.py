"""The wing of published systems can be taken away."""

from __future__ import annotations

from pathlib import Path

from tests.forked import run_module


def test_without_the_wing_all_else_works_and_what_needs_it_is_refused_in_words(tmp_path: Path) -> None:
    done = run_module("tests.blueprint.papers.without_papers", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all of it works\n")
