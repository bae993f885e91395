"""The trainer: it plays and learns generation by generation, and is kept in a checkpoint."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np

from blueprint.checkpoint import CheckpointError, check_description, write_checkpoint
from blueprint.learning.learner import BaseLearner
from games.support.array_types import Array


class BaseTrainer(ABC):
    """Everything a run holds: learner, random generator and counters.

    A kind of trainer says how a generation is played, and what its row tells; its learner, what is learned.
    COUNTED: the counters that a checkpoint keeps, with their types. behind: whether a generation is learned
    from while the next one is played, otherwise before.
    generation, decisions: trained so far. seconds, processor_seconds: of training, by the clock and of the
    processor. share: of the run that is over, in [0, 1]; the run sets it before each generation.
    pending: parts of what was played and is not learned from yet, with pending_steps decisions, forced ones
    included.
    """

    COUNTED: ClassVar[dict[str, type]]
    behind = False
    rng: np.random.Generator

    def __init__(self) -> None:
        self.generation = self.decisions = self.pending_steps = 0
        self.seconds = self.processor_seconds = 0.0
        self.share = 0.0
        self.pending: list[Any] = []
        self.learner: BaseLearner

    def run_generation(self) -> dict[str, Any]:
        """Play one generation, learn, and return its row: counters and losses.

        An exception leaves the trainer in the middle; what `checkpoint` returned before still holds.
        """
        began, processor = time.perf_counter(), time.process_time()
        self.hand_out()
        learned = self.learn_pending()
        self.pending, self.pending_steps, told = self.play()
        playing, steps = time.perf_counter() - began, self.pending_steps
        self.decisions += steps
        if not self.behind:
            learned = self.learn_pending()
        seconds = time.perf_counter() - began
        self.generation += 1
        self.seconds += seconds
        self.processor_seconds += time.process_time() - processor
        return {**self.row(steps, seconds, playing), **told, **learned}

    def hand_out(self) -> None:
        """Have players begin with what `play` returns, where they play beside this process."""
        return

    @abstractmethod
    def play(self) -> tuple[list[Any], int, dict[str, Any]]:
        """Play a generation; return the parts that teach, its decisions, and what its row tells."""

    def learn_pending(self) -> dict[str, float]:
        """Learn from what was played last, if that is still to be done; return mean losses.

        Where a trainer is saved and left, this comes before: a checkpoint does not hold what was played.
        """
        fresh, steps, self.pending, self.pending_steps = self.pending, self.pending_steps, [], 0
        if not any(map(len, fresh)):
            return {}
        return self.learner.learn(fresh, self.rng, self.decisions, steps)

    @abstractmethod
    def row(self, steps: int, seconds: float, playing: float) -> dict[str, Any]:
        """Return the counters and the speed. steps: decisions in so many seconds, part of them playing."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what a checkpoint says of its game, network and configuration."""

    def checkpoint(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return the tensors and the description of a checkpoint, which later training leaves alone."""
        sequence = cast(np.random.SeedSequence, self.rng.bit_generator.seed_seq)
        stream = {
            "rng": self.rng.bit_generator.state,
            "spawned": sequence.n_children_spawned,
            "stream": list(sequence.spawn_key),
        }
        return self.learner.tensors(), {**self.describe(), **self.counted(), **stream}

    def counted(self) -> dict[str, Any]:
        """Return the counters."""
        return {name: getattr(self, name) for name in self.COUNTED}

    def recall(self, path: str | Path, description: dict[str, Any], seed: int) -> None:
        """Take over the counters that a checkpoint tells, and its random stream if it has one.

        Raises CheckpointError where they are none.
        """
        older: dict[str, Any] = {"processor_seconds": 0.0, "evaluation": {}}
        description = older | description
        check_description(path, description, self.COUNTED)
        for name, kind in self.COUNTED.items():
            setattr(self, name, kind(description[name]))
        if "rng" not in description:
            return
        check_description(path, description, {"rng": dict, "spawned": int})
        try:
            self.rng = stream_of(seed, description.get("stream", ()), description["spawned"])
            self.rng.bit_generator.state = description["rng"]
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise CheckpointError(
                f"checkpoint: {path} must hold the state of a PCG64 generator; got {description['rng']!r}"
            ) from error

    def write(self, path: Path, tensors: dict[str, Array], description: dict[str, Any]) -> None:
        """Write what `checkpoint` returned."""
        write_checkpoint(path, tensors, description)

    def save(self, path: str | Path) -> None:
        """Write a checkpoint from which a run continues."""
        self.write(Path(path), *self.checkpoint())

    def working(self) -> AbstractContextManager[Any]:
        """Return the context in which the generations of a run take place."""
        return nullcontext()

    def evaluation_due(self) -> dict[str, Any]:
        """Return what an evaluation that is due adds to the row of a generation; nothing if none is."""
        return {}

    def close(self) -> None:
        """Release what plays beside this process. The trainer can be asked and saved afterwards."""
        return


def stream_of(seed: int, key: Sequence[int], spawned: int = 0) -> np.random.Generator:
    """Return the random stream of a seed with a spawn key, of which so many children were spawned."""
    sequence = np.random.SeedSequence(seed, spawn_key=tuple(key), n_children_spawned=spawned)
    return np.random.Generator(np.random.PCG64(sequence))
