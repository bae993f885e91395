"""Cards, packed multisets, hands in words."""

from __future__ import annotations

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import (
    ACTION,
    CARD_NAMES,
    DECK,
    HR,
    SB,
    as_level,
    hand_text,
    level_order,
    make_actions,
    pack,
    parse_cards,
    unpack,
)


def test_card_indices_are_those_of_danzero() -> None:
    assert CARD_NAMES[:5] == ("H2", "S2", "C2", "D2", "H3")
    assert CARD_NAMES[48:] == ("HA", "SA", "CA", "DA", "SB", "HR")
    assert CARD_NAMES[SB] == "SB" and CARD_NAMES[HR] == "HR" and DECK.sum() == 108


def test_packing_and_unpacking_are_inverse_and_addition_adds_cards() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (200, 54))
    assert np.array_equal(unpack(pack(counts)), counts)
    part = rng.integers(0, counts + 1)
    assert np.array_equal(pack(counts) - pack(part), pack(counts - part))
    assert np.array_equal(pack(part) + pack(counts - part), pack(counts))


def test_packing_refuses_counts_that_two_decks_cannot_hold() -> None:
    with pytest.raises(GameError, match="0, 1 or 2 times"):
        pack(np.full(54, 3))
    with pytest.raises(GameError, match="0, 1 or 2 times"):
        pack(np.full(54, -1))
    with pytest.raises(GameError, match="54 entries"):
        pack(np.zeros(52))


def test_an_action_array_is_also_words() -> None:
    counts = parse_cards("S6 D6")
    action = make_actions([2], [4], counts[None])
    words = action.view(np.uint64).reshape(-1, 3)
    assert np.concatenate([action, action]).dtype == ACTION and np.stack([action, action]).dtype == ACTION
    assert ACTION.itemsize == 24 and words.shape == (1, 3)
    assert words[0, 0] == 2 | 4 << 8 | 2 << 16 and words[0, 1] == pack(counts)[0]


@pytest.mark.parametrize(
    "text", ["H2 ST SB HR H2", "h2,st,sb,hr,h2", "H2STSBHRH2", "['H2', 'S10', 'SB', 'HR', 'H2']"]
)
def test_hands_are_read_in_every_usual_spelling(text: str) -> None:
    counts = parse_cards(text)
    assert counts.sum() == 5 and counts[0] == 2 and counts[SB] == counts[HR] == 1
    assert np.array_equal(parse_cards(["H2", "ST", "SB", "HR", "H2"]), counts)


def test_hands_are_printed_by_the_levels_order_then_s_h_c_d() -> None:
    counts = parse_cards("HR SB D2 C2 H2 S2 SA ST H9 H2")
    assert hand_text(counts, as_level("2")) == "H9 ST SA S2 H2 H2 C2 D2 SB HR"
    assert hand_text(counts, as_level("9")) == "S2 H2 H2 C2 D2 ST SA H9 SB HR"
    assert np.array_equal(parse_cards(hand_text(counts)), counts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("H1", "got 'H1'"),
        ("HB", "got 'HB'"),
        ("H2 X", "got 'X'"),
        ("H2 H2 H2", "H2 a third time"),
        (" ".join(CARD_NAMES[:28]), "at most 27 cards here; got 28"),
    ],
)
def test_hands_that_are_none_are_refused(text: str, message: str) -> None:
    with pytest.raises(GameError, match=message):
        parse_cards(text)


def test_a_level_is_read_by_name_or_code_and_nothing_else() -> None:
    assert [as_level(name) for name in ("2", "10", "T", "a", 12)] == [0, 8, 8, 12, 12]
    for wrong in ("1", "", "B", 13, -1, None, True, 2.0):
        with pytest.raises(GameError, match="a level is one of 2, 3"):
            as_level(wrong)  # type: ignore[arg-type]


def test_the_level_stands_between_the_ace_and_the_jokers() -> None:
    for level in range(13):
        order = level_order(level)
        assert sorted(order) == list(range(15))
        assert order[level] == 12 and order[13] == 13 and order[14] == 14
        others = [order[r] for r in range(13) if r != level]
        assert others == sorted(others)
