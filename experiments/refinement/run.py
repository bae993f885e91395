"""Run the refinement experiment: every cell of a grid, one row each, resumable at any point."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.best_response import best_response_values
from cfr.sequence_form import SequenceForm, sequence_form
from experiments.commit import commit_of_code
from experiments.refinement.grid import Cell, Grid, GridError
from experiments.refinement.mixture import mix_policies, split_draws
from games.registry import load_game
from games.support.files import LineFile, check_folder, read_bytes, read_text, unique, write_text
from games.support.interruption import Interrupted, breaking, deaf_children
from games.support.locks import hold
from gs2.parts import named_part
from gs2.policy_spec import policy_from_spec
from gs2.search.config.presets import preset
from gs2.search.config.search import SearchConfig
from gs2.search.context import SearchContext
from gs2.search.refine import RefineOptions, RefineStats, refine_both

__all__ = ["Row", "method_config", "method_passes", "read_grid", "read_rows", "run_cell", "run_grid"]

ROWS = "rows.csv"
UNTIL_SOLVED = 100_000
"""Iterations allowed where time is the limit."""
SOLVED = 1e-6
"""Exploitability, in payoffs, at which a subgame counts as solved and a search with time left ends."""


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
        return Cell(
            self.game, self.blueprint, self.method, self.mode, self.limit, self.cap, self.sample, self.seed
        )


def method_passes(
    method: str, limit: float | None = None, iterations: int | None = None
) -> tuple[SearchConfig, ...]:
    """Return the configurations of a method's passes: `gs2+>gs2+path` is one by each, one after the other.

    Raises ConfigError as `method_config`.
    """
    return tuple(method_config(one, limit, iterations) for one in method.split(">"))


def method_config(method: str, limit: float | None = None, iterations: int | None = None) -> SearchConfig:
    """Return the configuration of a method such as `gs2-d:k=5,entry_floor=0.05`, with a cell's limits.

    A limit binds what it can: a method without CFR has no iterations to limit.
    Raises ConfigError for an unknown preset or field, a value out of range, or a contradiction.
    """
    name, _, words = method.partition(":")
    changes: dict[str, Any] = {}
    for word in filter(None, words.split(",")):
        field, _, value = word.partition("=")
        words_only = isinstance(SearchConfig.defaults().get(field.strip()), str)
        changes[field.strip()] = value.strip() if words_only else _value(value.strip())
    for field in changes.keys() & {"generator", "gadget"}:
        changes[field] = named_part(field, changes[field])
    config = preset(name, **changes)
    limits: dict[str, Any] = {} if limit is None else {"time_limit": limit}
    if config.solve.solver == "cfr":
        if limit is not None:
            limits |= {"iterations": UNTIL_SOLVED, "target": SOLVED}
        if iterations is not None:
            limits["iterations"] = iterations
    return config.replace(**limits | changes) if limits else config


def _value(text: str) -> Any:
    """Return a number or None if the text spells one, else the text."""
    if text.lower() == "none":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


@lru_cache(maxsize=1)
def _prepared(game: str) -> tuple[SearchContext, SequenceForm]:
    context = SearchContext(load_game(game))
    return context, sequence_form(context.tree)


@lru_cache(maxsize=8)
def _blueprint(game: str, spec: str, seed: int) -> NDArray[np.float64]:
    context, form = _prepared(game)
    return policy_from_spec(spec, context.game, context.tree, form, seed=seed)


@dataclass(frozen=True, eq=False)
class _Refined:
    """One draw's strategy of both players, its searches, infosets left alone, and seconds."""

    policy: NDArray[np.float64]
    searches: tuple[RefineStats, ...]
    skipped: int
    seconds: float


def _refined(cell: Cell, policy: NDArray[np.float64]) -> _Refined:
    """Return what one draw of a cell makes of a blueprint."""
    began = time.perf_counter()
    context, _ = _prepared(cell.game)
    config = method_passes(cell.method, cell.limit, cell.iterations)
    infosets = []
    for player in (0, 1):
        mine = np.flatnonzero(context.tree.infoset_player == player)
        if cell.sample is not None and cell.sample < len(mine):
            rng = np.random.default_rng([cell.seed, player, 7])
            mine = np.sort(rng.choice(mine, cell.sample, replace=False))
        infosets.append(mine)
    options = RefineOptions(mode=cell.mode, seed=cell.seed, infosets=np.concatenate(infosets))
    both = refine_both(context, policy, config, options)
    return _Refined(both.policy, both.searches, both.skipped, time.perf_counter() - began)


