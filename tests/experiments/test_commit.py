"""Rows name gs2's own commit or none, wherever the code lies."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from experiments import outputs
from experiments.outputs import commit_of_code

CODE = Path(outputs.__file__)
OURS = '[project]\nname = "gs2"\n'


def git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    done = subprocess.run(("git", *name, *words), cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def checkout(folder: Path, project: str | None, inner: str = "") -> Path:
    """Return the code in a git folder of its own, committed. inner: where in it."""
    place = folder / inner / "experiments"
    place.mkdir(parents=True)
    shutil.copy(CODE, place)
    if project is not None:
        (folder / "pyproject.toml").write_text(project)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "all")
    return place / CODE.name


def test_our_checkout_gives_its_commit_to_code_that_git_knows(tmp_path: Path) -> None:
    file = checkout(tmp_path, OURS)
    head = git(tmp_path, "rev-parse", "--short", "HEAD")
    assert commit_of_code(file) == head
    file.write_text("changed")
    assert commit_of_code(file) == head + "+"
    stranger = file.with_name("untracked.py")
    stranger.write_text("")
    assert commit_of_code(stranger) == ""


@pytest.mark.parametrize(
    ("project", "inner"),
    [
        (None, ""),
        ('[project]\nname = "theirs"\n', ""),
        (OURS, "venv/lib/site-packages"),
        ("[broken", ""),
        ('project = "gs2"', ""),
    ],
)
def test_the_commit_of_a_folder_around_is_none_of_ours(
    tmp_path: Path, project: str | None, inner: str
) -> None:
    assert commit_of_code(checkout(tmp_path, project, inner)) == ""


def test_another_git_folder_in_the_environment_does_not_mislead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    checkout(other, OURS)
    monkeypatch.setenv("GIT_DIR", os.fspath(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", os.fspath(other))
    alone = tmp_path / "alone" / "experiments"
    alone.mkdir(parents=True)
    shutil.copy(CODE, alone)
    assert commit_of_code(alone / CODE.name) == ""
