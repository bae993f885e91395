"""How long things take, in a few hundred bytes: counts by logarithmic buckets.

No library, because games in this process are timed too and must need no extra: HdrHistogram is compiled and
installs setuptools along with it; ddsketch is plain Python, but slower (1.7 against 1.0 microseconds for each
duration) and does not tell the longest.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["Timing"]

_PER_OCTAVE = 8


class Timing:
    """Durations noted one by one. Quantiles are exact to one bucket, a factor of 2 ** (1 / 8)."""

    def __init__(self) -> None:
        self._settled = 0
        self._total = 0.0
        self._longest = 0.0
        self._buckets: dict[int, int] = {}
        self._fresh: list[float] = []

    def add(self, seconds: float) -> None:
        """Note one duration."""
        fresh = self._fresh
        fresh.append(seconds)
        if len(fresh) > 1000:
            self._settle()

    def _settle(self) -> None:
        """Sort what was noted into the buckets."""
        fresh, self._fresh = self._fresh, []
        self._settled += len(fresh)
        self._total += sum(fresh)
        self._longest = max(self._longest, *fresh) if fresh else self._longest
        for seconds in fresh:
            bucket = int(_PER_OCTAVE * math.log2(seconds * 1e7 + 1.0))
            self._buckets[bucket] = self._buckets.get(bucket, 0) + 1

    def merge(self, other: Timing) -> None:
        """Add another's durations."""
        self._settle()
        other._settle()
        self._settled += other._settled
        self._total += other._total
        self._longest = max(self._longest, other._longest)
        for bucket, count in other._buckets.items():
            self._buckets[bucket] = self._buckets.get(bucket, 0) + count

    @property
    def count(self) -> int:
        """Durations noted."""
        return self._settled + len(self._fresh)

    @property
    def longest(self) -> float:
        """The longest duration in seconds."""
        return max(self._longest, *self._fresh) if self._fresh else self._longest

    @property
    def mean(self) -> float:
        """Mean duration in seconds; 0 if none was noted."""
        return (self._total + sum(self._fresh)) / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """Return the duration in seconds that `share` of all do not exceed (the upper edge of its bucket)."""
        self._settle()
        wanted = share * self.count
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen >= wanted:
                edge: float = (2.0 ** ((bucket + 1) / _PER_OCTAVE) - 1.0) * 1e-7
                return min(edge, self.longest)
        return self.longest

    def summary(self) -> dict[str, Any]:
        """Return count, and mean, median, p99 and longest in milliseconds."""
        return {
            "count": self.count,
            "mean_ms": round(1e3 * self.mean, 3),
            "p50_ms": round(1e3 * self.quantile(0.5), 3),
            "p99_ms": round(1e3 * self.quantile(0.99), 3),
            "max_ms": round(1e3 * self.longest, 3),
        }
