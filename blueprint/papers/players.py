"""Who plays besides the network in self-play: pruned moves (ODMC), a teacher (SDMC), personalities (PDHQN).

A teacher, a rule agent, makes a share of the decisions early in training. The learner sees its actions and
what they led to as its own, so that sensible lines of play are in its data before its own values can find
them. The share falls to zero, after which nothing of it remains.

A persona is a seat that plays a round by a rule-based personality, so that a network can learn to tell them.
The type of a seat holds for a whole round, and is the label of every move that it makes there. The source
draws the personality's move or the network's anew at every decision; what a seat does could then not say
what it is.

Sources: OpenGuanDan's description of SDMC (Ge et al. 2024), and the paper on personality-guided deep Monte
Carlo (PDHQN, 2025), sections 3.2, 3.4 and 3.5. Neither gives the teacher's share or its course: those are
ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blueprint.climbing.move_inputs import MoveInputs
from blueprint.game_lockstep import Seated
from blueprint.guandan.rules.split_agents import PersonalityAgent, StrongAgent
from blueprint.papers.fields import PERSONALITIES
from blueprint.papers.personality_rules import personality_choice
from blueprint.papers.pruning import Pruned
from blueprint.protocol import Agent, Decisions, shared_out
from games.game import Game
from games.guandan.rounds.round import GuanDan
from games.support.array_types import Ints

if TYPE_CHECKING:
    from blueprint.climbing.training.move_trainer import MoveTrainer
    from blueprint.guandan.train_config import TrainConfig
    from blueprint.guandan.training.actors.pieces import Piece
    from blueprint.learning.move_training import MoveTraining

OWN = len(PERSONALITIES) - 1
"""The type of a seat that the network plays itself."""
PARTS = 0x9E45
"""Sets GuanDan's stream of the types apart from that of play."""


def guidance_share(decisions: float, guide: float, share: float) -> float:
    """Return the probability that the teacher makes a decision: `share` at first, linearly 0 at `guide`.

    decisions: trained so far.
    """
    return share * max(0.0, 1.0 - decisions / guide) if guide > 0 else 0.0


class Guided:
    """An agent whose decisions are each made by `teacher` with probability `share`, else by `agent`."""

    def __init__(self, agent: Agent, teacher: Agent, share: float, rng: np.random.Generator) -> None:
        self.agent, self.teacher, self.share, self.rng = agent, teacher, share, rng

    def __call__(self, decisions: Decisions) -> Ints:
        """Return one action per decision, as an index within its row."""
        taught = self.rng.random(len(decisions)) < self.share
        return shared_out(decisions, taught, (self.agent, self.teacher), self.rng)[0]


def drawn_types(
    share: float, shape: tuple[int, int], rng: np.random.Generator, dtype: Any = np.int64
) -> NDArray[Any]:
    """Return the type of each seat of some rounds, [rounds, seats]: a personality in `share` of the seats."""
    types = rng.integers(0, OWN, shape, dtype=dtype)
    types[rng.random(shape) >= share] = OWN
    return types


def labels(types: NDArray[Any], rounds: Ints, seats: Ints) -> NDArray[Any]:
    """Return the types of all seats at some decisions, [n, seats], from the one that decides on.

    types: [rounds, seats]; rounds, seats: [n] of the decisions.
    """
    around = np.arange(types.shape[1])
    found: NDArray[Any] = types[rounds[:, None], (seats[:, None] + around) % len(around)]
    return found


class Personas(Seated):
    """Plays each seat by its type: as an agent does, or by a rule-based personality.

    rules: of the personalities. types: of each seat, [rounds, seats].
    """

    def __init__(self, agent: Agent, rules: Sequence[Agent], types: NDArray[Any]) -> None:
        super().__init__((*rules, agent), types)
        self.types = types

    def draw(self, decisions: Decisions) -> tuple[Ints, NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability (1 of a rule)."""
        choice, chance = super().draw(decisions)
        chance[self.who[decisions.rows, decisions.seats] != OWN] = 1.0
        return choice, chance


def climbing_personas(agent: Agent, inputs: MoveInputs, types: Ints) -> Personas:
    """Return who plays each seat of a climbing game by its type, [rounds, seats]."""
    return Personas(agent, [personality_choice(inputs, name) for name in PERSONALITIES[:OWN]], types)


def _taught(
    agent: Agent, config: MoveTraining, game: Game, teacher: Agent | None, decisions: int, rng: Any
) -> Agent:
    """Return who plays after so many decisions trained, as the configuration prunes and guides."""
    if config.prune >= 0:
        agent = Pruned(agent, game, config.prune)
    share = guidance_share(decisions, config.guide, config.guide_share)
    return agent if share == 0 or teacher is None else Guided(agent, teacher, share, rng)


def guandan_player(
    agent: Agent, config: TrainConfig, piece: Piece, rng: np.random.Generator, rounds: int
) -> Agent:
    """Return who plays a piece of so many rounds, as the configuration wants it.

    The types of the seats follow from the piece's seed alone, whoever plays it.
    """
    agent = _taught(agent, config, GuanDan(), StrongAgent(), piece.decisions, rng)
    if not config.personas:
        return agent
    own = np.random.SeedSequence(piece.seed.entropy, spawn_key=(*piece.seed.spawn_key, PARTS))
    types = drawn_types(config.personas, (rounds, 4), np.random.default_rng(own), np.uint8)
    return Personas(agent, [PersonalityAgent(name) for name in PERSONALITIES[:OWN]], types)


def climbing_player(agent: Agent, trainer: MoveTrainer, rng: np.random.Generator, rounds: int) -> Agent:
    """Return who plays so many rounds of a climbing game, as the trainer's configuration wants it."""
    config, inputs = trainer.config, trainer.inputs
    agent = _taught(agent, config, trainer.game, trainer.teacher, trainer.decisions, rng)
    if not config.personas:
        return agent
    types = drawn_types(config.personas, (rounds, inputs.game.num_players), rng)
    return climbing_personas(agent, inputs, types)
