"""People at the page of a table, in a real Chromium: every step is a click or a key."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from games.guandan.cards import hand_text, unpack
from gs2.guandan.table.session import Listener, Session
from tests.patience import PATIENCE
from tests.web.serving import Server
from tests.web.table_page import TablePage, check_places_and_levels, picture

People = Callable[..., Any]
SWIFT = ["person", "random", "strong", "greedy"]


class Quiet(Listener):
    """Hears of a session and keeps nothing."""


def wild_straight(seeds: range) -> tuple[int, list[str]]:
    """Return a seed by which seat 0 leads the first round, and cards of its that make two straights."""
    ranks = "3456789TJQK"
    for seed in seeds:
        session = Session(Quiet(), seed=seed)
        session.begin()
        if 0 not in session.pending:
            continue
        lo_hi = session.choices(0)["lo"].dtype.type(session.hand(0))
        hand = hand_text(unpack(lo_hi), session.level).split()
        first = {card[1]: card for card in hand if len(card) == 2 and card not in ("SB", "HR", "H2")}
        for start in range(1, len(ranks) - 4):
            cards = [first.get(rank) for rank in ranks[start : start + 4]]
            if "H2" in hand and all(cards) and len({card[0] for card in cards if card}) > 1:
                return seed, ["H2", *[card for card in cards if card]]
    raise AssertionError("no seed deals a wild card and four in a row")


@pytest.mark.parametrize(
    ("agents", "whole"),
    [
        (("random", "blueprint", "greedy"), False),
        pytest.param(("random", "blueprint", "greedy"), True, marks=pytest.mark.long),
        pytest.param(("mincomb", "gs2-fast", "random"), True, marks=pytest.mark.long),
    ],
)
def test_a_match_is_played_by_clicking(
    server: Server, people: People, agents: tuple[str, str, str], whole: bool
) -> None:
    """A round and the first move of the next, or all of a match and its record."""
    page = people()
    page.get_by_role("button", name="More settings").or_(page.get_by_text("More settings")).click()
    page.get_by_label("Your name").fill("Ann")
    page.get_by_label("Seconds between the moves of agents").fill("0")
    page.get_by_label("Seed of the deals").fill("11")
    for seat, agent in zip(("Next to play", "Across", "Before you"), agents, strict=True):
        page.get_by_label(seat).select_option(agent)
    picture(page, "lobby")
    page.get_by_role("button", name="Deal the cards").click()
    table = TablePage(page)
    rounds = 0
    for _ in range(900):
        if table.until_turn():
            rounds += 1
            said = page.locator("dialog[open]").inner_text()
            check_places_and_levels(said)
            if "The match is over" in said:
                break
            assert f"Round {rounds} is over" in said
            page.locator("dialog .next").click()
            page.locator(".own.turn, .request:not(:empty)").first.wait_for()
            if not whole:
                return
        else:
            table.take_turn()
    assert "The match is over" in page.locator("dialog[open]").inner_text()
    picture(page, "match-over")
    assert page.locator("dialog tbody tr").count() == rounds
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the record").click()
    text = download.value.path().read_text("utf-8")
    assert text.count('{"round"') == rounds and '"Ann"' in text


def test_refresh_and_a_cut_connection_in_mid_round_lose_nothing(server: Server, people: People) -> None:
    page = people()
    table = TablePage.sit(page, *server.table(SWIFT, seed=3))
    table.play_turns(4)
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
    table.play_turns(2)
    assert table.moves > moves


def test_the_page_waits_for_a_killed_server_and_goes_on(
    own_server: Callable[..., Server], people: People
) -> None:
    server = own_server()
    page = people()
    page.goto(server.url)
    table = TablePage.sit(page, *server.table(SWIFT, seed=4))
    table.play_turns(3)
    table.until_turn()
    hand, moves = table.hand, table.moves
    version = page.locator("main").get_attribute("data-version")
    # Whatever a browser says of connections that are cut off or refused, and as late as it is closed.
    people.expected = re.compile("^WebSocket connection to|net::ERR_")  # type: ignore[attr-defined]
    server.kill()
    page.locator(".banner:has-text('Reconnecting')").wait_for()
    server.start()
    page.locator(".banner").wait_for(state="hidden")
    # The line is open before the table comes over it: until then the page shows what it knew before.
    page.wait_for_function("old => document.querySelector('main').dataset.version !== old", arg=version)
    assert (table.hand, table.moves) == (hand, moves)
    table.play_turns(2)
    assert table.moves > moves


def test_a_hint_shows_moves_and_chooses_cards_and_undo_takes_back(server: Server, people: People) -> None:
    page = people()
    table = TablePage.sit(page, *server.table(["person", "mincomb", "gs2-fast", "strong"], seed=8))
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
    chosen = table.chosen
    page.locator(".play").click()
    page.wait_for_function(f"() => document.querySelectorAll('.hand-card').length === {27 - len(chosen)}")
    table.until_turn()
    assert Counter(table.hand) == Counter(before) - Counter(chosen)
    assert page.locator(".hint-view").count() == 0, "a hint leaves with its decision"
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => document.querySelectorAll('.hand-card').length === 27")
    table.until_turn()
    assert table.hand == before


@pytest.mark.parametrize("late", ["state", "suggestions"])
def test_what_others_do_meanwhile_takes_no_suggestion_away(server: Server, people: People, late: str) -> None:
    page = people()
    held: list[Callable[[], None]] = []
    holding = [False]

    def connect(line: Any) -> None:
        def hear(text: str) -> None:
            if holding[0] and json.loads(text)["type"] == late:
                held.append(lambda: line.send(text))
            else:
                line.send(text)

        line.connect_to_server().on_message(hear)

    page.route_web_socket(re.compile("/ws/tables/"), connect)
    table, key = server.table(SWIFT, seed=4)
    TablePage.sit(page, table, key).until_turn()
    before = page.locator("main").get_attribute("data-version")
    other = server.seat(table, key)
    holding[0] = True
    suggest = page.get_by_role("button", name="Suggest")
    if late == "suggestions":
        suggest.click()
        other.say(type="pace", pace=0.5)
        page.wait_for_function(
            "before => document.querySelector('main').dataset.version !== before", arg=before
        )
    else:
        other.say(type="pace", pace=0.5)
        other.until(lambda state: state["table"]["pace"] == 0.5)
        suggest.click()
    while not held:
        page.wait_for_timeout(20)
    page.wait_for_timeout(100)
    for send in held:
        send()
    page.locator(".play[aria-disabled=false]").wait_for()
    other.close()


def test_a_held_key_and_a_double_click_take_back_one_choice(server: Server, people: People) -> None:
    page = people()
    sent: list[str] = []
    page.on("websocket", lambda line: line.on("framesent", lambda text: sent.append(str(text))))
    table = TablePage.sit(page, *server.table(SWIFT, seed=4))
    table.play_turns(5)
    undo = page.get_by_role("button", name="Undo")

    def hold(key: str) -> None:
        for _ in range(5):  # without a release between them, all but the first are repeats
            page.keyboard.down(key)
            page.wait_for_timeout(60)
        page.keyboard.up(key)

    ways = (lambda: hold("u"), lambda: undo.dblclick(delay=60), lambda: (undo.focus(), hold("Enter")))
    for undone, way in enumerate(ways, 1):
        table.until_turn()
        before = page.locator("main").get_attribute("data-version")
        way()
        page.wait_for_function(
            "before => document.querySelector('main').dataset.version !== before", arg=before
        )
        assert sum('"undo"' in text for text in sent) == undone


def test_what_cannot_be_played_says_why_and_a_wild_card_asks_where(server: Server, people: People) -> None:
    seed, cards = wild_straight(range(400))
    page = people()
    table = TablePage.sit(page, *server.table(["person", "random", "random", "random"], seed=seed))
    table.until_turn()
    table.choose([cards[1], cards[4]])
    page.locator(".why").wait_for()
    assert "no combination" in page.locator(".why").inner_text()
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


def test_two_people_play_at_one_table_each_with_a_hand_of_their_own(server: Server, people: People) -> None:
    ann, bob = people(), people(width=390, height=844)
    ann.get_by_label("Your name").fill("Ann")
    ann.get_by_text("More settings").click()
    ann.get_by_label("Seconds between the moves of agents").fill("0")
    ann.get_by_role("button", name="You and a friend").click()  # deals at once
    ann.locator(".felt").wait_for()
    bob.goto(ann.url)
    bob.get_by_role("button", name="Sit down here").click()
    bob.get_by_label("Your name").fill("<img src=x onerror=alert(1)>")
    bob.get_by_role("button", name="Sit down", exact=True).click()
    bob.locator(".hand-card").first.wait_for()
    ann.locator(".name:has-text('<img src=x')").wait_for()
    assert ann.locator(".felt img[src=x]").count() == 0
    tables = {page: TablePage(page) for page in (ann, bob)}
    assert Counter(tables[ann].hand) != Counter(tables[bob].hand)
    turns = 0
    while turns < 6 and not ann.locator("dialog[open]").count():
        ann.wait_for_timeout(50)
        page = next((page for page in (ann, bob) if page.locator(".own.turn").count()), None)
        if page is not None:
            tables[page].take_turn()
            turns += 1
    bob.wait_for_function(f"() => document.querySelectorAll('.log-move').length >= {tables[ann].moves}")
    picture(bob, "two-people")
    # a third browser sees the moves but nobody's hand
    eve = people()
    eve.goto(ann.url)
    eve.locator(".log-move").first.wait_for()
    assert eve.locator(".hand-card").count() == 0 and eve.locator(".open-hand").count() == 0


def test_cards_are_chosen_by_drawing_over_them_and_by_touch(server: Server, people: People) -> None:
    page = people()
    table_key = server.table(["person", "random", "random", "random"], seed=12)
    table = TablePage.sit(page, *table_key)
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
    phone = people(width=390, height=844, has_touch=True, is_mobile=True)
    touched = TablePage.sit(phone, *table_key)
    card = phone.locator(".hand-card").first
    card.tap(position={"x": 6, "y": 6})
    assert touched.chosen == [card.get_attribute("data-key").split("#")[0]]
    card.tap(position={"x": 6, "y": 6})
    assert touched.chosen == []


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
    for _ in range(3):
        if table.until_turn():
            page.keyboard.press("Enter")
            table.until_turn()
        moves = table.moves
        page.keyboard.press("s")
        page.locator(".play[aria-disabled=false], .nothing").first.wait_for()
        page.keyboard.press("Enter" if page.locator(".play[aria-disabled=false]").count() else "p")
        page.wait_for_function(f"() => document.querySelectorAll('.log-move').length !== {moves}")
    orders = set()
    for _ in range(4):
        page.keyboard.press("o")
        orders.add(page.get_by_role("button", name=re.compile("^Sort")).inner_text())
    assert len(orders) == 4
    table.until_turn()
    left = len(table.hand)
    page.keyboard.press("u")
    page.wait_for_function(f"() => document.querySelectorAll('.hand-card').length >= {left}")


def test_watchers_pause_step_and_hide_hands(server: Server, people: People) -> None:
    page = people()
    table = TablePage.sit(page, *server.table(["random", "greedy", "blueprint", "strong"], seed=2, pace=0.3))
    page.locator(".log-move").nth(2).wait_for()
    assert page.locator(".open-hand").count() == 4
    page.get_by_role("button", name="Hide hands").click()
    page.wait_for_function("() => document.querySelectorAll('.open-hand').length === 0")
    page.get_by_role("button", name="Pause").click()
    step = page.get_by_role("button", name="One move")
    step.wait_for()
    page.wait_for_timeout(500)
    moves = table.moves
    page.wait_for_timeout(700)
    assert table.moves == moves
    step.click()
    page.wait_for_function(f"() => document.querySelectorAll('.log-move').length === {moves + 1}")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_function(f"() => document.querySelectorAll('.log-move').length > {moves + 2}")
    picture(page, "watch")


def test_an_address_of_no_table_says_so(server: Server, people: People) -> None:
    people.expected = re.compile("WebSocket|404 ")  # type: ignore[attr-defined]  # refused
    page = people("/#/table/doesnotexist")
    page.get_by_role("heading", name="This table does not exist.").wait_for()
