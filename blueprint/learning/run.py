"""A training run: generations until a limit is reached, with checkpoints and a curve, in a folder or a file.

    train("runs/mine", partial(Trainer.begun, config=config), RunLimits(minutes=60), RunManner(resume=True))

A killed run loses the work since its last checkpoint; the same call with `resume` continues from there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from blueprint.checkpoint import CheckpointError, check_beside, read_checkpoint
from blueprint.learning.base_trainer import BaseTrainer
from games.support.configuration import ConfigError
from games.support.files import LineFile, check_folder, check_output
from games.support.interruption import Interrupted, Interruption
from games.support.json_rows import trim_generations
from games.support.locks import hold
from games.support.work.where import WorkError

SUFFIX = ".safetensors"
LEAST = 1e-6
"""Minutes of training at least: one generation."""
T = TypeVar("T", bound=BaseTrainer)


@dataclass(frozen=True)
class RunPlace:
    """Where a run lives.

    checkpoint: what plays. state: what a run continues from, the same file unless it is named. curve: a line
    for each generation; None for none.
    """

    checkpoint: Path
    state: Path
    curve: Path | None

    @classmethod
    def of(cls, output: str | Path) -> RunPlace:
        """Return the place of an output: a .safetensors file, or a folder that gets `last.safetensors`."""
        output = Path(output)
        if output.suffix == SUFFIX:
            return cls(output, output, output.with_suffix(".curve.jsonl"))
        last = output / f"last{SUFFIX}"
        return cls(last, last, output / "curve.jsonl")

    @classmethod
    def with_state(cls, output: str | Path) -> RunPlace:
        """Return the place of a .safetensors file that only plays; the training is kept beside it."""
        output = Path(output)
        return cls(output, output.with_name(f"{output.stem}.state{SUFFIX}"), None)

    @property
    def output(self) -> Path:
        """What a run was asked to write: a folder or a file."""
        return self.checkpoint.parent if self.in_folder else self.checkpoint

    @property
    def in_folder(self) -> bool:
        """Whether the run has a folder to itself."""
        return self.curve is not None and self.curve.name == "curve.jsonl"

    def copy(self, stamp: str) -> Path:
        """Return the file of a numbered copy of the checkpoint."""
        return self.checkpoint.with_name(f"kept-{stamp}{SUFFIX}")

    def others(self) -> list[Path]:
        """Return the files that a run writes beside its checkpoint: of numbered copies those that exist."""
        kept = self.checkpoint.parent.glob("kept-*") if self.in_folder else ()
        files = (self.curve, *kept, self.state)
        return [path for path in files if path not in (None, self.checkpoint)]

    def is_saved(self) -> bool:
        """Return whether the checkpoint is of the same moment as the state."""
        if not self.checkpoint.exists():
            return False
        told, kept = (read_checkpoint(path, prefix="-")[1] for path in (self.checkpoint, self.state))
        return told == kept

    def check(self, *, resume: bool = False) -> bool:
        """Return whether a run continues here.

        Raises CheckpointError where one exists and is not resumed, and for files that are not a run's own.
        """
        goes_on = self.state.exists()
        if goes_on and not resume:
            raise CheckpointError(
                f"{self.state}: a run already exists here; pass --resume to continue it, or give another "
                "output"
            )
        if goes_on and self.checkpoint.exists():
            read_checkpoint(self.checkpoint, prefix="-")
        elif self.checkpoint.exists():
            raise CheckpointError(
                f"{self.checkpoint}: the file already exists; it holds no training to continue, name another"
            )
        check_beside(self.checkpoint, new=() if goes_on else self.others())
        check_beside(self.state)
        return goes_on


@dataclass(frozen=True)
class RunLimits:
    """When a run ends: at the first limit that is reached. None is no limit.

    minutes: of training by the clock, on top of what a resumed run has; 0 is one generation.
    processor_minutes: the same of the processor's time, which other programs do not shorten.
    decisions, generations: of self-play and of learning, those of a resumed run included.
    call_minutes: of this call by the clock, evaluations included; it ends in time, and no generation begins
    that may not finish.
    Raises ConfigError if no limit is given.
    """

    minutes: float | None = None
    processor_minutes: float | None = None
    decisions: int | None = None
    generations: int | None = None
    call_minutes: float | None = None

    def __post_init__(self) -> None:
        if all(limit is None for limit in vars(self).values()):
            raise ConfigError("RunLimits: decisions or minutes must say when training ends; got neither")

    def after(self, trainer: BaseTrainer) -> RunLimits:
        """Return the limits that count the time of a resumed run as well."""
        minutes, processor = self.minutes, self.processor_minutes
        return replace(
            self,
            minutes=None if minutes is None else max(minutes, LEAST) + trainer.seconds / 60,
            processor_minutes=None
            if processor is None
            else max(processor, LEAST) + trainer.processor_seconds / 60,
        )

    def used(self, trainer: BaseTrainer, elapsed: float = 0.0) -> float:
        """Return the share of the run that is over; 1 or more at its end. elapsed: seconds of this call."""
        pairs = (
            (trainer.seconds / 60, self.minutes),
            (trainer.processor_seconds / 60, self.processor_minutes),
            (trainer.decisions, self.decisions),
            (trainer.generation, self.generations),
            (elapsed / 60, self.call_minutes),
        )
        return max(done / max(limit, 1e-9) for done, limit in pairs if limit is not None)

    def over(self, trainer: BaseTrainer, elapsed: float, longest: float) -> bool:
        """Return whether the run is over. longest: seconds of the longest generation of this call."""
        late = self.call_minutes is not None and elapsed + longest > 60 * self.call_minutes
        return late or self.used(trainer, elapsed) >= 1


@dataclass(frozen=True)
class RunManner:
    """How a run is kept and watched.

    resume: continue from the checkpoint if there is one; otherwise there must be none.
    every: seconds between checkpoints. keep_every: minutes of training between numbered copies; None: none.
    progress: called with the row of each generation.
    interruption: hears Ctrl-C and the terminate signal; by default the run itself does. Either ends the run
        at once, with a checkpoint of the last whole generation. The trainer's counters are those of it; its
        weights may be in the middle of the next.
    """

    resume: bool = False
    every: float = 60.0
    keep_every: float | None = None
    progress: Callable[[dict[str, Any]], None] = lambda row: None
    interruption: Interruption | None = None


PLAIN = RunManner()


def train(
    place: RunPlace | str | Path | None,
    begin: Callable[[Path | None], T],
    limits: RunLimits,
    manner: RunManner = PLAIN,
) -> T:
    """Return the trainer after a run.

    place: gets the checkpoint after the first generation and every so often, and a line of the curve for each
        generation; lines after the checkpoint resumed from are removed. An output is put as `RunPlace.of`
        says; None keeps nothing. One process at a time trains there.
    begin: returns the trainer that a checkpoint holds, or a new one for None.
    Raises CheckpointError if a checkpoint exists and the run is not resumed, or it cannot be resumed, and
    where a new run would write over files that lie there; LockHeld if another process trains there;
    FileProblem if nothing can be written there or the curve is none; WorkError where actors cannot be started
    or fail, once the last whole generation is saved; and what `begin` raises.
    """
    with ExitStack() as stack:
        if place is None:
            trainer = begin(None)
            stack.callback(trainer.close)
            stack.enter_context(trainer.working())
            _generations(trainer, None, None, limits, manner, manner.interruption or Interruption())
            return trainer
        place = place if isinstance(place, RunPlace) else RunPlace.of(place)
        folder = place.checkpoint.parent
        if folder != Path():
            if not folder.exists():
                stack.callback(_drop_if_empty, folder)  # of a run that is refused nothing stays
            check_folder(folder)
        check_output(place.state)
        stack.enter_context(hold(folder, folder=True) if place.in_folder else hold(place.checkpoint))
        goes_on = place.check(resume=manner.resume)
        trainer = begin(place.state if goes_on else None)
        stack.callback(trainer.close)
        asked = manner.interruption or stack.enter_context(Interruption())
        curve = None
        if place.curve is not None:
            if goes_on:
                trim_generations(place.curve, trainer.generation)
            curve = stack.enter_context(LineFile(place.curve))
        if goes_on and not place.is_saved():  # killed after the state was written
            trainer.save(place.checkpoint)
        stack.enter_context(trainer.working())
        _generations(trainer, place, curve, limits, manner, asked)
        return trainer


def _drop_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _generations(
    trainer: BaseTrainer,
    place: RunPlace | None,
    curve: LineFile | None,
    limits: RunLimits,
    manner: RunManner,
    asked: Interruption,
) -> None:
    """Train until the run is over, and keep what was trained."""
    limits = limits.after(trainer)
    begin = saved = time.monotonic()
    elapsed = longest = 0.0
    saved_generation = trainer.generation
    ended = limits.over(trainer, elapsed, longest)
    while not ended and not asked.stop:
        trainer.share, counted = limits.used(trainer, elapsed), trainer.counted()
        whole = trainer.checkpoint() if place is not None and trainer.generation > saved_generation else None
        try:
            with asked.at_once():
                row = trainer.run_generation()
        except (Interrupted, WorkError) as error:
            for name, value in counted.items():
                setattr(trainer, name, value)
            if place is not None and whole is not None:
                trainer.write(place.checkpoint, *whole)
            if isinstance(error, WorkError):
                raise
            return
        trainer.share = limits.used(trainer, time.monotonic() - begin)
        with suppress(Interrupted), asked.at_once():
            row |= trainer.evaluation_due()
        if place is not None and trainer.generation == 1:
            # at once: what a run was asked to be is never lost, and no curve is left without its run
            trainer.save(place.checkpoint)
            saved, saved_generation = time.monotonic(), 1
        row["share"] = trainer.share
        if curve is not None:
            curve.append([json.dumps(row)])
        manner.progress(row)
        elapsed, before = time.monotonic() - begin, elapsed
        longest = max(longest, elapsed - before)
        ended = limits.over(trainer, elapsed, longest)
        if place is None:
            continue
        due = ended or asked.stop or time.monotonic() - saved >= manner.every
        if due and trainer.generation > saved_generation:
            trainer.save(place.checkpoint)
            saved, saved_generation = time.monotonic(), trainer.generation
        if manner.keep_every is not None and trainer.generation == saved_generation:
            stamp = int(trainer.seconds // (60 * manner.keep_every))
            kept = place.copy(f"{stamp:04d}")
            if stamp and not kept.exists():
                trainer.save(kept)
