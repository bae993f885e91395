"""Refining a whole strategy: every infoset of a player searched, or of both, and the answers spliced."""

from gs2.search.refine.whole import (
    MODES,
    BothRefined,
    RefineOptions,
    RefineResult,
    RefineStats,
    refine_both,
    refine_policy,
)

__all__ = [
    "MODES",
    "BothRefined",
    "RefineOptions",
    "RefineResult",
    "RefineStats",
    "refine_both",
    "refine_policy",
]
