"""`gs2 experiment`: one command for each experiment that an installed package offers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.outputs import REPORT, report_file
from games.support.interruption import Interruption
from gs2.commands.common import (
    CORES,
    COUNT,
    FINITE,
    ON,
    OUTPUT_FILE,
    OUTPUT_FOLDER,
    html_option,
    print_json,
    stderr,
)
from gs2.commands.groups import LazyGroup

if TYPE_CHECKING:
    from experiments.refinement.rows import Row
    from games.support.work.where import Place

GROUP = "gs2.experiments"
"""Entry points that add experiments, ours and anybody's: click commands, or Targets that name one."""


@click.group(cls=LazyGroup, entry_points=GROUP)
def experiment() -> None:
    """Run experiments on the research games and report on them."""


@click.command()
@click.option("--preset", "name", default="quick", show_default=True, help="Grid to run; --list shows them.")
@click.option("--list", "listing", is_flag=True, help="List the grids and exit.")
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FOLDER,
    help="Folder of the run, resumed if it exists.  [default: runs/PRESET]",
)
@click.option("--workers", type=CORES, help="Number of processes.  [default: one per core]")
@ON
@click.option("--game", "games", multiple=True, help="Run this game instead of the grid's; repeatable.")
@click.option("--method", "methods", multiple=True, help="Run this method instead of the grid's; repeatable.")
@click.option("--blueprint", "blueprints", multiple=True, help="Refine this blueprint instead; repeatable.")
@click.option(
    "--limit", "limits", type=FINITE, multiple=True, help="Limit in seconds per infoset; repeatable."
)
@click.option("--iterations", type=COUNT, multiple=True, help="Limit in iterations; repeatable.")
@click.option(
    "--mode", "modes", multiple=True, help="Search mode, independent, nested or sequential; repeatable."
)
@click.option("--sample", type=COUNT, help="Search only this many random infosets of each player.")
@click.option("--seeds", type=COUNT, help="Use this many seeds for every game.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def refine(
    name: str,
    listing: bool,
    output: Path | None,
    workers: int | None,
    on: Place,
    games: tuple[str, ...],
    methods: tuple[str, ...],
    blueprints: tuple[str, ...],
    limits: tuple[float, ...],
    iterations: tuple[int, ...],
    modes: tuple[str, ...],
    sample: int | None,
    seeds: int | None,
    as_json: bool,
) -> None:
    """Refine whole strategies with every method of a grid and measure them exactly.

    Every infoset of each player is searched, and the results are spliced into one policy. Ctrl-C drops the
    cells in flight; the same command resumes the run. --limit and --iterations replace the grid's limits.
    """
    from dataclasses import asdict, replace

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from experiments.refinement.grid import GRIDS, grid
    from experiments.refinement.rows import read_rows
    from experiments.refinement.run import run_grid

    if listing and as_json:
        print_json({made.name: made.to_json() for made in GRIDS.values()})
        return
    if listing:
        for made in GRIDS.values():
            cells = sum(1 for _ in made.cells())
            click.echo(f"{made.name:12} {cells:5} cells: {', '.join(made.games)}")
        return
    given: dict[str, Any] = {"games": games, "methods": methods, "blueprints": blueprints, "modes": modes}
    chosen = replace(grid(name), **{field: values for field, values in given.items() if values})
    if limits or iterations:
        chosen = replace(chosen, limits=limits, iterations=iterations)
    if sample is not None:
        chosen = replace(chosen, samples=dict.fromkeys(chosen.games, sample))
    if seeds is not None:
        chosen = replace(chosen, seeds=seeds, few_seeds={})
    folder = output or Path("runs") / name
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    console = stderr()
    shown = Progress(*columns, console=console, disable=not console.is_terminal)
    with Interruption() as asked, shown as bar:
        task, computed = bar.add_task(chosen.name), 0

        def progress(done: int, total: int, row: Row | None) -> None:
            nonlocal computed
            bar.update(task, completed=done, total=total)
            if row is not None:
                computed += 1
                bar.console.print(
                    f"{row.game}  {row.blueprint}  {row.method}  {row.mode}  seed {row.seed}: "
                    f"{row.blueprint_exploitability:.4f} → {row.exploitability:.4f}  ({row.seconds:.1f} s)"
                )

        path = run_grid(
            chosen,
            folder,
            workers=on.with_count(workers or (os.cpu_count() or 1 if on.is_local else None)),
            progress=progress,
            stop=asked,
            say=console.print,
        )
    if not computed and not asked.stop:
        console.print("nothing left to run")
    if as_json:
        print_json({"file": str(path), "rows": [asdict(row) for row in read_rows(path)]})
    else:
        click.echo(f"rows in {path}; tables and plots: gs2 experiment report {folder}")
    if asked.stop:
        console.print("interrupted; the same command continues from there")
        raise SystemExit(asked.exit_code)


@click.command()
@click.argument(
    "folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    help=f"Markdown file.  [default: {REPORT} in the folder of the run, or in that of several]",
)
@html_option("the rows, with plots to filter and point at, instead of the tables")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def report(folders: tuple[Path, ...], output: Path | None, page: Path | None, as_json: bool) -> None:
    """Write tables of run FOLDERS, with plots beside them; with --html one page to explore instead.

    A plot that the rows do not allow is named on stderr, with the reason.
    """
    from experiments.refinement.report import write_report, write_rows_page

    missing: list[str] = []
    if page is None:
        first, *others = folders
        beside = Path(os.path.commonpath([folder.resolve() for folder in folders])) if others else first
        written = write_report(folders, report_file(output, beside), missing.append)
    else:
        if output is not None:
            raise click.UsageError("--html writes a page instead of tables; leave out --output")
        write_rows_page(folders, page)
        written = [page]
    if as_json:
        about_plots = {"missing": missing} if page is None else {}
        print_json({"written": [str(path) for path in written], **about_plots})
        return
    for path in written:
        click.echo(path)
    for reason in missing:
        stderr().print(reason)
