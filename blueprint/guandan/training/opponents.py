"""Sparring: in a share of the rounds others play one side, and only the network's own moves are learned.

A network that has only ever met itself goes on getting better against itself, not always against others. What
is learned stays what a move is worth to the network's side; the share says how often strangers sit opposite.
They are a league of agents by name and of older checkpoints, the responders that `gs2 exploit` trains among
them; whom much is lost to is met more often. Source: prioritised fictitious self-play, Vinyals et al. 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.game_lockstep import PlayRecord
from blueprint.guandan.play.quick_agents import load_quick_agent
from blueprint.guandan.rules.split_agents import StrongAgent, StrongParameters
from blueprint.guandan.train_config import TrainConfig
from blueprint.learning.pieces import Opposed
from blueprint.protocol import Agent
from games.support.array_types import Array
from games.support.configuration import ConfigError
from games.support.work.carried import name_here

NOBODY = -1
YARDSTICKS = ("mincomb", "conservative")
"""Agents that no network of ours meets in training, so that how it does against them says something."""
VARIED = "varied"
"""A stranger's name: the strongest rule-based agent with weights drawn anew for every generation."""
SPREAD = 0.4
"""Deviation of the logarithms of these weights."""
LEAST = 0.02
"""Least share of the rounds against strangers that each of them gets."""
RECENT = 2000
"""Rounds that what is lost to a stranger looks back on."""


class League:
    """Who is met in training, and how it went lately.

    names: agents as of `load_quick_agent`, or "varied". by_loss: meet those more often to whom more is lost;
    otherwise each as often as the others. always: nobody else is met, as where a best responder learns.
    Raises ConfigError for one of YARDSTICKS, unless it alone is met, or a name that is there twice.
    """

    def __init__(self, names: Sequence[str], *, by_loss: bool, always: bool = False) -> None:
        for name in names:
            if name in YARDSTICKS and not (always and len(names) == 1):
                raise ConfigError(f"TrainConfig: strangers: {name} is a yardstick, kept out of training")
        if len(set(names)) < len(names):
            raise ConfigError(f"TrainConfig: each stranger must be named once; got {', '.join(names)}")
        self.names, self.by_loss = tuple(names), by_loss
        self.met = np.zeros(len(names), np.int64)
        self.won = np.zeros(len(names))

    def load(self, rng: np.random.Generator) -> list[Agent]:
        """Return the members; raise UnknownAgent or CheckpointError where there is none."""
        named = (name if name == VARIED else name_here(name) for name in self.names)
        return [_varied(rng) if name == VARIED else load_quick_agent(name, rng) for name in named]

    def weights(self) -> NDArray[np.float64]:
        """Return how often each member is to be met, [k], as shares."""
        k = len(self.names)
        if not self.by_loss:
            return np.full(k, 1 / max(k, 1))
        # a member that was never met counts as one that holds its own
        weight = (3.0 - np.where(self.met > 0, self.won, 0.0)) ** 2
        share = weight / weight.sum() if weight.sum() > 0 else np.full(k, 1 / k)
        floor = min(LEAST, 1 / k)
        found: NDArray[np.float64] = floor + (1 - k * floor) * share
        return found

    def note(self, who: NDArray[np.int64], payoff: Array) -> None:
        """Take note of rounds: [n] member, or NOBODY; [n] payoff to the network's side, in levels."""
        for k in range(len(self.names)):
            mine = who == k
            n = int(mine.sum())
            if n:
                recent = min(int(self.met[k]), max(RECENT - n, 0))
                self.won[k] = (recent * self.won[k] + float(np.sum(payoff[mine]))) / (recent + n)
                self.met[k] += n

    def to_json(self) -> dict[str, list[float]]:
        """Return (rounds met, levels won a round lately) by name."""
        return {name: [int(m), float(w)] for name, m, w in zip(self.names, self.met, self.won, strict=True)}

    def restore(self, told: Any) -> None:
        """Take over what `to_json` told of members that are still here."""
        for k, name in enumerate(self.names):
            found = told.get(name) if isinstance(told, dict) else None
            if isinstance(found, list) and len(found) == 2 and all(isinstance(x, int | float) for x in found):
                self.met[k], self.won[k] = int(max(found[0], 0)), float(np.clip(found[1], -3, 3))


def league_of(config: TrainConfig) -> League:
    """Return the league that a configuration names; raise ConfigError as League does."""
    names = [name.strip() for name in config.strangers.split(",") if name.strip()]
    return League(names, by_loss=config.strangers_by == "loss", always=config.strangers_share == 1)


def _varied(rng: np.random.Generator) -> StrongAgent:
    """Return the strongest rule-based agent with weights drawn around its own."""
    fields = asdict(StrongParameters())
    drawn = np.array(list(fields.values())) * np.exp(rng.normal(0, SPREAD, len(fields)))
    return StrongAgent(StrongParameters(**dict(zip(fields, drawn.tolist(), strict=True))))


class SparringAgent(Opposed):
    """Plays all four seats of a batch of rounds, one side of some by strangers.

    strangers: those to be met, as often as `weights` say, or each as often as the others.
    met: [rounds] int64, which of them sits opposite, or NOBODY. side: [rounds], which side it has.
    """

    def __init__(
        self,
        agent: Agent,
        strangers: Sequence[Agent],
        share: float,
        rounds: int,
        rng: np.random.Generator,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        """Draw in which of `rounds` rounds there is a stranger (`share` of them), who and on which side."""
        who = rng.choice(len(strangers), size=rounds, p=weights)
        self.met = np.where(rng.random(rounds) < share, who, NOBODY)
        self.side = rng.integers(2, size=rounds)
        theirs = np.arange(4) & 1 == self.side[:, None]
        super().__init__((agent, *strangers), np.where(theirs, self.met[:, None] - NOBODY, 0))

    def met_by(self, payoffs: Array) -> tuple[NDArray[np.int64], Array]:
        """Return who sat opposite in each round, and the payoff to the network's side; payoffs: to seats."""
        return self.met, np.where(self.side == 0, -payoffs[:, 0], payoffs[:, 0])

    def own(self, record: PlayRecord) -> PlayRecord:
        """Return a record of these rounds without what strangers decided, neither kept nor counted.

        Their forced moves, of which a record only has the number, stay in it.
        """
        ours = super().own(record)
        return replace(ours, steps=record.steps - (len(record) - len(ours)))
