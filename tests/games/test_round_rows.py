"""Random play in kernels is the listed moves, taken step by step, each round by a stream of its own."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
import pytest

from games.climbing.big2.big2 import Big2
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.game import Game
from games.guandan.rounds.playout import random_playouts
from games.guandan.rounds.round import GuanDan, deal
from games.support.array_types import Array
from games.support.splitmix import STEP, mixed_bits
from tests.games.climbing.big2.test_big2 import VARIANTS
from tests.patience import amount

DOUDIZHU: tuple[dict[str, Any], ...] = ({}, {"ranks": 4}, {"landlord": "bid", "spring": True})
GAMES: list[Any] = [
    *(Big2(**options) for options in VARIANTS),
    *(DouDizhu(**options) for options in DOUDIZHU),
    *(GuanDan(moves) for moves in ("full", "canonical")),
]


def step_by_step(game: Game, state: Array, seed: np.uint64) -> tuple[Array, int]:
    """Return a round after random play, and its decisions. SplitMix64 gives the number of each move.

    DouDiZhu draws only where there is a choice, by the generator as it is; the others mix a step ahead.
    """
    own, decisions = isinstance(game, DouDizhu), 0
    while game.player(state)[0] >= 0:
        legal, at = game.actions(state).values, 0
        if len(legal) > 1 or not own:
            seed = seed + STEP
            at = (int(mixed_bits(seed if own else seed + STEP)) >> 32) * len(legal) >> 32
        state = game.step(state, np.zeros(1, np.int64), legal[at : at + 1])
        decisions += 1
    return state, decisions


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_random_play_takes_the_listed_moves_by_a_stream_of_its_own_for_each_round(game: Any) -> None:
    n, rng = amount(300, 6), np.random.default_rng(2)
    states, play = game.sample_deals(n, rng), getattr(game, "play_randomly", None)
    if play is None:
        states = deal(n, rng, level=np.arange(n) % 13)
        play = partial(random_playouts, canonical=game.canonical)
    before, seeds = states.tobytes(), copy.deepcopy(rng).integers(0, 2**64, n, np.uint64)
    ends, decisions = play(states, rng)
    assert states.tobytes() == before
    with np.errstate(over="ignore"):
        for row, seed in enumerate(seeds):
            end, made = step_by_step(game, states[row : row + 1], seed)
            assert end.tobytes() == ends[row : row + 1].tobytes() and made == decisions[row]
    low, high = game.payoff_range
    paid = game.returns(ends)
    assert low <= paid.min() and paid.max() <= high
