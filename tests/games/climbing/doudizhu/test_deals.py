"""Deals of DouDiZhu: what chance gives, what is drawn at once, and what is drawn again from one view."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from games import CHANCE, GameError, Infoset
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.multiset import count_ranks
from games.infosets import infoset_at
from games.infosets.check_sampling import chi_square_bound
from games.infosets.sampling import sample_infoset
from games.support.array_types import Rows
from tests.patience import amount


def walked(game: DouDizhu, n: int, rng: np.random.Generator) -> Rows:
    """Return n deals made of chance's steps."""
    states = np.repeat(game.root(), n)
    while (game.player(states) == CHANCE).any():
        actions = game.actions(states)
        probs = game.chance_probs(states, actions)
        total = np.cumsum(probs)
        picked = np.searchsorted(total, np.arange(n) + rng.random(n))
        states = game.step(states, np.arange(n), actions.values[picked])
    return states


@pytest.mark.parametrize("landlord", ["first", "bid"])
def test_chance_deals_as_a_shuffled_deck_does(landlord: str) -> None:
    game = DouDizhu(landlord=landlord, ranks=1)
    rng = np.random.default_rng(0)
    deals = game.sample_deals(20_000, rng)
    seen = Counter(state.tobytes() for state in deals)
    expected: dict[bytes, float] = {game.root()[0].tobytes(): 1.0}
    for _ in range(3):
        states = np.concatenate([np.frombuffer(name, game.root().dtype) for name in expected])
        actions = game.actions(states)
        share = np.array(list(expected.values()))[actions.rows] * game.chance_probs(states, actions)
        after = game.step(states, actions.rows, actions.values)
        expected = {state.tobytes(): float(part) for state, part in zip(after, share, strict=True)}
    assert set(seen) <= set(expected)
    cells = [(seen[name] - 20_000 * part) ** 2 / (20_000 * part) for name, part in expected.items()]
    assert sum(cells) <= chi_square_bound(len(cells) - 1)


def test_both_ways_to_deal_a_whole_deck_agree() -> None:
    game = DouDizhu()
    rng = np.random.default_rng(1)
    walk, deck = walked(game, 4000, rng), game.sample_deals(4000, rng)
    for field in ("hand", "bottom"):
        means = [count_ranks(states[field]).mean(0) for states in (walk, deck)]
        assert np.abs(means[0] - means[1]).max() < 0.12
    fours = [(count_ranks(states["hand"][:, 1]) == 4).mean() for states in (walk, deck)]
    assert abs(fours[0] - fours[1]) < 0.005


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


@pytest.mark.parametrize("options", [{}, {"landlord": "bid"}, {"ranks": 7}])
def test_histories_drawn_again_are_those_that_a_seat_cannot_tell_apart(options: dict[str, object]) -> None:
    game = DouDizhu(**options)  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    states = walked(game, amount(3, 2), rng)
    for step in range(45):
        if step % amount(6, 9) == 0:
            for state, player in ((state, player) for state in states for player in range(3)):
                infoset = infoset_at(game, state[None], player)
                lines = game.sample_histories(infoset, 5, rng)
                for row in range(5):
                    drawn = game.root()
                    for action in lines[row]:
                        drawn = game.step(drawn, np.zeros(1, np.int64), np.array([action]))
                    assert tuple(int(w) for w in game.infoset_key(drawn, player)[0]) == infoset.key
                    assert game.player(drawn)[0] == state["player"]
        states = states[game.player(states) >= 0]
        actions = game.actions(states)
        pick = actions.offsets[:-1] + (rng.random(len(states)) * actions.counts).astype(np.int64)
        states = game.step(states, np.arange(len(states)), actions.values[pick])


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


def test_search_draws_histories_from_any_infoset() -> None:
    game = DouDizhu()
    rng = np.random.default_rng(5)
    text = "P2 dealt 34567789TJJQKAA22 | bottom 3TR | play 3344 pass"
    with pytest.raises(GameError, match="combination"):
        game.parse_infoset(text)
    infoset = game.parse_infoset(text.replace("3344", "33").replace("pass", "pass"))
    found = sample_infoset(game, infoset, 20, rng)
    assert len(found.states) == 20
    assert (found.states["player"] == 2).all()


def test_an_infoset_that_no_deal_agrees_with_is_refused() -> None:
    game = DouDizhu()
    for text in (
        "P1 dealt 33334567789TJJQKA | bottom 4TR | play 3",
        "P1 dealt 3334567789TJJQKAA | bottom 34R | play 33",
        "P1 dealt 3334567789TJJQKA | bottom 4TR",
    ):
        with pytest.raises(GameError, match="deal must agree"):
            game.parse_infoset(text)


def test_a_seat_is_one_of_three() -> None:
    game = DouDizhu()
    with pytest.raises(GameError, match="a seat is"):
        game.infoset_key(game.root(), 3)
    assert isinstance(infoset_at(game, game.sample_deals(1, np.random.default_rng(0)), 2), Infoset)
