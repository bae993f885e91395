"""The play at a table of a game: rounds one after the other, and a score."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from games.game import TERMINAL, Game
from games.record import RoundRecord
from games.support.own import is_own
from gs2.web.games.agent_worker import Seated
from gs2.web.games.card_face import card_face, round_view, seat_points
from gs2.web.games.game_round import GameRound, round_record
from gs2.web.tables.table import Call, Offer, Play, Refused
from gs2.web.tables.table_log import PERSON, TableSetup

MOST_ROUNDS = 10_000
"""Rounds of a table."""
SHOWN_ROUNDS = 60
"""Rounds that the score sheet lists."""

Data = dict[str, Any]


WORKER = "gs2.web.games.agent_worker"


class GamePlay(Play):
    """The play of a game; players are numbered as the seats of the setup, `order` says who sits where.

    number: of the round in play, counted from 1; 0 before the first. finished: of each round that is over the
    record, its pair the number and its agents the players, and the points of each player.
    """

    over = fresh = False
    extra = ("next",)

    def __init__(self, setup: TableSetup, game: Game) -> None:
        self.setup, self.game = setup, game
        self.face = card_face(game)
        self.look = "words" if self.face is None else "cards"
        self.reviewed = not is_own(setup.game)  # a review runs no code that a record names
        self.names: list[str] = []
        self.order: tuple[int, ...] = tuple(range(len(setup.seats)))
        self._round: GameRound | None = None
        self.number = 0
        self.finished: list[tuple[RoundRecord, list[float]]] = []

    @staticmethod
    def fields(data: Data) -> Data:
        rotate = data.get("rotate", False)
        if not isinstance(rotate, bool):
            raise Refused("wrong", f"rotate is true or false; got {rotate!r:.40}")
        return {"rotate": rotate}

    @staticmethod
    def prepared(game: Game) -> Game:
        """Return a game whose kernels are compiled: one round was played."""
        played = GameRound(game, 0, 0)
        rng = np.random.default_rng(0)
        while played.player != TERMINAL:
            played.take(int(rng.integers(len(played.legal))))
        return game

    def call(self, what: str, agent: Seated, seat: int) -> Call | None:
        match what:
            case "load":
                return f"{WORKER}:agent_ready", agent
            case "answer":
                return f"{WORKER}:agent_answer", agent, self.round.history(), self.round.draw(1)
            case "hint":
                return f"{WORKER}:agent_view", agent, self.round.history()
        return None

    def hint_told(self, seat: int) -> Callable[[Data], Data]:
        told = self.told()
        return lambda found: found | {"moves": [move | told(move["index"]) for move in found["moves"]]}

    def named(self, names: list[str]) -> None:
        """Take over what each player is called: of several agents of one label each has its number."""
        self.names = [
            name if not name or names.count(name) == 1 else f"{name} {names[: at + 1].count(name)}"
            for at, name in enumerate(names)
        ]

    @property
    def round(self) -> GameRound:
        """The present round. Raises ValueError before the first."""
        if self._round is None:
            raise ValueError("a round is dealt before anything else")
        return self._round

    @property
    def opening(self) -> tuple[str, Any] | None:
        return ("round", list(self.order)) if self._round is None else None

    @property
    def pending(self) -> Sequence[int]:
        """The seat to act; none where the round is over."""
        return () if self.round.over else (self.round.player,)

    @property
    def scores(self) -> list[float]:
        players = range(len(self.order))
        return [sum((points[player] for _, points in self.finished), 0.0) for player in players]

    def next_round(self, seat: int | None, wish: Any) -> tuple[str, Any] | None:
        """Return the line of a new round, who sits where; None where another player has continued.

        seat: of a person, None for a watcher. wish: where the person wants to sit, who changes places with
        whoever is there; None for no wish. Where people play, one person alone may give up a round in play.
        """
        alone = seat is not None and self.setup.seats.count(PERSON) == 1
        if not self.round.over and not alone:
            return None
        if self.number >= MOST_ROUNDS:
            raise Refused("full", f"a table has at most {MOST_ROUNDS} rounds; open another")
        order = list(self.order)
        if wish is not None and seat is not None:
            if isinstance(wish, bool) or not isinstance(wish, int) or not 0 <= wish < len(order):
                raise Refused("wrong", f"a seat is 0..{len(order) - 1}; got {wish!r:.40}")
            order[wish], order[seat] = order[seat], order[wish]
        elif self.setup.rotate and self.round.over:
            order = [order[-1], *order[:-1]]
        return "round", order

    def carry_out(self, word: str, value: Any) -> None:
        """Deal a new round; one in play is given up and not counted. value: who sits where."""
        if word != "round":
            raise ValueError(f"a line must be one of sit, round, choose, undo; got {word!r}")
        if sorted(value) != list(range(len(self.setup.seats))):
            raise ValueError(f"every player needs a different seat; got {value}")
        self.order = tuple(value)
        self.number += 1
        self._round = GameRound(self.game, self.setup.seed, self.number)
        self._count()

    def count(self, seat: int) -> int:
        return len(self.round.legal)

    def marks(self, index: int, cards: list[str]) -> list[str] | None:
        return None if self.face is None else self.face.marks(self.round, index, cards)

    def take(self, seat: int, index: int, marks: list[str] | None = None) -> None:
        if self.round.player != seat:
            raise ValueError(f"seat {seat} is not to act")
        self.round.take(index, marks)
        self._count()

    def _count(self) -> None:
        """Add the round to the score if it is over."""
        if not self.round.over:
            return
        points = seat_points(self.round)
        of_player = [points[self.order.index(player)] for player in range(len(self.order))]
        self.finished.append((round_record(self.round, [str(player) for player in self.order]), of_player))

    def last_choice(self, seat: int) -> int | None:
        who = self.round.players
        return next((at for at in range(len(who) - 1, -1, -1) if who[at] == seat), None)

    def back_to(self, place: int) -> None:
        """Go back to just before a step of the round. Raises ValueError if nobody chose it."""
        if not 0 <= place < len(self.round.taken) or self.round.players[place] < 0:
            raise ValueError(f"the round cannot go back to step {place}")
        if self.finished and self.finished[-1][0].pair == self.number:
            self.finished.pop()
        self.round.back_to(place)

    # --- what a person does with cards, and what is seen ---

    def told(self) -> Callable[[int], Data]:
        """Return what gives a present choice by its place, a move or a text, also when play has gone on."""
        game, state, legal = self.game, self.round.state[0], self.round.legal
        if self.face is None or self.face.spoken(legal):
            return lambda place: {"text": game.action_text(state, legal[place])}
        move = self.face.told(self.round)
        return lambda place: {"move": move(place)}

    def fits(self, seat: int, cards: list[str]) -> tuple[list[Data], Data | None]:
        if self.face is None:
            return [], {"code": "no_combination"}
        return self.face.fits(self.round, cards)

    def suggested(self, seat: int) -> list[Data]:
        return (
            [] if self.face is None or self.face.spoken(self.round.legal) else self.face.suggested(self.round)
        )

    def layout(self, seat: int) -> Callable[[], list[list[str]]]:
        face = self.face
        if face is None:
            raise Refused("wrong", f"{self.game.name} has no hand of cards")
        hand = face.seen(self.round, seat)["hands"][seat]
        return lambda: face.moves(hand)

    def view(self, you: int | None, hands: bool) -> Data:
        ended = [{"number": done.pair, "points": points} for done, points in self.finished[-SHOWN_ROUNDS:]]
        return {
            **round_view(self.game, self.round, you, hands),
            "waiting": "next" if self.round.over else None,
            "finished": ended,
            "rounds": len(self.finished),
        }

    def moment(self, what: str, seat: int) -> Offer:
        """Return the round, and the seat's last choice in it, on which a new round does not depend."""
        return self.number, None if what == "next" else self.last_choice(seat)

    @property
    def standing(self) -> dict[str, Any]:
        return {"round": self.number, "scores": self.scores}

    def record(self, which: str = "") -> str:
        """Return the records of the rounds that are over, which hide nothing, one line of JSON each."""
        named = (
            replace(one, agents=tuple(self.names[int(p)] for p in one.agents)) for one, _ in self.finished
        )
        return "".join(
            json.dumps(record.to_json(), ensure_ascii=False, separators=(",", ":")) + "\n" for record in named
        )

    def record_to_review(self, asked: dict[str, Any]) -> str:
        """Return the records of the rounds that are over. Raises Refused where none is."""
        if not self.finished:
            raise Refused("closed", "a review shows every hand of rounds that are over; none is yet")
        return self.record()
