"""The network as a blueprint, and the check that every blueprint must pass."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.check import BlueprintError, check_blueprint
from blueprint.guandan.network.inference import Inference
from blueprint.guandan.network.neural_blueprint import NeuralBlueprint, load_blueprint
from blueprint.protocol import Decisions
from games.game import Game
from games.guandan.rounds.round import GuanDan, deal
from games.ragged import Ragged
from games.registry import load_game
from tests.blueprint.guandan.positions import random_tensors, some_decisions
from tests.patience import amount

GAME = GuanDan(moves="canonical")


@functools.cache
def decisions() -> Decisions:
    """Return the positions of this module, played once and not before they are needed."""
    return some_decisions(4, seed=3)


def neural(temperature: float = 0.06) -> NeuralBlueprint:
    return NeuralBlueprint(Inference(random_tensors(), half=False), temperature=temperature)


def of_seat(seat: int) -> tuple[NDArray, Ragged]:
    rows = np.flatnonzero(decisions().seats == seat)
    return decisions().states[rows], Ragged(decisions().offsets, decisions().actions).take(rows)


class Uniform:
    """Every action alike, worth nothing: right on no game, and within the contract on every symmetric one."""

    name = "uniform"

    def q(self, game: Game, states: NDArray, player: int, actions: Ragged) -> NDArray:
        return np.zeros(len(actions.values))

    def policy(self, game: Game, states: NDArray, player: int, actions: Ragged) -> NDArray:
        return (1 / actions.counts)[actions.rows]

    def value(self, game: Game, states: NDArray, player: int) -> NDArray:
        return np.zeros(len(states))


@pytest.mark.parametrize("temperature", [0.0, 0.06, 1.0])
@pytest.mark.some(2)
def test_a_network_keeps_the_contract(temperature: float) -> None:
    rng = np.random.default_rng(0)
    n = amount(6, 2)
    starts = deal(n, rng, level=rng.integers(0, 13, n))
    report = check_blueprint(neural(temperature), GAME, rng, plays=n, states=starts)
    assert report.decisions > 50 * n
    assert -3 <= report.lowest < report.highest <= 3


def test_the_shipped_network_is_the_default_blueprint_and_keeps_the_contract() -> None:
    rng, n = np.random.default_rng(1), amount(4, 2)
    blueprint = load_blueprint()
    assert blueprint.name.startswith("guandan@")
    assert check_blueprint(blueprint, GAME, rng, plays=n, states=deal(n, rng)).decisions > 50 * n


def test_any_other_blueprint_is_checked_alike() -> None:
    rng = np.random.default_rng(2)
    for game in ("kuhn_poker", "leduc_poker"):
        assert check_blueprint(Uniform(), load_game(game), rng, plays=30).decisions > 30


def test_the_policy_is_soft_in_q_and_best_at_temperature_zero() -> None:
    states, actions = of_seat(2)
    q = neural().q(GAME, states, 2, actions)
    policy = neural().policy(GAME, states, 2, actions)
    best = neural(0.0).policy(GAME, states, 2, actions)
    for row in range(len(states)):
        part = slice(actions.offsets[row], actions.offsets[row + 1])
        soft = np.exp((q[part] - q[part].max()) / 0.06)
        assert np.allclose(policy[part], soft / soft.sum(), atol=1e-4)
        assert best[part].sum() == 1 and best[part][q[part].argmax()] == 1
    none = actions.take(np.zeros(0, np.int64))  # a seat without decisions is answered with nothing
    assert neural().q(GAME, states[:0], 2, none).shape == neural().value(GAME, states[:0], 2).shape == (0,)
    assert neural().policy(GAME, states[:0], 2, none).shape == (0,)


def test_another_game_or_a_bad_temperature_is_refused() -> None:
    leduc = load_game("leduc_poker")
    with pytest.raises(BlueprintError, match="trained on guandan"):
        neural().value(leduc, leduc.root(), 0)
    with pytest.raises(BlueprintError, match=r"temperature must be in \[0, 100\]"):
        neural(-1.0)


class Wrong(Uniform):
    """Breaks one rule of the contract."""

    def __init__(self, rule: str) -> None:
        self.rule = rule

    def q(self, game: Game, states: NDArray, player: int, actions: Ragged) -> NDArray:
        q = super().q(game, states, player, actions)
        if self.rule == "finite numbers":
            q[-1] = np.nan
        if self.rule == "must lie in":
            q[actions.offsets[:-1]], q[actions.offsets[:-1] + 1] = 99, -99
        return q[:-1] if self.rule == "must be" else q

    def policy(self, game: Game, states: NDArray, player: int, actions: Ragged) -> NDArray:
        policy = super().policy(game, states, player, actions)
        if self.rule == "sum to 1":
            policy[0] += 0.1
        if self.rule == "negative":
            policy[0], policy[1] = -0.5, 1.5
        return policy

    def value(self, game: Game, states: NDArray, player: int) -> NDArray:
        if self.rule == "mean of q":
            return np.ones(len(states))
        if self.rule == "batch":
            return np.full(len(states), 0.04 if len(states) > 1 else -0.04)
        return super().value(game, states, player)


def test_a_broken_blueprint_is_named_with_its_rule() -> None:
    for rule in ("finite numbers", "must be", "must lie in", "sum to 1", "negative", "mean of q", "batch"):
        with pytest.raises(BlueprintError, match=rule):
            check_blueprint(Wrong(rule), load_game("leduc_poker"), np.random.default_rng(0), plays=10)


def test_looking_at_what_is_hidden_is_found_out() -> None:
    class Peeks(Uniform):
        def value(self, game: Game, states: NDArray, player: int) -> NDArray:
            text = [game.state_text(states[i]) for i in range(len(states))]
            return np.unique(text, return_inverse=True)[1] * 0.01 - 0.02

    with pytest.raises(BlueprintError, match="throughout an infoset"):
        check_blueprint(
            Peeks(), load_game("leduc_poker"), np.random.default_rng(0), plays=60, tolerance=0.005
        )
