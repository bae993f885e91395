"""Self-play in lockstep: many rounds advance together, and every decision with a choice is recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from blueprint.choosing import choose_soft
from blueprint.climbing.fast_moves import FastMoves
from blueprint.climbing.move_inputs import MoveInputs
from blueprint.protocol import GameAgent
from games.game import TERMINAL
from games.ragged import Ragged, pick_by
from games.support.array_types import Array, Ints

__all__ = [
    "Choose",
    "MoveChoices",
    "MoveRecord",
    "against",
    "decided_by",
    "let_decide",
    "play_in_lockstep",
    "scorer",
    "soft_player",
]


@dataclass(frozen=True, eq=False)
class MoveChoices:
    """Decisions to be taken at once: decision j is of seats[j], among words[offsets[j]:offsets[j + 1]].

    states: [n] one a decision, contiguous. words: [m] int64, actions as kernels have them. rounds: [n] which
    of the rounds that advance together, empty where that is not known.
    """

    states: Array
    seats: Ints
    offsets: Ints
    words: Ints
    rounds: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.seats)

    @property
    def actions(self) -> Ints:
        """The words, as those who choose in any game call them."""
        return self.words

    def where(self, mask: NDArray[np.bool_]) -> MoveChoices:
        """Return the decisions at which `mask` [n] holds."""
        rows = np.flatnonzero(mask)
        moves = Ragged(self.offsets, self.words).take(rows)
        rounds = self.rounds[rows] if len(self.rounds) else self.rounds
        return MoveChoices(self.states[rows], self.seats[rows], moves.offsets, moves.values, rounds)


Choose = Callable[[MoveChoices], Ints]
"""Says which move each decision takes, as an index within its own moves."""


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


def play_in_lockstep(inputs: MoveInputs, states: Array, choose: Choose) -> MoveRecord:
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
            choices = MoveChoices(here, seats, offsets, words, running[rows])
            taken[rows] = words[offsets[:-1] + choose(choices)]
            parts.append((choices.states, taken[rows], seats, running[rows]))
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


def scorer(network: FastMoves) -> Callable[[MoveChoices], NDArray[np.float32]]:
    """Return what says how good each move of some decisions is, [m] float32."""
    return lambda d: network.answer(d.states, np.arange(len(d)), d.seats, d.offsets, d.words)[1]


def soft_player(network: FastMoves, temperature: float, epsilon: float, rng: np.random.Generator) -> Choose:
    """Return who chooses by a network, softly among moves of about the same value."""
    scores = scorer(network)
    return lambda d: choose_soft(scores(d), d.offsets, temperature, epsilon, rng)


def against(
    choose: Choose, rival: GameAgent, inputs: MoveInputs, own: NDArray[np.bool_], rng: np.random.Generator
) -> Choose:
    """Return who plays some seats by `choose` and the others by a rival. own: [rounds, seats]."""

    def answer(d: MoveChoices) -> Ints:
        mine = own[d.rounds, d.seats]
        found = np.empty(len(d), np.int64)
        if mine.any():
            found[mine] = choose(d.where(mine))
        let_decide(rival, d, ~mine, found, inputs, rng)
        return found

    return answer


def let_decide(
    agent: GameAgent,
    d: MoveChoices,
    which: NDArray[np.bool_],
    found: Ints,
    inputs: MoveInputs,
    rng: np.random.Generator,
) -> None:
    """Write what an agent chooses at some decisions into `found`."""
    moves = Ragged(d.offsets, d.words.view(inputs.action_type))
    for seat in np.unique(d.seats[which]):
        rows = np.flatnonzero(which & (d.seats == seat))
        legal = moves.take(rows)
        probs = agent.policy(inputs.game, d.states[rows], int(seat), legal)
        found[rows] = pick_by(legal, probs, rng.random(len(rows)))


def decided_by(record: MoveRecord, own: NDArray[np.bool_]) -> MoveRecord:
    """Return the decisions of some seats. own: [rounds, seats]."""
    mine = own[record.rounds, record.seats]
    parts = (record.states[mine], record.words[mine], record.seats[mine], record.rounds[mine])
    return replace(record, states=parts[0], words=parts[1], seats=parts[2], rounds=parts[3])
