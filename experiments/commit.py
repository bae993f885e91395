"""Which checkout and commit of gs2 measured something: those this file lies in, or none."""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

__all__ = ["checkout_of_code", "commit_of_code"]


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
