"""What a round's moves say, as inputs: what states remember, and networks that see it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from blueprint.guandan.network.inference import Inference
from blueprint.guandan.network.inputs import (
    FEATURE_HASH,
    LAYOUTS,
    PAST_WIDTH,
    STAKES_WIDTH,
    STATE_WIDTH,
    encode_past,
    encode_states,
    hidden_hands,
    layout_hash,
)
from blueprint.guandan.network.q_network import QNetwork, held_nats
from blueprint.guandan.train_config import NetworkConfig
from blueprint.protocol import Decisions
from games.guandan.cards import CARD_NAMES, RANKS, unpack
from games.guandan.notation import action_list
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import restarted
from games.guandan.rounds.state import ACTS_SEEN, NOBODY
from tests.blueprint.guandan.positions import random_states
from tests.gs2.guandan.beliefs.rounds import Played, some_rounds
from tests.patience import amount
from tests.reference.guandan.guandan_past import past_of

SMALL = NetworkConfig(
    state=32, blocks=1, action=16, action_blocks=1, critic=0, past=True, hands=True, stakes=True
)


def slow(played: Played, seat: int) -> np.ndarray:
    level = int(played.state["level"][0])
    hands = [
        [CARD_NAMES[c] for c in np.flatnonzero(counts) for _ in range(counts[c])]
        for counts in unpack(played.start["hand"])[0]
    ]
    moves = []
    for action in played.moves.actions:
        kind, rank, cards = action_list(action, level)
        moves.append((kind, rank, [] if kind == "PASS" else list(cards)))
    out = np.zeros(PAST_WIDTH, np.uint8)
    for who, number in past_of(hands, int(played.start["player"][0]), moves, RANKS[level]):
        if who != seat:
            out[((who - seat) % 4 - 1) * ACTS_SEEN + number] = 1
    return out


def test_inputs_are_those_of_the_slow_twin() -> None:
    some = 0
    for played in some_rounds(15, np.random.default_rng(0)):
        for seat in range(4):
            found = encode_past(played.state, np.array([seat]))
            assert found.shape == (1, PAST_WIDTH)
            assert np.array_equal(found[0], slow(played, seat))
            some += int(found.sum())
    assert some > 500


def test_neither_hidden_hands_nor_the_own_acts_matter_and_a_new_round_remembers_nothing() -> None:
    for played in some_rounds(10, np.random.default_rng(1)):
        seat = int(played.state["player"][0])
        hidden = played.state.copy()
        hidden["hand"][0, [s for s in range(4) if s != seat]] = 0
        hidden["acts"][0, seat] = 0
        told, blind = (encode_past(state, np.array([seat])) for state in (played.state, hidden))
        assert np.array_equal(told, blind)
        assert not restarted(played.state)["acts"].any()


def remembering(rng: np.random.Generator) -> tuple[QNetwork, dict[str, np.ndarray]]:
    torch.manual_seed(int(rng.integers(2**31)))
    network = QNetwork(SMALL)
    with torch.no_grad():
        network.tower.past.normal_(0, 0.2)
        network.tower.stakes.normal_(0, 0.5)
        network.advantage.weight.mul_(100)
    return network, {f"network.{k}": v.numpy() for k, v in network.state_dict().items()}


@pytest.mark.parametrize("n", [1, 7, amount(200, 60)])
def test_the_fast_path_remembers_as_the_network_does(n: int) -> None:
    rng = np.random.default_rng(2)
    network, tensors = remembering(rng)
    states = random_states(n, rng)
    # every other round is part of a match
    states["fails"][::2] = 1
    decisions = Decisions.of(states, legal(states, canonical=True))
    x, a = network.encode(decisions)
    assert x.shape == (n, STATE_WIDTH + PAST_WIDTH + STAKES_WIDTH)
    rows = np.repeat(np.arange(n), np.diff(decisions.offsets))
    with torch.inference_mode():
        h = network.states(torch.from_numpy(x).float())
        wanted = network.advantages(h, torch.from_numpy(a).float(), torch.from_numpy(rows)).numpy()
        values = (network.outcomes(h).softmax(1) @ torch.tensor([3.0, 2, 1, 0, -1, -2, -3])).numpy()
    seats, spread = decisions.seats, wanted.std()
    for half in (False, True):
        fast, near = Inference(tensors, half=half), 0.1 if half else 0.01
        assert fast.sees_stakes
        assert np.allclose(fast.advantages(decisions), wanted, atol=near * max(1, spread))
        assert np.allclose(fast.values(states, decisions.rows, seats), values, atol=near)
    if n < 50:
        return
    # and what it remembers matters, and the stakes where there are any
    exact, moves = Inference(tensors, half=False), legal(states, canonical=True)
    forgotten, apart = states.copy(), states.copy()
    forgotten["acts"] = 0
    assert np.abs(exact.advantages(Decisions.of(forgotten, moves)) - wanted).mean() > 0.02 * spread
    apart["fails"] = NOBODY
    other = exact.advantages(Decisions.of(apart, moves))
    inside = np.repeat(np.arange(n) % 2 == 0, np.diff(decisions.offsets))
    assert np.abs(other - wanted)[inside].mean() > 0.02 * spread
    assert np.allclose(other[~inside], wanted[~inside], atol=0.01 * spread)


def test_gradients_of_the_fused_layer_are_those_of_torch() -> None:
    rng = np.random.default_rng(3)
    network, _ = remembering(rng)
    states = random_states(60, rng)
    x = torch.from_numpy(network.encode_seen(states, states["player"].astype(np.int64)))
    found = []
    for kind in (torch.float32, torch.bfloat16):
        network.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=kind == torch.bfloat16):
            (network.states(x.to(kind)).float() ** 2).mean().backward()
        found.append((network.tower.past.grad.clone(), network.tower.input.weight.grad.clone()))
    for exact, fused in zip(*found, strict=True):
        assert exact.norm() > 0
        assert (exact - fused).norm() < 0.03 * exact.norm()


def test_nats_are_those_of_uniform_deals_where_nothing_is_known() -> None:
    states = random_states(20, np.random.default_rng(4))
    hands = hidden_hands(states, states["player"].astype(np.int64))
    assert float(held_nats(torch.zeros(20, 3, 54), hands).mean()) == pytest.approx(np.log(3), abs=1e-5)
    sure = torch.from_numpy(hands).float() * 50
    assert float(held_nats(sure, hands).mean()) < 0.4  # a card of which two hold one each stays a guess


def test_a_network_that_does_not_remember_sees_the_state_alone() -> None:
    plain = QNetwork(NetworkConfig(state=32, blocks=1, action=16, action_blocks=1, critic=0))
    states = random_states(3, np.random.default_rng(5))
    seats = states["player"].astype(np.int64)
    assert np.array_equal(plain.encode_seen(states, seats), encode_states(states, seats))
    assert plain.features == FEATURE_HASH == layout_hash(past=False, stakes=False)
    assert QNetwork(SMALL).features == layout_hash(past=True, stakes=True)
    assert len(set(LAYOUTS)) == 4
    fast = Inference({f"network.{k}": v.detach().numpy() for k, v in plain.state_dict().items()})
    assert not fast.sees_stakes
