"""Networks of climbing games that listen to models of the others, or know styles (ODMC, PDHQN).

With `hands` a further head says who holds the hidden cards (the opponent model of Luo & Tan 2024, section
4.2; ours shares the tower), and the moves' head may see what it says. With `personality` one says whose move
this would be (PDHQN, section 3.3), with `recognise` another by whose rule each other seat plays, and the
moves' head sees that too. What is said of the others is learned from what they hold and are alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from blueprint.checkpoint import CheckpointError, read_checkpoint
from blueprint.climbing.climbing_blueprint import described_play
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_trainer import MoveNetwork
from blueprint.layers.fast_moves import FastMoves
from blueprint.layers.fused import joined
from blueprint.layers.half_rows import Layers
from blueprint.learning.learner import load_module
from blueprint.papers.danzero import PersonalityHead
from blueprint.papers.fields import PERSONALITIES
from blueprint.papers.styles import StyledAgent
from blueprint.protocol import Decisions, MoveInputs
from games.game import Game
from games.support.array_types import Ints
from games.support.configuration import ConfigError

HEARD = ("network.foreseen.", "network.heard.")
"""Layers by which what is said of the others is heard."""


class ListeningNetwork(MoveNetwork):
    """V and A, and who holds what and who plays how as far as it is asked for."""

    def __init__(self, inputs: MoveInputs, config: ClimbingConfig) -> None:
        super().__init__(inputs, config)
        self.hands: nn.Linear | None = None
        self.foreseen: nn.Linear | None = None
        if config.hands:
            self.hands = nn.Linear(config.state, inputs.hidden_bits)
            if config.hands_fed:
                self.foreseen = nn.Linear(inputs.hidden_bits, config.action, bias=False)
        self.personality: PersonalityHead | None = None
        if config.personality:
            self.personality = PersonalityHead(config.action, config.personality)
        self.recogniser: nn.Linear | None = None
        self.heard: nn.Linear | None = None
        if config.recognise:
            bits = (inputs.game.num_players - 1) * len(PERSONALITIES)
            self.recogniser = nn.Linear(config.state, bits)
            self.heard = nn.Linear(bits, config.action, bias=False)

    def held(self, h: Tensor) -> Tensor:
        """Return log odds that each bit of the others' hands is set, [n, hidden_bits]."""
        assert self.hands is not None
        found: Tensor = self.hands(h)
        return found

    def types(self, h: Tensor) -> Tensor:
        """Return logits that each other seat, from the next on, plays by each of PERSONALITIES, [n, k, 4]."""
        assert self.recogniser is not None
        found: Tensor = self.recogniser(h).unflatten(1, (-1, len(PERSONALITIES)))
        return found

    def styles(self, h: Tensor, moves: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return logits, [m, 4], that each personality makes a move, from the head's first layer (PDHQN)."""
        assert self.personality is not None
        context = self.seen(h)
        if rows is not None:
            context = context.index_select(0, rows)
        found: Tensor = self.personality(joined(moves, self.action, context))
        return found

    def seen(self, h: Tensor) -> Tensor:
        """Return what the tower's output adds to the first layer of the moves' head."""
        context = super().seen(h)
        if self.foreseen is not None:
            context = context + self.foreseen(torch.sigmoid(self.held(h).detach().float()).to(h.dtype))
        if self.heard is not None:
            likely = self.types(h).detach().float().softmax(2).flatten(1)
            context = context + self.heard(likely.to(h.dtype))
        return context

    def missed(
        self, h: Tensor, hidden: NDArray[np.uint8], types: Ints | None, moves: Callable[[], Tensor]
    ) -> dict[str, Tensor]:
        """Return the losses of the heads by name, as far as they are there.

        hidden: [n, hidden_bits] the others' hands. types: whose rule each seat plays by, [n, seats], from the
        one that decides on. moves: returns the inputs of the moves taken.
        """
        found: dict[str, Tensor] = {}
        if self.hands is not None:
            odds = self.held(h).float()
            found["hands"] = F.binary_cross_entropy_with_logits(odds, torch.from_numpy(hidden).float())
        if self.personality is not None and types is not None:
            styles = self.styles(h, moves()).float()
            whose = F.one_hot(torch.from_numpy(types[:, 0]), styles.shape[1]).float()
            found["personality"] = F.binary_cross_entropy_with_logits(styles, whose)
        if self.recogniser is not None and types is not None:
            told = self.types(h).float().flatten(0, 1)
            found["types"] = F.cross_entropy(told, torch.from_numpy(types[:, 1:].reshape(-1)))
        return found


class ListeningMoves(FastMoves):
    """V and A of a snapshot of such a network."""

    def _further(self, layers: Layers) -> None:
        super()._further(layers)
        width, inner, tensors = self._views.width, len(self._context.base), layers.tensors
        self._adds = self._listened

        def pair(says: str, hears: str, bits: int) -> list[Any]:
            found = [f"network.{name}.weight" in tensors for name in (says, hears)]
            if found == [False, True]:
                raise CheckpointError(f"{layers.name}: network.{hears} needs network.{says}; it is not there")
            said = layers.one(f"network.{says}", width, bits) if found[0] else None
            return [said, layers.one(f"network.{hears}", bits, inner, bias=False) if found[1] else None]

        others = self.inputs.game.num_players - 1
        self._hands, self._foreseen = pair("hands", "foreseen", self.inputs.hidden_bits)
        self._recogniser, self._heard = pair("recogniser", "heard", others * len(PERSONALITIES))

    def _listened(self, h: Tensor) -> Tensor:
        context = self._context(h)
        if self._foreseen is not None and self._hands is not None:
            context += self._foreseen(torch.sigmoid(self._hands(h).float()).to(h.dtype))
        if self._heard is not None and self._recogniser is not None:
            context += self._heard(_likely(self._recogniser(h)).flatten(1).to(h.dtype))
        return context


def _likely(logits: Tensor) -> Tensor:
    """Return probabilities, [n, others, 4], from the recogniser's answers."""
    return logits.float().view(len(logits), -1, len(PERSONALITIES)).softmax(2)


def unheard(tensors: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a network's tensors without those by which it listens; raise ConfigError without any."""
    if not any(key.startswith(HEARD) for key in tensors):
        raise ConfigError(
            f"{name}: heeds=false needs a network with models of the others; it has none; train one by "
            "the recipe odmc or pdhqn"
        )
    return {key: value for key, value in tensors.items() if not key.startswith(HEARD)}


class StyledNetwork:
    """A network with a personality head as torch runs it, for those who play in a personality's manner."""

    has_personalities = True

    def __init__(self, network: ListeningNetwork, inputs: MoveInputs, name: str) -> None:
        """Take the network of a game."""
        self.network, self.inputs, self.name = network.eval(), inputs, name

    def personalities(self, decisions: Decisions) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return A of each action, [m], and the probability that each personality takes it, [m, 4].

        Where a rule plays, A of the other actions is -inf. Raises ConfigError for another game.
        """
        d, inputs = decisions, self.inputs
        if d.game.name != inputs.game.name:
            raise ConfigError(f"{self.name}: it plays {inputs.game.name}; got a state of {d.game.name}")
        states, rows = np.ascontiguousarray(d.states[d.rows]), np.arange(len(d))
        x = np.empty((len(d), inputs.seat_bits), np.uint8)
        moves = np.empty((len(d.actions), inputs.move_bits), np.uint8)
        inputs.write_seats(states, rows, d.seats, x)
        inputs.write_moves(states, rows, d.seats, d.offsets, inputs.words(d.actions), moves)
        of = torch.from_numpy(np.repeat(rows, np.diff(d.offsets)))
        with torch.inference_mode():
            h = self.network.tower(torch.from_numpy(x).float())
            given = torch.from_numpy(moves).float()
            a = self.network.advantages(h, given, of)
            labels = torch.sigmoid(self.network.styles(h, given, of))
        values = a.double().numpy()
        if inputs.untaught:
            inputs.untaught.decide(states, d.seats, d.table, values)
        return values, labels.double().numpy()


def load_persona_agent(
    path: str | Path, game: Game, persona: str, *, alpha: float | None = None
) -> StyledAgent:
    """Return the agent of a checkpoint that plays in a personality's manner.

    persona: of PERSONALITIES. alpha: weight of the values, in [0, 1]; None for ALPHA.
    Raises CheckpointError for a file that is damaged, of another game or without a personality head,
    ConfigError for another personality or weight.
    """
    path = Path(path)
    tensors, description = read_checkpoint(path, prefix="network.")
    config, inputs = described_play(path, description, game)
    if not config.personality:
        raise CheckpointError(
            f"checkpoint: {path} must have a personality head; it has none; train one with --recipe pdhqn"
        )
    network = ListeningNetwork(inputs, config)
    load_module(network, tensors, "network.", path)
    return StyledAgent(StyledNetwork(network, inputs, path.stem), persona, alpha)
