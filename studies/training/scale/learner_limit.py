"""How many actors one learner takes: its actors replaced by records that come as fast as those of many would.

    python -m studies.training.scale.learner_limit --rates 1,10,30,100 --seconds 40

Two generations are played once by a real player, timed, and kept as records. Then one actor of Ray sends
these records over the object store as often as so many actor cores would, and the learner takes them in as it
does in training: it plays the moves again, draws batches, steps. The pace at which it goes on is its limit;
beyond it, actors wait: pieces that are out are bounded, and so is the memory of every process, which is
printed beside.

With --learner host a gradient step is left out, but its batch is drawn and its inputs are written: the work
that stays on the processor when a GPU has the network.
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from gs2.commands.common import COUNT, SEED, print_json
from gs2.commands.groups import run_alone

if TYPE_CHECKING:
    from blueprint.guandan.training.actors.pieces import Piece
    from blueprint.guandan.training.dmc import Learner
    from blueprint.guandan.training.samples import Samples
    from blueprint.guandan.training.trainer import Trainer
    from games.support.work.ray_cluster import Cluster

__all__ = ["Recorded", "learner_limit", "recorded"]


@dataclass(frozen=True)
class Recorded:
    """Pieces that were played once: each with its record and its decisions; pace: decisions a second."""

    pieces: list[Piece]
    records: list[bytes]
    steps: list[int]
    pace: float


def recorded(trainer: Trainer, generations: int) -> Recorded:
    """Return some generations, played by one core; its pace is by its own time, without the first piece."""
    from blueprint.guandan.play.selfplay import Scratch
    from blueprint.guandan.training.actors.pieces import PieceGame
    from blueprint.guandan.training.actors.records import pack_record

    scratch, judge = Scratch(), trainer.learner.judge()
    dealt = [piece for _ in range(generations) for piece in trainer.deal()]
    records, steps, begin = [], [], 0.0
    for piece in dealt:
        played = PieceGame(piece, trainer.learner, judge).play(scratch, lambda: False)
        records.append(pack_record(played))
        steps.append(played.steps)
        begin = begin or time.process_time()  # the first one loads kernels
    return Recorded(dealt, records, steps, sum(steps[1:]) / (time.process_time() - begin))


class _Host:
    """Stands in for a learner's gradient step: writes the inputs of a batch, and no more."""

    def __init__(self, trainer: Trainer) -> None:
        self.learner = trainer.learner

    def __call__(self, samples: Samples, decisions: int, span: float) -> dict[str, float]:
        from blueprint.guandan.network.inputs import encode_full
        from blueprint.protocol import Decisions

        n = np.arange(len(samples) + 1)
        seats = samples.states["player"].astype(np.int64)
        self.learner.network.encode(Decisions(samples.states, n[:-1], seats, n, samples.actions))
        encode_full(samples.states[::2], seats[::2])
        return {"advantage": 0.0}


@click.command("learner-limit")
@click.option("--rates", default="1,10,30,100", show_default=True, help="Actor cores, separated by commas.")
@click.option(
    "--seconds", type=click.FloatRange(min=0.1), default=40.0, show_default=True, help="Seconds at each rate."
)
@click.option("--rounds", type=COUNT, default=2048, show_default=True, help="Rounds of a generation.")
@click.option("--learner", type=click.Choice(("cpu", "host")), default="cpu", show_default=True)
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def learner_limit(rates: str, seconds: float, rounds: int, learner: str, seed: int, as_json: bool) -> None:
    """Print the pace of a learner that gets records as fast as many actors would send them."""
    from blueprint.guandan.train_config import NetworkConfig, TrainConfig
    from blueprint.guandan.training.trainer import Trainer
    from games.support.work.ray_cluster import connected, import_ray
    from games.support.work.where import where_from

    network, config = NetworkConfig(), TrainConfig(rounds=rounds, seed=seed, pieces=8, staleness=1)
    kept = recorded(Trainer(network, config, threads=1), 2)
    click.echo(f"one actor core plays {kept.pace:,.0f} decisions a second of its own time", err=True)
    rows = []
    with ExitStack() as stack:
        ray = import_ray()
        options = {
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
            "logging_level": logging.ERROR,
        }
        ray.init("local", num_cpus=1, **options)
        stack.callback(ray.shutdown)
        cluster = stack.enter_context(connected(where_from("ray")))
        for rate in map(float, rates.split(",")):
            trainer = Trainer(network, config, threads=1)
            if learner == "host":
                trainer.learner.learn = _Host(trainer)  # type: ignore[method-assign]
            row = _measured(trainer, cluster, kept, rate * kept.pace, seconds)
            rows.append({"rate": rate, "actor_core": kept.pace, "learner": learner} | row)
            core = row["taken"] / row["learner_cores"] / kept.pace
            click.echo(
                f"{rate:5g} actor cores send {row['offered']:11,.0f} decisions/s; the learner takes "
                f"{row['taken']:9,.0f} with {row['learner_cores']:.2f} cores busy: a core of it is worth "
                f"{core:5.2f} of theirs; at most {row['most_mb']:,.0f} MB; {row['record_bytes']:.2f} bytes a "
                "decision",
                err=as_json,
            )
    if as_json:
        print_json(rows)


def _measured(
    trainer: Trainer, cluster: Cluster, kept: Recorded, wanted: float, seconds: float
) -> dict[str, Any]:
    """Return what the learner came to where `wanted` decisions a second are sent, and its memory."""
    from blueprint.guandan.training.actors.ray_crew import RayCrew
    from studies.training.scale.processes import process_rows

    size = trainer.config.pieces
    records, waits = kept.records, [steps / wanted for steps in kept.steps]

    due = [0.0]

    def replay(player: object, piece: Piece, weights: object) -> bytes:
        """Return the record of a piece when actors of the wanted pace would have played it."""
        which = piece.generation % 2 * size + piece.part
        now = time.monotonic()
        due[0] = max(due[0], now - 1.0) + waits[which]  # late by what the way here took, not more
        time.sleep(max(0.0, due[0] - now))
        return records[which]

    class Retold(RayCrew):
        """Hands out the pieces that there are records of."""

        def hand_out(self, pieces: list[Piece], learner: Learner, version: int) -> None:
            """Hand out as many others."""
            of = [kept.pieces[piece.generation % 2 * size + piece.part] for piece in pieces]
            known = [replace(one, generation=piece.generation) for one, piece in zip(of, pieces, strict=True)]
            super().hand_out(known, learner, version)

    most = 0.0
    with Retold(cluster.where.with_count(1), trainer.network_config, trainer.config, replay) as crew:
        trainer.crew = crew
        for _ in range(3):  # nothing is learned from in the first, and two fill what is out
            trainer.run_generation()
        before, begin, busy, sent = trainer.decisions, time.perf_counter(), time.process_time(), 0.0
        while time.perf_counter() - begin < seconds:
            sent += trainer.run_generation()["record_bytes"]
            mine = process_rows()[0]
            most = max(most, mine["private"] + mine["shared"])
        took, busy = time.perf_counter() - begin, time.process_time() - busy
    decisions = trainer.decisions - before
    return {
        "offered": wanted,
        "taken": decisions / took,
        "learner_cores": busy / took,
        "most_mb": most,
        "record_bytes": sent / decisions,
    }


if __name__ == "__main__":
    run_alone(learner_limit)
