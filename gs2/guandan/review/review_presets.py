"""How thoroughly a review searches, and what it calls a mistake."""

from __future__ import annotations

from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.review.game_files import ReviewError

__all__ = [
    "BLUNDER",
    "INACCURACY",
    "MISTAKE",
    "REVIEW",
    "REVIEW_PRESETS",
    "SURE",
    "VERDICTS",
    "review_preset",
    "verdict_of",
]

REVIEW = "gs2.guandan.review.reviewing:review_text"
"""What reviews a record in a process of its own: called with its text, a name, a preset and a cache."""
VERDICTS = ("best", "level", "inaccuracy", "mistake", "blunder")
"""From good to bad. "level": as good as the best as far as the search can tell."""
INACCURACY, MISTAKE, BLUNDER = 0.05, 0.25, 0.75
"""Levels from which a loss is called so."""
SURE = 1.5
"""Standard errors that a loss must come to before it is called anything but level."""

_FAST = GuanDanConfig.of(
    name="fast",
    method="rollout",
    deadline=3600.0,
    worlds=32,
    wave=32,
    pool=64,
    depth=1,
    candidates=4,
    gap=0.25,
    confidence=100.0,
    endgame=20_000,
)
REVIEW_PRESETS: dict[str, GuanDanConfig] = {
    "fast": _FAST,
    "standard": _FAST.replace(
        name="standard", worlds=128, wave=128, pool=256, depth=12, candidates=5, gap=0.35, endgame=200_000
    ),
}
"""The search behind a review: every move compared is played in every deal, and no clock decides anything."""


def review_preset(name: str) -> GuanDanConfig:
    """Return the search of the preset called `name`. Raises ReviewError that lists the names."""
    if name not in REVIEW_PRESETS:
        raise ReviewError(f"a review's preset is {' or '.join(REVIEW_PRESETS)}; got {name!r:.60}")
    return REVIEW_PRESETS[name]


def verdict_of(loss: float, error: float, *, best: bool) -> str:
    """Return the verdict on a move.

    loss: in levels behind the best move; error: its standard error. best: whether it is that move itself.
    A loss of less than `SURE` errors is called level, whatever it is.
    """
    if best:
        return "best"
    if loss < INACCURACY or loss < SURE * error:
        return "level"
    return "inaccuracy" if loss < MISTAKE else "mistake" if loss < BLUNDER else "blunder"
