"""Rows of a refinement experiment, one for each cell, and the files that they stand in.

A run folder has two: `rows.csv`, and `grid.json`, which says what the rows are of: the grid, and under
`made_of` the fingerprints of the files that its names hold and of the games' trees.

Rows that differ only in their seed are summed up as one line with an interval.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from experiments.refinement.grid import Cell, Grid, GridError, differs_by_seed, mode_of
from games.support.bootstrap import bootstrap_interval
from games.support.files import read_bytes, unique, write_text
from games.support.work.carried import files_seen, modules_seen

ROWS = "rows.csv"
"""A run folder's file of rows."""
GRID = "grid.json"
"""Its file of what they are of."""
MADE_OF = "made_of"
NOTHING = 1e-12
"""Exploitability, in payoffs, of an equilibrium up to rounding: one as good as another is level with it."""


@dataclass(frozen=True)
class Row:
    """One cell's result.

    The first fields name the cell (`experiments.refinement.grid.Cell`). exploitability: NashConv / 2 of the
    spliced policy of both players; blueprint_exploitability: before. searches, skipped: infosets of both
    players searched, and left alone. late: searches that their limit cut short; where there are none, the
    same cell with a longer limit is the same run, and its row is a copy. ran_at: limit of the run. nodes,
    kept, iterations, anchor: means over searches. median_ms, p99_ms: time of a search. seconds: of all of
    them. commit: of the code, "+" if it was changed since.
    """

    game: str
    blueprint: str
    method: str
    mode: str
    limit: float | None
    cap: int | None
    sample: int | None
    seed: int
    blueprint_exploitability: float
    exploitability: float
    searches: int
    skipped: int
    late: int
    ran_at: float | None
    nodes: float
    kept: float
    iterations: float
    anchor: float
    median_ms: float
    p99_ms: float
    seconds: float
    commit: str

    @property
    def cell(self) -> Cell:
        """The cell that this is the result of."""
        return Cell(*(getattr(self, field.name) for field in fields(self)[: len(fields(Cell))]))

    @property
    def ratio(self) -> float:
        """Exploitability over the blueprint's; what is below `NOTHING` counts as that."""
        return max(self.exploitability, NOTHING) / max(self.blueprint_exploitability, NOTHING)


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, one per cell; a last line cut short by a kill is left out.

    Raises GridError if the file has other columns or a damaged row, FileProblem if it cannot be read.
    Warns with DoubleRows where a cell comes again.
    """
    names = [field.name for field in fields(Row)]
    data = read_bytes(path)
    try:
        whole = data[: data.rfind(b"\n") + 1].decode()
        lines = list(csv.reader(io.StringIO(whole, newline="")))
    except (csv.Error, UnicodeDecodeError) as error:
        raise GridError(f"{path}: not a file of comma-separated values ({error}); run it afresh") from error
    if not lines or lines[0] != names:
        raise GridError(f"{path}: its columns must be {','.join(names)}; run the experiment afresh")
    rows = []
    for number, values in enumerate(lines[1:], 2):
        try:
            rows.append(_parsed(dict(zip(names, values, strict=True))))
        except ValueError as error:
            raise GridError(
                f"{path}, row {number}: {len(names)} values are wanted, most of them numbers ({error}); "
                "delete the row, and run the experiment again"
            ) from error
    return unique(rows, lambda row: row.cell.key, path)


def read_grid(folder: Path) -> dict[str, Any]:
    """Return the fields of the grid that a folder of rows belongs to.

    Raises GridError if its `grid.json` is missing or damaged.
    """
    return {name: value for name, value in _told(folder).items() if name != MADE_OF}


def _told(folder: Path) -> dict[str, Any]:
    """Return what a folder's `grid.json` holds."""
    path = folder / GRID
    try:
        told = json.loads(read_bytes(path))
        if not isinstance(told, dict) or not isinstance(told.get("name"), str):
            raise ValueError("it must be an object with a name")
        prints = told.get(MADE_OF, {})
        if not isinstance(prints, dict) or not all(isinstance(kind, dict) for kind in prints.values()):
            raise ValueError(f"{MADE_OF} must hold fingerprints by name")
    except FileNotFoundError:
        raise GridError(f"{folder}: it must hold a grid.json; name the folder of a run") from None
    except (ValueError, RecursionError) as error:
        raise GridError(f"{path}: not the grid of an experiment ({error}); run it in a new folder") from error
    return told


