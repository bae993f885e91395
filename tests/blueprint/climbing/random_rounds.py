"""Rounds of climbing games that are played at random, for the tests of this folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from blueprint.game_lockstep import PlayRecord, play_rounds
from blueprint.protocol import Agent, Decisions, MoveInputs
from games.ragged import Ragged
from games.support.array_types import Array, Bytes, Ints

GAMES = ("doudizhu", "big2", "doudizhu(landlord=bid,ranks=7)", "big2(players=3,ranks=8,suits=3)")


def at_random(seed: int) -> tuple[list[Decisions], Callable[[Decisions], Ints]]:
    """Return a player who chooses at random, and the list that its decisions go to."""
    rng = np.random.default_rng(seed)
    seen: list[Decisions] = []

    def choose(d: Decisions) -> Ints:
        seen.append(dataclasses.replace(d, states=d.states[d.rows], rows=np.arange(len(d))))
        picked: Ints = (rng.random(len(d)) * np.diff(d.offsets)).astype(np.int64)
        return picked

    return seen, choose


def played(inputs: MoveInputs, states: Array, agent: Agent) -> PlayRecord:
    """Return the record of an agent's playing rounds to their ends, in place."""
    return play_rounds(states, agent, inputs)


def asked(inputs: MoveInputs, rounds: int) -> list[Decisions]:
    """Return the decisions of random rounds."""
    seen, choose = at_random(3)
    played(inputs, inputs.deal(rounds, np.random.default_rng(3)), choose)
    return seen


def swapped(states: Array, seats: Ints, players: int) -> tuple[Array, NDArray[np.bool_]]:
    """Return states at which the next seat and the one after change hands, and where these are as large.

    Words of hands tell their size by their bits; of DouDiZhu, whose words count copies, `left` tells it.
    """
    changed, rows = states.copy(), np.arange(len(states))
    one, two = (seats + 1) % players, (seats + 2) % players
    hands, names = states["hand"], states.dtype.names or ()
    sizes = np.array([[bin(int(word)).count("1") for word in row] for row in hands.tolist()])
    sizes = states["left"] if "left" in names else sizes
    changed["hand"][rows, one], changed["hand"][rows, two] = hands[rows, two], hands[rows, one]
    return changed, sizes[rows, one] == sizes[rows, two]


def rows_of(inputs: MoveInputs, states: Array, seats: Ints) -> tuple[Bytes, Bytes]:
    """Return what seats see, and the others' hands."""
    rows = np.arange(len(states))
    seen = np.full((len(rows), inputs.seat_bits), 255, np.uint8)
    hidden = np.full((len(rows), inputs.hidden_bits), 255, np.uint8)
    inputs.write_seats(states, rows, seats, seen)
    inputs.write_hidden(states, rows, seats, hidden)
    return seen, hidden


def moves_of(inputs: MoveInputs, states: Array, seats: Ints, legal: Ragged) -> Bytes:
    """Return the rows of moves, [m, move_bits]; legal: words, a row for each state."""
    out = np.full((len(legal.values), inputs.move_bits), 255, np.uint8)
    inputs.write_moves(states, np.arange(len(states)), seats, legal.offsets, legal.values, out)
    return out
