"""Options that every training of a game other than GuanDan has: how long, by what settings, how kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from gs2.commands.common import COUNT, POSITIVE, SEED
from gs2.commands.training.setting_type import SettingType

__all__ = ["check_seed", "chosen_seed", "run_options", "whole_length"]

F = TypeVar("F", bound=Callable[..., Any])


def run_options(settings: SettingType, every: float) -> Callable[[F], F]:
    """Return what gives a command these options.

    settings: fields that --set changes. every: seconds between checkpoints, unless the command line says.
    """
    options = (
        click.option(
            "--minutes",
            type=POSITIVE,
            help="Length of this call, on top of what a resumed run has.  [default: 10]",
        ),
        click.option(
            "--decisions", type=COUNT, help="End after this many decisions, those of a resumed run included."
        ),
        click.option("--resume", is_flag=True, help="Continue the training of the output, if it exists."),
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
            help="Seconds between checkpoints.",
        ),
        click.option("--seed", type=SEED, help="Seed of the network and self-play.  [default: 0]"),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    )

    def with_options(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options


def whole_length(minutes: float | None, kept: Path | None, spent: str = "seconds") -> float | None:
    """Return the minutes at which a training ends, resumed parts included; None for no limit.

    minutes: of this call. kept: the checkpoint to go on with, None for none. spent: the field that says how
    many seconds it has had.
    """
    from blueprint.checkpoint import check_description, read_checkpoint

    if minutes is None or kept is None:
        return minutes
    description = read_checkpoint(kept, prefix="-")[1]
    check_description(kept, description, {spent: float})
    return minutes + float(description[spent]) / 60


def chosen_seed(asked: int | None, changes: dict[str, Any], kept: Path | None) -> int:
    """Return the seed of a training, that of the checkpoint where it is resumed.

    asked: by --seed, None if it was not given. changes: by --set. kept: the checkpoint to go on with, None
    for none.
    Raises UsageError for another seed than the training has, and for two seeds.
    """
    from blueprint.checkpoint import check_description, read_checkpoint

    if kept is None:
        seed = changes.get("seed", asked)
        if asked not in (None, seed):
            raise click.UsageError(f"a training has one seed; got --seed {asked} and --set seed={seed}")
        return 0 if seed is None else int(seed)
    description = read_checkpoint(kept, prefix="-")[1]
    check_description(kept, description, {"config": dict})
    seed = int(description["config"].get("seed", 0))
    check_seed(seed, asked, "--seed ")
    return seed


def check_seed(seed: int, asked: int | None, option: str = "--set seed=") -> None:
    """Raise UsageError where an option asks for another seed than that of a training that goes on."""
    if asked not in (None, seed):
        raise click.UsageError(
            f"a resumed training keeps its seed, {seed}; got {option}{asked}; leave it out, or train "
            "elsewhere"
        )
