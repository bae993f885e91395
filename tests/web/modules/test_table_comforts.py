"""What a table does for its players: a clock, automatic play, a counter, sounds, a hand laid out by moves."""

from __future__ import annotations

import pytest

from tests.web.modules.least_browser import in_page, needs_node
from tests.web.modules.test_hints_on_the_page import PAGE, case

pytestmark = needs_node

KINDS = ("game", "guandan")
SENT = "const sent = () => line().sent.map((message) => message.type);"


@pytest.mark.parametrize("kind", KINDS)
def test_a_turn_is_taken_when_its_time_is_over_and_not_before(kind: str) -> None:
    found = in_page(
        PAGE
        + SENT
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
        case(kind),
    )
    assert found == [True] * 7


@pytest.mark.parametrize("kind", KINDS)
def test_play_goes_on_without_the_player_until_it_is_taken_back(kind: str) -> None:
    found = in_page(
        PAGE
        + SENT
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
        case(kind),
    )
    assert found == [True] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_held_key_and_a_double_click_take_back_one_choice(kind: str) -> None:
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
        case(kind),
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


@pytest.mark.parametrize("kind", KINDS)
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
