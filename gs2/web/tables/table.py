"""One table of people and agents: everything on the event loop, in the order in which it arrives.

A table knows who sits there, what each version offers them, and when agents act. Its `Play` knows the rules:
a match of several rounds, or single rounds.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from gs2.web.tables.table_log import PERSON, DamagedTable, Line, TableLog, TableSetup

logger = logging.getLogger("gs2.web")

Data = dict[str, Any]
Offer = tuple[str | int | None, ...]
"""Something that people may do, and what it would be done to: ("undo", 2, 41)."""
Call = tuple[Any, ...]
"""What a worker is asked: MODULE:FUNCTION, and its arguments."""

LONGEST_PACE = 10.0
"""Seconds between two moves of agents at most."""
BETWEEN_ROUNDS = 5
"""Paces between two rounds of a table to watch."""


class Versions:
    """Counts a table's changes, and keeps since which of them each offer has stood without a break.

    What is asked for twice on one version is done once, for the first time changes the offer; what others do
    meanwhile does not. Counting begins at the microseconds since 1970: a browser that stayed open while the
    server began anew has seen none of these versions.
    """

    def __init__(self) -> None:
        self.now = time.time_ns() // 1000
        self._since: dict[Offer, int] = {}

    def count(self, offers: Iterable[Offer]) -> None:
        """Count a change, after which these offers stand."""
        self.now += 1
        self._since = {offer: self._since.get(offer, self.now) for offer in offers}

    def means(self, offer: Offer, version: Any) -> bool:
        """Return whether who has seen a version means an offer that stands."""
        if isinstance(version, bool) or not isinstance(version, int):
            return False
        return offer in self._since and self._since[offer] <= version <= self.now

    def since(self, offer: Offer) -> int:
        """Return the change since which an offer has stood, 0 if it does not."""
        return self._since.get(offer, 0)


class Refused(ValueError):
    """Something a table does not do now; `code` says which rule, for the page's own words."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def checked_pace(pace: Any) -> float:
    """Return what is asked for as seconds between two moves of agents. Raises Refused at what is none."""
    if isinstance(pace, bool) or not isinstance(pace, int | float) or not 0 <= pace <= LONGEST_PACE:
        raise Refused("wrong", f"a pace is in 0..{LONGEST_PACE:g} seconds; got {pace!r:.40}")
    return float(pace)


@dataclass
class Sitter:
    """Who has a seat. label: in the setup. name: None for a person to come. key: its SHA-256."""

    label: str
    name: str | None = None
    key: str | None = None

    @property
    def agent(self) -> bool:
        """Whether an agent has it."""
        return self.label != PERSON

    @property
    def kind(self) -> str:
        """ "agent", "person" or "open"."""
        return "agent" if self.agent else "open" if self.name is None else PERSON


class Watcher(Protocol):
    """A connection that looks at a table; `seat` is None for somebody without one."""

    @property
    def seat(self) -> int | None: ...

    def show(self) -> None:
        """Send what is to be seen now."""


