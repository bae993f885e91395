"""What `gs2 play` is asked for, in three groups of options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Crew", "Own", "Where"]


@dataclass(frozen=True)
class Where:
    """The server, and what is wanted of it; no address for a table of one's own."""

    url: str | None
    dialect: str
    games: int
    room: int | None
    token: str | None


@dataclass(frozen=True)
class Crew:
    """Who plays, in which seats, under which name. No agent: a person, or gs2 at a server."""

    agents: tuple[str, ...]
    seats: tuple[int, ...]
    user: str | None
    workers: int

    def user_of(self, place: int) -> str:
        """Return the name under which agent number `place` is seated."""
        base = self.user or self.agents[place].rpartition("/")[2]
        return base if len(self.agents) == 1 else f"{base}-{place}"


@dataclass(frozen=True)
class Own:
    """A table of one's own: who sits there too, and what is played."""

    others: tuple[str, ...] | None
    seed: int | None
    rules: str | None
    record: Path | None
