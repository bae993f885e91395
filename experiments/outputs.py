"""Where reports go: beside the run, or where they are asked for.

A row names the commit that measured it: of the checkout that this file lies in, or none.
"""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

from games.support.files import FileProblem, check_output


def commit_of_code(file: Path = Path(__file__)) -> str:
    """Return the short commit of the code, with "+" if it was changed since; "" outside of a checkout of gs2.

    An installed copy often lies in some other project's git folder, which says nothing about gs2.
    file: of the code.
    """
    file = file.resolve()
    root = file.parent.parent
    top = _git(root, "rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != root or not _is_ours(root / "pyproject.toml"):
        return ""
    if _git(root, "ls-files", "--error-unmatch", str(file)) is None:
        return ""
    commit = _git(root, "rev-parse", "--short", "HEAD")
    return commit + "+" * bool(_git(root, "status", "--porcelain", "--untracked-files=no")) if commit else ""


def _git(root: Path, *words: str) -> str | None:
    """Return what git says in a folder; None if it fails or there is no git."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ("git", "-C", str(root), *words),
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _is_ours(project: Path) -> bool:
    try:
        return bool(tomllib.loads(project.read_text())["project"]["name"] == "gs2")
    except (OSError, ValueError, KeyError, TypeError):
        return False


REPORT, HEADING = "RESULTS.md", "# Results"
"""What a report is called, and its first line."""


def report_file(output: Path | None, folder: Path) -> Path:
    """Return where a report is written: what was asked for, else `REPORT` in a folder.

    Raises FileProblem if the report cannot be written there, or a file is there that is no earlier report.
    """
    found = check_output(folder / REPORT) if output is None else output
    if found.exists() and found.stat().st_size:
        with found.open("rb") as file:
            if file.readline(200).rstrip() != HEADING.encode():
                raise FileProblem(f"{found}: it must be an earlier report to be replaced; name another by -o")
    return found
