"""The rows of listed moves, and that the lists fit."""

from __future__ import annotations

import numpy as np

from games.guandan.cards import PASS, TYPE_NAMES
from games.guandan.matches.match import Match
from games.guandan.rounds.round import deal, legal
from games.guandan.views.features import action_features
from games.guandan.views.listed_moves import CANONICAL_MOVES, MOVE_SLICES, move_features
from tests.patience import amount


def test_a_canonical_list_always_fits() -> None:
    """The bound on canonical moves is a sum over effects; no random hand comes near it."""
    longest = max(
        legal(deal(amount(2000, 400), np.random.default_rng(1), level=level), canonical=True).counts.max()
        for level in (0, 8)
    )
    assert 100 < longest < CANONICAL_MOVES


def test_the_features_of_moves_tell_every_two_of_them_apart() -> None:
    """Cards, type and rank are the move: what no feature tells, no agent can learn."""
    match, rng = Match(5), np.random.default_rng(5)
    kinds: set[str] = set()
    for _ in range(amount(300, 80)):
        due = match.pending()[0]
        moves, rows = due.actions, move_features(due.actions)
        assert len(np.unique(rows, axis=0)) == len(moves) == len(rows)
        assert np.array_equal(rows[:, MOVE_SLICES["cards"]], action_features(moves))
        assert np.array_equal(rows[:, MOVE_SLICES["type"]].argmax(1), moves["type"])
        assert np.array_equal(rows[:, MOVE_SLICES["rank"]].argmax(1), moves["rank"])
        cards = rows[:, MOVE_SLICES["size"]][:, 0]
        assert np.array_equal(cards, rows[:, MOVE_SLICES["cards"]].sum(1))
        assert np.array_equal(cards == 0, moves["type"] == PASS)
        kinds |= {TYPE_NAMES[kind] for kind in moves["type"]}
        match.apply(due.seat, int(rng.integers(len(moves))))
    assert len(kinds) >= 8
