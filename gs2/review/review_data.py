"""A review as plain data: what a file, a page or another program reads. The schema is version 2.

Seats count from 0, moves are `[type, rank, cards]`, values and losses in the unit of the game: levels or
points. In a match by levels a result counts for what it adds to the chance of winning the match, on the scale
of levels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

FORMAT = "gs2 review"
VERSION = 2
Move = list[Any]
"""`[type, rank, cards]`; where a game has no cards, `["text", "", [words]]`."""
Compared = tuple[int, float, float, float | None, float | None]
"""A move by its number, and what a `JudgedMove` says of it."""
VERDICTS = ("best", "level", "inaccuracy", "mistake", "blunder")
"""From good to bad. "level": as good as the best as far as the search can tell."""
THRESHOLDS = {"inaccuracy": 0.05, "mistake": 0.25, "blunder": 0.75, "sure": 1.5}
"""Levels from which a loss is called so, and standard errors that it must come to before it is called
anything but level."""


class ReviewError(ValueError):
    """What cannot be reviewed: the rule, what was given, the next step."""


def verdict_of(loss: float, error: float, *, best: bool, limits: dict[str, float] = THRESHOLDS) -> str:
    """Return the verdict on a move.

    loss: behind the best move; error: its standard error. best: whether it is that move itself.
    A loss of less than `sure` errors is called level, whatever it is.
    """
    if best:
        return "best"
    if loss < limits["inaccuracy"] or loss < limits["sure"] * error:
        return "level"
    return next((name for name in ("blunder", "mistake") if loss >= limits[name]), "inaccuracy")


@dataclass(frozen=True, eq=False)
class RecordedGame:
    """What a file holds: the rounds of one game or of several.

    kind: "record", or the dialect of a transcript, "openguandan" or "njupt". names: of the players.
    rounds: as the game's own judge reads them. complete: whether the last game was played to its end.
    notes: what was left out.
    """

    kind: str
    names: tuple[str, ...]
    rounds: tuple[Any, ...]
    complete: bool
    notes: tuple[str, ...] = ()


def printable(name: Any) -> str:
    """Return a stranger's name as it may be shown: on one line, no control characters, not at any length."""
    return "".join(letter for letter in str(name)[:200] if letter.isprintable()).strip()[:80]


def players_of(agents: Iterable[Sequence[str]]) -> tuple[list[str], list[tuple[int, ...]]]:
    """Return the names of the players of several rounds, and of each round the player on every seat.

    agents: who sits where, of each round. Whoever has a name keeps it in other seats.
    """
    names: list[str] = []
    sitting = []
    for seated in agents:
        seats: list[int] = []
        for agent in seated:
            free = [k for k, one in enumerate(names) if one == agent and k not in seats]
            if not free:
                names.append(agent)
            seats.append(free[0] if free else len(names) - 1)
        sitting.append(tuple(seats))
    return names, sitting


