"""Matches as servers tell them: what each seat hears, in either dialect, and the record of the same match."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import numpy as np

from games.guandan.matches.match import Match
from games.guandan.matches.match_game import MatchPieces, match_header
from games.guandan.rounds.playout import legal
from games.guandan.views.narration import random_match
from gs2.guandan.table.server.room import Room, RoomConfig
from gs2.guandan.table.wire.dialects import Njupt, OpenGuanDan
from tests.gs2.guandan.table.scenario import Ear

DIALECTS = {"openguandan": OpenGuanDan, "official": lambda: OpenGuanDan(official=True), "njupt": Njupt}
Heard = list[tuple[int, dict[str, Any]]]


def record_text(seed: int, rounds: int, names: list[str] | None = None, level: str = "2") -> str:
    """Return the record of a match of random players."""
    rows: list[dict[str, Any]] = []
    pieces = MatchPieces()
    for match, events in random_match(seed, rounds=rounds, level=level, canonical=True):
        rows += [*([] if rows else [match_header(match, names)]), *pieces.of(events)]
    return "".join(json.dumps(row) + "\n" for row in rows)


class SeatEar(Ear):
    """Hears what a seat is sent, of a request's moves none."""

    def __init__(self, seat: int, heard: Heard) -> None:
        super().__init__()
        self.number, self.all = seat, heard

    def send(self, frame: bytes) -> None:
        if frame.startswith(b'{"type":"act"'):
            begin, end = frame.index(b'"actionList":[') + 14, frame.index(b'],"indexRange"')
            frame = frame[:begin] + frame[end:]
        self.all.append((self.number, json.loads(frame)))

    queue = send


def heard_of(seed: int, rounds: int, dialect: str) -> Heard:
    """Return what every seat hears of the match of `record_text` from a room of our server, in order."""
    heard: Heard = []
    room = Room(1, DIALECTS[dialect](), RoomConfig())
    for seat in range(4):
        room.take(SeatEar(seat, heard), f"u{seat}")  # type: ignore[arg-type]
    room.state, session, rng = "playing", room.session, np.random.default_rng(seed)
    with patch("gs2.guandan.table.session.Match", lambda _, **options: Match(seed, **options)):
        session.begin()
    begun: list[int] = []
    while len(begun) <= 4 * rounds and session.pending:
        due = session.match.pending()[0]
        moves = legal(session.match.state, canonical=True)[0] if due.stage == "play" else due.actions
        action = moves[rng.integers(len(moves))]
        session.choose(due.seat, int(np.flatnonzero(due.actions == action)[0]))
        begun = [at for at, (_, message) in enumerate(heard) if message.get("stage") == "beginning"]
    return heard[: [*begun, len(heard)][4 * rounds]]


def labelled(heard: Heard, word: str = "message") -> str:
    """Return a transcript that says of every message who got it."""
    rows = [{"t": 0.1, "seat": seat, "dir": "s2c", word: message} for seat, message in heard]
    return "".join(json.dumps(row) + "\n" for row in rows)


def bare(heard: Heard) -> str:
    """Return a transcript of the messages alone."""
    return "".join(json.dumps(message) + "\n" for _, message in heard)
