"""What it costs to hand out pieces of work: here, to processes of this machine, and to a cluster.

    python -m studies.piece_cost --on ray --processes 2

For each place: the seconds until the first piece is done, the milliseconds that an empty piece costs, and how
many times faster pieces of some length are done than by this process alone.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

import click
import numpy as np
from rich.table import Table

from games.support.bootstrap import bootstrap_interval
from games.support.work.engines import executor_at
from games.support.work.executor import Executor, Task, in_order
from games.support.work.where import Place, where_of
from gs2.commands.common import COUNT, ON, POSITIVE, CountType, print_json, stdout
from gs2.commands.groups import run_alone

__all__ = ["PieceCost", "measure_pieces", "piece_cost"]

LENGTHS = (0.001, 0.01, 0.1, 1.0)
"""Seconds of the pieces that are handed out."""
EMPTY = 500
"""Empty pieces of a measurement."""


@dataclass(frozen=True)
class PieceCost:
    """What pieces cost at a place.

    start: seconds until the first piece was done. empty: milliseconds an empty piece, the mean and the 95 %
    interval over repeats. gains: by the pieces' seconds, how many times faster they were done than by this
    process alone, start left out: mean and interval.
    """

    place: str
    processes: int
    start: float
    empty: tuple[float, float, float]
    gains: dict[float, tuple[float, float, float]]


def _ready(nothing: int) -> int:
    return nothing


def _work(nothing: int, seconds: float) -> float:
    """Use the processor for so long, by its own clock, whatever else the machine does."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return seconds


def _seconds(executor: Executor[float, float], length: float, pieces: int) -> float:
    began = time.perf_counter()
    for _ in in_order(executor, [length] * pieces):
        pass
    return time.perf_counter() - began


def measure_pieces(
    places: list[Place], seconds: float, repeats: int, rng: np.random.Generator
) -> list[PieceCost]:
    """Return the costs at each place; all of them are measured in turn, repeat by repeat.

    seconds: of processor time for each length, place and repeat.
    """
    task = Task(_ready, (0,), _work)
    executors: list[Executor[float, float]] = []
    starts = []
    try:
        for place in places:
            began = time.perf_counter()
            executors.append(executor_at(place, task))
            _seconds(executors[-1], 0.0, 1)
            starts.append(time.perf_counter() - began)
            _seconds(executors[-1], 0.0, 50)  # every process has begun
        empty: list[list[float]] = [[] for _ in places]
        wall: dict[float, list[list[float]]] = {length: [[] for _ in places] for length in LENGTHS}
        for _ in range(repeats):
            for k, executor in enumerate(executors):
                empty[k].append(1000 * _seconds(executor, 0.0, EMPTY) / EMPTY)
            for length in LENGTHS:
                pieces = max(4, round(seconds / length))
                for k, executor in enumerate(executors):
                    wall[length][k].append(_seconds(executor, length, pieces))
    finally:
        for executor in executors:
            executor.close()

    def mean(values: list[float]) -> tuple[float, float, float]:
        return (float(np.mean(values)), *bootstrap_interval(values, rng))

    found = []
    for k, place in enumerate(places):
        gains = {
            length: mean([alone / one for alone, one in zip(took[0], took[k], strict=True)])
            for length, took in wall.items()
        }
        found.append(PieceCost(str(place), executors[k].size, starts[k], mean(empty[k]), gains))
    return found


@click.command()
@ON
@click.option(
    "--processes", type=CountType(2, 1 << 12), default=2, show_default=True, help="Processes at a time."
)
@click.option("--seconds", type=POSITIVE, default=1.0, show_default=True, help="Seconds of each measurement.")
@click.option("--repeats", type=COUNT, default=10, show_default=True, help="Repeats of each measurement.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def piece_cost(on: Place, processes: int, seconds: float, repeats: int, as_json: bool) -> None:
    """Measure what it costs to hand out pieces of work: here, to processes, and where --on says."""
    places = [where_of(1), where_of(processes)]
    if not on.is_local:
        places.append(on.with_count(processes))
    found = measure_pieces(places, seconds, repeats, np.random.default_rng(0))
    if as_json:
        print_json([asdict(one) for one in found])
        return
    table = Table(title="Pieces of work", title_justify="left")
    for heading in ("place", "at a time", "first piece, s", "empty piece, ms"):
        table.add_column(heading, justify="left" if heading == "place" else "right")
    for length in LENGTHS:
        table.add_column(f"gain at {1000 * length:g} ms", justify="right")
    for one in found:
        cells = [one.place, str(one.processes), f"{one.start:.2f}", _words(one.empty)]
        table.add_row(*cells, *(_words(gain) for gain in one.gains.values()))
    stdout().print(table)


def _words(value: tuple[float, float, float]) -> str:
    return "{:.2f} [{:.2f}, {:.2f}]".format(*value)


if __name__ == "__main__":
    run_alone(piece_cost)
