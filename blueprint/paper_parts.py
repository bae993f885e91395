"""Parts of published systems, by name: the one door to `blueprint.papers`, which may be missing.

    recipe = paper_part("recipe", "--recipe odmc")("odmc")

A part is imported where a field or an option asks for it, and at no other time.
"""

from __future__ import annotations

import importlib
from typing import Any

from games.support.configuration import ConfigError

__all__ = ["paper_part"]

WING = "blueprint.papers"
PARTS = {
    "recipe": "recipes:named_recipe",
    "recipes": "recipes:RECIPES",
}
"""Where each part is: module of the wing and name."""


def paper_part(name: str, wanted: str) -> Any:
    """Return a part of the wing.

    wanted: what asks for it, for the message. Raises ConfigError where the wing is missing.
    """
    module, _, attribute = PARTS[name].partition(":")
    try:
        return getattr(importlib.import_module(f"{WING}.{module}"), attribute)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(WING):
            raise ConfigError(
                f"{wanted} needs {WING}, the systems of published papers, which is not installed; leave it "
                "out, or install gs2 with it"
            ) from error
        raise