KEPT_DRAWS = 64
"""Draws of mixtures that are remembered, for the rows of the same draws alone; megabytes each."""
_kept_draws: dict[tuple[Cell, int], _Refined] = {}


def run_cell(cell: Cell, commit: str = "") -> Row:
    """Return the result of one cell; repeatable to the bit where iterations, not time, are the limit.

    A method with `draws=D` is the mixture of the draws with the seeds s D to s D + D - 1, s the cell's own
    (`experiments.refinement.mixture`); searches, skipped, late and seconds are then their sums.
    """
    context, form = _prepared(cell.game)
    method, draws = split_draws(cell.method)
    drawn = cell.seed if cell.blueprint.startswith("dmc") else 0
    policy = _blueprint(cell.game, cell.blueprint, drawn)
    seeds = (cell.seed,) if draws is None else range(cell.seed * draws, (cell.seed + 1) * draws)
    found: list[_Refined] = []
    for seed in seeds:
        draw = replace(cell, method=method, seed=seed)
        done = _kept_draws.get((draw, drawn)) or _refined(draw, policy)
        if draws is not None:
            while len(_kept_draws) >= KEPT_DRAWS:
                _kept_draws.pop(next(iter(_kept_draws)))
            _kept_draws[draw, drawn] = done
        found.append(done)
    refined = found[0].policy
    if draws is not None:
        policies = [one.policy for one in found]
        refined = mix_policies(context.tree, [mix_policies(context.tree, policies, 0), *policies[1:]], 1)
    searches = [search for one in found for search in one.searches]
    times = np.array([search.seconds for search in searches]) * 1000

    def mean(name: str) -> float:
        return float(np.mean([getattr(search, name) for search in searches])) if searches else 0.0

    return Row(
        game=cell.game,
        blueprint=cell.blueprint,
        method=cell.method,
        mode=cell.mode,
        limit=cell.limit,
        cap=cell.iterations,
        sample=cell.sample,
        seed=cell.seed,
        blueprint_exploitability=sum(best_response_values(form, policy)) / 2,
        exploitability=sum(best_response_values(form, refined)) / 2,
        searches=len(searches),
        skipped=sum(one.skipped for one in found),
        late=sum(search.late for search in searches),
        ran_at=cell.limit,
        nodes=mean("nodes"),
        kept=mean("kept"),
        iterations=mean("iterations"),
        anchor=mean("anchor"),
        median_ms=float(np.median(times)) if len(times) else 0.0,
        p99_ms=float(np.quantile(times, 0.99)) if len(times) else 0.0,
        seconds=sum(one.seconds for one in found),
        commit=commit,
    )


