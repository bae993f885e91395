"""Networks of any game, by file or by training: over a listing of the infosets where the game is small."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from blueprint.checkpoint import read_checkpoint
from blueprint.protocol import Blueprint
from games.game import Game
from games.size import estimate_size

__all__ = ["is_listed", "load_network", "trained_network"]

KIND = "research"
"""Kind of a checkpoint that says none of the others."""
LOADERS = {
    KIND: "blueprint.research.research_network:load_research_blueprint",
    "game": "blueprint.research.game_network:load_game_network",
    "climbing": "blueprint.climbing.climbing_blueprint:load_climbing_blueprint",
    "guandan": "blueprint.guandan.network.neural_blueprint:load_guandan_blueprint",
}
"""What reads the checkpoint of a network, by its kind; the module is imported when it is first asked for."""
LISTED = 2_000_000
"""Histories up to which a network sees a listing of infosets; the largest research game has 1.9 million."""


def is_listed(game: Game) -> bool:
    """Return whether a game is small enough to train on a listing of its infosets."""
    return estimate_size(game, infosets=False, enough=10 * LISTED).histories.mean <= LISTED


def load_network(path: str | Path, game: Game) -> Blueprint:
    """Return the blueprint of a checkpoint for `game`, whichever kind it is.

    Raises CheckpointError if the file is missing, damaged, or another game's.
    """
    _, description = read_checkpoint(path, prefix="-")
    kind = str(description.get("kind", description.get("game")))
    module, _, name = LOADERS.get(kind, LOADERS[KIND]).partition(":")
    load: Callable[[str | Path, Game], Blueprint] = getattr(importlib.import_module(module), name)
    return load(path, game)


def trained_network(game: Game, decisions: int, rng: np.random.Generator) -> Blueprint:
    """Return the blueprint that so many decisions of self-play come to."""
    if getattr(game, "moves_are_inputs", False):
        from blueprint.climbing.training.move_trainer import trained_climbing_network

        return trained_climbing_network(game, decisions, rng)
    from blueprint.research.research_training import Budget, train_research_blueprint

    if is_listed(game):
        return train_research_blueprint(game, rng, Budget(decisions))
    from blueprint.research.game_training import train_game_network

    return train_game_network(game, rng, Budget(decisions))
