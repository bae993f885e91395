"""Pieces of work whose speed is measured: each is made once, then done in turns with the others.

A piece's maker is named as `module:function` and imports what it needs when it is called.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Work:
    """A piece of work.

    maker: `module:function`; it returns what does the piece once and says how many things that were.
    options: of the maker. counts: what these things are. threads: that the piece keeps busy.
    """

    name: str
    maker: str
    options: dict[str, Any] = field(default_factory=dict)
    counts: str = "decisions"
    threads: int = 1

    def made(self) -> Callable[[], float]:
        """Return what does the piece once."""
        done: Callable[[], float] = function_at(self.maker)(**self.options)
        return done


class Piece(NamedTuple):
    """What one doing took. done: how many things. processor, wall: seconds."""

    done: float
    processor: float
    wall: float


@dataclass(frozen=True)
class Speed:
    """Things done a second.

    processor: by processor time, times the threads at once: the median of the pieces; low, high:
    their quartiles. wall: by the clock on the wall, the median. share: of a core that each had meanwhile.
    """

    work: str
    counts: str
    processor: float
    low: float
    high: float
    wall: float
    at_once: int
    share: float


def function_at(place: str) -> Callable[..., Any]:
    """Return a function by its place, `module:function`."""
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def timed(do: Callable[[], Any]) -> Piece:
    """Return what one doing took; a piece that does not count is one thing."""
    began, ran = time.perf_counter(), time.process_time()
    done = do()
    spent = time.process_time() - ran, time.perf_counter() - began
    return Piece(done if isinstance(done, (int, float)) else 1, *spent)


def in_turns(
    works: Sequence[Work], progress: Callable[[str], None], *, seconds: float = 0.0, repeats: int = 3
) -> list[Speed]:
    """Return the speed of each piece of work, done by turns until all have had their time, a row each.

    seconds: of each by the wall, at least. repeats: doings of each, at least, after one that is not counted.
    """
    ready = []
    for work in works:
        progress(f"{work.name}: preparing")
        ready.append(work.made())
        ready[-1]()
    pieces: list[list[Piece]] = [[] for _ in works]
    open_ = list(range(len(works)))
    while open_:
        for k in open_:
            progress(works[k].name)
            pieces[k].append(timed(ready[k]))
        open_ = [k for k in open_ if len(pieces[k]) < repeats or sum(p.wall for p in pieces[k]) < seconds]
    return [_speed(work, found) for work, found in zip(works, pieces, strict=True)]


def _speed(work: Work, pieces: Sequence[Piece]) -> Speed:
    rates = [work.threads * piece.done / max(piece.processor, 1e-9) for piece in pieces]
    low, middle, high = statistics.quantiles(rates, method="inclusive") if len(rates) > 1 else rates * 3
    wall = statistics.median(piece.done / piece.wall for piece in pieces)
    used, took = (sum(part) for part in list(zip(*pieces, strict=True))[1:])
    return Speed(work.name, work.counts, middle, low, high, wall, work.threads, used / took / work.threads)
