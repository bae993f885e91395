"""What lets solvers be stopped and resumed: checks of saved states, and kernels that return every moment."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from cfr.variants import Variant

__all__ = [
    "Runs",
    "StateError",
    "check_iteration",
    "check_state",
    "iterations_at_once",
    "other_variant",
    "same_variant",
]

ENTRIES_AT_ONCE = 20_000_000
"""Entries that a kernel goes through before it returns: a tenth of a second, so that Ctrl-C is noticed."""
MOST_AT_ONCE = 100_000
"""Most iterations in one call, which the smallest games reach: each has a cost of its own."""


class StateError(ValueError):
    """A saved state from which no run can continue."""


class Runs(Protocol):
    """A solver that goes on iteration by iteration and says how far it has come."""

    @property
    def iteration(self) -> int:
        """Return the iterations done so far."""
        ...

    def run(self, n: int) -> None:
        """Run `n` more iterations."""
        ...

    def exploitability(self) -> float:
        """Return how far its policy is from an equilibrium, NashConv / 2, in payoffs."""
        ...


def iterations_at_once(entries: int) -> int:
    """Return how many iterations a kernel runs in one call. entries: gone through by each."""
    return max(1, min(ENTRIES_AT_ONCE // max(entries, 1), MOST_AT_ONCE))


def same_variant(saved: Any, variant: Variant) -> bool:
    """Return whether the fields of a saved variant are this one's."""
    return isinstance(saved, dict) and saved == asdict(variant)


def other_variant(saved: Any, variant: Variant) -> str:
    """Return what to say of a saved run of another variant: the rule, what was asked for, the next step."""
    name = saved.get("name") if isinstance(saved, dict) else saved
    if name == variant.name:
        return (
            f"resume: the parameters of {name} must stay those of the saved run, {saved}; "
            f"got {asdict(variant)}; use those, or solve afresh"
        )
    return (
        f"resume: the variant must stay that of the saved run, {name}; got {variant.name}; "
        "use that one, or solve afresh"
    )


def check_state(name: str, values: ArrayLike) -> None:
    """Raise StateError unless a saved array holds finite real numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub" or not np.all(np.isfinite(array)):
        raise StateError(f"resume: {name} must hold finite numbers; got {array.dtype}; solve afresh")


def check_iteration(value: Any) -> int:
    """Return a saved number of iterations; raise StateError unless it is a whole number of at least 0."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 0 <= value < 1 << 53:
        raise StateError(
            f"resume: iteration must be a whole number of at least 0; got {value!r}; solve afresh"
        )
    return int(value)
