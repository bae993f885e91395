"""How a round goes: the opening, tricks, bombs, payoffs; and that nothing breaks in random play."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from games import TERMINAL, GameError
from games.climbing.big2.big2 import Big2
from tests.games.climbing.big2.boards import VARIANTS
from tests.patience import amount

HANDS = (
    "D3 H3 C5 D6 H6 S6 H7 D8 S9 DJ HQ CK D2",
    "C3 S3 D4 C4 H4 S4 C6 C8 SJ SQ HK HA C2",
    "D5 H5 S5 C7 S7 H8 D9 HT ST CJ DQ DK H2",
    "D7 S8 C9 H9 DT CT HJ CQ SK DA CA SA S2",
)
"""A deal in which seat 1 has four of a kind."""
BIT_COUNT = np.array([bin(byte).count("1") for byte in range(256)])


def after(game: Big2, *words: str, hands: tuple[str, ...] = HANDS) -> np.ndarray:
    """Return the state after these plays, each checked to be legal."""
    states = game.with_hands([list(hands)])
    for word in words:
        action = game.words.read_play(word)
        game.check_play(states, action)
        states = game.step(states, np.zeros(1, np.int64), np.array([action], np.uint64))
    return states


def legal(game: Big2, states: np.ndarray) -> set[str]:
    """Return the actions of a state in words."""
    return {game.action_text(states[0], action) for action in game.actions(states)[0]}


def test_the_three_of_diamonds_leads_and_is_in_the_first_play() -> None:
    game = Big2()
    states = after(game)
    assert game.player(states)[0] == 0
    assert "D3" in legal(game, states) and "D3 H3" in legal(game, states)
    assert all("D3" in word for word in legal(game, states))
    clubs = Big2(suit_order="cdhs")
    states = after(clubs)
    assert clubs.player(states)[0] == 1
    assert all("C3" in word for word in legal(clubs, states))


def test_the_holder_may_lead_anything_and_seat_0_where_the_rules_say_so() -> None:
    game = Big2(opening="holder", suit_order="cdhs")
    assert game.player(after(game))[0] == 1 and "S4" in legal(game, after(game))
    game = Big2(opening="first", suit_order="cdhs")
    assert game.player(after(game))[0] == 0 and "D2" in legal(game, after(game))


def test_a_trick_goes_to_the_last_who_played_and_who_passed_may_come_back() -> None:
    game = Big2()
    states = after(game, "D3", "pass", "D5", "D7", "D8", "C2")
    assert game.player(states)[0] == 2
    states = after(game, "D3", "pass", "D5", "D7", "D8", "C2", "pass", "pass", "pass")
    assert game.player(states)[0] == 1
    assert "pass" not in legal(game, states) and "D4 C4 H4 S4 C3" not in legal(game, states)
    assert "C3 D4 C4 H4 S4" in legal(game, states)


def test_who_passes_stays_out_until_the_next_lead_where_the_rules_say_so() -> None:
    game = Big2(stays_out=True)
    states = after(game, "D3", "pass", "D5", "D7", "D8")
    assert game.player(states)[0] == 2
    states = after(game, "D3", "pass", "D5", "D7", "D8", "pass", "pass")
    assert game.player(states)[0] == 0
    assert legal(game, states) == {"H3", "C5", "D6", "H6", "S6", "H7", "S9", "DJ", "HQ"} | {
        *("CK", "D2", "D6 H6", "D6 S6", "H6 S6", "D6 H6 S6"),
    }


@pytest.mark.parametrize(("bombs", "beaten"), [("none", False), ("quads", True), ("both", True)])
def test_four_of_a_kind_and_a_card_beat_other_sizes_where_they_are_bombs(bombs: str, beaten: bool) -> None:
    game = Big2(bombs=bombs)
    assert ("C3 D4 C4 H4 S4" in legal(game, after(game, "D3"))) == beaten


def test_everyone_plays_who_can_where_the_rules_say_so() -> None:
    game = Big2(must_play=True)
    assert "pass" not in legal(game, after(game, "D3"))
    states = after(game, "D3", "C2", "H2", "S2")
    assert legal(game, states) == {"pass"}


def finished(game: Big2, left: tuple[int, ...]) -> np.ndarray:
    """Return a finished round in which the seats hold so many cards."""
    states = game.sample_deals(1, np.random.default_rng(0))
    states["player"] = TERMINAL
    states["owner"] = left.index(0)
    states["hand"] = [[(1 << n) - 1 for n in left]]
    return states


@pytest.mark.parametrize(
    ("options", "left", "payoffs"),
    [
        ({}, (0, 5, 10, 13), (28, -5, -10, -13)),
        ({"double_from": 10}, (5, 0, 9, 10), (-5, 34, -9, -20)),
        ({"double_from": 10, "triple_from": 13}, (12, 13, 0, 1), (-24, -39, 64, -1)),
        ({"settling": "pairs"}, (0, 1, 2, 3), (6, 2, -2, -6)),
        ({"settling": "pairs", "double_from": 10}, (0, 10, 1, 1), (22, -58, 18, 18)),
    ],
)
def test_losers_pay_for_their_cards(
    options: dict[str, Any], left: tuple[int, ...], payoffs: tuple[float, ...]
) -> None:
    game = Big2(**options)
    assert game.returns(finished(game, left))[0].tolist() == list(payoffs)


def test_payoffs_are_zero_while_play_goes_on() -> None:
    game = Big2()
    assert game.returns(after(game, "D3"))[0].tolist() == [0.0] * 4


def cards_in(masks: np.ndarray) -> np.ndarray:
    """Return how many cards each mask holds."""
    return BIT_COUNT[np.ascontiguousarray(masks).view(np.uint8).reshape(*masks.shape, 8)].sum(-1)


def broken_invariant(game: Big2, states: np.ndarray) -> str | None:
    """Return the first rule that some dealt state of a batch breaks, None if none does."""
    rules, seats = game.rules, game.num_players
    hand, played = states["hand"], states["played"]
    everything = np.bitwise_or.reduce(hand | played, axis=1)
    over = states["player"] == TERMINAL
    own = cards_in(hand)[:, :seats]
    went = states["went"]
    line = np.zeros((len(states), 4), np.uint64)
    for card in range(52):
        for seat in range(4):
            here = (went[:, card] > 0) & (went[:, card] >> 6 == seat)
            line[:, seat] |= here.astype(np.uint64) << np.uint64(card)
    payoffs = game.returns(states)
    rows = np.arange(len(states))
    rules_kept = {
        "nobody plays a card that it still holds": not np.any(hand & played),
        "every seat was dealt a whole hand": np.all(cards_in(hand | played)[:, :seats] == rules.hand),
        "no card is in two hands": np.all(cards_in(everything) == seats * rules.hand),
        "cards are of the deck": not np.any(everything & ~np.uint64(game.words.whole)),
        "the record of the line has the cards played": np.array_equal(line, played),
        "a round ends when somebody is out of cards": np.array_equal((own == 0).sum(1) == 1, over),
        "nobody is out of cards before": np.all((own == 0).sum(1) == over),
        "the last who played wins": np.all(own[rows[over], states["owner"][over]] == 0),
        "somebody acts until the end": np.all(over | (states["player"] >= 0) & (states["player"] < seats)),
        "what lies there was played": not np.any(
            states["beat"] & ~played[rows, states["owner"] & 3] & ~np.uint64(0)
        ),
        "payoffs sum to zero": np.all(payoffs.sum(1) == 0),
        "payoffs lie in the range": payoffs.min() >= game.payoff_range[0]
        and payoffs.max() <= game.payoff_range[1],
        "the winner alone gains where losers pay it": rules.settling == "pairs"
        or np.array_equal((payoffs > 0).sum(1) == 1, over),
    }
    return next((rule for rule, kept in rules_kept.items() if not kept), None)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_no_invariant_breaks_at_any_step_of_random_play(options: dict[str, Any]) -> None:
    game, rng = Big2(**options), np.random.default_rng(4)
    states = game.sample_deals(amount(80, 25), rng)
    while len(states):
        assert broken_invariant(game, states) is None
        states = states[game.player(states) != TERMINAL]
        actions = game.actions(states)
        pick = actions.offsets[:-1] + (rng.random(len(states)) * actions.counts).astype(np.int64)
        states = game.step(states, np.arange(len(states)), actions.values[pick])


def play_many(rounds: int, seed: int) -> int:
    """Return the decisions of so many random rounds, over all variants, none with a broken invariant."""
    decisions = 0
    for number, options in enumerate(VARIANTS):
        game, rng = Big2(**options), np.random.default_rng([seed, number])
        batch = min(5000, rounds // len(VARIANTS))
        for _ in range(rounds // len(VARIANTS) // batch):
            ends, taken = game.played_out(game.sample_deals(batch, rng), rng)
            assert np.all(game.player(ends) == TERMINAL)
            assert broken_invariant(game, ends) is None
            assert np.all(taken >= ends["plays"])
            decisions += int(taken.sum())
    return decisions


def test_random_rounds_end_well() -> None:
    rounds = amount(40_000, 8_000)
    assert play_many(rounds, 5) > 10 * rounds


@pytest.mark.long
def test_a_million_random_rounds_end_well() -> None:
    assert play_many(1_000_000, 6) > 10_000_000


def test_the_same_seed_plays_the_same_rounds() -> None:
    game = Big2()
    ends = [
        game.played_out(game.sample_deals(50, rng), rng)
        for rng in (np.random.default_rng(7) for _ in range(2))
    ]
    assert ends[0][0].tobytes() == ends[1][0].tobytes()
    assert np.array_equal(ends[0][1], ends[1][1])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "big2: 0x0 is not an action of seat 0"),
        (("D3", "pass", "pass", "pass", "H3 C5"), "not an action of seat 0"),
        (("D3", "D5"), "not an action of seat 1"),
    ],
)
def test_what_cannot_be_done_is_refused(words: tuple[str, ...], complaint: str) -> None:
    game = Big2()
    states = after(game, *words[:-1])
    action = game.words.read_play(words[-1]) if words else 0
    with pytest.raises(GameError, match=complaint):
        game.step(states, np.zeros(1, np.int64), np.array([action], np.uint64))


def test_a_play_that_does_not_beat_is_refused_when_asked() -> None:
    game = Big2()
    with pytest.raises(GameError, match="D5 is not legal for seat 2; 11 actions are"):
        game.check_play(after(game, "D3", "C6"), game.words.read_play("D5"))


def test_a_finished_round_and_a_wrong_deal_are_refused() -> None:
    game = Big2(players=2, ranks=2, suits=1)
    states = after(game, "D3", hands=("D3", "D4"))
    with pytest.raises(GameError, match="the round is over"):
        game.step(states, np.zeros(1, np.int64), np.array([1], np.uint64))
    for hands, complaint in (
        (["D3", "D3"], "a card must be in one hand"),
        (["D3", "D5"], "a card must be a suit of D and a rank"),
        (["D3", "D3 D4"], "a hand must have 1 cards of the deck of 2"),
        (["D3", "D4", "D4"], "hands must be"),
    ):
        with pytest.raises(GameError, match=complaint):
            game.with_hands([hands])
    with pytest.raises(GameError, match="at least 0; got -1"):
        game.sample_deals(-1, np.random.default_rng(0))
