"""Whole deals as inputs, and the network that weighs them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from blueprint.checkpoint import CheckpointError
from blueprint.guandan.network.inference import load_inference
from blueprint.guandan.network.inputs import STATE_WIDTH, encode_past, encode_states
from games.guandan.cards import unpack
from games.guandan.rounds.round import deal
from gs2.guandan.agent.deals.determinize import card_odds, sample_worlds
from gs2.guandan.beliefs.belief_network import (
    DEAL_WIDTH,
    DEFAULT,
    PUBLIC_WIDTH,
    BeliefNetwork,
    DealNetwork,
    deal_inputs,
    load_network,
    save_network,
)
from gs2.guandan.beliefs.train_beliefs import DealConfig, collect_positions, guess_deals, train_deals
from tests.gs2.guandan.beliefs.rounds import some_rounds
from tests.gs2.guandan.blueprints import CountEvaluator
from tests.patience import amount


def slow_inputs(state: np.ndarray, seat: int) -> list[int]:
    """Return one deal's inputs, seat by seat and card by card."""
    out: list[int] = []
    for j in (1, 2, 3):
        held = unpack(state["hand"])[(seat + j) % 4].tolist()
        for card in range(54):
            out += [int(held[card] > 0), int(held[card] > 1)]
        ranks = [sum(held[4 * r : 4 * r + 4]) for r in range(13)] + held[52:]
        for count in ranks:
            out += [int(count > k) for k in range(6)]
    return out


def random_tensors(rng: np.random.Generator, width: int = 8) -> dict[str, np.ndarray]:
    """Return tensors of a small network, exact in half precision."""
    shapes = {
        "public.weight": (width, PUBLIC_WIDTH),
        "public.bias": (width,),
        "deal.weight": (width, DEAL_WIDTH),
        "block.weight": (width, width),
        "block.bias": (width,),
        "out.weight": (1, width),
        "out.bias": (1,),
    }
    made = {name: rng.normal(0, 0.3, shape) for name, shape in shapes.items()}
    return {name: array.astype(np.float16).astype(np.float32) for name, array in made.items()}


def slow_ratios(tensors: dict[str, np.ndarray], public: np.ndarray, deals: np.ndarray) -> np.ndarray:
    h = np.maximum(
        tensors["public.weight"] @ public + tensors["public.bias"] + deals @ tensors["deal.weight"].T, 0
    )
    h = h + np.maximum(h @ tensors["block.weight"].T + tensors["block.bias"], 0)
    return h @ tensors["out.weight"][0]


def test_inputs_are_those_of_the_slow_twin() -> None:
    for played in some_rounds(amount(12, 6), np.random.default_rng(0)):
        for seat in range(4):
            found = deal_inputs(played.state, seat)
            assert found.shape == (1, DEAL_WIDTH)
            assert found[0].tolist() == slow_inputs(played.state[0], seat)


def test_log_ratios_are_the_slow_ones_up_to_a_constant() -> None:
    rng = np.random.default_rng(1)
    tensors = random_tensors(rng)
    network = DealNetwork(tensors)
    for played in some_rounds(4, rng, most=40):
        seat = int(played.state["player"][0])
        past = encode_past(played.state, np.array([seat]))
        worlds = sample_worlds(played.state, seat, 20, rng)
        found = network.log_ratios(worlds.states, seat)
        public = np.concatenate([encode_states(played.state, np.array([seat]))[0], past[0]]).astype(float)
        wanted = slow_ratios(tensors, public, deal_inputs(worlds.states, seat).astype(float))
        assert np.ptp(found) > 0
        assert np.allclose(found - found.mean(), wanted - wanted.mean(), atol=0.03 * max(1, np.ptp(wanted)))
        # the order of the deals does not matter, nor which of them shows the public part
        assert np.allclose(network.log_ratios(worlds.states[::-1], seat), found[::-1], atol=1e-4)


