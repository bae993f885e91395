"""A run: generations until the time is up, with checkpoints and a curve, in a folder or beside a file.

    train_climbing(load_game("doudizhu"), RunPlace.of("runs/ddz"), ClimbingConfig(), RunLimits(minutes=120))

A killed run loses what came after its last checkpoint; the same call with `resume` goes on from there.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from blueprint.checkpoint import CheckpointError, check_beside, write_checkpoint
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.training.move_trainer import MoveTrainer
from blueprint.protocol import GameAgent
from games.game import Game
from games.support.files import LineFile, check_folder, check_output
from games.support.interruption import Interrupted, Interruption
from games.support.json_rows import trim_generations
from games.support.locks import hold

__all__ = ["RunLimits", "RunManner", "RunPlace", "train_climbing"]

SUFFIX = ".safetensors"
Progress = Callable[[dict[str, float]], None]


@dataclass(frozen=True)
class RunPlace:
    """Where a run lives. checkpoint: what goes on and plays. curve: a line for each generation."""

    checkpoint: Path
    curve: Path

    @classmethod
    def of(cls, output: str | Path) -> RunPlace:
        """Return the place of an output: a .safetensors file, or a folder that gets `last.safetensors`."""
        output = Path(output)
        if output.suffix == SUFFIX:
            return cls(output, output.with_suffix(".curve.jsonl"))
        return cls(output / f"last{SUFFIX}", output / "curve.jsonl")


@dataclass(frozen=True)
class RunLimits:
    """When a run ends, resumed parts included: the first limit that is reached; None is no limit.

    minutes: of training by the clock. processor_minutes: of the processor's time, which other programs do
    not shorten. decisions: of self-play.
    """

    minutes: float | None = None
    processor_minutes: float | None = None
    decisions: int | None = None

    def used(self, trainer: MoveTrainer) -> float:
        """Return the share of the run that is over; 1 or more at its end."""
        pairs = (
            (trainer.seconds / 60, self.minutes),
            (trainer.processor_seconds / 60, self.processor_minutes),
            (trainer.decisions, self.decisions),
        )
        return max((done / limit for done, limit in pairs if limit is not None), default=0.0)


@dataclass(frozen=True)
class RunManner:
    """How a run is kept and watched.

    resume: go on from the checkpoint if there is one. every: seconds between checkpoints. threads: that play
    and learn. teacher: of a guided run. progress: called with each generation's row.
    """

    resume: bool = False
    every: float = 60.0
    threads: int = 1
    teacher: GameAgent | None = None
    progress: Progress | None = None


PLAIN = RunManner()


def train_climbing(
    game: Game,
    place: RunPlace,
    config: ClimbingConfig | None,
    limits: RunLimits,
    manner: RunManner = PLAIN,
    interruption: Interruption | None = None,
) -> MoveTrainer:
    """Return the trainer after a run.

    config: None is that of the resumed run, or the default. interruption: who hears Ctrl-C; by default the
    run itself does. It ends the run at once, with a checkpoint of the last whole generation.
    Raises CheckpointError if there is a checkpoint and the run is not resumed, or that cannot be, and where
    a new run would write over files that lie there; LockHeld if another process trains there; FileProblem if
    nothing can be written there or the curve is none.
    """
    if place.checkpoint.parent != Path():
        check_folder(place.checkpoint.parent)
    check_output(place.checkpoint)
    with ExitStack() as stack:
        stack.enter_context(hold(place.checkpoint))
        goes_on = place.checkpoint.exists()
        check_beside(place.checkpoint, new=() if goes_on else (place.curve,))
        trainer = _begin(game, place, config, manner)
        asked = interruption or stack.enter_context(Interruption())
        if goes_on:
            trim_generations(place.curve, trainer.generation)
        curve = stack.enter_context(LineFile(place.curve))
        _train(trainer, place, curve, limits, manner, asked)
    return trainer


def _begin(game: Game, place: RunPlace, config: ClimbingConfig | None, manner: RunManner) -> MoveTrainer:
    """Return the trainer of a new run, or of the one to be resumed."""
    if not place.checkpoint.exists():
        return MoveTrainer(game, config or ClimbingConfig(), threads=manner.threads, teacher=manner.teacher)
    if not manner.resume:
        raise CheckpointError(
            f"{place.checkpoint}: a run already exists here; pass --resume to continue it, or give another"
        )
    trainer = MoveTrainer.load(place.checkpoint, game, threads=manner.threads, teacher=manner.teacher)
    if config is not None and config != trainer.config:
        raise CheckpointError(
            f"{place.checkpoint}: a resumed run keeps its settings; leave them out, or train elsewhere"
        )
    return trainer


def _train(
    trainer: MoveTrainer,
    place: RunPlace,
    curve: LineFile,
    limits: RunLimits,
    manner: RunManner,
    asked: Interruption,
) -> None:
    saved, saved_generation = -math.inf, trainer.generation
    while limits.used(trainer) < 1 and not asked.stop:
        whole = trainer.checkpoint() if trainer.generation > saved_generation else None
        try:
            with asked.at_once():
                row = trainer.run_generation()
        except Interrupted:
            if whole is not None:
                write_checkpoint(place.checkpoint, *whole)
            return
        row["share"] = limits.used(trainer)
        if trainer.generation == 1:
            # at once: what a run was asked to be is never lost, and no curve is left without its run
            trainer.save(place.checkpoint)
            saved, saved_generation = time.monotonic(), 1
        curve.append([json.dumps(row)])
        if manner.progress is not None:
            manner.progress(row)
        if trainer.generation > saved_generation and time.monotonic() - saved >= manner.every:
            trainer.save(place.checkpoint)
            saved, saved_generation = time.monotonic(), trainer.generation
    if trainer.generation > saved_generation:
        trainer.save(place.checkpoint)
