"""Our agents at RLCard's table: they see what it shows, and rounds are counted as DouZero counts them."""

from __future__ import annotations

import json
import random

import click
import numpy as np
import pytest
from click.testing import CliRunner

from blueprint.climbing.inputs.doudizhu_rows import SEAT_BLOCKS
from blueprint.climbing.inputs.move_inputs import move_inputs
from blueprint.climbing.inputs.row_layout import block_starts
from experiments.climbing.rlcard_matches import play_rlcard, rlcard_matches
from experiments.climbing.rlcard_seat import RlcardSeat, round_points_of, seen_round
from games.climbing.doudizhu.doudizhu import DouDizhu, rounds_from_hands
from games.climbing.doudizhu.move_table import move_number
from games.climbing.doudizhu.multiset import read_multiset
from games.game import GameError
from gs2.play.shedding import SHEDDING

rlcard = pytest.importorskip("rlcard")


def test_a_seat_sees_of_the_round_what_it_would_see_at_our_table() -> None:
    table = rlcard.make("doudizhu", config={"seed": 3})
    game = DouDizhu()
    inputs = move_inputs(game)
    rng = random.Random(3)
    known = slice(block_starts(SEAT_BLOCKS)["known"], block_starts(SEAT_BLOCKS)["left"])
    compared = 0
    for _ in range(12):
        shown, seat = table.reset()
        bottom = table.game.round.seen_cards
        state = rounds_from_hands([player.initial_hand for player in table.game.players])
        state["bottom"] = read_multiset(bottom)
        while not table.is_over():
            rows = np.zeros((2, inputs.seat_bits), np.uint8)
            seen = seen_round(game, shown["raw_obs"])
            for row, each in zip(rows, (state, seen), strict=True):
                inputs.write_seats(each, np.zeros(1, np.int64), np.array([seat]), row[None])
            if len(set(bottom)) < 3:  # of a pair in the bottom RLCard forgets both once one is played
                rows[:, known] = 0
            assert np.array_equal(*rows)
            compared += 1
            move = rng.choice(shown["raw_obs"]["actions"])
            shown, seat = table.step(move, raw_action=True)
            state = game.step(state, np.zeros(1, np.int64), np.array([move_number(move)]))
    assert compared > 300


def test_a_seat_takes_the_move_of_its_agent() -> None:
    table = rlcard.make("doudizhu", config={"seed": 4})
    game = DouDizhu()
    seat = RlcardSeat(game, SHEDDING, np.random.default_rng(4))
    for _ in range(5):
        shown, player = table.reset()
        state = rounds_from_hands([held.initial_hand for held in table.game.players])
        while not table.is_over():
            move, _ = seat.eval_step(shown)
            assert move in shown["raw_obs"]["actions"]
            legal = game.actions(state)
            probs = SHEDDING.policy(game, state, player, legal)
            assert move_number(move) == legal.values[np.argmax(probs)]
            shown, player = table.step(move, raw_action=True)
            state = game.step(state, np.zeros(1, np.int64), np.array([move_number(move)]))


def test_an_observation_whose_moves_do_not_follow_is_refused() -> None:
    table = rlcard.make("doudizhu", config={"seed": 5})
    raw = dict(table.reset()[0]["raw_obs"])
    raw["trace"] = [(1, "pass")]
    with pytest.raises(GameError, match="seat 0 is to act"):
        seen_round(DouDizhu(), raw)


def test_points_double_with_each_bomb_and_the_rocket() -> None:
    assert round_points_of([(0, "3"), (1, "pass")], True) == 2
    assert round_points_of([(0, "3333"), (1, "4444"), (2, "BR")], True) == 16
    assert round_points_of([(0, "333344"), (1, "5555")], False) == -4


def test_a_match_says_who_won_on_each_side() -> None:
    group = click.Group(commands={"rlcard-matches": rlcard_matches})
    words = ["rlcard-matches", "gs2.play.shedding:SHEDDING", "--rounds", "6", "--seed", "2", "--json"]
    result = CliRunner().invoke(group, words, catch_exceptions=False)
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert [row["side"] for row in told["results"]] == ["landlord", "farmers"]
    for row in told["results"]:
        assert row["wp_low"] <= row["wp"] <= row["wp_high"] and row["rounds"] == 6
    again = play_rlcard("gs2.play.shedding:SHEDDING", "doudizhu-rule-v1", 6, 2, "landlord")
    assert (again.wp, again.adp) == (told["results"][0]["wp"], told["results"][0]["adp"])
