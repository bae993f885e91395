"""Hints as a table's page shows them: of its connection, and of what was asked at last."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.web.modules.least_browser import in_page, needs_node
from tests.web.tables.stored_tables import game_table, stored_table_of_people

pytestmark = needs_node

PAGE = """
import { asked, newRoot, pass, report, server, sockets } from "browser";
const { Table } = await import("gs2/table.js");
const { say } = await import("gs2/words.js");
server.answer = () => ({ games: [] });
const root = newRoot();
const page = new Table(root, "t", { go() {} });
const line = () => sockets.at(-1);
line().open(data.before);
await pass(10);
const told = () => root.querySelector(".hint-place").textContent;
const press = () => page.own.parts.hint.click();
const quiet = say(data.game ? "games.hint.ask" : "hint.ask");
const thinking = say("hint.thinking");
const hint = (status, about, more = {}) => line().say({ type: "hint", status, ...about, ...more });
"""


def game_states(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a table of DouDiZhu as the landlord sees it with many choices, and with few."""
    table = game_table(folder, "doudizhu", ("person", "rules", "rules"))
    before = table.state(0)
    for _ in range(3):
        (seat,) = table.play.pending
        table.choose(seat, table.play.count(seat) - 1)
    after = table.state(0)
    table.close()
    assert before["turn"]["you"]["count"] > after["turn"]["you"]["count"] > 0
    return before, after


def guandan_states(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a table of GuanDan as a seat sees it that is to act, and when it is to act again."""
    states = []
    for at in range(2):
        table, _ = stored_table_of_people(
            folder / str(at),
            lambda table, at=at: len(table.play.choices) >= 4 * at and 0 in table.play.pending,
            seed=1,
        )
        states.append(table.state(0))
    return states[0], states[1]


@cache
def case(kind: str) -> dict[str, Any]:
    """Return what the page is told: two states that have one number, as a server that began anew may give."""
    with TemporaryDirectory() as folder:
        before, after = (game_states if kind == "game" else guandan_states)(Path(folder))
    for state in (before, after):
        state["table"]["advisers"] = ["rules" if kind == "game" else "gs2"]
    for number in ("version", "since"):
        after[number] = before[number]
    about = {"since": before["since"], "agent": before["table"]["advisers"][0]}
    passed = ["PASS", "PASS", "PASS"]
    if kind == "game":
        found = {"best": 0, "moves": [{"index": 0, "share": 1, "value": None, "gain": None, "move": passed}]}
    else:
        found = {"index": 0, "explanation": None, "choice": ["Single", "3", ["S3"]]}
    return {"game": kind == "game", "before": before, "after": after, "found": found, "about": about}


@pytest.mark.parametrize("kind", ["game", "guandan"])
def test_a_hint_ends_when_it_is_refused_and_with_the_connection_over_which_it_was_asked(kind: str) -> None:
    found = in_page(
        PAGE
        + """
        const shown = [told().includes(quiet)];
        press();
        line().say({ type: "error", code: "stale", text: "the table has changed since; look again" });
        shown.push(!told().includes(thinking));
        for (const answered of [true, false]) {
          press();
          hint("thinking", data.about);
          shown.push(told().includes(thinking));
          if (answered) {
            hint("done", data.about, data.found);
            shown.push(!told().includes(thinking) && !told().includes(quiet));
          }
          const lines = sockets.length;
          line().close();
          shown.push(told().includes(quiet));
          await pass(10000);
          line().open(data.after);
          shown.push(told().includes(quiet) && sockets.length === lines + 1);
        }
        report(shown);
        """,
        case(kind),
    )
    assert found == [True] * 9


@pytest.mark.parametrize("kind", ["game", "guandan"])
def test_only_the_hint_that_was_asked_at_last_is_shown(kind: str) -> None:
    old = {**case(kind)["about"], "since": 1}
    found = in_page(
        PAGE
        + """
        hint("thinking", data.old);
        press();
        const pressed = line().sent.at(-1);
        hint("failed", data.old, { error: "another was asked for" });
        hint("thinking", data.about);
        hint("done", data.old, data.found);
        const shown = [told().includes(thinking)];
        hint("failed", data.about, { error: "it took too long" });
        shown.push(told().includes("it took too long"));
        report([pressed.type, shown]);
        """,
        {**case(kind), "old": old},
    )
    assert found == ["hint", [True, True]]
