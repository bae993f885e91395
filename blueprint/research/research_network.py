"""A Q-network for research games and the blueprint that it is: Q(I, a) = V(I) + A(I, a), as for GuanDan."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.layers.tower import Tower
from blueprint.research.infoset_table import Infosets, list_infosets
from games.game import Game, payoff_span
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.configuration import Configuration, integer, real

__all__ = [
    "ResearchBlueprint",
    "ResearchConfig",
    "ResearchNetwork",
    "load_research_blueprint",
    "save_research_blueprint",
]

KIND = "research"


@attrs.frozen(slots=False)
class ResearchConfig(Configuration):
    """The network and its training.

    width, blocks: of the tower.
    episodes: games of a generation, played in lockstep. replay: size of the replay buffer, in generations.
    passes: times each decision is learned from. batch: decisions a gradient step.
    learning_rate: of Adam; it falls linearly to a tenth over the run.
    epsilon: probability of a uniformly random action in self-play; more than DanZero's 0.01, since in a small
        game the answers to others' mistakes decide how exploitable one is.
    temperature: of the softmax over Q, in self-play and of the blueprint's policy, as a share of the payoff
        range.
    seed: of the parameters.
    """

    label: ClassVar[str] = "ResearchConfig"

    width: int = attrs.field(default=128, validator=integer(1, 8192))
    blocks: int = attrs.field(default=2, validator=integer(0, 64))
    episodes: int = attrs.field(default=2048, validator=integer(1, 1 << 20))
    replay: int = attrs.field(default=4, validator=integer(1, 64))
    passes: float = attrs.field(default=2.0, validator=real(0.01, 64))
    batch: int = attrs.field(default=1024, validator=integer(1, 1 << 20))
    learning_rate: float = attrs.field(default=2e-3, validator=real(0, 1))
    epsilon: float = attrs.field(default=0.05, validator=real(0, 1))
    temperature: float = attrs.field(default=0.02, validator=real(1e-6, 10))
    seed: int = attrs.field(default=0, validator=integer(0, 1 << 63))


class ResearchNetwork(nn.Module):
    """V and A of views, as shares of half the payoff range."""

    def __init__(self, inputs: int, actions: int, config: ResearchConfig) -> None:
        super().__init__()
        self.tower = Tower(inputs, config.width, config.blocks)
        self.value = nn.Linear(config.width, 1)
        self.advantage = nn.Linear(config.width, actions)
        with torch.no_grad():
            self.advantage.weight.mul_(0.1)
            self.advantage.bias.zero_()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return V [n] and A [n, actions] of views [n, inputs]."""
        h = self.tower(x)
        return self.value(h).squeeze(-1), self.advantage(h)


