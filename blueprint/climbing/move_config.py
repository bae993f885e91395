"""The configuration of a climbing game's network and training, saved with every checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import attrs

from blueprint.checkpoint import CheckpointError, check_description
from blueprint.networks import OF_GAMES
from blueprint.paper_parts import check_paper_fields
from games.game import Game
from games.support.configuration import Configuration, flag, integer, one_of, real, text

__all__ = ["CLIMBING", "TARGETS", "ClimbingConfig", "described_config"]

CLIMBING = "climbing"
"""What a checkpoint of these networks calls itself."""
TARGETS = ("win", "payoff")
"""What is learned: who wins, 1 or -1, or the game's payoffs in stakes of random play."""
WIDEST = 8192


@attrs.frozen(slots=False)
class ClimbingConfig(Configuration):
    """The network of a climbing game, and its training by Deep Monte Carlo.

    Where a default comes from is said where it is not ours: DouZero is Zha et al. 2021, ODMC Luo & Tan 2024.

    state, blocks: width of the tower that runs once a decision, and its residual layers.
    action, action_blocks: the same of the head that runs once a move.
    critic: width of the critic, which sees all hands and is used in training alone: what it expects is taken
        off the returns that the moves are learned from. 0 for plain Deep Monte Carlo.
    target: "win" or "payoff" (which bombs may double); see TARGETS.
    rounds: of a generation, played in lockstep and then learned from. passes: times each decision is.
    batch: decisions a gradient step. views: seats that do not act whose value is learned, a decision.
    learning_rate: of Adam; it falls as 1 / sqrt(1 + decisions / halving).
    epsilon: probability of a uniformly random move in self-play (DouZero: 0.01).
    temperature: of the softmax over Q by which self-play chooses among moves, in the target's unit: moves
        near the best are taken about as often. 0 is greedy. It falls as 1 / sqrt(1 + decisions / cooling).
    average: the weights that play are a running mean over this share of the decisions so far; 0 for the last.
    guide: decisions over which the share of a rule agent in the play falls to zero; 0 for none.
    guide_share: its share at the beginning.
    hands: weight of the loss of a head that says who holds the hidden cards (the opponent model of ODMC), a
        mean over 108 or 156 bits, so that it takes some tens to be heard by the tower; 0 for a network
        without. hands_fed: whether what it says is an input of the moves' head.
    personality: width of a head that says whose move this would be (PDHQN), 0 for none. personas: share of
        the seats that play a round by a rule-based personality, drawn evenly, which the head learns to tell
        apart; they need each other. labels: weight of its loss, in the target's unit squared a nat.
    recognise: weight of the loss of a head that says by whose rule each other seat plays, from what it has
        seen; the moves' head hears its answer. It needs personas; 0 for a network without.
    prune: margin of move pruning by minimum combination in self-play, in moves (ODMC); -1 offers every move.
    policy: weight of the loss of a policy over the best moves (PPO, as DanZero+ has it) beside the squared
        loss of the advantages; 0 learns values alone. With it the weights that learn play, by the softmax of
        A / temperature among their policy_top best moves. policy_clip: how far the probability of a move may
        go from what it was when it was played, as a share, before it counts no more.
    seed: of everything random.
    recipe: name of the recipe that the run was begun with (`papers.recipes`), none for a run of its own.
    """

    label: ClassVar[str] = "ClimbingConfig"

    state: int = attrs.field(default=256, validator=integer(1, WIDEST))
    blocks: int = attrs.field(default=2, validator=integer(0, 64))
    action: int = attrs.field(default=128, validator=integer(1, WIDEST))
    action_blocks: int = attrs.field(default=1, validator=integer(0, 64))
    critic: int = attrs.field(default=256, validator=integer(0, WIDEST))
    target: str = attrs.field(default="payoff", validator=one_of(TARGETS))
    rounds: int = attrs.field(default=2048, validator=integer(1, 1 << 20))
    passes: float = attrs.field(default=1.0, validator=real(0.01, 64))
    batch: int = attrs.field(default=2048, validator=integer(1, 1 << 20))
    views: float = attrs.field(default=0.25, validator=real(0, 1))
    learning_rate: float = attrs.field(default=1e-3, validator=real(0, 1))
    halving: float = attrs.field(default=2e7, validator=real(1, 1e15))
    epsilon: float = attrs.field(default=0.01, validator=real(0, 1))
    temperature: float = attrs.field(default=0.03, validator=real(0, 10))
    cooling: float = attrs.field(default=2e7, validator=real(1, 1e15))
    average: float = attrs.field(default=0.03, validator=real(0, 1))
    guide: float = attrs.field(default=0.0, validator=real(0, 1e15))
    guide_share: float = attrs.field(default=0.5, validator=real(0, 1))
    hands: float = attrs.field(default=0.0, validator=real(0, 1000))
    hands_fed: bool = attrs.field(default=True, validator=flag)
    personality: int = attrs.field(default=0, validator=integer(0, WIDEST))
    personas: float = attrs.field(default=0.0, validator=real(0, 1))
    labels: float = attrs.field(default=0.2, validator=real(0, 1000))
    recognise: float = attrs.field(default=0.0, validator=real(0, 1000))
    prune: int = attrs.field(default=-1, validator=integer(-1, 27))
    policy: float = attrs.field(default=0.0, validator=real(0, 1000))
    policy_top: int = attrs.field(default=4, validator=integer(2, 64))
    policy_clip: float = attrs.field(default=0.2, validator=real(0, 10, above=True))
    seed: int = attrs.field(default=0, validator=integer(0, 1 << 62))
    recipe: str = attrs.field(default="", validator=text)

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
