"""Records of matches: what is written reads back, replays, and is refused when damaged; also earlier ones."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.game import GameError
from games.guandan.matches.match import Dealt, Match, MatchOver, Played, RoundOver
from games.guandan.matches.match_game import (
    GuanDanMatch,
    MatchPieces,
    match_events,
    match_header,
    match_name,
    read_match,
)
from games.guandan.rules import PRESETS, Rules
from games.guandan.views.narration import Narrator, random_lines, random_match, replay_lines
from games.record import RoundRecord, RoundRecordError, parse_rounds
from tests.games.guandan.matches.match_lines import event_line
from tests.patience import LONG, amount


def played(seed: int, first_deal: tuple[np.ndarray, int] | None = None, **options: object) -> Match:
    match = Match(seed, **options)  # type: ignore[arg-type]
    if first_deal is not None:
        match.redeal(*first_deal)
    rng = np.random.default_rng(seed)
    while not match.over:
        # the later payer may answer first
        due = match.pending()[-1]
        match.apply(due.seat, int(rng.integers(len(due.actions))))
    return match


def today(match: Match, names: list[str] | None = None, **extra: Any) -> str:
    """Return the record of a match that kept its events."""
    rows = (match_header(match, names, **extra), *MatchPieces().of(match.events))
    return "".join(json.dumps(row) + "\n" for row in rows)


def lines_of(events: list[Any]) -> list[str]:
    level, found = 0, []
    for event in events:
        level = event.level if isinstance(event, Dealt) else level
        found.append(event_line(event, level))
    return found


def only(text: str) -> RoundRecord:
    ((_, record),) = parse_rounds(text, "m")
    return record


@cache
def short() -> Match:
    """Return a match of few rounds, some of them with tribute."""
    return played(7, levels=("K", "Q"), owner=0)


def short_text() -> str:
    return today(short(), ["a", "b", "c", "d"], note="hello")


def replayed(match: Match) -> RoundRecord:
    """Return the record of a match, which replays to the same end."""
    record = only(today(match))
    assert record.complete and record.seed == match.seed
    told = []
    for again, event in match_events(record):
        told.append(event)
        if isinstance(event, Played) and again.phase == "play" and again.state["plays"][0] > 0:
            # the match stands behind the move just made
            assert again.state["last"][0, event.seat] == event.action
    assert lines_of(told) == lines_of(match.events)
    assert again.rules == match.rules
    assert (again.winner, again.round, again.levels) == (match.winner, match.round, match.levels)
    assert np.array_equal(again.state, match.state), "the whole last round, public hash included"
    return record


@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.some(2)
def test_a_match_reads_back_and_replays_to_the_same_end(rules: str) -> None:
    high = {} if LONG in os.environ else {"levels": ("K", "A"), "owner": 1}  # a match of few rounds
    replayed(played(21, rules=rules, **high))


def test_given_deals_levels_and_lead_replay() -> None:
    hands = next(e.hands for e in Match(99).events if isinstance(e, Dealt))
    rules = {"ace_limit": 2, "max_drops": 5, "first_lead": "seat 0", "max_rounds": 2}
    match = played(3, (hands, 2), levels=("A", "5"), owner=0, rules=rules)
    record = replayed(match)
    assert record.game == match_name(match.rules, ("A", "5"), 0) and "ace_limit=2" in record.game


def test_the_words_of_a_game_name_its_rules() -> None:
    for rules in (*PRESETS.values(), Rules(max_drops=3, return_levels=True)):
        game = GuanDanMatch(match_name(rules, ("T", "A"), 1))
        assert (game.rules, game.levels, game.owner) == (rules, (8, 12), 1)
    words = (
        "guandan_match()",
        "guandan_match(rules=njupt",
        "guandan_match(ace_limit=2,ace_limit=3)",
        *(f"guandan_match({w})" for w in ("rules=tea", "levels=2", "levels=25,owner=2")),
    )
    for wrong in ("guandan_match", *words, "guandan_match(rules=njupt,ace_limit=1)"):
        with pytest.raises(GameError):
            GuanDanMatch(wrong)


def test_a_record_is_whole_after_every_event(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    match, pieces = Match(8), MatchPieces()
    rng = np.random.default_rng(8)
    with open(path, "w") as file:
        rows = [match_header(match), *pieces.of(match.events)]
        for _ in range(amount(150, 100)):
            file.writelines(json.dumps(row) + "\n" for row in rows)
            file.flush()
            if rng.random() < 0.05:
                record = read_match(path)
                told = [event for _, event in match_events(record)]
                assert lines_of(told) == lines_of(match.events) and not record.complete
            due = match.pending()[0]
            rows = list(pieces.of(match.apply(due.seat, int(rng.integers(len(due.actions))))))


def test_a_cut_last_line_is_refused_or_dropped_on_request(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    whole = today(short())
    path.write_text(whole[: whole.index("\n", len(whole) // 2) - 5])
    with pytest.raises(RoundRecordError, match=r"cut\.jsonl, line \d+: .* cut off"):
        read_match(path)
    record = read_match(path, repair=True)
    assert not record.complete and len(list(match_events(record))) > 50


def pieces_with(text: str, start: str, change: Callable[[str], Any]) -> str:
    """Return a record with the first words changed that begin, or whose move begins, in this way."""
    rows = [json.loads(line) for line in text.splitlines()]
    for row in rows[1:]:
        for key in ("chance", "play"):
            words = row.get(key, ())
            at = next((k for k, word in enumerate(words) if start in word[:12]), None)
            if at is not None:
                words[at] = change(words[at])
                return "".join(json.dumps(row) + "\n" for row in rows)
    raise AssertionError(start)


@pytest.mark.parametrize(
    ("start", "change", "message"),
    [
        ("leads", lambda w: w.replace("S2", "XX"), "chance 1: .* a card is"),
        ("leads", lambda w: w.rpartition(" / ")[0], "chance 1: .* a deal must be four hands"),
        ("leads", lambda w: w.partition("; ")[2], "chance 1: .* a deal must be four hands"),
        ("leads", lambda w: "P7" + w[2:], "chance 1: .* first is a seat"),
        ("leads", lambda w: w.partition(" / ")[0] + " / " * 3, "chance 1: .* 27 of the 108 cards"),
        ("[", lambda w: f"P{(int(w[1]) + 1) % 4}{w[2:]}", "play 1: P. is to act"),
        ("[", lambda w: w[:3] + '["Single","3",["Z3"]]', "play 1: .* a card is"),
        ("[", lambda w: w[:3] + '["Triple","3",["S3"]]', "play 1: .* a type must be one of"),
        ("[", lambda w: w[:3] + '["PASS","PASS","PASS"]', "play 1: .* is not legal"),
        ("[", lambda w: w[:3] + "dance", "play 1: .* must be legal here"),
        ("[", lambda w: w[:3] + "tribute HR", "play 1: .* the time for play"),
        ("[", lambda w: w[1:], "play 1: a move must be as"),
        ("tribute", lambda w: w[:-2] + "H2", "is not legal"),
        ("tribute", lambda w: w.replace("tribute", "back"), "the time for tribute"),
        ("back", lambda w: w[:-2] + "HR", "is not legal for seat"),
    ],
)
def test_damaged_records_are_refused_with_place_and_reason(
    start: str, change: Callable[[str], Any], message: str
) -> None:
    with pytest.raises(RoundRecordError, match=message) as caught:
        list(match_events(only(pieces_with(short_text(), start, change)), "m.jsonl"))
    assert str(caught.value).startswith("m.jsonl: ")


def test_a_missing_line_is_noticed() -> None:
    lines = short_text().splitlines(keepends=True)
    for kind in ('{"chance', " tribute ", " back ", '{"play', '{"payoffs'):
        at = next(k for k, line in enumerate(lines) if kind in line)
        left = only("".join(lines[:at] + lines[at + 1 :]))
        if kind == '{"payoffs':
            assert not left.complete
            continue
        with pytest.raises(RoundRecordError, match="m: "):
            list(match_events(left, "m"))


def test_no_record_at_all_is_refused(tmp_path: Path) -> None:
    assert only(short_text()).agents == ("a", "b", "c", "d")
    with pytest.raises(RoundRecordError, match="must have a round"):
        parse_rounds("", "m")
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RoundRecordError, match="must be UTF-8 text"):
        read_match(tmp_path / "x")
    (tmp_path / "y").write_text(today(short()) * 2)
    with pytest.raises(RoundRecordError, match="must hold one match; this one holds 2"):
        read_match(tmp_path / "y")


def test_a_random_match_is_told_and_its_record_tells_the_same(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    told = list(random_lines(3, rounds=2, record=path, canonical=True))
    again = list(replay_lines(path))
    assert told == again[:-1] and again[-1] == "the record ends here, in round 2"
    assert told == list(random_lines(3, rounds=2, canonical=True))
    second = list(replay_lines(path, rounds=range(2, 3), hands=False))
    assert second[1].startswith("round 2, level ") and len(second) < len(again)
    for beyond in (3, 99, 10**9):
        with pytest.raises(RoundRecordError, match=rf"must be in 1\.\.2; got {beyond}; choose another"):
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
    last = list(random_lines(2, rounds=None, level="A", canonical=True))[-1]
    assert last.startswith("match over after ") and last.endswith(" win")
    for rounds, words in ((1, "1 round"), (2, "2 rounds")):
        (line,) = Narrator().lines([MatchOver(None, rounds)])
        assert line == f"match over after {words}: nobody wins"
