"""Generative subgame solving: knowledge, generation, gadgets, search, agents and the command line."""

from typing import TYPE_CHECKING

from gs2.shadow import check_packages

check_packages()  # before the first import of another package of ours

from games.lazy import lazy_exports  # noqa: E402

if TYPE_CHECKING:
    from gs2.config import SearchConfig
    from gs2.context import SearchContext
    from gs2.gadget import check_gadget
    from gs2.generation import check_generator
    from gs2.knowledge import knowledge_report
    from gs2.leaf import check_leaf_value
    from gs2.parts import register_gadget, register_generator
    from gs2.presets import PRESETS, preset
    from gs2.refine import refine_policy
    from gs2.result import SearchResult
    from gs2.search import solve_infoset
    from gs2.tabulate import tabulate

__all__ = [
    "PRESETS",
    "SearchConfig",
    "SearchContext",
    "SearchResult",
    "check_gadget",
    "check_generator",
    "check_leaf_value",
    "knowledge_report",
    "preset",
    "refine_policy",
    "register_gadget",
    "register_generator",
    "solve_infoset",
    "tabulate",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "gs2.config": ("SearchConfig",),
        "gs2.context": ("SearchContext",),
        "gs2.gadget": ("check_gadget",),
        "gs2.generation": ("check_generator",),
        "gs2.knowledge": ("knowledge_report",),
        "gs2.leaf": ("check_leaf_value",),
        "gs2.parts": ("register_gadget", "register_generator"),
        "gs2.presets": ("PRESETS", "preset"),
        "gs2.refine": ("refine_policy",),
        "gs2.result": ("SearchResult",),
        "gs2.search": ("solve_infoset",),
        "gs2.tabulate": ("tabulate",),
    },
)
