"""Whole reviews as plain data: their schema, their cache, their page; many records by one command."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from games.guandan.cards import CARD_NAMES
from games.guandan.rounds.state import NOBODY
from games.record import RoundRecordError
from games.support.work.where import where_of
from gs2.guandan.agent.rollout import Rollouts
from gs2.guandan.review import match_review
from gs2.guandan.review.match_review import MatchReview
from gs2.play.arena import Meeting, contest_of
from gs2.review import reviewing
from gs2.review.review_data import VERDICTS, ReviewError
from gs2.review.reviewing import (
    default_cache,
    kept_review,
    parse_game,
    review_records,
    review_text,
)
from gs2.web.pages import review_page
from tests.commands.runner import gs2
from tests.gs2.guandan.blueprints import CountEvaluator
from tests.gs2.guandan.review.spoken import bare, heard_of, record_text
from tests.gs2.guandan.review.test_judging import without_weights
from tests.gs2.review.test_game_review import check
from tests.patience import LONG, amount

NAMES = ["</script><img src=x onerror=alert(1)>", "Ann", "[bold]Bob[/bold]", "李"]


@pytest.fixture
def small(monkeypatch, tmp_path) -> list[int]:
    """Reviews by a blueprint without weights; the list counts how many were made."""
    return without_weights(monkeypatch, tmp_path / "cache")


def test_a_review_is_plain_data_that_fits_together(small):
    told: list[tuple[int, int]] = []
    text = record_text(1, 2, NAMES)
    review = review_text(text, name="mine", progress=lambda done, total: told.append((done, total)))
    check(review)
    assert (review["names"], review["unit"], len(review["rounds"])) == (NAMES, "levels", 2)
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1] == sum(len(played["decisions"]) for played in review["rounds"])
    for played in review["rounds"]:
        assert len(played["curve"]) == len(played["plays"]) + 1
        assert Counter(card for hand in played["hands"] for card in hand) == Counter(CARD_NAMES * 2)
        for decision in played["decisions"]:
            wrong = decision["verdict"] in VERDICTS[2:]
            assert bool(decision["line"]) == wrong
            assert decision["line_deal"] == ("actual" if wrong else None)
            if wrong:
                assert decision["line"][0] == {"seat": decision["seat"], "move": decision["best"]}


def test_the_same_text_gives_the_same_review_in_whole_and_in_part(small, tmp_path, monkeypatch):
    text = record_text(2, 2)
    whole = review_text(text, name="mine")
    (tmp_path / "file").write_text("")
    unkept = tmp_path / "file" / "reviews"
    assert whole == review_text(text, name="mine", cache=unkept), "a cache that cannot be written costs time"
    monkeypatch.setattr(reviewing, "MOST_ROUNDS", 1)
    part = review_text(text, name="mine", rounds=[2])
    assert part["rounds"] == whole["rounds"][1:2]
    for how, says in (
        ({}, "at most 1 rounds; this file has 2"),
        ({"rounds": [3]}, r"a round is 1\.\.2; got 3"),
        ({"preset": "deep"}, "fast or standard; got 'deep'"),
    ):
        with pytest.raises(ReviewError, match=says):
            review_text(text, **how)


def test_a_round_that_is_not_over_is_reviewed_from_one_seats_view(small):
    heard = heard_of(3, 1, "njupt")
    mine = [message for message in heard[: len(heard) * 2 // 3] if message[0] == 1]
    played = review_text(bare(mine))["rounds"][0]
    assert [hand is None for hand in played["hands"]] == [True, False, True, True]
    assert played["curve_of"] == 1
    assert played["result"] is None
    assert {decision["seat"] for decision in played["decisions"]} == {1}
    deals = {decision["line_deal"] for decision in played["decisions"]}
    assert deals <= {None, "likely"}


def test_a_review_that_was_made_before_is_read_and_a_damaged_one_made_anew(small, tmp_path, monkeypatch):
    text = record_text(4, 1)
    text = text[: len(text) // 3]
    folder = tmp_path / "deep" / "reviews"
    first = review_text(text, name="one", cache=folder)
    assert review_text(text, name="two", cache=folder) == {**first, "name": "two"}
    assert len(small) == 1
    (file,) = folder.iterdir()
    damages = (
        b"[]",
        b"",
        file.read_bytes().replace(b'"version": 2', b'"version": 1'),
        b"{",
        file.read_bytes()[:-20],
        b"\xff",
    )[:: amount(1, 2)]
    for damage in damages:
        file.write_bytes(damage)
        assert review_text(text, name="one", cache=folder) == first
    assert len(small) == 1 + len(damages)
    review_text(text + " ", name="one", cache=folder)
    review_text(text, name="one", cache=folder, preset="standard")
    review_text(text, name="one", cache=folder, rounds=[1])
    assert len(small) == 4 + len(damages)
    assert len(list(folder.iterdir())) == 4
    assert kept_review(folder, "0" * 40, "mine") is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "gs2" / "reviews", "where the user keeps caches"


def test_names_in_a_page_stay_text(small):
    review = review_text(record_text(6, 1, NAMES), name="</title><script>alert(1)</script>")
    page = review_page(review)
    assert "<img" not in page
    assert "<script>alert" not in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert data is not None
    assert json.loads(data[1]) == review


def test_the_shipped_networks_review_a_round():
    game = parse_game(record_text(8, 1))
    reviewer = MatchReview("guandan_match")
    once = reviewer.review(game, name="x").to_json()
    if LONG in os.environ:
        assert once == reviewer.review(game, name="x").to_json()
    decisions = once["rounds"][0]["decisions"]
    assert {decision["stage"] for decision in decisions} >= {"search", "clear"}
    # random players lose what good ones do not
    assert sum(player["lost"] for player in once["players"]) > 3
    assert np.abs(once["rounds"][0]["curve"]).max() < 6


def test_what_moves_cost_as_the_cards_lay_adds_up_to_what_the_round_brought(small):
    """The blueprint's play of the deal, less what every seat's moves cost its side, is the result."""
    for seed in range(amount(3, 2)):
        game = parse_game(record_text(20 + seed, 1))
        played = game.rounds[0]
        played.start["fails"] = NOBODY
        review = MatchReview("guandan_match").review(game)
        costs = [player.as_it_lay for player in review.players]
        alone = float(Rollouts(CountEvaluator(0.05)).payoffs(played.start.copy())[0])
        assert played.end is not None
        assert alone - costs[0] + costs[1] - costs[2] + costs[3] == pytest.approx(played.end["payoffs"][0])


def test_rounds_and_whole_games_of_a_match_are_read_and_their_players_keep_their_names(small, tmp_path):
    """The agents of a match swap seats in the second game of a pair."""
    for terms in ({}, {"whole": True}):
        contest = contest_of("guandan", terms)
        met = Meeting("guandan(moves=full)", "random", "greedy", pairs=1, seed=5, terms=contest.terms)
        rounds = contest.play(met, [0], recorded=True).rounds
        text = "".join(json.dumps(record.to_json()) + "\n" for record in rounds)
        game = parse_game(text)
        assert game.names == ("random", "greedy", "random", "greedy") and game.complete
        assert {(one.game, one.told.players) for one in game.rounds} == {
            (1, (0, 1, 2, 3)),
            (2, (1, 0, 3, 2)),
        }
        assert (len(game.rounds) > 2) == bool(terms)
        if not terms:
            (tmp_path / "match.jsonl").write_text(text)
            for one, record in zip(game.rounds, rounds, strict=True):
                assert (one.end["payoffs"], one.end["levels"]) == (list(record.payoffs), None)
                assert len(one.actions) == len(record.play)
            review = json.loads(gs2("review", tmp_path / "match.jsonl", "--json").stdout)
            check(review)
            alone = json.loads(gs2("review", tmp_path / "match.jsonl", "--json", "--seat", 1).stdout)
            seats = [{found["seat"] for found in one["decisions"]} for one in alone["rounds"]]
            assert seats == [{1}, {0}] and alone["players"] == review["players"][1:2]
            wrong = text.replace("Single", "Simple", 1)
            with pytest.raises(RoundRecordError, match=r"^x: play \d+: an action must be legal here"):
                parse_game(wrong, name="x")


@pytest.fixture
def records(small: list[int], tmp_path: Path) -> list[Path]:
    """Three records of the beginning of a round; reviews are made without weights, and kept for the test."""
    paths = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for seed, path in enumerate(paths):
        text = record_text(seed, 1, ["Ann", "Bob", "Cat", "Eve"])
        path.write_text(text[: len(text) // 3])
    return paths


def test_several_records_come_to_what_each_comes_to_alone(records: list[Path], tmp_path: Path) -> None:
    found = gs2("review", *records, "--json", "--no-cache")
    assert found.exit_code == 0, found.output
    assert not (tmp_path / "cache").exists(), "reviews are kept unless one says no"
    alone = [json.loads(gs2("review", path, "--json").stdout) for path in records]
    assert json.loads(found.stdout) == {"reviews": alone, "complete": True}
    # of those, a line for each player
    shown = gs2("review", *records).stdout
    assert [shown.count(path.name) for path in records] == [1, 1, 1]
    assert shown.count("Ann (0)") == shown.count("Eve (3)") == 3
    assert gs2("review", *records, "--seat", 2).stdout.count("(2)") == 3


def test_what_was_judged_before_is_not_judged_again(
    records: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = gs2("review", *records[:2], "--json")
    judged: list[str] = []
    really = reviewing.review_text
    monkeypatch.setattr(
        reviewing,
        "review_text",
        lambda text, name, **how: judged.append(name) or really(text, name=name, **how),
    )
    second = gs2("review", *records, "--json")
    assert judged == ["c.jsonl"]
    assert json.loads(second.stdout)["reviews"][:2] == json.loads(first.stdout)["reviews"]


def test_what_cannot_be_done_with_several_files_is_refused_before_any_is_judged(
    records: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(match_review, "_networks", lambda: pytest.fail("judged"))
    for words, said in (
        (("--html", tmp_path / "page.html"), "--html shows one record; got 3 files"),
        (("--rows", 3), "--rows shows one record; got 3 files"),
        ((), "c.jsonl"),
    ):
        records[2].write_text("nothing of the kind\n" if not words else records[2].read_text())
        found = gs2("review", *records, *words)
        assert found.exit_code == 2 and said in " ".join(found.output.split())
        assert "Traceback" not in found.output


def test_reviews_that_are_stopped_keep_those_that_were_made(records: list[Path], tmp_path: Path) -> None:
    texts = [(path.name, path.read_text()) for path in records]
    kept = tmp_path / "kept"
    made: list[int] = []
    for number, _ in review_records(texts, where_of(1), cache=kept, stop=lambda: len(made) == 1):
        made.append(number)
    assert made == [0]
    again = [number for number, _ in review_records(texts, where_of(1), cache=kept, stop=lambda: True)]
    assert again == [0]
    with pytest.raises(ReviewError, match="a round is 1"):
        list(review_records(texts, where_of(1), rounds=(9,)))
