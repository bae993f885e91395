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

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from blueprint.climbing.move_inputs import MoveInputs
from blueprint.climbing.training.climbing_play import Choose, MoveChoices, let_decide
from blueprint.guandan.chooser import Chooser, Decisions, drawn
from blueprint.guandan.rules.split_agents import PersonalityAgent, StrongAgent
from blueprint.papers.fields import PERSONALITIES
from blueprint.papers.personality_rules import personality_choice
from blueprint.papers.pruning import PrunedChooser, pruned_agent, pruner
from blueprint.protocol import GameAgent
from games.support.array_types import Ints

if TYPE_CHECKING:
    from blueprint.climbing.training.move_trainer import MoveTrainer
    from blueprint.guandan.train_config import TrainConfig
    from blueprint.guandan.training.actors.pieces import Piece

__all__ = [
    "OWN",
    "GuidedChooser",
    "PersonaChooser",
    "climbing_personas",
    "climbing_player",
    "drawn_types",
    "guandan_personas",
    "guandan_player",
    "guidance_share",
    "guided",
    "labels",
]

OWN = len(PERSONALITIES) - 1
"""The type of a seat that the network plays itself."""
PARTS = 0x9E45
"""Sets GuanDan's stream of the types apart from that of play."""


class _Asked(Protocol):
    """Decisions of any game: `Decisions` or `MoveChoices`."""

    def __len__(self) -> int: ...

    @property
    def seats(self) -> Ints: ...

    def where(self, mask: NDArray[np.bool_]) -> Self: ...


D = TypeVar("D", bound=_Asked)


def guidance_share(decisions: float, guide: float, share: float) -> float:
    """Return the probability that the teacher makes a decision: `share` at first, linearly 0 at `guide`.

    decisions: trained so far.
    """
    return share * max(0.0, 1.0 - decisions / guide) if guide > 0 else 0.0


class GuidedChooser:
    """A player whose decisions are each made by `teacher` with probability `share`, else by `chooser`."""

    def __init__(self, chooser: Chooser, teacher: Chooser, share: float, rng: np.random.Generator) -> None:
        self.chooser, self.teacher, self.share, self.rng = chooser, teacher, share, rng

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        taught = self.rng.random(len(decisions)) < self.share
        choice = np.empty(len(decisions), np.int64)
        for mask, chooser in ((taught, self.teacher), (~taught, self.chooser)):
            if mask.any():
                choice[mask] = chooser(decisions.where(mask))
        return choice


def guided(
    choose: Choose, teacher: GameAgent, inputs: MoveInputs, share: float, rng: np.random.Generator
) -> Choose:
    """Return who lets a rule agent make each decision with probability `share`, and `choose` the others.

    Other than a `GuidedChooser`, it asks `choose` at every decision.
    """

    def answer(d: MoveChoices) -> Ints:
        found = choose(d).copy()
        let_decide(teacher, d, rng.random(len(d)) < share, found, inputs, rng)
        return found

    return answer


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


class PersonaChooser(Generic[D]):
    """Plays each seat by its type: the network, or a rule-based personality.

    chooser: the network's player. rules: of the personalities. types: of each seat, [rounds, seats].
    rounds: which round each decision belongs to.
    """

    def __init__(
        self,
        chooser: Callable[[D], Ints],
        rules: Sequence[Callable[[D], Ints]],
        types: NDArray[Any],
        rounds: Callable[[D], Ints],
    ) -> None:
        self.chooser, self.rules, self.types, self.rounds = chooser, rules, types, rounds

    def __call__(self, decisions: D) -> Ints:
        """Return one action per decision, as an index within its row."""
        return self.draw(decisions)[0]

    def draw(self, decisions: D) -> tuple[Ints, NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability (1 of a rule)."""
        kinds = self.types[self.rounds(decisions), np.asarray(decisions.seats, np.int64)]
        choice, chance = np.empty(len(decisions), np.int64), np.ones(len(decisions), np.float32)
        for k, rule in enumerate(self.rules):
            mask = kinds == k
            if mask.any():
                choice[mask] = rule(decisions.where(mask))
        mask = kinds == OWN
        if mask.any():
            asked: Any = (self.chooser, decisions.where(mask))
            choice[mask], chance[mask] = drawn(*asked)
        return choice, chance


def guandan_personas(chooser: Chooser, types: NDArray[np.uint8]) -> PersonaChooser[Decisions]:
    """Return who plays each seat of GuanDan by its type, [rounds, 4]."""
    rules = [PersonalityAgent(name) for name in PERSONALITIES[:OWN]]
    return PersonaChooser(chooser, rules, types, lambda d: d.rows)


def climbing_personas(choose: Choose, inputs: MoveInputs, types: Ints) -> PersonaChooser[MoveChoices]:
    """Return who plays each seat of a climbing game by its type, [rounds, seats]."""
    rules = [personality_choice(inputs, name) for name in PERSONALITIES[:OWN]]
    return PersonaChooser(choose, rules, types, lambda d: d.rounds)


def guandan_player(
    chooser: Chooser, config: TrainConfig, piece: Piece, rng: np.random.Generator, rounds: int
) -> Chooser:
    """Return who plays a piece of so many rounds, as the configuration wants it.

    The types of the seats follow from the piece's seed alone, whoever plays it.
    """
    if config.prune >= 0:
        chooser = pruned_agent(chooser, config.prune)
    share = guidance_share(piece.decisions, config.guide, config.guide_share)
    if share > 0:
        chooser = GuidedChooser(chooser, StrongAgent(), share, rng)
    if config.personas:
        own = np.random.SeedSequence(piece.seed.entropy, spawn_key=(*piece.seed.spawn_key, PARTS))
        types = drawn_types(config.personas, (rounds, 4), np.random.default_rng(own), np.uint8)
        chooser = guandan_personas(chooser, types)
    return chooser


def climbing_player(choose: Choose, trainer: MoveTrainer, rng: np.random.Generator, rounds: int) -> Choose:
    """Return who plays so many rounds of a climbing game, as the trainer's configuration wants it."""
    config, inputs = trainer.config, trainer.inputs
    if config.prune >= 0:
        choose = PrunedChooser(choose, pruner(inputs, config.prune))
    share = guidance_share(trainer.decisions, config.guide, config.guide_share)
    if share > 0 and trainer.teacher is not None:
        choose = guided(choose, trainer.teacher, inputs, share, rng)
    if config.personas:
        types = drawn_types(config.personas, (rounds, inputs.game.num_players), rng)
        choose = climbing_personas(choose, inputs, types)
    return choose
