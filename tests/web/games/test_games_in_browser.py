"""A person plays DouDiZhu, Big2 and a game of words in a real browser: by clicks, by keys, on a phone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.patience import amount
from tests.web.games.playing import new_table
from tests.web.serving import Server
from tests.web.table_page import POLLING, check_hand, left_behind, picture
from tests.web.test_page_accessibility import DIALOG, LIGHT, THEMES, faults

People = Callable[..., Any]
READY = ".game-felt.over, .game-own.turn"


def sit(page: Any, table: tuple[str, str]) -> None:
    """Open a table's page in a browser that has its key."""
    page.evaluate("([id, key]) => localStorage.setItem(`gs2-game-${id}`, key)", list(table))
    page.evaluate("id => { location.hash = `#/games/${id}`; }", table[0])
    page.locator(".game-felt").wait_for()


def version(page: Any) -> int:
    """Return the version of the state that the page shows."""
    return int(page.locator("main").get_attribute("data-version"))


def act(page: Any, do: Callable[[], Any]) -> None:
    """Do something that the server answers with a new state."""
    before = version(page)
    do()
    page.wait_for_function(
        "before => Number(document.querySelector('main').dataset.version) > before",
        arg=before,
        polling=POLLING,
    )


def ready(page: Any) -> bool:
    """Wait until the person is to act; return whether the round is over instead."""
    page.locator(READY).first.wait_for()
    return bool(page.locator(".game-felt.over").count())


def take_turn(page: Any, *, keys: bool) -> None:
    """Play what the page suggests first, or pass; say a number where that is asked."""
    spoken = page.locator(".word-move")
    if spoken.count():
        if keys:
            page.keyboard.press("ArrowRight")
            act(page, lambda: page.keyboard.press("Enter"))
        else:
            act(page, lambda: spoken.last.click())
        return
    page.keyboard.press("s") if keys else page.get_by_role("button", name="Suggest").click()
    playable = page.locator(".play[aria-disabled=false]").count() > 0
    if keys:
        act(page, lambda: page.keyboard.press("Enter" if playable else "p"))
    else:
        act(page, lambda: page.locator(".play" if playable else ".pass-button").click())


def play_to_the_end(page: Any, *, keys: bool = False, turns: int = 60) -> None:
    """Play until the round is over."""
    for _ in range(turns):
        if ready(page):
            return
        take_turn(page, keys=keys)
    raise AssertionError("the round goes on and on")


def test_a_round_of_doudizhu_from_the_entry_page_on(server: Server, people: People) -> None:
    page = people()
    page.get_by_role("link", name="DouDiZhu, Big2 and more").click()
    page.get_by_label("Your name").fill("Ann")
    seats = page.locator(".game-seats select")
    assert seats.count() == 3 and page.locator(".game-select").input_value() == "doudizhu"
    for seat in (1, 2):
        seats.nth(seat).select_option("rules")
    page.get_by_role("button", name="Deal the cards").click()
    page.locator(".game-felt").wait_for()
    page.get_by_role("button", name="Options").click()
    page.locator("dialog input[type=range]").fill("0")
    page.keyboard.press("Escape")
    assert not ready(page)
    mine = page.locator(".seat.mine")
    assert "Landlord" in mine.inner_text() and "20 cards" in mine.inner_text()
    assert page.locator(".seat:not(.mine) .role-badge.farmer").count() == 2
    assert page.locator(".bottom-cards .card:not(.back)").count() == 3
    assert page.locator(".stake.times").inner_text() == "×1"
    assert page.locator(".hand-card").count() == 20
    # of two equal cards the one that was clicked is played
    take_turn(page, keys=False)
    ready(page)
    page.get_by_role("button", name="Hint").click()
    page.locator(".hint-best").wait_for()
    picture(page, "doudizhu")
    before = page.locator(".hand-card").count()
    take_turn(page, keys=False)
    ready(page)
    act(page, lambda: page.get_by_role("button", name="Undo").click())
    ready(page)
    assert page.locator(".hand-card").count() == before
    page.reload()
    ready(page)
    assert page.locator(".hand-card").count() == before, "a reload keeps the round"
    play_to_the_end(page)
    picture(page, "doudizhu-end")
    assert page.locator(".last-result").inner_text()
    gains = [text.replace("−", "-") for text in page.locator(".gain").all_inner_texts()]
    assert len(gains) == 3 and sum(map(int, gains)) == 0
    assert page.locator(".score-sheet tbody tr").count() == 2
    with page.expect_download() as begun:
        page.get_by_role("link", name="Record").click()
    record = json.loads(begun.value.path().read_text())
    assert record["game"] == "doudizhu" and "Ann" in record["agents"]
    act(page, lambda: page.locator(".actions .next").click())
    assert "Round 2" in page.locator(".standing").inner_text()
    assert "Landlord" not in page.locator(".seat.mine").inner_text(), "everybody has moved on"
    page.get_by_role("button", name="Seat", exact=True).click()
    page.locator(".seat-choices button").first.click()
    # the others may be acting meanwhile, so the next state need not be this one
    page.locator(".seat.mine", has_text="Landlord").wait_for()


