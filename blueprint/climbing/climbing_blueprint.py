"""A trained network of a climbing game as a blueprint: action values, a policy and values at every seat.

    blueprint = load_climbing_blueprint("runs/ddz/last.safetensors", game)

Answers are in single precision, so that what is asked together does not matter.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from blueprint.checkpoint import check_features, read_checkpoint
from blueprint.climbing.fast_moves import FastMoves, fast_moves
from blueprint.climbing.move_config import described_config
from blueprint.climbing.move_inputs import move_inputs
from blueprint.paper_parts import check_paper_fields, paper_part
from blueprint.protocol import Agent
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.configuration import ConfigError, Configuration, flag, integer, real, text

__all__ = ["ClimbingBlueprint", "MovePlay", "load_climbing_blueprint", "move_agent"]


class ClimbingBlueprint:
    """A blueprint (see `blueprint.protocol`) that plays its best move, or softly at a temperature.

    scale: payoffs to 1 of the network's answers. Of a network that learned who wins, values are what winning
    is worth, 1 or -1. temperature: of the softmax over Q, in the network's own unit; 0 for the best move.
    prune: margin of move pruning (`papers.pruning`) in what it plays, -1 for none; q tells of all moves.
    wins: whether its values are of who wins, not the game's payoffs. source: its checkpoint, if it has one.
    """

    wins = False
    source: Path | None = None

    def __init__(
        self, network: FastMoves, scale: float, *, name: str, temperature: float = 0.0, prune: int = -1
    ) -> None:
        """Take the network of a game."""
        self.network, self.scale, self.name, self.temperature = network, scale, name, temperature
        self.prune = prune
        self.game = network.inputs.game
        self.low, self.high = self.game.payoff_range

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the value to `player` of each action, [m] float64. Raises ConfigError for another game."""
        v, a = self._answer(game, states, player, actions)
        return np.clip(self.scale * (v[actions.rows] + a), self.low, self.high)

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64."""
        a = self._answer(game, states, player, actions)[1]
        return self._soft(a, states, player, actions)

    def value(self, game: Game, states: Array, player: int) -> NDArray[np.float64]:
        """Return the value to `player` of each state, [n] float64, from what it sees there.

        Where it acts itself, that is the policy's mean of Q; where others do, V.
        """
        self._own(game)
        acts = game.player(states) == player
        out = np.empty(len(states))
        mine = np.flatnonzero(acts)
        if len(mine):
            actions = game.actions(states[mine])
            v, a = self._answer(game, states[mine], player, actions)
            q = np.clip(self.scale * (v[actions.rows] + a), self.low, self.high)
            chances = self._soft(a, states[mine], player, actions)
            out[mine] = np.bincount(actions.rows, q * chances, minlength=len(mine))
        others = np.flatnonzero(~acts)
        if len(others):
            seen = np.ascontiguousarray(states[others])
            rows, seats = np.arange(len(others)), np.full(len(others), player, np.int64)
            v = self.network.values(seen, rows, seats).astype(np.float64)
            out[others] = np.clip(self.scale * v, self.low, self.high)
        return out

    def _own(self, game: Game) -> None:
        if game.name != self.game.name:
            raise ConfigError(
                f"{self.name}: it is a network for {self.game.name}; got a state of {game.name}"
            )

    def _answer(
        self, game: Game, states: Array, player: int, actions: Ragged
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return V, [n], and A, [m], in the network's unit."""
        self._own(game)
        seats = np.full(len(states), player, np.int64)
        words = self.network.inputs.words(actions.values)
        v, a = self.network.answer(
            np.ascontiguousarray(states), np.arange(len(states)), seats, actions.offsets, words
        )
        return v.astype(np.float64), a.astype(np.float64)

    def _soft(
        self, a: NDArray[np.float64], states: Array, player: int, actions: Ragged
    ) -> NDArray[np.float64]:
        if len(a) == 0:
            return a
        if self.prune >= 0:
            inputs, seats = self.network.inputs, np.full(len(states), player, np.int64)
            words = inputs.words(actions.values)
            where = (np.ascontiguousarray(states), seats, actions.offsets, words)
            a = np.where(paper_part("climbing pruning")(inputs, *where, self.prune), a, -np.inf)
        starts, counts = actions.offsets[:-1], actions.counts
        below = a - np.repeat(np.maximum.reduceat(a, starts), counts)
        if self.temperature > 0:
            weights = np.exp(below / self.temperature)
            found: NDArray[np.float64] = weights / np.repeat(np.add.reduceat(weights, starts), counts)
            return found
        best = np.flatnonzero(below == 0)
        _, first = np.unique(actions.rows[best], return_index=True)
        probs = np.zeros(len(a))
        probs[best[first]] = 1.0
        return probs


def load_climbing_blueprint(
    path: str | Path, game: Game, *, temperature: float = 0.0, prune: int | None = None, heeds: bool = True
) -> ClimbingBlueprint:
    """Return the blueprint of a checkpoint that `gs2 train` wrote for a climbing game.

    prune: margin of pruning in play; None is that of the training, since what was pruned there was never
        tried. heeds: whether it listens to its models of the others, where it has any.
    Raises CheckpointError if the file is missing, damaged, of another kind or another game, ConfigError if it
    is not to listen and has no models.
    """
    path = Path(path)
    tensors, description = read_checkpoint(path, prefix="network.")
    config = described_config(path, description, game)
    inputs = move_inputs(game)
    check_features(path, description, inputs.layout)
    name = f"{path.stem}@{description.get('decisions', 0)}"
    if not heeds:
        tensors = paper_part("climbing network unheard", "heeds=false")(tensors, name)
    network = fast_moves(inputs, tensors, half=False, name=name)
    found = ClimbingBlueprint(
        network,
        float(description["stake"]),
        name=name,
        temperature=temperature,
        prune=config.prune if prune is None else prune,
    )
    found.wins, found.source = config.target == "win", path
    return found


@attrs.frozen(slots=False)
class MovePlay(Configuration):
    """How a network plays.

    temperature: of a softmax over Q, in the network's own unit; 0 is the best move. prune: margin of move
    pruning by minimum combination, in turns, -1 for none (ODMC); None is that of its training.
    persona: whose style it plays, where it has a personality head (PDHQN); none is its own. alpha: weight of
    its values beside the style, in [0, 1), of which None is a half. heeds: whether it listens to its models
    of the others, where it has them.
    """

    label: ClassVar[str] = "MovePlay"

    temperature: float = attrs.field(default=0.0, validator=real(0, 10))
    prune: int | None = attrs.field(default=None, validator=integer(-1, 27, optional=True))
    persona: str = attrs.field(default="", validator=text)
    alpha: float | None = attrs.field(default=None, validator=real(0, 1, below=True, optional=True))
    heeds: bool = attrs.field(default=True, validator=flag)

    def check(self) -> None:
        """Raise ConfigError for fields that nothing would read."""
        check_paper_fields(self, "persona", "alpha", "prune", "heeds")


def move_agent(path: str | Path, game: Game, play: MovePlay) -> ClimbingBlueprint | Agent:
    """Return the agent of a checkpoint that plays so; with a persona it has no values.

    Raises CheckpointError if the file is missing, damaged, of another kind or game, or lacks a part.
    """
    if play.persona:
        agent: Agent = paper_part("climbing style")(path, game, play.persona, alpha=play.alpha)
        return agent
    return load_climbing_blueprint(
        path, game, temperature=play.temperature, prune=play.prune, heeds=play.heeds
    )