class GridFile:
    """The `grid.json` of a run folder: rows of another grid, or of other files, must not join its own.

    Only files that names hold are looked at, not what these import.
    """

    def __init__(self, folder: Path, grid: Grid) -> None:
        """Read the file, if there is one. Raises GridError if it is damaged or another grid's."""
        self._folder, self._grid = folder, json.loads(json.dumps(grid.to_json()))
        self._old = (folder / GRID).exists()
        self._told = _told(folder) if self._old else {}
        held = {name: value for name, value in self._told.items() if name != MADE_OF}
        if self._old and held != self._grid:
            other = next(name for name in {**held, **self._grid} if held.get(name) != self._grid.get(name))
            raise GridError(
                f"{folder}: it must hold the same grid as this run; its {other} are {held.get(other)!r}, got "
                f"{self._grid.get(other)!r}; choose a new folder"
            )
        prints = self._told.get(MADE_OF, {})
        self._trees: dict[str, str] = dict(prints.get("trees", {}))
        self._files: dict[str, str] = {}

    def open(self, say: Callable[[str], None]) -> None:
        """Hold the files that the grid names against those its rows were made with; write down new ones.

        say: told where rows of before are of unknown files. Raises GridError where one has changed.
        """
        self._files = _files_of(self._grid)
        before = self._told.get(MADE_OF)
        if self._old and before is None and self._files:
            say(
                f"{self._folder}: it does not say what {', '.join(self._files)} held when its rows were "
                "made; from now on a change is noticed"
            )
        known = self._files if before is None else before.get("files", {})
        for name in sorted({*known, *self._files}):
            self._require(name, known.get(name), self._files.get(name))
        if before is None:
            self._write()

    def note_tree(self, game: str, digest: str) -> None:
        """Write down a game's tree before its first row. Raises GridError if it is another than before."""
        if game not in self._trees:
            self._trees[game] = digest
            self._write()
        self._require(f"the tree of {game}", self._trees[game], digest)

    def _require(self, what: str, then: str | None, now: str | None) -> None:
        if then != now:
            raise GridError(
                f"{self._folder}: {what} must be as it was when its rows were made, with the fingerprint "
                f"{str(then)[:12]}; got {str(now)[:12]}; choose a new folder, or put the old one back"
            )

    def _write(self) -> None:
        prints = {"files": self._files, "trees": self._trees}
        write_text(self._folder / GRID, json.dumps(self._grid | {MADE_OF: prints}, indent=1) + "\n")


def _files_of(grid: dict[str, Any]) -> dict[str, str]:
    """Return the fingerprint of each file and module that a grid's names hold."""
    found: dict[str, str] = {}
    for name in (*grid["games"], *grid["blueprints"], *grid["methods"]):
        found |= modules_seen(name)
        for path, _, _ in files_seen(name):
            with open(path, "rb") as file:
                found[path] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _parsed(values: dict[str, str]) -> Row:
    """Return a row from the text of its fields. Raises ValueError for what is no such number."""
    made: dict[str, Any] = {}
    for field in fields(Row):
        named, text = str(field.type), values[field.name]
        if text == "" and "None" in named:
            made[field.name] = None
        elif named.startswith("str"):
            made[field.name] = text
        else:
            made[field.name] = int(text) if named.startswith("int") else float(text)
    return Row(**made)


