"""Whether what a position says of a round agrees: levels, cards known, finishing order, whose turn it is.

Each check names the field that cannot be so. What the engine writes of any state passes all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import GameError
from games.guandan.cards import CARD_NAMES, RANKS, as_level
from games.guandan.rounds.state import NOBODY
from games.support.array_types import Bytes, Row

__all__ = ["check_cards", "check_level", "finishing_order", "passes_made", "position_error", "read_level"]

_LEVELS = RANKS[: RANKS.index("A") + 1]


def position_error(text: str) -> GameError:
    """Return the error for a position, about the field that `text` begins with."""
    return GameError(f"guandan: position: {text}")


def read_level(name: str, value: Any) -> int:
    """Return the rank code of a level as a position gives it: "2".."A", or one of the numbers 2..10.

    Raises GameError, naming the field, at anything else; rank codes are for Python alone.
    """
    number = isinstance(value, int) and not isinstance(value, bool)
    if isinstance(value, str) or number:
        try:
            return as_level(str(value))
        except GameError:
            pass
    raise position_error(
        f"{name}: a level is one of {', '.join(_LEVELS)}, as a text or for 2..10 as a number; got {value!r}"
    )


def check_level(row: Row) -> None:
    """Raise GameError unless the round of a state is played at its owner's level, or at one of the teams'."""
    level, levels, owner = RANKS[row["level"]], [RANKS[code] for code in row["levels"]], row["owner"]
    due = set(levels) if owner == NOBODY else {levels[owner]}
    if level not in due:
        whose = (
            "one of the levels of the teams" if owner == NOBODY else f"the level of its owner, team {owner}"
        )
        raise position_error(
            f"level must be {whose}, {' or '.join(sorted(due))}, where levels are {levels}; got {level!r}"
        )


def check_cards(hands: Bytes, played: Bytes, known: Bytes, left: Bytes, shown: NDArray[np.bool_]) -> None:
    """Raise GameError unless cards held, played and known to be held fit two decks and the numbers left.

    hands, played, known: [4, 54] counts. left: [4]. shown: [4], whether a seat's hand is given.
    """
    if np.any(hands.sum(0) + played.sum(0) > 2):
        raise position_error("two decks hold two of each card; hand and played hold one a third time")
    for seat in np.flatnonzero(shown):
        if left[seat] != hands[seat].sum():
            raise position_error(
                f"seat {seat} holds {hands[seat].sum()} cards, but left says {left[seat]}; make them agree"
            )
        if (wrong := known[seat] > hands[seat] + played[seat]).any():
            raise position_error(
                f"known gives seat {seat} more {CARD_NAMES[wrong.argmax()]} than it holds or has played; "
                "leave out what it never had"
            )
    # a known card counts as played once its owner has played one like it
    kept = np.maximum(known.astype(np.int64) - played, 0)
    kept[shown] = 0
    for seat in np.flatnonzero(kept.sum(1) > left):
        raise position_error(
            f"known says that seat {seat} still holds {kept[seat].sum()} cards, but left says {left[seat]}; "
            "leave out what it has played, or list it under played"
        )
    unseen = 2 - (hands + played).sum(0, dtype=np.int64)
    if (wrong := kept.sum(0) > unseen).any():
        raise position_error(
            "two decks hold two of each card; known, hand and played hold "
            f"{CARD_NAMES[wrong.argmax()]} a third time"
        )
    hidden = int(left[~shown].sum())
    if hidden > unseen.sum():
        raise position_error(
            f"left says that hidden hands have {hidden} cards, but only {unseen.sum()} of the 108 are "
            "neither in hand nor played"
        )


def finishing_order(given: Any, left: Bytes) -> list[int]:
    """Return the seats in the order in which they finished; at a round's end all four, the others last.

    given: what the position says; None if nothing, which tells enough while one team alone has seats out.
    Raises GameError if these are not the seats without cards, or cannot have finished so.
    """
    out = [seat for seat in range(4) if left[seat] == 0]
    staying = [seat for seat in range(4) if left[seat]]
    over = len({seat & 1 for seat in staying}) < 2
    if not staying:
        raise position_error(
            "left says that nobody holds a card; a round ends once both seats of a team are out"
        )
    if given is None:
        if len({seat & 1 for seat in out}) > 1:
            raise position_error(
                f"order must tell who finished first where seats {_listed(out)} are out; give it, "
                f"such as {out}"
            )
        given = out
    told = given if isinstance(given, list) else [given]
    finished, rest = told[: len(out)], told[len(out) :]
    whole = over and len(told) == 4 and set(rest) == set(staying)
    if set(finished) != set(out) or (rest and not whole):
        more = ", and may add the others" if over else ""
        raise position_error(
            f"order must list the seats that are out of cards by left{more}: {_listed(out)}; got {given!r}"
        )
    if len(out) == 3 and finished[0] & 1 == finished[1] & 1:
        raise position_error(
            f"order: seats {finished[0]} and {finished[1]} are a team, so the round ended before seat "
            f"{finished[2]} was out; got {given!r}"
        )
    return finished + (rest or staying) if over else finished


def passes_made(given: int | None, row: Row) -> int:
    """Return how many seats have passed since the move to beat was played, from who played it to who acts.

    given: what the position says, None if nothing. row: the state, whose left, leader and player are set.
    Raises GameError if it is another number, or if the player would have to beat its own move.
    """
    leader, player = int(row["leader"]), int(row["player"])
    if leader == NOBODY or player < 0:
        if leader == NOBODY and given:
            raise position_error(f"passes must be 0 where there is nothing to beat; got {given}")
        return given or 0
    if leader == player:
        raise position_error(
            f"leader must be another seat than player, who would have to beat its own move; got {leader} for "
            "both (leader and beat are null where the player leads)"
        )
    others = [seat % 4 for seat in range(leader + 1, leader + 4) if row["left"][seat % 4]]
    passes = others.index(player)
    if given not in (None, passes):
        raise position_error(
            f"passes must be {passes} where seat {player} is to act on a move of seat {leader}: so many "
            f"seats with cards sit between them; got {given}"
        )
    return passes


def _listed(seats: list[int]) -> str:
    return " and ".join(str(seat) for seat in seats) or "none"
