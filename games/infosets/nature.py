"""A game in which nature makes some of the players' moves: those of other seats, or at locked infosets.

What is left is the game's own: states, actions, infoset keys and words. Nature's moves are chance's, drawn as
a policy has it; those that it never makes are left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Game, GameError
from games.infosets.histories import PlayRule, probabilities
from games.ragged import Ragged
from games.support.array_types import Array


class NatureView:
    """A view of a game, itself a `Game`; a subclass says where nature acts (`nature_acts`), and the rest.

    original: the game. name: of the view. play: what nature does.
    """

    num_players: int
    teams: tuple[int, ...]
    payoff_range: tuple[float, float]

    def __init__(self, original: Game, name: str, play: PlayRule) -> None:
        self.original, self.name, self._play = original, name, play
        self.key_width = original.key_width
        self.remembers: bool = getattr(original, "remembers", True)
        self._last: tuple[Array, Ragged, NDArray[np.float64]] | None = None

    def nature_acts(self, states: Array) -> NDArray[np.bool_]:
        """Return where nature acts for a player, [n] bool."""
        raise NotImplementedError

    def root(self) -> Array:
        """Return the initial state, a batch of one."""
        return self.original.root()

    def actions(self, states: Array) -> Ragged:
        """Return the legal actions of each state; nature's are those that it may take."""
        legal = self.original.actions(states)
        probs = self._nature(states, legal)
        if probs is None:
            return legal
        kept = probs > 0
        if not kept.all():
            counts = np.bincount(legal.rows[kept], minlength=len(legal))
            legal, probs = Ragged.from_counts(counts, legal.values[kept]), probs[kept]
        self._last = states, legal, probs
        return legal

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64, where chance or nature acts; 1 elsewhere.

        Raises GameError for actions of nature that are not those of `actions`.
        """
        if self._last is not None and self._last[0] is states and self._last[1] is actions:
            return self._last[2].copy()
        found = self._nature(states, self.original.actions(states))
        if found is None:
            return self.original.chance_probs(states, actions)
        found = found[found > 0]
        if len(found) != len(actions.values):
            raise GameError(
                f"{self.name}: chance_probs must be asked about all of `actions`, {len(found)}; got "
                f"{len(actions.values)}"
            )
        return found

    def _nature(self, states: Array, legal: Ragged) -> NDArray[np.float64] | None:
        """Return the probability of each legal action, 1 where a player acts; None without nature."""
        natural = self.nature_acts(states)
        if not natural.any():
            return None
        who = self.original.player(states)
        seats = np.where(natural | (who == CHANCE), who, np.int8(TERMINAL))
        probs = probabilities(self.original, states, seats, legal, self._play)
        total = np.bincount(legal.rows, probs, minlength=len(legal))
        scaled: NDArray[np.float64] = probs / np.where(natural, total, 1.0)[legal.rows]
        return scaled

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        """Return the states after `actions[j]` is taken at `states[rows[j]]`, [m]."""
        return self.original.step(states, rows, actions)

    def action_type(self, actions: Array) -> NDArray[np.int64]:
        """Return the class that branch limits count by, [m] int64."""
        return self.original.action_type(actions)

    def action_text(self, state: Array, action: Array) -> str:
        """Return one action in words."""
        return self.original.action_text(state, action)

    def state_text(self, state: Array) -> str:
        """Return one history in words, hidden information included."""
        return self.original.state_text(state)
