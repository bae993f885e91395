"""What the commands share: types of arguments, common options, tables, JSON and progress on stderr."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from rich.console import Console
from rich.text import Text

from games.support.counts import MOST
from games.support.interruption import Interruption

if TYPE_CHECKING:
    from rich.table import Table

    from games.game import Game
    from games.support.work.where import Place


class GameType(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """A game string such as `liars_dice(sides=5)`; converts to the game.

    general_sum: whether one whose payoffs do not sum to zero is taken.
    """

    name = "game"

    def __init__(self, *, general_sum: bool = False) -> None:
        self.general_sum = general_sum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Game:
        """Return the game; the registry's own error, with near matches, reaches the user."""
        from games.registry import load_game

        if isinstance(value, str) and ctx is not None:
            ctx.meta[GAME_TYPED] = value
        return load_game(value, general_sum=self.general_sum) if isinstance(value, str) else value


GAME = GameType()
ANY_GAME = GameType(general_sum=True)
GAME_TYPED = "gs2.game"
"""Where a command's context keeps the game string as it was typed: a game of one's own has no other name."""


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the text of a size; what is none is refused before any work is done."""
    from cfr.tree.memory import in_bytes

    if value is not None:
        in_bytes(value)
    return value


@contextlib.contextmanager
def _memory(size: str | None) -> Iterator[None]:
    """Let trees take that much, here and in the processes that are started, for as long as it is open."""
    from cfr.tree.memory import VARIABLE

    before = os.environ.get(VARIABLE)
    if size is not None:
        os.environ[VARIABLE] = size
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before


def memory_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with an option --memory, the memory that a game's tree may take."""

    @functools.wraps(command)
    def limited(*values: Any, memory: str | None, **named: Any) -> Any:
        with _memory(memory):
            return command(*values, **named)

    return click.option(
        "--memory",
        metavar="SIZE",
        callback=_size,
        help="Memory that the game's tree may take: 500M, 4G, unlimited.  [default: GS2_MEMORY, or 2/3 of "
        "what is free]",
    )(limited)


class Names(click.ParamType):  # type: ignore[type-arg]
    """Names of agents separated by commas; converts to a tuple of them.

    A comma in brackets, or before a FIELD=VALUE, is part of a name.
    """

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(name.strip() for name in re.split(r",(?![^()]*\))(?!\s*\w+\s*=)", str(value)))
        if not all(names):
            rule = f"names are separated by commas, none empty; got {value!r}; leave the option out for none"
            self.fail(rule, param, ctx)
        return names


class FiniteRange(click.FloatRange):
    """A finite number within bounds: neither nan, which no bound stops, nor infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return found

    def _describe_range(self) -> str:
        """Return the bounds for the help; none where there are none, which click would call `x<=None`."""
        return "" if self.min is None and self.max is None else super()._describe_range()


class CountType(click.IntRange):
    """A number of things to do, with an upper bound that the help names."""

    def __init__(self, least: int = 1, most: int = MOST) -> None:
        super().__init__(least, most)

    def _describe_range(self) -> str:
        """Return the bounds in words."""
        return f"{self.min:,} to {self.max:,}"


class WhereType(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """Where pieces of work are done: `local`, or a cluster that runs Ray."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Place:
        """Return the place; words that name none, and a cluster without Ray installed here, are refused."""
        from games.support.work.where import Place, installed, where_from

        return value if isinstance(value, Place) else installed(where_from(value))


ON = click.option(
    "--on",
    type=WhereType(),
    default="local",
    show_default=True,
    metavar="PLACE",
    help="Place that does the work: local, ray, ray:HOST:PORT, ray://HOST:PORT.",
)
"""The option --on of commands whose work is many independent pieces."""
COUNT = CountType()
CORES = CountType(most=1 << 12)
"""Threads, or processes: far more than a machine has, or a cluster of many."""
FINITE = FiniteRange()
POSITIVE = FiniteRange(min=0, min_open=True)
NOT_NEGATIVE = FiniteRange(min=0)
SHARE = FiniteRange(0, 1)
NAMES = Names()
SEED = click.IntRange(0, (1 << 63) - 1)
"""What every random generator here takes as its seed."""


class OutputType(click.Path):
    """A file or a folder to write: that it can be is found out before any work is done.

    folder: whether a folder is wanted; it need not exist. new: whether a file that is there is refused.
    """

    def __init__(self, *, folder: bool = False, new: bool = False) -> None:
        super().__init__(path_type=Path)
        self.folder, self.new = folder, new

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path; the reason why it cannot be written, in one line, reaches the user."""
        from games.support.files import FileProblem, check_folder, check_output

        path = check_folder(value, create=False) if self.folder else check_output(value)
        if self.new and path.exists():
            raise FileProblem(f"{path}: must be a new file; this one is there; choose another name")
        if ctx is not None and param is not None:
            first = ctx.meta.setdefault(f"gs2.output {os.path.realpath(path)}", param)
            if first is not param:
                names = f"{first.opts[-1]} and {param.opts[-1]}"
                raise FileProblem(f"{names} must name two files; got {path} for both; change one")
        return path


def html_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option --html, called `page`: one file that shows `what` in any browser."""
    return click.option(
        "--html", "page", type=NEW_FILE, metavar="FILE", help=f"Write {what} as a page of one new file."
    )


