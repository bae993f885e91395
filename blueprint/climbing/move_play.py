"""How a climbing game's network plays, and the agent that plays so."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import attrs

from blueprint.choosing.personality import ALPHA, PERSONALITIES
from blueprint.climbing.climbing_blueprint import ClimbingBlueprint, load_climbing_blueprint
from blueprint.climbing.persona_agent import PersonaAgent, load_persona_agent
from games.game import Game
from games.support.configuration import ConfigError, Configuration, flag, integer, one_of, real

__all__ = ["MovePlay", "move_agent"]


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
    persona: str = attrs.field(default="", validator=one_of(("", *PERSONALITIES)))
    alpha: float | None = attrs.field(default=None, validator=real(0, 1, below=True, optional=True))
    heeds: bool = attrs.field(default=True, validator=flag)

    def check(self) -> None:
        """Raise ConfigError for fields that nothing would read."""
        if self.alpha is not None and not self.persona:
            raise ConfigError(f"MovePlay: alpha={self.alpha:g} blends with a style; name a persona too")
        if self.persona and (self.temperature or self.prune is not None):
            raise ConfigError("MovePlay: a persona plays its best move; leave temperature and prune out")
        if self.persona and not self.heeds:
            raise ConfigError("MovePlay: a persona listens to its models of the others; leave heeds out")


def move_agent(path: str | Path, game: Game, play: MovePlay) -> ClimbingBlueprint | PersonaAgent:
    """Return the agent of a checkpoint that plays so; with a persona it has no values.

    Raises CheckpointError if the file is missing, damaged, of another kind or game, or lacks a part.
    """
    if play.persona:
        return load_persona_agent(path, game, play.persona, alpha=ALPHA if play.alpha is None else play.alpha)
    return load_climbing_blueprint(
        path, game, temperature=play.temperature, prune=play.prune, heeds=play.heeds
    )
