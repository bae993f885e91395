"""Modules that are run by themselves end as `gs2` does: one line and an exit code, never a traceback."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.forked import run_module

ROOT = Path(__file__).parents[2]


def alone() -> list[str]:
    """Return the modules of experiments and studies that run by themselves."""
    found = []
    for path in sorted([*(ROOT / "experiments").rglob("*.py"), *(ROOT / "studies").rglob("*.py")]):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
                found.append(".".join(path.relative_to(ROOT).with_suffix("").parts))
                assert ast.unparse(node.body[-1]).startswith("run_alone("), f"{path}: no boundary"
    return found


def test_every_module_that_runs_by_itself_has_the_boundary() -> None:
    assert len(alone()) >= 6


@pytest.mark.parametrize(
    ("module", "words", "says"),
    [
        ("studies.steps_by_depth", ("--game", "no_such_game"), "no_such_game"),
        ("studies.steps_by_depth", ("--game", "kuhn_poker", "--blueprint", "what:3"), "what:3"),
        ("experiments.guandan.learning_curve", ("-o", "/proc/none/x"), "/proc/none"),
    ],
)
@pytest.mark.some(1)
def test_what_is_refused_is_one_line(module: str, words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = run_module(module, "-o", str(tmp_path), *words)
    assert done.returncode == 2, (done.stdout, done.stderr)
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("gs2: ") and says in line


def test_its_help_names_the_module() -> None:
    done = run_module("studies.steps_by_depth", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: python -m studies.steps_by_depth")
