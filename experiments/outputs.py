"""Where reports go: beside the run, to the current folder or the results of the checkout; never a package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from experiments.commit import checkout_of_code
from games.support.files import FileProblem, check_output
from gs2.commands.common import OUTPUT_FILE

__all__ = ["NoCheckoutError", "report_file", "report_options"]

RESULTS = Path("experiments") / "results"
"""The reports of the project itself, in its checkout; an installed gs2 has none."""


class NoCheckoutError(ValueError):
    """Results of the project that were to be renewed where there is no checkout."""


def report_options(
    name: str, place: str = "this folder"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the options `--output` and `--checkout` of a command that writes the report called `name`.

    place: where it goes by default, in words.
    """
    output = click.option(
        "-o", "--output", type=OUTPUT_FILE, help=f"Markdown file.  [default: {name} in {place}]"
    )
    checkout = click.option(
        "--checkout", is_flag=True, help=f"Write {(RESULTS / name).as_posix()} of gs2's checkout instead."
    )
    return lambda command: output(checkout(command))


def report_file(
    name: str, output: Path | None, checkout: bool, *, heading: str = "", folder: Path = Path()
) -> Path:
    """Return where a report is written: what was asked for, else `name` in a folder, the current one.

    heading: first line of the reports that may be replaced there; none for a report that replaces nothing.
    Raises NoCheckoutError if the checkout was asked for and the code lies in none, or a file besides, and
    FileProblem if the report cannot be written there, or a file is there that is no earlier report.
    """
    if not checkout:
        found = check_output(folder / name) if output is None else output
        if heading and found.exists() and found.stat().st_size:
            with found.open("rb") as file:
                ours = file.readline(200).rstrip() == heading.encode()
            if not ours:
                raise FileProblem(f"{found}: it must be an earlier report to be replaced; name another by -o")
        return found
    if output is not None:
        raise NoCheckoutError(f"--checkout: no file may be named beside it; got {output}; leave out one")
    root = checkout_of_code()
    if root is None:
        raise NoCheckoutError(
            f"--checkout: gs2 must run from a checkout; got {Path(__file__).parents[1]}; name a file by -o"
        )
    return check_output(root / RESULTS / name)
