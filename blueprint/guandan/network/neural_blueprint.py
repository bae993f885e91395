"""The trained network as a `Blueprint`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blueprint.check import BlueprintError, row_sums
from blueprint.checkpoint import CheckpointError
from blueprint.protocol import Decisions
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array

if TYPE_CHECKING:
    from blueprint.guandan.network.inference import Inference

__all__ = ["NeuralBlueprint", "load_blueprint", "load_guandan_blueprint"]

TEMPERATURE = 0.06
"""Levels, as training begins with: actions this much worse than the best are e times less likely."""


class NeuralBlueprint:
    """A network trained on GuanDan: q = V(I) + A(I, a), in levels, soft choice by advantage.

    A is learned against a critic of all four hands, so only its differences within a decision mean anything;
    q is centred so that its mean under the soft policy is V(I), and kept within the payoffs.
    """

    def __init__(self, inference: Inference, *, temperature: float = TEMPERATURE) -> None:
        """Take the network's fast path. temperature: of the soft policy, in levels; 0 is the best move."""
        if not 0 <= temperature <= 100:
            raise BlueprintError(f"temperature must be in [0, 100] levels; got {temperature}")
        self.inference = inference
        self.temperature = temperature
        self.name = inference.name

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the value to `player` of each action, [m] float64 in levels.

        Raises BlueprintError for another game than GuanDan.
        """
        advantage, policy = self._ask(game, states, player, actions)
        mean = row_sums(advantage * policy, actions)
        value = self.value(game, states, player)
        return np.clip(advantage + (value - mean)[actions.rows], *game.payoff_range)

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the softmax of advantage / temperature over each row, [m] float64.

        At temperature 0 the best action has probability 1, the first among equals.
        """
        return self._ask(game, states, player, actions)[1]

    def value(self, game: Game, states: Array, player: int) -> NDArray[np.float64]:
        """Return the payoff that `player` expects from what it sees, [n] float64 in levels."""
        self._check(game)
        n = len(states)
        return self.inference.values(states, np.arange(n), np.full(n, player, np.int64))

    def _ask(
        self, game: Game, states: Array, player: int, actions: Ragged
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        self._check(game)
        n = len(states)
        found = self.inference.advantages(Decisions.of(states, actions, np.full(n, player)))
        advantage = found.astype(np.float64)
        filled = np.flatnonzero(actions.counts)
        starts = actions.offsets[filled]
        best = np.zeros(n)
        best[filled] = np.maximum.reduceat(advantage, starts) if len(filled) else 0
        behind = advantage - best[actions.rows]
        if self.temperature > 0:
            weight = np.exp(behind / self.temperature)
        else:
            index = np.arange(len(behind))
            index[behind < 0] = len(behind)
            first = np.full(n, len(behind))
            first[filled] = np.minimum.reduceat(index, starts) if len(filled) else 0
            weight = (np.arange(len(behind)) == first[actions.rows]).astype(np.float64)
        return advantage, weight / row_sums(weight, actions)[actions.rows]

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
