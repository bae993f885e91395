"""What seats were seen to do, in words."""

from __future__ import annotations

import json

import numpy as np
import pytest

from games.game import GameError
from games.guandan.rounds.acts import act_bits, acts_of_bits, acts_text, parse_acts
from games.guandan.rounds.position import parse_position, position_text
from tests.gs2.guandan.beliefs.rounds import some_rounds


def test_acts_survive_being_told_in_words() -> None:
    for played in some_rounds(40, np.random.default_rng(0)):
        acts, level = played.state["acts"][0], int(played.state["level"][0])
        words = json.loads(json.dumps(acts_text(acts, level)))
        assert np.array_equal(parse_acts(words, level), acts)
        assert np.array_equal(acts_of_bits(act_bits(acts)), acts)
        for seat in (None, int(played.state["player"][0])):
            again, _ = parse_position(position_text(played.state[0], seat))
            assert np.array_equal(again["acts"], played.state["acts"])


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
