"""What a client's seat lives through, and when it is over."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from msgspec import UNSET

from gs2.guandan.table.client.tracker import opens_a_game
from gs2.guandan.table.client.visit import ClientConfig
from gs2.guandan.table.server.timing import Timing
from gs2.guandan.table.wire import messages as m

__all__ = ["ClientResult", "Ending", "GameEnd"]


@dataclass
class GameEnd:
    """A game that ended.

    rounds: that the seat saw of it. won: whether its team won; None for a draw, or where nobody said.
    """

    rounds: int
    won: bool | None


@dataclass
class ClientResult:
    """What a seat lived through.

    ended: games, in their order; games: how many. rounds: that ended; shares: those won by 3, 2, 1 levels
    (positive) or lost (negative).
    decisions: answered. timing: of the agent. refused: answers that the server refused. unread: messages that
    could not be read. reconnects: connections opened again. result: the server's gameResult, if it sent one.
    """

    user: str
    seat: int = -1
    room: int | None = None
    ended: list[GameEnd] = field(default_factory=list)
    rounds: int = 0
    shares: dict[int, int] = field(default_factory=lambda: dict.fromkeys((3, 2, 1, -1, -2, -3), 0))
    decisions: int = 0
    fallbacks: int = 0
    refused: int = 0
    unread: int = 0
    reconnects: int = 0
    timing: Timing = field(default_factory=Timing)
    result: dict[str, Any] | None = None

    @property
    def games(self) -> int:
        """Games that ended."""
        return len(self.ended)

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "timing"}
        ended = [asdict(game) for game in self.ended]
        return {**data, "games": self.games, "ended": ended, "timing": self.timing.summary()}

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
    with gameResult and the last with gameOver too: between two deals one game ends. Others say one word after
    all games: there a game has ended where a round begins as only first rounds do.
    """

    def __init__(self, config: ClientConfig, result: ClientResult) -> None:
        """Games that end, and what the server says of them, are added to `result`."""
        self._config, self._seat_result = config, result
        self._over: m.GameOver | None = None
        self._told = False
        self._exchanged = False
        self._rounds = 0
        self._winner: int | None = None

    def note(self, message: m.ServerMessage) -> None:
        """Take in a deal, a request, or the end of a round or a game."""
        if isinstance(message, m.Beginning):
            self._over, self._told, self._exchanged = None, False, False
        elif isinstance(message, m.TributeNotice | m.AntiTributeNotice):
            self._exchanged = True
        elif isinstance(message, m.Act):
            self._exchanged = self._exchanged or message.stage != "play"
            if self._rounds and opens_a_game(message, self._exchanged):
                self._game_over()
        elif isinstance(message, m.EpisodeOver):
            self._rounds += 1
            # a game is won by winning a round at A
            self._winner = message.order[0] & 1 if message.order and message.curRank == "A" else None
        elif isinstance(message, m.GameOver | m.GameResult):
            if self._over is None and not self._told:
                self._game_over()
            self._note_winner(message.victory)
            if isinstance(message, m.GameOver):
                self._over = message
            else:
                self._told = True
                fields = {name: getattr(message, name) for name in message.__struct_fields__}
                self._seat_result.result = {k: value for k, value in fields.items() if value is not UNSET}

    def _game_over(self) -> None:
        """Count a game; who won its last round won it, unless the server says otherwise."""
        won = None if self._winner is None else self._winner == self._seat_result.seat % 2
        self._seat_result.ended.append(GameEnd(self._rounds, won))
        self._rounds, self._winner = 0, None

    def _note_winner(self, victory: Any) -> None:
        """Take a server's word for who won the game that ended last."""
        if victory in (0, 1):
            self._seat_result.ended[-1].won = victory == self._seat_result.seat % 2
        elif victory == -1:
            self._seat_result.ended[-1].won = None

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
