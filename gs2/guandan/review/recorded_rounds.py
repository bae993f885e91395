"""Rounds as they were played, whatever recorded them: the start, every move, and how they ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import ACTION, CARD_NAMES, RANKS, hand_text, unpack
from games.guandan.matches.match import (
    AntiTribute,
    Dealt,
    Leads,
    Played,
    Returned,
    RoundOver,
    Tribute,
)
from games.guandan.matches.match_game import match_events
from games.guandan.notation import action_list
from games.guandan.rounds.round import advance
from games.guandan.rounds.state import NOBODY, STATE
from games.record import RoundRecord
from games.support.array_types import Array, Row
from gs2.guandan.table.seat import Transfer
from gs2.review.review_data import RecordedGame, ReviewedPlay, ReviewedRound, printable


def round_end(
    order: Sequence[int],
    payoffs: Sequence[int],
    levels: tuple[int, int] | None,
    left: Iterable[tuple[int, Sequence[str]]],
) -> dict[str, Any]:
    """Return how a round ended, as a review has the result.

    order: seats as they finished, the unfinished last. payoffs: of each seat, in levels. levels: rank codes
    of the teams' levels after it, None where nobody tells. left: (seat, card names) of who still held any.
    """
    return {
        "order": list(order),
        "winner": order[0] & 1,
        "gain": abs(payoffs[0]),
        "payoffs": list(payoffs),
        "levels": None if levels is None else [RANKS[level] for level in levels],
        "left": [[seat, list(cards)] for seat, cards in left],
    }


@dataclass(frozen=True, eq=False)
class RecordedRound:
    """One round.

    game, number: of the game in its file, and of the round in its game, from 1.
    start: [1] STATE at the first lead; hands that are not known hold what was seen of them and other cards to
        make up the number. known: whether each seat's hand is known.
    seats: [n] uint8 and actions: [n] ACTION, the moves made. tributes, returns: cards exchanged before.
    anti: seats that refused tribute. end: as `round_end`, None for a round that was cut off. notes: what
    could not be followed.
    """

    game: int
    number: int
    start: Array
    known: tuple[bool, ...]
    seats: NDArray[np.uint8]
    actions: Array
    tributes: tuple[Transfer, ...] = ()
    returns: tuple[Transfer, ...] = ()
    anti: tuple[int, ...] = ()
    end: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()

    def states(self) -> Array:
        """Return the round before every move and after the last, [n + 1] STATE."""
        out = np.empty(len(self.actions) + 1, STATE)
        out[0] = self.start[0]
        for k in range(len(self.actions)):
            out[k + 1] = out[k]
            advance(out[k + 1 : k + 2], self.actions[k : k + 1])
        return out

    @property
    def told(self) -> ReviewedRound:
        """The round as a review shows it, nothing judged; hands in the level-aware order."""
        row, level = self.start[0], int(self.start["level"][0])
        leads = self.states()["leader"] == NOBODY
        hands = zip(unpack(row["hand"]), self.known, strict=True)
        moves = zip(self.seats, self.actions, leads[: len(self.actions)], strict=True)
        return ReviewedRound(
            game=self.game,
            number=self.number,
            level=RANKS[level],
            levels=(RANKS[int(row["levels"][0])], RANKS[int(row["levels"][1])]),
            owner=None if row["owner"] == NOBODY else int(row["owner"]),
            first=int(row["first"]),
            hands=tuple(hand_text(hand, level).split() if known else None for hand, known in hands),
            tributes=self.tributes,
            returns=self.returns,
            anti=self.anti,
            plays=tuple(
                ReviewedPlay(int(s), action_list(move, level), bool(lead)) for s, move, lead in moves
            ),
            result=self.end,
            notes=self.notes,
        )


def _given(transfers: Sequence[tuple[int, int, int]]) -> tuple[Transfer, ...]:
    return tuple((giver, taker, CARD_NAMES[card]) for giver, taker, card in transfers)


def record_rounds(records: Sequence[RoundRecord], name: str = "record") -> RecordedGame:
    """Return the rounds of records, whole matches or single rounds, every word checked against the rules.

    name: of the file, for messages. Raises RoundRecordError where a record departs from the rules.
    """
    rounds: list[RecordedRound] = []
    for number, record in enumerate(records, 1):
        rounds += _match_rounds(record, number, name)
    # a record may hold any text as a name
    names = tuple(printable(name) or f"seat {seat}" for seat, name in enumerate(records[0].agents))
    return RecordedGame("record", names, tuple(rounds), records[-1].complete)


def _match_rounds(record: RoundRecord, game: int, name: str) -> list[RecordedRound]:
    """Return the rounds of one match; one that was cut off before its first lead is left out."""
    told: list[dict[str, Any]] = []
    plays: list[list[tuple[int, Row]]] = []
    for match, event in match_events(record, name):
        match event:
            case Dealt():
                told.append({"number": event.round})
                plays.append([])
            case Leads():
                told[-1]["start"] = match.state.copy()
            case Played():
                plays[-1].append((event.seat, event.action))
            case Tribute():
                told[-1]["tributes"] = _given(event.transfers)
            case Returned():
                told[-1]["returns"] = _given(event.transfers)
            case AntiTribute():
                told[-1]["anti"] = event.seats
            case RoundOver():
                left = [(seat, [CARD_NAMES[card] for card in cards]) for seat, cards in event.rest]
                told[-1]["end"] = round_end(event.order, event.payoffs, event.levels, left)
    return [
        RecordedRound(
            game,
            known=(True,) * 4,
            seats=np.array([seat for seat, _ in made], np.uint8),
            actions=np.array([action for _, action in made], ACTION),
            **words,
        )
        for words, made in zip(told, plays, strict=True)
        if "start" in words
    ]