def policy_file(ctx: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
    """Return the file of a policy, a callback of an option; a name that is read as a network's is refused."""
    if path is not None and path.suffix == ".safetensors":
        rule = "a policy must not end with .safetensors, by which it would be read as a network"
        raise click.BadParameter(f"{rule}; got {path}; end it with .npz", ctx, param)
    return path


def held_new(path: Path) -> Path:
    """Return a new file, which no other process writes until the command ends."""
    from games.support.locks import hold

    NEW_FILE.convert(path, None, None)
    click.get_current_context().with_resource(hold(path))
    return NEW_FILE.convert(path, None, None)  # who held it until now may have written it


def held_checkpoint(path: Path, *, new: Iterable[Path] = ()) -> Path:
    """Return a new file for a checkpoint, as of `held_new`, beside which its description can be written.

    Its folder is made if it is missing. new: other files that may not be there.
    """
    from blueprint.checkpoint import check_beside
    from games.support.files import check_folder

    if not path.name:
        NEW_FILE.convert(path, None, None)  # a folder, of which no other name can be made
    check_beside(path, new=new)
    check_folder(path.parent)
    return held_new(path)


OUTPUT_FILE = OutputType()
OUTPUT_FOLDER = OutputType(folder=True)
NEW_FILE = OutputType(new=True)


def need_extra(extra: str, *packages: str) -> None:
    """Raise UsageError that names the extra of gs2 to install where one of its packages is missing."""
    from importlib.util import find_spec

    for name in packages:
        if find_spec(name) is None:
            raise click.UsageError(f"{name} is not installed; pip install 'gs2[{extra}]' brings it")


PICTURES = {".svg": b"<svg", ".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-"}
"""What stands near the beginning of a picture, by the end of its name."""


def check_plot(plot: Path | None) -> None:
    """Refuse a picture that could not be written, or would replace another kind of file, before any play."""
    if plot is None:
        return
    need_extra("plots", "matplotlib")
    if plot.suffix not in PICTURES:
        raise click.UsageError(f"--plot must name a .svg, .png or .pdf file; got {str(plot)!r}")
    if plot.exists():
        from games.support.files import open_regular

        with open_regular(plot) as file:
            begins = file.read(512)
        if PICTURES[plot.suffix] not in begins:
            raise click.UsageError(
                f"--plot replaces a {plot.suffix} picture, and {plot} is none; choose another name"
            )


class PlainConsole(Console):
    """A console that prints names as they are, and lines of text whole; tables fit its width."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def print(self, *objects: Any, **how: Any) -> None:
        """Print objects as `rich` does, text without breaking its lines."""
        whole = all(isinstance(one, str | Text) for one in objects)
        super().print(*objects, **{"soft_wrap": whole, **how})


def stdout() -> Console:
    """Return the console for results; wide enough for a table where the output is not a terminal."""
    console = PlainConsole()
    return console if console.is_terminal else PlainConsole(width=max(console.width, 110))


def stderr() -> Console:
    """Return the console for progress."""
    return PlainConsole(stderr=True)


def bold(words: str) -> Text:
    """Return words in bold, to print before or in a table."""
    return Text(words, "bold")


def print_json(value: Any) -> None:
    """Print one JSON document; of NumPy plain numbers and lists, of what is not finite null."""

    def plain(item: Any) -> Any:
        if hasattr(item, "tolist"):
            return item.tolist()
        raise TypeError(f"not JSON: {type(item).__name__}")

    found = json.loads(json.dumps(value, default=plain), parse_constant=lambda name: None)
    click.echo(json.dumps(found, indent=1))


def number(value: float, digits: int = 4, *, sign: str = "") -> str:
    """Return a payoff in words: fixed decimals, fewer from 1,000 on; powers of ten where those show nothing.

    What rounding leaves of zero is zero. sign: "+" or " " begins what is not below zero.
    """
    if value != value:
        return "–"
    value = 0.0 if abs(value) < 1e-14 else value
    if value != 0 and abs(value) < 10**-digits:
        return f"{value:{sign}.1e}"
    return f"{value:{sign}.{digits}f}" if abs(value) < 1000 else f"{value:{sign},.{digits + 3}g}"


def number_table(*headings: str, words: int = 1, lines: bool = False, **drawn: Any) -> Table:
    """Return a table with words in its first columns and numbers, to the right, in the others.

    lines: draw them. drawn: what `rich.table.Table` also takes.
    """
    from rich.table import Table

    style: dict[str, Any] = {} if lines else {"box": None, "pad_edge": False, "padding": (0, 2, 0, 0)}
    table = Table(**style, **drawn)
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index < words else "right")
    return table


def lock_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with --lock and --lock-seat, which reach it as one `lock`, or None."""

    @functools.wraps(command)
    def locking(*values: Any, lock: Path | None, lock_seat: int | None, **named: Any) -> Any:
        if lock is None and lock_seat is not None:
            raise click.UsageError(
                f"--lock-seat chooses one player's part of a lock; got {lock_seat} without --lock"
            )
        if lock is None:
            return command(*values, lock=None, **named)
        from gs2.policies.runs import LockChoice

        output = named.get("output")
        if output is not None and output.exists() and output.samefile(lock):
            raise click.UsageError(
                f"--lock and --output must name two files; got {lock} for both; change one"
            )
        return command(*values, lock=LockChoice(lock, lock_seat), **named)

    seat = click.option("--lock-seat", type=CountType(0), help="Lock this player's infosets alone.")
    file = click.option(
        "--lock",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Fix the play at the infosets of this file: a policy, or JSON {infoset: {action: probability}}.",
    )
    return file(seat(locking))


def end_interrupted(asked: Interruption, kept: Path | None) -> NoReturn:
    """Say what goes on from the results kept so far, and exit as interrupted commands do."""
    hint = f"; the same command continues from {kept}" if kept else "; --output lets it continue later"
    stderr().print(f"interrupted{hint}")
    raise SystemExit(asked.exit_code)
