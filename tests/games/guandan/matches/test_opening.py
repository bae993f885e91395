"""The hands that rounds begin with: each a whole deal, each decided by seed and round alone."""

from __future__ import annotations

import numpy as np

from games.guandan.cards import DECK, unpack
from games.guandan.matches.lockstep import Matches
from games.guandan.matches.opening import AS_DRAWN, Opening, deal_round, mix_seeds


def test_every_round_of_every_seed_deals_the_whole_deck() -> None:
    seeds = np.arange(50, dtype=np.uint64)
    for number in (1, 2, 30):
        hands = unpack(deal_round(seeds, number))
        assert np.all(hands.sum(1) == DECK) and np.all(hands.sum(2) == 27)
    first, second = deal_round(seeds, 1), deal_round(seeds, 2)
    assert len(np.unique(np.concatenate([first, second]).reshape(100, 8), axis=0)) == 100


def test_matches_are_dealt_what_their_seeds_say_unless_hands_are_given() -> None:
    seeds = np.arange(8, dtype=np.uint64)
    drawn = Matches(seeds, opening=AS_DRAWN)
    assert np.array_equal(drawn.states["hand"], deal_round(seeds, 1))
    given = unpack(deal_round(seeds + np.uint64(100), 7))
    matches = Matches(seeds, opening=Opening(given[:, None], first=2))
    assert np.array_equal(unpack(matches.states["hand"]), given)
    assert np.all(matches.states["first"] == 2) and not np.any(drawn.states["first"] > 3)


def test_mixed_seeds_are_splitmix64s() -> None:
    """The first output of SplitMix64 for the seed 1234567, from Vigna's reference implementation in C."""
    assert int(mix_seeds(np.array([1234567], np.uint64))[0]) == 6457827717110365317
