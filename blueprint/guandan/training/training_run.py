"""A training run in a directory: generations until the time is up, checkpoints, evaluations and a curve.

    trainer = train("runs/mine", RunConfig(minutes=60))

A killed run loses what came after its last checkpoint; the same call goes on from there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import attrs

from blueprint.checkpoint import CheckpointError, check_beside, write_checkpoint
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.trainer import Trainer
from games.support.configuration import Configuration, flag, integer, real, text
from games.support.files import LineFile, check_folder
from games.support.interruption import Interrupted, Interruption
from games.support.json_rows import trim_generations
from games.support.locks import hold
from games.support.work.ray_cluster import connected
from games.support.work.where import WorkError, where_from

__all__ = ["RunConfig", "RunWatch", "train"]

CURVE = "curve.jsonl"
KEPT = "kept-"
"""What the numbered copies' names begin with."""


@attrs.frozen(slots=False)
class RunConfig(Configuration):
    """How long a run goes on, on what, and what it does on the way.

    minutes: of training. A run ends in time: no generation begins that may not finish.
    resume: continue from `last.safetensors` if there is one; otherwise there must be none.
    checkpoint_minutes: between checkpoints. keep_every: minutes of training between numbered copies.
    anneal: let the learning rate fall linearly to zero over `minutes`, which steadies the weights before they
        are shipped; in a copy of the directory, if the run is to go on.
    evaluate_minutes: between evaluations against `opponents` on `rounds` fixed deals; 0 for none.
    device: of torch. threads: players and learner.
    on: who plays: "local", the threads; or actors of a cluster, as `games.support.work.where` names it, while
        this process learns. actors: how many of them, a core each; 0: one for each core of the cluster.
    """

    label: ClassVar[str] = "RunConfig"

    minutes: float = attrs.field(default=60.0, validator=real(0))
    resume: bool = attrs.field(default=True, validator=flag)
    checkpoint_minutes: float = attrs.field(default=5.0, validator=real(0))
    keep_every: float = attrs.field(default=60.0, validator=real(0, above=True))
    anneal: bool = attrs.field(default=False, validator=flag)
    evaluate_minutes: float = attrs.field(default=15.0, validator=real(0))
    opponents: tuple[str, ...] = ("greedy", "strong")
    rounds: int = attrs.field(default=100, validator=integer(1))
    device: str = attrs.field(default="cpu", validator=text)
    threads: int = attrs.field(default=2, validator=integer(1))
    on: str = attrs.field(default="local", validator=text)
    actors: int = attrs.field(default=0, validator=integer(0))


@dataclass(frozen=True)
class RunWatch:
    """Who looks on while a run trains, and can end it.

    progress: called with each generation's row. stop: asked after each; True ends the run.
    interruption: who hears Ctrl-C and the terminate signal; by default the run itself does. Either ends the
        run at once, with a checkpoint of the last whole generation; the trainer returned may then be in the
        middle of the next.
    """

    progress: Callable[[dict[str, Any]], None] | None = None
    stop: Callable[[], bool] | None = None
    interruption: Interruption | None = None


def train(
    directory: str | Path,
    run: RunConfig | None = None,
    *,
    network: NetworkConfig | None = None,
    config: TrainConfig | None = None,
    watch: RunWatch | None = None,
) -> Trainer:
    """Return the trainer after a run, which lives in `directory` and can be continued.

    directory: gets `last.safetensors` after the first generation and every `checkpoint_minutes`, a numbered
        copy every `keep_every` minutes of training, and `curve.jsonl`, one line per generation; lines after
        the checkpoint resumed from go.
    network: of a new run; one that is resumed must have the same. config: of the training; it replaces that
        of the run resumed.
    kill -9 loses what came after the last checkpoint. One process at a time trains in a directory.
    Raises CheckpointError if `last.safetensors` cannot be resumed from or is of another network than asked
    for, and where a new run would write over files that lie there; LockHeld if another process trains there,
    FileProblem if the directory cannot be written to or the curve is none, and WorkError where actors cannot
    be had or fail; the last whole generation is saved first.
    """
    run, watch = run or RunConfig(), watch or RunWatch()
    directory = check_folder(directory)
    last = directory / "last.safetensors"
    with ExitStack() as stack:
        stack.enter_context(hold(directory, folder=True))
        goes_on = last.exists()
        others = (directory / CURVE, *directory.glob(f"{KEPT}*"))
        check_beside(last, new=() if goes_on else others)
        trainer = _begin(last, run, network, config)
        _hire(trainer, run, stack)
        asked = watch.interruption or stack.enter_context(Interruption())
        if goes_on:
            trim_generations(directory / CURVE, trainer.generation)
        curve = stack.enter_context(LineFile(directory / CURVE))
        try:
            return _train(trainer, last, curve, run, watch, asked)
        finally:
            if trainer.ahead:  # nobody will collect what is still played
                trainer.crew.abandon()


