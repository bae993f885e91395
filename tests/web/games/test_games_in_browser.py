"""A person plays DouDiZhu, Big2 and a game of words in a real browser: by clicks, by keys, on a phone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.web.axe import DIALOG, LIGHT, faults
from tests.web.serving import Server
from tests.web.table_page import TablePage, check_hand, check_screen, picture

People = Callable[..., Any]


def test_a_round_of_doudizhu_from_the_entry_page_on(server: Server, people: People) -> None:
    page = people()
    page.locator(".game-select").select_option("doudizhu")
    page.get_by_text("More settings").click()
    assert faults(page) == []
    page.get_by_label("Your name").fill("Ann")
    seats = page.locator(".seat-picker select")
    assert seats.count() == 3 and page.locator(".game-select").input_value() == "doudizhu"
    for seat in (1, 2):
        seats.nth(seat).select_option("rules")
    page.get_by_role("button", name="Deal the cards").click()
    page.locator(".felt").wait_for()
    page.get_by_role("button", name="Options").click()
    page.locator("dialog input[type=range]").fill("0")
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    table = TablePage(page)
    assert not table.until_turn()
    mine = page.locator(".seat.mine")
    assert "Landlord" in mine.inner_text() and "20 cards" in mine.inner_text()
    assert page.locator(".seat:not(.mine) .role-badge.farmer").count() == 2
    assert page.locator(".bottom-cards .card:not(.back)").count() == 3
    assert page.locator(".stake.times").inner_text() == "×1"
    assert page.locator(".hand-card").count() == 20
    # of two equal cards the one that was clicked is played
    table.take_turn()
    table.until_turn()
    page.get_by_role("button", name="Hint").click()
    page.locator(".hint-best").wait_for()
    picture(page, "doudizhu")
    assert faults(page) == []
    before = page.locator(".hand-card").count()
    table.take_turn()
    table.until_turn()
    table.act(lambda: page.get_by_role("button", name="Undo").click())
    table.until_turn()
    assert page.locator(".hand-card").count() == before
    page.reload()
    table.until_turn()
    assert page.locator(".hand-card").count() == before, "a reload keeps the round"
    table.play_to_the_end()
    picture(page, "doudizhu-end")
    assert page.locator(".last-result").inner_text()
    gains = [text.replace("−", "-") for text in page.locator(".gain").all_inner_texts()]
    assert len(gains) == 3 and sum(map(int, gains)) == 0
    assert page.locator(".score-sheet tbody tr").count() == 2
    with page.expect_download() as begun:
        page.get_by_role("link", name="Record").click()
    record = json.loads(begun.value.path().read_text())
    assert record["game"] == "doudizhu" and "Ann" in record["agents"]
    table.act(lambda: page.locator(".actions .next").click())
    assert "Round 2" in page.locator(".standing").inner_text()
    assert "Landlord" not in page.locator(".seat.mine").inner_text(), "everybody has moved on"
    page.get_by_role("button", name="Seat", exact=True).click()
    assert faults(page, LIGHT, within=DIALOG) == []
    page.locator(".seat-choices button").first.click()
    # the others may be acting meanwhile, so the next state need not be this one
    page.locator(".seat.mine", has_text="Landlord").wait_for()


@pytest.mark.parametrize("width", [360, 390, 1440])
@pytest.mark.some(2)
def test_tables_of_games_fit_their_screen_in_both_languages_and_have_no_grave_fault(
    server: Server, people: People, width: int
) -> None:
    page = people(width=width, height=800 if width < 600 else 900)
    tables = (
        server.table(["rules", "person", "rules"], game="doudizhu", options={"landlord": "bid"}, seed=5),
        server.table(["rules", "person", "random", "rules"], game="big2", seed=3),
        server.table(["random", "person"], game="leduc_poker", seed=3),
    )
    for at, key in enumerate(tables):
        table = TablePage.sit(page, *key)
        for turn in range(2):
            if table.until_turn():
                break
            for language in ("中文", "English"):
                page.get_by_role("button", name=language).click()
                check_screen(page)
                check_hand(page)
                picture(page, f"game-{at}-{turn}-{language}")
            table.take_turn(keys=width > 600)
        if width < 600:
            continue
        if at == 1:  # the other card game has the same colours, and is looked at where its hint is shown
            assert table.until_turn() or faults(page, LIGHT) == []
        elif at == 2:
            table.play_to_the_end()
            assert faults(page) == []
