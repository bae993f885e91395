"""A table on the wire: four seats, a session of games, and everything that can go wrong with a player."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import attrs
import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import CARD_NAMES, pack, parse_cards
from games.guandan.matches.match import Dealt, Event, Match, Pending
from games.guandan.rules import RULING, Rules
from games.support.configuration import Configuration, integer, real
from gs2.guandan.table.hosts import Host
from gs2.guandan.table.seat import given_cards
from gs2.guandan.table.server.recording import RecordedGames, RecordFolder, SessionResult
from gs2.guandan.table.session import GameCount, News, Session, default_choice
from gs2.guandan.table.wire.connection import Connection
from gs2.guandan.table.wire.dialects import Dialect, Trick
from gs2.guandan.table.wire.moves import MoveList, encode_hand, encode_moves


class TableError(ValueError):
    """A client asked for what it cannot have; the message is for it to read."""


@attrs.frozen(slots=False)
class RoomConfig(Configuration):
    """How a table treats its players.

    rules: of the games. decision: seconds a client may take for an answer; 0 for no limit (the competition
    platform's rule). reconnect: seconds that the seat of a lost connection waits before others decide for it.
    wrong: bad answers to one request until it is decided for the client. missed: requests in a row decided
    for a silent client after which nobody waits for it, until it speaks again. delay: seconds from the fourth
    player to the first deal (the official server: about 1). probe: seconds that a connection has to show that
    it lives when somebody else claims its seat; above 0.
    """

    rules: Rules = RULING
    decision: float = attrs.field(default=60.0, validator=real(0, unit="seconds"))
    reconnect: float = attrs.field(default=30.0, validator=real(0, unit="seconds"))
    wrong: int = attrs.field(default=20, validator=integer(1))
    missed: int = attrs.field(default=3, validator=integer(1))
    delay: float = attrs.field(default=0.0, validator=real(0, unit="seconds"))
    probe: float = attrs.field(default=2.0, validator=real(0, above=True, unit="seconds"))


@dataclass(slots=True)
class Seat:
    """One seat: a client with its connection, or an agent with its host.

    user: by what a client is known when it comes back; name: what the table calls whoever sits here.
    since: when it was asked; deadline: when it is decided for it; wrong: bad answers since.
    limit: when its own time is up, which begins once, when it is sent the request; None if it was away then
    and still is.
    missed: requests in a row that were decided for it.
    hand: number of cards, and the cards in JSON, when they were last written during play.
    lost: when its connection was lost, None while it is there.
    """

    index: int
    name: str = ""
    user: str | None = None
    connection: Connection | None = None
    host: Host | None = None
    since: float = 0.0
    deadline: float = math.inf
    limit: float | None = math.inf
    wrong: int = 0
    missed: int = 0
    lost: float | None = None
    thinking: bool = False
    moves: MoveList | None = None
    beginning: bytes = field(default=b"", repr=False)
    hand: tuple[int, bytes] = (-1, b"")

    @property
    def taken(self) -> bool:
        return self.user is not None or self.host is not None


def place_agents(agents: Sequence[str], client: int) -> dict[int, str]:
    """Return who sits where beside a client in seat `client`, by seat.

    One name takes the seat before the client's, two the opponents' seats, three all others. `SEAT:NAME` takes
    that very seat.
    Raises TableError if a seat is taken twice or no seat is left for a client.
    """
    placed: dict[int, str] = {}
    rest = []
    for agent in agents:
        seat, _, name = agent.partition(":")
        if not name or seat not in ("0", "1", "2", "3"):
            rest.append(agent)  # a name may have colons itself
        elif int(seat) in placed:
            raise TableError(f"seat {seat} is given to two agents: {', '.join(agents)}")
        else:
            placed[int(seat)] = name
    if len(placed) + len(rest) > 3:
        raise TableError(f"a table has four seats and a client needs one; got {len(agents)} agents")
    order = {1: (3, 1, 2), 2: (1, 3, 2), 3: (1, 2, 3)}.get(len(rest), ())
    free = [(client + step) % 4 for step in order if (client + step) % 4 not in placed]
    placed |= dict(zip(free, rest, strict=False))
    return placed


logger = logging.getLogger("gs2.guandan.table")


class Room(RecordedGames):
    """One table. Everything happens on the event loop, in the order in which it arrives.

    It hears the session, and tells its clients; a move is recorded before it is sent to anybody.
    result: what came of the games so far; without names until they begin. log: what everybody heard since the
    deal, for a client that comes back.
    """

    def __init__(
        self,
        number: int,
        dialect: Dialect,
        config: RoomConfig,
        *,
        games: int = 1,
        seed: int = 0,
        fallback: Host | None = None,
        record: RecordFolder | None = None,
        finished: Callable[[Room], None] = lambda room: None,
    ) -> None:
        """Wait for players.

        games, seed: of the session. fallback: host of the agent that decides for silent or lost clients; None
        plays PASS where one may, else the first move of the list, the weakest. record: folder for the games'
        records; None for none. finished: called once, when the room is over.
        """
        super().__init__([], record)
        self.number, self.dialect = number, dialect
        self.seats = [Seat(index) for index in range(4)]
        self.log: list[bytes] = []
        self._trick = Trick()
        self._move: bytes | None = None
        self.config, self.fallback = config, fallback
        self.session = Session(self, games=games, rules=self.config.rules, seed=seed)
        self.state = "waiting"
        self._finished = finished
        self._starting: asyncio.TimerHandle | None = None
        self._limit = self.config.decision or math.inf
        self._tasks: set[asyncio.Task[None]] = set()

    # --- seats ---

    @property
    def full(self) -> bool:
        return all(seat.taken for seat in self.seats)

    def take(self, connection: Connection, user: str, wanted: int | None = None) -> None:
        """Give a client a free seat; of several who share a name, later ones are marked.

        Raises TableError if the room is full or the seat is another's.
        """
        free = [seat for seat in self.seats if not seat.taken]
        if wanted is None and not free:
            raise TableError(f"room {self.number} is full; join or create another")
        seat = free[0] if wanted is None else self.seats[wanted]
        if seat.taken:
            others = ", ".join(str(seat.index) for seat in free) or "none"
            raise TableError(f"seat {wanted} of room {self.number} is taken; free: {others}")
        name = user
        while any(other.user is not None and other.name == name for other in self.seats):
            name += "'"
        seat.user, seat.name = user, name
        seat.connection = connection
        connection.seat = (self, seat)

    def give_back(self, seat: Seat, connection: Connection) -> None:
        """Let a client that came back have its seat.

        Raises TableError if somebody is connected there, and drops that connection if it proves dead.
        """
        old = seat.connection
        if old is connection:
            return
        if old is not None:
            # names are no secret, so a living connection keeps its seat; a dead one does not answer
            old.ping()
            later = asyncio.get_running_loop().call_later
            later(self.config.probe, self.drop_silent, seat, time.monotonic())
            raise TableError(
                f"user {seat.user!r} is connected; if that was you, try again in {self.config.probe:g} s"
            )
        seat.connection, seat.lost, seat.missed = connection, None, 0
        if seat.limit is None:
            seat.limit = time.monotonic() + self._limit
        if not seat.thinking:
            seat.deadline = seat.limit
        connection.seat = (self, seat)

    def drop_silent(self, seat: Seat, since: float) -> None:
        """Take a seat's connection from it, if no byte has come over it since then."""
        connection = seat.connection
        if self.state == "over" or connection is None or connection.last_heard >= since:
            return
        connection.seat = None
        connection.abort()
        self.lost(seat)

    def catch_up(self, seat: Seat) -> None:
        """Send a client that came back the round so far and what it is asked."""
        if seat.connection is None or self.state != "playing":
            return
        for payload in (seat.beginning, *self.log):
            seat.connection.queue(payload)
        self.ask_again(seat)

    def start_if_full(self) -> None:
        if self.state == "waiting" and self.full:
            self.state = "starting"
            self._starting = asyncio.get_running_loop().call_later(self.config.delay, self._start)

    def _start(self) -> None:
        if self.state != "starting":
            return
        self.state = "playing"
        self.result = SessionResult([seat.name for seat in self.seats])
        self.session.begin()

    def lost(self, seat: Seat) -> None:
        seat.connection = None
        if self.state in ("waiting", "starting"):
            self.seats[seat.index] = Seat(seat.index)
            self.state = "waiting"
            if self._starting is not None:
                self._starting.cancel()  # whoever comes now gets the whole delay
            if not any(s.user for s in self.seats):
                self.finish("left")
            return
        seat.lost = time.monotonic()
        if not seat.thinking:
            seat.deadline = min(seat.deadline, seat.lost + self.config.reconnect)

    # --- answers ---

    def ask_again(self, seat: Seat) -> None:
        """Send a client its request once more, if it has one."""
        if seat.connection is not None and seat.index in self.session.pending:
            seat.connection.send(self.request(seat))

    def refused(self, seat: Seat) -> None:
        """Ask again after a bad answer; after too many, decide for the client, once."""
        if seat.index not in self.session.pending or seat.thinking:
            return
        seat.wrong += 1
        if seat.wrong >= self.config.wrong:
            self._decide_for(seat, "too many wrong answers")
        else:
            self.ask_again(seat)

    def _decide_for(self, seat: Seat, reason: str) -> None:
        logger.info("room %d: decided for seat %d (%s): %s", self.number, seat.index, seat.name, reason)
        self.result.fallbacks[seat.index] += 1
        if self.fallback is not None:
            self._ask_host(seat, self.fallback)
        else:
            self._default(seat)

    def _default(self, seat: Seat) -> None:
        self.session.choose(seat.index, default_choice(self.session.pending[seat.index]))

    def _ask_host(self, seat: Seat, host: Host) -> None:
        if seat.host is None:
            seat.thinking, seat.deadline = True, time.monotonic() + self._limit
        # never within this call: a table of agents that answer at once must not recurse, nor hold the loop
        due = self.session.pending[seat.index]
        task = asyncio.get_running_loop().create_task(self._await_host(seat, due, host))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _await_host(self, seat: Seat, due: Pending, host: Host) -> None:
        if not self._waits_for(seat, due):
            return
        try:
            index = await host.answer((self.number, seat.index), self.session.observe(seat.index))
        except Exception as error:
            if not self._waits_for(seat, due):
                return
            logger.warning("room %d, seat %d: %s; a default move is played", self.number, seat.index, error)
            self.result.fallbacks[seat.index] += 1
            index = default_choice(due)
        if self._waits_for(seat, due):
            self.session.choose(seat.index, index)

    def _waits_for(self, seat: Seat, due: Pending) -> bool:
        return self.session.pending.get(seat.index) is due and self.state == "playing"

    def tick(self, now: float) -> None:
        """Decide for those whose time is up; end a room that everybody has left. Call it often."""
        if self.state != "playing":
            return
        clients = [seat for seat in self.seats if seat.user is not None]
        if clients and all(
            seat.lost is not None and now - seat.lost > self.config.reconnect for seat in clients
        ):
            self.stop("everybody left")
            return
        for seat in self.seats:
            if seat.index in self.session.pending and now >= seat.deadline:
                self._overdue(seat)

    def _overdue(self, seat: Seat) -> None:
        limit = self.config.decision
        if seat.host is not None or seat.thinking:
            logger.warning("room %d: the agent for seat %d is too slow", self.number, seat.index)
            host = self.fallback if seat.thinking else seat.host
            if host is not None:
                host.give_up((self.number, seat.index))
            self.result.fallbacks[seat.index] += 1
            self._default(seat)
        elif seat.lost is not None:
            self._decide_for(seat, "the connection is lost")
        else:
            seat.missed += 1
            if seat.missed <= self.config.missed:
                self.tell(seat, f"no answer within {limit:g} s: it is decided for you")
            self._decide_for(seat, "no answer in time")

    def tell(self, seat: Seat, message: str) -> None:
        """Send a client a message about itself, in the dialect's form of an error."""
        if seat.connection is not None:
            seat.connection.send(self.dialect.error(message))

    def stop(self, reason: str) -> None:
        """End the games before their end; what was played stays recorded."""
        for seat in self.seats:
            self.tell(seat, f"the games end here: {reason}")
        self.finish(reason)

    def finish(self, reason: str) -> None:
        """End the room: `finished` hears of it, and everybody may leave."""
        if self.state == "over":
            return
        self.state = "over"
        for task in self._tasks:
            task.cancel()
        self.close()
        if self.folder is not None and self.result.names:
            self.folder.add_result(self.result, room=self.number, ended=reason)
        for seat in self.seats:
            for host in (seat.host, self.fallback):
                if host is not None:
                    host.forget((self.number, seat.index))
            if seat.connection is not None:
                seat.connection.flush()
                seat.connection.seat = None
        self._finished(self)

    # --- what clients are told ---

    def broadcast(self, payload: bytes) -> None:
        self.log.append(payload)
        for seat in self.seats:
            connection = seat.connection
            if connection is not None:
                connection.queue(payload)

    def _hand(self, seat: int, without: str | None = None) -> bytes:
        """Return a seat's cards in JSON. without: a card to leave out."""
        lo, hi = self.session.hand(seat)
        if without is not None:
            less_lo, less_hi = pack(parse_cards([without])).tolist()
            lo, hi = lo - less_lo, hi - less_hi
        return encode_hand(lo, hi, self.session.level, dialect=self.dialect.name)

    def _encoded(self, moves: NDArray[np.void]) -> MoveList:
        return encode_moves(moves, self.session.level, dialect=self.dialect.name)

    def request(self, seat: Seat) -> bytes:
        """Return the request to a seat that is to act; its moves in JSON are kept in `seat.moves`."""
        session, due = self.session, self.session.pending[seat.index]
        if due.stage == "play":
            # the cards change only as they become fewer
            left = session.rest[seat.index]
            if seat.hand[0] != left:
                seat.hand = left, self._hand(seat.index)
            hand = seat.hand[1]
            moves = seat.moves = seat.moves or self._encoded(due.actions)
            return self.dialect.ask("play", seat.index, hand, session, moves, self._trick)
        paid = session.paid_to(seat.index) if due.stage == "back" else None
        hand = self._hand(seat.index, paid[2] if paid is not None and self.dialect.official else None)
        return self.dialect.ask(due.stage, seat.index, hand, session, _choices(due))

    # --- the session tells ---

    def game_begun(self, number: int, match: Match) -> None:
        self.recorder = None
        if self.folder is not None:
            name = f"room{self.number:05d}-game{number:04d}"
            try:
                self.recorder = self.folder.begin(name, match, self.result.names, dialect=self.dialect.name)
            except OSError as error:
                logger.error("no record of %s in %s: %s", name, self.folder.path, error)

    def happened(self, events: list[Event]) -> None:
        if self.recorder is not None:
            self.recorder.write(events, self._move)
        self._move = None

    def told(self, news: News) -> None:
        """Deal to every seat, or tell everybody; the last game ends the room."""
        super().told(news)
        if isinstance(news, Dealt):
            self._trick = Trick()
            self.log.clear()
            for seat in self.seats:
                seat.hand = (-1, b"")
                if seat.user is None:
                    continue
                seat.beginning = self.dialect.beginning(seat.index, self._hand(seat.index), self.session)
                if seat.connection is not None:
                    seat.connection.queue(seat.beginning)
        for payload in self.dialect.words(news):
            self.broadcast(payload)
        if isinstance(news, GameCount) and news.played >= news.wanted:
            self.finish("played")

    def chosen(self, seat: int, due: Pending, index: int) -> None:
        place = self.seats[seat]
        self.result.timing[seat].add(time.monotonic() - place.since)
        moves, place.moves = place.moves, None
        place.thinking = False
        if due.stage != "play":
            return
        if moves is None:
            moves, index = self._encoded(due.actions[index : index + 1]), 0
        move = self._move = moves[index]
        self.broadcast(self.dialect.played(self._trick, seat, move))
        self._trick.play(seat, move)

    def asked(self, seats: Sequence[int]) -> None:
        session = self.session
        if session.opens:
            self._trick = Trick()
        now = time.monotonic()
        for index in seats:
            seat = self.seats[index]
            seat.since, seat.wrong = now, 0
            if seat.lost is None:
                seat.deadline = seat.limit = now + (self._limit if seat.missed < self.config.missed else 0.0)
            else:
                seat.deadline, seat.limit = max(seat.lost + self.config.reconnect, now), None
            if seat.host is not None:
                self._ask_host(seat, seat.host)
                continue
            if session.stage == "tribute" and seat.connection is not None:
                word = self.dialect.tribute_begins(_choices(session.pending[index]))
                if word is not None:
                    seat.connection.queue(word)
            self.ask_again(seat)
            if seat.deadline <= now:
                # nobody to wait for; not within this call, for a table of such seats would recurse
                asyncio.get_running_loop().call_soon(lambda: self.tick(time.monotonic()))


def _choices(due: Pending) -> MoveList:
    """Return tribute or return cards in JSON."""
    names = [CARD_NAMES[card] for card in given_cards(due.actions)]
    return MoveList.of([f'["{due.stage}","{due.stage}",["{name}"]]'.encode() for name in names])
