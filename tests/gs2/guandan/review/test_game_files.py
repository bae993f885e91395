"""Reading records and transcripts: both dialects, one seat or four, cut off or damaged."""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.guandan.cards import unpack
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import PRESETS
from games.record import RoundRecordError, parse_rounds
from gs2.guandan.review.recorded_rounds import TranscriptError
from gs2.review.review_data import RecordedGame, ReviewError
from gs2.review.reviewing import parse_game, read_game_text
from tests.gs2.guandan.review.spoken import bare, heard_of, labelled, record_text
from tests.patience import amount

OFFICIAL = Path(__file__).parents[3] / "data" / "openguandan_transcript.jsonl.gz"
ROUNDS = 3


_heard = functools.cache(heard_of)


def assert_same_rounds(found: RecordedGame, wanted: RecordedGame, *, seats: tuple[int, ...] = (0, 1, 2, 3)):
    assert len(found.rounds) == len(wanted.rounds)
    for one, other in zip(found.rounds, wanted.rounds, strict=True):
        assert np.array_equal(one.seats, other.seats)
        assert np.array_equal(one.actions, other.actions)
        assert [one.known[seat] for seat in seats] == [True] * len(seats)
        for name in ("level", "levels", "owner", "first", "cap", "known"):
            assert np.array_equal(one.start[name], other.start[name]), name
        for seat in seats:
            assert np.array_equal(one.start["hand"][0, seat], other.start["hand"][0, seat])
        assert (one.tributes, one.returns) == (other.tributes, other.returns)
        assert set(one.anti) == set(other.anti)
        if one.end is not None and other.end is not None:
            assert (one.end["order"], one.end["payoffs"]) == (other.end["order"], other.end["payoffs"])


@pytest.mark.parametrize("end", ["\n", "  \n", "\n\n", "\n "])
def test_a_record_may_end_with_blank_lines(end: str):
    text = record_text(2, 1)
    assert_same_rounds(parse_game(text + end), parse_game(text))


@pytest.mark.parametrize("dialect", ["openguandan", "official", "njupt"])
def test_a_transcript_of_all_seats_gives_the_rounds_of_the_record(dialect, seed=2):
    wanted = parse_game(record_text(seed, ROUNDS))
    heard = _heard(seed, ROUNDS, dialect)
    found = parse_game(labelled(heard))
    assert found.kind == ("njupt" if dialect == "njupt" else "openguandan")
    # the rules of level A tell what a round is worth to the match
    rules = PRESETS["njupt" if dialect == "njupt" else "ruling"]
    assert {int(one.start["ace"][0]) for one in found.rounds} == {rules.ace}
    assert_same_rounds(found, wanted)
    assert_same_rounds(parse_game(labelled(heard, "msg")), wanted)
    assert_same_rounds(parse_game(bare(heard)), wanted)


def test_the_competition_platform_is_known_by_its_requests_where_its_deals_are_bare():
    heard = [
        (
            seat,
            {name: x for name, x in told.items() if told.get("stage") != "beginning" or "Rank" not in name},
        )
        for seat, told in heard_of(5, 2, "njupt")
    ]
    found = parse_game(labelled(heard))
    assert found.kind == "njupt" and found.rounds[0].start["ace"] == PRESETS["njupt"].ace
    assert_same_rounds(found, parse_game(record_text(5, 2)))


def test_one_seats_transcript_tells_all_hands_of_the_rounds_that_are_over():
    wanted = parse_game(record_text(5, 2))
    heard = heard_of(5, 2, "njupt")
    mine = [message for message in heard if message[0] == 1]
    assert_same_rounds(parse_game(labelled(mine)), wanted)
    assert_same_rounds(parse_game(bare(mine)), wanted)
    # a seat that lags behind does not disturb the others
    rest = [message for message in heard if message[0] != 1]
    assert_same_rounds(parse_game(labelled(rest + mine)), wanted)
    over = {"type": "notify", "stage": "gameOver", "curTimes": 1, "settingTimes": 2}
    told = [(1, over)]  # of a game that nobody has heard of
    for seat, message in (*rest, *mine):
        told += [(seat, message), *[(seat, over)] * ("restCards" in message and message["curRank"] == "2")]
    found = parse_game(labelled(told))
    assert [(one.game, one.number) for one in found.rounds] == [(1, 1), (2, 1)] and not found.complete


