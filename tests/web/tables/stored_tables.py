"""Tables as a server leaves them on disk, played without one."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np

from gs2.web.games.game_tables import play_of
from gs2.web.games.offers import game_titled
from gs2.web.guandan.match_play import MatchPlay
from gs2.web.tables.table import Agents, Play, Table
from gs2.web.tables.table_log import TableLog, TableSetup, read_table

PEOPLE = ("Ann", "Bob", "Cy", "Dee")


def stored_table_of_people(
    folder: Path, until: Callable[[Table[MatchPlay]], bool], **setup: Any
) -> tuple[Table[MatchPlay], list[str]]:
    """Return a table that was played at random until something, and the keys of its seats; it is closed."""
    options = {"id": secrets.token_urlsafe(9), "seed": secrets.randbits(60), **setup}
    table = game_table(folder, "guandan", ("person",) * 4, **options)
    keys = [table.sit(name)[1] for name in PEOPLE]
    rng = np.random.default_rng(table.setup.seed)
    while not until(table):
        if table.play.waiting:
            table.enter("next", 1)
        random_choice(table.play, rng, table.choose)
    table.close()
    return table, keys


def match_play(**setup: Any) -> MatchPlay:
    """Return the play of agents, before their first choice."""
    return MatchPlay(
        TableSetup(**{"id": "abcdefgh", "seats": ("random",) * 4, **setup}), game_titled("guandan")
    )


def random_choice(play: MatchPlay, rng: np.random.Generator, take: Callable[..., Any] | None = None) -> None:
    """Have the first seat that is to act take any of its choices."""
    seat = next(iter(play.session.pending))
    (take or play.take)(seat, int(rng.integers(play.count(seat))))


def reopened(table: Table[MatchPlay]) -> Table[MatchPlay]:
    """Return a table of people again, as its file has it."""
    setup, lines = read_table(table.log.path)
    log = TableLog(table.log.path, setup, new=False)
    return Table(log, MatchPlay(setup, game_titled("guandan")), Nobody(), lines)


class Onlooker:
    """Looks at a table."""

    seat: int | None = None

    def show(self) -> None:
        """See nothing."""


class Nobody:
    """Agents that are never asked."""

    async def answer(self, play: Play, label: str, seat: int) -> int:
        """Fail."""
        raise AssertionError("nobody looks at the table")

    def hint(self, play: Play, seat: int, label: object) -> Callable[[], Awaitable[dict[str, Any]]]:
        """Fail."""
        raise AssertionError("nobody asks for a hint")

    def forget(self, play: Play) -> None:
        """Have nothing to drop."""


def game_table(
    folder: Path, game: str, seats: tuple[str, ...], agents: Agents | None = None, **setup: Any
) -> Table[Any]:
    """Return a new table at which nobody looks. agents: None for those that are never asked."""
    made = TableSetup(**{"id": "abcdefgh", "game": game, "seats": seats, "seed": 3, **setup})
    folder.mkdir(parents=True, exist_ok=True)
    log = TableLog(folder / f"{made.id}.jsonl", made, new=True)
    return Table(log, play_of(game)(made, game_titled(game)), agents or Nobody())
