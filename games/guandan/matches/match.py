"""One match at a table: who must act, what they may do, what has happened. Errors leave it as it was."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.game import CHANCE, TERMINAL, GameError
from games.guandan.cards import (
    ACTION,
    CARD_NAMES,
    NO_ACTION,
    NUM_CARDS,
    RANKS,
    SINGLE,
    as_level,
    make_actions,
    pack,
    parse_cards,
    unpack,
)
from games.guandan.matches.lockstep import OVER, PHASES, PLAY, TRIBUTE, Matches
from games.guandan.matches.tribute import CARD_RANK, big_jokers
from games.guandan.moves.listing import FULL, RESERVE
from games.guandan.notation import action_text, parse_action
from games.guandan.rounds.playout import legal_states
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import NOBODY, PLAYER, STATE, play_all
from games.guandan.rules import Rules
from games.round_rows import views
from games.support.array_types import Array, Bytes, Row, Rows

Transfer = tuple[int, int, int]
"""(from seat, to seat, card index)."""


@dataclass(frozen=True, eq=False)
class Dealt:
    """A round begins: its number (from 1), level, the teams' levels, whose level it is, hands [4, 54] uint8.

    level, levels: rank codes. owner: team, or None in a first round.
    """

    round: int
    level: int
    levels: tuple[int, int]
    owner: int | None
    hands: Bytes


@dataclass(frozen=True)
class AntiTribute:
    """Tribute is refused by those who hold the big jokers: one seat with both, or two with one each."""

    seats: tuple[int, ...]


@dataclass(frozen=True)
class Exchange:
    """Cards change hands before a round. stage: the phase that it ends."""

    transfers: tuple[Transfer, ...]
    stage: ClassVar[str]

    @property
    def named(self) -> tuple[tuple[int, int, str], ...]:
        """The transfers, with the cards' names."""
        return tuple((giver, taker, CARD_NAMES[card]) for giver, taker, card in self.transfers)


class Tribute(Exchange):
    """Tribute is paid, in the order in which the payers answered."""

    stage = "tribute"


class Returned(Exchange):
    """Cards are returned for tribute, in the order of the transfers they answer."""

    stage = "back"


@dataclass(frozen=True)
class Leads:
    """Play begins with this seat."""

    seat: int


@dataclass(frozen=True, eq=False)
class Played:
    """A seat plays an action (ACTION, a single row), a PASS included."""

    seat: int
    action: Row


@dataclass(frozen=True)
class RoundOver:
    """A round ends.

    order: seats as they finished, the unfinished last by seat. payoffs: of each seat (see `GuanDan.returns`).
    level: rank code of the round. before: rank codes of the teams' levels in it. moves: passes included.
    levels, fails, drops: of each team after it. rest: (seat, card indices held) of the unfinished.
    failed: the team that failed at its A in it, None for none; dropped: whether it was the last of its
    `tries`, which drops the team.
    """

    order: tuple[int, ...]
    payoffs: tuple[int, ...]
    level: int
    before: tuple[int, int]
    levels: tuple[int, int]
    fails: tuple[int, int]
    drops: tuple[int, int]
    rest: tuple[tuple[int, tuple[int, ...]], ...]
    failed: int | None
    dropped: bool
    tries: int
    moves: int

    @property
    def winner(self) -> int:
        """The team of the first finisher."""
        return self.order[0] & 1

    @property
    def gain(self) -> int:
        """3, 2 or 1, as the winner's other seat came second, third or last."""
        return 4 - self.order.index((self.order[0] + 2) % 4)

    @property
    def rise(self) -> int:
        """Levels that the winner went up: fewer than it gained at A, negative if it dropped."""
        return self.levels[self.winner] - self.before[self.winner]

    @property
    def left(self) -> list[tuple[int, list[str]]]:
        """`rest`, with the cards' names."""
        return [(seat, [CARD_NAMES[card] for card in cards]) for seat, cards in self.rest]


@dataclass(frozen=True)
class MatchOver:
    """The match ends: the winning team, None if drawn, and rounds played."""

    winner: int | None
    rounds: int


Event = Dealt | AntiTribute | Tribute | Returned | Leads | Played | RoundOver | MatchOver


def match_payoffs(winner: int | None) -> list[float]:
    """Return what each seat is paid for a match: 1 on the winning team, -1 on the other, 0 in a drawn one."""
    return [0.0 if winner is None else 1.0 if seat % 2 == winner else -1.0 for seat in range(4)]


