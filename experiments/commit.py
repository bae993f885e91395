"""Which commit of gs2 measured something: that of the checkout this file lies in, or none."""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

__all__ = ["commit_of_code"]


def commit_of_code(file: Path | None = None) -> str:
    """Return the short commit of the code, with "+" if it was changed since; "" outside of a checkout of gs2.

    An installed copy often lies in some other project's git folder, whose commit says nothing about gs2.
    file: a file of the code, by default this one.
    """
    file = Path(__file__) if file is None else Path(file)
    root = file.resolve().parent.parent

    def git(*words: str) -> str | None:
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

    top = git("rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != root or not _is_ours(root / "pyproject.toml"):
        return ""
    if git("ls-files", "--error-unmatch", str(file.resolve())) is None:
        return ""
    commit = git("rev-parse", "--short", "HEAD")
    return commit + "+" * bool(git("status", "--porcelain", "--untracked-files=no")) if commit else ""


def _is_ours(project: Path) -> bool:
    try:
        return tomllib.loads(project.read_text())["project"]["name"] == "gs2"
    except (OSError, ValueError, KeyError, TypeError):
        return False
