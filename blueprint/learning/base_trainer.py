"""A trainer as a run sees it: it plays and learns generation by generation, and is kept in a checkpoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np

from blueprint.checkpoint import CheckpointError, check_description, write_checkpoint
from blueprint.learning.learner import BaseLearner
from games.support.array_types import Array

__all__ = ["BaseTrainer", "stream_of"]


class BaseTrainer(ABC):
    """Everything a run holds: learner, random generator and counters.

    COUNTED: the counters that a checkpoint keeps, with their types.
    generation, decisions: trained so far. seconds, processor_seconds: of training, by the clock and of the
    processor. share: of the run that is over, in [0, 1]; the run sets it before each generation.
    """

    COUNTED: ClassVar[dict[str, type]]
    rng: np.random.Generator

    def __init__(self) -> None:
        self.generation = self.decisions = 0
        self.seconds = self.processor_seconds = 0.0
        self.share = 0.0
        self.learner: BaseLearner

    @abstractmethod
    def run_generation(self) -> dict[str, Any]:
        """Play one generation, learn, and return its row: counters and losses.

        An exception leaves the trainer in the middle; what `checkpoint` returned before still holds.
        """

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
