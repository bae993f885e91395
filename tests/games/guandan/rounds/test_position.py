"""Positions as text: read back exactly, written by hand, refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from games.game import GameError
from games.guandan.cards import ACTION
from games.guandan.combos import beats
from games.guandan.notation import action_list
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.position import parse_position, position_text
from games.guandan.rounds.round import GuanDan, advance, deal, legal
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import PRESETS
from tests.games.guandan.rounds.test_round import random_choice
from tests.patience import amount

GAME = GuanDan()


def test_every_position_of_random_rounds_reads_back_exactly() -> None:
    rng = np.random.default_rng(0)
    states = deal(6, rng, level=rng.integers(0, 13, 6), owner=1)
    states["fails"][0], states["ace"][0] = (2, 0), PRESETS["njupt"].ace
    for turn in range(220):
        for row in states[turn % 3 : turn % 3 + 1] if turn % amount(2, 7) == 1 else ():
            again, seat = parse_position(GAME.state_text(row))
            assert seat is None and again[0].tobytes() == row.tobytes()
            for seat in range(4):
                text = GAME.infoset_text(row, seat)
                infoset = GAME.parse_infoset(text)
                assert infoset.text == text and infoset.player == seat
                assert np.array_equal(infoset.key, GAME.infoset_key(row[None], seat)[0])
        advance(states, random_choice(states, rng))
    assert np.all(states["player"] < 0)


def test_a_record_names_the_infoset_that_it_leads_to() -> None:
    rng = np.random.default_rng(1)
    states = deal(1, rng, level=6, first=2)
    begin = json.loads(position_text(states[0], 1))
    record = []
    for _ in range(25):
        action = random_choice(states, rng)
        record.append(action_list(action[0], 6))
        advance(states, action)
    text = json.dumps({"seat": 1, "level": "8", "first": 2, "hand": begin["hand"], "record": record})
    infoset = GAME.parse_infoset(text)
    assert np.array_equal(infoset.key, GAME.infoset_key(states, 1)[0])
    assert infoset.text == GAME.infoset_text(states[0], 1)


def test_a_record_with_a_move_that_does_not_beat_the_one_before_is_refused() -> None:
    rng = np.random.default_rng(2)
    refused, records = 0, amount(30, 16)
    for number in range(records):
        states = deal(1, rng, level=6, first=number % 4)
        begin = json.loads(position_text(states[0], 1))
        record: list[Any] = []
        for _ in range(int(rng.integers(0, 20))):
            action = random_choice(states, rng)
            record.append("PASS" if action["type"][0] == 0 else action_list(action[0], 6))
            advance(states, action)
        player, leads = int(states["player"][0]), states["leader"][0] == NOBODY
        if leads:
            wrong: Any = "PASS"
        else:
            # what it beat, or any lead of cards that the seat holds, which beats nothing but by chance
            alone = states.copy()
            alone["leader"], alone["beat"] = NOBODY, np.zeros(1, ACTION)
            moves = legal(alone)[0]
            moves = moves[(moves["type"] != 0) & ~beats(moves, np.repeat(states["beat"], len(moves)), 6)]
            if not len(moves):
                continue
            wrong = action_list(moves[int(rng.integers(len(moves)))], 6)
        text = {"seat": 1, "level": "8", "first": number % 4, "hand": begin["hand"]}
        GAME.parse_infoset(json.dumps(text | {"record": record}))
        wanted = f"move {len(record)} must be {'a lead' if leads else 'PASS or beat'}.*seat {player}"
        with pytest.raises(GameError, match=wanted):
            GAME.parse_infoset(json.dumps(text | {"record": [*record, wrong]}))
        refused += 1
    assert refused > records / 2


def test_a_position_by_hand_can_be_determinised_and_played() -> None:
    text = '{"hand":"H2 S3 S4 D4","level":"2","left":[4,3,5,5],"leader":3,"beat":"Single 3 C3"}'
    state, seat = parse_position(text)
    assert seat == 0 and state["player"][0] == 0
    moves = legal(state)[0]
    assert {(int(a["type"]), int(a["rank"])) for a in moves} == {(0, 0), (1, 2), (1, 0)}
    sampled = determinise(np.repeat(state, 50), 0, np.random.default_rng(0))
    assert np.array_equal(sampled["left"], np.repeat(state["left"], 50, 0))
    assert GAME.parse_infoset(text).key == GAME.parse_infoset(GAME.parse_infoset(text).text).key
    other = GAME.parse_infoset(text.replace("C3", "D3"))
    assert other.key != GAME.parse_infoset(text).key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "one line of JSON"),
        ("[]", "an object with hand and level"),
        ('{"hand":"S3"}', "level and either hand"),
        ('{"hand":"S3","level":"1"}', "a level is one of"),
        ('{"hand":"S3 S3 S3","level":"2"}', "a third time"),
        ('{"hand":"S3 S3","level":"2","played":["S3","","",""]}', "a third time"),
        ('{"hand":"S3","level":"2","colour":1}', "no field 'colour'"),
        ('{"hand":"S3","level":"2","seat":4}', "seat must be an integer in 0..3"),
        ('{"hand":"S3","level":"2","left":[2,1,1,1]}', "seat 0 holds 1 cards, but left says 2"),
        ('{"hand":"S3","level":"2","left":[1,1,1]}', "left must list the four seats"),
        ('{"hand":"S3","level":"2","beat":"Single 4 S4"}', "beat and leader"),
        ('{"hand":"S3","level":"2","order":[1,1]}', "order must list"),
        ('{"hand":"S3","level":"2","left":[1,0,0,5]}', "order must tell who finished first"),
        ('{"hand":"S3","level":"2","left":[1,0,0,0],"order":[3,1,2]}', "seats 3 and 1 are a team"),
        ('{"hand":"S3","level":"2","left":[1,0,5,0],"player":0}', "player must be null"),
        ('{"hands":["","","",""],"level":"2"}', "nobody holds a card"),
        ('{"hand":"S3","level":"2","left":[1,0,5,5],"record":[]}', "a record begins with the round"),
        ('{"hand":"S3","level":"2","known":["","S3 S3","",""]}', "hold S3 a third time"),
        ('{"hand":"S3","level":"2","levels":["2"]}', "levels must list both teams"),
        (
            '{"hand":"S3","level":"7","levels":["A","5"]}',
            "level must be one of the levels of the teams, 5 or A",
        ),
        ('{"hand":"S3","level":"A","levels":["A","5"],"owner":1}', "level must be the level of its owner"),
        ('{"hand":"S3","level":"2","player":1,"left":[1,0,5,5]}', "player 1 has no cards"),
        ('{"hand":"S3","level":"2","key":"xyz"}', "32 hexadecimal digits"),
        ('{"hand":"S3","level":"2","record":["Single 4 S4"]}', "seat 0 cannot play move 0"),
        ('{"hand":"S3 S4","level":"2","record":"PASS"}', "record must be a list"),
        ('{"hand":"S3 S4","level":"2","record":[],"passes":1}', "with a record there is no passes"),
        ('{"hands":["S3","S4","S5","S6"],"level":"2"}', "an infoset shows one hand"),
    ],
)
def test_positions_that_are_none_are_refused(text: str, message: str) -> None:
    with pytest.raises(GameError, match=message):
        GAME.parse_infoset(text)
