"""Who goes first where there is more work than there are cores.

Players and the learner that waits for their games share a machine. Where all of them want a core, those that
can wait let the other one go first, so that it is never the last to be done.
"""

from __future__ import annotations

import os
import sys

__all__ = ["BEHIND", "niceness", "step_behind"]

BEHIND = 5
"""Steps of niceness: two threads that are so far behind a third get a core of two between them."""


def niceness() -> int:
    """Return how far this thread lets others go first, from -20 to 19; 0 where there is no such thing."""
    return os.nice(0) if hasattr(os, "nice") else 0


def step_behind(first: int, *, whole_process: bool = True) -> None:
    """Let whoever has the niceness `first` go before this thread, and before the threads that it starts.

    whole_process: False where other threads of this process are to stay as they are; only Linux can tell them
    apart, elsewhere nothing happens then. What is behind already stays where it is.
    """
    if hasattr(os, "nice") and (whole_process or sys.platform == "linux"):
        os.nice(max(0, first + BEHIND - niceness()))
