"""Networks of any game, by file or by training."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.checkpoint import CheckpointError, read_checkpoint
from blueprint.protocol import Blueprint
from games.game import Game

__all__ = ["load_network", "trained_network"]

LOADERS = {
    "game": "blueprint.research.game_network:load_game_network",
    "climbing": "blueprint.climbing.climbing_blueprint:load_climbing_blueprint",
    "guandan": "blueprint.guandan.network.neural_blueprint:load_guandan_blueprint",
}
"""What reads the checkpoint of a network, by its kind; the module is imported when it is first asked for."""
FEW: dict[str, Any] = {"passes": 2.0, "learning_rate": 2e-3}
"""Training of a network that is named by its decisions: few, so each teaches twice (research_networks.md)."""


def load_network(path: str | Path, game: Game) -> Blueprint:
    """Return the blueprint of a checkpoint for `game`, whichever kind it is.

    Raises CheckpointError if the file is missing, damaged, another game's, or of a kind no longer read.
    """
    _, description = read_checkpoint(path, prefix="-")
    kind = str(description.get("kind", description.get("game")))
    if kind not in LOADERS:
        raise CheckpointError(
            f"checkpoint: {path} must be a network of the kind {', '.join(LOADERS)}; got {kind!r}; train one "
            f"with: gs2 train '{game.name}' -o FILE"
        )
    module, _, name = LOADERS[kind].partition(":")
    load: Callable[[str | Path, Game], Blueprint] = getattr(importlib.import_module(module), name)
    return load(path, game)


def trained_network(game: Game, decisions: int, rng: np.random.Generator) -> Blueprint:
    """Return the blueprint that so many decisions of self-play come to."""
    if getattr(game, "moves_are_inputs", False):
        from blueprint.climbing.training.move_trainer import trained_climbing_network

        return trained_climbing_network(game, decisions, rng)
    from blueprint.learning.run import RunLimits
    from blueprint.research.game_network import GameNetworkConfig
    from blueprint.research.game_training import train_game_network

    return train_game_network(game, rng, RunLimits(decisions=decisions), config=GameNetworkConfig(**FEW))
