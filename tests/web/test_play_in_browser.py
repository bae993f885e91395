"""People at the page of a table, in a real Chromium: every step is a click or a key, and all can be read."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from games.guandan.cards import hand_text, unpack
from gs2.guandan.table.session import Listener, Session
from tests.patience import PATIENCE
from tests.web.axe import COLOURS, DIALOG, LIGHT, THEMES, faults
from tests.web.serving import Server
from tests.web.table_page import TablePage, check_hand, check_places_and_levels, check_screen, picture

People = Callable[..., Any]
SWIFT = ["person", "random", "greedy", "random"]


def wild_straight(seeds: range) -> tuple[int, list[str]]:
    """Return a seed by which seat 0 leads the first round, and cards of its that make two straights."""
    ranks = "3456789TJQK"
    for seed in seeds:
        session = Session(Listener(), seed=seed)
        session.begin()
        if 0 not in session.pending:
            continue
        lo_hi = session.due(0).actions["lo"].dtype.type(session.hand(0))
        hand = hand_text(unpack(lo_hi), session.level).split()
        first = {card[1]: card for card in hand if len(card) == 2 and card not in ("SB", "HR", "H2")}
        for start in range(1, len(ranks) - 4):
            cards = [first.get(rank) for rank in ranks[start : start + 4]]
            if "H2" in hand and all(cards) and len({card[0] for card in cards if card}) > 1:
                return seed, ["H2", *[card for card in cards if card]]
    raise AssertionError("no seed deals a wild card and four in a row")


def test_a_round_is_played_by_clicking_and_the_next_begins(server: Server, people: People) -> None:
    server.table(["person", "random", "person", "greedy"])
    page = people()
    page.locator(".table-row").first.wait_for()
    page.get_by_text("More settings").click()
    page.get_by_text("The agents").click()
    assert faults(page) == []
    page.get_by_label("Your name").fill("Ann")
    page.get_by_label("Seconds between the moves of agents").fill("0")
    page.get_by_label("Seed of the deals").fill("11")
    for seat, agent in (("Next to play", "random"), ("Across", "greedy"), ("Before you", "random")):
        page.get_by_label(seat).select_option(agent)
    picture(page, "lobby")
    page.get_by_role("button", name="Deal the cards").click()
    table = TablePage(page)
    while not table.until_turn():
        table.take_turn()
    said = page.locator("dialog[open]").inner_text()
    check_places_and_levels(said)
    assert "Round 1 is over" in said
    assert faults(page, within=DIALOG) == []
    page.locator("dialog .next").click()
    page.locator(".own.turn, .request:not(:empty)").first.wait_for()


def test_a_long_list_begins_at_its_end_and_a_cut_connection_in_mid_round_loses_nothing(
    server: Server, people: People
) -> None:
    page, key = people(), server.table(["person", "random", "greedy", "random"], seed=3)
    seat, rng = server.seat(*key), random.Random(1)
    while len(seat.my_turn()["round"]["plays"]) < 60:
        assert not seat.state["waiting"], "the seed's first round is a long one"
        seat.play(rng.randrange(min(2, seat.state["turn"]["you"]["count"])))
    seat.close()
    table = TablePage.sit(page, *key)
    page.locator(".log-move").nth(50).wait_for()
    left = "log => [log.scrollHeight - log.clientHeight - log.scrollTop, log.scrollHeight - log.clientHeight]"
    below, scrolled = page.locator(".log-place").evaluate(left)
    assert below <= 1 and scrolled > 0
    table.until_turn()
    hand, moves = table.hand, table.moves
    page.reload()
    table.until_turn()
    assert (table.hand, table.moves) == (hand, moves)
    people.expected = re.compile("ERR_INTERNET_DISCONNECTED")  # type: ignore[attr-defined]
    page.context.set_offline(True)
    page.locator(".banner:has-text('Reconnecting')").wait_for()
    page.get_by_role("button", name="Suggest").click()
    page.locator(".toast:has-text('Not sent')").wait_for()
    page.context.set_offline(False)
    page.locator(".banner").wait_for(state="hidden")
    assert (table.hand, table.moves) == (hand, moves)
    table.take_turn()
    assert table.moves > moves


def test_a_hint_shows_moves_and_chooses_cards_and_undo_takes_back(server: Server, people: People) -> None:
    page = people()
    table = TablePage.sit(page, *server.table(SWIFT, seed=8))
    table.until_turn()
    before = table.hand
    page.get_by_role("button", name="Hint").click()
    page.locator(".hint-view").wait_for(timeout=1000 * PATIENCE)
    picture(page, "hint")
    assert "gs2 would play" in page.locator(".hint-view").inner_text()
    rows = page.locator(".hint-moves tbody tr")
    assert rows.count() >= 1 and re.search(r"\d+%", rows.first.inner_text())
    for summary in page.locator(".hint-place summary").all():
        summary.click()
    high = page.evaluate("document.documentElement.scrollHeight - innerHeight")
    assert high <= 0, "what scrolls is beside the table, not the page"
    page.locator(".hint-moves .take").first.click()
    page.locator(".play[aria-disabled=false]").wait_for()
    assert faults(page) == []
    chosen = table.chosen
    page.locator(".play").click()
    page.wait_for_function(f"() => document.querySelectorAll('.hand-card').length === {27 - len(chosen)}")
    table.until_turn()
    assert Counter(table.hand) == Counter(before) - Counter(chosen)
    assert page.locator(".hint-view").count() == 0, "a hint leaves with its decision"
    for name in ("Last trick", "Options", "Keys"):  # their colours are those of other dialogs
        page.get_by_role("button", name=name).click()
        assert faults(page, LIGHT if name != "Options" else THEMES, within=DIALOG) == []
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => document.querySelectorAll('.hand-card').length === 27")
    table.until_turn()
    assert table.hand == before


def test_cards_are_drawn_over_and_say_why_they_cannot_be_played_and_where_a_wild_one_stands(
    server: Server, people: People
) -> None:
    seed, cards = wild_straight(range(400))
    page = people()
    table = TablePage.sit(page, *server.table(["person", "random", "random", "random"], seed=seed))
    table.until_turn()
    corners = [
        (box["x"] + 8, box["y"] + 8)
        for box in (card.bounding_box() for card in page.locator(".hand-group:last-child .hand-card").all())
    ]
    before = page.locator(".hand-group:nth-last-child(2) .hand-card").last.bounding_box()
    page.mouse.move(before["x"] + 8, before["y"] + 8)
    page.mouse.down()
    for corner in reversed(corners):
        page.mouse.move(*corner, steps=4)
    page.mouse.up()
    assert len(table.chosen) == len(corners) + 1
    page.mouse.move(*corners[0])
    page.mouse.down()
    page.mouse.up()
    assert len(table.chosen) == len(corners)
    page.keyboard.press("Escape")
    table.choose([cards[1], cards[4]])
    page.locator(".why:has-text('no combination')").wait_for()
    page.keyboard.press("Enter")
    page.locator(".toast:has-text('no combination')").wait_for()
    page.keyboard.press("Escape")
    assert table.chosen == []
    table.choose(cards)
    page.locator(".placements").wait_for()
    picture(page, "wild")
    labels = page.locator(".placements label").all_inner_texts()
    assert len(labels) == 2 and all("♥2 =" in label for label in labels), labels
    page.locator(".placements label").nth(1).click()
    words = page.locator(".play").inner_text()
    page.locator(".play").click()
    page.wait_for_function("() => document.querySelectorAll('.hand-card').length === 22")
    assert words.removeprefix("Play ") in page.locator(".log-move").first.text_content()


def test_two_people_play_at_one_table_each_with_a_hand_of_their_own_while_a_third_watches(
    server: Server, people: People
) -> None:
    ann, bob, eve = people(), people(width=390, height=844), people()
    ann.get_by_label("Your name").fill("Ann")
    ann.get_by_text("More settings").click()
    ann.get_by_label("Seconds between the moves of agents").fill("0")
    ann.get_by_label("Seed of the deals").fill("9")  # by which the friend leads
    ann.get_by_role("button", name="You and a friend").click()  # deals at once
    ann.locator(".felt").wait_for()
    ann.get_by_text("Waiting for a player to take the open seat").wait_for()
    bob.goto(ann.url)
    sit_down = bob.get_by_role("button", name="Sit down here")
    sit_down.wait_for()
    assert faults(bob, (("light", COLOURS),), within=".felt") == []
    assert bob.locator(".hand-card").count() == 0 and bob.locator(".open-hand").count() == 0
    sit_down.click()
    bob.get_by_label("Your name").fill("🐉<img src=x onerror=alert(1)>")
    bob.get_by_role("button", name="Sit down", exact=True).click()
    bob.locator(".hand-card").first.wait_for()
    ann.locator(".name:has-text('<img src=x')").wait_for()
    assert ann.locator(".felt img[src=x]").count() == 0
    ann.locator(".avatar", has_text="🐉").wait_for()
    assert "Waiting" not in ann.locator(".request").inner_text()
    eve.goto(ann.url)
    eve.get_by_text("You are watching").wait_for()
    tables = {page: TablePage(page) for page in (ann, bob)}
    assert Counter(tables[ann].hand) != Counter(tables[bob].hand)
    turns = 0
    while turns < 3 and not ann.locator("dialog[open]").count():
        ann.wait_for_timeout(50)
        page = next((page for page in (ann, bob) if page.locator(".own.turn").count()), None)
        if page is not None:
            tables[page].take_turn()
            turns += 1
    bob.wait_for_function(f"() => document.querySelectorAll('.log-move').length >= {tables[ann].moves}")
    picture(bob, "two-people")
    assert bob.get_by_role("button", name="Undo").is_disabled()
    eve.locator(".log-move").nth(1).wait_for()
    assert eve.locator(".hand-card, .open-hand").count() == 0 and eve.locator(".played .card").count() > 0


@pytest.mark.long
def test_the_keyboard_alone_suffices(server: Server, people: People) -> None:
    page = people()
    page.locator("button[type=submit]:enabled").wait_for()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "submit":
            break
    page.keyboard.press("Enter")
    page.locator(".felt").wait_for()
    table = TablePage(page)
    table.until_turn()
    page.keyboard.press("?")
    assert "go through your cards" in page.locator("dialog[open]").inner_text()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    page.keyboard.press("ArrowRight")
    focused = "document.activeElement.dataset.key"
    first = page.evaluate(focused)
    page.keyboard.press("ArrowRight")
    second = page.evaluate(focused)
    assert first and second and first != second
    page.keyboard.press("Space")
    assert table.chosen == [second.split("#")[0]]
    page.keyboard.press("Escape")
    assert table.chosen == []
    moves = table.moves
    page.keyboard.press("s")
    page.locator(".play[aria-disabled=false], .nothing").first.wait_for()
    page.keyboard.press("Enter" if page.locator(".play[aria-disabled=false]").count() else "p")
    page.wait_for_function(f"() => document.querySelectorAll('.log-move').length !== {moves}")
    table.until_turn()
    left = len(table.hand)
    page.keyboard.press("u")
    page.wait_for_function(f"() => document.querySelectorAll('.hand-card').length >= {left}")


def test_watchers_pause_step_and_hide_hands_and_have_the_match_reviewed(
    server: Server, people: People
) -> None:
    page = people()
    key = server.table(["greedy", "random", "greedy", "random"], seed=2, pace=0.3)
    table = TablePage.sit(page, *key)
    page.locator(".log-move").nth(2).wait_for()
    assert page.locator(".open-hand").count() == 4
    page.get_by_role("button", name="Pause").click()
    step = page.get_by_role("button", name="One move")
    step.wait_for()
    page.wait_for_timeout(500)
    moves = table.moves
    page.wait_for_timeout(700)
    assert table.moves == moves
    assert faults(page) == []
    page.get_by_role("button", name="Hide hands").click()
    page.wait_for_function("() => document.querySelectorAll('.open-hand').length === 0")
    step.click()
    page.wait_for_function(f"() => document.querySelectorAll('.log-move').length === {moves + 1}")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_function(f"() => document.querySelectorAll('.log-move').length > {moves + 2}")
    picture(page, "watch")
    page.evaluate("location.hash = '#/'")  # to draw each move would take longer than the match
    watcher = server.seat(*key)
    watcher.say(type="pace", pace=0, paused=False)
    watcher.until(lambda state: state["match"]["over"])
    TablePage.sit(page, *key)
    page.locator("dialog[open]:has-text('The match is over')").wait_for()
    assert "Blue" in page.locator(".outcome").inner_text()
    assert page.locator("dialog .scroll tbody tr").count() == len(watcher.state["results"])
    with page.expect_download() as download:
        page.locator("dialog").get_by_role("link", name="Download the record").click()
    record = server.http.get(f"/api/tables/{key[0]}/record")
    assert record.is_success and download.value.path().read_text("utf-8") == record.text
    page.get_by_role("button", name="Review this match").last.click()
    page.locator(".review, progress").first.wait_for()
    server.http.delete(f"/api/jobs/{page.url.rpartition('/')[2]}")


def test_an_address_of_no_table_says_so(server: Server, people: People) -> None:
    people.expected = re.compile("WebSocket|404 ")  # type: ignore[attr-defined]  # refused
    page = people()
    for address, told in (
        ("table/doesnotexist", "This table does not exist."),
        ("games/doesnotexist", "This table does not exist."),
    ):
        page.goto(f"{server.url}/#/{address}")
        page.get_by_role("heading", name=told).wait_for()


@pytest.mark.parametrize("width", [390, pytest.param(1440, marks=pytest.mark.long)])
def test_a_table_fits_its_screen_in_both_languages_and_themes_and_a_phone_held_sideways(
    server: Server, people: People, width: int
) -> None:
    phone = width < 600
    page = people(width=width, height=844 if phone else 900, has_touch=phone, is_mobile=phone)
    table = TablePage.sit(page, *server.table(["person", "greedy", "random", "greedy"], seed=6))
    for language in ("中文", "English"):
        page.get_by_role("button", name=language).click()
        table.until_turn()
        for theme in ("light", "dark", "auto"):
            page.locator(".app-bar .theme").click()
            picture(page, f"table-{'zh' if language == '中文' else 'en'}-{theme}")
            check_screen(page)
    for order in ("sets", "suit", "moves", "rank"):
        page.keyboard.press("o")
        page.locator(".hand.moves" if order == "moves" else ".hand:not(.moves)").wait_for()
        page.locator(".hand-card").nth(10).click(position={"x": 8, "y": 8})  # a chosen card covers no other
        check_hand(page)
    if phone:
        page.keyboard.press("Escape")
        card = page.locator(".hand-card").first
        card.tap(position={"x": 6, "y": 6})
        assert table.chosen == [card.get_attribute("data-key").split("#")[0]]
        card.tap(position={"x": 6, "y": 6})
        assert table.chosen == []
    page.get_by_role("button", name="中文").click()
    page.reload()
    page.get_by_role("button", name="提示").wait_for()
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    if phone:
        check_sideways(page, 844, 390)


def check_sideways(page: Any, width: int, height: int) -> None:
    """Assert that a phone held sideways shows felt and hand at once."""
    page.set_viewport_size({"width": width, "height": height})
    root = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert root[0] <= width and root[1] <= height
    boxes = [card.bounding_box() for card in page.locator(".hand-card").all()]
    assert len(boxes) == 27
    assert all(box["y"] > 0 and box["y"] + 0.3 * box["height"] < height for box in boxes)
    assert page.locator(".play").bounding_box()["y"] < min(box["y"] for box in boxes)
    felt = page.locator(".felt").bounding_box()
    assert felt["height"] > 0.6 * height and felt["x"] + felt["width"] <= min(box["x"] for box in boxes)


def test_who_is_quicker_than_the_agents_keeps_what_was_typed_and_is_told_what_is_waited_for(
    people: People,
) -> None:
    page, held = people("/#/review"), []

    def hold(route: Any) -> None:
        if route.request.url.endswith("/api/offers") or route.request.method == "POST":
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
