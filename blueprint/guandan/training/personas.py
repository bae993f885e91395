"""Personas: seats that play a round by a rule-based personality, so that a network can learn to tell them.

The type of a seat holds for a whole round, and is the label of every move that it makes there. The source
draws the personality's move or the network's anew at every decision; what a seat does could then not say
what it is.
Source: the paper on personality-guided deep Monte Carlo (PDHQN, 2025), sections 3.2, 3.4 and 3.5.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blueprint.choosing.personality import PERSONALITIES
from blueprint.guandan.chooser import Chooser, Decisions, drawn
from blueprint.guandan.rules.split_agents import PersonalityAgent
from blueprint.guandan.training.samples import Samples

__all__ = ["OWN", "PersonaChooser", "drawn_types", "labelled"]

OWN = len(PERSONALITIES) - 1
"""The type of a seat that the network plays itself."""
PARTS = 0x9E45
"""Sets the stream of the types apart from that of play."""


def drawn_types(share: float, rounds: int, seed: np.random.SeedSequence) -> NDArray[np.uint8]:
    """Return the type of each seat of some rounds, [rounds, 4]: a personality in `share` of the seats.

    They follow from the seed alone, so that whoever has it knows them without the play.
    """
    rng = np.random.default_rng(
        np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, PARTS))  # a stream of their own
    )
    types = rng.integers(0, OWN, (rounds, 4), dtype=np.uint8)
    types[rng.random((rounds, 4)) >= share] = OWN
    return types


def labelled(samples: Samples, rounds: NDArray[np.int64], types: NDArray[np.uint8]) -> Samples:
    """Return samples with the types of the seats, from the one that decides on.

    rounds: [decisions of the record] which round each belongs to. types: [rounds, 4].
    """
    at = rounds if samples.rows is None else rounds[samples.rows]
    seats = samples.states["player"].astype(np.int64)
    turned = types[at[:, None], (seats[:, None] + np.arange(4)) % 4]
    return replace(samples, types=turned)


class PersonaChooser:
    """Plays each seat by its type: the network, or a rule-based personality."""

    def __init__(self, chooser: Chooser, types: NDArray[np.uint8]) -> None:
        """Take the network's player, and the type of each seat, [rounds, 4]."""
        self.chooser, self.types = chooser, types
        self._parts = [PersonalityAgent(name) for name in PERSONALITIES[:OWN]]

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        return self.draw(decisions)[0]

    def draw(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability (1 of a rule)."""
        kinds = self.types[decisions.rows, np.asarray(decisions.seats, np.int64)]
        choice, chance = np.empty(len(decisions), np.int64), np.ones(len(decisions), np.float32)
        for k, part in enumerate(self._parts):
            mask = kinds == k
            if mask.any():
                choice[mask] = part(decisions.where(mask))
        mask = kinds == OWN
        if mask.any():
            choice[mask], chance[mask] = drawn(self.chooser, decisions.where(mask))
        return choice, chance
