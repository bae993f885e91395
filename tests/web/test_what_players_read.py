"""What a player needs to read is there, can be read, and says what happened: in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.web.serving import Server
from tests.web.table_page import TablePage, check_hand, check_screen, picture

People = Callable[..., Any]


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