_GAME = GuanDan()
_LOCAL = threading.local()
_CARD_ACTIONS = make_actions(np.full(NUM_CARDS, SINGLE), CARD_RANK, np.eye(NUM_CARDS, dtype=np.uint8))


class Pending(NamedTuple):
    """A decision that is due: the seat, the stage ("play", "tribute" or "back"), the choices [m] ACTION."""

    seat: int
    stage: str
    actions: Rows


def card_actions(cards: ArrayLike) -> Rows:
    """Return single cards as actions, [m] ACTION: tribute and return cards take this form.

    cards: [m] card indices, or [54] bool.
    """
    actions: Rows = _CARD_ACTIONS[np.asarray(cards)]
    return actions


def parse_move(stage: str, move: str | Sequence[Any], level: int) -> Rows:
    """Return the action that a move in the field's notation names, [1] ACTION.

    stage: "play", "tribute" or "back". move: `["Pair","6",["S6","D6"]]`, `["back","back",["D5"]]`, such JSON
        as text, or plain words; a tribute or return card may also be its name alone, "D5".
    Raises GameError at anything else.
    """
    if stage == "play":
        return parse_action(move, level)
    words = move if isinstance(move, str) else list(move)
    if isinstance(words, list) and len(words) == 3:
        if words[0] != stage:
            raise GameError(f'guandan: this is the time for ["{stage}","{stage}",[card]]; got {move!r}')
        words = words[2]
    text = " ".join(map(str, words)) if isinstance(words, list | tuple) else str(words)
    counts = parse_cards(text.replace(stage, ""), limit=1)
    if counts.sum() != 1:
        raise GameError(f"guandan: a {stage} move names one card; got {move!r}")
    return card_actions(np.flatnonzero(counts))