def test_networks_survive_saving_and_what_is_none_is_refused(tmp_path) -> None:
    rng = np.random.default_rng(3)
    widths = (STATE_WIDTH, 16, 162)
    layers: dict[str, np.ndarray] = {}
    for k, (given, out) in enumerate(itertools.pairwise(widths)):
        weight = rng.normal(size=(out, given)).astype(np.float16).astype(np.float32)
        layers |= {f"{k}.weight": weight, f"{k}.bias": np.ones(out, np.float32)}
    beliefs, states, seats = BeliefNetwork(layers), deal(3, rng), np.array([0, 1, 3])
    save_network(tmp_path / "b.safetensors", beliefs, {"note": "test"})
    odds = beliefs.log_odds(states, seats)
    assert odds.shape == (3, 3, 54)
    assert np.allclose(load_network(BeliefNetwork, tmp_path / "b.safetensors").log_odds(states, seats), odds)
    with pytest.raises(ValueError, match="162"):
        BeliefNetwork({name: layers[name] for name in ("0.weight", "0.bias")})
    tensors = random_tensors(rng)
    network = DealNetwork(tensors)
    save_network(tmp_path / "d.safetensors", network, {"note": "test"})
    again = load_network(DealNetwork, tmp_path / "d.safetensors")
    assert all(np.array_equal(again.tensors[name], array) for name, array in network.tensors.items())
    with pytest.raises(CheckpointError, match="holds no deal network"):
        load_network(DealNetwork, DEFAULT)
    with pytest.raises(ValueError, match=r"block.bias' must be among"):
        DealNetwork({name: array for name, array in tensors.items() if name != "block.bias"})
    for name in tensors.keys() - {"public.bias"}:
        with pytest.raises(ValueError, match=f"{name} must be"):
            DealNetwork(tensors | {name: tensors[name][..., :-1]})


@pytest.mark.long
def test_the_shipped_network_finds_the_true_deal_among_those_of_the_belief() -> None:
    rng = np.random.default_rng(4)
    beliefs, network = load_network(BeliefNetwork), load_network(DealNetwork)
    positions = collect_positions(load_inference(critic=False), 24, rng)
    gains = []
    for row in rng.choice(len(positions), 60, replace=False):
        state = positions[int(row) : int(row) + 1]
        seat = int(state["player"][0])
        worlds = sample_worlds(state, seat, 15, rng, odds=card_odds(beliefs, state, seat))
        if worlds.exact:
            continue
        logs = network.log_ratios(np.concatenate([state, worlds.states]), seat)
        gains.append(logs[0] - np.log(np.exp(logs).mean()))
    assert len(gains) > 30
    assert np.mean(gains) > 3 * np.std(gains) / np.sqrt(len(gains))


def test_deals_are_guessed_for_the_seat_to_act() -> None:
    rng = np.random.default_rng(5)
    positions = collect_positions(CountEvaluator(), 2, rng)
    guesses = guess_deals(positions, load_network(BeliefNetwork), 3, rng)
    states, seats = positions, positions["player"]
    rows = np.arange(len(states))
    assert guesses.hands.shape == (len(states), 3, 4, 2)
    for k in range(3):
        assert np.array_equal(guesses.hands[rows, k, seats], states["hand"][rows, seats])
        counts = unpack(guesses.hands[:, k])
        assert np.array_equal(counts.sum(2), states["left"])
        assert np.all((counts + unpack(states["played"])).sum(1) == 2)
    assert np.any(guesses.hands != states["hand"][:, None])
    chosen = np.array([3, 0])
    public, deals = guesses.take(chosen)
    assert public.shape == (2, PUBLIC_WIDTH) and deals.shape == (8, DEAL_WIDTH)
    for j, row in enumerate(chosen):
        assert np.array_equal(deals[4 * j], deal_inputs(states[row : row + 1], int(seats[row]))[0])


@pytest.mark.long
def test_training_tells_true_deals_from_guessed_ones() -> None:
    rng = np.random.default_rng(6)
    config = DealConfig(rounds=10, share=1.0, negatives=3, width=16, batch=64, passes=4.0, dropout=0.0)

    class Even:
        def log_odds(self, states, seats):
            return np.zeros((len(states), 3, 54), np.float32)

    network, score = train_deals(CountEvaluator(), Even(), rng, config)
    assert score["positions"] > 300 and score["steps"] == score["step"] > 10
    assert score["train"] < np.log(4)
    assert np.isfinite(score["held_out"]) and network.tensors["public.weight"].shape == (16, PUBLIC_WIDTH)
