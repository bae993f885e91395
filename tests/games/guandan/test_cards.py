"""Cards, moves in words, and the order of combinations: read back as printed, and as the rulings have it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import (
    ACTION,
    CARD_NAMES,
    DECK,
    HR,
    NUM_RANKS,
    RANKS,
    SB,
    TYPE_NAMES,
    as_level,
    hand_text,
    make_actions,
    pack,
    parse_cards,
    unpack,
)
from games.guandan.combos import BOMB_CLASS, beats, strength
from games.guandan.notation import action_list, action_text, parse_action
from games.guandan.rounds.playout import legal_moves
from tests.games.guandan.positions import cards_of, names, random_hand
from tests.patience import amount
from tests.reference.guandan import guandan_moves as reference


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


@pytest.mark.parametrize(
    ("counts", "message"),
    [(np.full(54, 3), "0, 1 or 2"), (np.full(54, -1), "0, 1 or 2"), (np.zeros(52), "54 entries")],
)
def test_packing_refuses_counts_that_two_decks_cannot_hold(counts: np.ndarray, message: str) -> None:
    with pytest.raises(GameError, match=message):
        pack(counts)


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
        with pytest.raises(GameError, match="a level must be one of 2, 3"):
            as_level(wrong)  # type: ignore[arg-type]


def test_every_move_reads_back_as_itself() -> None:
    rng = np.random.default_rng(0)
    read, hands = 0, amount(120, 13)
    for k in range(hands):
        level = k % 13
        moves = legal_moves(pack(random_hand(rng, level, k % 3, 16)), level)[0]
        texts = [action_text(move, level) for move in moves]
        assert len(set(texts)) == len(texts)
        for move in moves[:: max(1, len(moves) // 12)]:
            assert parse_action(action_list(move, level), level)[0] == move
            assert parse_action(action_text(move, level), level)[0] == move
            read += 1
    assert read > 8 * hands


@pytest.mark.parametrize(
    ("level", "move", "printed"),
    [
        ("2", "ThreeWithTwo 6 SB SB D6 H6 S6", '["ThreeWithTwo","6",["S6","H6","D6","SB","SB"]]'),
        ("9", "ThreeWithTwo 6 H9 D6 S6 S7 D7", '["ThreeWithTwo","6",["S6","D6","H9","S7","D7"]]'),
        ("9", "ThreeWithTwo 6 H9 D6 S6 H6 D7", '["ThreeWithTwo","6",["S6","H6","D6","D7","H9"]]'),
        ("9", "ThreeWithTwo 6 H9 H9 D6 S6 H6", '["ThreeWithTwo","6",["S6","H6","D6","H9","H9"]]'),
        ("9", "Straight A D5 S4 S3 S2 HA", '["Straight","A",["HA","S2","S3","S4","D5"]]'),
        ("9", "Straight 3 D7 S3 S4 H9 C6", '["Straight","3",["S3","S4","H9","C6","D7"]]'),
        ("9", "ThreePair 3 S3 D3 S4 H9 S5 D5", '["ThreePair","3",["S3","D3","S4","H9","S5","D5"]]'),
        ("9", "TwoTrips A H9 SA DA S2 D2 C2", '["TwoTrips","A",["SA","DA","H9","S2","C2","D2"]]'),
        ("9", "Bomb 9 H9 S9 D9 C9", '["Bomb","9",["S9","C9","D9","H9"]]'),
        ("2", "FourKings B HR SB HR SB", '["FourKings","B",["SB","SB","HR","HR"]]'),
        ("2", "PASS", '["PASS","PASS","PASS"]'),
    ],
)
def test_cards_stand_in_the_places_they_fill(level: str, move: str, printed: str) -> None:
    words = action_text(parse_action(move, level)[0], as_level(level))
    assert words == printed and json.loads(words)[0] == move.split()[0]


def test_the_joker_bomb_has_two_names() -> None:
    kings = parse_action(["Bomb", "JOKER", ["SB", "SB", "HR", "HR"]], "2")
    assert kings[0] == parse_action("FourKings B SB SB HR HR", "2")[0]


@pytest.mark.parametrize(
    ("move", "message"),
    [
        ("Pair 6 S6 D7", "S6 D7 do not make Pair 6 at level 2"),
        ("Pair 7 S6 D6", "do not make Pair 7"),
        ("Straight 3 S3 S4 S5 S6 S7", "do not make Straight 3"),
        ("Double 6 S6 D6", "got 'Double'"),
        ("Pair 1 S6 D6", "a rank must be one of"),
        ("Pair 6 S6 X6", "got 'X6'"),
        ("Trips 6 S6 S6 S6", "a third time"),
        ("Pair", "do not make Pair|a rank must be one of"),
        ("", "a move is"),
        ('["Pair"', "in JSON"),
        (["Pair", "6"], "a move is"),
        (["Pair", "6", 5], "got '5'"),
        ("[" * 100_000, "in JSON"),
        ("Pair B SB HR", "do not make Pair B"),
    ],
)
def test_words_that_are_no_move_are_refused(move: object, message: str) -> None:
    with pytest.raises(GameError, match=message):
        parse_action(move, "2")  # type: ignore[arg-type]


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
