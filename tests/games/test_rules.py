"""The rules of each game, on positions worked out by hand; here OpenSpiel is not needed."""

from __future__ import annotations

import numpy as np
import pytest

from games import TERMINAL, TwoPlayerGame, load_game


def after(name: str, words: str) -> tuple[TwoPlayerGame, np.ndarray]:
    """Return the game and the history after the actions with these texts, separated by commas."""
    game = load_game(name, general_sum=True)
    assert isinstance(game, TwoPlayerGame)
    states = game.played(game.root(), [word.strip() for word in words.split(",")])
    assert states is not None, words
    return game, states


def payoffs(name: str, words: str) -> list[float]:
    """Return what both players get at the end of these actions."""
    game, states = after(name, words)
    assert game.player(states)[0] == TERMINAL
    return game.returns(states)[0].tolist()


KUHN = "deal K, deal Q, "
LEDUC = "deal Ks, deal Qs, "
GOOF = "prize 4, bid 3, bid 2, prize 1, bid 1, bid 4"


@pytest.mark.parametrize(
    ("name", "words", "first"),
    [
        ("kuhn_poker", KUHN + "bet, bet", 2),
        ("kuhn_poker", KUHN + "pass, bet, pass", -1),
        ("kuhn_poker", "deal J, deal Q, bet, pass", 1),
        ("kuhn_poker", "deal J, deal Q, pass, bet, bet", -2),
        ("leduc_poker", "deal Js, deal Qs, check, check, deal Jh, check, check", 1),
        ("leduc_poker", "deal Js, deal Jh, raise, call, deal Kh, raise, raise, call", 0),
        ("leduc_poker", LEDUC + "raise, raise, call, deal Jh, raise, raise, call", 13),
        ("leduc_poker", LEDUC + "raise, raise, fold", -3),
        ("leduc_poker", LEDUC + "raise, call, deal Qh, check, raise, fold", -3),
        ("liars_dice", "roll 3, roll 6, 2x3, liar", 1),
        ("liars_dice(wild=false)", "roll 3, roll 6, 2x3, liar", -1),
        ("liars_dice", "roll 1, roll 2, 1x2, 1x3, liar", 1),
        ("liars_dice", "roll 1, roll 3, 1x2, 1x3, liar", -1),
        ("liars_dice(dice=2,sides=3)", "roll 1, roll 3, roll 1, roll 2, 3x1, liar", 1),
        ("liars_dice(dice=2,sides=3)", "roll 1, roll 3, roll 1, roll 2, 4x1, liar", -1),
        ("goofspiel(cards=4,turns=2)", "prize 4, bid 3, bid 2, prize 3, bid 1, bid 1", 2),
        ("goofspiel(cards=4,turns=2)", GOOF, 1.5),
        ("goofspiel(cards=4,turns=2,returns=win_loss)", GOOF, 1),
        ("goofspiel(cards=3,turns=2,points_order=ascending)", "bid 3, bid 2, bid 2, bid 3", -0.5),
        ("goofspiel(cards=3,turns=2,points_order=descending)", "bid 3, bid 3, bid 2, bid 2", 0),
    ],
)
def test_the_end_pays_what_the_rules_say(name: str, words: str, first: float) -> None:
    assert payoffs(name, words) == [first, -first]


def test_points_may_be_paid_as_they_are() -> None:
    assert payoffs("goofspiel(cards=4,turns=2,returns=total_points)", GOOF) == [4, 1]


def test_leduc_raises_end_at_the_cap_and_have_the_sizes_given() -> None:
    name = "leduc_poker(raise_sizes=3/5,raise_caps=1/2)"
    game, states = after(name, "deal Ks, deal Qs, raise")
    assert [game.action_text(states[0], a) for a in game.actions(states)[0]] == ["fold", "call"]
    assert payoffs(name, "deal Ks, deal Qs, raise, call, deal Jh, raise, raise, call") == [14, -14]
    assert game.payoff_range == (-14, 14)


def test_leduc_without_suits_deals_ranks_with_their_odds() -> None:
    game, states = after("leduc_poker(suits=3,suit_isomorphism=true)", "deal J, deal J, check, check")
    assert game.chance_probs(states, game.actions(states)).tolist() == [1 / 7, 3 / 7, 3 / 7]
