"""From connections to seats: how each dialect's clients find a table, and how their answers reach it."""

from __future__ import annotations

import abc
import asyncio
import time
from collections.abc import Callable
from typing import Any

from gs2.guandan.table.seat import AgentError
from gs2.guandan.table.server.room import Room, Seat, TableError
from gs2.guandan.table.wire import messages as m
from gs2.guandan.table.wire.connection import Connection
from gs2.guandan.table.wire.dialects import Dialect, reply
from gs2.guandan.table.wire.moves import find_move


class Lobby(abc.ABC):
    """Handles the messages of one dialect's clients.

    rooms: the open tables by number, shared with the server. new_room: opens a table for so many games, with
    the server's agents beside the seat that a client wants, if it wants one; raises TableError if the server
    takes no more, or an agent has that seat. kind: type of the message in hand, which a refusal answers.
    """

    kind = "ERROR"

    def __init__(self, dialect: Dialect, rooms: dict[int, Room], new_room: Callable[..., Room]) -> None:
        self.dialect, self.rooms, self.new_room = dialect, rooms, new_room

    @abc.abstractmethod
    def connected(self, connection: Connection) -> None:
        """Welcome a client."""

    @abc.abstractmethod
    def received(self, connection: Connection, text: str) -> None:
        """Handle a message.

        Raises MessageError, TableError or AgentError, each to be read by the client, if it is refused.
        """


class OpenGuanDanLobby(Lobby):
    """Rooms that clients create and join by number.

    As at the official server, where the dialect is that one's, who is not to act is not answered, and nobody
    is let into a room that was full once, not even to a seat of one's own.
    """

    def connected(self, connection: Connection) -> None:
        """Wait for the client to speak, unless it came for the other dialect: such a client never does."""
        if connection.path.startswith("/game/"):
            raise TableError("this server speaks openguandan, not njupt: connect without /game/")

    def received(self, connection: Connection, text: str) -> None:
        self.kind = "ERROR"
        self.kind, data = m.decode_command(text)
        if self.kind in m.STAGES:
            self._act(connection, m.STAGES[self.kind], data)
        elif self.kind == "CREATE_ROOM":
            self._create(connection, data)
        elif self.kind == "JOIN_ROOM":
            self._join(connection, data)
        else:
            self._who(connection, data.roomId)

    def _create(self, connection: Connection, data: m.CreateData) -> None:
        _must_be_free(connection)
        user = str(data.userId)
        room = self.new_room(data.round, data.seatNum)
        room.take(connection, user, data.seatNum)
        connection.send(reply("CREATE_ROOM", roomId=room.number, userNum=0, userId=user, userName=None))
        room.start_if_full()

    def _join(self, connection: Connection, data: m.JoinData) -> None:
        room = self._room(data.roomId)
        user = str(data.userId)
        held = next((seat for seat in room.seats if seat.user == user), None)
        if self.dialect.official and room.full:
            raise TableError("房间已满")  # the room is full
        if connection.seat is not None and (connection.seat[0], connection.seat[1].user) != (room, user):
            _must_be_free(connection)
        present = [seat for seat in room.seats if seat.connection is not None and seat.user != user]
        number = sum(seat.user is not None for seat in room.seats) - (held is not None)
        if held is None:
            room.take(connection, user, data.seatNum)
        else:
            room.give_back(held, connection)
        who: dict[str, Any] = {} if self.dialect.official else {"userId": user, "userName": None}
        connection.send(reply("JOIN_ROOM", roomId=room.number, userNum=number, **who))
        for other in present:
            assert other.connection is not None
            other.connection.send(reply("JOIN", roomId=room.number))
        if held is not None:
            room.catch_up(held)
        room.start_if_full()

    def _room(self, number: int) -> Room:
        room = self.rooms.get(number)
        if room is None:
            raise TableError(f"there is no room {number}; CREATE_ROOM opens one")
        return room

    def _act(self, connection: Connection, stage: str, data: m.ActData) -> None:
        number = data.roomID if data.roomId is None else data.roomId
        if connection.seat is None:
            raise TableError("you sit nowhere; CREATE_ROOM or JOIN_ROOM first")
        room: Room
        seat: Seat
        room, seat = connection.seat
        if number not in (None, room.number):
            raise TableError(f"you sit in room {room.number}, not {number}")
        if data.player != seat.index:
            raise TableError(f"you sit in seat {seat.index}; you cannot act for seat {data.player}")
        if self.dialect.official and seat.index not in room.session.pending:
            return
        due = room.session.due(seat.index)
        if due.stage != stage:
            raise TableError(f"seat {seat.index} is asked for {due.stage}, not {stage}")
        text = bytes(data.act)
        # nearly every client sends back what it was sent
        index = None if seat.moves is None else seat.moves.find(text)
        if index is None:
            index = find_move(m.decode_value(text), due.actions)
        if index is None:
            words = text[:120].decode(errors="replace")
            raise AgentError(f"{words} is not in actionList; send one of its entries")
        room.session.choose(seat.index, index)

    def _who(self, connection: Connection, number: int) -> None:
        room = self._room(number)
        players = [
            {"userId": seat.name, "seatNum": seat.index, "connected": seat.lost is None}
            for seat in room.seats
            if seat.taken
        ]
        connection.send(reply("GET_ROOMPLAYER", roomId=number, state=room.state, players=players))
        if connection.seat is not None and connection.seat[0] is room:
            room.ask_again(connection.seat[1])


