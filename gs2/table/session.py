"""A session of games at one table, without wires: what happens next, who is asked, what everybody learns.

A session is a state machine. `begin` it, then answer what is `pending` with `choose`; the listener is told of
everything that the players are to learn, in order. Servers and the in-process runner differ only in their
listeners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from games.game import TERMINAL
from games.guandan.cards import ACTION, CARD_NAMES, NUM_CARDS, SINGLE, hand_text, make_actions, unpack
from games.guandan.matches import BACK, PLAY, TRIBUTE, CardDecisions, Matches
from games.guandan.round import advance, legal
from games.guandan.rules import Rules, as_rules
from games.guandan.state import NOBODY, PLAYER, STATE, views
from games.guandan.tribute import CARD_RANK
from gs2.table.dialect import GameCount, RoundView
from gs2.table.seat import AgentError, Observation, Transfer

__all__ = ["Listener", "RoundResult", "Session"]

_CARD_MOVES = make_actions([SINGLE] * NUM_CARDS, CARD_RANK, np.eye(NUM_CARDS, dtype=np.uint8))
"""[54] ACTION: each card as a Single, the form of a tribute or return card."""
_NO_MOVES = np.zeros(0, ACTION)


@dataclass(frozen=True)
class RoundResult:
    """A round that is over.

    order: seats as they finished. level: rank code. left: [seat, cards] of those who still held any.
    winner: team of the first finisher. gain: 3, 2 or 1, as its other seat came second, third or last.
    decisions: moves, passes included.
    """

    order: tuple[int, ...]
    level: int
    left: list[tuple[int, list[str]]]
    winner: int
    gain: int
    decisions: int


class Listener(Protocol):
    """Who is told what happens. Calls come in the order of play, from within `begin` and `choose`."""

    def game_begun(self, number: int, seed: int) -> None:
        """Game `number` (from 1) begins."""

    def round_begun(self) -> None:
        """Cards are dealt: `hand` and `view` answer for every seat."""

    def anti_tribute(self, seats: Sequence[int]) -> None:
        """These seats hold both big jokers; nobody pays."""

    def chosen(self, seat: int, stage: str, index: int, move: NDArray) -> None:
        """A seat has answered: entry `index` of its choices, [1] ACTION. Cards are secret until `exchanged`."""

    def exchanged(self, stage: str, transfers: Sequence[Transfer]) -> None:
        """All tributes are paid ("tribute"), or all cards returned ("back")."""

    def asked(self, seats: Sequence[int]) -> None:
        """These seats are to act now; `stage` and `choices` say what about."""

    def round_over(self, result: RoundResult) -> None:
        """The round is over."""

    def game_over(self, count: GameCount) -> None:
        """The game is over; the session too, if it was the last."""


class Session:
    """Games one after the other between the same four seats.

    stage: "tribute", "back", "play", or "over". pending: seats that are to act.
    """

    def __init__(
        self,
        listener: Listener,
        *,
        games: int = 1,
        rules: Rules | str | dict[str, object] = "ruling",
        seed: int = 0,
        deals: NDArray | None = None,
        first: int | None = None,
    ) -> None:
        """Games follow from `seed`; `deals` [k, 4, 54] and `first` fix the first game's deals and lead."""
        self.listener = listener
        self.games = games
        self.rules = as_rules(rules)
        self.seeds = np.random.default_rng(seed)
        self.played = 0
        self.wins = [0, 0]
        self.draws = 0
        self.stage = "over"
        self.pending: set[int] = set()
        self.decisions = 0
        self._first_game = {"deals": None if deals is None else deals[None], "first": first}
        self._moves: NDArray = _NO_MOVES
        self._cards: CardDecisions | None = None
        self._rounds_before = 0
        self._forget_round()

    def _forget_round(self) -> None:
        self.actors: list[int] = []
        self.record: list[NDArray] = []
        self.tributes: tuple[Transfer, ...] = ()
        self.returns: tuple[Transfer, ...] = ()

    def begin(self) -> None:
        """Begin the first game."""
        self._new_game(**self._first_game)

    def _new_game(self, deals: NDArray | None = None, first: int | None = None) -> None:
        seed = int(self.seeds.integers(0, 2**63))
        self.match = Matches([seed], rules=self.rules, deals=deals, first=first)
        self.listener.game_begun(self.played + 1, seed)
        self._new_round()

    def _new_round(self) -> None:
        self._forget_round()
        self._bytes = views(self.match.states)[1]
        self.listener.round_begun()
        table = self.match.table[0]
        if table["anti"]:
            held = unpack(self.match.states["known"][0])[:, NUM_CARDS - 1]
            self.listener.anti_tribute([int(s) for s in np.flatnonzero(held)])
        self._next()

    # --- what can be asked of the position ---

    def hand(self, seat: int) -> tuple[int, int]:
        """Return a seat's packed cards as (lo, hi)."""
        hands = self.match.states["hand"] if self.stage == "play" else self.match.table["hand"]
        lo, hi = hands[0, seat].tolist()
        return lo, hi

    def view(self) -> RoundView:
        """Return levels and card counts."""
        table = self.match.table
        if self.match.phase[0] == PLAY:
            rest = self.match.states["left"][0].tolist()
        else:
            rest = unpack(table["hand"][0]).sum(1, dtype=np.int64).tolist()
        first, second = table["levels"][0].tolist()
        owner = int(table["owner"][0])
        level = first if owner in (0, NOBODY) else second
        return RoundView(level, (first, second), rest)

    def choices(self, seat: int) -> NDArray:
        """Return what a pending seat may choose from, [m] ACTION; cards as Singles."""
        if self.stage == "play":
            return self._moves
        return _CARD_MOVES[self._options(seat)]

    def _options(self, seat: int) -> NDArray[np.int64]:
        cards = self._cards
        assert cards is not None
        return np.flatnonzero(cards.options[self._row(seat)])

    def _row(self, seat: int) -> int:
        assert self._cards is not None
        return int(np.flatnonzero(self._cards.seats == seat)[0])

    def paid_to(self, seat: int) -> Transfer | None:
        """Return the tribute that a seat received in this round, or None."""
        return next((t for t in self.tributes if t[1] == seat), None)

    def observe(self, seat: int) -> Observation:
        """Return what a seat knows, for it to choose."""
        if self.stage == "play":
            state = self.match.states.copy()
            own = state["hand"][0, seat].copy()
            state["hand"] = 0
            state["hand"][0, seat] = own
        else:
            state = self._dealt(seat)
        return Observation(
            seat=seat,
            stage=self.stage,
            state=state,
            moves=self.choices(seat),
            actors=np.array(self.actors, np.uint8),
            record=np.concatenate(self.record) if self.record else _NO_MOVES,
            tributes=self.tributes,
            returns=self.returns,
        )

    def _dealt(self, seat: int) -> NDArray:
        """Return the round before play as one seat knows it."""
        from games.guandan.cards import NO_ACTION

        state = np.zeros(1, STATE)
        view = self.view()
        state["level"], state["levels"] = view.level, view.levels
        state["owner"] = self.match.table["owner"]
        state["hand"][0, seat] = self.match.table["hand"][0, seat]
        state["left"] = view.rest
        state["leader"] = state["order"] = NOBODY
        state["player"] = state["first"] = seat
        state["trick"]["type"] = state["last"]["type"] = NO_ACTION
        state["cap"] = 14
        return state

    # --- progress ---

    def choose(self, seat: int, index: int) -> None:
        """Carry out a pending seat's choice.

        Raises AgentError, and changes nothing, if the seat is not to act or the index is not one of a choice.
        """
        if seat not in self.pending:
            who = ", ".join(map(str, sorted(self.pending))) or "nobody"
            raise AgentError(f"seat {seat} is not to act now; {who} is")
        choices = self.choices(seat)
        if not 0 <= index < len(choices):
            raise AgentError(f"a choice is an index 0..{len(choices) - 1} into actionList; got {index}")
        move = choices[index : index + 1]
        self.decisions += 1
        self.listener.chosen(seat, self.stage, index, move)
        if self.stage == "play":
            self._play(seat, move)
        else:
            self._give(seat, int(self._options(seat)[index]))

    def _play(self, seat: int, move: NDArray) -> None:
        self.actors.append(seat)
        self.record.append(move)
        advance(self.match.states, move)
        if self._bytes[0, PLAYER] > 3:
            self._settle()
        else:
            self._ask_play()

    def _give(self, seat: int, card: int) -> None:
        cards = self._cards
        assert cards is not None
        one = np.array([self._row(seat)])
        decision = CardDecisions(
            *(getattr(cards, name)[one] for name in ("rows", "seats", "slots", "back", "levels", "hands", "options"))
        )
        self.pending.discard(seat)
        self.match.give(decision, [card])
        if self.pending:
            return
        table = self.match.table[0]
        names = ("receiver", "payer", "back") if self.stage == "back" else ("payer", "receiver", "paid")
        transfers = tuple(
            (int(a), int(b), CARD_NAMES[c])
            for a, b, c in zip(*(table[name].tolist() for name in names), strict=True)
            if a != NOBODY
        )
        if self.stage == "back":
            self.returns = transfers
        else:
            self.tributes = transfers
        self.listener.exchanged(self.stage, transfers)
        self._next()

    def _next(self) -> None:
        """Ask whoever is to act."""
        phase = int(self.match.phase[0])
        if phase == PLAY:
            self.stage = "play"
            self._ask_play()
            return
        self.stage = {TRIBUTE: "tribute", BACK: "back"}[phase]
        self._cards = self.match.card_decisions()
        seats = [int(s) for s in self._cards.seats]
        self.pending = set(seats)
        self.listener.asked(seats)

    def _ask_play(self) -> None:
        seat = int(self._bytes[0, PLAYER])
        self._moves = legal(self.match.states).values
        self.pending = {seat}
        self.listener.asked((seat,))

    def _settle(self) -> None:
        """Score the round that has ended; go on with the next, or the next game."""
        self.pending = set()
        ended = self.match.settle()
        state = ended.states[0]
        assert state["player"] == TERMINAL
        order = tuple(int(s) for s in state["order"])
        level = int(state["level"])
        hands = unpack(state["hand"])
        partner = order.index((order[0] + 2) % 4)
        self.listener.round_over(
            RoundResult(
                order=order,
                level=level,
                left=[(s, hand_text(hands[s], level).split()) for s in range(4) if state["left"][s]],
                winner=order[0] & 1,
                gain=4 - partner,
                decisions=int(state["plays"]),
            )
        )
        if not ended.over[0]:
            self._new_round()
            return
        self.played += 1
        winner = None if ended.winner[0] == NOBODY else int(ended.winner[0])
        if winner is None:
            self.draws += 1
        else:
            self.wins[winner] += 1
        table = self.match.table[0]
        first, second = table["levels"].tolist()
        count = GameCount(
            played=self.played,
            wanted=self.games,
            winner=winner,
            levels=(first, second),
            rounds=int(table["round"]),
            wins=(self.wins[0], self.wins[1]),
            draws=self.draws,
        )
        if self.played >= self.games:
            self.stage = "over"
        self.listener.game_over(count)
        if self.played < self.games:
            self._new_game()
