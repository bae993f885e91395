"""Positions of real rounds, and small networks, for the tests of this folder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.game_lockstep import play_rounds
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.quick_agents import GreedyAgent, RandomAgent
from blueprint.guandan.play.selfplay import GUANDAN
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.protocol import Decisions
from blueprint.structured import join
from games.guandan.rounds.playout import legal
from tests.gs2.guandan.beliefs.rounds import some_rounds

TINY = NetworkConfig(state=16, blocks=1, action=16, action_blocks=1, critic=16)
FAST = TrainConfig(rounds=4, batch=64, seed=3)
"""What trains in no time."""
SMALL = NetworkConfig(state=24, blocks=2, action=16, action_blocks=2, critic=24)


def some_decisions(rounds: int = 12, seed: int = 0) -> Decisions:
    """Return every eighth decision of rounds between chance and greed, tribute included."""
    rng = np.random.default_rng(seed)
    agents = (RandomAgent(rng), GreedyAgent())
    states, seats, counts, actions = [], [], [], []
    step = [0]

    def watch(decisions: Decisions) -> NDArray[np.int64]:
        if step[0] % 8 == 0:
            states.append(decisions.states[decisions.rows])
            seats.append(decisions.seats.copy())
            counts.append(np.diff(decisions.offsets))
            actions.append(decisions.actions.copy())
        step[0] += 1
        return agents[step[0] % 2](decisions)

    play_rounds(deal_rounds(rounds, rng, tribute=0.5), watch, GUANDAN, record=False)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return Decisions(join(states), np.arange(len(offsets) - 1), np.concatenate(seats), offsets, join(actions))


def random_states(n: int, rng: np.random.Generator) -> NDArray:
    """Return a state of each of n random rounds."""
    return np.concatenate([played.state for played in some_rounds(n, rng)])


def random_decisions(n: int, rng: np.random.Generator) -> Decisions:
    """Return the decisions of such states."""
    states = random_states(n, rng)
    return Decisions.of(states, legal(states, canonical=True))


def random_tensors(config: NetworkConfig = SMALL, seed: int = 0) -> dict[str, NDArray]:
    """Return the tensors of a new network with its critic, as in a checkpoint."""
    import torch

    from blueprint.guandan.network.q_network import Critic, make_network

    torch.manual_seed(seed)
    parts = {"network": make_network(config), "critic": Critic(config.critic)}
    return {f"{name}.{k}": v.numpy() for name, part in parts.items() for k, v in part.state_dict().items()}
