"""A person plays DouDiZhu, Big2 and a game of words in a real browser: by clicks, by keys, on a phone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.web.axe import DIALOG, LIGHT, faults
from tests.web.serving import Server
from tests.web.table_page import POLLING, TablePage, check_hand, left_behind, picture

People = Callable[..., Any]
READY = ".felt.over, .own.turn"


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
    return bool(page.locator(".felt.over").count())


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
    page.locator(".play[aria-disabled=false], .nothing").first.wait_for()
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
    assert faults(page) == []
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
    for at, table in enumerate(tables):
        TablePage.sit(page, *table)
        for turn in range(2):
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
        if width < 600:
            continue
        if at == 1:  # the other card game has the same colours, and is looked at where its hint is shown
            assert ready(page) or faults(page, LIGHT) == []
        elif at == 2:
            play_to_the_end(page)
            assert faults(page) == []


def test_two_people_play_doudizhu_with_an_agent_while_a_third_watches(server: Server, people: People) -> None:
    ann, bob, eve = people(), people(width=390, height=844), people()
    ann.locator(".game-select").select_option("doudizhu")
    ann.get_by_label("Your name").fill("Ann")
    ann.locator("[data-seat='1']").select_option("person")
    ann.locator("[data-seat='2']").select_option("rules")
    ann.get_by_role("button", name="Deal the cards").click()
    ann.locator(".own.turn").wait_for()
    bob.goto(ann.url)
    bob.get_by_role("button", name="Sit down here").click()
    bob.get_by_label("Your name").fill("Bob")
    bob.get_by_role("button", name="Sit down", exact=True).click()
    bob.locator(".hand-card").first.wait_for()
    assert (ann.locator(".hand-card").count(), bob.locator(".hand-card").count()) == (20, 17)
    ann.locator(".name", has_text="Bob").wait_for()
    eve.goto(ann.url)
    eve.get_by_text("You are watching").wait_for()
    for page in (ann, bob):
        page.locator(".own.turn").wait_for()
        take_turn(page, keys=False)
    eve.locator(".log-move").nth(1).wait_for()
    assert eve.locator(".hand-card, .open-hand").count() == 0 and eve.locator(".played .card").count() > 0
    picture(bob, "doudizhu-two-people")
    picture(eve, "doudizhu-watched")
    assert bob.get_by_role("button", name="Undo").is_disabled()
