"""Whole reviews as plain data: their schema, their cache, their page."""

from __future__ import annotations

import json
import os
import re
from collections import Counter

import numpy as np
import pytest

from games.guandan.cards import CARD_NAMES
from games.guandan.rounds.state import NOBODY
from gs2.guandan.agent.deals.dealing import DealNetworks
from gs2.guandan.agent.rollout import Rollouts
from gs2.guandan.review import reviewing
from gs2.guandan.review.game_files import ReviewError, parse_game
from gs2.guandan.review.review_cache import default_cache, kept_review
from gs2.guandan.review.review_presets import VERDICTS
from gs2.guandan.review.reviewing import Reviewer, review_text
from gs2.web.pages import standalone_page
from tests.gs2.guandan.blueprints import CountEvaluator
from tests.gs2.guandan.review.spoken import bare, heard_of, played_events, record_text
from tests.gs2.guandan.review.test_judging import SMALL
from tests.patience import LONG, amount

NAMES = ["</script><img src=x onerror=alert(1)>", "Ann", "[bold]Bob[/bold]", "李"]


@pytest.fixture
def small(monkeypatch) -> list[int]:
    """Reviews by a blueprint without weights; the list counts how many were made."""
    made: list[int] = []

    def load(config):
        made.append(1)
        return Reviewer(DealNetworks(CountEvaluator(0.05)), SMALL, "test")

    monkeypatch.setattr(reviewing, "load_reviewer", load)
    monkeypatch.setattr(reviewing, "_fingerprint", lambda: "test")
    return made


def test_a_review_is_plain_data_that_fits_together(small):
    told: list[tuple[int, int]] = []
    text = record_text(1, 2, NAMES)
    review = review_text(text, name="mine", progress=lambda done, total: told.append((done, total)))
    assert json.loads(json.dumps(review, allow_nan=False)) == review
    assert (review["format"], review["version"], review["kind"]) == ("gs2 review", 2, "record")
    assert review["names"] == NAMES
    assert len(review["rounds"]) == 2
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1] == sum(len(played["decisions"]) for played in review["rounds"])
    for played in review["rounds"]:
        assert len(played["curve"]) == len(played["plays"]) + 1
        assert Counter(card for hand in played["hands"] for card in hand) == Counter(CARD_NAMES * 2)
        for number, decision in enumerate(played["decisions"]):
            assert played["plays"][decision["play"]]["decision"] == number
            assert played["plays"][decision["play"]]["seat"] == decision["seat"]
            assert decision["verdict"] in VERDICTS
            wrong = decision["verdict"] in VERDICTS[2:]
            assert bool(decision["line"]) == wrong
            assert decision["line_deal"] == ("actual" if wrong else None)
            assert decision["moves"][0]["move"] == decision["best"]
            if wrong:
                assert decision["line"][0] == {"seat": decision["seat"], "move": decision["best"]}
    for player in review["players"]:
        mine = [
            decision
            for played in review["rounds"]
            for decision in played["decisions"]
            if decision["seat"] == player["seat"]
        ]
        assert player["decisions"] == len(mine) == sum(player["verdicts"].values())
        wrong = sum(decision["loss"] for decision in mine if decision["verdict"] in VERDICTS[2:])
        assert player["lost"] == pytest.approx(wrong, abs=0.01)
        for place, play in player["costliest"]:
            assert review["rounds"][place]["plays"][play]["seat"] == player["seat"]


def test_the_same_text_gives_the_same_review_in_whole_and_in_part(small):
    text = record_text(2, 2)
    whole = review_text(text, name="mine")
    assert whole == review_text(text, name="mine")
    part = review_text(text, name="mine", rounds=[2])
    assert part["rounds"] == whole["rounds"][1:2]
    with pytest.raises(ReviewError, match=r"a round is 1\.\.2; got 3"):
        review_text(text, rounds=[3])
    with pytest.raises(ReviewError, match="fast or standard; got 'deep'"):
        review_text(text, preset="deep")


def test_a_round_that_is_not_over_is_reviewed_from_one_seats_view(small):
    events = played_events(3, 1)
    mine = [message for message in heard_of(events[: len(events) * 2 // 3], "njupt") if message[0] == 1]
    played = review_text(bare(mine))["rounds"][0]
    assert [hand is None for hand in played["hands"]] == [True, False, True, True]
    assert played["curve_of"] == 1
    assert played["result"] is None
    assert {decision["seat"] for decision in played["decisions"]} == {1}
    deals = {decision["line_deal"] for decision in played["decisions"]}
    assert deals <= {None, "likely"}


def test_a_review_that_was_made_before_is_read_and_a_damaged_one_made_anew(small, tmp_path):
    text = record_text(4, 1)
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
    assert kept_review(folder, "0" * 40) is None


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(small, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert review_text(record_text(5, 1), cache=blocked / "reviews")["rounds"]


def test_the_cache_lies_where_the_user_keeps_caches(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "gs2" / "reviews"


def test_names_in_a_page_stay_text(small):
    review = review_text(record_text(6, 1, NAMES), name="</title><script>alert(1)</script>")
    page = standalone_page(
        review["name"], "review.js", review, modules=["review.js", "cards.js"], styles=["review.css"]
    )
    assert "<img" not in page
    assert "<script>alert" not in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert data is not None
    assert json.loads(data[1]) == review


def test_too_many_rounds_are_refused_before_any_work(small, monkeypatch):
    monkeypatch.setattr(reviewing, "MOST_ROUNDS", 1)
    text = record_text(7, 2)
    with pytest.raises(ReviewError, match="at most 1 rounds; this file has 2"):
        review_text(text)
    assert len(review_text(text, rounds=[2])["rounds"]) == 1


def test_the_shipped_networks_review_a_round():
    game = parse_game(record_text(8, 1))
    reviewer = reviewing.load_reviewer("fast")
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
        review = reviewing.load_reviewer("fast").review(game)
        costs = [player.as_it_lay for player in review.players]
        alone = float(Rollouts(CountEvaluator(0.05)).payoffs(played.start.copy())[0])
        assert played.end is not None
        assert alone - costs[0] + costs[1] - costs[2] + costs[3] == pytest.approx(played.end.payoffs[0])
