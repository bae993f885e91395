"""What `gs2 guandan play-random` and `gs2 guandan replay` show, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from games.guandan.matches.events import Dealt, Event, RoundOver
from games.guandan.matches.match import Match
from games.guandan.matches.match_game import MatchPieces, match_events, match_header, read_match
from games.guandan.rounds.round import legal
from games.guandan.rules import Rules
from games.guandan.views.text import Narrator
from games.record import RoundRecordError
from games.support.files import create

__all__ = ["random_lines", "random_match", "replay_lines"]


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
