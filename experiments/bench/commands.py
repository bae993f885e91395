"""`gs2 bench`: speeds on this machine, one command for each part; each module also runs by itself."""

from __future__ import annotations

import importlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gs2.commands.common import NEW_FILE, SEED, FiniteRange, print_json, stdout
from gs2.commands.progress import working

__all__ = ["bench"]

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
WITH_SEED = click.option("--seed", type=SEED, default=0, show_default=True, help="Of what is played.")
SECONDS = FiniteRange(min=0.1)


@click.group()
def bench() -> None:
    """Measure speed on this machine; quote ratios, not seconds, across machines."""


def _run(
    module: str, as_json: bool, *words: Any, written: tuple[Path, str] | None = None, **options: Any
) -> None:
    """Run a module's benchmark and print its tables, or its figures as JSON.

    written: a file for the tables, and the command that regenerates it.
    """
    part = importlib.import_module(f"experiments.bench.{module}")
    with working("measuring …") as tell:
        result = part.run_bench(*words, progress=tell, **options)
    if written is not None:
        from experiments.bench.markdown import write_markdown

        path, command = written
        write_markdown(path, part.TITLE, command, part.ABOUT, part.bench_tables(result), result)
    if as_json:
        print_json([asdict(row) for row in result] if isinstance(result, list) else asdict(result))
        return
    for table in part.bench_tables(result):
        stdout().print(table)


def _check_games(games: tuple[str, ...]) -> None:
    """Refuse a name that no game has before the first figure is measured."""
    from games.registry import load_game

    for name in games:
        load_game(name)


@bench.command()
@click.argument("games", nargs=-1)
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Of every timing.")
@click.option("--openspiel/--no-openspiel", default=True, help="Beside OpenSpiel, where it is installed.")
@click.option(
    "-o",
    "--output",
    type=NEW_FILE,
    help="Also write the tables there as Markdown, and the figures beside it as JSON.",
)
@AS_JSON
def cfr(games: tuple[str, ...], repeats: int, openspiel: bool, output: Path | None, as_json: bool) -> None:
    """CFR on GAMES (the six research games if none is given), beside OpenSpiel's C++."""
    _check_games(games)
    chosen = (list(games),) if games else ()
    words = ["gs2 bench cfr", *games, *(() if repeats == 3 else (f"--repeats {repeats}",))]
    written = None if output is None else (output, " ".join(words))
    _run("cfr", as_json, *chosen, written=written, repeats=repeats, openspiel=openspiel)


@bench.command()
@click.option("--seconds", type=SECONDS, default=2.0, show_default=True, help="Each part.")
@click.option("--processes", type=click.IntRange(min=1), help="On all cores.  [default: one a core]")
@WITH_SEED
@AS_JSON
def guandan(seconds: float, processes: int | None, seed: int, as_json: bool) -> None:
    """The GuanDan engine: decisions a second, sizes of move lists, inputs of networks."""
    _run("guandan", as_json, seconds=seconds, processes=processes, seed=seed)


@bench.command()
@click.option("--seconds", type=SECONDS, default=2.0, show_default=True, help="Each part.")
@click.option("--threads", type=click.IntRange(min=1), default=2, show_default=True, help="At once.")
@click.option("--rounds", type=click.IntRange(min=1), default=1024, show_default=True, help="In lockstep.")
@WITH_SEED
@AS_JSON
def blueprint(seconds: float, threads: int, rounds: int, seed: int, as_json: bool) -> None:
    """GuanDan's network: one decision, batches, self-play and training, beside the floor."""
    _run("blueprint", as_json, seconds=seconds, threads=threads, rounds=rounds, seed=seed)


@bench.command()
@click.option("--repeats", type=click.IntRange(min=1), default=9, show_default=True, help="Of every timing.")
@WITH_SEED
@AS_JSON
def generation(repeats: int, seed: int, as_json: bool) -> None:
    """The diversity programme beside the one that the paper prints."""
    _run("generation", as_json, repeats=repeats, seed=seed)


@bench.command()
@click.argument("games", nargs=-1)
@click.option(
    "--repeats", type=click.IntRange(min=1), default=20, show_default=True, help="Infosets a depth."
)
@WITH_SEED
@AS_JSON
def search(games: tuple[str, ...], repeats: int, seed: int, as_json: bool) -> None:
    """Searches one by one, and of whole GAMES (Leduc poker and Liar's Dice 6 if none is given)."""
    from experiments.bench.search import GAMES

    _check_games(games)
    _run("search", as_json, games=games or GAMES, repeats=repeats, seed=seed)


@bench.command("min-combination")
@click.option("--hands", type=click.IntRange(min=100), default=3000, show_default=True, help="Dealt.")
@WITH_SEED
@AS_JSON
def min_combination(hands: int, seed: int, as_json: bool) -> None:
    """Minimum Combination Search: microseconds a hand, by wild cards held."""
    from experiments.bench.min_combination import bench_min_combination

    assert bench_min_combination.callback is not None
    bench_min_combination.callback(hands, seed, as_json)


@bench.command()
@click.argument("presets", nargs=-1)
@click.option("--rounds", type=click.IntRange(min=1), default=4, show_default=True, help="Of four agents.")
@WITH_SEED
@AS_JSON
def agent(presets: tuple[str, ...], rounds: int, seed: int, as_json: bool) -> None:
    """The GuanDan agent's PRESETS (all if none is given): latency by phase, decisions a second, stages."""
    _run("agent", as_json, *((presets,) if presets else ()), rounds=rounds, seed=seed)


@bench.command()
@click.option(
    "--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Of one table alone."
)
@WITH_SEED
@AS_JSON
def table(repeats: int, seed: int, as_json: bool) -> None:
    """The match server under random clients: one table, and 200 at once, in both dialects."""
    _run("table", as_json, repeats=repeats, seed=seed)
