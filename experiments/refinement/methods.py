"""Methods of an experiment in words: a preset with changed fields, `gs2-d:k=5`, or several passes, `A>B`."""

from __future__ import annotations

from typing import Any

from games.support.spec import field_types, read_settings, split_spec
from gs2.play.search_agent import named_search
from gs2.search.config.search import SearchConfig

__all__ = ["method_config", "method_passes", "split_passes", "without_field"]

UNTIL_SOLVED = 100_000
"""Iterations allowed where time is the limit."""
SOLVED = 1e-6
"""Exploitability, in payoffs, at which a subgame counts as solved and a search with time left ends."""


def split_passes(method: str) -> tuple[str, ...]:
    """Return the methods of the passes, one after the other: `gs2+>gs2+path` makes one by each."""
    return tuple(method.split(">"))


def without_field(method: str, field: str) -> tuple[str, list[str]]:
    """Return a method without one of its fields, and the values that the field was given, in their order."""
    name, settings = split_spec(method)
    parts = [(setting, *(word.strip() for word in setting.partition("="))) for setting in settings]
    kept = [setting for setting, known, _, _ in parts if known != field]
    found = [value for _, known, _, value in parts if known == field]
    return name + ":" * bool(kept) + ",".join(kept), found


def method_passes(
    method: str, limit: float | None = None, iterations: int | None = None
) -> tuple[SearchConfig, ...]:
    """Return the configuration of each of a method's passes. Raises ConfigError as `method_config`."""
    return tuple(method_config(one, limit, iterations) for one in split_passes(method))


def method_config(method: str, limit: float | None = None, iterations: int | None = None) -> SearchConfig:
    """Return the configuration of a method such as `gs2-d:k=5,entry_floor=0.05`, with a cell's limits.

    A limit binds what it can: a method without CFR has no iterations to limit.
    Raises ConfigError for an unknown preset or field, a value out of range, or a contradiction.
    """
    config = named_search(method, label="method")
    asked = read_settings(split_spec(method)[1], field_types(SearchConfig))
    limits: dict[str, Any] = {} if limit is None else {"time_limit": limit}
    if config.solve.solver in ("cfr", "anchored"):
        if limit is not None:
            limits |= {"iterations": UNTIL_SOLVED, "target": SOLVED}
        if iterations is not None:
            limits["iterations"] = iterations
    limits = {field: value for field, value in limits.items() if field not in asked}
    return config.replace(**limits) if limits else config
