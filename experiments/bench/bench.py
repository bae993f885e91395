"""What a bench is: something whose speed is measured, with its options, its record and its tables.

`gs2 bench` finds benches by the entry points `gs2.benches`, ours and anybody's:

    [project.entry-points."gs2.benches"]
    mine = "my_package.bench:MINE"

`MINE` is an object with what `Bench` lists; `check_bench` says what it lacks. Help is shown for every bench,
so a module with one should import what takes long inside `run`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from experiments.bench.works import function_at
from gs2.commands.common import number_table

if TYPE_CHECKING:
    from rich.table import Table

GROUP = "gs2.benches"
"""Entry points that add benches."""
RESERVED = ("output", "as_json")
"""Options that every bench has."""
Progress = Callable[[str], None]
"""Told in a few words what is measured next."""
Record = TypeVar("Record")


class BenchError(ValueError):
    """An object that is no bench: the rule, what was found and the next step."""


class Bench(Protocol[Record]):
    """Something whose speed `gs2 bench NAME` measures.

    name: as it is typed. title: of its document. help: what it measures, in a first sentence of one line.
    about: how the figures were taken, in words. options: click's own, without `--output` and `--json`.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def help(self) -> str: ...
    @property
    def about(self) -> str: ...
    @property
    def options(self) -> Sequence[click.Parameter]: ...

    def run(self, progress: Progress, *args: Any, **options: Any) -> Record:
        """Return what was measured, a dataclass or a list of them; options: by the names of `options`."""
        ...

    def tables(self, result: Record) -> list[Table]:
        """Return the record as tables for a terminal."""
        ...


@dataclass(frozen=True)
class SpeedBench:
    """A bench of two functions, each named as `module:function` and imported when it runs.

    measure: takes the options by their names, and `progress`. show: takes what that returns; where it is left
    out, that is a list of `Speed`.
    """

    name: str
    title: str
    help: str
    about: str
    options: Sequence[click.Parameter]
    measure: str
    show: str = ""

    def run(self, progress: Progress, **options: Any) -> Any:
        """Return what was measured."""
        return function_at(self.measure)(progress=progress, **options)

    def tables(self, result: Any) -> list[Table]:
        """Return the record as tables."""
        if self.show:
            found: list[Table] = function_at(self.show)(result)
            return found
        heads = "work | a second of processor time | quartiles | by the wall | at once | share of a core"
        rows = [
            (row, *(_rate(rate) for rate in (row.processor, row.low, row.high, row.wall))) for row in result
        ]
        cells = "{0.work} | {1} {0.counts} | {2}–{3} | {4} | {0.at_once} | {0.share:.0%}"
        return [figures(self.title, heads, cells, rows)]


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def figures(
    title: str, heads: str, cells: str, rows: Iterable[Any], *, words: int = 1, **drawn: Any
) -> Table:
    """Return a table to print: its first columns, as many as `words`, are of words, the others of figures.

    heads, cells: of each column the heading, and the format of a cell, as of `str.format`; " | " is between.
    rows: what each row's formats take, a tuple or one record. drawn: what `rich.table.Table` also takes.
    """
    table = number_table(*heads.split(" | "), words=words, lines=True, title=title, **drawn)
    for row in rows:
        given = row if isinstance(row, tuple) else (row,)
        table.add_row(*(cell.format(*given) for cell in cells.split(" | ")))
    return table


def check_bench(bench: Any) -> None:
    """Return None if an object is a bench. Raises BenchError with the rule that it breaks."""

    def need(holds: bool, rule: str, found: object) -> None:
        if not holds:
            raise BenchError(f"bench {getattr(bench, 'name', bench)!r}: {rule}; got {found!r}; change it")

    for word in ("name", "title", "help", "about"):
        found = getattr(bench, word, None)
        need(isinstance(found, str) and bool(found.strip()), f"{word} must be text", found)
    need(
        re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", bench.name) is not None,
        "name must be small letters and digits, in words joined by -",
        bench.name,
    )
    options = getattr(bench, "options", None)
    need(
        isinstance(options, Sequence) and all(isinstance(option, click.Parameter) for option in options),
        "options must be a sequence of click options and arguments",
        options,
    )
    names = [option.name for option in bench.options]
    need(not set(names) & set(RESERVED), f"{' and '.join(RESERVED)} are every bench's own options", names)
    for word in ("run", "tables"):
        need(callable(getattr(bench, word, None)), f"{word} must be a method", getattr(bench, word, None))
    try:
        inspect.signature(bench.run).bind(print, **dict.fromkeys(filter(None, names)))
        inspect.signature(bench.tables).bind(None)
    except TypeError as error:
        raise BenchError(
            f"bench {bench.name!r}: run must take a function for progress and the options by name, tables a "
            f"result; got {error}; change it"
        ) from error
