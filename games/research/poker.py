"""Names of poker ranks, shared by the small poker games."""

from __future__ import annotations

__all__ = ["rank_names"]


def rank_names(ranks: int) -> str:
    """Return one letter for each rank, lowest first: "JQK" for three, up to "23456789TJQKA" for thirteen."""
    return "JQK"[3 - ranks :] if ranks <= 3 else "23456789TJQKA"[13 - ranks :]
