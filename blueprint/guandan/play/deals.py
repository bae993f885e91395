"""Deals for training and matches: every level, either side's round or a first one, with tribute or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from blueprint.structured import join
from games.guandan.cards import unpack
from games.guandan.matches.lockstep import CardDecisions, Matches
from games.guandan.rounds.round import deal
from games.guandan.rounds.state import NOBODY, STATE
from games.support.array_types import Array

CardChoice: TypeAlias = Callable[[CardDecisions], NDArray[np.int64]]
"""Gives the card of each decision, [k] card indices."""

ACE = 12
AT_ACE = 0.3
"""Share of teams that are moved up to A in rounds of matches."""
FAILED = (0.6, 0.25, 0.15)
"""How often a team at A has failed 0, 1, 2 times there."""


def card_choice(decisions: CardDecisions) -> NDArray[np.int64]:
    """Return the tribute or return card of each decision by rule, [k] card indices.

    A card of the rank that is held least often, bombs and trips staying whole; the lowest among equals. Of
    several suits of the tribute card the one held twice, or else the first.
    """
    counts = unpack(decisions.hands).astype(np.int64)
    ranks = np.repeat(counts[:, :52].reshape(-1, 13, 4).sum(2), 4, axis=1)
    held = np.concatenate([ranks, counts[:, 52:]], 1)
    low = np.arange(54) // 4
    score = 100 * np.minimum(held, 9) + low - (counts == 2)
    found: NDArray[np.int64] = np.where(decisions.options, score, 10**6).argmin(1)
    return found


def deal_rounds(
    n: int,
    rng: np.random.Generator,
    *,
    tribute: float = 0.0,
    level: int | None = None,
    cards: CardChoice = card_choice,
    matches: float = 0.0,
) -> Array:
    """Return n rounds ready to play, [n] STATE.

    tribute: share of rounds that follow another one whose finishing order is drawn evenly; tribute is paid
        and returned by `cards`, a rule by default. The others have no history; in 1 of 10 the level belongs
        to nobody.
    level: rank code 0..12 of every round's level and of both teams'; None draws each evenly.
    matches: share of rounds that are part of a match, in any of its situations but the first round.
    """
    after = rng.random(n) < tribute
    inside = rng.random(n) < matches if matches else np.zeros(n, bool)
    after &= ~inside
    k, m = int(after.sum()), int(inside.sum())
    plain = n - k - m
    owner = rng.choice(np.array([0, 1, NOBODY], np.uint8), plain, p=[0.45, 0.45, 0.1])
    levels = rng.integers(0, 13, plain) if level is None else level
    parts = [deal(plain, rng, level=levels, owner=owner)]
    if k:
        parts.append(_after_a_round(k, rng, level, cards))
    if m:
        parts.append(_in_matches(m, rng, cards))
    states = np.empty(n, STATE)
    order = np.concatenate([np.flatnonzero(~after & ~inside), np.flatnonzero(after), np.flatnonzero(inside)])
    states[order] = join(parts)
    return states


def exchange_cards(matches: Matches, cards: CardChoice = card_choice) -> None:
    """Make all tribute decisions that are due; afterwards every match is in play, or over."""
    while len(decisions := matches.card_decisions()):
        matches.give(decisions, cards(decisions))


def _after_a_round(n: int, rng: np.random.Generator, level: int | None, cards: CardChoice) -> Array:
    seeds = rng.integers(0, 2**63, n, np.uint64)
    order = rng.permuted(np.tile(np.arange(4, dtype=np.uint8), (n, 1)), axis=1)
    levels = rng.integers(0, 13, (n, 2)) if level is None else (level, level)
    matches = Matches(seeds, levels=levels, order=order)
    exchange_cards(matches, cards)
    matches.states["fails"] = NOBODY  # rounds for themselves: no match goes on after them
    return matches.states


def _in_matches(n: int, rng: np.random.Generator, cards: CardChoice) -> Array:
    """Return rounds of matches after tribute: all levels, A often, with failures there."""
    levels = np.where(rng.random((n, 2)) < AT_ACE, ACE, rng.integers(0, ACE + 1, (n, 2)))
    order = rng.permuted(np.tile(np.arange(4, dtype=np.uint8), (n, 1)), axis=1)
    matches = Matches(rng.integers(0, 2**63, n, np.uint64), levels=levels, order=order)
    failed = rng.choice(3, (n, 2), p=FAILED)
    matches.table["fails"] = np.where(levels == ACE, failed, 0)
    exchange_cards(matches, cards)
    matches.states["fails"] = matches.table["fails"]
    return matches.states
