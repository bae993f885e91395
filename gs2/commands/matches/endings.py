"""What comparisons of agents share: an earlier option, and the end of one that was interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import click

from gs2.commands.common import Interruption, stderr

__all__ = ["end_interrupted", "rounds_are_pairs"]


def rounds_are_pairs(how: dict[str, Any]) -> None:
    """Take --rounds, the earlier name of --pairs, out of a command's options, and say the present name."""
    rounds = how.pop("rounds")
    if rounds is None:
        return
    if how["pairs"] is not None:
        raise click.UsageError("--rounds must be left out where --pairs is given: it is its earlier name")
    stderr().print(f"--rounds is now --pairs {rounds}", soft_wrap=True)
    how["pairs"] = rounds


def end_interrupted(asked: Interruption, kept: Path | None) -> NoReturn:
    """Say what goes on from the results kept so far, and exit as interrupted commands do."""
    hint = f"; the same command continues from {kept}" if kept else "; --output lets it continue later"
    stderr().print(f"interrupted{hint}", soft_wrap=True)
    raise SystemExit(asked.exit_code)
