"""Rounds of climbing games that are played at random, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from blueprint.climbing.move_inputs import MoveInputs
from blueprint.climbing.training.climbing_play import play_in_lockstep
from blueprint.protocol import Decisions
from games.support.array_types import Ints

GAMES = ("doudizhu", "big2", "doudizhu(landlord=bid,ranks=7)", "big2(players=3,ranks=8,suits=3)")


def at_random(seed: int) -> tuple[list[Decisions], Callable[[Decisions], Ints]]:
    """Return a player who chooses at random, and the list that its decisions go to."""
    rng = np.random.default_rng(seed)
    seen: list[Decisions] = []

    def choose(d: Decisions) -> Ints:
        seen.append(d)
        picked: Ints = (rng.random(len(d)) * np.diff(d.offsets)).astype(np.int64)
        return picked

    return seen, choose


def asked(inputs: MoveInputs, rounds: int) -> list[Decisions]:
    """Return the decisions of random rounds."""
    seen, choose = at_random(3)
    play_in_lockstep(inputs, inputs.deal(rounds, np.random.default_rng(3)), choose)
    return seen
