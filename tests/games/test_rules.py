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


@pytest.mark.parametrize(
    ("line", "first"),
    [("pass, pass", 1), ("bet, pass", 1), ("bet, bet", 2), ("pass, bet, pass", -1), ("pass, bet, bet", 2)],
)
def test_kuhn_pays_one_chip_or_two(line: str, first: float) -> None:
    assert payoffs("kuhn_poker", f"deal K, deal Q, {line}") == [first, -first]
    lower = first if line == "bet, pass" else -abs(first)
    assert payoffs("kuhn_poker", f"deal J, deal Q, {line}") == [lower, -lower]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("deal Js, deal Qs, check, check, deal Jh, check, check", 1),
        ("deal Js, deal Qs, check, check, deal Kh, check, check", -1),
        ("deal Js, deal Jh, raise, call, deal Kh, raise, raise, call", 0),
        ("deal Ks, deal Qs, raise, raise, call, deal Jh, raise, raise, call", 13),
        ("deal Ks, deal Qs, raise, fold", 1),
        ("deal Ks, deal Qs, raise, raise, fold", -3),
        ("deal Ks, deal Qs, raise, call, deal Qh, check, raise, fold", -3),
    ],
)
def test_leduc_pays_the_loser_s_chips(words: str, first: float) -> None:
    assert payoffs("leduc_poker", words) == [first, -first]


def test_leduc_raises_end_at_the_cap_and_have_the_sizes_given() -> None:
    name = "leduc_poker(raise_sizes=3/5,raise_caps=1/2)"
    game, states = after(name, "deal Ks, deal Qs, raise")
    assert [game.action_text(states[0], a) for a in game.actions(states)[0]] == ["fold", "call"]
    assert payoffs(name, "deal Ks, deal Qs, raise, call, deal Jh, raise, raise, call") == [14, -14]
    assert game.payoff_range == (-14, 14)


def test_leduc_without_suits_deals_ranks_with_their_odds() -> None:
    game, states = after("leduc_poker(suits=3,suit_isomorphism=true)", "deal J, deal J, check, check")
    assert game.chance_probs(states, game.actions(states)).tolist() == [1 / 7, 3 / 7, 3 / 7]


@pytest.mark.parametrize(
    ("name", "words", "first"),
    [
        ("liars_dice", "roll 3, roll 3, 2x3, liar", 1),
        ("liars_dice", "roll 3, roll 6, 2x3, liar", 1),
        ("liars_dice(wild=false)", "roll 3, roll 6, 2x3, liar", -1),
        ("liars_dice", "roll 6, roll 6, 2x6, liar", 1),
        ("liars_dice", "roll 1, roll 2, 1x2, 1x3, liar", 1),
        ("liars_dice", "roll 1, roll 3, 1x2, 1x3, liar", -1),
        ("liars_dice(dice=2,sides=3)", "roll 1, roll 3, roll 1, roll 2, 3x1, liar", 1),
        ("liars_dice(dice=2,sides=3)", "roll 1, roll 3, roll 1, roll 2, 4x1, liar", -1),
    ],
)
def test_a_bid_counts_both_players_dice(name: str, words: str, first: float) -> None:
    assert payoffs(name, words) == [first, -first]


def test_bidding_rules_order_the_bids() -> None:
    bids = {}
    for rule in ("reset-face", "reset-quantity"):
        game, states = after(f"liars_dice(sides=3,bidding={rule})", "roll 1, roll 1")
        bids[rule] = [game.action_text(states[0], a) for a in game.actions(states)[0]]
    assert bids["reset-face"] == ["1x1", "1x2", "1x3", "2x1", "2x2", "2x3"]
    assert bids["reset-quantity"] == ["1x1", "2x1", "1x2", "2x2", "1x3", "2x3"]


@pytest.mark.parametrize(
    ("name", "words", "wanted"),
    [
        ("goofspiel(cards=4,turns=2)", "prize 4, bid 3, bid 2, prize 3, bid 1, bid 1", [2, -2]),
        ("goofspiel(cards=4,turns=2)", "prize 4, bid 3, bid 2, prize 1, bid 1, bid 4", [1.5, -1.5]),
        (
            "goofspiel(cards=4,turns=2,returns=win_loss)",
            "prize 4, bid 3, bid 2, prize 1, bid 1, bid 4",
            [1, -1],
        ),
        (
            "goofspiel(cards=4,turns=2,returns=total_points)",
            "prize 4, bid 3, bid 2, prize 1, bid 1, bid 4",
            [4, 1],
        ),
        ("goofspiel(cards=3,turns=2,points_order=ascending)", "bid 3, bid 2, bid 2, bid 3", [-0.5, 0.5]),
        ("goofspiel(cards=3,turns=2,points_order=descending)", "bid 3, bid 2, bid 2, bid 3", [0.5, -0.5]),
        ("goofspiel(cards=3,turns=2,points_order=descending)", "bid 3, bid 3, bid 2, bid 2", [0, 0]),
        ("goofspiel(cards=3,turns=3,points_order=ascending)", "bid 3, bid 2, bid 1, bid 3", [1, -1]),
    ],
)
def test_the_higher_bid_takes_the_prize_and_equal_bids_discard_it(
    name: str, words: str, wanted: list[float]
) -> None:
    assert payoffs(name, words) == wanted


def test_a_turn_without_choice_is_played_by_itself() -> None:
    game, states = after("goofspiel(cards=2,turns=2)", "prize 2, bid 1, bid 2")
    assert game.player(states)[0] == TERMINAL
    assert game.state_text(states[0]).endswith("prize 1: P0 bid 2, P1 bid 1")


def test_player_1_does_not_see_the_bid_of_this_turn() -> None:
    game, states = after("goofspiel", "prize 3")
    bids = game.step(states, np.zeros(5, np.int64), np.arange(5))
    assert len(np.unique(game.infoset_key(bids, 1))) == 1
    assert len(np.unique(game.infoset_key(bids, 0))) == 5
