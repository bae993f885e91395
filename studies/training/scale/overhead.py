"""What a cluster costs: training by actors beside training by threads, in turns, on the same cores.

    python -m studies.training.scale.overhead --turns 6 --seconds 40

Each turn goes on with one trainer for so many seconds: one whose games threads of this process play, or two
actors of Ray on this machine. The order is turned round every time. All train from the same seed. A turn ends
when all that was handed out in it is played, so that nobody works in another's turn. The first turn compiles
and does not count; the intervals are bootstrapped over turns.

Paces are by the clock and by processor time of this process and the actors. What Ray's own processes take,
which they do whether anything is played or not, stands beside, as a share of one core. Where other programs
run beside, the clock favours whoever has more processes, and processor time is what compares.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from gs2.commands.common import COUNT, SEED, CountType, print_json
from gs2.commands.groups import run_alone

if TYPE_CHECKING:
    from blueprint.guandan.training.trainer import Trainer

__all__ = ["Way", "overhead", "pace_ratio", "turns_of"]

TRAVELS = ("record_bytes", "piece_bytes", "weight_bytes")


@dataclass(frozen=True)
class Way:
    """A trainer. rest: waits until nobody plays for it any more."""

    trainer: Trainer
    rest: Callable[[], None]


def turns_of(ways: dict[str, Way], turns: int, seconds: float) -> Iterator[dict[str, Any]]:
    """Yield a row for each turn of each way: its decisions, both times, and the bytes that travelled."""
    from studies.training.scale.processes import processor_seconds

    for turn in range(turns):
        order = list(ways) if turn % 2 == 0 else list(ways)[::-1]
        for name in order:
            trainer = ways[name].trainer
            before, begin, busy = trainer.decisions, time.perf_counter(), processor_seconds()
            sums = dict.fromkeys(TRAVELS, 0)
            over = False
            while not over:
                row = trainer.run_generation()
                for key in sums:
                    sums[key] += int(row.get(key, 0))
                over = time.perf_counter() - begin >= seconds
            ways[name].rest()
            ours, theirs = (now - then for now, then in zip(processor_seconds(), busy, strict=True))
            spent = {"seconds": time.perf_counter() - begin, "processor": ours, "ray": theirs}
            yield {"way": name, "turn": turn, "decisions": trainer.decisions - before} | spent | sums


def pace_ratio(
    rows: list[dict[str, Any]], way: str, than: str, by: str = "seconds"
) -> tuple[float, float, float]:
    """Return how a way's pace compares with another's, and the bounds of its 95 % interval, over turns.

    by: "seconds" of the clock, or of "processor" time.
    """
    turns = sorted({row["turn"] for row in rows if row["turn"] > 0})
    table = {(row["way"], row["turn"]): (row["decisions"], row[by]) for row in rows}
    both = np.array([[table[name, turn] for turn in turns] for name in (way, than)], float)
    drawn = np.random.default_rng(0).integers(0, len(turns), (2000, len(turns)))
    sums = both[:, drawn].sum(2)
    ratios = (sums[0, :, 0] / sums[0, :, 1]) / (sums[1, :, 0] / sums[1, :, 1])
    whole = both.sum(1)
    ratio = (whole[0, 0] / whole[0, 1]) / (whole[1, 0] / whole[1, 1])
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(ratio), float(low), float(high)


@click.command("overhead")
@click.option("--turns", type=CountType(2), default=6, show_default=True)
@click.option(
    "--seconds", type=click.FloatRange(min=0.1), default=40.0, show_default=True, help="Seconds of a turn."
)
@click.option("--rounds", type=COUNT, default=2048, show_default=True, help="Rounds of a generation.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def overhead(turns: int, seconds: float, rounds: int, seed: int, as_json: bool) -> None:
    """Print the pace of training by threads and by two actors of Ray, in turns."""
    from blueprint.guandan.train_config import NetworkConfig, TrainConfig
    from blueprint.guandan.training.actors.ray_crew import RayCrew
    from blueprint.guandan.training.trainer import Trainer
    from games.support.work.ray_cluster import connected, import_ray
    from games.support.work.where import where_from

    network, config = NetworkConfig(), TrainConfig(rounds=rounds, seed=seed)
    with ExitStack() as stack:
        # Ray lets its processes give way to all others; here they are to get what threads get
        os.environ.setdefault("RAY_worker_niceness", "0")
        ray = import_ray()  # four actors wait their turn, so it must count more cores than there are
        options = {
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
            "logging_level": logging.ERROR,
        }
        ray.init("local", num_cpus=4, **options)
        stack.callback(ray.shutdown)
        cluster = stack.enter_context(connected(where_from("ray")))
        ways = {
            f"{threads} threads": Way(Trainer(network, config, threads=threads), lambda: None)
            for threads in (2, 3)
        }
        for staleness in (0, 1):
            late = config.replace(staleness=staleness)
            crew = stack.enter_context(RayCrew(cluster.where.with_count(2), network, late))
            trainer = Trainer(network, late, threads=1)
            trainer.crew = crew
            ways[f"2 actors, staleness {staleness}"] = Way(trainer, crew.rest)
        rows = []
        for row in turns_of(ways, turns, seconds):
            rows.append(row)
            click.echo(f"{row['way']:24} {row['decisions'] / row['seconds']:9,.0f} decisions/s", err=True)
    if as_json:
        print_json(rows)
    for line in _lines(rows):
        click.echo(line, err=as_json)


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    names = list(dict.fromkeys(row["way"] for row in rows))
    for name in names:
        mine = [row for row in rows if row["way"] == name and row["turn"] > 0]
        decisions = sum(row["decisions"] for row in mine)
        pace, busy = (decisions / sum(row[by] for row in mine) for by in ("seconds", "processor"))
        line = f"{name:24} {pace:9,.0f} decisions/s, {busy:9,.0f} a second of processor time"
        if "actors" in name:
            for other in names[:2]:
                for by in ("seconds", "processor"):
                    ratio, low, high = pace_ratio(rows, name, other, by)
                    line += f"\n    by {by:9} {ratio:.2f} [{low:.2f}, {high:.2f}] of {other}"
            each = [sum(row[key] for row in mine) / decisions for key in TRAVELS]
            line += "\n    bytes a decision: records {:.2f}, pieces {:.2f}, weights {:.2f}".format(*each)
        yield line
    clock, ray = (sum(row[key] for row in rows) for key in ("seconds", "ray"))
    yield f"Ray's own processes take {ray / clock:.1%} of a core"


if __name__ == "__main__":
    run_alone(overhead)
