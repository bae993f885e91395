"""A table on the wire: four seats, a session of games, and everything that can go wrong with a player."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from games.guandan.cards import CARD_NAMES, PASS
from games.guandan.events import Event
from games.guandan.match import Match, Pending
from games.guandan.rules import RULING, Rules
from games.guandan.state import NOBODY
from gs2.table.dialect import Dialect, GameCount, Trick
from gs2.table.encode import MoveList, encode_hand, encode_moves
from gs2.table.hosts import Host, InstantHost
from gs2.table.recording import GameRecorder, SessionResult
from gs2.table.seat import AgentError, Transfer
from gs2.table.session import RoundResult, Session
from gs2.table.wire import Connection, text_frame

__all__ = ["Room", "RoomConfig", "Seat", "TableError"]

logger = logging.getLogger("gs2.table")

_CARD_OF = {(1 << 2 * c, 0) if c < 28 else (0, 1 << 2 * (c - 28)): name for c, name in enumerate(CARD_NAMES)}


class TableError(ValueError):
    """A client asked for what it cannot have; the message is for it to read."""


@dataclass(frozen=True)
class RoomConfig:
    """How a table treats its players.

    rules: of the games. decision: seconds a client may take for an answer; 0 for no limit (the competition
    platform's rule). reconnect: seconds that the seat of a lost connection waits before others decide for it.
    wrong: bad answers to one request until it is decided for the client. missed: requests in a row decided
    for a silent client after which nobody waits for it, until it speaks again. delay: seconds from the fourth
    player to the first deal (the official server: about 1).
    """

    rules: Rules = RULING
    decision: float = 60.0
    reconnect: float = 30.0
    wrong: int = 20
    missed: int = 3
    delay: float = 0.0


@dataclass
class Seat:
    """One seat: a client with its connection, or an agent with its host.

    asked: the request it has not answered, as a frame; None when it has nothing to answer.
    since: when it was asked; deadline: when it is decided for it; wrong: bad answers since.
    missed: requests in a row that were decided for it.
    lost: when its connection was lost, None while it is there.
    """

    index: int
    name: str = ""
    user: str | None = None
    connection: Connection | None = None
    host: Host | None = None
    asked: bytes | None = None
    due: Pending | None = None
    since: float = 0.0
    deadline: float = math.inf
    wrong: int = 0
    missed: int = 0
    lost: float | None = None
    thinking: bool = False
    moves: MoveList | None = None
    beginning: bytes = field(default=b"", repr=False)

    @property
    def taken(self) -> bool:
        """Whether somebody sits here."""
        return self.user is not None or self.host is not None


class Room:
    """One table. Everything happens on the event loop, in the order in which it arrives.

    fallback: host of the agent that decides for silent or lost clients; None plays the first move of the
        list that is not a bomb: PASS where one may, else the weakest.
    """

    def __init__(
        self,
        number: int,
        dialect: Dialect,
        config: RoomConfig,
        *,
        games: int,
        seed: int,
        fallback: Host | None = None,
        record: Path | None = None,
        finished: Callable[[Room], None],
        **first_game: Any,
    ) -> None:
        """first_game: further arguments of the first game's `Match`, such as deals."""
        self.number = number
        self.dialect = dialect
        self.config = config
        self.fallback = fallback
        self.directory = record
        self.seats = [Seat(index) for index in range(4)]
        self.session = Session(self, games=games, rules=config.rules, seed=seed, **first_game)
        self.result: SessionResult | None = None
        self.state = "waiting"
        self._finished = finished
        self._recorder: GameRecorder | None = None
        self._trick = Trick()
        self._log: list[bytes] = []
        self._move: bytes | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # --- seats ---

    @property
    def full(self) -> bool:
        """Whether all four seats are taken."""
        return all(seat.taken for seat in self.seats)

    def free_seat(self, wanted: int | None = None) -> Seat:
        """Return the wanted seat, or the first free one. Raises TableError if there is none."""
        if wanted is not None:
            if self.seats[wanted].taken:
                free = [str(seat.index) for seat in self.seats if not seat.taken]
                raise TableError(
                    f"seat {wanted} of room {self.number} is taken; free: {', '.join(free) or 'none'}"
                )
            return self.seats[wanted]
        for seat in self.seats:
            if not seat.taken:
                return seat
        raise TableError(f"room {self.number} is full; join or create another")

    def seat_agent(self, index: int, name: str, host: Host) -> None:
        """Give a seat to an agent."""
        seat = self.free_seat(index)
        seat.name, seat.host = name, host

    def sit(self, connection: Connection, user: str, wanted: int | None = None) -> Seat:
        """Give a seat to a client; a user who has one and lost the connection gets that back.

        Raises TableError if the room is full or the seat is another's.
        """
        for seat in self.seats:
            if seat.user == user:
                return self._return(seat, connection)
        seat = self.free_seat(wanted)
        seat.user = seat.name = user
        seat.connection = connection
        connection.seat = (self, seat)
        return seat

    def _return(self, seat: Seat, connection: Connection) -> Seat:
        old = seat.connection
        if old is not None and old is not connection:
            # names are no secret: a living connection keeps its seat; a dead one shows when it is written to
            old.ping()
            raise TableError(f"user {seat.user!r} is connected; if that was you, try again in a moment")
        seat.connection, seat.lost, seat.missed = connection, None, 0
        seat.deadline = time.monotonic() + (self.config.decision or math.inf)
        connection.seat = (self, seat)
        return seat

    def catch_up(self, seat: Seat) -> None:
        """Send a client that came back the round so far and what it is asked."""
        if seat.connection is None or self.state != "playing":
            return
        for frame in (seat.beginning, *self._log):
            seat.connection.queue(frame)
        if seat.asked is not None:
            seat.connection.send(seat.asked)

    def start_if_full(self) -> bool:
        """Start the games if all seats are taken; return whether it did."""
        if self.state != "waiting" or not self.full:
            return False
        self.state = "starting"
        loop = asyncio.get_running_loop()
        loop.call_later(self.config.delay, self._start)
        return True

    def _start(self) -> None:
        if self.state != "starting":
            return
        self.state = "playing"
        self.result = SessionResult([seat.name for seat in self.seats])
        self.session.begin()

    def lost(self, seat: Seat) -> None:
        """Note that a client's connection is gone."""
        seat.connection = None
        if self.state in ("waiting", "starting"):
            self.seats[seat.index] = Seat(seat.index)
            self.state = "waiting"
            if not any(s.user for s in self.seats):
                self._finish("left")
            return
        seat.lost = time.monotonic()
        seat.deadline = min(seat.deadline, seat.lost + self.config.reconnect)

    # --- answers ---

    def answer(self, seat: Seat, index: int) -> None:
        """Take a client's answer.

        Raises AgentError if it is not to act, or the index is not one of a choice.
        """
        if seat.due is None:
            raise self.not_now(seat)
        self._check_index(seat, index)
        self._choose(seat, index)

    def not_now(self, seat: Seat) -> AgentError:
        """Return the error of a seat that speaks out of turn."""
        who = ", ".join(map(str, self.session.pending)) or "nobody"
        return AgentError(f"seat {seat.index} is not to act now; waiting for seat {who}")

    def _check_index(self, seat: Seat, index: int) -> None:
        assert seat.due is not None
        if not 0 <= index < len(seat.due.actions):
            raise AgentError(
                f"the answer is an index 0..{len(seat.due.actions) - 1} into actionList; got {index}"
            )

    def refused(self, seat: Seat) -> None:
        """Ask again after a bad answer; too many, and it is decided for the client."""
        if seat.due is None:
            return
        seat.wrong += 1
        if seat.wrong >= self.config.wrong:
            self._decide_for(seat, "too many wrong answers")
        elif seat.connection is not None and seat.asked is not None:
            seat.connection.send(seat.asked)

    def _choose(self, seat: Seat, index: int) -> None:
        assert self.result is not None
        self.result.timing[seat.index].add(time.monotonic() - seat.since)
        self.session.choose(seat.index, index)

    def _decide_for(self, seat: Seat, reason: str) -> None:
        """Let the fallback answer for a client."""
        assert self.result is not None and seat.due is not None
        logger.info("room %d: decided for seat %d (%s): %s", self.number, seat.index, seat.name, reason)
        self.result.fallbacks[seat.index] += 1
        if self.fallback is not None:
            self._ask_host(seat, self.fallback)
        else:
            self._choose(seat, default_choice(seat.due))

    def _ask_host(self, seat: Seat, host: Host) -> None:
        due = seat.due
        assert due is not None
        if seat.host is None:
            seat.thinking, seat.deadline = True, time.monotonic() + (self.config.decision or math.inf)
        key = (self.number, seat.index)
        if isinstance(host, InstantHost):
            # not within this call: a table of such agents alone must not recurse, nor hold the loop
            asyncio.get_running_loop().call_soon(self._answer_now, seat, due, host)
            return
        task = asyncio.get_running_loop().create_task(self._await_host(seat, due, host, key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _answer_now(self, seat: Seat, due: Pending, host: InstantHost) -> None:
        if seat.due is not due or self.state != "playing":
            return
        try:
            index = host.answer_now((self.number, seat.index), self.session.observe(seat.index))
        except Exception as error:
            index = self._failed(seat, due, error)
        self._choose(seat, index)

    async def _await_host(self, seat: Seat, due: Pending, host: Host, key: Any) -> None:
        try:
            index = await host.answer(key, self.session.observe(seat.index))
        except AgentError as error:
            if seat.due is not due:
                return
            index = self._failed(seat, due, error)
        if seat.due is due and self.state == "playing":
            self._choose(seat, index)

    def _failed(self, seat: Seat, due: Pending, error: Exception) -> int:
        assert self.result is not None
        logger.warning("room %d, seat %d: %s; a default move is played", self.number, seat.index, error)
        self.result.fallbacks[seat.index] += 1
        return default_choice(due)

    def tick(self, now: float) -> None:
        """Decide for those whose time is up; end a room that everybody has left. To be called often."""
        if self.state != "playing":
            return
        clients = [seat for seat in self.seats if seat.user is not None]
        if clients and all(
            seat.lost is not None and now - seat.lost > self.config.reconnect for seat in clients
        ):
            self.stop("everybody left")
            return
        for seat in self.seats:
            if seat.due is not None and now > seat.deadline:
                self._overdue(seat)

    def _overdue(self, seat: Seat) -> None:
        assert self.result is not None and seat.due is not None
        limit = self.config.decision
        if seat.host is not None or seat.thinking:
            logger.warning("room %d: the agent for seat %d is too slow", self.number, seat.index)
            self.result.fallbacks[seat.index] += 1
            self._choose(seat, default_choice(seat.due))
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
            seat.connection.send(text_frame(self.dialect.error(message)))

    def stop(self, reason: str) -> None:
        """End the games before their end; what was played stays recorded."""
        for seat in self.seats:
            self.tell(seat, f"the games end here: {reason}")
        self._finish(reason)

    def _finish(self, reason: str) -> None:
        if self.state == "over":
            return
        self.state = "over"
        for task in self._tasks:
            task.cancel()
        if self._recorder is not None:
            self._recorder.close()
        if self.directory is not None and self.result is not None:
            self.result.append_to(self.directory / "results.jsonl", room=self.number, ended=reason)
        for seat in self.seats:
            seat.due = seat.asked = None
            for host in (seat.host, self.fallback):
                if host is not None:
                    host.forget((self.number, seat.index))
            if seat.connection is not None:
                seat.connection.flush()
                seat.connection.seat = None
        self._finished(self)

    # --- the session tells ---

    def _broadcast(self, payload: bytes, *, log: bool = True) -> None:
        frame = text_frame(payload)
        if log:
            self._log.append(frame)
        for seat in self.seats:
            if seat.connection is not None:
                seat.connection.queue(frame)

    def _hand(self, seat: int) -> bytes:
        return encode_hand(*self.session.hand(seat), self.session.level, dialect=self.dialect.name)

    def game_begun(self, number: int, match: Match) -> None:
        """Open the game's record."""
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None
        if self.directory is not None:
            path = self.directory / f"room{self.number:05d}-game{number:04d}.jsonl"
            names = [seat.name for seat in self.seats]
            self._recorder = GameRecorder(path, match, names, dialect=self.dialect.name)

    def happened(self, events: list[Event]) -> None:
        """Record."""
        if self._recorder is not None:
            self._recorder.write(events, self._move)
        self._move = None

    def round_begun(self) -> None:
        """Deal to every seat."""
        self._trick = Trick()
        self._log.clear()
        view = self.session.view()
        for seat in self.seats:
            if seat.user is None:
                continue
            seat.beginning = text_frame(self.dialect.beginning(seat.index, self._hand(seat.index), view))
            if seat.connection is not None:
                seat.connection.queue(seat.beginning)

    def anti_tribute(self, seats: Sequence[int]) -> None:
        """Tell everybody that no tribute is paid."""
        self._broadcast(self.dialect.anti_tribute(seats))

    def chosen(self, seat: int, due: Pending, index: int) -> None:
        """Tell everybody of a move."""
        place = self.seats[seat]
        moves, place.moves = place.moves, None
        place.due = place.asked = None
        place.thinking = False
        if due.stage != "play":
            return
        if moves is not None:
            move = moves[index]
        else:
            move = encode_moves(
                due.actions[index : index + 1], self.session.level, dialect=self.dialect.name
            )[0]
        self._move = move
        self._broadcast(self.dialect.played(self._trick, seat, move))
        self._trick.play(seat, move)

    def exchanged(self, stage: str, transfers: Sequence[Transfer]) -> None:
        """Tell everybody who paid or returned what."""
        self._broadcast(self.dialect.exchanged(stage, transfers))

    def asked(self, seats: Sequence[int]) -> None:
        """Ask clients on the wire and agents in their hosts."""
        session = self.session
        now = time.monotonic()
        if session.stage == "tribute" and len(seats) == len(session.pending):
            word = self.dialect.tribute_begins()
            if word is not None:
                self._broadcast(word, log=False)
        for index in seats:
            seat = self.seats[index]
            seat.due, seat.since, seat.wrong = session.pending[index], now, 0
            seat.deadline = now + self._patience(seat, now)
            if seat.host is not None:
                self._clear_trick(seat.due)
                self._ask_host(seat, seat.host)
                continue
            seat.asked = text_frame(self._request(seat))
            if seat.connection is not None:
                seat.connection.send(seat.asked)
            if seat.deadline <= now:
                # nobody to wait for; not within this call, for a table of such seats would recurse
                asyncio.get_running_loop().call_soon(self._nobody, seat, seat.due)

    def _nobody(self, seat: Seat, due: Pending) -> None:
        if seat.due is due and self.state == "playing":
            self._overdue(seat)

    def _patience(self, seat: Seat, now: float) -> float:
        """Return the seconds for which a seat's answer is awaited."""
        if seat.lost is not None:
            return max(seat.lost + self.config.reconnect - now, 0.0)
        if seat.missed >= self.config.missed:
            return 0.0
        return self.config.decision or math.inf

    def _clear_trick(self, due: Pending) -> None:
        if due.stage == "play" and self.session.match.state["leader"][0] == NOBODY:
            self._trick = Trick()

    def _request(self, seat: Seat) -> bytes:
        session, due = self.session, seat.due
        assert due is not None
        hand, view = self._hand(seat.index), session.view()
        if due.stage == "play":
            self._clear_trick(due)
            seat.moves = encode_moves(due.actions, session.level, dialect=self.dialect.name)
            return self.dialect.ask_play(seat.index, hand, view, self._trick, seat.moves)
        cards = [encode_card(due.stage, action) for action in due.actions]
        paid = session.paid_to(seat.index) if due.stage == "back" else None
        listed = b"[" + b",".join(cards) + b"]"
        return self.dialect.ask_card(due.stage, seat.index, hand, view, listed, len(cards), paid)

    def round_over(self, result: RoundResult) -> None:
        """Tell everybody how the round ended."""
        assert self.result is not None
        self.result.round_over(result)
        self._broadcast(self.dialect.episode_over(result.order, result.level, result.left))

    def game_over(self, count: GameCount) -> None:
        """Tell everybody how the game ended; the last game ends the room."""
        assert self.result is not None
        self.result.games.append(count)
        for payload in self.dialect.game_over(count):
            self._broadcast(payload)
        if count.played >= count.wanted:
            self._finish("played")


def encode_card(stage: str, action: np.void) -> bytes:
    """Return the JSON of a tribute or return card."""
    name = _CARD_OF[int(action["lo"]), int(action["hi"])]
    return f'["{stage}","{stage}",["{name}"]]'.encode()


def default_choice(due: Pending) -> int:
    """Return what is played for who does not answer: PASS if it may, else the first, the weakest."""
    return int(np.argmax(due.actions["type"] == PASS))
