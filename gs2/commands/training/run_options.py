"""Options that every training of a game other than GuanDan has: how long, by what settings, how kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gs2.commands.common import POSITIVE, SEED
from gs2.commands.training.setting_type import SettingType

__all__ = ["run_options"]

F = TypeVar("F", bound=Callable[..., Any])


def run_options(settings: SettingType, every: float) -> Callable[[F], F]:
    """Return what gives a command these options.

    settings: fields that --set changes. every: seconds between checkpoints, unless the command line says.
    """
    options = (
        click.option(
            "--minutes", type=POSITIVE, help="Length of the training, resumed parts included.  [default: 10]"
        ),
        click.option(
            "--decisions", type=click.IntRange(min=1), help="End after this many decisions of self-play."
        ),
        click.option("--resume", is_flag=True, help="Go on with the training of the output if there is one."),
        click.option(
            "--set",
            "settings",
            type=settings,
            metavar="FIELD=VALUE",
            multiple=True,
            help="Change a field of the network or its training; repeatable.",
        ),
        click.option(
            "--checkpoint-seconds",
            type=POSITIVE,
            default=every,
            show_default=True,
            help="Between checkpoints.",
        ),
        click.option("--seed", type=SEED, default=0, show_default=True, help="Of the network and self-play."),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    )

    def with_options(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options
