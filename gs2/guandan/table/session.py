"""A session of games at one table, without wires: what happens next, who is asked, what everybody learns.

A session is a state machine. `begin` it, then answer what is `pending` with `choose`; the listener is told of
everything that the players are to learn, in order. Servers and the in-process runner differ only in their
listeners.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from games.guandan.cards import ACTION, PASS, hand_text, pack, unpack
from games.guandan.matches.match import (
    AntiTribute,
    Dealt,
    Event,
    Exchange,
    Leads,
    Match,
    MatchOver,
    Pending,
    Played,
    Returned,
    RoundOver,
    Tribute,
)
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import Rules, as_rules
from gs2.guandan.table.seat import AgentError, Observation, Transfer, seen_by


def default_choice(due: Pending) -> int:
    """Return what is played for a seat that does not answer: PASS if it may, else the weakest choice."""
    return int(np.argmax(due.actions["type"] == PASS))


@dataclass(frozen=True)
class GameCount:
    """Where a session stands when a game ends.

    played: games finished, this one included. wanted: games agreed on. winner: the team that won this game,
    None for a draw. levels: rank codes of the teams at its end. rounds: rounds it took.
    wins: games won by each team so far. draws: games drawn so far.
    """

    played: int
    wanted: int
    winner: int | None
    levels: tuple[int, int]
    rounds: int
    wins: tuple[int, int]
    draws: int


News = Dealt | AntiTribute | Exchange | RoundOver | GameCount
"""What all players learn beside the moves. At a deal `hand` and `rest` answer for every seat."""


class Listener:
    """Who is told what happens. Calls come in the order of play, from within `begin` and `choose`.

    A subclass overrides what it wants to hear.
    """

    def game_begun(self, number: int, match: Match) -> None:
        """Game `number` (from 1) begins."""

    def happened(self, events: list[Event]) -> None:
        """The match's own account, for its record; the calls that follow tell the same."""

    def told(self, news: News) -> None:
        """Something that all players learn; the last game is over when its GameCount is told."""

    def chosen(self, seat: int, due: Pending, index: int) -> None:
        """A seat has answered with entry `index` of what was due. Cards are secret until their Exchange."""

    def asked(self, seats: Sequence[int]) -> None:
        """These seats are to act now; `stage` and `pending` say what about."""