def run_grid(
    grid: Grid,
    folder: Path,
    *,
    workers: int = 1,
    progress: Callable[[int, int, Row | None], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Path:
    """Run the cells of a grid that a folder does not hold yet; return its file of rows.

    The folder keeps the grid (`grid.json`) and a row per finished cell (`rows.csv`), each written whole: a
    killed run loses the cells in flight and goes on when called again. One process at a time has the folder.
    progress: called with (cells done, cells in all, newest row or None). stop: asked several times a second
    with more workers than one, else between cells, into which an `Interruption` breaks; cells in flight are
    dropped.
    Raises GridError if the folder belongs to another grid, LockHeld if another process has it, FileProblem if
    it cannot be written to.
    """
    with hold(check_folder(folder), folder=True), LineFile(folder / ROWS) as file:
        told = folder / "grid.json"
        if told.exists() and read_grid(folder) != json.loads(json.dumps(grid.to_json())):
            raise GridError(f"{folder}: it must hold the grid {grid.name} as it is now; choose a new folder")
        path = folder / ROWS
        had = read_rows(path) if file.lines else []
        if not file.lines:
            header = _line([field.name for field in fields(Row)])
            if not (header + "\n").encode().startswith(file.tail):
                raise GridError(f"{path}: it must hold rows of an experiment; choose a new folder")
            file.append([header])
        if not told.exists():
            write_text(told, json.dumps(grid.to_json(), indent=1) + "\n")
        done = {_cell(row).key for row in had}
        cells = list(grid.cells())
        todo = [cell for cell in cells if cell.key not in done]
        finished = len(cells) - len(todo)
        if progress is not None:
            progress(finished, len(cells), None)
        for row in _rows(todo, had, commit_of_code(), workers, stop):
            file.append([_line(["" if value is None else value for value in asdict(row).values()])])
            finished += 1
            if progress is not None:
                progress(finished, len(cells), row)
    return path


def _rows(
    cells: list[Cell], had: list[Row], commit: str, workers: int, stop: Callable[[], bool]
) -> Iterator[Row]:
    """Yield a row per cell; a cell that came to its end in a shorter limit is not run again."""
    settled = {_without_limit(_cell(row)): row for row in had if not row.late}

    def known(cell: Cell) -> Row | None:
        row = settled.get(_without_limit(cell))
        if row is None or row.ran_at is None or cell.limit is None or row.ran_at > cell.limit:
            return None
        return replace(row, limit=cell.limit)

    def ran(row: Row) -> Row:
        if not row.late:
            settled.setdefault(_without_limit(_cell(row)), row)
        return row

    if workers == 1:
        for cell in cells:
            if stop():
                return
            try:
                with breaking(stop):
                    row = known(cell) or ran(run_cell(cell, commit))
            except Interrupted:
                return
            yield row
        return
    waiting = iter(cells)
    strangers = set(active_children())
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    running: set[Future[Row]] = set()
    try:
        while not stop():
            while len(running) < workers:
                following = next(waiting, None)
                if following is None:
                    break
                copied = known(following)
                if copied is None:
                    with deaf_children():
                        running.add(pool.submit(run_cell, following, commit))
                else:
                    yield copied
            if not running:
                return
            finished, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in finished:
                running.remove(future)
                yield ran(future.result())
    except BrokenProcessPool as error:
        raise GridError(
            "refine: a process ended without an answer (killed, or out of memory); use fewer --workers"
        ) from error
    finally:
        ours = set(active_children()) - strangers
        pool.shutdown(wait=False, cancel_futures=True)
        for process in ours:
            process.terminate()
        for process in ours:
            process.join()


def _without_limit(cell: Cell) -> Cell:
    return replace(cell, limit=None)


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, one per cell; a last line cut short by a kill is left out.

    Raises GridError if the file has other columns or a damaged row, FileProblem if it cannot be read.
    Warns with DoubleRows where a cell comes again.
    """
    names = [field.name for field in fields(Row)]
    text = read_text(path)
    whole = text[: text.rfind("\n") + 1]
    try:
        lines = list(csv.reader(io.StringIO(whole, newline="")))
    except csv.Error as error:
        raise GridError(f"{path}: not a file of comma-separated values ({error}); run it afresh") from error
    if not lines or lines[0] != names:
        raise GridError(f"{path}: its columns must be {','.join(names)}; run the experiment afresh")
    rows = []
    for number, values in enumerate(lines[1:], 2):
        try:
            rows.append(_parse(dict(zip(names, values, strict=True))))
        except ValueError as error:
            raise GridError(
                f"{path}, row {number}: {len(names)} values are wanted, most of them numbers ({error}); "
                "delete the row, and run the experiment again"
            ) from error
    return unique(rows, lambda row: _cell(row).key, path)


def read_grid(folder: Path) -> dict[str, Any]:
    """Return the fields of the grid that a folder of rows belongs to.

    Raises GridError if its `grid.json` is missing or damaged.
    """
    path = folder / "grid.json"
    try:
        told = json.loads(read_bytes(path))
        if not isinstance(told, dict) or not isinstance(told.get("name"), str):
            raise ValueError("it must be an object with a name")
    except FileNotFoundError:
        raise GridError(f"{folder}: it must hold a grid.json; name the folder of a run") from None
    except (ValueError, RecursionError) as error:
        raise GridError(f"{path}: not the grid of an experiment ({error}); run it in a new folder") from error
    return told


def _parse(values: dict[str, str]) -> Row:
    made: dict[str, Any] = {}
    for field in fields(Row):
        kind, text = str(field.type), values[field.name]
        if text == "" and "None" in kind:
            made[field.name] = None
        elif kind.startswith("str"):
            made[field.name] = text
        else:
            made[field.name] = int(text) if kind.startswith("int") else float(text)
    return Row(**made)


def _cell(row: Row) -> Cell:
    return row.cell


def _line(values: list[Any]) -> str:
    """Return a line of a file of comma-separated values, without its end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(values)
    return out.getvalue()
