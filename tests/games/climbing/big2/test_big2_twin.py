"""The kernels list, play and pay as the slow twin does, under every option."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from games.climbing.big2.big2 import Big2
from games.climbing.big2.combinations import NO_PLAY, PLAY_KINDS, play_head, play_kinds
from tests.games.climbing.big2.boards import VARIANTS, as_names, play_beside, same_round
from tests.patience import amount
from tests.reference.big2 import KINDS, Table


def compare_rounds(options: dict[str, Any], rng: np.random.Generator, positions: int) -> int:
    """Play random rounds beside the slow twin until so many positions were compared; return how many."""
    game = Big2(**options)
    compared = 0
    while compared < positions:
        states = game.sample_deals(1, rng)
        twin = play_beside(game, options, states[0])
        while twin.turn is not None:
            same_round(game, states[0], twin)
            actions = game.actions(states)[0]
            named = [as_names(game, action) for action in actions]
            assert len(set(named)) == len(named)
            assert set(named) == twin.moves()
            compared += 1
            # passes are rarer and long plays likelier than among all actions alike, so that all sizes are met
            weight = np.array([0.5 if not cards else len(cards) ** 2 for cards in named], float)
            taken = int(rng.choice(len(named), p=weight / weight.sum()))
            states = game.step(states, np.zeros(1, np.int64), actions[taken : taken + 1])
            twin.play(named[taken])
        same_round(game, states[0], twin)
        assert game.returns(states)[0].tolist() == twin.payoffs()
    return compared


@pytest.mark.parametrize("number", range(len(VARIANTS)))
@pytest.mark.some(3)
def test_rounds_go_as_the_slow_twin_plays_them(number: int) -> None:
    compare_rounds(VARIANTS[number], np.random.default_rng([1, number]), amount(150, 50))


@pytest.mark.long
def test_a_hundred_thousand_positions_have_the_slow_twins_actions() -> None:
    total = 0
    for number, options in enumerate(VARIANTS):
        total += compare_rounds(options, np.random.default_rng([2, number]), 12_500)
    assert total >= 100_000


@pytest.mark.parametrize("number", range(4))
def test_any_cards_are_what_the_slow_twin_takes_them_for(number: int) -> None:
    options = VARIANTS[number]
    game, table = Big2(**options), Table(**options)
    rng = np.random.default_rng([3, number])
    masks = []
    for _ in range(1500):
        # a few ranks or a suit only, so that combinations are met
        some = rng.permutation(game.rules.deck[rng.integers(0, 2) :: rng.choice([1, 4])])
        some = some[np.isin(some >> 2, rng.choice(13, int(rng.integers(2, 8)), replace=False))]
        masks.append(sum(1 << int(card) for card in some[: rng.integers(1, 7)]))
    codes = play_kinds(np.array(masks, np.uint64), game._book)
    sizes = {1: "single", 2: "pair", 3: "triple"}
    for mask, code in zip(masks, codes, strict=True):
        cards = as_names(game, mask)
        worth = table.worth(cards)
        if worth is None or not cards:
            assert code == (NO_PLAY if cards else 0)
        else:
            assert PLAY_KINDS[code] == (KINDS[worth[0]] if len(cards) == 5 else sizes[len(cards)])


def test_the_whole_deck_has_the_published_number_of_plays() -> None:
    # Tan et al. 2024, table 13
    from games.climbing.big2.candidates import MOST_PLAYS, list_plays

    game = Big2()
    out = np.empty(MOST_PLAYS, np.int64)
    count = list_plays(game.words.whole, 0, 0, game._book, out, 0)
    codes = play_kinds(out[:count].view(np.uint64), game._book)
    found = dict(zip(PLAY_KINDS, np.bincount(codes, minlength=len(PLAY_KINDS)).tolist(), strict=True))
    assert found == {
        "pass": 0,
        "single": 52,
        "pair": 78,
        "triple": 52,
        "straight": 10_200,
        "flush": 5_108,
        "full house": 3_744,
        "four and one": 624,
        "straight flush": 40,
        "deal": 0,
    }
    assert len(np.unique(out[:count])) == count


@pytest.mark.parametrize(
    ("straights", "rising"),
    [
        ("poker", "A2345 23456 34567 9TJQK TJQKA"),
        ("twos", "34567 9TJQK TJQKA 23456 A2345"),
        ("plain", "34567 9TJQK TJQKA"),
        ("ladder", "34567 9TJQK TJQKA JQKA2"),
    ],
)
def test_straights_rise_as_the_rules_say(straights: str, rising: str) -> None:
    game = Big2(straights=straights)
    rows = rising.split()
    heads = []
    for ranks in rows:
        decider = "2" if straights == "twos" and "2" in ranks else ranks[-1]
        for suit, others in (("D", "S"), ("S", "D")):  # its suit decides between straights of one rank
            cards = " ".join((suit if rank == decider else others) + rank for rank in ranks)
            heads.append(play_head(game.words.read_play(cards), game._book))
    assert sorted(heads) == heads and len(set(heads)) == 2 * len(rows)
    missing = {"A2345", "23456", "JQKA2"} - set(rows)
    for ranks in missing:
        cards = " ".join(suit + rank for suit, rank in zip("DCHSD", ranks, strict=True))
        assert play_head(game.words.read_play(cards), game._book) == NO_PLAY


def test_kinds_of_five_cards_rise_and_flushes_go_by_rank_or_suit() -> None:
    plays = ["S9 DT SJ SQ SK", "D3 D5 D7 D9 DJ", "D3 C3 H3 D4 C4", "D3 C3 H3 S3 D4", "D3 D4 D5 D6 D7"]
    for flushes in ("rank", "suit"):
        game = Big2(flushes=flushes)
        heads = [play_head(game.words.read_play(cards), game._book) for cards in plays]
        assert sorted(heads) == heads and len(set(heads)) == 5
        high_diamonds, low_spades = (
            play_head(game.words.read_play(cards), game._book)
            for cards in ("D4 D5 D7 D9 DA", "S4 S5 S7 S9 SJ")
        )
        assert (high_diamonds > low_spades) == (flushes == "rank")
