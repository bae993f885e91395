"""What a game brings beside its rules, by the game's name; a part is imported when it is first asked for.

contest: what agents meet in, called with the terms of a match (`gs2.play.contests.Contest`). solve: methods
and examples of its own (`gs2.commands.solving.solve.OwnSolving`). exploit: responders of its own
(`gs2.commands.exploit.Exploiting`). environment: its own, with what is more than one game. face: how its
cards look in the browser (`gs2.web.games.card_face.Face`).
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["own_part"]

WINGS = {
    "guandan": {
        "contest": "gs2.guandan.contest:guandan_contest",
        "solve": "gs2.commands.solving.guandan_solve:SOLVING",
        "exploit": "gs2.commands.guandan.exploit_own:exploit_own",
        "environment": "games.guandan.views.env:GuanDanEnv",
    },
    "doudizhu": {"face": "gs2.web.games.doudizhu_face:DouDizhuFace"},
    "big2": {"face": "gs2.web.games.big2_face:Big2Face"},
}


def own_part(game: str, part: str) -> Any | None:
    """Return a part that a game registers; None if it has none. game: its string."""
    where = WINGS.get(game.partition("(")[0], {}).get(part)
    if where is None:
        return None
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)
