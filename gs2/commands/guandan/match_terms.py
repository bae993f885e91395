"""What GuanDan lets `gs2 match` and `gs2 ladder` choose: which cards are dealt, and by which rules."""

from __future__ import annotations

from typing import Any

import click

from gs2.commands.common import SHARE

__all__ = ["AGENTS", "OPTIONS", "chosen"]

LEVELS = ("2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K", "A")
OPTIONS = (
    click.option(
        "--level",
        type=click.Choice(LEVELS, case_sensitive=False),
        help="Level of every deal (GuanDan).  [default: all, evenly]",
    ),
    click.option(
        "--tribute", type=SHARE, help="Share of deals that start with tribute (GuanDan).  [default: 0.5]"
    ),
    click.option("--whole", is_flag=True, help="Whole games from level 2 to A (GuanDan)."),
    click.option(
        "--rules", help="Rules of whole games: ruling, openguandan, njupt or paper.  [default: ruling]"
    ),
)
AGENTS = """GAME is guandan if none is named. An agent of GuanDan is random, greedy, mincomb, aggressive,
    conservative, balanced, strong, blueprint, the path of a checkpoint, gs2, gs2-fast, gs2-deep (subgame
    solving), rollout, rollout-fast, rollout-deep (rollouts alone), gs2-paper (GS2's, on a thinned tree), any
    of these with settings and on another network, NAME:FIELD=VALUE,…@CHECKPOINT, or your own agent,
    FILE.py:NAME. Whole games magnify the edge of a round and need far more pairs."""
"""A paragraph for the help of `gs2 match`."""


def chosen(how: dict[str, Any]) -> dict[str, Any]:
    """Take these options out of a command's, and return the terms that they choose.

    Raises UsageError for an option of single rounds beside one of whole games.
    """
    whole, level = how.pop("whole"), how.pop("level")
    found = {"rules": how.pop("rules"), "tribute": how.pop("tribute")}
    found["level"] = None if level is None else LEVELS.index(level.upper())
    terms = {name: value for name, value in found.items() if value is not None}
    for name, fits in (("rules", whole), ("tribute", not whole), ("level", not whole)):
        if name in terms and not fits:
            kind = "whole games: add --whole" if name == "rules" else "single rounds: leave out --whole"
            raise click.UsageError(f"--{name} needs {kind}")
    return {**terms, "whole": True} if whole else terms
