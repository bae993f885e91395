"""Positions as text, and what seats were seen to do: read back exactly, written by hand, refused by field."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from games.game import TERMINAL, GameError
from games.guandan.cards import ACTION, CARD_NAMES, NUM_RANKS, RANKS, unpack
from games.guandan.combos import beats
from games.guandan.matches.match import Match
from games.guandan.notation import action_list
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.playout import legal
from games.guandan.rounds.position import acts_text, parse_position, position_text
from games.guandan.rounds.round import GuanDan, advance, deal, from_hands
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import PRESETS, as_rules
from games.support.array_types import Row
from tests.games.guandan.rounds.test_round import random_choice
from tests.patience import amount

GAME = GuanDan()


def test_a_record_names_the_infoset_that_it_leads_to_unless_a_move_does_not_beat_the_one_before() -> None:
    rng = np.random.default_rng(2)
    refused, records = 0, amount(30, 8)
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
        infoset = GAME.parse_infoset(json.dumps(text | {"record": record}))
        assert np.array_equal(infoset.key, GAME.infoset_key(states, 1)[0])
        assert infoset.text == GAME.infoset_text(states[0], 1)
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
        ('{"hand":"S3","level":"1"}', "a level must be one of"),
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
        ('{"hand":"S3","level":"2","key":"0123456789abcdef0123456789abcdef0"}', "32 hexadecimal digits"),
        ('{"hand":"S3","level":"2","key":"0123456789abcdef"}', "32 hexadecimal digits"),
        ('{"hand":"S3","level":"2","key":"0123456789abcdef0"}', "32 hexadecimal digits"),
        ('{"hand":"S3","level":"2","record":["Single 4 S4"]}', "seat 0 cannot play move 0"),
        (
            '{"hand":"S3","level":"2","left":[1,1,5,5],"record":["Single 3 S3","Pair 4 S4 S4"]}',
            "record: move 1 must be PASS or beat",
        ),
        (
            '{"hand":"S3","level":"2","left":[1,1,5,5],"record":["Single 3 S3","Bomb 4 S4 S4 H4 D4"]}',
            "record: seat 1 cannot play move 1",
        ),
        (
            '{"hand":"S3 S4 S4","level":"2","left":[3,5,5,5],"record":["Single 3 S3","Single 4 S4"]}',
            "hand and played hold one a third time",
        ),
        ('{"hand":"S3 S4","level":"2","record":"PASS"}', "record must be a list"),
        ('{"hand":"S3 S4","level":"2","record":[],"passes":1}', "with a record there is no passes"),
        ('{"hands":["S3","S4","S5","S6"],"level":"2"}', "an infoset shows one hand"),
    ],
)
def test_positions_that_are_none_are_refused(text: str, message: str) -> None:
    with pytest.raises(GameError, match=message):
        GAME.parse_infoset(text)


def states_of_rounds(rng: np.random.Generator) -> Iterator[Row]:
    """Yield states of rounds at every level, whole and of few cards, from the first lead to the end."""
    levels = np.arange(NUM_RANKS)
    owner = rng.integers(0, 2, NUM_RANKS)
    teams = rng.integers(0, NUM_RANKS, (NUM_RANKS, 2))
    teams[levels, owner] = levels
    whole = deal(NUM_RANKS, rng, level=levels, levels=teams, owner=owner)
    n = amount(40, 6)
    hands = unpack(deal(n, rng)["hand"])
    sizes = rng.integers(1, 6, (n, 4))
    for counts, size in zip(hands.reshape(-1, 54), sizes.ravel(), strict=True):
        kept = rng.permutation(np.repeat(np.arange(54), counts))[:size]
        counts[:] = np.bincount(kept, minlength=54)
    small = from_hands(hands, level=rng.integers(0, NUM_RANKS, n), first=rng.integers(0, 4, n))
    for states, share in ((whole, 0.02), (small, 1.0)):
        while len(states):
            yield from states[rng.random(len(states)) < share]
            states = states[states["player"] >= 0]
            advance(states, random_choice(states, rng))


def states_of_matches(rng: np.random.Generator) -> Iterator[Row]:
    """Yield states of a few rounds of a match by each preset, tribute and ends of rounds among them."""
    for preset in (*PRESETS.values(), as_rules({"ace_limit": 12})):
        rules = as_rules({**asdict(preset), "max_rounds": amount(4, 2)})
        match = Match(int(rng.integers(1 << 32)), rules=rules, levels=("A", "K"), owner=0)
        while not match.over:
            due = match.pending()[0]
            choice = int(rng.integers(len(due.actions)))
            if rng.random() < 0.04 or due.stage != "play":
                yield match.state[0].copy()
            if due.stage == "play":
                after = match.state.copy()
                advance(after, due.actions[choice : choice + 1])
                if after["player"][0] == TERMINAL:
                    yield after[0]
            match.apply(due.seat, choice)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Return states of rounds and of matches."""
    rng = np.random.default_rng(0)
    return [*states_of_rounds(rng), *states_of_matches(rng)][:: amount(1, 3)]