def test_of_a_round_that_is_not_over_one_seats_transcript_tells_its_own_hand():
    heard, wanted = heard_of(5, 1, "njupt"), parse_game(record_text(5, 1))
    mine = [message for message in heard[: len(heard) // 2] if message[0] == 1]
    found = parse_game(bare(mine)).rounds[0]
    assert found.known == (False, True, False, False)
    assert found.end is None
    assert np.array_equal(found.start["hand"][0, 1], wanted.rounds[0].start["hand"][0, 1])
    # what is made up for the others can be played all the same
    assert (unpack(found.states()["hand"]).sum(2) == found.states()["left"]).all()


@settings(max_examples=amount(60), deadline=None)
@given(
    dialect=st.sampled_from(["openguandan", "official", "njupt"]),
    seed=st.integers(1, 3),
    seat=st.integers(0, 3),
    share=st.floats(0, 0.999),
    labels=st.booleans(),
    others=st.booleans(),
)
@pytest.mark.long
def test_a_client_that_came_back_heard_its_round_twice_and_it_counts_once(
    dialect, seed, seat, share, labels, others
):
    heard = _heard(seed, ROUNDS, dialect)
    if not others:
        heard = [(who, message) for who, message in heard if who == seat]
    # a round that is over is not told again: the next begins with it
    under_way, log, places = False, [], []
    for k, (who, message) in enumerate(heard):
        if message.get("stage") == "episodeOver" and (who == seat or not labels):
            under_way = False
        if who == seat and message["type"] == "notify":
            if message["stage"] == "beginning":
                under_way, log = True, []
            log.append((who, message))
        if under_way:
            places.append((k + 1, list(log)))
    at, again = places[int(share * len(places))]
    write = labelled if labels else bare
    whole = parse_game(write(heard))
    found = parse_game(write(heard[:at] + again + heard[at:]))
    assert_same_rounds(found, whole)
    assert (found.complete, found.notes) == (whole.complete, whole.notes)
    assert [one.notes for one in found.rounds] == [one.notes for one in whole.rounds]
    assert [one.end is None for one in found.rounds] == [one.end is None for one in whole.rounds]


def test_the_official_servers_transcript_is_read():
    found = parse_game(read_game_text(OFFICIAL), name="official")
    assert found.names == ("u0", "u1", "u2", "u3")
    assert [len(played.actions) for played in found.rounds] == [114, 131]
    assert found.rounds[1].anti == (2, 0)
    assert found.rounds[0].start["owner"][0] == NOBODY
    assert found.rounds[1].start["owner"][0] == 1


def test_a_move_that_the_rules_forbid_ends_its_round_with_a_note():
    heard = heard_of(7, 1, "njupt")
    third = [
        message for _, message in heard if message.get("stage") == "play" and message["type"] == "notify"
    ][8:12]
    for message in third:
        message["curPos"] = (message["curPos"] + 1) % 4
    found = parse_game(labelled(heard)).rounds[0]
    assert len(found.actions) == 2
    assert found.end is None
    assert "cannot play" in found.notes[0]


def test_a_record_that_was_cut_off_is_read_up_to_there():
    text = record_text(8, 1, ["\x1b[31mred\n", "x" * 500, "", "<b>"])
    whole = parse_game(text)
    assert_same_rounds(parse_game(text.rstrip("\n")), whole)
    cut = parse_game(text[: len(text) * 2 // 3])
    assert 0 < len(cut.rounds[0].actions) < len(whole.rounds[0].actions)
    assert cut.rounds[0].end is None
    with pytest.raises(ReviewError, match="mine: nobody has played yet"):
        parse_game("".join(text.splitlines(keepends=True)[:2]), name="mine")
    # names are shown on one line without control characters
    assert whole.names == ("[31mred", "x" * 80, "seat 2", "<b>")


def test_damage_is_told_with_its_line():
    lines = record_text(9, 1).split("\n")
    for wrong, says in (
        ('{"play": 9}', "mine, line 5: "),
        ('{"play": ["P9 [\\"PASS\\"]"]}', "mine: play 3: "),
    ):
        lines[4] = wrong
        with pytest.raises(ValueError, match=says):
            parse_game("\n".join(lines), name="mine")
    lines = labelled(heard_of(9, 1, "njupt")).split("\n")
    lines[7] = lines[7][:-3]
    with pytest.raises(TranscriptError, match=r"mine:8: "):
        parse_game("\n".join(lines), name="mine")
    earlier = '{"gs2":"guandan record","version":1,"seed":7}\n'
    with pytest.raises(TranscriptError, match=r'mine:1: .*; got .{"gs2":"guandan record".*; name another'):
        parse_game(earlier, name="mine")
    with pytest.raises(RoundRecordError, match=r'payoffs is missing in {"gs2": "guandan rec.*; name another'):
        parse_rounds(earlier, "mine")
    with pytest.raises(TranscriptError, match="no round begins"):
        parse_game('{"type":"JOIN","code":200}\n')


def test_what_is_too_large_is_refused_in_words(tmp_path):
    with pytest.raises(ReviewError, match="at most 8 MiB"):
        parse_game("x" * (9 << 20))
    large, packed = tmp_path / "large.jsonl", tmp_path / "bomb.gz"
    with open(large, "wb") as file:
        file.truncate(100 << 20)
    packed.write_bytes(gzip.compress(b"\n" * (100 << 20), 1))
    for path in (large, packed):
        with pytest.raises(ReviewError, match="at most 8 MiB"):
            read_game_text(path)


def _damaged(text: str, places: list[tuple[float, str]]) -> str:
    for share, word in places:
        at = int(share * len(text))
        text = text[:at] + word + text[at + len(word) :]
    return text


@functools.cache
def _text(spoken: bool) -> str:
    """Return a round as its record or as what the seats heard of it."""
    return labelled(heard_of(9, 1, "openguandan")) if spoken else record_text(9, 1)


_PLACES = st.lists(
    st.tuples(
        st.floats(0, 0.999),
        st.sampled_from(["9", "{", "}", '"', "\n", "null", "[]", "-1", '"SB"', "HR", "é", "\x00", "true"]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=amount(60), deadline=None)
@given(st.booleans(), _PLACES)
def test_damaged_input_is_read_or_refused_never_a_crash(spoken, places):
    try:
        found = parse_game(_damaged(_text(spoken), places))
    except ValueError as error:
        assert str(error)
        assert "\n" not in str(error)
    else:
        assert sum(len(played.actions) for played in found.rounds) > 0


@settings(max_examples=amount(40), deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["type", "stage", "seat", "msg", "dir", "gs2", "handCards", "myPos"]), inner
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_refused_in_words(value):
    with pytest.raises(ValueError, match=r"record(:|, line) 1: |record:1: |record: no round"):
        parse_game(json.dumps(value) + "\n")
