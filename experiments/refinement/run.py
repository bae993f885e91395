"""Run the refinement experiment: every cell of a grid, one row each, resumable at any point."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.best_response import best_response_values
from cfr.sequence_form import SequenceForm, sequence_form
from experiments.outputs import commit_of_code
from experiments.refinement.grid import Cell, Grid, GridError, differs_by_seed
from experiments.refinement.methods import method_passes, mix_policies, split_draws
from experiments.refinement.rows import GRID, ROWS, GridFile, Row, csv_line, read_rows
from games.registry import load_game
from games.support.files import LineFile, check_folder
from games.support.locks import hold
from games.support.work.carried import name_here
from games.support.work.engines import executor_at
from games.support.work.executor import Task, WorkerLost
from games.support.work.where import Place, where_of
from gs2.parts import check_leaf_of
from gs2.policies.policy_spec import check_policy_spec, policy_from_spec
from gs2.search.context import SearchContext, check_two_seats
from gs2.search.refine.whole import RefineOptions, RefineStats, refine_both


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
    context, _ = _prepared(name_here(cell.game))
    passes = method_passes(cell.method, cell.limit, cell.iterations)
    config = [one.replace(mode=cell.mode) for one in passes]
    infosets = []
    for player in (0, 1):
        mine = np.flatnonzero(context.tree.infoset_player == player)
        if cell.sample is not None and cell.sample < len(mine):
            rng = np.random.default_rng([cell.seed, player, 7])
            mine = np.sort(rng.choice(mine, cell.sample, replace=False))
        infosets.append(mine)
    options = RefineOptions(seed=cell.seed, infosets=np.concatenate(infosets))
    both = refine_both(context, policy, config, options)
    return _Refined(both.policy, both.searches, both.skipped, time.perf_counter() - began)


KEPT_DRAWS = 64
"""Draws of mixtures that are remembered, for the rows of the same draws alone; megabytes each."""
_kept_draws: dict[tuple[Cell, int], _Refined] = {}


def run_cell(cell: Cell, commit: str = "") -> Row:
    """Return the result of one cell; repeatable to the bit where iterations, not time, are the limit.

    A method with `draws=D` is the mixture of the draws with the seeds s D to s D + D - 1, s the cell's own
    (`experiments.refinement.methods`); searches, skipped, late and seconds are then their sums.
    """
    context, form = _prepared(name_here(cell.game))
    method, draws = split_draws(cell.method)
    drawn = cell.seed if differs_by_seed(cell.blueprint) else 0
    policy = _blueprint(name_here(cell.game), name_here(cell.blueprint), drawn)
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

    named: dict[str, Any] = asdict(cell)
    named["cap"] = named.pop("iterations")
    return Row(
        **named,
        blueprint_exploitability=sum(best_response_values(form, policy)) / 2,
        exploitability=sum(best_response_values(form, refined)) / 2,
        searches=len(searches),
        skipped=sum(one.skipped for one in found),
        late=sum(search.timed_out for search in searches),
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


def _check(grid: Grid) -> None:
    """Raise what is wrong with the games, methods and blueprints of a grid, before anything is written."""
    passes = [one for method in grid.methods for one in method_passes(split_draws(method)[0])]
    for spec in grid.blueprints:
        check_policy_spec(spec)
    for name in grid.games:
        game = load_game(name)
        check_two_seats(game)
        for config in passes:
            check_leaf_of(config, game)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)


def run_grid(
    grid: Grid,
    folder: Path,
    *,
    workers: int | Place = 1,
    progress: Callable[[int, int, Row | None], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
    say: Callable[[str], None] = _warn,
) -> Path:
    """Run the cells of a grid that a folder does not hold yet; return its file of rows.

    The folder keeps the grid (`grid.json`) and a row per finished cell (`rows.csv`), each written whole: a
    killed run loses the cells in flight and goes on when called again. One process at a time has the folder.
    workers: processes, or a place for them (`games.support.work`), whose machines need nothing of the folder.
    progress: called with (cells done, cells in all, newest row or None). stop: asked several times a second
    with more workers than one, else between cells, into which an `Interruption` breaks; cells in flight are
    dropped. say: told what one should know of the folder; a warning by default.
    Raises GridError if the folder belongs to another grid, or if what it names has changed since (`GridFile`:
    files at once, a game's tree when a cell of it has run), LockHeld if another process has it, FileProblem
    if it cannot be written to. A new folder is made only for a grid whose games, methods and blueprints
    exist; ConfigError, GameError or PolicySpecError says which does not. GridError for methods without a cell
    in one of its modes (`Grid.check_modes`).
    """
    new = not (folder / GRID).exists()
    if new:
        _check(grid)
    grid.check_modes()
    with hold(check_folder(folder), folder=True), LineFile(folder / ROWS) as file:
        told = GridFile(folder, grid)
        path = folder / ROWS
        had = read_rows(path) if file.lines else []
        if not file.lines:
            header = csv_line([field.name for field in fields(Row)])
            if not (header + "\n").encode().startswith(file.tail):
                raise GridError(f"{path}: it must hold rows of an experiment; choose a new folder")
            file.append([header])
        if not new:
            _check(grid)  # modules of the current folder are found from here on
        told.open(say)
        done = {row.cell.key for row in had}
        cells = list(grid.cells())
        todo = [cell for cell in cells if cell.key not in done]
        finished = len(cells) - len(todo)
        if progress is not None:
            progress(finished, len(cells), None)
        for row, tree in _rows(todo, had, where_of(workers), stop):
            if tree is not None:
                told.note_tree(row.game, tree)
            file.append([csv_line(["" if value is None else value for value in asdict(row).values()])])
            finished += 1
            if progress is not None:
                progress(finished, len(cells), row)
    return path


def _rows(
    cells: list[Cell], had: list[Row], where: Place, stop: Callable[[], bool]
) -> Iterator[tuple[Row, str | None]]:
    """Yield a row per cell and its tree's fingerprint, None with a copied row.

    A cell that came to its end in a shorter limit is not run again.
    """
    settled = {_without_limit(row.cell): row for row in had if not row.late}

    def known(cell: Cell) -> Row | None:
        row = settled.get(_without_limit(cell))
        if row is None or row.ran_at is None or cell.limit is None or row.ran_at > cell.limit:
            return None
        return replace(row, limit=cell.limit)

    with executor_at(where, Task(str, (commit_of_code(),), _run_cell)) as executor:
        waiting = iter(cells)
        try:
            while True:
                # no cell is taken on before it must be: another one's row may come to hold for it
                while executor.waiting < executor.size and (following := next(waiting, None)) is not None:
                    copied = known(following)
                    if copied is None:
                        executor.submit(following.key, following, (following.game, following.blueprint))
                    else:
                        yield copied, None
                if not executor.waiting or stop():
                    return
                for _, (row, tree) in executor.collect(stop):
                    if not row.late:
                        settled.setdefault(_without_limit(row.cell), row)
                    yield row, tree
        except WorkerLost as error:
            raise GridError(f"refine: {error}; use fewer --workers") from error


def _run_cell(commit: str, cell: Cell) -> tuple[Row, str]:
    return run_cell(cell, commit), _prepared(name_here(cell.game))[0].tree.digest


def _without_limit(cell: Cell) -> Cell:
    return replace(cell, limit=None)
