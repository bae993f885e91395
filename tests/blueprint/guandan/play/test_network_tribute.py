"""Tribute by a network: it tries every option on what the deciding seat knows, and takes the best."""

from __future__ import annotations

from typing import Any

import numpy as np

from blueprint.guandan.play.deals import card_choice, deal_rounds
from blueprint.guandan.play.duplicate import play_games_duplicate
from blueprint.guandan.play.network_tribute import NetworkTribute
from blueprint.guandan.play.quick_agents import GreedyAgent
from blueprint.guandan.training.trainer import Trainer
from games.guandan.cards import unpack
from games.guandan.matches.lockstep import BACK, Matches
from games.guandan.matches.tribute import CARD_PACKED
from tests.blueprint.guandan.positions import FAST, TINY


def matches_with_tribute(n: int, seed: int) -> Matches:
    rng = np.random.default_rng(seed)
    order = rng.permuted(np.tile(np.arange(4, dtype=np.uint8), (n, 1)), axis=1)
    return Matches(rng.integers(0, 2**63, n, np.uint64), levels=rng.integers(0, 13, (n, 2)), order=order)


class Likes:
    """Values a state by a fixed worth of each card in the own hand; remembers what it was asked."""

    def __init__(self, worth: np.ndarray) -> None:
        self.worth = worth
        self.asked: list[tuple[np.ndarray, np.ndarray]] = []

    def values(self, states: np.ndarray, rows: np.ndarray, seats: np.ndarray) -> np.ndarray:
        self.asked.append((states.copy(), seats.copy()))
        return unpack(states["hand"][rows, seats]).astype(float) @ self.worth


def test_the_card_given_is_the_one_whose_loss_costs_least() -> None:
    worth = np.random.default_rng(0).random(54)
    matches = matches_with_tribute(40, 1)
    backs = 0
    while len(decisions := matches.card_decisions()):
        cards = NetworkTribute(Likes(worth))(decisions)
        assert np.array_equal(cards, np.where(decisions.options, worth, np.inf).argmin(1))
        backs += decisions.back.sum()
        matches.give(decisions, cards)
    assert backs > 20


def test_what_is_valued_is_the_start_of_the_round_as_the_seat_will_see_it() -> None:
    matches = matches_with_tribute(20, 2)
    pays = matches.card_decisions()
    matches.give(pays, card_choice(pays))
    decisions = matches.card_decisions()
    assert decisions.back.all() and np.all(matches.phase[decisions.rows] == BACK)
    network = Likes(np.zeros(54))
    NetworkTribute(network)(decisions)
    asked = 0
    for states, seats in network.asked:
        hands = unpack(states["hand"][np.arange(len(states)), seats])
        asked += len(states)
        assert np.all(hands.sum(1) == 27) and np.all(states["left"] == 27)
        assert np.array_equal(states["owner"], seats % 2)  # the winners' level
        other = states["player"].astype(np.int64)
        assert np.all((other - seats) % 2 == 1)  # the payer leads
        given = states["known"][np.arange(len(states)), other]
        assert np.all(np.isin(given, CARD_PACKED).any(1))
    assert asked == 2 * decisions.options.sum()


def test_an_agent_with_a_network_for_tribute_uses_it_in_whole_games() -> None:
    network = Likes(np.arange(54.0))
    agent: Any = GreedyAgent()
    agent.cards = NetworkTribute(network)
    score, rounds = play_games_duplicate(agent, GreedyAgent(), np.arange(1, dtype=np.uint64))
    assert score.shape == rounds.shape == (1, 2) and len(network.asked) > 0


def test_self_play_gives_tribute_by_the_networks_own_values() -> None:
    config = FAST.replace(rounds=12, tribute=1.0, tribute_by_value=True)
    trainer = Trainer(TINY, config, threads=1)
    trainer.rng = np.random.default_rng(5)
    tribute = NetworkTribute(trainer.learner.snapshot())
    trainer.run_generation()
    expected = deal_rounds(12, np.random.default_rng(5), tribute=1.0, cards=tribute)
    by_rule = deal_rounds(12, np.random.default_rng(5), tribute=1.0)
    first = trainer.pending[0].states["known"]
    assert np.array_equal(first[: len(expected)], expected["known"])
    assert not np.array_equal(expected["hand"], by_rule["hand"])
