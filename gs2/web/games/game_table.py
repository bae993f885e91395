"""One table of a game: a person, agents on the other seats, rounds one after the other, and a score.

Everything happens on the event loop, in the order in which it arrives. Agents think while somebody looks.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from games.game import Game
from games.support.array_types import Array
from gs2.play.records.round_record import RoundRecord
from gs2.web.games.game_round import GameRound, round_record
from gs2.web.games.seen_cards import card_face, seat_points
from gs2.web.tables.person_table import LONGEST_PACE, Refused, key_digest
from gs2.web.tables.table_log import PERSON, DamagedTable, Line, TableLog, TableSetup
from gs2.web.tables.versions import Offer, Versions

__all__ = ["FinishedRound", "GameTable"]

logger = logging.getLogger("gs2.web")

MOST_ROUNDS = 10_000
"""Rounds of a table."""

Ask = Callable[[str, str, Array, float], Awaitable[int]]
"""Returns an agent's choice: of a game and a label, after a history, with a random number. Raises Refused."""


@dataclass(frozen=True)
class FinishedRound:
    """A round that is over.

    number: counted from 1. order: the player on each seat. points: of each player. record: for others.
    """

    number: int
    order: tuple[int, ...]
    points: tuple[float, ...]
    record: RoundRecord


class GameTable:
    """A table; players are numbered as the seats of its setup, `order` says which of them sits on each seat.

    changed: called after every change. versions: counts them. failure: of an agent, in words, or None.
    """

    def __init__(self, setup: TableSetup, game: Game, log: TableLog, ask: Ask) -> None:
        """Set up a table without a round; `new_round` deals the first."""
        self.setup, self.game, self.log, self._ask = setup, game, log, ask
        self.face = card_face(game)
        self.person = setup.seats.index(PERSON)
        self.name, self.key = "", ""
        self.order: tuple[int, ...] = tuple(range(len(setup.seats)))
        self.round: GameRound | None = None
        self.number = 0
        self.finished: list[FinishedRound] = []
        self.pace = setup.pace
        self.versions = Versions()
        self.failure: str | None = None
        self.changed: Callable[[], None] = lambda: None
        self.looked_at = False
        self._epoch = 0
        self._thinking: asyncio.Task[None] | None = None

    @classmethod
    def restored(
        cls, setup: TableSetup, lines: Sequence[Line], log: TableLog, game: Game, ask: Ask
    ) -> GameTable:
        """Return a table as its log left it. Raises DamagedTable where the log departs from the rules."""
        table = cls(setup, game, log, ask)
        for number, line in lines:
            try:
                table._replay(line)
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise DamagedTable(f"{log.path}:{number}: {error}; move the file away") from None
        if table.round is not None:
            table._count_change()
        return table

    def _replay(self, line: dict[str, Any]) -> None:
        ((word, value),) = line.items()
        if word == "sit":
            player, self.name, self.key = value
            if player != self.person:
                raise ValueError(f"player {player} is an agent")
        elif word == "round":
            self._deal(tuple(int(player) for player in value))
        elif self.round is None:
            raise ValueError("a round is dealt before anything else")
        elif word == "choose":
            seat, index, *marks = value
            if self.playing.player != seat:
                raise ValueError(f"seat {seat} is not to act")
            self._take(int(index), marks[0] if marks else None)
        elif word == "undo":
            self._back(int(value))
        else:
            raise ValueError(f"a line is one of sit, round, choose, undo; got {word!r}")

    # --- who is who ---

    def opens(self, key: str | None) -> bool:
        """Return whether a key is the person's."""
        return bool(key) and hmac.compare_digest(self.key, key_digest(key or ""))

    @property
    def over(self) -> bool:
        """Whether no further round can be dealt."""
        return self.number >= MOST_ROUNDS and self.playing.over

    def sit(self, name: str) -> tuple[int, str]:
        """Return the person's place, and the key that opens the seat from now on."""
        key = secrets.token_urlsafe(24)
        self.name, self.key = name, key_digest(key)
        self.log.append({"sit": [self.person, self.name, self.key]})
        return self.person, key

    @property
    def playing(self) -> GameRound:
        """The present round."""
        assert self.round is not None
        return self.round

    @property
    def you(self) -> int:
        """The person's seat in the present round."""
        return self.order.index(self.person)

    @property
    def names(self) -> list[str]:
        """What each player is called: of several agents of one label each has its number."""
        labels = [self.name if label == PERSON else label for label in self.setup.seats]
        return [
            label if labels.count(label) == 1 else f"{label} {labels[: at + 1].count(label)}"
            for at, label in enumerate(labels)
        ]

    @property
    def scores(self) -> list[float]:
        """What each player has won so far."""
        totals = [0.0] * len(self.setup.seats)
        for done in self.finished:
            totals = [total + gain for total, gain in zip(totals, done.points, strict=True)]
        return totals

    @property
    def to_act(self) -> int | None:
        """The seat to act, None where the round is over."""
        return None if self.playing.over else self.playing.player

    # --- play ---

    def new_round(self, seat: int | None = None) -> None:
        """Deal a new round; one in play is given up and not counted.

        seat: where the person wants to sit, who changes places with whoever is there; None for no wish.
        Raises Refused where there is no such seat, or too many rounds were played.
        """
        if self.number >= MOST_ROUNDS:
            raise Refused("full", f"a table has at most {MOST_ROUNDS} rounds; open another")
        order = list(self.order)
        if seat is not None:
            if isinstance(seat, bool) or not isinstance(seat, int) or not 0 <= seat < len(order):
                raise Refused("wrong", f"a seat is 0..{len(order) - 1}; got {seat!r:.40}")
            other = self.you
            order[seat], order[other] = order[other], order[seat]
        elif self.setup.rotate and self.round is not None and self.round.over:
            order = [order[-1], *order[:-1]]
        self.log.append({"round": order})
        self._deal(tuple(order))
        self._tell()

    def _deal(self, order: tuple[int, ...]) -> None:
        if sorted(order) != list(range(len(self.setup.seats))):
            raise ValueError(f"every player needs a different seat; got {order}")
        self._epoch += 1
        self.order = order
        self.number += 1
        self.round = GameRound(self.game, self.setup.seed, self.number)
        self._count()

    def choose(self, seat: int, index: int, cards: Sequence[str] = ()) -> None:
        """Carry out a choice, and have the next seat asked.

        cards: which of its equal cards a person plays; none for any.
        Raises Refused if it is not the seat's turn, or the index is not one of its choices.
        """
        if self.to_act != seat:
            raise Refused("not_your_turn", f"seat {seat} is not to act now")
        choices = len(self.playing.legal)
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < choices:
            raise Refused("no_choice", f"a choice is an index in 0..{choices - 1}; got {index!r:.40}")
        marks = self.face.marks(self.playing, index, list(cards)) if self.face is not None else None
        self.log.append({"choose": [seat, index] if marks is None else [seat, index, marks]})
        self._take(index, marks)
        self._tell()

    def _take(self, index: int, marks: list[str] | None) -> None:
        self.playing.take(index, marks)
        self._count()

    def _count(self) -> None:
        """Add the round to the score if it is over."""
        if not self.playing.over:
            return
        points = seat_points(self.playing)
        of_player = tuple(points[self.order.index(player)] for player in range(len(self.order)))
        names = [self.names[player] for player in self.order]
        self.finished.append(
            FinishedRound(self.number, self.order, of_player, round_record(self.playing, names))
        )

    def undo(self) -> None:
        """Go back to before the person's last choice in the round. Raises Refused if there is none."""
        at = self.playing.last_step_of(self.you)
        if at is None:
            raise Refused("nothing", "you have not chosen anything in this round yet")
        self.log.append({"undo": at})
        self._back(at)
        self._tell()

    def _back(self, steps: int) -> None:
        if not 0 <= steps < len(self.playing.taken) or self.playing.players[steps] < 0:
            raise ValueError(f"the round cannot go back to step {steps}")
        self._epoch += 1
        if self.finished and self.finished[-1].number == self.number:
            self.finished.pop()
        self.playing.back_to(steps)

    def set_pace(self, pace: Any) -> None:
        """Set the seconds between the moves of agents. Raises Refused at what is none."""
        if isinstance(pace, bool) or not isinstance(pace, int | float) or not 0 <= pace <= LONGEST_PACE:
            raise Refused("wrong", f"a pace is in 0..{LONGEST_PACE:g} seconds; got {pace!r:.40}")
        self.pace = float(pace)
        self.changed()

    def record(self) -> str:
        """Return the records of the rounds that are over, one line of JSON each."""
        return "".join(
            json.dumps(done.record.to_json(), ensure_ascii=False, separators=(",", ":")) + "\n"
            for done in self.finished
        )

    # --- agents ---

    def _count_change(self) -> None:
        offered = ["round", "undo", "choose"] if self.to_act == self.you else ["round", "undo"]
        self.versions.count(map(self.offer, offered))

    def _tell(self) -> None:
        self._count_change()
        self.changed()
        self.drive()

    def offer(self, what: str) -> Offer:
        """Return what `versions` calls the person's choice ("choose"), "undo" or a new "round"."""
        return what, self.number, None if what == "round" else self.playing.last_step_of(self.you)

    def look(self, looked_at: bool) -> None:
        """Say whether somebody looks; agents think only then."""
        self.looked_at = looked_at
        self.drive()

    def drive(self) -> None:
        """Have the agent think that is to act."""
        idle = self._thinking is None or self._thinking.done()
        if idle and self.looked_at and self.to_act not in (None, self.you):
            self._thinking = asyncio.get_running_loop().create_task(self._think())

    async def _think(self) -> None:
        epoch, began = self._epoch, time.monotonic()
        seat, played = self.playing.player, self.playing
        index = 0
        if len(played.legal) > 1:
            label = self.setup.seats[self.order[seat]]
            try:
                index = await self._ask(self.game.name, label, played.history(), played.draw(1))
                failure = None
            except Refused as error:
                failure = f"{label}: {error}; the first choice was played"
                logger.warning("game %s: %s", self.setup.id, failure)
            if epoch == self._epoch:
                self.failure = failure
        left = began + self.pace - time.monotonic()
        if left > 0:
            await asyncio.sleep(left)
        self._thinking = None
        if epoch == self._epoch:
            self.choose(seat, index)
        else:
            self.drive()

    def close(self) -> None:
        """Let go of the agents and the file; the table stays on disk."""
        self._epoch += 1
        if self._thinking is not None:
            self._thinking.cancel()
        self.log.close()
