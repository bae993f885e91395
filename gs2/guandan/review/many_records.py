"""Reviews of many records: each a piece of work of its own, on this machine or on a cluster.

    for number, review in review_records(records, ManyReviews("fast"), where_of(4)): ...

Reviews that were made before come first; new ones are kept as soon as they are made, by the process that asks
for them, wherever they were made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from games.support.work.engines import executor_at
from games.support.work.executor import Task, WorkerLost, results
from games.support.work.where import Place
from gs2.guandan.review.game_files import ReviewError, parse_game
from gs2.guandan.review.review_cache import keep_review, kept_review
from gs2.guandan.review.reviewing import key_of_review, review_text

__all__ = ["ManyReviews", "RecordText", "review_records"]


@dataclass(frozen=True)
class RecordText:
    """A record's text, and the name of its file for messages and headings."""

    name: str
    text: str


@dataclass(frozen=True)
class ManyReviews:
    """How records are reviewed: as in `review_text`, whose words these are."""

    preset: str = "fast"
    rounds: tuple[int, ...] | None = None
    cache: Path | None = None


def review_records(
    records: Sequence[RecordText],
    how: ManyReviews,
    where: Place,
    *,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the place of each record and its review, as plain data, as they are made.

    where: the processes that judge. stop: asked now and then; once it says so, what is under way is dropped.
    Raises what `review_text` raises, at a record that cannot be read before any is judged, and ReviewError if
    a process dies.
    """
    for record in records:
        parse_game(record.text, name=record.name)
    left = []
    keys = [key_of_review(record.text, how.preset, how.rounds) for record in records]
    for number, (record, key) in enumerate(zip(records, keys, strict=True)):
        found = kept_review(how.cache, key, record.name)
        if found is None:
            left.append((number, record))
        else:
            yield number, found
    if not left:
        return
    with executor_at(where, Task(ManyReviews, (how.preset, how.rounds), _judge)) as executor:
        try:
            for number, review in results(executor, left, stop=stop):
                keep_review(how.cache, keys[number], review)
                yield number, review
        except WorkerLost as error:
            raise ReviewError(f"review: {error}; use fewer --processes") from error


def _judge(how: ManyReviews, record: RecordText) -> dict[str, Any]:
    return review_text(record.text, name=record.name, preset=how.preset, rounds=how.rounds)
