"""Parts of one's own by name: generation functions, gadgets and leaf values registered in this process."""

from __future__ import annotations

from typing import Any

from gs2.search.config.search import SearchConfig
from gs2.search.config.stages import GADGET_NAMES, GENERATOR_NAMES, LEAF_NAMES
from gs2.search.gadget.build import OWN_GADGETS
from gs2.search.generation import GENERATORS
from gs2.search.subgame.leaf import OWN_LEAVES

__all__ = ["PARTS", "add_part", "parts_of"]

PARTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "generator": (GENERATORS, GENERATOR_NAMES),
    "gadget": (OWN_GADGETS, GADGET_NAMES),
    "leaf": (OWN_LEAVES, LEAF_NAMES),
}
"""For each field of a configuration that takes one: the parts by name, and the names that there are."""


def add_part(field: str, name: str, part: Any) -> None:
    """Let configurations call a part `name`; one that is there is replaced."""
    parts, names = PARTS[field]
    parts[name] = part
    if name not in names:
        names.append(name)


def parts_of(config: SearchConfig) -> dict[str, tuple[str, Any]]:
    """Return the (name, part) of each field in which a configuration names one."""
    chosen = {name: value for name, value in config.to_json().items() if name in PARTS}
    return {field: (name, PARTS[field][0][name]) for field, name in chosen.items() if name in PARTS[field][0]}
