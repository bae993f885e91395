"""Rollouts against a slow twin that plays one state at a time."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch

from blueprint.checkpoint import write_checkpoint
from blueprint.guandan.network.inference import Inference, load_inference
from blueprint.guandan.network.inputs import (
    FEATURE_HASH,
    OUTCOMES,
    encode_actions,
    encode_full,
    encode_states,
)
from blueprint.guandan.network.q_network import Critic, QNetwork
from blueprint.guandan.train_config import NetworkConfig
from blueprint.protocol import Decisions
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, advance
from gs2.guandan.agent.evaluator import (
    BATCH,
    evaluator_values,
)
from gs2.guandan.agent.rollout import Rollouts
from tests.gs2.guandan.blueprints import CountEvaluator, midgame
from tests.patience import amount

GAME = GuanDan(moves="canonical")
SMALL = NetworkConfig(state=32, blocks=1, action=16, action_blocks=1, critic=32)


def tensors_of(network: QNetwork, critic: Critic) -> dict[str, np.ndarray]:
    """Return the tensors of a checkpoint of two networks."""
    parts = {"network": network, "critic": critic}
    return {f"{name}.{k}": v.numpy() for name, part in parts.items() for k, v in part.state_dict().items()}


def slow_payoff(evaluator, state: np.ndarray, depth: int | None, player=None) -> float:
    """Return the payoff to team 0 of playing one state on, the obvious way."""
    state = state.copy()
    taken = 0
    while state["player"][0] >= 0:
        moves = legal(state, canonical=True)
        seat = state["player"].astype(np.int64)
        if len(moves.values) > 1:
            if depth is not None and taken >= depth:
                value = evaluator.values(state, np.zeros(1, np.int64), seat)[0]
                return value if seat[0] % 2 == 0 else -value
            q = (player or evaluator).advantages(Decisions.of(state, moves))
            best = int(np.argmax(q))
            taken += 1
        else:
            best = 0
        advance(state, moves.values[best : best + 1])
    return float(GAME.returns(state)[0, 0])


@pytest.mark.parametrize("depth", [0, 1, 5, None])
def test_lockstep_rollouts_equal_one_state_at_a_time_whoever_moves(depth: int | None) -> None:
    evaluator, player = (CountEvaluator(noise=noise) for noise in (0.1, 3.0))
    states = midgame(amount(40, 10), np.random.default_rng(7), plies=50)
    found = []
    for other in (None, player):
        wanted = [slow_payoff(evaluator, states[i : i + 1], depth, other) for i in range(len(states))]
        found.append(Rollouts(evaluator, other).payoffs(states.copy(), depth))
        assert np.allclose(found[-1], wanted)
    assert np.allclose(*found) == (depth == 0)


def test_a_deadline_in_the_past_values_states_where_they_stand() -> None:
    evaluator = CountEvaluator()
    states = midgame(10, np.random.default_rng(1))
    rollouts = Rollouts(evaluator)
    got = rollouts.payoffs(states.copy(), None, time.perf_counter() - 1)
    assert rollouts.decisions == 0
    assert np.allclose(got, Rollouts(evaluator).payoffs(states.copy(), 0))


def test_batches_do_not_change_the_answer() -> None:
    evaluator = CountEvaluator(noise=0.1)
    states = midgame(BATCH + 50, np.random.default_rng(2), plies=40)
    rollouts = Rollouts(evaluator)
    together = rollouts.payoffs(states.copy(), 4)
    apart = [rollouts.payoffs(part.copy(), 4) for part in np.array_split(states, 20)]
    assert np.allclose(together, np.concatenate(apart))


def test_the_network_is_asked_as_training_asks_it() -> None:
    torch.manual_seed(0)
    network, critic = QNetwork(SMALL), Critic(32)
    evaluator = Inference(tensors_of(network, critic))
    states = midgame(100, np.random.default_rng(3), plies=30)
    seats = states["player"].astype(np.int64)
    moves = legal(states, canonical=True)
    x = torch.from_numpy(encode_states(states, seats)).float()
    a = torch.from_numpy(encode_actions(Decisions.of(states, moves))).float()
    payoffs = torch.tensor(OUTCOMES)
    with torch.inference_mode():
        h = network.states(x)
        wanted = network.advantages(h, a, torch.from_numpy(moves.rows)).numpy()
        values = critic(torch.from_numpy(encode_full(states, seats)).float()).softmax(1) @ payoffs
        outcomes = network.outcomes(h).softmax(1) @ payoffs
    tolerance = 0.03 if evaluator.half else 1e-4
    assert np.allclose(evaluator_values(evaluator, states, moves), wanted, atol=tolerance)
    rows = np.arange(len(states))
    assert np.allclose(evaluator.critic_values(states, rows, seats), values.numpy(), atol=tolerance)
    assert np.allclose(evaluator.values(states, rows, seats), outcomes.numpy(), atol=tolerance)


def test_a_checkpoint_becomes_an_evaluator(tmp_path) -> None:
    tensors = tensors_of(QNetwork(SMALL), Critic(32))
    path = tmp_path / "small.safetensors"
    write_checkpoint(path, tensors, {"features": FEATURE_HASH, "network": SMALL.to_json(), "decisions": 7})
    evaluator = load_inference(path)
    assert evaluator.sees_all and evaluator.name == "small@7"
    assert not load_inference(path, critic=False).sees_all
    states = midgame(4, np.random.default_rng(0))
    assert np.isfinite(Rollouts(evaluator).payoffs(states.copy(), 3)).all()
