"""Deals that agree with what a seat knows, drawn uniformly: no inference from how the others played.

What the rules show is heeded. The seat that led the round was dealt the lowest of all cards that were dealt,
so that cards below it, if any, were left out. Where everyone has to play who can, a pass tells more: on a
single card that its seat had no higher one, which the draw builds in, and on other plays that it had nothing
to beat them, by which draws are rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from games.climbing.big2.big2_rules import Big2Rules
from games.climbing.big2.card_masks import ASIDE, lowest_place
from games.climbing.big2.record_keys import KnownRecord
from games.climbing.big2.table_rows import after_line, dealt_rounds
from games.game import GameError
from games.support.array_types import Ints

__all__ = ["draw_deals"]

MOST_TRIES = 1 << 20
"""Deals drawn at most where passes reject some."""


@dataclass(frozen=True, eq=False)
class _Unseen:
    """Cards that a seat does not see, from the highest down, and the room for them.

    cards: [k] their places in the deck. room: [5] free places of each seat and aside. cap: [5] the highest
    place in the deck of a card that each may hold.
    """

    cards: Ints
    room: Ints
    cap: Ints


@dataclass(frozen=True)
class _Case:
    """One place of the lowest card: seats of unseen cards that must lie where they do, and how many deals do.

    given: the seat of each such card, by its place in the deck.
    """

    deals: int
    given: dict[int, int] = field(default_factory=dict)


def draw_deals(
    rules: Big2Rules, seat: int, known: KnownRecord, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return n deals that a seat cannot tell apart, [n, cards of the deck] int64: each card's seat, or ASIDE.

    Raises GameError if no deal agrees with what it knows, or if passes that had to be leave too few of those
    that are drawn.
    """
    deck = rules.deck
    line = known.line(rules.players, rules.stays_out)
    where = np.full(len(deck), -1)
    place = {int(card): at for at, card in enumerate(deck)}
    for who, cards in ((seat, known.hand), *known.plays):
        for card in range(52):
            if cards >> card & 1:
                where[place[card]] = who
    room = np.zeros(ASIDE + 1, np.int64)
    room[: rules.players] = rules.hand
    room[ASIDE] = len(deck) - rules.hand * rules.players
    room -= np.bincount(where[where >= 0], minlength=ASIDE + 1)
    unseen = _Unseen(np.flatnonzero(where < 0)[::-1], room, _caps(rules, line, place))
    cases = _cases(rules, seat, known, where, unseen) if room.min() >= 0 else []
    total = sum(case.deals for case in cases)
    if total == 0:
        raise GameError(
            f"big2: at least one deal must agree with what seat {seat} knows; none does; check its "
            "hand and the line"
        )
    share = np.array([case.deals / total for case in cases])

    def drawn(count: int) -> NDArray[np.int64]:
        out = np.tile(where, (count, 1))
        chosen = rng.choice(len(cases), count, p=share / share.sum())
        for at, case in enumerate(cases):
            rows = np.flatnonzero(chosen == at)
            out[rows] = _filled(out[rows], unseen, case, rng)
        return out

    if not rules.must_play or all(cards for _, cards in line):
        return drawn(n)
    return _agreeing(rules, [cards for _, cards in line], n, drawn)


def _agreeing(
    rules: Big2Rules, line: list[int], n: int, drawn: Callable[[int], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Return n of the deals drawn after which the line is legal, its passes above all."""
    book = rules.book()
    found: list[NDArray[np.int64]] = []
    tried = count = 0
    while count < n and tried < MOST_TRIES:
        deals = drawn(min(max(2 * n, 1024), 1 << 14))
        _, done = after_line(dealt_rounds(deals, book), line, book)
        found.append(deals[done == len(line)])
        tried += len(deals)
        count += len(found[-1])
    if count < n:
        raise GameError(
            f"big2: at least {n} of {tried:,} deals must agree with the passes that had to be; {count} do; "
            "ask for fewer, or play with must_play=false"
        )
    return np.concatenate(found)[:n]


def _caps(rules: Big2Rules, line: list[tuple[int, int]], place: dict[int, int]) -> Ints:
    """Return the highest place in the deck of a card that each seat may hold hidden, [5]."""
    cap = np.full(ASIDE + 1, len(place))
    beat = 0
    for seat, cards in line if rules.must_play else ():
        if cards:
            beat = cards
        elif beat & beat - 1 == 0:
            cap[seat] = min(cap[seat], place[lowest_place(beat)])
    return cap


def _cases(rules: Big2Rules, seat: int, known: KnownRecord, where: Ints, unseen: _Unseen) -> list[_Case]:
    """Return where the lowest card may lie, each with its number of deals, those without any left out."""
    if rules.opening == "first":
        return [case for case in (_Case(_ways(unseen, {})),) if case.deals]
    held = np.flatnonzero(where >= 0)
    lowest = int(held[0]) if len(held) else len(where)
    # every card below the lowest that was seen is unseen
    givens = []
    if len(held) and where[lowest] == known.first:
        givens.append(dict.fromkeys(range(lowest), ASIDE))
    shown = seat == known.first or (rules.opening == "lowest" and len(known.plays) > 0)
    if not shown:
        givens += [{**dict.fromkeys(range(at), ASIDE), at: known.first} for at in range(lowest)]
    cases = [_Case(_ways(unseen, given), given) for given in givens]
    return [case for case in cases if case.deals]


def _left(unseen: _Unseen, given: dict[int, int]) -> tuple[list[int], Ints]:
    """Return the unseen cards that may lie anywhere, from the highest down, and the room for them, [5]."""
    room = unseen.room.copy()
    for who in given.values():
        room[who] -= 1
    return [card for card in unseen.cards.tolist() if card not in given], room


def _ways(unseen: _Unseen, given: dict[int, int]) -> int:
    """Return in how many deals the cards lie where they must and the others where they may.

    From the highest card down the seats that may hold a card only grow in number, so that the free places
    among which it falls are as many however those before it fell.
    """
    cards, room = _left(unseen, given)
    if room.min() < 0 or any(card > unseen.cap[who] for card, who in given.items()):
        return 0
    free = [int(room[unseen.cap >= card].sum()) - before for before, card in enumerate(cards)]
    if min(free, default=1) < 1:
        return 0
    return prod(free) // prod(factorial(int(places)) for places in room)


def _filled(owners: Ints, unseen: _Unseen, case: _Case, rng: np.random.Generator) -> Ints:
    """Return the deals [n, cards] with their unseen cards given out, each deal of the case alike likely."""
    for card, who in case.given.items():
        owners[:, card] = who
    cards, room = _left(unseen, case.given)
    if unseen.cap.min() >= owners.shape[1]:  # nothing is capped: any order of the places will do
        places = np.tile(np.repeat(np.arange(ASIDE + 1), room), (len(owners), 1))
        owners[:, cards] = rng.permuted(places, axis=1)
        return owners
    free = np.tile(room, (len(owners), 1))
    for card in cards:
        passed = np.cumsum(free * (unseen.cap >= card), axis=1)
        who = (passed <= rng.integers(passed[:, -1])[:, None]).sum(1)
        owners[:, card] = who
        free[np.arange(len(owners)), who] -= 1
    return owners
