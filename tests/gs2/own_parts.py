"""Forgetting what a test registers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gs2.search.registered import PARTS


@contextmanager
def forgotten_parts() -> Iterator[None]:
    """Forget the generators, gadgets and leaf values that are registered inside."""
    before = {field: (dict(parts), list(names)) for field, (parts, names) in PARTS.items()}
    try:
        yield
    finally:
        for field, (parts, names) in PARTS.items():
            parts.clear()
            parts.update(before[field][0])
            names[:] = before[field][1]