class Play(Protocol):
    """What is played at a table: a position that choices lead to. A kind of play is a subclass.

    game: its rules. order: the player on each seat, by the place in the setup. names: of the players, "" for
    one to come. look: the page's word for how the game looks. advisers: who may be asked for hints, by label;
    by default every agent. pending: seats that are to act. opening: a line that comes before anything else,
    None if play has begun. fresh: whether a round after others has no choice yet. over: whether nothing is
    left to play. extra: offers to people besides choosing and undo. scores: of the players; None where nobody
    counts. standing: how far play is, for the list of tables. reviewed: whether its record can be.
    """

    setup: TableSetup
    game: Any
    order: Sequence[int]
    names: list[str]
    look: str
    advisers: Sequence[str] = ()
    reviewed: bool = True

    @property
    def pending(self) -> Collection[int]: ...
    @property
    def opening(self) -> tuple[str, Any] | None: ...
    @property
    def fresh(self) -> bool: ...
    @property
    def over(self) -> bool: ...
    @property
    def extra(self) -> Sequence[str]: ...
    @property
    def scores(self) -> Sequence[float] | None: ...
    @property
    def standing(self) -> dict[str, Any]: ...

    @staticmethod
    def fields(data: Data) -> Data:
        """Return the fields of a setup that only this kind has. Raises Refused at what cannot be."""

    @staticmethod
    def prepared(game: Any) -> Any:
        """Return a game that is ready to be played. Runs beside the event loop."""
        return game

    def call(self, what: str, agent: Any, seat: int) -> Call | None:
        """Return what a worker is asked; None where there is nothing to do.

        what: to "load" an agent or get "ready" for hints, to "answer", "hint" or "forget" for a seat.
        agent: the `agent_worker.Seated`.
        """

    def hint_told(self, seat: int) -> Callable[[Data], Data]:
        """Return what makes of a worker's hint what the page is told, also when play has gone on."""

    # --- what is seen ---

    def view(self, you: int | None, hands: bool) -> dict[str, Any]:
        """Return what a seat sees, or a watcher; hands: whether a watcher sees those of all."""

    def fits(self, seat: int, cards: list[str]) -> tuple[list[Data], Data | None]:
        """Return the choices that cards make, each with its index and move; without one, why not.

        There are several where wild cards may stand for others.
        """

    def suggested(self, seat: int) -> list[Data]:
        """Return choices to suggest to a seat that is to act, the best first."""

    def layout(self, seat: int) -> Callable[[], list[list[str]]]:
        """Return what lays a hand out in moves of card names. Raises Refused at a game without cards."""

    def record(self, which: str) -> str:
        """Return the record that people may see now: of one game, or of all. Raises Refused otherwise."""

    def record_to_review(self, asked: dict[str, Any]) -> str:
        """Return the record that is to be reviewed. Raises Refused if there is none."""

    # --- what is done ---

    def named(self, names: list[str]) -> None:
        """Take over what each player is called."""

    def next_round(self, seat: int | None, wish: Any) -> tuple[str, Any] | None:
        """Return the line by which play goes on after a round; None if it does already.

        seat: of the person who asks; None for a watcher. wish: where to sit in the next round, or None.
        Raises Refused if play cannot go on so.
        """

    def count(self, seat: int) -> int:
        """Return how many choices a seat has that is to act."""

    def default_choice(self, seat: int) -> int:
        """Return the choice that is made for an agent that fails."""
        return 0

    def marks(self, index: int, cards: list[str]) -> list[str] | None:
        """Return what the log keeps of the cards that a person picked for a choice; None for nothing.

        Raises ValueError at cards that are not its own.
        """
        return None

    def take(self, seat: int, index: int, marks: list[str] | None = None) -> None:
        """Carry out a choice. Raises ValueError if it is none."""

    def last_choice(self, seat: int) -> int | None:
        """Return the place of a seat's last choice that can be taken back; None if there is none."""

    def back_to(self, place: int) -> None:
        """Go back to just before the choice of a place. Raises ValueError if there is none."""

    def carry_out(self, word: str, value: Any) -> None:
        """Carry out a line of the log that only this kind of play has. Raises ValueError at any other."""

    def moment(self, what: str, seat: int) -> Offer:
        """Return what tells an offer to a seat from the same offer at another time."""


P = TypeVar("P", bound=Play)


class Agents(Protocol):
    """The agents at tables, by label."""

    async def answer(self, play: Any, label: str, seat: int) -> int:
        """Return an agent's choice for a seat. Raises Refused if it fails or takes too long."""

    def hint(self, play: Any, seat: int, label: Any) -> Callable[[], Awaitable[Data]]:
        """Return what finds a hint for a seat that is to act. Raises Refused if nobody can be asked."""

    def forget(self, play: Any) -> None:
        """Drop what the agents remember of a table."""


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