def csv_line(values: list[Any]) -> str:
    """Return a line of a file of comma-separated values, without its end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(values)
    return out.getvalue()


RESAMPLES = 2000
_CellKey = tuple[str, str, str, str, float | None, int | None, int | None]
Item = TypeVar("Item")


@dataclass(frozen=True)
class CellSummary:
    """Rows that differ only in their seed.

    ratio: mean exploitability over the blueprint's, with a 95 % bootstrap interval over seeds (low = high =
    ratio for one seed). exploitability, blueprint: means. seeds: rows. median_ms: of a search. worst: largest
    ratio of any seed. nodes, anchor: means over searches.
    """

    game: str
    blueprint: str
    method: str
    mode: str
    limit: float | None
    cap: int | None
    sample: int | None
    seeds: int
    blueprint_exploitability: float
    exploitability: float
    ratio: float
    low: float
    high: float
    worst: float
    median_ms: float
    nodes: float
    anchor: float


RowT = TypeVar("RowT", Row, CellSummary)


def grouped(items: Iterable[Item], key: Callable[[Item], Any]) -> dict[Any, list[Item]]:
    """Return items by what `key` says of them, in the order of first appearance."""
    found: dict[Any, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def summarise_cells(rows: Iterable[Row]) -> list[CellSummary]:
    """Return one summary per cell, in the order of first appearance."""
    cells: dict[_CellKey, list[Row]] = grouped(
        rows, lambda r: (r.game, r.blueprint, r.method, r.mode, r.limit, r.cap, r.sample)
    )
    out = []
    for cell, members in cells.items():
        ratios = np.array([row.ratio for row in members])
        low = high = float(ratios.mean())
        if len(ratios) > 1:
            low, high = bootstrap_interval(ratios, np.random.default_rng(0), resamples=RESAMPLES)
        out.append(
            CellSummary(
                *cell,
                seeds=len(members),
                blueprint_exploitability=_mean(members, "blueprint_exploitability"),
                exploitability=_mean(members, "exploitability"),
                ratio=float(ratios.mean()),
                low=low,
                high=high,
                worst=float(ratios.max()),
                median_ms=_mean(members, "median_ms"),
                nodes=_mean(members, "nodes"),
                anchor=_mean(members, "anchor"),
            )
        )
    return out


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(np.mean([getattr(row, name) for row in rows]))


def common_seeds(ours: Sequence[Row], theirs: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return those rows of two methods whose seeds both have."""
    seeds = {row.seed for row in ours} & {row.seed for row in theirs}
    return [row for row in ours if row.seed in seeds], [row for row in theirs if row.seed in seeds]


def same_blueprints(ours: Sequence[Row], theirs: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return those rows of two methods in one cell that started from the same blueprints."""
    if any(differs_by_seed(row.blueprint) for row in ours):
        return common_seeds(ours, theirs)
    return list(ours), list(theirs)


def of_equal_blueprints(rows: Sequence[Row]) -> list[list[Row]]:
    """Return rows of one game and blueprint in parts, in each of which all methods had the same blueprints.

    One part, or, where every seed has a blueprint of its own, one for each set of seeds that a method has:
    the rows with these seeds of all methods that have them.
    """
    if not any(differs_by_seed(row.blueprint) for row in rows):
        return [list(rows)]
    methods = grouped(rows, lambda row: row.method)
    seeds = {method: {row.seed for row in found} for method, found in methods.items()}
    wanted = sorted({tuple(sorted(found)) for found in seeds.values()}, key=lambda some: (-len(some), some))
    return [
        [row for row in rows if row.seed in some and seeds[row.method].issuperset(some)] for some in wanted
    ]


def block_of(summary: CellSummary | Row) -> tuple[Any, ...]:
    """Return what one table holds, (game, blueprint, mode, sample).

    A method that is always sequential stands with those that are nested; one that was told to be, apart.
    """
    alone = summary.mode == "sequential" == mode_of(summary.method, "nested")
    return summary.game, summary.blueprint, "nested" if alone else summary.mode, summary.sample


STRENGTH_METHODS = (
    "gs2-d:k=3",
    "gs2-r:k=3",
    "gs2-r:k=3,draws=5",
    "1-klss",
    "gs2+",
    "gs2+path",
    "gs2+>gs2+path",
)
"""Columns of the table by the strength of the blueprint; single draws of GS2-R beside their mixture."""
FEW_BLUEPRINTS = 3
"""Blueprints of one game from which on their strength is worth a table."""


def by_strength(summaries: Sequence[RowT]) -> list[RowT]:
    """Return the rows of nested searches of 300 iterations, methods and games that the table shows."""
    rows = [
        row
        for row in summaries
        if row.method in STRENGTH_METHODS
        and block_of(row)[2] == "nested"
        and (row.limit, row.cap, row.sample) == (None, 300, None)
    ]
    games = grouped(rows, lambda row: row.game)
    return [row for row in rows if len({one.blueprint for one in games[row.game]}) >= FEW_BLUEPRINTS]
