"""Where reports go: beside the run, to the current folder or the results of the checkout; never a package.

A row names the commit that measured it: of the checkout that this file lies in, or none.
"""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

from games.support.files import FileProblem, check_output

__all__ = [
    "HEADING",
    "REPORT",
    "RESULTS",
    "NoCheckoutError",
    "checkout_of_code",
    "commit_of_code",
    "report_file",
]


def checkout_of_code(file: Path | None = None) -> Path | None:
    """Return the root of the checkout of gs2 that the code lies in; None if it lies elsewhere.

    An installed copy often lies in some other project's git folder, which says nothing about gs2.
    file: a file of the code, by default this one.
    """
    file = Path(__file__) if file is None else Path(file)
    root = file.resolve().parent.parent
    top = _git(root, "rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != root or not _is_ours(root / "pyproject.toml"):
        return None
    return root if _git(root, "ls-files", "--error-unmatch", str(file.resolve())) is not None else None


def commit_of_code(file: Path | None = None) -> str:
    """Return the short commit of the code, with "+" if it was changed since; "" outside of a checkout of gs2.

    file: as of `checkout_of_code`.
    """
    root = checkout_of_code(file)
    if root is None:
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
RESULTS = Path("experiments") / "results"
"""The reports of the project itself, in its checkout; an installed gs2 has none."""


class NoCheckoutError(ValueError):
    """Results of the project that were to be renewed where there is no checkout."""


def report_file(output: Path | None, checkout: bool, folder: Path = Path()) -> Path:
    """Return where a report is written: what was asked for, else `REPORT` in a folder, the current one.

    Raises NoCheckoutError if the checkout was asked for and the code lies in none, or a file besides, and
    FileProblem if the report cannot be written there, or a file is there that is no earlier report.
    """
    if checkout:
        if output is not None:
            raise NoCheckoutError(f"--checkout: no file may be named beside it; got {output}; leave out one")
        root = checkout_of_code()
        if root is None:
            place = Path(__file__).parents[1]
            raise NoCheckoutError(f"--checkout: gs2 must run from a checkout; got {place}; name a file by -o")
        return check_output(root / RESULTS / REPORT)
    found = check_output(folder / REPORT) if output is None else output
    if found.exists() and found.stat().st_size:
        with found.open("rb") as file:
            if file.readline(200).rstrip() != HEADING.encode():
                raise FileProblem(f"{found}: it must be an earlier report to be replaced; name another by -o")
    return found
