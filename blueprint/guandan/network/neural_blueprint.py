"""The trained network as a `Blueprint`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blueprint.check import BlueprintError, row_sums
from blueprint.checkpoint import CheckpointError
from blueprint.network_blueprint import NetworkBlueprint
from blueprint.protocol import Decisions
from blueprint.soft_choices import soft_shares
from games.game import Game
from games.guandan.rounds.round import GuanDan
from games.ragged import Ragged
from games.support.array_types import Array

if TYPE_CHECKING:
    from blueprint.guandan.network.inference import Inference

TEMPERATURE = 0.06
"""Levels, as training begins with: actions this much worse than the best are e times less likely."""


class NeuralBlueprint(NetworkBlueprint):
    """A network trained on GuanDan: q = V(I) + A(I, a), in levels, soft choice by advantage.

    A is learned against a critic of all four hands, so only its differences within a decision mean anything;
    q is centred so that its mean under the soft policy is V(I), and kept within the payoffs.
    """

    def __init__(self, inference: Inference, *, temperature: float = TEMPERATURE) -> None:
        """Take the network's fast path. temperature: of the soft policy, in levels; 0 is the best move."""
        if not 0 <= temperature <= 100:
            raise BlueprintError(f"temperature must be in [0, 100] levels; got {temperature}")
        super().__init__(GuanDan(), 1.0, inference.name, temperature)
        self.inference = inference

    def answer(
        self, states: Array, player: int, actions: Ragged
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return q and A of actions, [m] both, in levels."""
        found = self.inference.advantages(Decisions.of(states, actions, player)).astype(np.float64)
        mean = row_sums(found * soft_shares(found, actions.offsets, self.temperature), actions)
        return found + (self.views(states, player) - mean)[actions.rows], found

    def views(self, states: Array, player: int) -> NDArray[np.float64]:
        """Return V(I), [n] float64 in levels."""
        n = len(states)
        return self.inference.values(states, np.arange(n), np.full(n, player, np.int64))

    def value(self, game: Game, states: Array, player: int) -> NDArray[np.float64]:
        """Return the payoff that `player` expects from what it sees, [n] float64 in levels."""
        self._check(game)
        return self.views(states, player)

    def _check(self, game: Game) -> None:
        if game.name.partition("(")[0] != "guandan":
            raise BlueprintError(f"{self.name} was trained on guandan; got {game.name}; train one for it")


def load_blueprint(
    path: str | os.PathLike[str] | None = None, *, temperature: float = TEMPERATURE
) -> NeuralBlueprint:
    """Return the blueprint of a checkpoint, by default the one that comes with the package.

    It answers in single precision, so that what else is in a batch does not matter.
    temperature: of the soft policy, in levels.
    Raises CheckpointError if the file is missing, damaged or foreign.
    """
    from blueprint.guandan.network.inference import load_inference

    return NeuralBlueprint(load_inference(path, critic=False, half=False), temperature=temperature)


def load_guandan_blueprint(path: str | os.PathLike[str], game: Game) -> NeuralBlueprint:
    """Return the blueprint of a checkpoint that plays its best move, as networks of other games are loaded.

    Raises CheckpointError if the file is missing, damaged or foreign, or the game is another.
    """
    if game.name.partition("(")[0] != "guandan":
        raise CheckpointError(
            f"checkpoint: {path} must be a network for {game.name}; it is one for 'guandan'; train one with "
            f"gs2 train '{game.name}'"
        )
    return load_blueprint(path, temperature=0.0)
