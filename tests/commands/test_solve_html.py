"""`--html`: a search, a decision and rows of experiments as one file each, never written over."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.commands.runner import as_json, gs2, one_line, ran
from tests.web.modules.least_browser import in_page, needs_node

KUHN = ("solve", "kuhn_poker", "--infoset", "P1 holds Q | bet")
ROWS = ("experiment", "report", "experiments/results/rows/closures")
LARGE = ("solve", "goofspiel(cards=13)", "--blueprint", "uniform", "--method", "gs2", "--iterations", "5")
COMMANDS = {"solve": KUHN, "guandan": ("solve", "guandan", "--method", "blueprint"), "rows": ROWS}


class Links(HTMLParser):
    """Addresses that a page would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what is fetched."""
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action")]


def data_of(page: Path) -> dict[str, Any]:
    """Return the data that a page carries."""
    text = page.read_text("utf-8")
    assert Links(text).found == [], "nothing is fetched"
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found is not None and text.startswith("<!doctype html>")
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_page_shows_what_the_command_prints_with_and_without_it(tmp_path: Path) -> None:
    page = tmp_path / "kuhn.html"
    printed, shown = as_json(*KUHN, "--html", str(page)), data_of(page)
    assert shown["format"] == "gs2 solve" and shown["version"] == 1
    named = (
        "game",
        "infoset",
        "histories",
        "opponents",
        "nodes",
        "cut_off",
        "config",
        "blueprint_spec",
        "seed",
    )
    assert {field: shown[field] for field in named} == {field: printed[field] for field in named}
    assert shown["blueprint_spec"] == printed["blueprint_spec"]
    without = as_json(*KUHN)
    assert without | {"seconds": 0} == printed | {"seconds": 0}
    assert shown["whole_game"]["opponent_best_response"] == pytest.approx(printed["opponent_best_response"])
    assert shown["whole_game"]["replaced"] == printed["replaced"]
    assert [row["refined"] for row in shown["actions"]] == [row["refined"] for row in printed["actions"]]
    assert set(shown["trees"]) == {"seen", "histories"}
    title = re.search("<title>(.*?)</title>", page.read_text())
    assert title is not None and "P1 holds Q | bet" in title[1]


def test_histories_that_are_drawn_are_shown_without_a_tree(tmp_path: Path) -> None:
    page = tmp_path / "large.html"
    ran(*LARGE, "--html", str(page))
    shown = data_of(page)
    assert shown["trees"] is None and shown["whole_game"] is None and shown["sampled"]["histories"] > 0


@needs_node
def test_actions_that_were_not_searched_are_on_the_page_without_a_value(tmp_path: Path) -> None:
    page = tmp_path / "leduc.html"
    words = ("solve", "leduc_poker", "--blueprint", "uniform", "--method", "rollout")
    ran(*words, "--html", str(page))
    shown = data_of(page)
    script = """
    import { report } from "browser";
    const { signed } = await import("gs2/explore-words.js");
    report(data.map((row) => signed(row.value)));
    """
    told = in_page(script, shown["actions"])
    searched = [row["value"] is not None for row in shown["actions"]]
    assert len(told) == 3 and 0 < sum(searched) < 3
    assert [text != "–" for text in told] == searched
    assert any(note.startswith("actions not searched: ") for note in shown["cut_off"])


def test_a_guandan_decision_is_shown(tmp_path: Path) -> None:
    page = tmp_path / "decision.html"
    printed, shown = as_json(*COMMANDS["guandan"], "--html", str(page)), data_of(page)
    assert shown["kind"] == "guandan decision" and shown["title"]
    assert shown["moves"] == printed["moves"] and shown["play"] == printed["play"]


def test_rows_are_shown_one_for_each_cell(tmp_path: Path) -> None:
    page = tmp_path / "rows.html"
    assert as_json(*ROWS, "--html", str(page)) == {"written": [str(page)]}
    shown = data_of(page)
    assert shown["format"] == "gs2 rows" and shown["rows"]
    keys = [
        tuple(row[name] for name in ("game", "blueprint", "method", "limit", "mode")) for row in shown["rows"]
    ]
    assert len(set(keys)) == len(keys)
    for row in shown["rows"]:
        assert row["low"] <= row["ratio"] * (1 + 1e-9) and row["ratio"] <= row["high"] * (1 + 1e-9)
        assert row["seeds"] >= 1 and (row["seeds"] > 1 or row["low"] == row["high"] == row["ratio"])
    assert not (tmp_path / "RESULTS.md").exists(), "a page takes the place of tables"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_is_never_written_over_and_refused_before_the_work(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there.html"
    there.write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "nowhere.html").symlink_to(tmp_path / "missing" / "x.html")
    for place in (there, tmp_path / "folder", tmp_path / "none" / "x.html", tmp_path / "nowhere.html", ""):
        assert one_line(*COMMANDS[command], "--html", place).startswith("gs2: ")
    assert there.read_text() == "mine"


def test_rows_are_written_as_tables_or_as_a_page(tmp_path: Path) -> None:
    result = gs2(*ROWS, "--html", str(tmp_path / "a.html"), "-o", str(tmp_path / "b.md"))
    assert result.exit_code == 2 and "leave out --output" in result.output
    assert not list(tmp_path.iterdir())
