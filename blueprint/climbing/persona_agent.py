"""A network with a personality head as an agent of a climbing game that plays in a personality's manner.

    agent = load_persona_agent("runs/pdhqn/last.safetensors", load_game("doudizhu"), "aggressive", alpha=0.5)

Values and labels of a decision's moves are blended as in Algorithm 2 of the PDHQN paper
(`blueprint.choosing.personality`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from blueprint.checkpoint import CheckpointError, check_features, read_checkpoint
from blueprint.choosing.personality import ALPHA, PERSONALITIES, blended_scores
from blueprint.climbing.inputs.move_inputs import MoveInputs, move_inputs
from blueprint.climbing.move_config import described_config
from blueprint.climbing.network.move_network import MoveNetwork
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array, Ints
from games.support.configuration import ConfigError

__all__ = ["PersonaAgent", "load_persona_agent"]

Values = NDArray[np.float64]


class PersonaAgent:
    """Plays what scores highest for a personality.

    persona: its place in PERSONALITIES. alpha: weight of the values, the rest is that of the personality.
    """

    def __init__(self, network: MoveNetwork, inputs: MoveInputs, name: str) -> None:
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
        starts = offsets[:-1]
        best = np.repeat(np.maximum.reduceat(scores, starts), np.diff(offsets))
        first = np.where(scores == best, np.arange(len(scores)), len(scores))
        found: Ints = np.minimum.reduceat(first, starts) - starts
        return found

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> Values:
        """Return 1 for the chosen action of each state and 0 for the others, [m] float64.

        Raises ConfigError for another game.
        """
        if game.name != self.inputs.game.name:
            raise ConfigError(f"{self.name}: it plays {self.inputs.game.name}; got a state of {game.name}")
        probs = np.zeros(len(actions.values))
        rows = np.flatnonzero(actions.counts > 0)
        if len(rows):
            some = actions.take(rows)
            seats = np.full(len(rows), player, np.int64)
            words = self.inputs.words(some.values)
            picked = self.choose(np.ascontiguousarray(states[rows]), seats, some.offsets, words)
            probs[actions.offsets[rows] + picked] = 1.0
        return probs


def load_persona_agent(path: str | Path, game: Game, persona: str, *, alpha: float = ALPHA) -> PersonaAgent:
    """Return the agent of a checkpoint that plays in a personality's manner.

    persona: of PERSONALITIES. alpha: weight of the values, in [0, 1].
    Raises CheckpointError for a file that is damaged, of another game or without a personality head,
    ConfigError for another personality or weight.
    """
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
    network = MoveNetwork(inputs, config)
    own = {name.removeprefix("network."): value for name, value in tensors.items()}
    try:
        network.load_state_dict(
            {name: torch.from_numpy(np.array(value, np.float32)) for name, value in own.items()}
        )
    except RuntimeError as error:
        raise CheckpointError(
            f"checkpoint: {path} must hold the network that it describes; {error}"
        ) from error
    agent = PersonaAgent(network, inputs, f"{path.stem}:{persona}")
    agent.persona, agent.alpha = PERSONALITIES.index(persona), alpha
    return agent
