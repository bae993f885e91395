"""A table's page: hints, a clock, automatic play, a counter, sounds, a hand laid out by moves."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from gs2.web.games.game_play import GamePlay
from gs2.web.tables.table_log import TableSetup
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
const quiet = say("games.hint.ask");
const thinking = say("hint.thinking");
const hint = (status, about, more = {}) => line().say({ type: "hint", status, ...about, ...more });
const sent = () => line().sent.map((message) => message.type);
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
    move = {"index": 0, "share": 1, "value": None, "gain": None, "move": ["PASS", "PASS", "PASS"]}
    return {"before": before, "after": after, "found": {"best": 0, "moves": [move]}, "about": about}


def test_a_round_that_ends_again_after_an_undo_shows_its_result_again(tmp_path: Path) -> None:
    table = game_table(tmp_path, "guandan", ("person", "greedy", "greedy", "greedy"), seed=2)
    before = table.state(0)
    while not table.play.waiting:
        before = table.state(0)
        for seat in list(table.play.pending):
            table.choose(seat, table.play.count(seat) - 1)
    after = table.state(0)
    table.close()
    found = in_page(
        PAGE
        + """
        const due = [];
        for (const state of [data.after, data.before, data.after]) {
          line().say(state);
          due.push(page.boxName);
          if (state === data.after) page.box.close();
          line().say({ ...state, version: state.version + 1 });
          due.push(page.boxName);
        }
        report(due);
        """,
        {"before": before, "after": after},
    )
    assert found == ["round-1", "", "", "", "round-1", ""], "and a dialog that was closed stays so"


def test_a_review_is_offered_of_what_can_be_reviewed(tmp_path: Path) -> None:
    table = game_table(tmp_path, "leduc_poker", ("person", "cfr"), seed=2)
    while not table.play.finished:
        (seat,) = table.play.pending
        table.choose(seat, table.play.count(seat) - 1)
    state = table.state(0)
    table.close()
    own = GamePlay(TableSetup(id="t", game="sevens.py:Sevens", seats=("person", "random")), table.play.game)
    other = {**state, "version": state["version"] + 1, "table": {**state["table"], "reviewed": own.reviewed}}
    found = in_page(
        PAGE
        + """
        const shown = [!page.parts.review.hidden];
        line().say(data.other);
        report([...shown, !page.parts.review.hidden]);
        """,
        {"before": state, "other": other},
    )
    assert found == [True, False]


def test_a_hint_ends_when_it_is_refused_and_with_the_connection_over_which_it_was_asked() -> None:
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
        case("game"),
    )
    assert found == [True] * 9


def test_only_the_hint_that_was_asked_at_last_is_shown() -> None:
    old = {**case("game")["about"], "since": 1}
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
        {**case("game"), "old": old},
    )
    assert found == ["hint", [True, True]]


def test_a_turn_is_taken_when_its_time_is_over_and_not_before() -> None:
    found = in_page(
        PAGE
        + """
        const clock = () => root.querySelector(".clock").textContent;
        const shown = [clock() === ""];
        page.clock.set({ limit: 15 });
        await pass(14900);
        shown.push(clock().includes("1"), sent().every((type) => type === "select"));
        line().say(data.before);
        await pass(200);
        shown.push(sent().at(-1) === "suggest");
        const moves = [{ index: 0, move: ["Single", "3", ["S3"]], wild: null }];
        line().say({ type: "suggestions", since: data.before.since, moves });
        shown.push(sent().at(-1) === "play", line().sent.at(-1).index >= 0);
        await pass(60000);
        shown.push(sent().filter((type) => type === "play").length === 1);
        report(shown);
        """,
        case("game"),
    )
    assert found == [True] * 7


def test_a_suggestion_is_only_shown_after_a_turn_that_was_not_taken_for_the_player() -> None:
    found = in_page(
        PAGE
        + """
        page.clock.set({ limit: 15 });
        await pass(15100);
        const shown = [sent().at(-1)];
        const { since, version } = data.before;
        line().say({ type: "error", code: "not_your_turn", text: "the player was faster" });
        line().say({ ...data.after, version: version + 1, since: since + 1 });
        page.own.parts.suggest.click();
        const card = data.after.round.hands[data.after.table.you][0];
        const moves = [{ index: 0, move: ["Single", "3", [card]] }];
        line().say({ type: "suggestions", since: since + 1, moves });
        report([...shown, sent().at(-1), sent().includes("play")]);
        """,
        case("guandan"),
    )
    assert found == ["suggest", "select", False]


def test_play_goes_on_without_the_player_until_it_is_taken_back() -> None:
    found = in_page(
        PAGE
        + """
        page.clock.set({ auto: true });
        await pass(1000);
        const shown = [sent().at(-1) === "suggest"];
        root.querySelector(".auto-stop").click();
        const before = sent().length;
        line().say({ ...data.after, version: data.before.version + 1, since: data.before.since + 1 });
        await pass(60000);
        shown.push(sent().slice(before).every((type) => type === "select"));
        shown.push(root.querySelector(".auto-stop") === null);
        report(shown);
        """,
        case("game"),
    )
    assert found == [True] * 3


def test_a_held_key_and_a_double_click_take_back_one_choice() -> None:
    found = in_page(
        PAGE
        + """
        const table = { ...data.after.table, undo: true };
        line().say({ ...data.after, version: data.before.version + 1, table });
        const undone = () => line().sent.filter((message) => message.type === "undo").length;
        let kept = 0;
        const hold = (key, repeat) =>
          document.happen("keydown", { key, repeat, target: document.body, preventDefault() { kept += 1; } });
        for (const repeat of [false, true, true]) hold("u", repeat);
        const shown = [undone()];
        const button = page.own.parts.undo;
        button.happen("click", { detail: 1 });
        button.happen("click", { detail: 2 });
        shown.push(undone());
        kept = 0;
        hold("Enter", true); // else the browser would click the button that has the keyboard again
        report([...shown, undone(), kept]);
        """,
        case("game"),
    )
    assert found == [1, 2, 2, 1]


@pytest.mark.parametrize("late", ["state", "suggestions"])
def test_what_others_do_meanwhile_takes_no_suggestion_away(late: str) -> None:
    found = in_page(
        PAGE
        + """
        const card = data.before.round.hands[data.before.table.you][0];
        const moves = [{ index: 0, move: ["Single", "3", [card]], wild: null }];
        const state = { ...data.before, version: data.before.version + 1 };
        const suggestions = { type: "suggestions", since: data.before.since, moves };
        page.own.parts.suggest.click();
        const shown = [line().sent.at(-1).type];
        line().say(...(data.late === "state" ? [suggestions, state] : [state, suggestions]));
        const { type, cards, id } = line().sent.at(-1);
        line().say({ type: "fits", id, moves, why: null });
        report([...shown, type, cards.length, page.own.parts.play.getAttribute("aria-disabled")]);
        """,
        {**case("guandan"), "late": late},
    )
    assert found == ["suggest", "select", 1, "false"]


@pytest.mark.parametrize("kind", ["game", "guandan"])
def test_what_is_neither_held_nor_played_is_what_the_others_hold(kind: str) -> None:
    data = case(kind)
    found = in_page(
        PAGE
        + """
        const number = (one) => Number(one.childNodes[1].textContent);
        const ranks = () => root.querySelector(".counter").childNodes;
        const count = () => ranks().reduce((sum, one) => sum + number(one), 0);
        const shown = [count()];
        line().say({ ...data.after, version: data.before.version + 1 });
        report([...shown, count()]);
        """,
        data,
    )
    for state, counted in zip((data["before"], data["after"]), found, strict=True):
        left = state["round"]["rest"]
        assert counted == sum(left) - left[state["table"]["you"]]


def test_sounds_are_tones_and_can_be_turned_off() -> None:
    found = in_page(
        """
        import { report } from "browser";
        let tones = 0;
        const link = { connect: () => link };
        globalThis.AudioContext = class {
          currentTime = 0;
          createOscillator() { tones += 1; return { ...link, frequency: {}, start() {}, stop() {} }; }
          createGain() { return { ...link, gain: { setValueAtTime() {}, linearRampToValueAtTime() {} } }; }
        };
        navigator.userActivation = { hasBeenActive: false };
        const { setSounds, sound } = await import("gs2/sounds.js");
        const heard = (...names) => { tones = 0; sound(...names); return tones; };
        const shown = [heard("card")];
        navigator.userActivation.hasBeenActive = true;
        shown.push(heard("card"), heard("card", "turn"));
        setSounds(false);
        shown.push(heard("card"));
        setSounds(true);
        report([...shown, heard("bomb")]);
        """
    )
    assert found == [0, 1, 3, 0, 2]


def test_a_hand_laid_out_by_moves_keeps_those_that_were_not_played() -> None:
    found = in_page(
        """
        import { report } from "browser";
        const { Hand } = await import("gs2/hand.js");
        const { GUANDAN: face } = await import("gs2/guandan-face.js");
        const how = { face, round: { level: "2" }, order: "moves" };
        let asked = 0;
        const hand = new Hand({ chosen() {}, play() {}, arrange() { asked += 1; } });
        const keys = (group) => group.querySelectorAll("button").map((one) => one.dataset.key);
        const groups = () => hand.element.querySelectorAll(".hand-group").map(keys);
        hand.show(["S3", "S3", "H4", "D5"], how);
        const shown = [asked, groups().length];
        hand.arranged([["S3", "H4"], ["S3", "D5"]]);
        shown.push(groups());
        hand.show(["S3", "D5"], how);
        shown.push(groups(), asked);
        hand.show(["S3", "D6"], how);
        report([...shown, asked]);
        """
    )
    assert found == [1, 3, [["S3#1", "H4#1"], ["S3#2", "D5#1"]], [["S3#1"], ["D5#1"]], 1, 2]
