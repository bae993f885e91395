"""How a climbing game's network plays, and the agent that plays so."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import attrs

from blueprint.climbing.climbing_blueprint import ClimbingBlueprint, load_climbing_blueprint
from blueprint.paper_parts import check_paper_fields, paper_part
from blueprint.protocol import GameAgent
from games.game import Game
from games.support.configuration import Configuration, flag, integer, real, text

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
    persona: str = attrs.field(default="", validator=text)
    alpha: float | None = attrs.field(default=None, validator=real(0, 1, below=True, optional=True))
    heeds: bool = attrs.field(default=True, validator=flag)

    def check(self) -> None:
        """Raise ConfigError for fields that nothing would read."""
        check_paper_fields(self, "persona", "alpha", "prune", "heeds")


def move_agent(path: str | Path, game: Game, play: MovePlay) -> ClimbingBlueprint | GameAgent:
    """Return the agent of a checkpoint that plays so; with a persona it has no values.

    Raises CheckpointError if the file is missing, damaged, of another kind or game, or lacks a part.
    """
    if play.persona:
        agent: GameAgent = paper_part("climbing style")(path, game, play.persona, alpha=play.alpha)
        return agent
    return load_climbing_blueprint(
        path, game, temperature=play.temperature, prune=play.prune, heeds=play.heeds
    )
