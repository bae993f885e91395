"""A round with an auction is one with a fixed landlord, seats turned, to a network that learned that game."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_trainer import MoveTrainer
from blueprint.protocol import Decisions
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.round_state import CALLS, DEALS, NO_SEAT
from games.game import CHANCE, TERMINAL
from games.ragged import pick_by
from games.registry import load_game
from games.support.array_types import Ints, Rows
from gs2.play.shedding import SHEDDING
from tests.patience import amount

SMALL = ClimbingConfig(state=16, blocks=1, action=8, critic=0, rounds=8, batch=64)
ONE = np.zeros(1, np.int64)


def turned(history: Ints, landlord: int) -> Ints:
    """Return the actions from the root with seat s as seat (s - landlord) % 3, without the calls."""
    deals = history[history >= DEALS] - DEALS
    shares = np.roll(deals[:, None] // np.array([1, 5, 25]) % 5, -landlord, axis=1)
    return np.concatenate([DEALS + shares @ np.array([1, 5, 25]), history[history < CALLS]])


def after(game: DouDizhu, history: Ints) -> Rows:
    """Return the state after a history, [1]."""
    state = game.root()
    for at in range(len(history)):
        state = game.step(state, ONE, history[at : at + 1])
    return state


def random_history(game: DouDizhu, rng: np.random.Generator) -> list[int]:
    """Return the actions of a random round from the root on; its calls tend to be high."""
    state, history = game.root(), list[int]()
    while (player := game.player(state)[0]) != TERMINAL:
        legal = game.actions(state)
        chances = np.full(len(legal.values), 1 / len(legal.values))
        if player == CHANCE:
            chances = game.chance_probs(state, legal)
        elif state["landlord"][0] == NO_SEAT:
            chances = np.arange(1.0, 1 + len(legal.values)) / np.arange(1.0, 1 + len(legal.values)).sum()
        history.append(int(legal.values[pick_by(legal, chances, rng.random(1))[0]]))
        state = game.step(state, ONE, np.array(history[-1:]))
    return history


def game_of(text: str) -> DouDizhu:
    game = load_game(text, general_sum=True)
    assert isinstance(game, DouDizhu)
    return game


def network_of(game: DouDizhu, path: Path, target: str) -> Path:
    """Return the file of a network with random parameters, none of them zero."""
    trainer = MoveTrainer(game, SMALL.replace(target=target))
    rng = np.random.default_rng(5)
    for module in (trainer.learner.network, trainer.learner.mean_network):
        for value in module.parameters():
            value.data.add_(value.new_tensor(0.1 * rng.standard_normal(value.shape)))
    trainer.save(path)
    return path


@pytest.mark.parametrize("target", ["win", "payoff"])
@pytest.mark.parametrize("options", ["", "spring=true", "ranks=7", "returns=win_loss"])
@pytest.mark.some(3)
def test_a_network_without_an_auction_plays_and_values_as_in_its_own_game(
    options: str, target: str, tmp_path: Path
) -> None:
    fixed = game_of(f"doudizhu({options})" if options else "doudizhu")
    game = game_of(",".join(["doudizhu(landlord=bid", *filter(None, [options])]) + ")")
    path = network_of(fixed, tmp_path / "n.safetensors", target)
    own = load_climbing_blueprint(path, fixed, temperature=0.1)
    here = load_climbing_blueprint(path, game, temperature=0.1)
    rng, landlords, calls = np.random.default_rng(1), set[int](), 0
    for _ in range(amount(40, 10)):
        history = np.array(random_history(game, rng))
        for n in range(len(history) - 1, 0, -1 - len(history) // 8):
            state = after(game, history[:n])
            player, landlord = int(game.player(state)[0]), int(state["landlord"][0])
            if player < 0:
                break
            legal = game.actions(state)
            q, policy = here.q(game, state, player, legal), here.policy(game, state, player, legal)
            if landlord == NO_SEAT:
                calls += 1
                asked = Decisions.of(state, legal, player, game=game)
                assert policy[SHEDDING(asked)[0]] == 1 and not q.any() and here.by_rule(state)[0]
                assert not here.value(game, state, player)[0] and not here.value(game, state, 2 - player)[0]
                continue
            landlords.add(landlord)
            assert not here.by_rule(state)[0]
            other, seat = after(fixed, turned(history[:n], landlord)), (player - landlord) % 3
            assert np.array_equal(fixed.actions(other).values, legal.values)
            np.testing.assert_array_equal(policy, own.policy(fixed, other, seat, legal))
            called = int(state["bid"][0]) if game.scoring == "points" else 1
            after_it = (player + 1) % 3
            looked = here.value(game, state, after_it), own.value(fixed, other, (seat + 1) % 3)
            for who, found, there in ((player, q, own.q(fixed, other, seat, legal)), (after_it, *looked)):
                paid = called * (1 + (who == landlord)) if target == "payoff" else 1
                np.testing.assert_allclose(np.clip(found / paid, *fixed.payoff_range), there, rtol=1e-6)
    assert landlords == {0, 1, 2} and calls > 1


def test_a_network_that_learned_the_auction_calls_itself(tmp_path: Path) -> None:
    game = game_of("doudizhu(landlord=bid)")
    found = load_climbing_blueprint(network_of(game, tmp_path / "n.safetensors", "payoff"), game)
    states = game.sample_deals(4, np.random.default_rng(2))
    assert found.network.inputs.untaught is None
    assert np.abs(found.q(game, states, 0, game.actions(states))).min() > 0
