"""Processes that share the searches of a refinement; each is sent the game and its tree once."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, Generic, TypeVar

from games.support.configuration import ConfigError
from gs2.search.config.search import SearchConfig
from gs2.search.config.stages import GADGET_NAMES, GENERATOR_NAMES
from gs2.search.context import SearchContext
from gs2.search.gadget.build import OWN_GADGETS
from gs2.search.generation import GENERATORS

__all__ = ["Workers"]

Job = TypeVar("Job")
Found = TypeVar("Found")


class Workers(Generic[Job, Found]):
    """Runs jobs in one game here, or in fresh processes that are sent the game and its tree once each.

    search: does one job; a function at the top of a module. count: processes; 1 stays in this one.
    Raises ConfigError for a game or part of one's own that cannot be sent, and for processes that die.
    """

    def __init__(
        self,
        search: Callable[[SearchContext, Job], Found],
        context: SearchContext,
        player: int,
        config: SearchConfig,
        count: int,
    ) -> None:
        self._search, self._context = search, context
        self._pool: ProcessPoolExecutor | None = None
        if count > 1:
            sent = _sent(context, config)
            self._strangers = set(multiprocessing.active_children())
            # a forked copy of a process with threads (OpenMP's, torch's) may hang; a fresh one cannot
            self._pool = ProcessPoolExecutor(
                count,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_receive,
                initargs=(sent, player),
            )

    def __enter__(self) -> Callable[[list[Job]], Iterator[Found]]:
        return self._run

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._pool is None:
            return
        if kind is not None:  # an interruption or an error does not wait for searches that nobody wants
            for process in set(multiprocessing.active_children()) - self._strangers:
                process.terminate()
        self._pool.shutdown(cancel_futures=True)

    def _run(self, jobs: list[Job]) -> Iterator[Found]:
        if self._pool is None:
            yield from (self._search(self._context, job) for job in jobs)
            return
        try:
            yield from self._pool.map(partial(_search_received, self._search), jobs)
        except BrokenProcessPool as error:
            raise ConfigError(
                "refine_policy: every process must answer; one ended without. In a script, call it under "
                '`if __name__ == "__main__":`; where memory is short, use fewer workers'
            ) from error


def _sent(context: SearchContext, config: SearchConfig) -> bytes:
    """Return what a worker needs to search in a game, pickled.

    Raises ConfigError if a part of it cannot be sent to another process.
    """
    parts: dict[str, Any] = {"game": context.game, "tree": context.tree}
    if config.generation.generator in GENERATORS:
        parts["generator"] = config.generation.generator, GENERATORS[config.generation.generator]
    if config.gadget.kind in OWN_GADGETS:
        parts["gadget"] = config.gadget.kind, OWN_GADGETS[config.gadget.kind]
    for name, part in parts.items():
        try:
            pickle.dumps(part)
        except Exception as error:
            raise ConfigError(
                f"refine_policy: with workers > 1 the {name} must be one that pickle can send to a process; "
                f"got {part!r} ({error}); define it at the top of a module, or use workers=1"
            ) from error
    return pickle.dumps(parts, protocol=pickle.HIGHEST_PROTOCOL)


_received: list[SearchContext] = []


def _receive(sent: bytes, player: int) -> None:
    """Prepare a worker; the process that started it decides what Ctrl-C means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parts = pickle.loads(sent)
    if "generator" in parts:
        name, chooser = parts["generator"]
        GENERATORS[name] = chooser
        if name not in GENERATOR_NAMES:
            GENERATOR_NAMES.append(name)
    if "gadget" in parts:
        name, build = parts["gadget"]
        OWN_GADGETS[name] = build
        if name not in GADGET_NAMES:
            GADGET_NAMES.append(name)
    _received[:] = [SearchContext(parts["game"], parts["tree"])]
    _received[0].graph(player)


def _search_received(search: Callable[[SearchContext, Job], Found], job: Job) -> Found:
    return search(_received[0], job)
