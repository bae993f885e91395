"""Generative subgame solving: knowledge, generation, gadgets, search, agents and the command line."""

from typing import TYPE_CHECKING

from gs2.shadow import check_packages

check_packages()  # before the first import of another package of ours

from games.support.lazy import lazy_exports  # noqa: E402

if TYPE_CHECKING:
    from gs2.parts import register_gadget, register_generator
    from gs2.search.config import SearchConfig
    from gs2.search.context import SearchContext, SearchOptions
    from gs2.search.explain import solve_infoset
    from gs2.search.gadget.build import check_gadget
    from gs2.search.generation import check_generator
    from gs2.search.histories.knowledge import knowledge_report
    from gs2.search.presets import PRESETS, preset
    from gs2.search.refine import RefineOptions, refine_both, refine_policy
    from gs2.search.result import SearchResult
    from gs2.search.strategy import Strategy
    from gs2.search.subgame.leaf import check_leaf_value
    from gs2.tabulate import tabulate

__all__ = [
    "PRESETS",
    "RefineOptions",
    "SearchConfig",
    "SearchContext",
    "SearchOptions",
    "SearchResult",
    "Strategy",
    "check_gadget",
    "check_generator",
    "check_leaf_value",
    "knowledge_report",
    "preset",
    "refine_both",
    "refine_policy",
    "register_gadget",
    "register_generator",
    "solve_infoset",
    "tabulate",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "gs2.search.config": ("SearchConfig",),
        "gs2.search.context": ("SearchContext", "SearchOptions"),
        "gs2.search.gadget.build": ("check_gadget",),
        "gs2.search.generation": ("check_generator",),
        "gs2.search.histories.knowledge": ("knowledge_report",),
        "gs2.search.subgame.leaf": ("check_leaf_value",),
        "gs2.parts": ("register_gadget", "register_generator"),
        "gs2.search.presets": ("PRESETS", "preset"),
        "gs2.search.refine": ("RefineOptions", "refine_both", "refine_policy"),
        "gs2.search.result": ("SearchResult",),
        "gs2.search.strategy": ("Strategy",),
        "gs2.search.explain": ("solve_infoset",),
        "gs2.tabulate": ("tabulate",),
    },
)