def _train(
    trainer: Trainer, last: Path, curve: LineFile, run: RunConfig, watch: RunWatch, asked: Interruption
) -> Trainer:
    begin = time.monotonic()
    saved = begin
    evaluated = begin - 60 * run.evaluate_minutes if not trainer.evaluation else begin
    longest = 0.0
    saved_generation = trainer.generation
    while True:
        started = time.monotonic()
        if run.anneal:
            trainer.learner.anneal = max(0.0, 1.0 - (started - begin) / max(60 * run.minutes, 1e-9))
        whole = trainer.checkpoint() if trainer.generation > saved_generation else None
        try:
            with asked.at_once():
                row: dict[str, Any] = trainer.run_generation()
        except (Interrupted, WorkError) as error:
            if whole is not None:
                write_checkpoint(last, *whole)
            if isinstance(error, WorkError):
                raise
            return trainer
        if run.evaluate_minutes and run.opponents and started - evaluated >= 60 * run.evaluate_minutes:
            try:
                with asked.at_once():
                    row["won"] = trainer.evaluate(run.opponents, run.rounds)
            except Interrupted:
                pass
            evaluated = started
        if trainer.generation == 1:
            # at once: what a run was asked to be is never lost, and no curve is left without its run
            trainer.save(last)
            saved, saved_generation = time.monotonic(), 1
        curve.append([json.dumps(row)])
        if watch.progress is not None:
            watch.progress(row)
        now = time.monotonic()
        longest = max(longest, now - started)
        done = (
            asked.stop
            or now - begin + longest > 60 * run.minutes
            or (watch.stop is not None and watch.stop())
        )
        if trainer.generation > saved_generation and (done or now - saved > 60 * run.checkpoint_minutes):
            trainer.save(last)
            saved, saved_generation = now, trainer.generation
        if trainer.generation == saved_generation:
            stamp = int(trainer.seconds // (60 * run.keep_every))
            kept = last.with_name(f"{KEPT}{stamp:04d}.safetensors")
            if stamp and not kept.exists():
                trainer.save(kept)
        if done:
            return trainer


def _begin(last: Path, run: RunConfig, network: NetworkConfig | None, config: TrainConfig | None) -> Trainer:
    """Return the trainer of a new run, or of the one to be resumed."""
    if not last.exists():
        network = network or NetworkConfig()
        return Trainer(network, config or TrainConfig(), device=run.device, threads=run.threads)
    if not run.resume:
        raise CheckpointError(
            f"{last}: a run already exists here; pass --resume to continue it, or give another directory"
        )
    trainer = Trainer.load(last, device=run.device, threads=run.threads, config=config)
    if network is not None and network != trainer.network_config:
        raise CheckpointError(
            f"checkpoint: {last} holds {trainer.network_config}, got {network}; "
            "leave the network's options out, or train in another directory"
        )
    return trainer


def _hire(trainer: Trainer, run: RunConfig, stack: ExitStack) -> None:
    """Let those play whom the run names, until the stack ends."""
    where = where_from(run.on)
    if where.is_local:
        return
    from blueprint.guandan.training.actors.ray_crew import RayCrew

    cluster = stack.enter_context(connected(where))
    actors = run.actors or cluster.cores()
    crew = RayCrew(cluster, actors, trainer.network_config, trainer.config)
    trainer.crew = stack.enter_context(crew)
