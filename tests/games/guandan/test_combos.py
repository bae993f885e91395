"""The order of combinations: transitive, antisymmetric, as the rulings and the slow reference have it."""

from __future__ import annotations

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import ACTION, NUM_RANKS, RANKS, TYPE_NAMES, as_level, pack
from games.guandan.combos import BOMB_CLASS, beats, strength
from games.guandan.notation import parse_action
from games.guandan.rounds.playout import legal_moves
from tests.games.guandan.positions import cards_of, names, random_hand
from tests.reference.guandan import guandan_moves as reference


def some_actions(rng: np.random.Generator, level: int, n: int) -> np.ndarray:
    """Return n actions of many hands, types drawn first so that rare ones are common."""
    hands = pack(np.array([random_hand(rng, level, k % 3, 24) for k in range(40)]))
    moves = np.unique(legal_moves(hands, level).values)
    kinds = rng.choice(np.unique(moves["type"]), n)
    return np.concatenate([rng.choice(moves[moves["type"] == kind], 1) for kind in kinds])


@pytest.mark.parametrize("level", range(NUM_RANKS))
@pytest.mark.some(4)
def test_beats_is_antisymmetric_and_transitive_and_agrees_with_the_reference(level: int) -> None:
    rng = np.random.default_rng(level)
    actions = some_actions(rng, level, 60)
    table = np.array([beats(a, actions, level) for a in actions])
    assert not np.any(table & table.T)
    assert not np.any((table.astype(int) @ table > 0) & ~table)
    moves = [(TYPE_NAMES[a["type"]], RANKS[a["rank"]], tuple(names(cards_of(a)))) for a in actions]
    expected = [[reference.beats(a, b, RANKS[level]) for b in moves] for a in moves]
    assert np.array_equal(table, expected)
    # what neither beats is a tie of one strength, or two ordinary types
    power = strength(actions, level).astype(int)
    ordinary, kind = power >> 8 < BOMB_CLASS, power >> 8
    apart = ordinary[:, None] & ordinary & (kind[:, None] != kind)
    assert np.array_equal(~table & ~table.T, (power[:, None] == power) | apart)


@pytest.mark.parametrize(
    ("level", "strong", "weak"),
    [
        ("2", "Single 2 S2", "Single A SA"),
        ("2", "Single R HR", "Single B SB"),
        ("5", "Pair 5 S5 D5", "Pair A SA DA"),
        ("5", "Pair B SB SB", "Pair 5 S5 D5"),
        ("5", "Straight 2 S2 S3 S4 S5 D6", "Straight A SA S2 S3 S4 D5"),
        ("A", "Straight T ST SJ SQ SK DA", "Straight 9 S9 ST SJ SQ DK"),
        ("9", "ThreePair Q SQ DQ SK DK SA DA", "ThreePair 9 S9 D9 ST DT SJ DJ"),
        ("2", "TwoTrips 2 S2 D2 C2 S3 D3 C3", "TwoTrips A SA DA CA S2 D2 C2"),
        ("2", "ThreeWithTwo 2 S2 D2 C2 S3 D3", "ThreeWithTwo A SA DA CA SB SB"),
        ("2", "Bomb 3 S3 C3 D3 H3", "Straight T ST SJ SQ SK DA"),
        ("2", "Bomb 3 S3 C3 D3 H3 S3", "Bomb A SA CA DA HA"),
        ("2", "StraightFlush A SA S2 S3 S4 S5", "Bomb A SA CA DA HA SA"),
        ("2", "Bomb 3 S3 C3 D3 H3 S3 C3", "StraightFlush T ST SJ SQ SK SA"),
        ("2", "FourKings B SB SB HR HR", "Bomb A SA SA CA CA DA DA HA HA H2 H2"),
        ("7", "Bomb 7 S7 C7 D7 H7", "Bomb A SA CA DA HA"),
    ],
)
def test_rulings_on_order(level: str, strong: str, weak: str) -> None:
    a, b = parse_action(strong, level), parse_action(weak, level)
    assert beats(a, b, as_level(level))[0] and not beats(b, a, as_level(level))[0]


def test_suits_never_decide_and_a_pass_beats_nothing() -> None:
    spades, diamonds = (parse_action(f"Pair 5 {cards}", "2") for cards in ("S5 S5", "D5 D5"))
    rest = np.zeros(1, ACTION)
    for a, b in ((spades, diamonds), (diamonds, spades), (rest, spades), (rest, rest)):
        assert not beats(a, b, 0)[0]
    assert strength(spades, 0)[0] == strength(diamonds, 0)[0] and beats(spades, rest, 0)[0]


def test_types_ranks_and_levels_that_do_not_exist_are_refused() -> None:
    single = parse_action("Single 3 S3", "2")
    with pytest.raises(GameError, match="a level is a rank code"):
        strength(single, 13)
    for field, value in (("type", 11), ("rank", 15)):
        wrong = single.copy()
        wrong[field] = value
        with pytest.raises(GameError, match=f"the {field} of an action"):
            strength(wrong, 0)
