"""A training step from the shipped checkpoint: seeded self-play, then gradient steps, on one thread."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from blueprint.guandan import SHIPPED
from blueprint.guandan.train_config import TrainConfig
from blueprint.guandan.training.trainer import Trainer
from blueprint.learning.self_play import Setup

CONFIG: dict[str, Any] = {
    "rounds": 24,
    "batch": 512,
    "learning_rate": 1e-4,
    "focus": 3.0,
    "strangers": "strong",
    "strangers_share": 0.25,
    "tribute_by_value": True,
    "seed": 5,
}


def training_step() -> dict[str, Any]:
    """Return what two generations make of the shipped network: the first plays, the second learns from it.

    digest: of every tensor of the checkpoint, moments included. norms: of each tensor, for machines whose
    rounding differs. random: state of the generator; decisions: played.
    """
    import torch

    threads = torch.get_num_threads()
    torch.manual_seed(0)
    try:
        trainer = Trainer.begun(SHIPPED, config=TrainConfig(**CONFIG), setup=Setup(threads=1))
        trainer.rng = np.random.default_rng(CONFIG["seed"])  # the cards that were recorded
        trainer.run_generation()
        trainer.run_generation()
        tensors, description = trainer.checkpoint()
    finally:
        torch.set_num_threads(threads)
    digest = hashlib.sha256()
    norms = {}
    for name in sorted(tensors):
        digest.update(name.encode() + np.ascontiguousarray(tensors[name]).tobytes())
        if not name.startswith("optimiser."):
            norms[name] = float(np.linalg.norm(tensors[name].astype(np.float64)))
    return {
        "digest": digest.hexdigest()[:16],
        "tensors": len(tensors),
        "decisions": int(description["decisions"]),
        "random": str(description["rng"]["state"]["state"]),
        "norms": norms,
    }
