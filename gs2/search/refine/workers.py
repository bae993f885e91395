"""Processes that share the searches of a refinement; each is sent the game and its tree once."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from games.support.configuration import ConfigError
from games.support.own import load_own_files, own_files
from games.support.work.engines import executor_at
from games.support.work.executor import Executor, Task, WorkerLost, in_order
from games.support.work.where import where_of
from gs2.parts import PARTS, add_part, chosen_parts
from gs2.search.config.search import SearchConfig
from gs2.search.context import SearchContext

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
        sent = _sent(context, config) if count > 1 else b""
        task = Task(_received, (sent, player), search)
        self._executor: Executor[Job, Found] = executor_at(where_of(count), task, here=context)

    def __enter__(self) -> Callable[[list[Job]], Iterator[Found]]:
        return self._run

    def __exit__(self, *exception: object) -> None:
        self._executor.close()

    def _run(self, jobs: list[Job]) -> Iterator[Found]:
        try:
            yield from in_order(self._executor, jobs)
        except WorkerLost as error:
            raise ConfigError(
                "refine_policy: every process must answer; one ended without. In a script, call it under "
                '`if __name__ == "__main__":`; where memory is short, use fewer workers'
            ) from error


def _sent(context: SearchContext, config: SearchConfig) -> bytes:
    """Return what a worker needs to search in a game, pickled.

    Raises ConfigError if a part of it cannot be sent to another process.
    """
    parts: dict[str, Any] = {"game": context.game, "tree": context.tree}
    parts |= chosen_parts(config)
    for name, part in parts.items():
        try:
            pickle.dumps(part)
        except Exception as error:
            raise ConfigError(
                f"refine_policy: with workers > 1 the {name} must be one that pickle can send to a process; "
                f"got {part!r} ({error}); define it at the top of a module, or use workers=1"
            ) from error
    whole = pickle.dumps(parts, protocol=pickle.HIGHEST_PROTOCOL)
    return pickle.dumps((own_files(), whole), protocol=pickle.HIGHEST_PROTOCOL)


def _received(sent: bytes, player: int) -> SearchContext:
    """Return the game and tree of a worker, with what its searches need."""
    files, whole = pickle.loads(sent)
    load_own_files(files)  # before what was made there
    parts = pickle.loads(whole)
    for field in PARTS.keys() & parts:
        add_part(field, *parts[field])
    context = SearchContext(parts["game"], parts["tree"])
    context.graph(player)
    return context