def is_json(line: str) -> bool:
    """Return whether a line is JSON; one that was cut off is not."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


@dataclass(frozen=True)
class JudgedMove:
    """A move that was looked at.

    gain: over the move played, and error, its standard error. value: what it is worth to the seat's side,
    None where it was not played on. network: its score by the blueprint, behind the blueprint's best.
    """

    move: Move
    gain: float
    error: float
    value: float | None
    network: float | None


@dataclass(frozen=True)
class LineMove:
    """A move of the line that shows why another one is better."""

    seat: int
    move: Move


@dataclass(frozen=True, kw_only=True)
class ReviewedDecision:
    """A decision that was judged.

    play: its number among the round's plays, from 0. verdict: "best", "level", "inaccuracy", "mistake",
    "blunder", or "unknown" where no deal agreed with what the seat saw. loss: behind the best move, and
    error. behind_network: behind the blueprint's own move, below 0 where the move is better.
    as_it_lay: what it cost beside the network's own move in the very deal, played on by the network,
    luck included; None where a hand is not known.
    best, network: those moves. choices: how many there were. stage: "endgame", "search",
    "clear" (nothing came close) or "values" (the blueprint's values decide: search left the move out).
    deals: in how many the moves were compared; better, worse: in how many of them the best did better and
    worse than the one played. moves: those compared, best first. line: how the network goes on after the
    best move; line_deal: "actual", the cards as they lay, or "likely", some that the seat had to reckon with.
    """

    play: int
    seat: int
    verdict: str
    loss: float
    error: float
    behind_network: float
    as_it_lay: float | None = None
    best: Move
    network: Move
    choices: int
    stage: str
    deals: int = 0
    better: int = 0
    worse: int = 0
    moves: tuple[JudgedMove, ...]
    line: tuple[LineMove, ...] = ()
    line_deal: str | None = None

    @classmethod
    def of(
        cls,
        moves: Sequence[Compared],
        words: Callable[[int], Move],
        *,
        played: int,
        network: int,
        limits: dict[str, float] = THRESHOLDS,
        unknown: bool = False,
        **told: Any,
    ) -> ReviewedDecision:
        """Return the decision that a comparison of moves, the best first, leads to.

        words: returns a move by its number. played, network: their numbers. limits: of verdicts. unknown:
        whether nothing is judged. told: the other fields.
        """
        gains = {move: gain for move, gain, *_ in moves}
        best, loss, error, *_ = moves[0]
        verdict = verdict_of(loss, error, best=best == played, limits=limits)
        return cls(
            verdict="unknown" if unknown else verdict,
            loss=loss,
            error=error,
            behind_network=gains.get(network, 0.0),
            best=words(best),
            network=words(network),
            moves=tuple(
                JudgedMove(words(move), gain, error, value, behind)
                for move, gain, error, value, behind in moves
            ),
            **told,
        )


@dataclass(frozen=True)
class ReviewedPlay:
    """A move of the round. lead: whether it leads a trick. decision: its number among those judged."""

    seat: int
    move: Move
    lead: bool
    decision: int | None = None


@dataclass(frozen=True)
class ReviewedCard:
    """A tribute or return card that was judged by the network's value of the hand that it leaves.

    back: whether it was returned. best: the card that leaves the hand worth most. loss: levels that it is
    worth more than the one given; there is no search behind it. choices: how many might have been given.
    """

    seat: int
    back: bool
    card: str
    best: str
    loss: float
    choices: int


@dataclass(frozen=True, kw_only=True)
class ReviewedRound:
    """One round, as it was recorded, and what was judged of it.

    game, number: of the game, and of the round in its game, from 1. level: played at; levels: of the teams;
    owner: whose level it is; None where a game has no levels. first: who leads. hands: at the first lead,
    None where one is not known.
    tributes, returns: [from, to, card]; anti: seats that refused tribute. cards: those judged, where the
    giver's hand is known and there was a choice.
    curve: [plays + 1], value to team 0 before every move and after the last, empty where there are not two
    teams; curve_of: None as the cards lie, else the seat that expects it. result: order, payoffs, levels and
    cards left, None for a round cut off. players, teams: of each seat.
    """

    game: int = 1
    number: int
    level: str | None = None
    levels: tuple[str, str] | None = None
    owner: int | None = None
    first: int
    hands: tuple[list[str] | None, ...]
    tributes: tuple[tuple[int, int, str], ...] = ()
    returns: tuple[tuple[int, int, str], ...] = ()
    anti: tuple[int, ...] = ()
    plays: tuple[ReviewedPlay, ...]
    curve: tuple[float, ...] = ()
    curve_of: int | None = None
    decisions: tuple[ReviewedDecision, ...] = ()
    result: dict[str, Any] | None
    cards: tuple[ReviewedCard, ...] = ()
    notes: tuple[str, ...] = ()
    players: tuple[int, ...] = (0, 1, 2, 3)
    teams: tuple[int, ...] = (0, 1, 0, 1)


@dataclass(frozen=True)
class PlayerSummary:
    """One player's decisions; `seat` is its number among the players.

    decisions: those with a choice that were judged. verdicts: how many of each. accuracy: share that was best
    or level. lost: behind the search's best moves, of all that is worse than level, and error, its standard
    error; lost_a_round: the same for each round judged. behind_network: behind the blueprint's own moves, all
    told. as_it_lay: the sum of what they cost in the very deals, None where hands
    are not known. cards: levels lost by tribute and return cards, which `lost` leaves out.
    costliest: (round's place in the review, play) of the dearest, at most ten.
    """

    seat: int
    name: str
    decisions: int
    verdicts: dict[str, int]
    accuracy: float | None
    lost: float
    error: float
    lost_a_round: float
    behind_network: float
    as_it_lay: float | None
    costliest: tuple[tuple[int, int], ...]
    cards: float = 0.0


@dataclass(frozen=True)
class Review:
    """A whole review.

    name: of the file. kind, complete, names, notes: as of the `RecordedGame`.
    preset, settings: of the search; thresholds: what the verdicts mean.
    network: name and fingerprint of what judged. unit: "levels" or "points".
    """

    name: str
    kind: str
    complete: bool
    names: tuple[str, ...]
    preset: str
    settings: dict[str, Any]
    thresholds: dict[str, float]
    network: dict[str, str]
    rounds: tuple[ReviewedRound, ...]
    players: tuple[PlayerSummary, ...]
    notes: tuple[str, ...] = field(default=())
    unit: str = "levels"

    def to_json(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, numbers and strings."""
        plain: dict[str, Any] = _plain(asdict(self))
        return {"format": FORMAT, "version": VERSION, **plain}


def _plain(value: Any) -> Any:
    """Return a value as JSON gives it back: tuples as lists, and numbers of four decimals."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return round(value, 4) + 0.0 if isinstance(value, float) else value
