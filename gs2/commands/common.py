"""What the commands share: the type of a game argument, tables, JSON and progress on stderr."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

if TYPE_CHECKING:
    from games.game import Game

__all__ = ["GAME", "GameType", "number", "print_json", "stderr", "stdout"]


class GameType(click.ParamType):
    """A game string such as `liars_dice(sides=5)`; converts to the game."""

    name = "game"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Game:
        """Return the game; the registry's own error, with near matches, reaches the user."""
        from games.registry import load_game

        return load_game(value) if isinstance(value, str) else value


GAME = GameType()


def stdout() -> Console:
    """Return the console for results; wide enough for a table where the output is not a terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=max(console.width, 110))


def stderr() -> Console:
    """Return the console for progress."""
    return Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Print one JSON document; NumPy numbers and arrays become plain ones."""

    def plain(item: Any) -> Any:
        if hasattr(item, "tolist"):
            return item.tolist()
        raise TypeError(f"not JSON: {type(item).__name__}")

    click.echo(json.dumps(value, default=plain, indent=1))


def number(value: float, digits: int = 4) -> str:
    """Return a payoff in words: fixed decimals, or powers of ten where those would show nothing."""
    if value != value:
        return "–"
    if value != 0 and abs(value) < 10**-digits:
        return f"{value:.1e}"
    return f"{value:.{digits}f}"