def test_every_position_that_the_engine_writes_is_read(rows: list[Row]) -> None:
    seen: Counter[str] = Counter()
    for number, row in enumerate(rows):
        again, seat = parse_position(GAME.state_text(row))
        assert seat is None and again[0].tobytes() == row.tobytes()
        seat = number % 4
        again, read = parse_position(position_text(row, seat))
        assert read == seat and again[0]["hand"][seat].tolist() == row["hand"][seat].tolist()
        again["hand"] = row["hand"]
        assert again[0].tobytes() == row.tobytes()
        text = GAME.infoset_text(row, seat)
        infoset = GAME.parse_infoset(text)
        assert infoset.text == text and infoset.player == seat
        assert np.array_equal(infoset.key, GAME.infoset_key(row[None], seat)[0])
        leader = row["leader"]
        seen["over"] += row["player"] == TERMINAL
        seen["out and to beat"] += leader != NOBODY and row["left"][leader] == 0
        seen["two out"] += row["finished"] == 2 and row["player"] != TERMINAL
        seen["known"] += bool(row["known"].any())
    assert min(seen.values()) > amount(5, 3) and len(seen) == 4
    # failures may be as many as the rules allow
    states = deal(1, np.random.default_rng(0), level=12, owner=1)
    states["fails"], states["ace"] = (0, 14), as_rules({"ace_limit": 16}).ace
    assert parse_position(position_text(states[0]))[0].tobytes() == states.tobytes()


