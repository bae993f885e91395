"""Reviews and games as a worker is asked for them: plain data in, plain data out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["games", "infosets", "review"]

Progress = Callable[[int, int], None]


def review(text: str, name: str, preset: str, cache: str | None, *, progress: Progress) -> dict[str, Any]:
    """Return the review of a record's text, from the cache if it was made before."""
    from gs2.guandan.review.reviewing import review_text

    folder = None if cache is None else Path(cache)
    found: dict[str, Any] = review_text(text, name=name, preset=preset, cache=folder, progress=progress)
    return found


def games(*, progress: Progress) -> dict[str, Any]:
    """Return the games that can be explored."""
    from gs2.explore.requests import explorable_games

    return {"games": explorable_games()}


def infosets(game: str, grep: str, most: int, *, progress: Progress) -> dict[str, Any]:
    """Return the names of a game's infosets that hold `grep`."""
    from gs2.explore.requests import infoset_names

    return {"infosets": infoset_names(game, grep, most)}
