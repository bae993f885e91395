"""Records: what is written reads back, replays, and is refused when damaged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from games.guandan.matches.events import Dealt, MatchOver, Played, RoundOver
from games.guandan.matches.match import Match
from games.guandan.matches.opening import Opening
from games.guandan.matches.record import (
    RecordError,
    RecordWriter,
    parse_record,
    read_record,
    replay,
    write_record,
)
from games.guandan.rules import PRESETS
from games.guandan.views.narration import random_lines, random_match, replay_lines
from games.guandan.views.text import Narrator


def played(seed: int, **options: object) -> Match:
    match = Match(seed, **options)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    while not match.over:
        # the later payer may answer first
        due = match.pending()[-1]
        match.apply(due.seat, int(rng.integers(len(due.actions))))
    return match


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("record") / "match.jsonl"
    write_record(path, played(4), names=["a", "b", "c", "d"], note="hello")
    return path.read_text()


@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.some(2)
def test_a_match_reads_back_and_replays_to_the_same_end(rules: str, tmp_path: Path) -> None:
    match = played(21, rules=rules)
    write_record(tmp_path / "m.jsonl", match)
    record = read_record(tmp_path / "m.jsonl")
    assert record.complete and len(record.events) == len(match.events)
    *_, (again, _) = replay(record)
    assert again.rules == PRESETS[rules]
    assert (again.winner, again.round, again.levels) == (match.winner, match.round, match.levels)
    assert np.array_equal(again.state, match.state), "the whole last round, public hash included"


def test_given_deals_levels_and_lead_replay(tmp_path: Path) -> None:
    hands = next(e.hands for e in Match(99).events if isinstance(e, Dealt))
    match = played(3, opening=Opening(hands[None], first=2), levels=("Q", "5"), owner=0)
    write_record(tmp_path / "m.jsonl", match)
    record = read_record(tmp_path / "m.jsonl")
    *_, (again, _) = replay(record)
    assert again.winner == match.winner and record.header["given"] == 1
    assert record.header["levels"] == ["Q", "5"]


def test_replay_gives_every_position_on_the_way(text: str) -> None:
    record = parse_record(text)
    assert record.header["names"] == ["a", "b", "c", "d"] and record.header["note"] == "hello"
    plays = 0
    for match, event in replay(record):
        if isinstance(event, Played):
            plays += 1
            if match.phase == "play" and match.state["plays"][0] > 0:
                # the match stands behind the move just made
                last = match.state["last"][0, event.seat]
                assert last == event.action
    assert plays > 500


def test_a_record_is_whole_after_every_event(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    match = Match(8)
    rng = np.random.default_rng(8)
    with RecordWriter(path, match) as writer:
        for _ in range(300):
            due = match.pending()[0]
            writer.write(match.apply(due.seat, int(rng.integers(len(due.actions)))))
            if rng.random() < 0.05:
                record = read_record(path)
                assert len(record.events) == len(match.events) and not record.complete
    *_, (again, _) = replay(read_record(path))
    assert np.array_equal(again.state, match.state) and again.phase == match.phase


def test_a_cut_last_line_is_refused_or_dropped_on_request(text: str, tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text(text[: len(text) // 2 - 5])
    with pytest.raises(RecordError, match=r"cut\.jsonl:\d+: the last line is cut off"):
        read_record(path)
    record = read_record(path, repair=True)
    assert not record.complete and len(list(replay(record))) == len(record.events) > 100


def first_line(lines: list[str], kind: str) -> int:
    return next(i for i, line in enumerate(lines) if line.startswith(f'{{"{kind}"'))


def damage(text: str, kind: str, change) -> str:
    """Return the record with the first line of this kind changed, as text or as fields."""
    lines = text.split("\n")
    at = first_line(lines, kind)
    fields = json.loads(lines[at])
    result = change(fields)
    lines[at] = result if isinstance(result, str) else json.dumps(result or fields)
    return "\n".join(lines)


def swapped_cards(fields: dict) -> None:
    a, b = (hand.split() for hand in fields["hands"][:2])
    a[0], b[0] = b[0], a[0]
    fields["hands"][:2] = [" ".join(a), " ".join(b)]


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("gs2", lambda f: f | {"version": 9}, ":1: this program reads version 1 of records; got 9"),
        ("gs2", lambda f: f | {"gs2": "chess"}, ":1: a record begins with"),
        ("gs2", lambda f: f | {"rules": {"tea": 1}}, ":1: a header has guandan: unknown rules tea"),
        ("gs2", lambda f: f | {"levels": ["1", "2"]}, ":1: a header has guandan: a level is one of"),
        ("gs2", lambda f: {k: v for k, v in f.items() if k != "seed"}, ":1: a header has 'seed'"),
        ("gs2", lambda f: f | {"seed": 5}, ":2: by the rules"),
        ("deal", swapped_cards, ":2: by the rules"),
        ("deal", lambda f: f | {"hands": f["hands"][:3]}, ":2: guandan: a deal gives each of four seats"),
        (
            "deal",
            lambda f: f | {"hands": [f["hands"][0]] * 4},
            ":2: guandan: a deal gives each of four seats",
        ),
        ("deal", lambda f: f | {"hands": ["XX", *f["hands"][1:]]}, ":2: guandan: a card is"),
        ("deal", lambda f: f | {"level": "3"}, ":2: by the rules"),
        ("lead", lambda f: {"lead": (f["lead"] + 1) % 4}, ":3: by the rules"),
        ("lead", lambda f: {"lead": 4}, ":3: guandan: a seat is 0..3; got 4"),
        (
            "play",
            lambda f: {"play": [(f["play"][0] + 1) % 4, f["play"][1]]},
            "is not to act; waiting for seat",
        ),
        ("play", lambda f: {"play": [f["play"][0], ["Single", "3", ["Z3"]]]}, ":4: "),
        (
            "play",
            lambda f: {"play": [f["play"][0], ["Triple", "3", ["S3"]]]},
            ":4: guandan: a type is one of",
        ),
        (
            "play",
            lambda f: {"play": [f["play"][0], ["PASS", "PASS", "PASS"]]},
            ":4: guandan: .* is not legal",
        ),
        ("play", lambda f: {"play": f["play"][0]}, ":4: not an event of a match"),
        ("play", lambda f: "", ":4: a line is a JSON object"),
        ("play", lambda f: "[1, 2]", ":4: a line is a JSON object"),
        ("play", lambda f: '{"play": [0, ', ":4: a line is a JSON object"),
        ("play", lambda f: {"dance": 1}, ":4: guandan: an event is one of deal, anti, tribute"),
        (
            "tribute",
            lambda f: {"tribute": [[f["tribute"][0][0], f["tribute"][0][1], "H2"]]},
            "is not legal|waits",
        ),
        ("tribute", lambda f: {"back": f["tribute"]}, "waiting for tribute of seat"),
        ("back", lambda f: {"back": [[*f["back"][0][:2], "HR"], *f["back"][1:]]}, "is not legal for seat"),
        ("round", lambda f: f | {"levels": ["A", "A"]}, "by the rules"),
        ("round", lambda f: f | {"payoffs": [9, 9, 9, 9]}, "by the rules"),
        ("match", lambda f: {"match": 1 - f["match"], "rounds": f["rounds"]}, "by the rules"),
    ],
)
def test_damaged_records_are_refused_with_file_line_and_reason(text: str, kind, change, message: str) -> None:
    broken = damage(text, kind, change)
    assert broken != text
    with pytest.raises(RecordError, match=message) as caught:
        for _ in replay(parse_record(broken, name="m.jsonl")):
            pass
    assert str(caught.value).startswith("m.jsonl:")


def test_a_missing_line_is_noticed(text: str) -> None:
    lines = text.split("\n")
    for kind in ("deal", "lead", "play", "tribute", "back", "round"):
        at = first_line(lines, kind)
        with pytest.raises(RecordError, match=r"m:\d+: "):
            list(replay(parse_record("\n".join(lines[:at] + lines[at + 1 :]), name="m")))


def test_no_record_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="the file is empty"):
        parse_record("")
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecordError, match="a record is UTF-8 text"):
        read_record(tmp_path / "x")


def test_a_random_match_is_told_and_its_record_tells_the_same(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    told = list(random_lines(3, rounds=2, record=path, canonical=True))
    again = list(replay_lines(path))
    assert told == again[:-1] and again[-1] == "the record ends here, in round 2"
    assert told == list(random_lines(3, rounds=2, canonical=True))
    second = list(replay_lines(path, rounds=range(2, 3), hands=False))
    assert second[1].startswith("round 2, level ") and len(second) < len(again)
    for beyond in (3, 99, 10**9):
        with pytest.raises(RecordError, match=rf"must be in 1\.\.2; got {beyond}; choose another"):
            list(replay_lines(path, rounds=range(beyond, beyond + 1)))


def test_the_story_of_a_round_counts_every_card() -> None:
    lines = list(random_lines(11, level="J"))
    assert lines[1].startswith("round 1, level J (seat 0 & seat 2 at J")
    assert sum(line.startswith("  seat") and len(line.split()) == 29 for line in lines[2:6]) == 4
    events = [event for _, events in random_match(11, level="J") for event in events]
    (over,) = [event for event in events if isinstance(event, RoundOver)]
    moves = [event for event in events if isinstance(event, Played) and event.action["size"]]
    assert sum(line.startswith("  seat") and line.endswith((" left", " out")) for line in lines) == len(moves)
    assert sum(line.endswith(" out") for line in lines) == 4 - len(over.rest)
    held = sum(len(cards) for _, cards in over.rest)
    assert sum(int(move.action["size"]) for move in moves) + held == 108
    assert sum(line.startswith("trick ") for line in lines) >= 5


def test_a_whole_match_is_told_to_its_end() -> None:
    last = list(random_lines(2, rounds=None, level="A"))[-1]
    assert last.startswith("match over after ") and last.endswith(" win")
    for rounds, words in ((1, "1 round"), (2, "2 rounds")):
        (line,) = Narrator().lines([MatchOver(None, rounds)])
        assert line == f"match over after {words}: nobody wins"
