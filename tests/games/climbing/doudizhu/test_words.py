"""Words of DouDiZhu, written and read back; deals, and hidden cards drawn again from one view."""

from __future__ import annotations

import numpy as np
import pytest

from games import GameError
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.multiset import RANK_LETTERS, cards_text, count_ranks, read_multiset
from games.climbing.doudizhu.round_state import CALLS


def test_multisets_are_packed_and_written_and_read_back() -> None:
    rng = np.random.default_rng(0)
    counts = np.concatenate([rng.integers(0, 5, (50, 13)), rng.integers(0, 2, (50, 2))], axis=1)
    packed = [read_multiset("".join(np.repeat(list(RANK_LETTERS), row)[::-1])) for row in counts]
    assert np.array_equal(count_ranks(packed), counts)
    assert [read_multiset(cards_text(cards)) for cards in packed] == packed


def test_a_deal_and_an_auction_in_words() -> None:
    game = DouDizhu(landlord="bid", ranks=1)
    state, said = game.root(), []
    for at in (3, 1, 0):
        action = game.actions(state).values[at]
        said.append(game.action_text(state[0], action))
        state = game.step(state, np.zeros(1, np.int64), np.array([action]))
    assert said == ["3: 0/0/1, 3 below", "B: 0/1/0", "R: 1/0/0"]
    assert game.state_text(state) == "P0 dealt R | P1 dealt B | P2 dealt 3 | bottom 333"
    for call in (0, 2, 0, 0):
        state = game.step(state, np.zeros(1, np.int64), np.array([CALLS + call]))
    assert game.infoset_text(state[0], 2) == "P2 dealt 3 | bottom 333 | calls pass 2 pass pass"
    assert game.infoset_text(state, 1) == "P1 dealt B | bottom 333 | calls pass 2 pass pass"
    assert game.action_text(game.root(), np.int64(CALLS + 1)) == "call 1"


def test_bottom_cards_are_hidden_until_there_is_a_landlord() -> None:
    game = DouDizhu(landlord="bid")
    deals = game.sample_deals(2, np.random.default_rng(2))
    assert "bottom" not in game.infoset_text(deals[0], 0)
    other = deals[:1].copy()
    # the next seat's first card for one of the bottom
    low = int(other["hand"][0, 1]) & -int(other["hand"][0, 1])
    rank = (low.bit_length() - 1) // 4
    there = next(r for r in range(15) if int(other["bottom"][0]) >> 4 * r & 15 and r != rank)
    other["hand"][0, 1] = int(other["hand"][0, 1]) + (1 << 4 * there) - (1 << 4 * rank)
    other["bottom"][0] = int(other["bottom"][0]) - (1 << 4 * there) + (1 << 4 * rank)
    for player, same in ((0, True), (1, False), (2, True)):
        keys = [game.infoset_key(states, player)[0].tolist() for states in (deals[:1], other)]
        assert (keys[0] == keys[1]) == same


def test_hidden_cards_are_drawn_as_often_as_chance_has_them() -> None:
    # With four unknown 3s of which the landlord is known to have held one, one more is likelier with it than
    # a fresh deal of the others would say: all four of the deal count, not the three unseen ones.
    game = DouDizhu(ranks=4)
    rng = np.random.default_rng(4)
    infoset = game.parse_infoset("P1 dealt 44556 | bottom 66R | play 3")
    lines = game.sample_histories(infoset, 20_000, rng)
    first = lines.values.reshape(20_000, -1)[:, 0] - 27_476
    ours = np.bincount(first % 5, minlength=5) / 20_000
    # by hand: of 10 unknown cards, four 3s, 5 go to the landlord
    ways = np.array([0.0] + [[1, 4, 6, 4, 1][k] * [1, 6, 15, 20, 15, 6][5 - k] for k in range(1, 5)])
    assert np.abs(ours - ways / ways.sum()).max() < 0.015


def test_an_infoset_that_no_deal_agrees_with_is_refused() -> None:
    game = DouDizhu()
    for text in (
        "P1 dealt 33334567789TJJQKA | bottom 4TR | play 3",
        "P1 dealt 3334567789TJJQKAA | bottom 34R | play 33",
    ):
        with pytest.raises(GameError, match="deal must agree"):
            game.parse_infoset(text)


def test_a_hand_or_a_bottom_that_no_seat_is_dealt_is_refused() -> None:
    for text in (
        "P1 dealt 33345 | bottom 44",
        "P1 dealt 3334 | bottom 456",
        "P1 dealt 333456 | bottom 456",
        "P1 dealt 33345K | bottom 456",
        "P1 dealt 33345 | bottom 456K",
    ):
        with pytest.raises(
            GameError, match=r"must be dealt 5 cards of 3456BR, and the bottom 3; got '.*; name"
        ):
            DouDizhu(ranks=4).parse_infoset(text)
