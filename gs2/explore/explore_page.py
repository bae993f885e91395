"""Pages that stand alone: a search in one file that any browser opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from games.support.files import create

__all__ = ["write_explore_page"]

EXPLORE_MODULES = (
    "explore.js",
    "explore-words.js",
    "explore-plots.js",
    "explore-tree.js",
    "explore-form.js",
    "explore-decision.js",
)
"""Modules of the client that show a search."""


def write_explore_page(path: Path, picture: dict[str, Any], title: str) -> None:
    """Write one self-contained HTML file that shows a picture. Raises FileProblem as `create`.

    picture: of `solve_picture`, or of a game's own methods. title: what was searched.
    """
    from gs2.web.pages import standalone_page

    page = standalone_page(
        f"{title} · gs2 solve", "explore.js", picture, modules=EXPLORE_MODULES, styles=("explore.css",)
    )
    with create(path) as file:
        file.write(page)