@pytest.mark.long
def test_big2_with_four_seats_by_the_keyboard_alone(server: Server, people: People) -> None:
    page = people()
    sit(page, new_table(server, "big2", ["rules", "person", "random", "rules+search"], seed=6, name="Ann"))
    assert page.locator(".seat").count() == 4
    ready(page)
    page.keyboard.press("?")
    assert "go through your cards" in page.locator("dialog[open]").inner_text()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert page.locator(".hand-card[aria-pressed=true]").count() == 1
    page.keyboard.press("Escape")
    assert page.locator(".hand-card[aria-pressed=true]").count() == 0
    orders = set()
    for _ in range(4):
        page.keyboard.press("o")
        orders.add(page.get_by_role("button", name="Sort").inner_text())
    assert len(orders) == 4
    take_turn(page, keys=True)
    ready(page)
    picture(page, "big2")
    play_to_the_end(page, keys=True)
    picture(page, "big2-end")
    # the keyboard stands on what comes next
    act(page, lambda: page.keyboard.press("Enter"))
    assert "Round 2" in page.locator(".standing").inner_text()


@pytest.mark.parametrize("width", [360, 390, 1440])
@pytest.mark.some(2)
def test_tables_of_games_fit_their_screen_in_both_languages(
    server: Server, people: People, width: int
) -> None:
    page = people(width=width, height=800 if width < 600 else 900)
    tables = (
        new_table(
            server, "doudizhu", ["rules", "person", "rules+search"], options={"landlord": "bid"}, seed=5
        ),
        new_table(server, "big2", ["rules", "person", "random", "rules"], seed=3),
        new_table(server, "leduc_poker", ["random", "person"], seed=3),
    )
    for at, table in enumerate(tables):
        sit(page, table)
        for turn in range(amount(4, 2)):
            if ready(page):
                break
            for language in ("中文", "English"):
                page.get_by_role("button", name=language).click()
                over = "({scrollWidth: w, scrollHeight: h}) => [w - innerWidth, h - innerHeight]"
                wide, high = page.evaluate(f"({over})(document.documentElement)")
                assert wide <= 0 and high <= 0, (table, language, turn, wide, high)
                assert left_behind(page) == []
                check_hand(page)
                picture(page, f"game-{at}-{turn}-{language}")
            take_turn(page, keys=width > 600)


def test_pages_of_games_have_no_grave_fault(server: Server, people: People) -> None:
    page = people("/#/games")
    page.locator(".game-select").wait_for()
    page.get_by_text("More rules").click()
    assert faults(page) == []
    for game, players in (
        ("doudizhu", ["person", "rules", "rules"]),
        ("big2", ["rules", "person", "rules", "rules"]),
        ("liars_dice", ["person", "random"]),
    ):
        sit(page, new_table(server, game, players, seed=2))
        ready(page)
        page.get_by_role("button", name="Hint").click()
        page.locator(".hint-best").wait_for()
        # the card games have their colours in common, and so have dialogs
        assert faults(page, THEMES if game != "big2" or amount(1, 0) else LIGHT) == [], game
        page.get_by_role("button", name="Seat", exact=True).click()
        assert faults(page, LIGHT, within=DIALOG) == [], game
        page.keyboard.press("Escape")
        if game == "liars_dice" or amount(1, 0):  # the others end alike, and later
            play_to_the_end(page)
            assert faults(page) == [], game


def test_another_browser_and_a_table_that_is_none_are_told_so(server: Server, people: People) -> None:
    table, _ = new_table(server, "kuhn_poker", ["person", "random"])
    people.expected = re.compile("WebSocket|404 ")  # type: ignore[attr-defined]  # refused
    for address, told in (
        (table, "This seat belongs to another browser."),
        ("doesnotexist", "This table does not exist."),
    ):
        page = people(f"/#/games/{address}")
        page.get_by_role("heading", name=told).wait_for()
