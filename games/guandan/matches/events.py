"""What happens in a match, as a sequence of small records; a match is replayed from them."""

from __future__ import annotations

from dataclasses import dataclass

from games.support.array_types import Bytes, Row

__all__ = [
    "AntiTribute",
    "Dealt",
    "Event",
    "Leads",
    "MatchOver",
    "Played",
    "Returned",
    "RoundOver",
    "Transfer",
    "Tribute",
    "match_payoffs",
]

Transfer = tuple[int, int, int]
"""(from seat, to seat, card index)."""


@dataclass(frozen=True, eq=False)
class Dealt:
    """A round begins: its number (from 1), level, the teams' levels, whose level it is, hands [4, 54] uint8.

    level, levels: rank codes. owner: team, or None in a first round.
    """

    round: int
    level: int
    levels: tuple[int, int]
    owner: int | None
    hands: Bytes


@dataclass(frozen=True)
class AntiTribute:
    """Tribute is refused by those who hold the big jokers: one seat with both, or two with one each."""

    seats: tuple[int, ...]


@dataclass(frozen=True)
class Tribute:
    """Tribute is paid, in the order in which the payers answered."""

    transfers: tuple[Transfer, ...]


@dataclass(frozen=True)
class Returned:
    """Cards are returned for tribute, in the order of the transfers they answer."""

    transfers: tuple[Transfer, ...]


@dataclass(frozen=True)
class Leads:
    """Play begins with this seat."""

    seat: int


@dataclass(frozen=True, eq=False)
class Played:
    """A seat plays an action (ACTION, a single row), a PASS included."""

    seat: int
    action: Row


@dataclass(frozen=True)
class RoundOver:
    """A round ends.

    order: seats as they finished, the unfinished last by seat. payoffs: of each seat (see `GuanDan.returns`).
    levels, fails, drops: of each team after it. rest: (seat, card indices held) of the unfinished.
    """

    order: tuple[int, ...]
    payoffs: tuple[int, ...]
    levels: tuple[int, int]
    fails: tuple[int, int]
    drops: tuple[int, int]
    rest: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True)
class MatchOver:
    """The match ends: the winning team, None if drawn, and rounds played."""

    winner: int | None
    rounds: int


Event = Dealt | AntiTribute | Tribute | Returned | Leads | Played | RoundOver | MatchOver


def match_payoffs(winner: int | None) -> list[float]:
    """Return what each seat is paid for a match: 1 on the winning team, -1 on the other, 0 in a drawn one."""
    return [0.0 if winner is None else 1.0 if seat % 2 == winner else -1.0 for seat in range(4)]
