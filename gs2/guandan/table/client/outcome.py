"""What a client's seat lives through, and when it is over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET

from gs2.guandan.table.client.visit import ClientConfig
from gs2.guandan.table.server.timing import Timing
from gs2.guandan.table.wire import messages as m

__all__ = ["ClientResult", "Ending"]


@dataclass
class ClientResult:
    """What a seat lived through.

    games: that ended. rounds: that ended; shares: those won by 3, 2, 1 levels (positive) or lost (negative).
    decisions: answered. timing: of the agent. refused: answers that the server refused. unread: messages that
    could not be read. reconnects: connections opened again. result: the server's gameResult, if it sent one.
    """

    user: str
    seat: int = -1
    room: int | None = None
    games: int = 0
    rounds: int = 0
    shares: dict[int, int] = field(default_factory=lambda: dict.fromkeys((3, 2, 1, -1, -2, -3), 0))
    decisions: int = 0
    fallbacks: int = 0
    refused: int = 0
    unread: int = 0
    reconnects: int = 0
    timing: Timing = field(default_factory=Timing)
    result: dict[str, Any] | None = None

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "timing"}
        return {**data, "timing": self.timing.summary()}

    def note(self, message: m.ServerMessage) -> None:
        """Take in the seat that a deal gives us, and the end of a round."""
        if isinstance(message, m.Beginning):
            self.seat = message.myPos
        elif isinstance(message, m.EpisodeOver):
            self.rounds += 1
            order = message.order
            if sorted(order) == [0, 1, 2, 3]:
                gain = 4 - order.index((order[0] + 2) % 4)
                self.shares[gain if (order[0] - self.seat) % 2 == 0 else -gain] += 1


class Ending:
    """What was said of the end of a game since the last deal, and whether it was that of the last game.

    Some servers end every game with gameOver and the last with gameResult too, the official one every game
    with gameResult and the last with gameOver too: between two deals one game ends.
    """

    def __init__(self, config: ClientConfig, result: ClientResult) -> None:
        """Games that end, and what the server says of them, are added to `result`."""
        self._config, self._seat_result = config, result
        self._over: m.GameOver | None = None
        self._told = False

    def note(self, message: m.ServerMessage) -> None:
        """Take in a deal or the end of a game."""
        if isinstance(message, m.Beginning):
            self._over, self._told = None, False
        elif isinstance(message, m.GameOver | m.GameResult):
            if self._over is None and not self._told:
                self._seat_result.games += 1
            if isinstance(message, m.GameOver):
                self._over = message
            else:
                self._told = True
                fields = {name: getattr(message, name) for name in message.__struct_fields__}
                self._seat_result.result = {k: value for k, value in fields.items() if value is not UNSET}

    @property
    def last_words(self) -> float | None:
        """Seconds to wait for another word, once the games seem to be over; None while they are not.

        It is the number of games that tells, where we have asked for it ourselves; else both words of the
        end, or a gameOver that counts as many games as were agreed on. The official server counts games
        finished there, so what looks like the last game is, unless another begins.
        """
        over, config = self._over, self._config
        if over is None and not self._told:
            return None
        if over is not None and not self._told and over.curTimes < over.settingTimes:
            return None
        ours = config.dialect == "openguandan" and config.room is None
        if ours or (over is not None and not self._told):
            return config.linger if self._seat_result.games >= config.games else config.between
        return config.linger if over is not None else config.between