class Match:
    """A match of four seats, from the first deal to a team's win beyond A.

    seed: the cards of every round follow from it.
    rules: `Rules`, a preset's name, or a dictionary of switches.
    levels: of each team at the start, names or rank codes. owner: team whose level the first round is played
        at; needed if the levels differ.
    log: keep all events in `events`, else none.
    by_record: the hands of each round are given (`redeal`) before it is played, as those of a record are.

    state: [1] STATE, the round in play. Before play, `hands` has the cards.
    events: what happened so far. tributes, returns: cards exchanged before this round.
    start: how the match was set up, besides seed and rules: levels and owner.
    undealt: whether the hands of the round are still to be given.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        rules: Rules | str | dict[str, object] = "ruling",
        levels: tuple[int | str, int | str] = (0, 0),
        owner: int | None = None,
        log: bool = True,
        by_record: bool = False,
    ) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
            raise GameError(f"guandan: a seed is an integer in [0, 2^64); got {seed!r}")
        self.seed = int(seed)
        self.start = {"levels": [RANKS[as_level(level)] for level in levels], "owner": owner}
        self._matches = Matches(
            np.array([seed], np.uint64),
            rules=rules,
            levels=(as_level(levels[0]), as_level(levels[1])),
            owner=NOBODY if owner is None else owner,
        )
        self._views = views(self._matches.states)
        self._log, self._by_record = log, by_record
        self.events: list[Event] = []
        self.tributes: tuple[Transfer, ...] = ()
        self.returns: tuple[Transfer, ...] = ()
        self._phase = PLAY
        self._pending: list[Pending] | None = None
        self._note(self._begun())

    @property
    def rules(self) -> Rules:
        """The rules in force."""
        return self._matches.rules

    @property
    def phase(self) -> str:
        """ "tribute", "back", "play" or "over"."""
        return PHASES[self._phase]

    @property
    def over(self) -> bool:
        """Whether the match is over."""
        return self._phase == OVER

    @property
    def player(self) -> int:
        """Who acts: a seat, of two that may the first; CHANCE while hands are to be given; TERMINAL."""
        return TERMINAL if self.over else CHANCE if self.undealt else self.pending()[0].seat

    @property
    def winner(self) -> int | None:
        """The team that has won the match; None while it lasts, or if it was drawn."""
        winner = int(self._row["winner"])
        return None if winner == NOBODY else winner

    @property
    def round(self) -> int:
        """Number of the current round, from 1."""
        return int(self._row["round"])

    @property
    def level(self) -> int:
        """Rank code of the current round's level."""
        return int(self._matches.level()[0])

    @property
    def levels(self) -> tuple[int, int]:
        """Rank code of each team's level."""
        return _pair(self._row["levels"])

    @property
    def owner(self) -> int | None:
        """The team whose level the round is played at; None in a first round."""
        owner = int(self._row["owner"])
        return None if owner == NOBODY else owner

    @property
    def state(self) -> Rows:
        """The round in play, [1] STATE; read it only."""
        return self._matches.states

    @property
    def hands(self) -> NDArray[np.uint8]:
        """The cards that each seat holds now, [4, 54] counts."""
        return unpack(self.state["hand"][0] if self._phase >= PLAY else self._row["hand"])

    def unplayed(self) -> Rows:
        """Return the round before play, [1] STATE: hands as they are now, nothing played, nobody to act."""
        state, hands = np.zeros(1, STATE), self.hands
        state["hand"], state["left"] = pack(hands), hands.sum(1)
        state["level"], state["levels"], state["owner"] = self.level, self.levels, self._row["owner"]
        state["fails"], state["ace"] = self._row["fails"], self._matches.rules.ace
        state["player"], state["leader"], state["order"], state["cap"] = TERMINAL, NOBODY, NOBODY, 14
        state["trick"]["type"] = state["last"]["type"] = NO_ACTION
        return state

    @property
    def _row(self) -> Row:
        row: Row = self._matches.table[0]
        return row

    def copy(self) -> Match:
        """Return an independent copy; events so far are shared."""
        other = copy.copy(self)
        other._matches = copy.copy(self._matches)
        other._matches.table = self._matches.table.copy()
        other._matches.states = self._matches.states.copy()
        other._views = views(other._matches.states)
        other.events = list(self.events)
        return other

    def redeal(self, hands: ArrayLike, first: int) -> None:
        """Give the round that has just begun other hands, [4, 54] counts, before anybody acts in it.

        first: the seat that leads a first round. Raises GameError where they are no deal.
        """
        self._matches.redeal(np.asarray(hands)[None], first)
        self._pending = None
        while self.events and not isinstance(self.events.pop(), Dealt):
            pass
        self._note(self._begun())
        self.undealt = False

    def pending(self) -> list[Pending]:
        """Return every decision that is due: one seat's in play, up to two in tribute, none at the end."""
        if self._pending is None:
            self._pending = self._due()
        return self._pending

    def _due(self) -> list[Pending]:
        if self._phase == OVER:
            return []
        if self._phase == PLAY:
            return [Pending(int(self._views[1][0, PLAYER]), "play", self._legal())]
        self._open = due = self._matches.card_decisions()
        return [
            Pending(int(seat), self.phase, card_actions(options))
            for seat, options in zip(due.seats, due.options, strict=True)
        ]

    def _legal(self) -> Rows:
        """Return the legal moves, [m] ACTION: `round.legal` for one state, without the cost of a batch."""
        buffer = getattr(_LOCAL, "buffer", None)
        if buffer is None:
            buffer = _LOCAL.buffer = np.empty((RESERVE, 3), np.int64)
            _LOCAL.counts = np.zeros(1, np.int64)
        _, used = legal_states(*self._views, FULL, 0, buffer, _LOCAL.counts)
        # the constructor spares the checks that make `view` slow on a structured dtype
        return np.ndarray(used, ACTION, buffer[:used].copy())

    def apply(self, seat: int, choice: int | Rows | Row | str | Sequence[Any]) -> list[Event]:
        """Return what happens as `seat` acts: the move, and all that follows until someone must act.

        choice: index into the seat's pending actions, one of these actions, or a move in the field's notation
            (see `parse_move`). A tribute card is announced when every payer has chosen: until then the list
            is empty; so for return cards.
        Raises GameError, and changes nothing, if it is not the seat's turn or the move is not legal.
        """
        for due in self.pending():
            if due.seat == seat:
                break
        else:
            raise GameError(self._not_now(seat))
        index = self._index(due, choice)
        self._pending = None
        if due.stage == "play":
            action = due.actions[index]
            play_all(*self._views, np.ndarray((1, 3), np.int64, due.actions, ACTION.itemsize * index))
            events: list[Event] = [Played(seat, action)]
            if self._views[1][0, PLAYER] > 3:
                events += self._ended()
            return self._note(events)
        return self._note(self._give(seat, due, index))

    def _index(self, due: Pending, choice: Any) -> int:
        """Return the index of a choice among the actions due."""
        if isinstance(choice, int | np.integer) and not isinstance(choice, bool):
            if not 0 <= choice < len(due.actions):
                raise GameError(f"guandan: an index lies in 0..{len(due.actions) - 1}; got {choice}")
            return int(choice)
        if isinstance(choice, str) or (isinstance(choice, Sequence) and not isinstance(choice, np.void)):
            choice = parse_move(due.stage, choice, self.level)[0]
        words = np.atleast_1d(np.asarray(choice))
        if words.dtype != ACTION or words.shape != (1,):
            raise GameError(f"guandan: a choice is an index, an ACTION or a move; got {choice!r}")
        found = np.flatnonzero(due.actions == words[0])
        if len(found) == 0:
            raise GameError(
                f"guandan: {action_text(words[0], self.level)} is not legal for seat {due.seat} now "
                f"({due.stage}); {len(due.actions)} moves are: see pending()"
            )
        return int(found[0])

    def _not_now(self, seat: Any) -> str:
        if self.over:
            return "guandan: the match is over, nobody can act; start a new one"
        seats = ", ".join(str(p.seat) for p in self.pending())
        return f"guandan: seat {seat!r} is not to act; waiting for seat {seats} ({self.phase})"

    def _give(self, seat: int, due: Pending, index: int) -> list[Event]:
        """Choose a tribute or return card; return what that completes."""
        open_ = self._open
        one = np.flatnonzero(open_.seats == seat)
        card = np.flatnonzero(open_.options[one[0]])[index]
        before = self._phase
        self._matches.give(open_.where(one), np.array([card]))
        row = self._row
        self._phase = int(row["phase"])
        if self._phase == before:
            return []
        slots = [s for s in range(2) if row["payer"][s] != NOBODY]
        if row["arrived"] == 1:
            slots.reverse()
        giver, taker, name = (
            ("payer", "receiver", "paid") if before == TRIBUTE else ("receiver", "payer", "back")
        )
        transfers = tuple((int(row[giver][s]), int(row[taker][s]), int(row[name][s])) for s in slots)
        if before == TRIBUTE:
            self.tributes = transfers
            return [Tribute(transfers)]
        self.returns = transfers
        return [Returned(transfers), Leads(int(row["leader"]))]

    def _begun(self) -> list[Event]:
        """Return the events of a round's beginning."""
        self.tributes = self.returns = ()
        self.undealt = self._by_record
        row = self._row
        self._phase = int(row["phase"])
        hands = unpack(row["hand"])
        events: list[Event] = [Dealt(self.round, self.level, self.levels, self.owner, hands)]
        if row["anti"]:
            jokers = big_jokers(row["hand"])
            losers = [int(s) for s in row["order"][:1:-1] if jokers[s]]
            events.append(AntiTribute(tuple(losers)))
        if self._phase == PLAY:
            events.append(Leads(int(row["leader"])))
        return events

    def _ended(self) -> list[Event]:
        """Settle the round; return the events of its end and of the next one's beginning."""
        level, before = self.level, self._row.copy()
        states = self._matches.settle().states
        row, state = self._row, states[0]
        counts = unpack(state["hand"])
        dropped, failed = (np.flatnonzero(row[name] > before[name]).tolist() for name in ("drops", "fails"))
        over = RoundOver(
            order=tuple(state["order"].tolist()),
            payoffs=tuple(int(x) for x in _GAME.returns(states)[0]),
            level=level,
            before=_pair(before["levels"]),
            levels=_pair(row["levels"]),
            fails=_pair(row["fails"]),
            drops=_pair(row["drops"]),
            rest=tuple((s, _cards(counts[s])) for s in range(4) if counts[s].any()),
            failed=next(iter(dropped or failed), None),
            dropped=bool(dropped),
            tries=self.rules.ace_limit,
            moves=int(state["plays"]),
        )
        self._phase = int(row["phase"])
        if self.over:
            return [over, MatchOver(self.winner, self.round)]
        return [over, *self._begun()]

    def _note(self, events: list[Event]) -> list[Event]:
        if self._log:
            self.events += events
        return events

    def __repr__(self) -> str:
        """Return the match in a line."""
        levels = "-".join(RANKS[level] for level in self.levels)
        return f"<Match seed={self.seed} round={self.round} levels={levels} phase={self.phase}>"


def _pair(values: Array) -> tuple[int, int]:
    return int(values[0]), int(values[1])


def _cards(counts: Bytes) -> tuple[int, ...]:
    """Return the card indices of counts [54], each as often as it is held."""
    return tuple(np.repeat(np.arange(NUM_CARDS), counts).tolist())
