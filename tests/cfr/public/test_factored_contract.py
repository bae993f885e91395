"""Factored games keep their contract, and broken ones are named by the rule that they break."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from games import GameError, check_game, load_game
from games.infosets.factored import FactoredGame, check_factored
from games.ragged import Ragged
from games.research.kuhn_poker import BETTING, KuhnPoker
from games.research.leduc_poker import LeducPoker
from games.research.liars_dice import LiarsDice
from tests.cfr.public.random_factored import RandomFactored
from tests.cfr.public.setting import GAMES
from tests.games.random_games import broken, check_quickly


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(5)
def test_registered_factored_games_keep_the_contract(name: str) -> None:
    game = load_game(name)
    assert isinstance(game, FactoredGame)
    assert check_factored(game, np.random.default_rng(0), width=60) > 3


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.some(2)
def test_random_factored_games_keep_both_contracts(seed: int) -> None:
    game = RandomFactored(seed)
    check_quickly(game, np.random.default_rng(seed))
    assert check_factored(game, np.random.default_rng(seed)) == len(game.nodes) - 2


def test_a_dealing_of_very_many_histories_is_not_listed() -> None:
    class Watched(LiarsDice):
        def step(self, states: Any, rows: Any, actions: Any) -> Any:
            assert len(rows) < 200_000
            return super().step(states, rows, actions)

    assert check_factored(Watched(dice=6, sides=3), np.random.default_rng(0), width=1) > 1


def test_other_games_are_not_factored() -> None:
    game = load_game("goofspiel(cards=3)")
    assert not isinstance(game, FactoredGame)
    with pytest.raises(GameError, match="must offer the functions of FactoredGame"):
        check_factored(game, np.random.default_rng(0))


def public(states: np.ndarray) -> np.ndarray:
    return (states["card0"] == 0) & (states["card1"] == 0)


def one_less(actions: Ragged, states: np.ndarray) -> Ragged:
    """Return actions of which histories with player 0's first card lack one that the public state has."""
    cut = (states["card0"] == 1) & (states["card1"] > 0) & (actions.counts == 2) & (states["node"] >= BETTING)
    keep = np.ones(len(actions.values), bool)
    keep[actions.offsets[:-1][cut]] = False
    return Ragged.from_counts(actions.counts - cut, actions.values[keep])


def without_a_board(actions: Ragged, states: np.ndarray) -> Ragged:
    """Return actions of public states that leave out the first card of the board."""
    cut = public(states) & (states["node"] > 1) & (actions.counts > 3)
    keep = np.ones(len(actions.values), bool)
    keep[actions.offsets[:-1][cut]] = False
    return Ragged.from_counts(actions.counts - cut, actions.values[keep])


def another_turn(acting: np.ndarray, states: np.ndarray) -> np.ndarray:
    turned = (states["card0"] == 1) & (states["card1"] > 0) & (acting == 0)
    return np.where(turned, 1, acting).astype(np.int8)


def told(key: np.ndarray, states: np.ndarray, player: int) -> np.ndarray:
    return key << np.uint64(4) | states[f"card{1 - player}"][:, None]


def forgotten(key: np.ndarray, states: np.ndarray, player: int) -> np.ndarray:
    late = (states["node"] > BETTING)[:, None]
    return np.where(late, key >> np.uint64(4) << np.uint64(4), key)


EQUAL_KINDS = ("payoff_kinds", lambda kinds, states: kinds * 0)
BROKEN = {
    "public_state must be public_root": ("public_root", lambda root: root_at(root, BETTING + 1), KuhnPoker),
    "deal_weights must give at the root what chance deals": (
        "deal_weights",
        lambda w, s: w[:, ::-1],
        KuhnPoker,
    ),
    "deal_weights must be at least 0 and": ("deal_weights", lambda w, s: w[:, :2], KuhnPoker),
    "deal_weights must be multiplied by what chance shows": (
        "deal_weights",
        lambda w, s: np.where((s["board"] > 0)[:, None, None], 1.1 * w, w),
        LeducPoker,
    ),
    "public_state must": ("public_state", lambda p, s: p["card0"].fill(1) or p, KuhnPoker),
    "player must be one for all private states": ("player", another_turn, KuhnPoker),
    "infoset_key must tell the own private state and nothing": ("infoset_key", told, KuhnPoker),
    "infoset_key must tell the own": ("infoset_key", forgotten, KuhnPoker),
    "payoff_kinds must be equal only where payoffs and weights are": (*EQUAL_KINDS, KuhnPoker),
    "actions must be one for all private states": ("actions", one_less, KuhnPoker),
    "actions must hold all that chance may show": ("actions", without_a_board, LeducPoker),
}


def root_at(root: np.ndarray, stage: int) -> np.ndarray:
    root["node"] = stage
    return root


@pytest.mark.parametrize("complaint", BROKEN)
def test_check_factored_names_the_broken_rule(complaint: str) -> None:
    with pytest.raises(GameError, match=complaint):
        check_factored(broken(*BROKEN[complaint]), np.random.default_rng(0))


def test_check_game_holds_the_public_form_too() -> None:
    game = broken(*EQUAL_KINDS, KuhnPoker)
    with pytest.raises(GameError, match="payoff_kinds must be equal only where"):
        check_game(game, np.random.default_rng(0))
