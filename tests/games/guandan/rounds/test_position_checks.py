"""Numbers of a position that disagree are refused by their field; what the engine writes never is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from games.game import TERMINAL, GameError
from games.guandan.cards import CARD_NAMES, NUM_RANKS, RANKS, unpack
from games.guandan.matches.match import Match
from games.guandan.rounds.position import parse_position, position_text
from games.guandan.rounds.round import GuanDan, advance, deal, from_hands
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import PRESETS, as_rules
from games.support.array_types import Row
from tests.games.guandan.rounds.test_round import random_choice
from tests.patience import amount

GAME = GuanDan()


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
    return [*states_of_rounds(rng), *states_of_matches(rng)][:: amount(1, 2)]


def test_every_position_that_the_engine_writes_is_read(rows: list[Row]) -> None:
    seen: Counter[str] = Counter()
    for row in rows:
        again, seat = parse_position(position_text(row))
        assert seat is None and again[0].tobytes() == row.tobytes()
        for seat in range(4):
            again, read = parse_position(position_text(row, seat))
            assert read == seat and again[0]["hand"][seat].tolist() == row["hand"][seat].tolist()
            again["hand"] = row["hand"]
            assert again[0].tobytes() == row.tobytes()
        leader = row["leader"]
        seen["over"] += row["player"] == TERMINAL
        seen["out and to beat"] += leader != NOBODY and row["left"][leader] == 0
        seen["two out"] += row["finished"] == 2 and row["player"] != TERMINAL
        seen["known"] += bool(row["known"].any())
    assert min(seen.values()) > 5 and len(seen) == 4


def test_failures_may_be_as_many_as_the_rules_allow() -> None:
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
    for row in rows:
        for seat in (None, int(rng.integers(4))):
            fields = json.loads(position_text(row, seat))
            for name, change in broken(fields, row, rng):
                with pytest.raises(GameError, match=f"position: .*({name})"):
                    parse_position(json.dumps({**fields, **change}))
                refused[name] += 1
    assert len(refused) == 9 and min(refused.values()) > amount(50, 20)


def test_what_is_left_out_is_filled_in_as_the_engine_has_it() -> None:
    rng = np.random.default_rng(2)
    for row in states_of_rounds(rng):
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


@pytest.mark.parametrize("number", range(2, 11))
def test_a_level_may_be_a_number_where_its_name_is_one(number: int) -> None:
    texts = [json.dumps({"hand": "S3 S4", "level": level}) for level in (number, str(number))]
    one, two = (parse_position(text)[0] for text in texts)
    assert one.tobytes() == two.tobytes() and int(one["level"][0]) == number - 2
    both = json.dumps({"hand": "S3 S4", "level": number, "levels": [number, "A"], "owner": 0})
    assert parse_position(both)[0]["levels"][0].tolist() == [number - 2, 12]


@pytest.mark.parametrize("level", [0, 1, 11, 12, 13, -1, 5.0, True, None, "1", "11", "B", ["2"]])
def test_a_level_that_is_none_is_refused(level: object) -> None:
    for fields in ({"level": level}, {"level": "5", "levels": [level, "5"]}):
        with pytest.raises(GameError, match=r"levels?: a level is one of 2, 3"):
            parse_position(json.dumps({"hand": "S3 S4", **fields}))
