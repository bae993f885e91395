"""Tribute and return cards are judged by the value of the hands that they leave."""

from __future__ import annotations

import numpy as np
import pytest

from games.guandan.cards import CARD_NAMES, unpack
from games.guandan.matches.tribute import return_options, tribute_options
from gs2.guandan.review.game_files import parse_game
from gs2.guandan.review.judging_cards import judge_cards
from gs2.guandan.review.reviewing import load_reviewer
from tests.gs2.guandan.review.spoken import record_text

WORTH = np.random.default_rng(5).normal(size=len(CARD_NAMES))


class Likes:
    """Values a hand by what each of its cards is worth."""

    name, sees_all = "likes", False

    def views(self, states, rows, seats):
        hands = unpack(states["hand"][rows, seats].reshape(len(rows), -1)).astype(float)
        return hands @ WORTH


def rounds_with_tribute():
    for seed in range(6):
        for played in parse_game(record_text(seed, 4)).rounds:
            if played.tributes:
                yield played


def test_each_choice_of_a_card_is_judged_once_and_the_best_card_is_the_one_least_liked():
    checked = backs = 0
    for played in rounds_with_tribute():
        found = {(card.seat, card.back): card for card in judge_cards(played, Likes())}
        hands = unpack(played.start["hand"][0]).astype(int)
        for giver, taker, name in played.returns:
            hand = hands[giver].copy()
            hand[CARD_NAMES.index(name)] += 1
            received = next(card for one, other, card in played.tributes if (one, other) == (taker, giver))
            options = return_options(
                _packed(hand), played.start["level"], np.array([CARD_NAMES.index(received)], np.uint8)
            )[0]
            card = found.pop((giver, True), None)
            assert (card is None) == (options.sum() < 2)
            if card is not None:
                liked = np.where(options, WORTH, np.inf)
                assert card.choices == options.sum()
                assert CARD_NAMES[card.given] == name
                assert card.best == (card.given if liked[card.given] <= liked.min() else liked.argmin())
                assert card.loss == pytest.approx(WORTH[card.given] - liked.min())
                backs += 1
        for giver, taker, name in played.tributes:
            hand = hands[giver].copy()
            hand[CARD_NAMES.index(name)] += 1
            back = next(card for one, other, card in played.returns if (one, other) == (taker, giver))
            hand[CARD_NAMES.index(back)] -= 1
            options = tribute_options(_packed(hand), played.start["level"])[0]
            card = found.pop((giver, False), None)
            assert (card is None) == (options.sum() < 2)
            checked += 1
        assert not found
    assert checked > 5
    assert backs > 5


def _packed(hand):
    from games.guandan.cards import pack

    return pack(hand[None].astype(np.uint8))


def test_a_seat_whose_hand_is_not_known_is_not_judged():
    from dataclasses import replace

    for played in rounds_with_tribute():
        givers = {giver for giver, *_ in played.tributes + played.returns}
        hidden = replace(played, known=tuple(seat not in givers for seat in range(4)))
        assert judge_cards(hidden, Likes()) == []


def test_a_review_says_what_cards_lost_for_each_player():
    reviewer = load_reviewer("fast")
    text = next(
        record_text(seed, 2) for seed in range(9) if parse_game(record_text(seed, 2)).rounds[1].tributes
    )
    review = reviewer.review(parse_game(text), rounds=[2])
    cards = review.rounds[0].cards
    assert all(card.loss >= 0 for card in cards)
    for player in review.players:
        assert player.cards == pytest.approx(sum(card.loss for card in cards if card.seat == player.seat))
