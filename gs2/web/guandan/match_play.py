"""The match at a table of GuanDan: its session, and the results that people leave by going on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from gs2.guandan.table.server.place import default_choice
from gs2.guandan.table.session import Session
from gs2.web.guandan.account import TableAccount
from gs2.web.tables.table_log import PERSON, TableSetup
from gs2.web.tables.versions import Offer

__all__ = ["MatchPlay"]


class MatchPlay:
    """The play of a match.

    choices: (seat, index) of all so far. waiting: whether the people look at a round's result; agents wait
    for them.
    """

    order = (0, 1, 2, 3)
    opening = None

    def __init__(self, setup: TableSetup) -> None:
        if len(setup.seats) != 4:
            raise ValueError("four seats, each a name")
        self.setup = setup
        self.names: list[str] = []
        self._begin()

    def _begin(self) -> None:
        self.choices: list[tuple[int, int]] = []
        self.waiting = False
        self.account = TableAccount(self.names)
        self.session = Session(
            self.account, games=self.setup.games, rules=self.setup.rules, seed=self.setup.seed
        )
        self.account.session = self.session
        self.session.begin()

    def named(self, names: list[str]) -> None:
        """Take over what each player is called."""
        self.names = self.account.names = names

    @property
    def pending(self) -> Collection[int]:
        """Seats that are to act; none while people look at a result."""
        return () if self.waiting else list(self.session.pending)

    @property
    def fresh(self) -> bool:
        """Whether nothing was played yet in a round after others."""
        return not self.account.plays and bool(self.account.results)

    @property
    def over(self) -> bool:
        """Whether the last game is over."""
        return self.session.stage == "over"

    @property
    def extra(self) -> Sequence[str]:
        """People go on after a result."""
        return ("next",) if self.waiting else ()

    def count(self, seat: int) -> int:
        """Return how many choices a seat has that is to act."""
        return len(self.session.pending[seat].actions)

    def default_choice(self, seat: int) -> int:
        """Return a pass if the seat may, else the weakest choice."""
        return default_choice(self.session.pending[seat])

    def marks(self, index: int, cards: list[str]) -> None:
        """Return nothing: a choice names its cards."""

    def take(self, seat: int, index: int, marks: list[str] | None = None) -> None:
        """Carry out a choice. Raises AgentError if it is none."""
        rounds = len(self.account.results)
        self.session.choose(seat, index)
        self.choices.append((seat, index))
        if len(self.account.results) > rounds and PERSON in self.setup.seats and not self.over:
            self.waiting = True

    def last_choice(self, seat: int) -> int | None:
        """Return the place of a seat's last choice; None if there is none."""
        places = range(len(self.choices) - 1, -1, -1)
        return next((place for place in places if self.choices[place][0] == seat), None)

    def back_to(self, place: int) -> None:
        """Play anew up to the choice of a place; results on the way were left."""
        choices = self.choices[:place]
        self._begin()
        for seat, index in choices:
            self.take(seat, index)
        self.waiting = False

    def carry_out(self, word: str, value: Any) -> None:
        """Leave a round's result for the next round."""
        if word != "next":
            raise ValueError(f"a line is one of sit, choose, undo, next; got {word!r}")
        self.waiting = False

    def moment(self, what: str, seat: int) -> Offer:
        """Return a seat's last choice.

        Where two seats pay tribute, one need not look again because the other has chosen.
        """
        return (self.last_choice(seat),)