class Table(Generic[P]):
    """A table.

    sitters: by player. versions: counts its changes. watchers: who looks; with people at the table, agents
    act only while somebody does. failure: of an agent, in words, or None.
    """

    def __init__(self, log: TableLog, play: P, agents: Agents, lines: Sequence[Line] = ()) -> None:
        """Set up a table, and carry out the lines of its log.

        Raises DamagedTable where they depart from the rules.
        """
        self.log, self.play, self.setup = log, play, play.setup
        self.sitters = [Sitter(label, None if label == PERSON else label) for label in self.setup.seats]
        self.pace, self.paused, self.steps = self.setup.pace, False, 0
        self.versions = Versions()
        self.watchers: set[Watcher] = set()
        self.failure: str | None = None
        self.agents = agents
        self._epoch = 0
        self._wake = asyncio.Event()
        self._thinking: dict[int, asyncio.Task[None]] = {}
        play.named([sitter.name or "" for sitter in self.sitters])
        for number, line in lines:
            try:
                ((word, value),) = line.items()
                self._carry_out(word, value)
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise DamagedTable(f"{log.path}:{number}: {error}; move the file away") from None
        if play.opening is not None:
            self._write(*play.opening)  # nobody looks yet, and there may be no event loop here
        self._count_change()

    def enter(self, word: str, value: Any) -> None:
        """Write a line of the log, carry it out, and tell everybody."""
        self._write(word, value)
        self._tell()

    def _write(self, word: str, value: Any) -> None:
        self.log.append({word: value})
        self._carry_out(word, value)

    def _carry_out(self, word: str, value: Any) -> None:
        if word == "choose":
            seat, index, *marks = value
            self.play.take(seat, index, *marks)
        elif word == "sit":
            player, name, key = value
            if self.sitters[player].agent:
                raise ValueError(f"seat {player} is an agent's")
            self.sitters[player].name, self.sitters[player].key = str(name), str(key)
            self.play.named([sitter.name or "" for sitter in self.sitters])
        else:
            self._epoch += 1
            if word == "undo":
                self.play.back_to(value)
            else:
                self.play.carry_out(word, value)

    # --- who sits here ---

    @property
    def people(self) -> list[int]:
        """Players that are people, come or not."""
        return [player for player, sitter in enumerate(self.sitters) if not sitter.agent]

    def sitter(self, seat: int) -> Sitter:
        """Return who has a seat now."""
        return self.sitters[self.play.order[seat]]

    def player_of(self, key: str | None) -> int | None:
        """Return the player whose key it is; None if it is nobody's."""
        digest = _digest(key or "")
        for player, sitter in enumerate(self.sitters):
            if key and sitter.key is not None and hmac.compare_digest(sitter.key, digest):
                return player
        return None

    def sit(self, name: str, player: int | None = None) -> tuple[int, str]:
        """Return a player's place given to a person, and the key that opens it from now on.

        Raises Refused if it is taken, or none is left.
        """
        free = [p for p in self.people if self.sitters[p].name is None]
        if player is None and free:
            player = free[0]
        if player not in free:
            raise Refused("taken", f"seat {player} is taken; free: {', '.join(map(str, free)) or 'none'}")
        key = secrets.token_urlsafe(24)
        self.enter("sit", [player, name, _digest(key)])
        return player, key

    def look(self, watcher: Watcher) -> None:
        """Show the table to a connection from now on."""
        self.watchers.add(watcher)
        self.show()
        self.drive()

    def leave(self, watcher: Watcher) -> None:
        """Show the table to a connection no more."""
        self.watchers.discard(watcher)
        self.show()

    def show(self) -> None:
        """Have everybody who looks see what is to be seen now."""
        for watcher in list(self.watchers):
            watcher.show()

    # --- what is seen ---

    def row(self) -> dict[str, Any]:
        """Return the line of the list of tables; seats in the order of the setup."""
        sitting = zip(self.play.names, self.sitters, strict=True)
        return {
            "id": self.setup.id,
            "game": self.setup.game,
            "seats": [{"name": name or None, "kind": sitter.kind} for name, sitter in sitting],
            "over": self.play.over,
            "created": self.setup.created,
            **self.play.standing,
        }

    def state(self, you: int | None, *, hands: bool = False) -> dict[str, Any]:
        """Return what one viewer sees: the one message from which the page draws everything.

        you: the viewer's seat, None for a watcher. hands: whether all hands may be seen, as at a table of
        agents. In what is returned, "since" is the version since which the viewer is asked what it now is, 0
        if it is asked nothing.
        """
        play, present = self.play, {watcher.seat for watcher in self.watchers}
        seats: list[Data] = []
        for seat, player in enumerate(play.order):
            sitter = self.sitters[player]
            shown = {"name": play.names[player] or None, "kind": sitter.kind, "player": player}
            seats.append({**shown, "connected": sitter.agent or seat in present})
            if play.scores is not None:
                seats[-1]["score"] = play.scores[player]
        return {
            "type": "state",
            "version": self.versions.now,
            "since": 0 if you is None else self.versions.since(self.offer("choose", you)),
            "table": {
                "id": self.setup.id,
                "game": self.setup.game,
                "face": play.look,
                "seats": seats,
                "you": you,
                "games": self.setup.games,
                "pace": self.pace,
                "paused": self.paused,
                "open": hands,
                "people": len(self.people),
                "undo": self.can_undo(you),
                "failure": self.failure,
                "advisers": list(play.advisers),
                "reviewed": play.reviewed,
            },
            **play.view(you, hands),
        }

    # --- play ---

    def choose(self, seat: int, index: int, cards: Sequence[str] = ()) -> None:
        """Carry out a choice, and have the next seats asked.

        cards: which of equal cards a person plays; none for any.
        Raises Refused if it is not the seat's turn, or the index is not one of its choices.
        """
        if seat not in self.play.pending:
            raise Refused("not_your_turn", f"seat {seat} is not to act now")
        choices = self.play.count(seat)
        if not 0 <= index < choices:
            raise Refused("no_choice", f"a choice is an index in 0..{choices - 1}; got {index}")
        marks = self.play.marks(index, list(cards))
        self.enter("choose", [seat, index] if marks is None else [seat, index, marks])

    def undo(self, seat: int) -> None:
        """Go back to before the last choice of a person.

        Raises Refused at a table with other people, or if there is nothing to take back.
        """
        if len(self.people) > 1:
            raise Refused("not_alone", "moves can be taken back only where one person plays with agents")
        last = self.play.last_choice(seat)
        if last is None:
            raise Refused("nothing", "you have not chosen anything yet")
        self.agents.forget(self.play)
        self.enter("undo", last)

    def can_undo(self, seat: int | None) -> bool:
        """Return whether `undo` would do something."""
        return seat is not None and len(self.people) == 1 and self.play.last_choice(seat) is not None

    def set_pace(self, pace: float | None, paused: bool | None) -> None:
        """Set the seconds between moves of agents, or have them wait."""
        if pace is not None:
            self.pace = pace
        if paused is not None:
            self.paused = paused
            self.steps = 0
        self._tell()

    def step(self) -> None:
        """Let one agent move at a paused table."""
        if self.paused:
            self.steps = 1
            self._tell()

    def offer(self, what: str, seat: int) -> Offer:
        """Return what `versions` calls an offer to a seat: "choose", "undo" or an extra one of its play."""
        return (what, seat, *self.play.moment(what, seat))

    # --- agents ---

    def _count_change(self) -> None:
        offers = []
        for seat in range(len(self.play.order)):
            if self.sitter(seat).kind == PERSON:
                offered = [*self.play.extra, *["choose"] * (seat in self.play.pending)]
                offered += ["undo"] * self.can_undo(seat)
                offers += [self.offer(what, seat) for what in offered]
        self.versions.count(offers)

    def _tell(self) -> None:
        self._count_change()
        self._wake.set()
        self._wake = asyncio.Event()
        self.show()
        self.drive()

    def drive(self) -> None:
        """Have the agents think that are to act."""
        if self.people and not self.watchers:
            return
        for seat in self.play.pending:
            if self.sitter(seat).agent and seat not in self._thinking:
                thinking = self._think(seat, self._epoch)
                self._thinking[seat] = asyncio.get_running_loop().create_task(thinking)

    async def _think(self, seat: int, epoch: int) -> None:
        began = time.monotonic()
        paces = BETWEEN_ROUNDS if self.play.fresh and not self.people else 1
        index = await self._answer(seat) if epoch == self._epoch else 0
        while epoch == self._epoch:
            # the pace may change, and the table be paused, while a move waits to be shown
            left = began + self.pace * paces - time.monotonic()
            held = self.paused and not self.steps
            if not held and (left <= 0 or self.steps):
                break
            wake = self._wake
            with suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), None if held else left)
        self._thinking.pop(seat, None)
        if epoch != self._epoch:
            self.drive()
            return
        self.steps = 0
        self.choose(seat, index)

    async def _answer(self, seat: int) -> int:
        """Return an agent's choice; the default one if it fails or takes too long."""
        if self.play.count(seat) == 1:
            return 0
        label, default, epoch = self.sitter(seat).label, self.play.default_choice(seat), self._epoch
        failure = None
        try:
            index = await self.agents.answer(self.play, label, seat)
        except Refused as error:
            index, failure = default, f"{label}: {error}; a default choice was played"
            logger.warning("table %s: %s", self.setup.id, failure)
        if epoch == self._epoch:
            self.failure = failure
        return index

    def close(self) -> None:
        """Release the agents and the file; the table stays on disk."""
        self._epoch += 1
        for task in self._thinking.values():
            task.cancel()
        self.agents.forget(self.play)
        self.log.close()
