"""Agents that play in a personality's manner: a blend of what is best and whose style it is (PDHQN).

    agent = load_persona_agent("runs/pdhqn/last.safetensors", load_game("doudizhu"), "aggressive", alpha=0.5)

Source: the paper on personality-guided deep Monte Carlo (PDHQN, 2025), sections 3.5 and 3.6, Algorithm 2. Its
first line divides the values by their sum. Where that is negative the order turns round and the worst move
scores highest, so values are counted from the worst move here: they are at least 0, sum to 1, and keep their
order. It gives no figures for the temperatures but 0 < tau_1 < 1 < tau_2; those here are ours.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from blueprint.checkpoint import CheckpointError, check_features, read_checkpoint
from blueprint.climbing.move_config import described_config
from blueprint.climbing.move_inputs import MoveInputs, move_inputs
from blueprint.learning.learner import load_module
from blueprint.papers.fields import ALPHA, PERSONALITIES
from blueprint.papers.listening import ListeningNetwork
from blueprint.protocol import Decisions
from games.game import Game
from games.support.array_types import Array, Ints
from games.support.configuration import ConfigError

__all__ = ["PersonaAgent", "StyledAgent", "blended_scores", "first_best", "load_persona_agent"]

SHARPEN, SMOOTH = 0.5, 2.0
"""tau_1 between the personalities of a move, tau_2 between the moves of a decision."""
EPSILON = 1e-9
Values = NDArray[np.float64]


def first_best(scores: Array, offsets: Ints) -> Ints:
    """Return the best of each row, the first among equals, by its place there, [n] int64; none is empty."""
    starts = offsets[:-1]
    best = np.repeat(np.maximum.reduceat(scores, starts), np.diff(offsets))
    first = np.where(scores == best, np.arange(len(scores)), len(scores))
    found: Ints = np.minimum.reduceat(first, starts) - starts
    return found


def blended_scores(
    values: Array, labels: Array, offsets: NDArray[np.int64], alpha: float
) -> NDArray[np.float64]:
    """Return the score of each action under each personality, [m, 4] float64.

    values: [m] of each action; labels: [m, 4], probability that it is a personality's. offsets: [n + 1]; no
    row is empty. alpha: weight of the values, the rest is that of the personality.
    """
    counts = np.diff(offsets)
    starts = offsets[:-1]
    above = values.astype(np.float64)
    above = above - np.repeat(np.minimum.reduceat(above, starts), counts)
    share = above / np.repeat(np.add.reduceat(above, starts) + EPSILON, counts)
    sharp = np.exp((labels - labels.max(1, keepdims=True)) / SHARPEN)
    sharp /= sharp.sum(1, keepdims=True)
    smooth = np.exp(sharp / SMOOTH)
    smooth /= np.repeat(np.add.reduceat(smooth, starts, axis=0), counts, axis=0)
    found: NDArray[np.float64] = alpha * share[:, None] + (1 - alpha) * smooth
    return found


class StyledAgent:
    """Plays the action of GuanDan that scores highest for a personality; alpha: weight of the values.

    network: of `danzero`, with a personality head.
    Raises ConfigError where the network has no personality head, or there is no such personality.
    """

    def __init__(self, network: Any, persona: str, alpha: float | None) -> None:
        if not getattr(network, "has_personalities", False):
            raise ConfigError(
                f"agent {network.name}: persona={persona} needs a network with a personality head; it has "
                "none; train one with --recipe pdhqn"
            )
        if persona not in PERSONALITIES:
            raise ConfigError(
                f"StyledAgent: persona must be one of {', '.join(PERSONALITIES)}; got {persona!r}"
            )
        self.network, self.alpha = network, ALPHA if alpha is None else alpha
        self._column = PERSONALITIES.index(persona)
        self.name = f"{network.name}:{persona}"

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        offsets = np.asarray(decisions.offsets)
        values, logits = self.network.personalities(decisions)
        labels = 1 / (1 + np.exp(-logits.astype(np.float64)))
        scores = blended_scores(values, labels, offsets, self.alpha)[:, self._column]
        return first_best(scores, offsets)


class PersonaAgent:
    """Plays what scores highest for a personality in a climbing game.

    persona: its place in PERSONALITIES. alpha: weight of the values, the rest is that of the personality.
    """

    def __init__(self, network: ListeningNetwork, inputs: MoveInputs, name: str) -> None:
        """Take the network of a game."""
        self.network, self.inputs, self.name = network.eval(), inputs, name
        self.persona, self.alpha = 0, ALPHA

    def values_and_labels(
        self, states: Array, seats: Ints, offsets: Ints, words: Ints
    ) -> tuple[Values, Values]:
        """Return A of each move, [m], and the probability that each personality makes it, [m, 4]."""
        rows = np.arange(len(seats))
        x = np.empty((len(seats), self.inputs.seat_bits), np.uint8)
        moves = np.empty((len(words), self.inputs.move_bits), np.uint8)
        self.inputs.write_seats(states, rows, seats, x)
        self.inputs.write_moves(states, rows, seats, offsets, words, moves)
        of = torch.from_numpy(np.repeat(rows, np.diff(offsets)))
        with torch.inference_mode():
            h = self.network.tower(torch.from_numpy(x).float())
            given = torch.from_numpy(moves).float()
            a = self.network.advantages(h, given, of)
            labels = torch.sigmoid(self.network.styles(h, given, of))
        return a.double().numpy(), labels.double().numpy()

    def choose(self, states: Array, seats: Ints, offsets: Ints, words: Ints) -> Ints:
        """Return the move of each decision, as an index within its own moves; none may lack moves."""
        values, labels = self.values_and_labels(states, seats, offsets, words)
        scores = blended_scores(values, labels, offsets, self.alpha)[:, self.persona]
        return first_best(scores, offsets)

    def __call__(self, decisions: Decisions) -> Ints:
        """Return one action per decision, as an index within its row. Raises ConfigError for another game."""
        name = decisions.game.name
        if name != self.inputs.game.name:
            raise ConfigError(f"{self.name}: it plays {self.inputs.game.name}; got a state of {name}")
        states = np.ascontiguousarray(decisions.states[decisions.rows])
        words = self.inputs.words(decisions.actions)
        return self.choose(states, decisions.seats, decisions.offsets, words)


def load_persona_agent(
    path: str | Path, game: Game, persona: str, *, alpha: float | None = None
) -> PersonaAgent:
    """Return the agent of a checkpoint that plays in a personality's manner.

    persona: of PERSONALITIES. alpha: weight of the values, in [0, 1]; None for ALPHA.
    Raises CheckpointError for a file that is damaged, of another game or without a personality head,
    ConfigError for another personality or weight.
    """
    alpha = ALPHA if alpha is None else alpha
    if persona not in PERSONALITIES or not 0 <= alpha <= 1:
        raise ConfigError(
            f"PersonaAgent: persona must be one of {', '.join(PERSONALITIES)} and alpha in [0, 1]; got "
            f"{persona!r}, {alpha}"
        )
    path = Path(path)
    tensors, description = read_checkpoint(path, prefix="network.")
    config = described_config(path, description, game)
    if not config.personality:
        raise CheckpointError(
            f"checkpoint: {path} must have a personality head; it has none; train one with --recipe pdhqn"
        )
    inputs = move_inputs(game)
    check_features(path, description, inputs.layout)
    network = ListeningNetwork(inputs, config)
    load_module(network, tensors, "network.", path)
    agent = PersonaAgent(network, inputs, f"{path.stem}:{persona}")
    agent.persona, agent.alpha = PERSONALITIES.index(persona), alpha
    return agent
