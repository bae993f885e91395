"""Configurations of the network and of training, saved with every checkpoint."""

from __future__ import annotations

from typing import ClassVar

import attrs

from blueprint.learning.move_training import MoveTraining
from blueprint.paper_parts import check_paper_fields
from games.support.configuration import ConfigError, Configuration, flag, integer, one_of, real, text

KINDS = ("ours", "danzero")
"""Families of networks, each with inputs of its own."""
WIDEST = 8192


@attrs.frozen(slots=False)
class NetworkConfig(Configuration):
    """Sizes of the Q-network and of its perfect-information critic.

    kind: "ours", a state tower and a head per action; or "danzero", DanZero's inputs and MLP for comparison:
        `state` is the width and `blocks` the number of its hidden layers, the rest does not apply.
    state: width of the state tower, which runs once per decision (our measurement).
    blocks: residual layers of the tower.
    action: width of the per-action head.
    action_blocks: residual layers of the head.
    critic: width of the critic, which is used in training alone; 0 trains without one.
    past: whether the network remembers what the others did in the round (`acts` of STATE).
    hands: whether a head of the tower says who holds the hidden cards.
    stakes: whether the network sees what the round's results are worth in its match, and plays for that.
    branch: danzero alone; whether it has a branch that values the position, as PPO needs one (DanZero+).
    personality: danzero alone; width of a head that says whose move this would be (PERSONALITIES), with a
        recogniser of the others' types whose answer the network sees (PDHQN: 1024); 0 is none.
    opponent: danzero alone; width of a model of the others' cards and fewest moves, whose answer the network
        sees (ODMC: 512); 0 is none.
    """

    label: ClassVar[str] = "NetworkConfig"

    kind: str = attrs.field(default="ours", validator=one_of(KINDS))
    state: int = attrs.field(default=512, validator=integer(1, WIDEST))
    blocks: int = attrs.field(default=2, validator=integer(0, WIDEST))
    action: int = attrs.field(default=256, validator=integer(1, WIDEST))
    action_blocks: int = attrs.field(default=2, validator=integer(0, WIDEST))
    critic: int = attrs.field(default=512, validator=integer(0, WIDEST))
    past: bool = attrs.field(default=False, validator=flag)
    hands: bool = attrs.field(default=False, validator=flag)
    stakes: bool = attrs.field(default=False, validator=flag)
    branch: bool = attrs.field(default=False, validator=flag)
    personality: int = attrs.field(default=0, validator=integer(0, WIDEST))
    opponent: int = attrs.field(default=0, validator=integer(0, WIDEST))

    def check(self) -> None:
        """Raise ConfigError for a part that the network cannot have."""
        check_paper_fields(self, "kind", "branch", "personality", "opponent")


@attrs.frozen(slots=False)
class TrainConfig(MoveTraining):
    """Deep Monte-Carlo training of GuanDan; values are in levels.

    fresh: factor of the learning rate for parts that a network has grown: what it remembers and what is at
        stake, and who holds the hidden cards.
    critic: whether returns are measured against the critic's value of the full state, a baseline that acts
        as a control variate.
    forgotten: share of the decisions whose past is hidden from a network that remembers, so that it can do
        without.
    strangers: the opponent pool: agents, by name or path and set apart by commas, that play one side in some
        rounds, where only the other side's moves are learned (see `opponents`). "varied" is the strongest
        rule-based agent with weights drawn anew for every generation.
    strangers_share: share of the rounds that are played against the pool. strangers_by: "evenly" meets each
        as often as the others, "loss" those more often to whom more is lost.
    tribute: share of rounds that start with tribute.
    matches: share of rounds that are part of a match, in which results are worth what they do for it; a
        network that does not see the stakes must not have any.
    tribute_by_value: whether tribute cards are chosen by the network's own values (see `network_tribute`)
        instead of by rule; needs a network with a value.
    """

    label: ClassVar[str] = "TrainConfig"

    replay: int = attrs.field(default=2, validator=integer(1, 64))
    batch: int = attrs.field(default=4096, validator=integer(1, 1 << 20))
    learning_rate: float = attrs.field(default=7e-4, validator=real(0, 1))
    fresh: float = attrs.field(default=1.0, validator=real(0, 1000))
    halving: float = attrs.field(default=5e7, validator=real(1, 1e15))
    temperature: float = attrs.field(default=0.06, validator=real(0, 10))
    cooling: float = attrs.field(default=3e6, validator=real(1, 1e15))
    trace: float = attrs.field(default=0.95, validator=real(0, 1))
    critic: bool = attrs.field(default=True, validator=flag)
    critic_every: int = attrs.field(default=2, validator=integer(1, 64))
    forgotten: float = attrs.field(default=0.05, validator=real(0, 1))
    hands: float = attrs.field(default=0.2, validator=real(0, 1000))
    strangers: str = attrs.field(default="", validator=text)
    strangers_share: float = attrs.field(default=0.0, validator=real(0, 1))
    strangers_by: str = attrs.field(default="evenly", validator=one_of(("evenly", "loss")))
    tribute: float = attrs.field(default=0.5, validator=real(0, 1))
    matches: float = attrs.field(default=0.0, validator=real(0, 1))
    tribute_by_value: bool = attrs.field(default=False, validator=flag)

    def check(self) -> None:
        """Raise ConfigError for rounds against an opponent pool in which there is nobody."""
        if self.strangers_share and not self.strangers:
            raise ConfigError("TrainConfig: strangers_share needs strangers, such as 'strong'; got none")
        check_paper_fields(self, "policy", "guide", "personas", "prune")
