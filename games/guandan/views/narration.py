"""A match told line by line: what `gs2 guandan play-random` and `gs2 guandan replay` show."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from games.guandan.cards import CARD_NAMES, FOUR_KINGS, PASS, RANKS, TYPE_NAMES, hand_text
from games.guandan.matches.match import (
    AntiTribute,
    Dealt,
    Event,
    Leads,
    Match,
    MatchOver,
    Played,
    Returned,
    RoundOver,
    Transfer,
    Tribute,
)
from games.guandan.matches.match_game import MatchPieces, match_events, match_header, read_match
from games.guandan.notation import action_list
from games.guandan.rounds.playout import legal
from games.guandan.rules import Rules
from games.record import RoundRecordError
from games.support.array_types import Row
from games.support.files import create

_TYPE_WIDTH = max(map(len, TYPE_NAMES)) + 2


def action_line(action: Row, level: int) -> str:
    """Return an action in words: `Pair 6  S6 D6`."""
    if action["type"] == PASS:
        return "pass"
    name, rank, cards = action_list(action, level)
    head = name if action["type"] == FOUR_KINGS else f"{name} {rank}"
    return f"{head:<{_TYPE_WIDTH}}  {' '.join(cards)}"


class Narrator:
    """Turns events into lines of text; remembers what the next line needs.

    names: of the four seats. hands: show all hands when they are dealt.
    """

    def __init__(self, *, names: Iterable[str] | None = None, hands: bool = True) -> None:
        self._names = [f"seat {seat}" for seat in range(4)] if names is None else list(names)
        self._width = max(map(len, self._names))
        self._hands = hands
        self._level = 0
        self._left = np.zeros(4, np.int64)
        self._passed: list[int] = []
        self._trick = 0
        self._leader = -1

    def lines(self, events: Iterable[Event]) -> Iterator[str]:
        """Yield the lines that tell these events."""
        for event in events:
            yield from self._tell(event)

    def _tell(self, event: Event) -> Iterator[str]:
        match event:
            case Dealt():
                yield from self._dealt(event)
            case AntiTribute():
                holders = " and ".join(self._names[seat] for seat in event.seats)
                yield f"no tribute: {holders} hold{'s' * (len(event.seats) == 1)} both big jokers"
            case Tribute():
                yield f"tribute: {self._transfers(event.transfers)}"
            case Returned():
                yield f"return: {self._transfers(event.transfers)}"
            case Leads():
                yield f"{self._names[event.seat]} leads"
            case Played():
                yield from self._played(event)
            case RoundOver():
                yield from self._flush()
                yield from self._round_over(event)
            case MatchOver():
                won = "nobody wins" if event.winner is None else f"{self._team(event.winner)} win"
                yield f"match over after {event.rounds} round{'s' * (event.rounds != 1)}: {won}"

    def _dealt(self, event: Dealt) -> Iterator[str]:
        self._level, self._left[:], self._trick, self._passed = event.level, 27, 0, []
        self._leader = -1
        yield ""
        yield f"round {event.round}, level {RANKS[event.level]} ({self._levels(event.levels)})"
        if self._hands:
            for name, hand in zip(self._names, event.hands, strict=True):
                yield f"  {name:<{self._width}}  {hand_text(hand, event.level)}"

    def _played(self, event: Played) -> Iterator[str]:
        if event.action["type"] == PASS:
            self._passed.append(event.seat)
            return
        # everyone else who holds cards has passed since: this is a lead
        others = sum(s != self._leader and self._left[s] > 0 for s in range(4))
        leads = self._leader < 0 or len(self._passed) == others
        yield from self._flush()
        if leads:
            self._trick += 1
            yield f"trick {self._trick}"
        self._leader = event.seat
        self._left[event.seat] -= event.action["size"]
        left = self._left[event.seat]
        note = f"{left} left" if left else "out"
        words = action_line(event.action, self._level)
        yield f"  {self._names[event.seat]:<{self._width}}  {words:<48}  {note}".rstrip()

    def _flush(self) -> Iterator[str]:
        """Yield one line for all passes since the last action."""
        if self._passed:
            yield f"  {', '.join(self._names[seat] for seat in self._passed)}: pass"
        self._passed = []

    def _round_over(self, event: RoundOver) -> Iterator[str]:
        order = ", ".join(self._names[seat] for seat in event.order)
        gain = abs(event.payoffs[0])
        yield f"round over: {order}; {self._team(event.order[0] % 2)} win {gain}"
        for seat, cards in event.rest:
            yield f"  {self._names[seat]:<{self._width}}  held {' '.join(CARD_NAMES[c] for c in cards)}"
        yield f"  {self._levels(event.levels)}"

    def _levels(self, levels: tuple[int, int]) -> str:
        return ", ".join(f"{self._team(team)} at {RANKS[level]}" for team, level in enumerate(levels))

    def _transfers(self, transfers: tuple[Transfer, ...]) -> str:
        return ", ".join(
            f"{self._names[giver]} gives {self._names[taker]} {CARD_NAMES[card]}"
            for giver, taker, card in transfers
        )

    def _team(self, team: int) -> str:
        return f"{self._names[team]} & {self._names[team + 2]}"


def random_match(
    seed: int,
    *,
    rounds: int | None = 1,
    level: int | str = 0,
    rules: Rules | str = "ruling",
    canonical: bool = False,
) -> Iterator[tuple[Match, list[Event]]]:
    """Yield a match of random players and the events of each of their decisions, the deal's first.

    rounds: rounds to play; None for a whole match. level: of both teams at the start.
    canonical: choose among canonical moves only. The same seed gives the same match.
    Raises GameError at a bad seed, level or rules.
    """
    match = Match(seed, rules=rules, levels=(level, level))
    rng = np.random.default_rng(seed)
    yield match, list(match.events)
    played = 0
    while not match.over and (rounds is None or played < rounds):
        due = match.pending()[0]
        moves = legal(match.state, canonical=True)[0] if canonical and due.stage == "play" else due.actions
        events = match.apply(due.seat, moves[rng.integers(len(moves))])
        played += sum(isinstance(event, RoundOver) for event in events)
        if rounds is not None and played >= rounds:
            # the next deal is not part of what was asked for
            end = next(i for i, event in enumerate(events) if isinstance(event, RoundOver))
            events = [event for event in events[: end + 2] if not isinstance(event, Dealt)]
        yield match, events


def random_lines(
    seed: int,
    *,
    rounds: int | None = 1,
    level: int | str = 0,
    rules: Rules | str = "ruling",
    canonical: bool = False,
    record: str | Path | None = None,
) -> Iterator[str]:
    """Yield the lines of a match of random players (see `random_match`), and write its record if asked.

    record: a file that does not exist yet; FileProblem is raised if it does or cannot be made.
    """
    narrator, pieces = Narrator(), MatchPieces()
    file = None if record is None else create(record)
    try:
        for match, events in random_match(seed, rounds=rounds, level=level, rules=rules, canonical=canonical):
            if file is not None:
                head = [] if file.tell() else [match_header(match)]
                file.writelines(json.dumps(row) + "\n" for row in (*head, *pieces.of(events)))
                file.flush()
            yield from narrator.lines(events)
    finally:
        if file is not None:
            file.close()


def replay_lines(
    path: str | Path, *, rounds: range | None = None, hands: bool = True, repair: bool = False
) -> Iterator[str]:
    """Yield the lines of a recorded match, each event checked against the rules.

    rounds: numbers of the rounds to show (all are checked). hands: show the hands dealt. repair: see
    `read_match`.
    Raises RoundRecordError where the record is damaged or departs from the rules, and for rounds behind its
    end.
    """
    record = read_match(path, repair=repair)
    narrator = Narrator(names=record.agents, hands=hands)
    number = 0
    for _, event in match_events(record, str(path)):
        if isinstance(event, Dealt):
            number = event.round
        lines = list(narrator.lines([event]))
        if rounds is None or number in rounds:
            yield from lines
    if rounds and rounds[0] > number:
        raise RoundRecordError(f"{path}: a round must be in 1..{number}; got {rounds[0]}; choose another")
    if not record.complete:
        yield f"the record ends here, in round {number}"
