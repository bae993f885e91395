"""What people have seen of a table: its changes are counted, and a message names the last one shown."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

__all__ = ["Offer", "Versions"]

Offer = tuple[str | int | None, ...]
"""Something that people may do, and what it would be done to: ("undo", 2, 41)."""


class Versions:
    """Counts a table's changes, and keeps since which of them each offer has stood without a break.

    What is asked for twice on one version is done once, for the first time changes the offer; what others do
    meanwhile does not. Counting begins at the microseconds since 1970: a browser that stayed open while the
    server began anew has seen none of these versions.
    """

    def __init__(self) -> None:
        self.now = time.time_ns() // 1000
        self._since: dict[Offer, int] = {}

    def count(self, offers: Iterable[Offer]) -> None:
        """Count a change, after which these offers stand."""
        self.now += 1
        self._since = {offer: self._since.get(offer, self.now) for offer in offers}

    def means(self, offer: Offer, version: Any) -> bool:
        """Return whether who has seen a version means an offer that stands."""
        if isinstance(version, bool) or not isinstance(version, int):
            return False
        return offer in self._since and self._since[offer] <= version <= self.now

    def since(self, offer: Offer) -> int:
        """Return the change since which an offer has stood, 0 if it does not."""
        return self._since.get(offer, 0)
