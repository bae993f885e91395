"""The configuration of a climbing game's network and training, saved with every checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import attrs

from blueprint.checkpoint import CheckpointError, check_description
from blueprint.learning.move_training import MoveTraining
from blueprint.networks import OF_GAMES
from blueprint.paper_parts import check_paper_fields
from games.game import Game
from games.support.configuration import flag, integer, one_of, real

CLIMBING = "climbing"
"""What a checkpoint of these networks calls itself."""
TARGETS = ("win", "payoff")
"""What is learned: who wins, 1 or -1, or the game's payoffs in stakes of random play."""
WIDEST = 8192


@attrs.frozen(slots=False)
class ClimbingConfig(MoveTraining):
    """The network of a climbing game, and its training by Deep Monte Carlo.

    state, blocks: width of the tower that runs once a decision, and its residual layers.
    action, action_blocks: the same of the head that runs once a move.
    critic: width of the critic, which sees all hands and is used in training alone: what it expects is taken
        off the returns that the moves are learned from. 0 for plain Deep Monte Carlo.
    target: "win" or "payoff" (which bombs may double); see TARGETS.
    views: seats that do not act whose value is learned, a decision.
    hands: a mean over 108 or 156 bits, so that it takes some tens to be heard by the tower; 0 for a network
        without. hands_fed: whether what the head says is an input of the moves' head.
    personality: width of a head that says whose move this would be (PDHQN), 0 for none; it needs personas,
        and they need it.
    recognise: weight of the loss of a head that says by whose rule each other seat plays, from what it has
        seen; the moves' head hears its answer. It needs personas; 0 for a network without.
    """

    label: ClassVar[str] = "ClimbingConfig"

    state: int = attrs.field(default=256, validator=integer(1, WIDEST))
    blocks: int = attrs.field(default=2, validator=integer(0, 64))
    action: int = attrs.field(default=128, validator=integer(1, WIDEST))
    action_blocks: int = attrs.field(default=1, validator=integer(0, 64))
    critic: int = attrs.field(default=256, validator=integer(0, WIDEST))
    target: str = attrs.field(default="payoff", validator=one_of(TARGETS))
    views: float = attrs.field(default=0.25, validator=real(0, 1))
    hands_fed: bool = attrs.field(default=True, validator=flag)
    personality: int = attrs.field(default=0, validator=integer(0, WIDEST))
    recognise: float = attrs.field(default=0.0, validator=real(0, 1000))

    def check(self) -> None:
        """Raise ConfigError for fields of published systems that contradict each other."""
        paper = ("guide", "hands", "personality", "personas", "recognise", "prune", "policy")
        check_paper_fields(self, *paper)


def described_config(path: str | Path, description: dict[str, Any], game: Game) -> ClimbingConfig:
    """Return the configuration that a checkpoint of a game describes.

    Raises CheckpointError if it is of another kind or game.
    """
    if description.get("kind") != CLIMBING:
        known = [name for name, one in OF_GAMES.items() if one.kind == CLIMBING]
        raise CheckpointError(
            f"checkpoint: {path} must be of a climbing game; it is of kind {description.get('kind')!r}; take "
            f"one that gs2 train {' or '.join(known)} wrote"
        )
    if description.get("game") != game.name:
        raise CheckpointError(
            f"checkpoint: {path} was trained on {description.get('game')!r}, not on {game.name!r}; name that "
            "game"
        )
    check_description(path, description, {"config": dict, "stake": float})
    return ClimbingConfig.from_json(description["config"])