class ResearchBlueprint:
    """A blueprint (see `blueprint.protocol`) from a network: its answers for every view, computed once.

    infosets: of the game. v: [K], q: [K, A], both in payoffs. temperature: of the policy, in payoffs.
    """

    def __init__(
        self,
        infosets: Infosets,
        v: NDArray[np.float64],
        q: NDArray[np.float64],
        temperature: float,
        name: str = "network",
    ) -> None:
        self.infosets, self.v, self.q_table = infosets, v, q
        self.temperature, self.name = temperature, name

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the value to `player` of each action, [m] float64.

        Raises GameError for another game's states, ValueError if `actions` are not all the legal ones.
        """
        return self._q(self.infosets.rows(states, player), actions.counts)

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64: the softmax of Q / temperature."""
        rows = self.infosets.rows(states, player)
        return self._soft(self._q(rows, actions.counts), self.infosets.counts[rows])

    def value(self, game: Game, states: Array, player: int) -> NDArray[np.float64]:
        """Return the value to `player` of each decision state, [n] float64, from what it sees there."""
        return self.v[self.infosets.rows(states, player)]

    def on_slots(
        self, infoset_player: Array, infoset_key: Array, infoset_offset: Array
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (probability, Q in payoffs to the infoset's player) of each slot of a tree, [slots] float64.

        The arguments are the arrays of those names of a `cfr.tree.FlatTree` of the whole game.
        """
        rows = np.empty(len(infoset_player), np.int64)
        for seat in range(self.infosets.game.num_players):
            mine = infoset_player == seat
            rows[mine] = self.infosets.rows_of_keys(infoset_key[mine], seat)
        counts = np.diff(infoset_offset)
        q = self._q(rows, counts)
        return self._soft(q, counts), q

    def _q(self, rows: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        if not np.array_equal(self.infosets.counts[rows], counts):
            raise ValueError(
                f"{self.name}: actions must be all legal actions of each state, in the game's order; "
                f"got {int(counts.sum())} for states that have {int(self.infosets.counts[rows].sum())}"
            )
        columns = self.infosets.columns[rows]
        legal = columns >= 0
        return np.take_along_axis(self.q_table[rows], np.maximum(columns, 0), 1)[legal]

    def _soft(self, q: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        starts = np.cumsum(counts) - counts
        if len(q) == 0:
            return q
        weights = np.exp((q - np.repeat(np.maximum.reduceat(q, starts), counts)) / self.temperature)
        found: NDArray[np.float64] = weights / np.repeat(np.add.reduceat(weights, starts), counts)
        return found


def evaluate(
    network: ResearchNetwork, infosets: Infosets, config: ResearchConfig, name: str
) -> ResearchBlueprint:
    """Return the blueprint that a network is.

    Q is kept within the payoffs. Where the seat itself decides, its value is the policy's mean of Q; where
    another does, V.
    """
    low, high = infosets.game.payoff_range
    unit = (high - low) / 2
    with torch.inference_mode():
        parts = [network(torch.from_numpy(x).float()) for x in _chunks(infosets.features)]
    v = torch.cat([part[0] for part in parts]).double().numpy()
    a = torch.cat([part[1] for part in parts]).double().numpy()
    q = np.clip(unit * (v[:, None] + a), low, high)
    blueprint = ResearchBlueprint(
        infosets, np.clip(unit * v, low, high), q, config.temperature * payoff_span(infosets.game), name
    )
    own = np.flatnonzero(infosets.counts)
    counts = infosets.counts[own]
    mine = blueprint._q(own, counts)
    mean = np.add.reduceat(blueprint._soft(mine, counts) * mine, np.cumsum(counts) - counts)
    blueprint.v[own] = mean
    return blueprint


def _chunks(features: NDArray[np.uint8], size: int = 8192) -> list[NDArray[np.uint8]]:
    return [features[start : start + size] for start in range(0, len(features), size)]


def save_research_blueprint(
    path: str | Path,
    network: ResearchNetwork,
    infosets: Infosets,
    config: ResearchConfig,
    trained: dict[str, Any],
) -> None:
    """Write a checkpoint. trained: counters of the training, kept in the file's description."""
    tensors = {f"network.{k}": v.detach().numpy() for k, v in network.state_dict().items()}
    description = {
        "kind": KIND,
        "game": infosets.game.name,
        "features": infosets.digest,
        "config": config.to_json(),
        **trained,
    }
    write_checkpoint(path, tensors, description)


def load_research_blueprint(path: str | Path, game: Game) -> ResearchBlueprint:
    """Return the blueprint of a checkpoint for `game`.

    Raises CheckpointError if the file is missing, damaged, or another game's; GameError for a game too large.
    """
    path = Path(path)
    tensors, description = read_checkpoint(path, prefix="network.")
    if description.get("kind") != KIND or description.get("game") != game.name:
        raise CheckpointError(
            f"checkpoint: {path} must be a network for {game.name}; it is one for "
            f"{description.get('game')!r}; train one with train_research_blueprint"
        )
    infosets = list_infosets(game)
    if description.get("features") != infosets.digest:
        raise CheckpointError(
            f"checkpoint: {path} was trained on other features of {game.name}; train it anew"
        )
    config = ResearchConfig.from_json(description["config"])
    network = ResearchNetwork(infosets.features.shape[1], len(infosets.actions), config)
    own = network.state_dict()
    found = {name.removeprefix("network."): array for name, array in tensors.items()}
    if {k: tuple(v.shape) for k, v in own.items()} != {k: v.shape for k, v in found.items()}:
        raise CheckpointError(f"checkpoint: {path} must hold the tensors of its network; some are missing")
    network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in found.items()})
    return evaluate(network, infosets, config, path.stem)
