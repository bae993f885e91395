"""Which functions Numba compiles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

_events: Any = event


@contextmanager
def functions_compiled() -> Iterator[list[str]]:
    """Within, append the name of each function that Numba compiles to the list. Code on disk is not."""
    names: list[str] = []

    class Listener(_events.Listener):  # type: ignore[misc]
        def on_start(self, _: Any) -> None:
            pass

        def on_end(self, ended: Any) -> None:
            names.append(ended.data["dispatcher"].py_func.__name__)

    with _events.install_listener("numba:compile", Listener()):
        yield names