def _must_be_free(connection: Connection) -> None:
    if connection.seat is not None:
        number = connection.seat[0].number
        raise TableError(f"this connection sits in room {number}; use another for another seat")


class NjuptLobby(Lobby):
    """Tables that fill in the order of arrival, at `/game/{name}`.

    games: of each table. probe: seconds that a connection has to show that it lives when another client of
    its name arrives; that one waits for so long.
    """

    def __init__(self, *arguments: Any, games: int, probe: float) -> None:
        super().__init__(*arguments)
        self.games, self.probe = games, probe
        self._waiting: list[Connection] = []

    def connected(self, connection: Connection) -> None:
        """Give a client its seat back, or the next one; whether its own is free may have to be found out."""
        before, _, name = connection.path.partition("/game/")
        if before or not name:
            raise TableError("this server speaks njupt, not openguandan: connect to /game/{name}")
        if len(name) > 64:
            raise TableError(f"a name has at most 64 characters; got {len(name)}; shorten it")
        if self._give_back(connection, name):
            return
        others = [seat.connection for _, seat in self._seats(name) if seat.connection is not None]
        others += [other for other in self._waiting if other.path == connection.path]
        if not others:
            self._seat(connection, name)
            return
        # it may be another client, or the same whose old connection died without having ended
        for other in others:
            other.ping()
        self._waiting.append(connection)
        loop = asyncio.get_running_loop()
        loop.call_later(self.probe, self._probed, connection, name, time.monotonic())

    def _probed(self, connection: Connection, name: str, since: float) -> None:
        """Seat a client that had to wait: all others of its name were asked then for a sign of life."""
        self._waiting.remove(connection)
        if not connection.open:
            return
        for room, seat in self._seats(name):
            room.drop_silent(seat, since)
        try:
            if not self._give_back(connection, name):
                self._seat(connection, name)
        except TableError as error:
            connection.close(1008, str(error))

    def _seats(self, name: str) -> list[tuple[Room, Seat]]:
        return [(room, seat) for room in self.rooms.values() for seat in room.seats if seat.user == name]

    def _give_back(self, connection: Connection, name: str) -> bool:
        """Give a client the seat of a lost connection of its name; return whether there was one."""
        for room, seat in self._seats(name):
            if seat.lost is not None:
                room.give_back(seat, connection)
                room.catch_up(seat)
                return True
        return False

    def _seat(self, connection: Connection, name: str) -> None:
        room = next((room for room in self.rooms.values() if room.state == "waiting"), None)
        if room is None:
            room = self.new_room(self.games)
        room.take(connection, name)
        room.start_if_full()

    def received(self, connection: Connection, text: str) -> None:
        index = m.decode_act_index(text)
        if connection.seat is None:
            raise TableError("you have no seat now; wait for a request")
        room, seat = connection.seat
        room.session.choose(seat.index, index)
