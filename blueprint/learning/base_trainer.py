"""A trainer as a run sees it: it plays and learns generation by generation, and is kept in a checkpoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from blueprint.checkpoint import write_checkpoint
from games.support.array_types import Array

__all__ = ["BaseTrainer"]


class BaseTrainer(ABC):
    """Everything a run holds: learner, random generator and counters.

    generation, decisions: trained so far. seconds, processor_seconds: of training, by the clock and of the
    processor. share: of the run that is over, in [0, 1]; the run sets it before each generation.
    """

    def __init__(self) -> None:
        self.generation = self.decisions = 0
        self.seconds = self.processor_seconds = 0.0
        self.share = 0.0

    @abstractmethod
    def run_generation(self) -> dict[str, Any]:
        """Play one generation, learn, and return its row: counters and losses.

        An exception leaves the trainer in the middle; what `checkpoint` returned before still holds.
        """

    @abstractmethod
    def checkpoint(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return the tensors and the description of a checkpoint, which later training leaves alone."""

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
