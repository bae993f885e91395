"""Games of one kind that go on together, one step each at a time: whoever acts is asked for all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Decisions, Past
from games.game import CHANCE, TERMINAL, Game
from games.ragged import Ragged, pick_by
from games.support.array_types import Array

__all__ = ["GameLockstep"]


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
