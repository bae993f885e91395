"""axe-core looks at every page, in light and in dark: no serious fault, none critical."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.patience import PATIENCE, amount
from tests.web.serving import Server, first_round
from tests.web.table_page import TablePage, picture

People = Callable[..., Any]
GRAVE = ("serious", "critical")


VIOLATIONS: dict[str, Any] = {"resultTypes": ["violations"]}
"""To describe the hundreds of elements without a fault as well takes half of the time."""
COLOURS = VIOLATIONS | {"runOnly": ["color-contrast"]}
"""What is looked at again in the other theme."""


THEMES = (("dark", COLOURS), ("light", VIOLATIONS))
LIGHT = THEMES[1:]


DIALOG = "dialog[open]"


def faults(
    page: Any, themes: tuple[tuple[str, dict[str, Any]], ...] = THEMES, *, within: str | None = None
) -> list[str]:
    """Return axe-core's grave findings in some themes: theme, rule, and the first elements that break it.

    within: selects the part to look at, where the page behind it was looked at before.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = []
    for theme, options in themes:
        page.emulate_media(color_scheme=theme)
        found += [
            f"{theme}, {one['id']}: {[(node['target'], node['failureSummary']) for node in one['nodes'][:3]]}"
            for one in axe.Axe().run(page, within, options).response["violations"]
            if one["impact"] in GRAVE
        ]
    return found


@pytest.fixture
def page(people: People) -> Any:
    """A person's page."""
    return people()


def test_the_lobby_has_no_grave_fault(server: Server, page: Any) -> None:
    server.table(["person", "random", "person", "strong"])
    page.reload()
    page.locator(".table-row").first.wait_for()
    page.get_by_text("More settings").click()
    page.get_by_text("The agents").click()
    assert faults(page) == []


def test_a_table_its_hint_and_its_dialogs_have_no_grave_fault(server: Server, page: Any) -> None:
    table = TablePage.sit(page, *server.table(["person", "greedy", "random", "strong"], seed=6))
    table.play_turns(3)
    table.until_turn()
    page.get_by_role("button", name="Suggest").click()
    page.locator(".play[aria-disabled=false], .nothing").first.wait_for()
    assert not amount(1, 0) or faults(page) == []  # the hint comes in addition
    page.get_by_role("button", name="Hint").click()
    page.locator(".hint-view").wait_for(timeout=1000 * PATIENCE)
    for summary in page.locator(".hint-place details summary").all():
        summary.click()
    assert faults(page) == []
    for name in ("Last trick", "Options", "Keys"):  # their colours are those of other dialogs
        page.get_by_role("button", name=name).click()
        assert faults(page, LIGHT if name != "Options" else THEMES, within=DIALOG) == []
        page.keyboard.press("Escape")
    while not table.until_turn():
        table.take_turn()
    assert faults(page, within=DIALOG) == []


def test_watching_has_no_grave_fault(server: Server, page: Any) -> None:
    table = server.table(["random", "greedy", "blueprint", "strong"], seed=2, pace=0.2)
    TablePage.sit(page, *table)
    page.locator(".log-move").nth(5).wait_for()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="One move").wait_for()
    assert faults(page) == []


def test_review_has_no_grave_fault(server: Server, page: Any) -> None:
    page.get_by_role("link", name="Review", exact=True).click()
    page.get_by_label("Record file").wait_for()
    assert faults(page) == []
    table, _ = server.table(["random", "greedy", "random", "strong"], seed=3, pace=0.0)
    watcher = server.seat(table)
    watcher.until(lambda state: len(state["results"]) >= 1)
    text = first_round(server.http.get(f"/api/tables/{table}/record").text)
    page.get_by_label("Record file").set_input_files(
        {"name": "match.jsonl", "mimeType": "application/json", "buffer": text.encode()}
    )
    page.locator(".review").wait_for(timeout=1000 * PATIENCE)
    picture(page, "review")
    assert faults(page) == []


def test_explore_has_no_grave_fault(page: Any) -> None:
    page.get_by_role("link", name="Explore", exact=True).click()
    page.locator(".x-results[aria-busy=false] > *").first.wait_for(timeout=1000 * PATIENCE)
    picture(page, "explore")
    assert faults(page) == []
