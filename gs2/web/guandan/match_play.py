"""The match at a table of GuanDan: its session, and the results that people leave by going on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from games.guandan.cards import RANKS
from gs2.guandan.table.server.place import default_choice
from gs2.guandan.table.session import Session
from gs2.web.guandan.account import TableAccount
from gs2.web.tables.table import Refused
from gs2.web.tables.table_log import PERSON, TableSetup
from gs2.web.tables.versions import Offer

__all__ = ["MatchPlay"]


class MatchPlay:
    """The play of a match.

    choices: (seat, index) of all so far. waiting: whether the people look at a round's result; agents wait
    for them. people: whether any seat is a person's.
    """

    order = (0, 1, 2, 3)
    opening = None

    def __init__(self, setup: TableSetup) -> None:
        if len(setup.seats) != 4:
            raise ValueError("four seats, each a name")
        self.setup, self.people = setup, PERSON in setup.seats
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

    @property
    def standing(self) -> dict[str, Any]:
        """The game and the round in play, and the levels."""
        levels = [RANKS[level] for level in self.session.levels]
        return {"number": len(self.account.games), "round": self.session.match.round, "levels": levels}

    def record(self, which: str) -> str:
        """Return the record of a game, by default of the last; where people play, once all are over."""
        games = len(self.account.games)
        if which and not (which.isdecimal() and 1 <= int(which) <= games):
            raise Refused("wrong", f"a game is 1..{games}; got {which[:20]!r}")
        if self.people and not self.over:
            raise Refused("closed", "the record shows every hand; it is available once the last game is over")
        return self.account.record(int(which) - 1 if which else None)

    def record_to_review(self, asked: dict[str, Any]) -> str:
        """Return what people may see of a game's record, by default of the last game with a result."""
        results, games = self.account.results, len(self.account.games)
        game = asked.get("game", results[-1].game if results else games)
        if isinstance(game, bool) or not isinstance(game, int) or not 1 <= game <= games:
            raise Refused("wrong", f"a game is 1..{games}; got {game!r:.40}")
        text = self.account.record(game - 1)
        if not self.people or self.over:
            return text
        if all(end.game != game for end in results):
            told = f"of game {game} none is yet" if results else "none is yet"
            raise Refused("closed", f"a review shows every hand of rounds that are over; {told}")
        return _finished_rounds(text)

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
        if len(self.account.results) > rounds and self.people and not self.over:
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


def _finished_rounds(text: str) -> str:
    """Return a record without the round in play: its hands are not yet for everybody."""
    lines = text.splitlines(keepends=True)
    if not lines[-1].startswith('{"payoffs"'):
        lines = lines[: max(k for k, line in enumerate(lines) if line.startswith('{"chance"'))]
    return "".join(lines)
