"""Pages that stand alone: a search, or a GuanDan decision, in one file that any browser opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from games.support.files import create

__all__ = ["decision_picture", "write_explore_page"]

EXPLORE_MODULES = (
    "explore.js",
    "explore-words.js",
    "explore-plots.js",
    "explore-tree.js",
    "explore-form.js",
    "explore-decision.js",
)
"""Modules of the client that show a search."""
DECISION = "guandan decision"


def write_explore_page(path: Path, picture: dict[str, Any]) -> None:
    """Write one self-contained HTML file that shows a picture. Raises FileProblem as `create`.

    picture: of `solve_picture` or `decision_picture`.
    """
    from gs2.web.pages import standalone_page

    where = picture.get("infoset") or picture.get("title") or "GuanDan"
    title = f"{where} · {picture.get('game') or 'GuanDan'} · gs2 solve"
    page = standalone_page(title, "explore.js", picture, modules=EXPLORE_MODULES, styles=("explore.css",))
    with create(path) as file:
        file.write(page)


def decision_picture(explanation: dict[str, Any], title: str | None = None) -> dict[str, Any]:
    """Return what a page shows of a GuanDan decision: `Explanation.to_json`, and what it is called."""
    return {"format": "gs2 solve", "version": 1, "kind": DECISION, "title": title, **explanation}
