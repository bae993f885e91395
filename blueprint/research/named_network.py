"""Networks of any game, by file or by training: whichever kind fits the game."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from blueprint.protocol import Blueprint
from games.game import Game

__all__ = ["load_network", "trained_network"]


def load_network(path: str | Path, game: Game) -> Blueprint:
    """Return the blueprint of a checkpoint for `game`.

    Raises CheckpointError if the file is missing, damaged, or another game's.
    """
    from blueprint.research.research_network import load_research_blueprint

    return load_research_blueprint(path, game)


def trained_network(game: Game, decisions: int, rng: np.random.Generator) -> Blueprint:
    """Return the blueprint that so many decisions of self-play come to."""
    from blueprint.research.research_training import Budget, train_research_blueprint

    return train_research_blueprint(game, rng, Budget(decisions))
