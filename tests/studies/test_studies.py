"""The table of studies names each of them, and those that only a commit still has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = re.compile(r"`python -m ((?:studies|experiments)[\w.]*)`")
TABLE, _, ARCHIVE = (ROOT / "studies" / "README.md").read_text(encoding="utf-8").partition("\n## Archived\n")


def archived_studies() -> frozenset[str]:
    """Return the programs that left the tree; pages still name them beside their figures."""
    return frozenset(PROGRAM.findall(ARCHIVE))


def test_the_table_of_studies_names_every_program_and_no_other() -> None:
    programs = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "studies").rglob("*.py")
        if "__main__" in path.read_text(encoding="utf-8")
    }
    assert set(PROGRAM.findall(TABLE)) == programs
    assert archived_studies() and not archived_studies() & programs


def test_the_commits_of_the_archive_have_its_programs() -> None:
    _, *parts = re.split(r"at commit ([0-9a-f]{8}) ", ARCHIVE)
    assert len(parts) == 4
    for commit, table in zip(parts[::2], parts[1::2], strict=True):
        listed = subprocess.run(
            ["git", "ls-tree", "-r", "--name-only", commit], cwd=ROOT, capture_output=True, text=True
        )
        if listed.returncode:
            pytest.skip("needs the history of the repository")
        programs = {f"{name.replace('.', '/')}.py" for name in PROGRAM.findall(table)}
        assert programs and programs <= {*listed.stdout.split()}
