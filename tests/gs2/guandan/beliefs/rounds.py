"""Rounds played at random, with their moves, for the tests of this folder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.selfplay import PastMoves
from blueprint.protocol import PlayedMoves
from games.guandan.rounds.round import advance
from tests.gs2.guandan.blueprints import random_choice


@dataclass(frozen=True, eq=False)
class Played:
    """A round before its first move, somewhere later, and the moves between. start, state: [1] STATE."""

    start: np.ndarray
    state: np.ndarray
    moves: PlayedMoves


def some_rounds(n: int, rng: np.random.Generator, most: int = 80) -> list[Played]:
    """Return n unfinished rounds, up to `most` moves played, half of them after tribute."""
    found: list[Played] = []
    while len(found) < n:
        state = deal_rounds(1, rng, tribute=0.5)
        start, past = state.copy(), PastMoves(state)
        for _ in range(int(rng.integers(most))):
            if state["player"][0] < 0:
                break
            advance(state, random_choice(state, rng))
            past.step()
        if state["player"][0] >= 0:
            found.append(Played(start, state.copy(), past.of(0)))
    return found
