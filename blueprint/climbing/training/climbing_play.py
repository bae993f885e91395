"""Self-play in lockstep: many rounds advance together, and every decision with a choice is recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from blueprint.climbing.move_inputs import MoveInputs
from blueprint.layers.fast_moves import FastMoves
from blueprint.protocol import Agent, Decisions, drawn, shared_out
from blueprint.soft_choices import draw_soft
from games.game import TERMINAL
from games.support.array_types import Array, Ints

__all__ = ["MoveRecord", "against", "decided_by", "play_in_lockstep", "soft_player"]


@dataclass(frozen=True, eq=False)
class MoveRecord:
    """What was decided in some rounds, in the order of play.

    states: [n] before the decision. words, seats, rounds: [n] int64, the move taken, by whom, in which round.
    payoffs: [rounds, seats] float64. steps: moves of all rounds, those without a choice included.
    offered: moves that the decisions had in all. types: [rounds, seats] whose rule each seat played by, of
    PERSONALITIES, where there were any.
    """

    states: Array
    words: Ints
    seats: Ints
    rounds: Ints
    payoffs: NDArray[np.float64]
    steps: int
    offered: int
    types: Ints | None = None

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.seats)


def play_in_lockstep(inputs: MoveInputs, states: Array, agent: Agent) -> MoveRecord:
    """Return what was decided while rounds were played to their ends.

    states: [n] at their first decisions; they are played in place.
    """
    game = inputs.game
    running = np.arange(len(states))
    payoffs = np.empty((len(states), game.num_players))
    parts: list[tuple[Array, Ints, Ints, Ints]] = []
    steps = offered = 0
    while len(states):
        legal = inputs.legal(states)
        counts = legal.counts
        steps += len(states)
        taken = legal.values[legal.offsets[:-1]]
        open_ = counts > 1
        rows = np.flatnonzero(open_)
        if len(rows):
            offsets = np.concatenate([[0], np.cumsum(counts[rows])])
            words = legal.values if len(rows) == len(states) else legal.values[np.repeat(open_, counts)]
            here = states[rows]
            seats = game.player(here).astype(np.int64)
            actions = words.view(inputs.action_type)
            asked = Decisions(
                here, np.arange(len(rows)), seats, offsets, actions, played=game, group=running[rows]
            )
            taken[rows] = words[offsets[:-1] + drawn(agent, asked)[0]]
            parts.append((here, taken[rows], seats, running[rows]))
            offered += len(words)
        inputs.act(states, taken)
        over = game.player(states) == TERMINAL
        if over.any():
            payoffs[running[over]] = game.returns(states[over])
            states, running = states[~over], running[~over]
    if not parts:
        none = np.zeros(0, np.int64)
        parts.append((states, none, none, none))
    joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    return MoveRecord(joined[0], joined[1], joined[2], joined[3], payoffs, steps, offered)


def soft_player(network: FastMoves, temperature: float, epsilon: float, rng: np.random.Generator) -> Agent:
    """Return who chooses by a network, softly among moves of about the same value."""
    return lambda d: draw_soft(network.advantages(d), d.offsets, temperature, epsilon, rng)[0]


def against(agent: Agent, rival: Agent, own: NDArray[np.bool_], rng: np.random.Generator) -> Agent:
    """Return who plays some seats as an agent does and the others as a rival. own: [rounds, seats]."""
    seated = (agent, *[rival] * own.shape[1])  # one seat after the other draws from `rng`

    def answer(d: Decisions) -> Ints:
        return shared_out(d, np.where(own[d.rounds, d.seats], 0, 1 + d.seats), seated, rng)[0]

    return answer


def decided_by(record: MoveRecord, own: NDArray[np.bool_]) -> MoveRecord:
    """Return the decisions of some seats. own: [rounds, seats]."""
    mine = own[record.rounds, record.seats]
    parts = (record.states[mine], record.words[mine], record.seats[mine], record.rounds[mine])
    return replace(record, states=parts[0], words=parts[1], seats=parts[2], rounds=parts[3])
