"""Matches as servers tell them: what each seat hears, in either dialect, and the record of the same match."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from games.guandan.cards import CARD_NAMES, RANKS
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
    Tribute,
)
from games.guandan.matches.match_game import MatchPieces, match_header
from games.guandan.notation import action_list
from games.guandan.views.narration import random_match
from gs2.guandan.table.session import RoundView
from gs2.guandan.table.wire.dialects import Dialect, Njupt, OpenGuanDan, Trick
from gs2.guandan.table.wire.encode import PASS_JSON

DIALECTS: dict[str, Dialect] = {
    "openguandan": OpenGuanDan(),
    "official": OpenGuanDan(official=True),
    "njupt": Njupt(),
}


def played_events(seed: int, rounds: int, level: str = "2") -> list[Event]:
    """Return what happens in a match of random players."""
    return [
        event
        for _, events in random_match(seed, rounds=rounds, level=level, canonical=True)
        for event in events
    ]


def record_text(seed: int, rounds: int, names: list[str] | None = None, level: str = "2") -> str:
    """Return the record of such a match."""
    rows: list[dict[str, Any]] = []
    pieces = MatchPieces()
    for match, events in random_match(seed, rounds=rounds, level=level, canonical=True):
        rows += [*([] if rows else [match_header(match, names)]), *pieces.of(events)]
    return "".join(json.dumps(row) + "\n" for row in rows)


class Told:
    """What every seat hears of a match, in order: (seat, message)."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.heard: list[tuple[int, dict[str, Any]]] = []
        self.trick = Trick()
        self.view = RoundView(0, (0, 0), [27] * 4)
        self.passes = 0

    def everybody(self, message: bytes) -> None:
        self.heard += [(seat, json.loads(message)) for seat in range(4)]

    def take(self, event: Event) -> None:
        dialect = self.dialect
        match event:
            case Dealt():
                self.view = RoundView(event.level, event.levels, [27] * 4)
                self.trick = Trick()
                for seat in range(4):
                    hand = json.dumps(_names(event.hands[seat])).encode()
                    self.heard.append((seat, json.loads(dialect.beginning(seat, hand, self.view))))
            case AntiTribute():
                self.everybody(dialect.anti_tribute(event.seats))
            case Tribute() | Returned():
                stage = "tribute" if isinstance(event, Tribute) else "back"
                given = [(giver, taker, CARD_NAMES[card]) for giver, taker, card in event.transfers]
                self.everybody(dialect.exchanged(stage, given))
            case Leads():
                self._ask(event.seat)
            case Played():
                move = json.dumps(action_list(event.action, self.view.level)).encode()
                if action_list(event.action, self.view.level)[0] == "PASS":
                    move = PASS_JSON
                self.everybody(dialect.played(self.trick, event.seat, move))
                self.trick.play(event.seat, move)
            case RoundOver():
                left = [(seat, [CARD_NAMES[card] for card in cards]) for seat, cards in event.rest]
                self.everybody(dialect.episode_over(event.order, self.view.level, left))
            case MatchOver():
                self.everybody(b'{"type":"notify","stage":"gameOver","curTimes":1,"settingTimes":1}')

    def _ask(self, seat: int) -> None:
        """Say what a request says of the levels; OpenGuanDan has them nowhere else."""
        own, other = self.view.levels[seat & 1], self.view.levels[1 - (seat & 1)]
        asked = {"type": "act", "stage": "play", "handCards": [], "actionList": [], "indexRange": -1}
        ranks = {"selfRank": RANKS[own], "oppoRank": RANKS[other], "curRank": RANKS[self.view.level]}
        self.heard.append((seat, {**asked, **ranks}))


def _names(counts: np.ndarray) -> list[str]:
    return [CARD_NAMES[card] for card in np.repeat(np.arange(54), counts)]


def heard_of(events: list[Event], dialect: str) -> list[tuple[int, dict[str, Any]]]:
    """Return what every seat hears of these events."""
    told = Told(DIALECTS[dialect])
    for event in events:
        told.take(event)
    return told.heard


def labelled(heard: list[tuple[int, dict[str, Any]]], word: str = "message") -> str:
    """Return a transcript that says of every message who got it."""
    rows = [{"t": 0.1, "seat": seat, "dir": "s2c", word: message} for seat, message in heard]
    return "".join(json.dumps(row) + "\n" for row in rows)


def bare(heard: list[tuple[int, dict[str, Any]]]) -> str:
    """Return a transcript of the messages alone."""
    return "".join(json.dumps(message) + "\n" for _, message in heard)


__all__ = ["DIALECTS", "Match", "bare", "heard_of", "labelled", "played_events", "record_text"]
