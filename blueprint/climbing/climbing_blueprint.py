"""A trained network of a climbing game as a blueprint: action values, a policy and values at every seat.

    blueprint = load_climbing_blueprint("runs/ddz/last.safetensors", game)

Answers are in single precision, so that what is asked together does not matter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from blueprint.checkpoint import CheckpointError, check_features, read_checkpoint
from blueprint.climbing.move_config import ClimbingConfig, described_config
from blueprint.climbing.move_inputs import move_inputs
from blueprint.layers.fast_moves import FastMoves, fast_moves
from blueprint.network_blueprint import NetworkBlueprint
from blueprint.networks import OF_GAMES
from blueprint.paper_parts import check_paper_fields, paper_part
from blueprint.protocol import Agent, Decisions, MoveInputs
from games.game import Game, GameError
from games.ragged import Ragged
from games.registry import load_game
from games.support.array_types import Array
from games.support.configuration import Configuration, flag, integer, real, text


class ClimbingBlueprint(NetworkBlueprint):
    """A blueprint that plays its best move, or softly at a temperature in the network's own unit.

    Of a network that learned who wins, values are what winning is worth, 1 or -1.
    prune: margin of move pruning (`papers.pruning`) in what it plays, -1 for none; q tells of all moves.
    wins: whether its values are of who wins, not the game's payoffs. source: its checkpoint, if it has one.
    """

    wins = False
    source: Path | None = None

    def __init__(
        self, network: FastMoves, scale: float, *, name: str, temperature: float = 0.0, prune: int = -1
    ) -> None:
        """Take the network of a game."""
        super().__init__(network.inputs.game, scale, name, temperature)
        self.network, self.prune = network, prune

    def answer(
        self, states: Array, player: int, actions: Ragged
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return V + A and A of actions, [m] both, in the network's unit; A of what is pruned is -inf."""
        states, seats = np.ascontiguousarray(states), np.full(len(states), player, np.int64)
        words = self.network.inputs.words(actions.values)
        v, a = self.network.answer(states, np.arange(len(states)), seats, actions.offsets, words)
        values, scores = v.astype(np.float64)[actions.rows] + a.astype(np.float64), a.astype(np.float64)
        if self.prune >= 0 and len(a):
            asked = Decisions.of(states, actions, seats, game=self.game)
            scores = np.where(paper_part("pruner")(self.game, self.prune)(asked), scores, -np.inf)
        if untaught := self.network.inputs.untaught:
            values *= self._stakes(states, player)[actions.rows]
            untaught.decide(states, seats, actions, scores)
        return values, scores

    def views(self, states: Array, player: int) -> NDArray[np.float64]:
        """Return V of states at which others act, [n], in the network's unit."""
        rows, seats = np.arange(len(states)), np.full(len(states), player, np.int64)
        values = self.network.values(np.ascontiguousarray(states), rows, seats).astype(np.float64)
        return values * self._stakes(states, player)

    def by_rule(self, states: Array) -> NDArray[np.bool_]:
        """Return whether a rule plays at each state, [n]: values there are 0, and say nothing."""
        untaught = self.network.inputs.untaught
        return np.zeros(len(states), bool) if untaught is None else untaught.here(states)

    def _stakes(self, states: Array, player: int) -> NDArray[np.float64]:
        """Return by what values are multiplied, [n]."""
        untaught, stakes = self.network.inputs.untaught, np.ones(len(states))
        if untaught is not None and not self.wins:
            stakes = untaught.stakes(states, player)
        return np.where(self.by_rule(states), 0.0, stakes)


def described_play(
    path: str | Path, description: dict[str, Any], game: Game
) -> tuple[ClimbingConfig, MoveInputs]:
    """Return the configuration of a checkpoint that is to play `game`, and what it sees there.

    A network of a registered game plays it by any rules. Its inputs must be those of the rules that it
    learned by.
    Raises CheckpointError if it is of another kind or game, or was trained on other inputs.
    """
    told, learned = description.get("game"), game
    family = game.name.partition("(")[0]
    if told != game.name and family in OF_GAMES and str(told).partition("(")[0] == family:
        try:
            learned = load_game(str(told), general_sum=True)
        except GameError as error:
            raise CheckpointError(f"checkpoint: {path} must name its game; {error}") from None
    config = described_config(path, description, learned)
    check_features(path, description, move_inputs(learned).layout)
    return config, move_inputs(game, learned)


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
    config, inputs = described_play(path, description, game)
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
