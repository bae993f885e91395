"""Actions in words: printed in the places their cards fill, read back as they were."""

from __future__ import annotations

import json

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import as_level, pack
from games.guandan.moves.listing import legal_moves
from games.guandan.notation import action_list, action_text, parse_action
from tests.games.guandan.positions import random_hand
from tests.patience import amount


def test_every_move_reads_back_as_itself_in_both_dialects() -> None:
    rng = np.random.default_rng(0)
    read, hands = 0, amount(120, 26)
    for k in range(hands):
        level = k % 13
        moves = legal_moves(pack(random_hand(rng, level, k % 3, 16)), level)[0]
        texts = [action_text(move, level) for move in moves]
        assert len(set(texts)) == len(texts)
        for move in moves[:: max(1, len(moves) // 12)]:
            for dialect in ("openguandan", "njupt"):
                words = action_list(move, level, dialect=dialect)
                assert parse_action(words, level)[0] == move
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
    assert action_text(parse_action(move, level)[0], as_level(level)) == printed


def test_the_joker_bomb_has_two_names() -> None:
    kings = parse_action(["Bomb", "JOKER", ["SB", "SB", "HR", "HR"]], "2")
    assert kings[0] == parse_action("FourKings B SB SB HR HR", "2")[0]
    assert action_list(kings[0], 0, dialect="njupt") == ["Bomb", "JOKER", ["SB", "SB", "HR", "HR"]]


@pytest.mark.parametrize(
    ("move", "message"),
    [
        ("Pair 6 S6 D7", "S6 D7 do not make Pair 6 at level 2"),
        ("Pair 7 S6 D6", "do not make Pair 7"),
        ("Straight 3 S3 S4 S5 S6 S7", "do not make Straight 3"),
        ("Double 6 S6 D6", "got 'Double'"),
        ("Pair 1 S6 D6", "a rank is one of"),
        ("Pair 6 S6 X6", "got 'X6'"),
        ("Trips 6 S6 S6 S6", "a third time"),
        ("Pair", "do not make Pair|a rank is one of"),
        ("", "a move is"),
        ('["Pair"', "in JSON"),
        (["Pair", "6"], "a move is"),
        ("Pair B SB HR", "do not make Pair B"),
    ],
)
def test_words_that_are_no_move_are_refused(move: object, message: str) -> None:
    with pytest.raises(GameError, match=message):
        parse_action(move, "2")  # type: ignore[arg-type]


def test_printed_moves_are_json() -> None:
    assert json.loads(action_text(parse_action("Pair 6 S6 D6", "2")[0], 0)) == ["Pair", "6", ["S6", "D6"]]