class Session:
    """Games one after the other between the same four seats.

    match: the game in play. stage: what is to be decided, "tribute", "back" or "play"; "over" when nothing
    is. pending: the decisions that are due, by seat; empty before and after the session.
    level, levels: of the round and of the teams {0, 2} and {1, 3}, rank codes.
    played: games finished. decisions: taken so far, passes included. fails: of each team at A in the game in
    play, before this round. anti: seats that refused tribute in it. opens: whether the move that is due, or
    was just made, opens a trick.
    """

    match: Match

    def __init__(
        self,
        listener: Listener,
        *,
        games: int = 1,
        rules: Rules | str | dict[str, object] = "ruling",
        seed: int = 0,
        **first_game: Any,
    ) -> None:
        """Every game follows from `seed`. first_game: of the first Match. Raises AgentError for no games."""
        if isinstance(games, bool) or not isinstance(games, int | np.integer) or games < 1:
            raise AgentError(f"games must be an integer of at least 1; got {games!r}")
        self.listener = listener
        self.games = games
        self.rules = as_rules(rules)
        self.seed = seed
        self.stage = "over"
        self.opens = False
        self.pending: dict[int, Pending] = {}
        self._first_game = first_game
        self._forget_games()

    def _forget_games(self) -> None:
        self.played = self.draws = self.decisions = 0
        self.wins = [0, 0]
        self.fails = (0, 0)
        self._seeds = np.random.default_rng(self.seed)
        self._forget_round()

    def _forget_round(self) -> None:
        self.level = 0
        self.levels = (0, 0)
        self.actors: list[int] = []
        self.record: list[bytes] = []
        self.tributes: tuple[Transfer, ...] = ()
        self.returns: tuple[Transfer, ...] = ()
        self.anti: tuple[int, ...] = ()

    def begin(self, choices: Iterable[tuple[int, int]] = ()) -> None:
        """Begin the first game, also anew; then carry out these choices, a seat and an index each."""
        self._forget_games()
        self._new_game(**self._first_game)
        for seat, index in choices:
            self.choose(seat, index)

    def _new_game(self, **options: Any) -> None:
        self.match = Match(int(self._seeds.integers(0, 2**63)), rules=self.rules, **options)
        self.fails = (0, 0)
        self.listener.game_begun(self.played + 1, self.match)
        self._tell(self.match.events)
        # what happened is told and recorded; kept, it would fill the memory of a server with many tables
        self.match.events.clear()
        self._ask()

    # --- what can be asked of the position ---

    def hand(self, seat: int) -> tuple[int, int]:
        """Return a seat's packed cards as (lo, hi)."""
        match = self.match
        lo, hi = (match.state["hand"][0, seat] if match.phase == "play" else pack(match.hands[seat])).tolist()
        return lo, hi

    def cards(self, seat: int) -> list[str]:
        """Return a seat's cards by name, weakest first."""
        return hand_text(unpack(np.array(self.hand(seat), np.uint64)), self.level).split()

    @property
    def rest(self) -> list[int]:
        """Cards that each seat holds."""
        match, playing = self.match, self.match.phase == "play"
        counts = match.state["left"][0] if playing else match.hands.sum(1, dtype=np.int64)
        rest: list[int] = counts.tolist()
        return rest

    def due(self, seat: int) -> Pending:
        """Return what a seat is to choose from. Raises AgentError if it is not to act."""
        if seat not in self.pending:
            who = ", ".join(map(str, sorted(self.pending))) or "nobody"
            raise AgentError(f"seat {seat} is not to act now; {who} is")
        return self.pending[seat]

    def paid_to(self, seat: int) -> Transfer | None:
        """Return the tribute that a seat received in this round, or None."""
        return next((t for t in self.tributes if t[1] == seat), None)

    def observe(self, seat: int) -> Observation:
        """Return what a pending seat knows, for it to choose."""
        due = self.pending[seat]
        state = self.match.state if due.stage == "play" else self.match.unplayed()
        if due.stage != "play":
            state["player"] = state["first"] = seat
        return Observation(
            seat=seat,
            stage=due.stage,
            state=seen_by(state, seat),
            moves=due.actions,
            actors=np.array(self.actors, np.uint8),
            record=np.frombuffer(b"".join(self.record), ACTION).copy(),
            tributes=self.tributes,
            returns=self.returns,
        )

    # --- progress ---

    def choose(self, seat: int, index: int) -> None:
        """Carry out a pending seat's choice.

        Raises AgentError, and changes nothing, if the seat is not to act or the index is not one of a choice.
        """
        due = self.due(seat)
        if not 0 <= index < len(due.actions):
            raise AgentError(f"a choice is an index 0..{len(due.actions) - 1} into actionList; got {index}")
        del self.pending[seat]
        events = self.match.apply(seat, index)
        self.match.events.clear()
        self.decisions += 1
        self.listener.chosen(seat, due, index)
        self._tell(events)
        if not self.pending:
            self._ask()

    def _ask(self) -> None:
        """Ask whoever is to act, or begin the next game."""
        pending = self.match.pending()
        self.pending = {due.seat: due for due in pending}
        if pending:
            self.stage = pending[0].stage
            self.opens = self.stage == "play" and bool(self.match.state["leader"][0] == NOBODY)
            self.listener.asked(list(self.pending))
        elif self.played < self.games:
            self._new_game()
        else:
            self.stage = "over"

    def _tell(self, events: list[Event]) -> None:
        self.listener.happened(events)
        for event in events:
            match event:
                case Dealt():
                    self._forget_round()
                    self.level, self.levels = event.level, event.levels
                case AntiTribute():
                    self.anti = event.seats
                case Tribute():
                    self.tributes = event.named
                case Returned():
                    self.returns = event.named
                case RoundOver():
                    self.fails = event.fails
                case Played():
                    self.actors.append(event.seat)
                    # bytes, for an action would keep all the list alive that it was chosen from
                    self.record.append(event.action.tobytes())
                    continue
                case Leads():
                    continue
            self.listener.told(self._count(event) if isinstance(event, MatchOver) else event)

    def _count(self, event: MatchOver) -> GameCount:
        self.played += 1
        if event.winner is None:
            self.draws += 1
        else:
            self.wins[event.winner] += 1
        return GameCount(
            played=self.played,
            wanted=self.games,
            winner=event.winner,
            levels=self.match.levels,
            rounds=event.rounds,
            wins=(self.wins[0], self.wins[1]),
            draws=self.draws,
        )
