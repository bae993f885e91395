"""What axe-core finds on a page, in light and in dark: tests of pages ask it where they are."""

from __future__ import annotations

from typing import Any

import pytest

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
