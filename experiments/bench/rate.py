"""How often something is done a second, by the processor's clock and by the one on the wall."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Rate", "measured_rate"]


@dataclass(frozen=True)
class Rate:
    """Things done a second.

    processor: per second of processor time, times `threads`. wall: per second by the clock on the wall.
    share: of a core that each thread had meanwhile.
    """

    processor: float
    wall: float
    threads: int
    share: float


def measured_rate(work: Callable[[], int], seconds: float, threads: int) -> Rate:
    """Return the rate of some work that is repeated; the work itself keeps `threads` threads busy.

    work: does something, and returns how many things that were. It is done once before a clock starts.
    """
    work()
    done, begin, ran = 0, time.perf_counter(), time.process_time()
    while (wall := time.perf_counter() - begin) < seconds or done == 0:
        done += work()
    wall, used = time.perf_counter() - begin, time.process_time() - ran
    return Rate(threads * done / used, done / wall, threads, used / wall / threads)
