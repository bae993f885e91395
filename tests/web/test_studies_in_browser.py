"""Reviews and explorations as a person makes them, in a real Chromium; a review also as one HTML file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gs2.review.reviewing import parse_game
from gs2.web.pages import review_page
from tests.gs2.guandan.review.spoken import bare, heard_of, record_text
from tests.gs2.guandan.review.test_judging import small_review
from tests.patience import PATIENCE
from tests.web.axe import faults
from tests.web.serving import Server, first_round
from tests.web.table_page import TablePage, left_behind, picture
from tests.web.tables.stored_tables import stored_table_of_people

People = Callable[..., Any]
NAME = "<img src=x onerror=alert(1)>"


def record_of_a_round(server: Server) -> str:
    """Return the record of a match's first round."""
    table, _ = server.table(["random", "greedy", "random", "greedy"], seed=3)
    server.seat(table).until(lambda state: state["results"])
    return first_round(server.http.get(f"/api/tables/{table}/record").text)


def test_whoever_sits_at_a_table_has_the_rounds_reviewed_that_are_over(
    server: Server, people: People
) -> None:
    page = people()
    begun, keys = stored_table_of_people(server.folder, lambda table: len(table.play.choices) == 9)
    TablePage.sit(page, begun.setup.id, keys[0])
    review = page.locator("main").get_by_role("button", name="Review")
    page.locator(".tools").wait_for()
    assert not review.is_visible(), "nothing is over yet"
    # another review goes first, so that the one that is asked for below is not done when it is stopped
    first = server.http.post("/api/reviews", content=record_of_a_round(server)).json()
    over, keys = stored_table_of_people(server.folder, lambda one: bool(one.play.results))
    TablePage.sit(page, over.setup.id, keys[0])
    box = page.locator("dialog[open]:has-text('Round 1 is over')")
    box.get_by_role("button", name="Review").wait_for()
    page.keyboard.press("Escape")
    box.wait_for(state="detached")
    picture(page, "round-over")
    review.click()
    page.get_by_role("button", name="Stop").click()
    page.get_by_label("Record file").wait_for()
    page.go_back()
    page.locator(".error:has-text('It was stopped')").wait_for()
    server.http.delete(f"/api/jobs/{first['id']}")


def test_a_record_is_dropped_on_the_page_and_names_in_it_stay_text(server: Server, people: People) -> None:
    page = people("/#/review")
    field = page.get_by_label("Record file")
    field.wait_for()
    assert faults(page) == []
    text = record_of_a_round(server).replace('"random"', f'"{NAME}"')
    data = page.evaluate_handle(
        """text => {
            const data = new DataTransfer();
            data.items.add(new File([text], "<b>match</b>.jsonl"));
            return data;
        }""",
        text,
    )
    page.locator(".drop").dispatch_event("drop", {"dataTransfer": data})
    page.locator(".review").wait_for(timeout=1000 * PATIENCE)
    picture(page, "review")
    assert faults(page) == []
    assert NAME in page.locator(".review").inner_text()
    assert page.locator(".review img[src=x], .review b").count() == 0
    address = page.url
    page.reload()
    page.locator(".review").wait_for()
    assert page.url == address
    page.set_viewport_size({"width": 1280, "height": 800})
    for part in ("value", "board", "judged"):
        box = page.locator(f".review-{part}").bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 800, (part, box)
    page.get_by_role("button", name="中文").click()
    page.get_by_role("link", name="换一份牌谱").wait_for()
    assert left_behind(page) == []
    page.get_by_role("button", name="English").click()
    assert left_behind(page) == []
    page.get_by_role("link", name="Another record").click()
    field.set_input_files({"name": "x.txt", "mimeType": "text/plain", "buffer": b"not a record"})
    page.locator(".error:has-text('could not be reviewed')").wait_for()
    field.set_input_files({"name": "x.txt", "mimeType": "text/plain", "buffer": b" " * (9 << 20)})
    page.locator(".error:has-text('at most 8 MB')").wait_for()
    page.get_by_role("button", name="中文").click()
    assert left_behind(page) == []


def test_a_small_game_is_searched_again_as_one_asks(people: People) -> None:
    page = people("/#/explore")
    results = page.locator(".x-results[aria-busy=false] > *").first
    results.wait_for(timeout=1000 * PATIENCE)
    picture(page, "explore")
    assert faults(page) == []
    first = page.url
    page.get_by_label("Method", exact=True).select_option("unsafe")
    page.get_by_role("button", name="Search again").click()
    page.wait_for_function("first => location.href !== first", arg=first)
    results.wait_for(timeout=1000 * PATIENCE)
    address = page.url
    page.reload()
    results.wait_for(timeout=1000 * PATIENCE)
    assert page.url == address and page.get_by_label("Method", exact=True).input_value() == "unsafe"


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
