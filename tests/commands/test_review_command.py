"""`gs2 review` as people run it: the terminal, JSON, one HTML file, and what it refuses."""

from __future__ import annotations

import json

import pytest

from gs2.review import reviewing
from tests.commands.runner import gs2
from tests.gs2.guandan.review.spoken import heard_of, labelled, record_text
from tests.gs2.guandan.review.test_judging import without_weights


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """A record of two rounds; reviews are made without weights, and kept in a folder of these tests' own."""
    folder = tmp_path_factory.mktemp("review")
    path = folder / "match.jsonl"
    path.write_text(record_text(1, 2, ["Ann", "[red]Bob", "</script><img>", "\x1b[31mEve"]))
    with pytest.MonkeyPatch.context() as patch:
        without_weights(patch, folder / "cache")
        yield path


def run(*words: object):
    return gs2("review", *words)


def test_the_terminal_shows_curves_players_and_the_dearest_decisions(record):
    found = run(record, "--rows", 3)
    assert found.exit_code == 0, found.output
    for words in ("match.jsonl: 2 rounds", "Ann (0)", "[red]Bob (1)", "[31mEve (3)", "better", "line"):
        assert words in found.stdout
    assert found.stdout.count(" levels\n") == 3
    assert "\x1b" not in found.stdout
    assert len([line for line in found.stdout.splitlines() if "▁" in line or "█" in line]) >= 2


def test_json_is_the_whole_review_and_a_seat_or_a_round_a_part_of_it(record):
    whole = json.loads(run(record, "--json").stdout)
    assert whole["format"] == "gs2 review"
    assert len(whole["rounds"]) == 2
    one = json.loads(run(record, "--json", "--seat", 2, "--round", 2).stdout)
    assert len(one["rounds"]) == 1
    kept = [found for found in whole["rounds"][1]["decisions"] if found["seat"] == 2]
    assert one["rounds"][0]["decisions"] == kept
    assert [player["seat"] for player in one["players"]] == [2]
    assert "match.jsonl: 1 round, judged" in run(record, "--round", 2).stdout
    for play in one["rounds"][0]["plays"]:
        assert play["decision"] is None or kept[play["decision"]]["seat"] == play["seat"] == 2


def test_the_page_is_one_file_that_is_never_written_over(record, tmp_path):
    page = tmp_path / "review.html"
    found = run(record, "--html", page)
    assert found.exit_code == 0, found.output
    text = page.read_text()
    assert "gs2/review.js" in text
    assert "<img" not in text
    assert "http://" not in text.replace("http://www.w3.org/", "")
    again = run(record, "--html", page)
    assert again.exit_code == 2
    assert "must be a new file" in again.stderr
    assert page.read_text() == text


def test_a_transcript_is_reviewed_as_a_record_is(record, tmp_path):
    path = tmp_path / "heard.jsonl"
    path.write_text(labelled(heard_of(2, 1, "openguandan")))
    found = run(path, "--json", "--no-cache")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["kind"] == "openguandan"


def test_reviews_of_several_games_are_in_the_units_of_each(record, monkeypatch):
    one = json.loads(run(record, "--json").stdout)
    points = {**one, "unit": "points"}
    several = [[one, one], [one, points], [points, points]]
    for reviews, units in zip(several, ("levels", "levels or points", "points"), strict=True):
        monkeypatch.setattr(reviewing, "review_records", lambda *_, found=reviews, **__: enumerate(found))
        assert f"lost a round: {units} behind the best moves found" in run(*[record] * len(reviews)).stdout


def test_what_cannot_be_reviewed_is_refused_in_one_line(record, tmp_path):
    empty, text = tmp_path / "empty", tmp_path / "text"
    empty.write_text("")
    text.write_text("Dear diary,\n")
    for words, said in (
        ([tmp_path / "none.jsonl"], "none.jsonl"),
        ([tmp_path], "folder"),
        ([empty], "no round begins"),
        ([text], "text:1: "),
        ([record, "--round", 9], "a round is 1..2; got 9"),
        ([record, "--seat", 4], "--seat"),
        ([record, "--preset", "deep"], "--preset"),
        ([record, "--html", tmp_path / "no" / "page.html"], "folder"),
    ):
        found = run(*words)
        assert found.exit_code == 2, words
        assert said in found.stderr
        assert "Traceback" not in found.output
