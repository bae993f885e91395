"""Many records reviewed by one command: each a piece of work, kept as soon as it is judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from games.support.work.where import where_of
from gs2.cli import main
from gs2.guandan.agent.deals.dealing import DealNetworks
from gs2.guandan.review import reviewing
from gs2.guandan.review.game_files import ReviewError
from gs2.guandan.review.many_records import ManyReviews, RecordText, review_records
from gs2.guandan.review.reviewing import Reviewer
from tests.gs2.guandan.blueprints import CountEvaluator
from tests.gs2.guandan.review.spoken import record_text
from tests.gs2.guandan.review.test_judging import SMALL


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """Three records of a round; reviews are made without weights, and kept in a folder of the test's own."""
    networks = DealNetworks(CountEvaluator(0.05))
    monkeypatch.setattr(reviewing, "load_reviewer", lambda config: Reviewer(networks, SMALL, "test"))
    monkeypatch.setattr(reviewing, "_fingerprint", lambda: "test")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    paths = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for seed, path in enumerate(paths):
        path.write_text(record_text(seed, 1, ["Ann", "Bob", "Cat", "Eve"]))
    return paths


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["review", *map(str, words)])


def test_several_records_come_to_what_each_comes_to_alone(records: list[Path]) -> None:
    found = run(*records, "--json", "--no-cache")
    assert found.exit_code == 0, found.output
    together = json.loads(found.stdout)
    alone = [json.loads(run(path, "--json", "--no-cache").stdout) for path in records]
    assert together == {"reviews": alone, "complete": True}


def test_several_records_have_a_line_for_each_player(records: list[Path]) -> None:
    found = run(*records)
    assert found.exit_code == 0, found.output
    for path in records:
        assert found.stdout.count(path.name) == 1
    assert found.stdout.count("Ann (0)") == found.stdout.count("Eve (3)") == 3
    assert run(*records, "--seat", 2).stdout.count("(2)") == 3


def test_what_was_judged_before_is_not_judged_again(
    records: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(*records[:2], "--json")
    judged: list[str] = []
    really = reviewing.parse_game
    monkeypatch.setattr(
        reviewing, "parse_game", lambda text, name: judged.append(name) or really(text, name=name)
    )
    second = run(*records, "--json")
    assert judged == ["c.jsonl"]
    assert json.loads(second.stdout)["reviews"][:2] == json.loads(first.stdout)["reviews"]


def test_a_file_that_cannot_be_read_is_refused_before_any_is_judged(
    records: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviewing, "load_reviewer", lambda config: pytest.fail("judged"))
    records[2].write_text("nothing of the kind\n")
    found = run(*records)
    assert found.exit_code == 2 and "c.jsonl" in found.output and "Traceback" not in found.output


def test_one_page_shows_one_record(records: list[Path], tmp_path: Path) -> None:
    found = run(*records, "--html", tmp_path / "page.html")
    assert found.exit_code == 2 and "--html shows one record; got 3 files" in " ".join(found.output.split())
    found = run(*records, "--rows", 3)
    assert found.exit_code == 2 and "--rows shows one record; got 3 files" in " ".join(found.output.split())


def test_reviews_that_are_stopped_keep_those_that_were_made(records: list[Path], tmp_path: Path) -> None:
    texts = [RecordText(path.name, path.read_text()) for path in records]
    how = ManyReviews(cache=tmp_path / "kept")
    made: list[int] = []
    for number, _ in review_records(texts, how, where_of(1), stop=lambda: len(made) == 1):
        made.append(number)
    assert made == [0]
    again = [number for number, _ in review_records(texts, how, where_of(1), stop=lambda: True)]
    assert again == [0]
    with pytest.raises(ReviewError, match="a round is 1"):
        list(review_records(texts, ManyReviews(rounds=(9,)), where_of(1)))
