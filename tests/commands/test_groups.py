"""Modules that are run by themselves end as `gs2` does: one line and an exit code, never a traceback."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

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


def run(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", module, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)


def test_every_module_that_runs_by_itself_has_the_boundary() -> None:
    assert len(alone()) >= 6


@pytest.mark.parametrize(
    ("module", "words", "says"),
    [
        ("refinement.which_histories", ("no_such_game",), "no_such_game"),
        ("refinement.which_histories", ("kuhn_poker", "--blueprint", "what:3"), "what:3"),
        ("learning_curve", ("-o", "/proc/none/x"), "/proc/none"),
    ],
)
@pytest.mark.some(1)
def test_what_is_refused_is_one_line(module: str, words: tuple[str, ...], says: str) -> None:
    done = run(f"experiments.{module}", *words)
    assert done.returncode == 2, (done.stdout, done.stderr)
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("gs2: ") and says in line


def test_its_help_names_the_module() -> None:
    done = run("experiments.refinement.which_histories", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: python -m experiments.refinement.which_histories")


@pytest.mark.long
def test_ctrl_c_ends_it_as_it_ends_gs2() -> None:
    words = ["liars_dice(sides=4)", "-k", "3", "--ranks", "9", "--iterations", "500"]
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments.refinement.which_histories", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("gs2-d ")  # it is at work now
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, said
    assert "Traceback" not in said and "interrupted" in said
