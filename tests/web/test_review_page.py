"""A review as one HTML file in a real browser: walked through with keys and clicks, in both languages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gs2.review.reviewing import parse_game
from gs2.web.pages import review_page
from tests.gs2.guandan.review.spoken import bare, heard_of, record_text
from tests.gs2.guandan.review.test_judging import small_review

People = Callable[..., Any]
NAMES = ["李", "</script><img src=x onerror=alert(1)>", "<b>Cem</b>", "李"]


def page_of(text: str, folder: Path) -> str:
    """Return the address of a review's file."""
    review = small_review().review(parse_game(text)).to_json()
    path = folder / "review.html"
    path.write_text(review_page(review))
    return path.as_uri()


def place(page: Any) -> tuple[str, int]:
    """Return the round shown, and the move."""
    curve = page.get_by_role("slider")
    return page.locator(".review-round[aria-pressed=true] strong").inner_text(), int(
        curve.get_attribute("aria-valuenow")
    )


def test_a_review_is_walked_through_by_keys_and_clicks_and_strangers_names_stay_text(
    people: People, tmp_path: Path
) -> None:
    page = people(page_of(record_text(1, 2, NAMES), tmp_path), width=390, locale="zh-CN", color_scheme="dark")
    assert "复盘" in page.locator("h1").inner_text()
    page.get_by_role("button", name="English").click()
    assert page.locator("h1").inner_text() == "Review of record"
    assert page.locator(".review img[src=x], .review b").count() == 0
    assert page.locator(f"text={NAMES[1]}").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("select option").all_inner_texts()[1:] == ["李 1", *NAMES[1:3], "李 4"]
    page.set_viewport_size({"width": 1440, "height": 900})
    page.keyboard.press("Home")
    assert place(page) == ("Round 1", 0)
    page.keyboard.press("ArrowRight")
    assert place(page) == ("Round 1", 1)
    page.keyboard.press("n")
    assert page.locator(".review-verdict .review-badge").inner_text()
    before = place(page)
    page.get_by_role("button", name="Next mistake").click()
    assert place(page)[1] > before[1]
    page.keyboard.press("p")
    assert place(page) == before
    page.keyboard.press("]")
    assert place(page)[0] == "Round 2"
    page.keyboard.press("End")
    last = place(page)[1]
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowLeft")
    assert place(page) == ("Round 2", last - 1)
    assert page.evaluate("document.activeElement.getAttribute('role')") == "slider"
    shown = page.locator(".review-move").count()
    assert shown == last
    page.get_by_label("only mistakes").check()
    assert 0 < page.locator(".review-move").count() < shown
    page.select_option("select", "2")
    assert set(page.locator(".review-move .review-by").all_inner_texts()) <= {NAMES[2]}


def test_hands_that_nobody_knows_are_said_to_be_unknown(people: People, tmp_path: Path) -> None:
    heard = heard_of(3, 1, "njupt")
    mine = [message for message in heard[: len(heard) // 2] if message[0] == 1]
    page = people(page_of(bare(mine), tmp_path))
    assert page.get_by_text("hand not known").count() == 3
    page.keyboard.press("End")
    assert page.get_by_role("heading", name="not finished").is_visible()
