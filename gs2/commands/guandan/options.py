"""Options that `gs2 serve`, `gs2 play` and `gs2 web` share, and those of matches of GuanDan."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

import click

from gs2.commands.common import CORES, SHARE

TOKEN = "GS2_TABLE_TOKEN"

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


class Filled(click.ParamType):  # type: ignore[type-arg]  # generic in new versions of click only
    """A text that is not empty: what a script's unset variable leaves must not pass for "not given"."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not str(value).strip():
            self.fail("it is empty; leave the option out, or give it a value", param, ctx)
        return str(value)


FILLED = Filled()


def dialect_option(words: str) -> Decorator:
    """Return the option --dialect; `words` are its help."""
    dialects = click.Choice(["openguandan", "njupt"])
    return click.option("--dialect", type=dialects, default="openguandan", show_default=True, help=words)


def _given_token(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the token; an environment variable that is set to nothing is an empty token, not none."""
    return "" if value is None and TOKEN in os.environ else value


def token_option(words: str) -> Decorator:
    """Return the option --token, which an environment variable can give too; `words` are its help."""
    return click.option(
        "--token", envvar=TOKEN, callback=_given_token, help=f"{words}  [default: {TOKEN}, if set]"
    )


workers_option: Decorator = click.option(
    "--workers", type=CORES, default=1, show_default=True, help="Processes for each agent."
)
"""The option --workers."""


def _log(ctx: click.Context, param: click.Parameter, verbose: int) -> None:
    """Log to stderr from now on: warnings, what happens, or everything."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=level)


verbose_option: Decorator = click.option(
    "-v", "--verbose", count=True, expose_value=False, callback=_log, help="Log more; twice for everything."
)
"""The option --verbose, which sets up the log."""


LEVELS = ("2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K", "A")
OPTIONS: tuple[Decorator, ...] = (
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
