"""Configurations of the network and of training, saved with every checkpoint."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from games.support.configuration import ConfigError

__all__ = ["KINDS", "PRESETS", "ConfigError", "NetworkConfig", "TrainConfig", "from_dict", "to_dict"]

KINDS = ("ours", "danzero")
"""Families of networks, each with inputs of its own."""


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the Q-network and of its perfect-information critic.

    kind: "ours", a state tower and a head per action; or "danzero", DanZero's inputs and MLP for comparison:
        `state` is the width and `blocks` the number of its hidden layers, the rest does not apply.
    state: width of the state tower, which runs once per decision (our measurement).
    blocks: residual layers of the tower.
    action: width of the per-action head.
    action_blocks: residual layers of the head.
    critic: width of the critic, used in training alone; 0 trains without one.
    """

    kind: str = "ours"
    state: int = 512
    blocks: int = 2
    action: int = 256
    action_blocks: int = 2
    critic: int = 512

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"NetworkConfig: kind must be one of {', '.join(KINDS)}; got {self.kind!r}")
        if self.kind == "danzero" and self.critic:
            raise ConfigError(f"NetworkConfig: danzero has no critic, critic must be 0; got {self.critic}")
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            least = 0 if field.name in ("critic", "blocks", "action_blocks") else 1
            if not least <= value <= 8192:
                raise ConfigError(f"NetworkConfig: {field.name} must be in [{least}, 8192]; got {value}")


PRESETS = {
    "ours": NetworkConfig(),
    "danzero": NetworkConfig(kind="danzero", state=512, blocks=5, action=1, action_blocks=0, critic=0),
}
"""Networks by name; "danzero" is that of Lu et al. 2023: 567 inputs, five hidden layers of 512."""


@dataclass(frozen=True)
class TrainConfig:
    """Deep Monte-Carlo training.

    rounds: rounds dealt per generation, played in lockstep.
    replay: generations kept for training.
    passes: times each decision is learned from in all, on average.
    batch: decisions per gradient step.
    learning_rate: of Adam; it falls as 1 / sqrt(1 + decisions / halving).
    halving: decisions after which the learning rate has fallen by sqrt(2).
    epsilon: probability of a uniformly random legal action (DanZero: 0.01).
    temperature: of the soft choice among actions by advantage, in levels (SDMC); 0 is greedy. It falls as
        1 / sqrt(1 + decisions / cooling).
    cooling: decisions after which the temperature has fallen by sqrt(2).
    trace: lambda of the return from the critic's values, from one decision learned from to the next; 1 is
        plain Monte Carlo.
    critic: whether returns are measured against the critic's value of the full state (a control variate).
    critic_every: the critic learns from one decision in so many: those of a round share its outcome.
    focus: a decision is learned from with probability 0.15 + focus * (1 - that of the move played): where
        play is all but certain there is little to learn, and half of all decisions are so. 0 learns from all.
    average: the running mean of the weights, which plays, values and is shipped, looks back on this share of
        the decisions trained so far; 0 uses the weights themselves.
    guide: decisions over which the strong rule-based agent's share in the play falls to zero (SDMC; see
        `guidance`); 0 turns guidance off.
    guide_share: its share at the beginning.
    strangers: agents, by name or path and set apart by commas, that play one side in some rounds, where only
        the other side's moves are learned (see `sparring`).
    strangers_share: share of the rounds that are so.
    prune: margin of move pruning by minimum combination in self-play, in moves (ODMC; see `pruning`); -1
        offers every move.
    tribute: share of rounds that start with tribute.
    tribute_by_value: whether its cards are chosen by the network's own values (see `tribute`) instead of by
        rule; needs a network with a value.
    seed: of everything random.
    """

    rounds: int = 2048
    replay: int = 2
    passes: float = 1.0
    batch: int = 4096
    learning_rate: float = 7e-4
    halving: float = 5e7
    epsilon: float = 0.01
    temperature: float = 0.06
    cooling: float = 3e6
    trace: float = 0.95
    critic: bool = True
    critic_every: int = 2
    focus: float = 0.0
    average: float = 0.03
    guide: float = 0.0
    guide_share: float = 0.5
    strangers: str = ""
    strangers_share: float = 0.0
    prune: int = -1
    tribute: float = 0.5
    tribute_by_value: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        rules = {
            "rounds": (1, 1 << 20),
            "replay": (1, 64),
            "passes": (0.01, 64),
            "batch": (1, 1 << 20),
            "learning_rate": (0, 1),
            "halving": (1, 1e15),
            "epsilon": (0, 1),
            "temperature": (0, 10),
            "cooling": (1, 1e15),
            "trace": (0, 1),
            "critic_every": (1, 64),
            "focus": (0, 1000),
            "average": (0, 1),
            "guide": (0, 1e15),
            "guide_share": (0, 1),
            "strangers_share": (0, 1),
            "prune": (-1, 27),
            "tribute": (0, 1),
            "seed": (0, 1 << 63),
        }
        for name, (low, high) in rules.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(f"TrainConfig: {name} must be in [{low}, {high}]; got {value}")
        if self.strangers_share and not self.strangers:
            raise ConfigError("TrainConfig: strangers_share needs strangers, such as 'strong'; got none")


def from_dict(kind: type, values: dict[str, Any]) -> Any:
    """Return a configuration of class `kind` from its saved fields.

    Raises ConfigError at an unknown one, or at a value of another type.
    """
    if not isinstance(values, dict):
        raise ConfigError(f"{kind.__name__}: fields must be an object of names and values; got {values!r}")
    known: dict[str, Any] = {field.name: field.default for field in fields(kind)}
    unknown = sorted(values.keys() - known.keys())
    if unknown:
        raise ConfigError(f"{kind.__name__}: unknown field {unknown[0]!r}; the fields are {sorted(known)}")
    for name, value in values.items():
        wanted = type(known[name])
        allowed = (int, float) if wanted is float else (wanted,)
        if known[name] is not MISSING and (
            not isinstance(value, allowed) or isinstance(value, bool) != (wanted is bool)
        ):
            raise ConfigError(f"{kind.__name__}: {name} must be of type {wanted.__name__}; got {value!r}")
    return kind(**values)


def to_dict(config: Any) -> dict[str, Any]:
    """Return the fields of a configuration."""
    return asdict(config)
