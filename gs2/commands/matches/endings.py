"""How comparisons of agents end: interrupted, or with a verdict, tables and a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

from gs2.commands.common import Interruption, print_json, stderr, stdout

__all__ = ["end_interrupted", "show_ladder", "verdict"]


class _Rated(Protocol):
    def to_json(self) -> dict[str, Any]:
        """Return the ladder."""
        ...


Found = TypeVar("Found", bound=_Rated)


def end_interrupted(asked: Interruption, kept: Path | None) -> NoReturn:
    """Say what goes on from the results kept so far, and exit as interrupted commands do."""
    hint = f"; the same command continues from {kept}" if kept else "; --output lets it continue later"
    stderr().print(f"interrupted{hint}", soft_wrap=True)
    raise SystemExit(asked.exit_code)


def verdict(
    names: tuple[str, str], count: int, interval: tuple[float, float], *, even: float, option: str
) -> str:
    """Return the sentence that says which of two agents is stronger, or why that is open.

    count: observations behind the interval. even: its value between equals. option: raises the count.
    """
    from games.support.bootstrap import ENOUGH

    low, high = interval
    if count < ENOUGH:
        return f"No winner yet: a verdict takes {ENOUGH}, and there are {count}. Raise {option}."
    if low > even or high < even:
        return f"{names[0] if low > even else names[1]} is the stronger one."
    contains = f"{100 * even:.0f} %" if even else "0"
    return f"No winner yet: the interval contains {contains}. Raise {option} to narrow it."


def show_ladder(
    found: Found,
    tell: Callable[[Found], None],
    draw: Callable[[Found, Path], None],
    plot: Path | None,
    as_json: bool,
) -> None:
    """Draw a ladder where a picture is wanted, and print it: as JSON, or as `tell` does."""
    if plot is not None:
        draw(found, plot)
    if as_json:
        print_json(found.to_json())
        return
    tell(found)
    if plot is not None:
        stdout().print(f"Drawn in {plot}.")