def broken(
    fields: dict[str, Any], row: Row, rng: np.random.Generator
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield positions with one field wrong, each with the field that an error may name."""
    seat = fields.get("seat")
    out = [s for s in range(4) if row["left"][s] == 0]
    staying = [s for s in range(4) if row["left"][s]]
    over = row["player"] == TERMINAL
    if not over:
        yield "order", {"order": [*fields["order"], int(rng.choice(staying))]}
    if out:
        yield "order", {"order": fields["order"][1:]}
        yield "order", {"order": [int(rng.choice(staying)), *fields["order"][1:]]}
    if {s & 1 for s in out} == {0, 1}:
        yield "order", {"order": None}
    if over:
        yield "player", {"player": staying[0]}
        if len(out) == 3:
            ends = [s for s in fields["order"] if s & 1 == fields["order"][2] & 1]
            yield "order", {"order": [*ends, *(s for s in fields["order"] if s not in ends)]}
    elif row["leader"] != NOBODY:
        yield "leader", {"leader": int(row["player"])}
        yield "passes", {"passes": int(rng.choice([n for n in range(4) if n != row["passes"]]))}
        yield "passes|player|leader", {"player": int(rng.choice([s for s in range(4) if s != row["player"]]))}
    else:
        yield "passes", {"passes": int(rng.integers(1, 4))}
        yield "beat and leader", {"leader": int(rng.integers(4))}
    other = RANKS[int(rng.choice([r for r in range(NUM_RANKS) if r not in row["levels"]]))]
    yield "level", {"level": other}
    yield "level", {"level": RANKS.index(fields["level"]) % 2 * 11}
    yield "known", {"known": more_known(fields, row, rng)}
    left = fields["left"].copy()
    at = int(rng.integers(4)) if seat is None else seat
    left[at] += 1 if left[at] < 27 else -1
    yield "left", {"left": left}


def more_known(fields: dict[str, Any], row: Row, rng: np.random.Generator) -> list[str]:
    """Return `known` with a card too many for one seat: one it cannot have, or more than it still holds."""
    hands, played = unpack(row["hand"]), unpack(row["played"])
    known = [cards.split() for cards in fields["known"]]
    at = int(rng.integers(4))
    if fields.get("seat") in (None, at):
        absent = np.flatnonzero((hands[at] + played[at]) == 0)
        known[at].append(CARD_NAMES[int(rng.choice(absent))])
    else:
        free = [card for card in range(54) if not played[at, card]]
        known[at] = [CARD_NAMES[card] for card in free[: row["left"][at] + 1]]
    return [" ".join(cards) for cards in known]


def test_one_wrong_number_is_refused_by_name(rows: list[Row]) -> None:
    rng = np.random.default_rng(1)
    refused: Counter[str] = Counter()
    for number, row in enumerate(rows):
        fields = json.loads(position_text(row, None if number % 2 else int(rng.integers(4))))
        for name, change in broken(fields, row, rng):
            with pytest.raises(GameError, match=f"position: .*({name})"):
                parse_position(json.dumps({**fields, **change}))
            refused[name] += 1
    assert len(refused) == 9 and min(refused.values()) > amount(25, 5)


def test_what_is_left_out_is_filled_in_as_the_engine_has_it() -> None:
    rng = np.random.default_rng(2)
    for row in [*states_of_rounds(rng)][:: amount(1, 3)]:
        fields = json.loads(position_text(row))
        out = [s for s in range(4) if row["left"][s] == 0]
        del fields["passes"]
        if len(out) < 2:
            del fields["order"]
        else:
            fields["order"] = fields["order"][: len(out)]
        state, _ = parse_position(json.dumps(fields))
        assert state[0].tobytes() == row.tobytes()
        assert np.array_equal(GAME.returns(state)[0], GAME.returns(np.array([row]))[0])


def test_a_level_may_be_a_number_where_its_name_is_one() -> None:
    for number in range(2, 11):
        texts = [json.dumps({"hand": "S3 S4", "level": level}) for level in (number, str(number))]
        one, two = (parse_position(text)[0] for text in texts)
        assert one.tobytes() == two.tobytes() and int(one["level"][0]) == number - 2
    both = json.dumps({"hand": "S3 S4", "level": number, "levels": [number, "A"], "owner": 0})
    assert parse_position(both)[0]["levels"][0].tolist() == [8, 12]


@pytest.mark.parametrize("level", [0, 1, 11, 12, 13, -1, 5.0, True, None, "1", "11", "B", ["2"]])
def test_a_level_that_is_none_is_refused(level: object) -> None:
    for fields in ({"level": level}, {"level": "5", "levels": [level, "5"]}):
        with pytest.raises(GameError, match=r"levels?: a level must be one of 2, 3"):
            parse_position(json.dumps({"hand": "S3 S4", **fields}))


def test_a_record_is_remembered_as_it_is_played() -> None:
    start = '{"level":"2","hand":"S3 S4 S9","seat":0,"first":0,'
    state, _ = parse_position(start + '"record":[["Single","3",["S3"]],["Single","8",["H8"]],"PASS"]}')
    assert acts_text(state["acts"][0], 0) == [
        {"led": ["Single 3"]},
        {"followed": ["Single 8"]},
        {"passed": ["Single 8"]},
        {},
    ]


@pytest.mark.parametrize(
    ("acts", "named"),
    [
        (3, "four seats"),
        ([{}, {}, {}], "four seats"),
        ([{"ate": []}, {}, {}, {}], "lists under"),
        ([{"led": "Single 3"}, {}, {}, {}], "lists under"),
        ([{"led": ["Single 11"]}, {}, {}, {}], "a type and a rank"),
        ([{"led": [["Single", "3"]]}, {}, {}, {}], "a type and a rank|another kind"),
    ],
)
def test_what_is_no_act_is_refused_by_name(acts: object, named: str) -> None:
    with pytest.raises(GameError, match=named):
        parse_position(json.dumps({"level": "2", "hand": "S3 S4", "acts": acts}))
