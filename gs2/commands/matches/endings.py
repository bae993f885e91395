"""How comparisons of agents end: interrupted, with what goes on from there; or with tables and a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

from gs2.commands.common import Interruption, print_json, stderr, stdout

__all__ = ["end_interrupted", "show_ladder"]


class _Rated(Protocol):
    def to_json(self) -> dict[str, Any]:
        """Return the ladder."""
        ...


Found = TypeVar("Found", bound=_Rated)


def end_interrupted(asked: Interruption, kept: Path | None) -> NoReturn:
    """Say what goes on from the results kept so far, and exit as interrupted commands do."""
    hint = f"; the same command goes on from {kept}" if kept else "; --output lets it go on later"
    stderr().print(f"interrupted{hint}", soft_wrap=True)
    raise SystemExit(asked.exit_code)


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
