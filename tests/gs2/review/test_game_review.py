"""Records of DouDiZhu, Big2 and small games reviewed: what each decision cost by the search's values."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.game import TERMINAL
from games.record import RoundRecord, RoundRecordError
from games.registry import load_game
from gs2.review.review_data import THRESHOLDS, VERDICTS, ReviewError
from gs2.review.reviewing import parse_game, review_text
from gs2.web.games.game_round import GameRound, round_record
from gs2.web.tables.table import Refused
from tests.commands.runner import gs2
from tests.web.modules.least_browser import in_page, needs_node
from tests.web.tables.stored_tables import game_table

NAMES = ("Ann", "rules", "rules", "</script><b>Eve</b>")


def played(game: str, number: int = 1) -> RoundRecord:
    """Return the record of a round of random moves; its seats change by one with its number."""
    found = load_game(game, general_sum=True)
    rng = np.random.default_rng(number)
    round_ = GameRound(found, 7, number)
    while round_.player != TERMINAL:
        round_.take(int(rng.integers(len(round_.legal))))
    names = NAMES[: found.num_players]
    return round_record(round_, [names[(seat + number) % len(names)] for seat in range(len(names))])


def text_of(game: str, rounds: int = 1) -> str:
    return "".join(json.dumps(played(game, 1 + k).to_json()) + "\n" for k in range(rounds))


def check(review: dict[str, Any]) -> None:
    """Check that a review fits together."""
    assert json.loads(json.dumps(review, allow_nan=False)) == review
    assert (review["format"], review["version"], review["kind"]) == ("gs2 review", 2, "record")
    limits = review["thresholds"]
    assert 0 < limits["inaccuracy"] < limits["mistake"] < limits["blunder"]
    for one in review["rounds"]:
        assert len(one["curve"]) in (0, len(one["plays"]) + 1)
        assert len(one["players"]) == len(one["teams"]) == len(one["hands"])
        assert (
            one["result"]["payoffs"]
            and one["teams"][int(np.argmax(one["result"]["payoffs"]))] == one["result"]["winner"]
        )
        for number, decision in enumerate(one["decisions"]):
            play = one["plays"][decision["play"]]
            assert (play["decision"], play["seat"]) == (number, decision["seat"])
            assert decision["verdict"] in (*VERDICTS, "unknown")
            assert decision["choices"] > 1 and decision["loss"] >= 0
            moves = [move["move"] for move in decision["moves"]]
            assert moves[0] == decision["best"] and (
                play["move"] in moves or decision["verdict"] == "unknown"
            )
            if decision["verdict"] == "best":
                assert decision["best"] == play["move"] and decision["loss"] == 0
            elif decision["verdict"] in VERDICTS[2:]:
                assert decision["loss"] >= limits[decision["verdict"]] - 1e-3
                assert max(move["gain"] for move in decision["moves"]) == pytest.approx(
                    decision["loss"], abs=1e-3
                )
        for seat, hand in enumerate(one["hands"]):
            if hand is not None:
                shed = [
                    card
                    for play in one["plays"]
                    if play["seat"] == seat and play["move"][0] != "PASS"
                    for card in play["move"][2]
                ]
                assert not Counter(shed) - Counter(hand), "every card that was played was held"
    for player in review["players"]:
        mine = [
            decision
            for one in review["rounds"]
            for decision in one["decisions"]
            if one["players"][decision["seat"]] == player["seat"] and decision["verdict"] != "unknown"
        ]
        assert player["decisions"] == len(mine) == sum(player["verdicts"].values())
        wrong = sum(decision["loss"] for decision in mine if decision["verdict"] in VERDICTS[2:])
        assert player["lost"] == pytest.approx(wrong, abs=0.01)
        for place, play in player["costliest"]:
            one = review["rounds"][place]
            assert one["players"][one["plays"][play]["seat"]] == player["seat"]


@pytest.mark.parametrize(("game", "short"), [("doudizhu", 13), ("big2", 15)])
def test_what_random_moves_cost_is_found_by_the_shipped_network_with_search(game: str, short: int) -> None:
    told: list[tuple[int, int]] = []
    text = json.dumps(played(game, short).to_json())
    review = review_text(text, name="x", progress=lambda done, of: told.append((done, of)))
    check(review)
    assert told[-1][0] == told[-1][1] == len(review["rounds"][0]["decisions"])
    assert review["unit"] == "points"
    assert review["network"]["name"] == "network+search"
    stages = Counter(decision["stage"] for decision in review["rounds"][0]["decisions"])
    assert stages["search"] > 0 and set(stages) <= {"search", "clear", "values"}
    assert sum(player["lost"] for player in review["players"]) > review["thresholds"]["blunder"]
    assert bool(review["rounds"][0]["curve"]) == (game == "doudizhu"), "a curve needs two teams"


def test_a_policys_values_judge_a_small_game_and_players_keep_their_names_in_other_seats() -> None:
    review = review_text(text_of("leduc_poker", rounds=3))
    check(review)
    assert review["names"] == ["rules", "Ann"]
    assert [one["players"] for one in review["rounds"]] == [[0, 1], [1, 0], [0, 1]]
    assert {decision["stage"] for one in review["rounds"] for decision in one["decisions"]} == {"values"}
    assert all(one["hands"] == [None, None] for one in review["rounds"])
    again = review_text(text_of("leduc_poker", rounds=3))
    assert again == review, "the same text gives the same review"


def test_calls_of_an_auction_are_no_moves_and_the_landlord_is_a_team() -> None:
    game = parse_game(text_of("doudizhu(landlord=bid)", rounds=4))
    kinds = {one.kinds[at] for one in game.rounds for at in one.steps}
    assert "call" not in kinds and "solo" in kinds
    assert all(
        one.choices == [k for k in one.choices if len(one.legal(one.steps[k])) > 1] for one in game.rounds
    )


def test_what_is_no_record_of_one_game_is_refused_with_file_and_line() -> None:
    good = text_of("kuhn_poker")
    for text, error, says in (
        (good + text_of("leduc_poker"), ReviewError, "x, line 2: the rounds of a review are of one game"),
        (good.replace("kuhn_poker", "phantom_ttt"), ReviewError, "a review judges one of guandan, doudizhu"),
        (good.replace("kuhn_poker", "mine.py:GAME"), ReviewError, "no agent judges your own game"),
        (good.replace('"P0 ', '"P1 ', 1), RoundRecordError, "x, line 1: "),
        ("\n" + good, RoundRecordError, "x, line 1: a record must be one object of JSON; got ''"),
    ):
        with pytest.raises(error, match=says):
            review_text(text, name="x")


def test_the_command_shows_points_and_writes_the_page(tmp_path: Path) -> None:
    path, page = tmp_path / "leduc.jsonl", tmp_path / "page.html"
    path.write_text(text_of("leduc_poker", rounds=2))
    found = gs2("review", path, "--no-cache", "--html", page, "--rows", 99)
    assert found.exit_code == 0, found.output
    called = re.findall(r"(rules|Ann) \((\d)\)", found.stdout)
    assert set(called) == {("rules", "0"), ("Ann", "1")} and len(called) > 3
    assert "leduc.jsonl: 2 rounds, judged at fast by cfr" in found.stdout and "points behind" in found.stdout
    assert "gs2/review.js" in page.read_text() and "<b>" not in page.read_text()
    nobody = gs2("review", path, "--no-cache", "--seat", 2)
    assert nobody.exit_code == 2 and "leduc.jsonl: a seat must be 0..1; got 2" in nobody.stderr


def test_a_record_whose_rounds_pay_nobody_is_judged_by_the_usual_thresholds(tmp_path: Path) -> None:
    path = tmp_path / "goofspiel.jsonl"
    path.write_text(text_of("goofspiel", rounds=1))
    assert not any(played("goofspiel").payoffs)
    review = review_text(path.read_text())
    check(review)
    assert review["thresholds"] == THRESHOLDS
    shown = gs2("review", path, "--no-cache")
    assert shown.exit_code == 0 and "value to the first team" in shown.stdout
    assert "nobody" in shown.stdout and "+0 " not in shown.stdout


@needs_node
def test_the_page_says_that_nobody_won_a_round_that_pays_nobody() -> None:
    told = in_page(
        """
        import { newRoot, report } from "browser";
        const { start } = await import("gs2/review.js");
        const root = newRoot();
        start(root, data);
        report([".review-value", ".review-rounds"].map((part) => root.querySelector(part).textContent));
        """,
        review_text(text_of("goofspiel", rounds=1)),
    )
    assert all("nobody won" in part for part in told) and "won +0" not in told[0] and "+0" not in told[1]


def test_a_table_gives_its_finished_rounds_to_a_review(tmp_path: Path) -> None:
    table = game_table(tmp_path, "kuhn_poker", ("person", "person"))
    with pytest.raises(Refused, match="none is yet"):
        table.play.record_to_review({})
    while not table.play.round.over:
        table.choose(table.play.round.player, 0)
    review = review_text(table.play.record_to_review({}))
    assert len(review["rounds"]) == 1 and review["names"] == ["player 0", "player 1"]
    table.close()
