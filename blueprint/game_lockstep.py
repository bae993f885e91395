"""Games of one kind that go on together, one step each at a time: whoever acts is asked for all at once.

`GameLockstep` serves any game. `play_rounds` plays rounds whose luck ends with the deal, in place, and
records every decision with a choice; a game adds its `MoveInputs`. Python runs a few calls a step; everything
per round happens in kernels that release the GIL, so that threads with a share of the rounds each keep a core
busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import (
    Agent,
    Decisions,
    DrawingAgent,
    MoveInputs,
    Past,
    RoundsPast,
    drawn,
    follows,
    shared_out,
)
from blueprint.structured import join, put
from games.game import CHANCE, TERMINAL, Game
from games.ragged import Ragged, pick_by
from games.support.array_types import Array, Ints


class GameLockstep:
    """Some games, g of which go on.

    states: of those g, a batch. running: [g] int64, which of all they are. players: [g] int8, who acts there.
    actions: what may be done. payoff: [all, players] float64, of games that are over. past: how they came to
    where they stand, where somebody keeps it.
    """

    past: Past | None = None

    def __init__(self, game: Game, states: Array) -> None:
        """Take the states that the games go on from."""
        self.game, self.states = game, states
        self.running = np.arange(len(states))
        self.payoff = np.empty((len(states), game.num_players))
        self.players: NDArray[np.int8] = np.empty(0, np.int8)
        self.actions = Ragged(np.zeros(1, np.int64), np.empty(0, np.int64))

    @classmethod
    def begun(cls, game: Game, n: int, rng: np.random.Generator) -> GameLockstep:
        """Return n games from the start, past what chance opens with where the game has a shortcut."""
        deals = getattr(game, "sample_deals", None)
        return cls(game, np.repeat(game.root(), n, axis=0) if deals is None else deals(n, rng))

    def go_on(self) -> bool:
        """Settle what is over; return whether any game goes on, and look who acts there and how."""
        players = self.game.player(self.states)
        over = players == TERMINAL
        if over.any():
            self.payoff[self.running[over]] = self.game.returns(self.states[over])
            self.states, self.running, players = self.states[~over], self.running[~over], players[~over]
        self.players = players
        if len(players):
            self.actions = self.game.actions(self.states)
        return len(players) > 0

    def decisions(self, mask: NDArray[np.bool_]) -> Decisions:
        """Return the decisions of some of the games, [g] bool, in none of which chance acts."""
        rows = np.flatnonzero(mask)
        legal = self.actions if len(rows) == len(mask) else self.actions.take(rows)
        seats = self.players[rows].astype(np.int64)
        return Decisions(self.states, rows, seats, legal.offsets, legal.values, self.past, self.game)

    def drawn(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return a place among the actions of each game, [g]: drawn where chance acts, 0 elsewhere."""
        pick = np.zeros(len(self.states), np.int64)
        chance = np.flatnonzero(self.players == CHANCE)
        if len(chance):
            outcomes = self.actions.take(chance)
            probs = self.game.chance_probs(self.states[chance], outcomes)
            pick[chance] = pick_by(outcomes, probs, rng.random(len(outcomes)))
        return pick

    def step(self, pick: NDArray[np.int64]) -> None:
        """Take an action in each game. pick: [g], their places among the actions."""
        taken = self.actions.values[self.actions.offsets[:-1] + pick]
        self.states = self.game.step(self.states, np.arange(len(self.states)), taken)


@dataclass(frozen=True, eq=False)
class PlayRecord:
    """Decisions in the order they were taken, round by round interleaved.

    states: [n] before the decision. actions: [n] of the game, taken. seats, rounds: [n] int64, by whom, in
    which round. chance: [n] float32, probability with which the action was taken; 0 where its agent does not
    tell. final: [rounds] states at the end. steps: moves of all rounds, those without a choice included.
    offered: moves that the decisions had in all.
    """

    states: Array
    actions: Array
    seats: Ints
    rounds: Ints
    chance: NDArray[np.float32]
    final: Array
    steps: int
    offered: int = 0

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.seats)

    def where(self, mask: NDArray[np.bool_] | Ints) -> Self:
        """Return the record without the other decisions; all moves stay counted. mask: [n], or their rows."""
        named = ("states", "actions", "seats", "rounds", "chance")
        return replace(self, **{name: getattr(self, name)[mask] for name in named})


def play_rounds(
    states: Array, agent: Agent, inputs: MoveInputs, *, record: bool = True, past: RoundsPast | None = None
) -> PlayRecord:
    """Return the record of an agent's playing every round to its end.

    states: [n], contiguous, played in place. record: False leaves the record of decisions empty. past: takes
    note of all moves of `states`, forced ones included; an agent sees them only if it follows the rounds.
    """
    game, follow = inputs.game, follows(agent)
    if follow and past is None and inputs.past is not None:
        past = inputs.past(states)
    logs: list[tuple[Array, Array, Ints, Ints, Array]] = []
    steps = offered = 0
    while len(running := np.flatnonzero((players := game.player(states)) != TERMINAL)):
        some = states if len(running) == len(states) else states.take(running, axis=0)
        legal = inputs.legal(some)
        taken, many = legal.values.take(legal.offsets[:-1], axis=0), np.flatnonzero(legal.counts > 1)
        rows, asked = running[many], legal if len(many) == len(some) else legal.take(many)
        actions, seats = _actions(asked.values, inputs), players[rows].astype(np.int64)
        decisions = Decisions(states, rows, seats, asked.offsets, actions, past if follow else None, game)
        steps, offered = steps + len(running), offered + len(actions)
        if len(decisions):
            choice, chance = drawn(agent, decisions)
            chosen = asked.values.take(asked.offsets[:-1] + choice, axis=0)
            taken[many] = chosen
            if record:
                logs.append((some.take(many, axis=0), _actions(chosen, inputs), seats, rows, chance))
        inputs.act(some, taken)
        if some is not states:
            put(states, running, some)
        if past is not None:
            past.step()
    if not logs:
        nobody, none = np.zeros(0, np.int64), np.zeros(0, np.float32)
        logs.append((states[:0].copy(), np.empty(0, inputs.action_type), nobody, nobody, none))
    columns = [join(column) for column in zip(*logs, strict=True)]
    return PlayRecord(columns[0], columns[1], columns[2], columns[3], columns[4], states, steps, offered)


def _actions(words: Ints, inputs: MoveInputs) -> Array:
    """Return the actions of these words, [m]."""
    found: Array = words.view(inputs.action_type).reshape(len(words))
    return found


class Seated(DrawingAgent):
    """Plays each seat of some rounds by one of several agents.

    who: [rounds, seats], its place among them. rng: of agents that answer with probabilities.
    """

    def __init__(
        self, agents: Sequence[Agent], who: NDArray[Any], rng: np.random.Generator | None = None
    ) -> None:
        self.agents, self.who, self.rng = agents, who, rng
        self.follows = any(follows(agent) for agent in agents)

    def draw(self, decisions: Decisions) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability (0: not known)."""
        whose = self.who[decisions.rows, decisions.seats]
        return shared_out(decisions, whose, self.agents, self.rng)
