"""What a player needs to read is there, can be read, and says what happened: in a real Chromium."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.web.serving import Server
from tests.web.table_page import TablePage, check_hand, left_behind, picture

People = Callable[..., Any]
CONTRAST = """element => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((x) => x / 255)
      .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const { color, backgroundColor } = getComputedStyle(element);
  const [a, b] = [light(color), light(backgroundColor)];
  return Math.max(a, b) / Math.min(a, b);
}"""
SAYS = """async ([module, name, args]) => (await import(`gs2/${module}`))[name](...args)"""


def table_of(seat: int, **round_: Any) -> dict[str, Any]:
    """Return as much of a state as the words in the middle of the felt need: seat 2 has gone out and won."""
    kinds = ["person", "agent", "agent", "agent"]
    seats = [{"name": name, "kind": kind} for name, kind in zip("ABCD", kinds, strict=True)]
    play = {"seat": 2, "move": ["Single", "A", ["SA"]], "lead": True}
    passes = [{"seat": one, "move": ["PASS"] * 3, "lead": False} for one in (3, 0, 1)]
    return {
        "table": {"seats": seats, "you": 0},
        "match": {"over": False},
        "waiting": None,
        "turn": {"seats": [seat], "you": {"stage": "play"} if seat == 0 else None},
        "round": {"phase": "play", "greater": None, "plays": [play, *passes], **round_},
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.some(1)
def test_a_friend_can_read_where_to_sit_down_and_the_host_what_is_waited_for(
    server: Server, people: People, theme: str
) -> None:
    table, key = server.table(["person", "greedy", "person", "greedy"], seed=9, name="Ann")
    host, friend = people(), people(f"/#/table/{table}", width=390, height=844, color_scheme=theme)
    TablePage.sit(host, table, key)
    host.get_by_text("Waiting for a player to take the open seat").wait_for()
    button = friend.get_by_role("button", name="Sit down here")
    assert button.evaluate(CONTRAST) > 4.5
    button.click()
    friend.locator("dialog input").fill("🐉龙")
    friend.locator("dialog button[type=submit]").click()
    host.locator(".avatar", has_text="🐉").wait_for()
    assert "Waiting" not in host.locator(".request").inner_text()


def test_the_list_of_moves_begins_at_its_end(server: Server, people: People) -> None:
    table, key = server.table(["person", "random", "greedy", "random"], seed=3)
    seat, rng = server.seat(table, key), random.Random(1)
    while len(seat.my_turn()["round"]["plays"]) < 60:
        assert not seat.state["waiting"], "the seed's first round is a long one"
        seat.play(rng.randrange(min(2, seat.state["turn"]["you"]["count"])))
    seat.close()
    page = people()
    TablePage.sit(page, table, key)
    page.locator(".log-move").nth(50).wait_for()
    left = "log => log.scrollHeight - log.clientHeight - log.scrollTop"
    assert page.locator(".log-place").evaluate(left) <= 1
    assert page.locator(".log-place").evaluate("log => log.scrollHeight > log.clientHeight")


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.some(1)
def test_a_table_fits_its_screen_in_both_languages_and_themes(
    server: Server, people: People, width: int
) -> None:
    page = people(width=width, height=844 if width < 600 else 900)
    table = TablePage.sit(page, *server.table(["person", "greedy", "random", "strong"], seed=6))
    for language in ("中文", "English"):
        page.get_by_role("button", name=language).click()
        table.until_turn()
        for theme in ("light", "dark", "auto"):
            page.locator(".app-bar .theme").click()
            picture(page, f"table-{'zh' if language == '中文' else 'en'}-{theme}")
            over = "(({scrollWidth: w, scrollHeight: h}) => [w - innerWidth, h - innerHeight])"
            wide, high = page.evaluate(f"{over}(document.documentElement)")
            assert wide <= 0 and high <= 0
        assert left_behind(page) == []
    for order in ("sets", "suit", "moves", "rank"):
        page.keyboard.press("o")
        page.locator(".hand.moves" if order == "moves" else ".hand:not(.moves)").wait_for()
        page.locator(".hand-card").nth(10).click(position={"x": 8, "y": 8})  # a chosen card covers no other
        check_hand(page)
    page.get_by_role("button", name="中文").click()
    page.reload()
    page.get_by_role("button", name="提示").wait_for()
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"


@pytest.mark.parametrize(("width", "height"), [(844, 390), (667, 375)])
@pytest.mark.some(1)
def test_a_phone_held_sideways_shows_felt_and_hand_at_once(
    server: Server, people: People, width: int, height: int
) -> None:
    page = people(width=width, height=height, has_touch=True, is_mobile=True)
    TablePage.sit(page, *server.table(["person", "greedy", "greedy", "greedy"], seed=6))
    root = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert root[0] <= width and root[1] <= height
    boxes = [card.bounding_box() for card in page.locator(".hand-card").all()]
    assert len(boxes) == 27
    assert all(box["y"] > 0 and box["y"] + 0.3 * box["height"] < height for box in boxes)
    assert page.locator(".play").bounding_box()["y"] < min(box["y"] for box in boxes)
    felt = page.locator(".felt").bounding_box()
    assert felt["height"] > 0.6 * height and felt["x"] + felt["width"] <= min(box["x"] for box in boxes)


def test_words_say_who_leads_for_whom_and_that_a_was_not_passed(people: People) -> None:
    page = people()

    def says(module: str, name: str, *args: Any) -> str:
        return str(page.evaluate(SAYS, [module, name, list(args)]))

    for language, own, theirs in (
        ("English", "C is out, so the lead is yours", "lead in the place of"),
        ("中文", "由你接风", "接 A 的风"),
    ):
        if page.get_by_role("button", name=language).count():
            page.get_by_role("button", name=language).click()
        assert own in says("felt.js", "request", table_of(0))
        other = table_of(2)
        other["round"]["plays"][0]["seat"] = 0
        assert theirs.replace("A", "A（你）" if language == "中文" else "A") in says(
            "felt.js", "request", other
        )
        plain = table_of(0)
        plain["round"]["plays"][0]["seat"] = 0
        assert own not in says("felt.js", "request", plain), "who won a trick leads the next as ever"
    page.get_by_role("button", name="English").click()
    result = {"winner": 0, "gain": 2, "rise": 1, "failed": None, "over": False}
    assert says("felt.js", "outcome", table_of(0), result) == "You win the round: up one level"
    assert says("felt.js", "outcome", table_of(0), {**result, "winner": 1}).endswith("they go up one level")
    assert says("felt.js", "outcome", table_of(0), {**result, "rise": 0}) == "You win the round"
    text = "P0 holds Kh, P1 holds Qs | raise call | board Ks"
    assert (
        says("spoken.js", "toldWords", text, ["You", "cfr"])
        == "You hold K♥, cfr holds Q♠ | raise call | board K♠"
    )
    page.get_by_role("button", name="中文").click()
    assert (
        says("spoken.js", "toldWords", text, ["你", "cfr"]) == "你持有 K♥，cfr持有 Q♠ | 加注 跟注 | 公共牌 K♠"
    )
    assert says("spoken.js", "spokenWords", "bid 3") == "出价 3"


def test_plays_that_tear_nothing_apart_are_suggested_first(people: People) -> None:
    hand = ["S3", "H3", "C3", "D3", "S5", "H5", "S7", "SB", "HR"]
    plays = [
        (["S3"], "solo"), (["S5"], "solo"), (["S7"], "solo"), (["S3", "H3"], "pair"), (["S5", "H5"], "pair"),
        (["S3", "H3", "C3", "D3"], "bomb"), (["SB", "HR"], "rocket"),
    ]  # fmt: skip
    asked = [[{"cards": cards, "kind": kind} for cards, kind in plays], hand]
    assert people().evaluate(SAYS, ["climb-cards.js", "suggestOrder", asked]) == [2, 4, 1, 0, 3, 5, 6]


def test_who_is_quicker_than_the_agents_keeps_what_was_typed_and_is_told_what_is_waited_for(
    people: People,
) -> None:
    page, held = people("/#/review"), []

    def hold(route: Any) -> None:
        if route.request.url.endswith("/api/agents") or route.request.method == "POST":
            held.append(route)
        else:
            route.continue_()

    def let_one_go() -> None:
        while not held:
            page.wait_for_timeout(20)
        held.pop().continue_()

    page.route("**/api/**", hold)
    page.get_by_role("link", name="Table").first.click()
    start = page.locator("button[type=submit]")
    start.wait_for()
    page.locator("summary").first.click()
    page.get_by_label("Your name").fill("Zoe")
    for label, typed in (("Your name", " B"), ("Seed", "12")):
        page.get_by_label(label).press("End")
        page.keyboard.type(typed)
        page.keyboard.press("Enter")  # there is nobody to play with yet
    assert start.is_disabled() and page.locator(".error").inner_text() == ""
    let_one_go()
    page.locator("button[type=submit]:enabled").wait_for()
    page.keyboard.type("3")
    assert page.get_by_label("Your name").input_value() == "Zoe B"
    assert page.get_by_label("Seed").input_value() == "123"
    page.keyboard.press("Enter")
    page.get_by_role("button", name="The agents take their seats").wait_for()
    assert start.is_disabled()
    let_one_go()
    page.locator(".felt").wait_for()
