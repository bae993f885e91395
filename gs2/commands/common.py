"""What the commands share: the type of a game argument, tables, JSON and progress on stderr."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

if TYPE_CHECKING:
    from games.game import Game

__all__ = ["GAME", "GameType", "Interruption", "memory_option", "number", "print_json", "stderr", "stdout"]


class GameType(click.ParamType):
    """A game string such as `liars_dice(sides=5)`; converts to the game."""

    name = "game"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Game:
        """Return the game; the registry's own error, with near matches, reaches the user."""
        from games.registry import load_game

        return load_game(value) if isinstance(value, str) else value


GAME = GameType()


def _allow_memory(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Set the limit for this command and the processes that it starts."""
    if value is None:
        return
    from cfr.memory import VARIABLE, in_bytes

    in_bytes(value)
    before = os.environ.get(VARIABLE)

    def restore() -> None:
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before

    os.environ[VARIABLE] = value
    ctx.call_on_close(restore)


def memory_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with an option --memory, the memory that a game's tree may take."""
    return click.option(
        "--memory",
        metavar="SIZE",
        expose_value=False,
        is_eager=True,
        callback=_allow_memory,
        help="Memory that the game's tree may take: 500M, 4G, unlimited.  [default: GS2_MEMORY, or 2/3 of "
        "what is free]",
    )(command)


class Interruption:
    """Within the block, Ctrl-C and a terminate signal only set `stop`, so that long work ends whole."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.stop = False

    def __enter__(self) -> Interruption:
        def ask(number: int, frame: FrameType | None) -> None:
            self.stop = True

        self._before = [signal.signal(name, ask) for name in self.SIGNALS]
        return self

    def __exit__(self, *exception: object) -> None:
        for name, handler in zip(self.SIGNALS, self._before, strict=True):
            signal.signal(name, handler)


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
