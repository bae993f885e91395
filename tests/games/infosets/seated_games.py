"""Random games of several seats, small enough to list, and random policies for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games import CHANCE, TERMINAL, Game, Infoset, Ragged
from games.base import TwoPlayerGame

__all__ = ["RandomPlay", "SeatedGame", "SelfDrawnGame"]

PRIME = np.uint64(0x9E3779B97F4A7C15)


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    words = (words ^ words >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    return words ^ words >> np.uint64(32)


class SeatedGame(TwoPlayerGame):
    """A random game of some seats: each is dealt one of two secrets, then `turns` moves are made in the open.

    Who moves next, how many actions there are, and whether the game ends follow from the record; some moves
    are seen by the mover alone. Payoffs are random: x to the first team and -x to the second, or of many
    teams random ones that sum to zero.
    """

    def __init__(self, seed: int, teams: tuple[int, ...], turns: int = 4) -> None:
        """Draw a game. turns: moves until it is over."""
        self.name = f"seated_game(seed={seed},teams={'-'.join(map(str, teams))})"
        self.teams, self.num_players, self.turns, self.seed = teams, len(teams), turns, seed
        self.payoff_range = (-2.0, 2.0)
        self.payoff_range = self._range()

    def _range(self) -> tuple[float, float]:
        states = self.root()
        found = []
        while len(states):
            who = self.player(states)
            if np.any(who == TERMINAL):
                found.append(self.returns(states[who == TERMINAL]))
            actions = self.actions(states)
            states = self.step(states, actions.rows, actions.values)
        every = np.concatenate(found)
        return float(every.min()), float(every.max())

    def root(self) -> NDArray[np.uint64]:
        """Return the root: [1, 2], the moves so far in base 4, from a leading 1, and their number."""
        return np.array([[1, 0]], np.uint64)

    def _moves(self, states: NDArray[np.uint64], last: int) -> NDArray[np.uint64]:
        """Return the first `last` moves, [n, last]; those not made yet are 4."""
        out = np.full((len(states), last), 4, np.uint64)
        for k in range(last):
            made = states[:, 1] > k
            shift = 2 * (states[:, 1].astype(np.int64) - 1 - k)
            out[made, k] = states[made, 0] >> shift[made].astype(np.uint64) & np.uint64(3)
        return out

    def _drawn(self, about: NDArray[np.uint64], what: int) -> NDArray[np.uint64]:
        """Return a random number for each row of words."""
        found = np.full(len(about), self.seed * 100 + what, np.uint64)
        with np.errstate(over="ignore"):
            for column in about.T:
                found = _mixed(found * PRIME + column + np.uint64(1))
        return found

    def _record(self, states: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return what everybody saw, [n, turns]: 4 for no move yet, 5 for one that was hidden."""
        moves = self._moves(states, self.num_players + self.turns)[:, self.num_players :].copy()
        for k in range(self.turns):
            hidden = (self._drawn(moves[:, :k], 1) % 4 == 0) & (moves[:, k] < 4)
            moves[hidden, k] = 5
        return moves

    def player(self, states: NDArray[np.uint64]) -> NDArray[np.int8]:
        """Return who acts."""
        made = states[:, 1].astype(np.int64) - self.num_players
        seat = (self._drawn(self._record(states), 2) % np.uint64(self.num_players)).astype(np.int64)
        who = np.where(made < 0, CHANCE, np.where(made >= self.turns, TERMINAL, seat))
        return who.astype(np.int8)

    def actions(self, states: NDArray[np.uint64]) -> Ragged:
        """Return the numbers of the actions, from 0."""
        who = self.player(states)
        counts = 1 + (self._drawn(self._record(states), 3) % np.uint64(3)).astype(np.int64)
        counts = np.where(who == CHANCE, 2, np.where(who == TERMINAL, 0, counts))
        before = np.repeat(np.cumsum(counts) - counts, counts)
        return Ragged.from_counts(counts, np.arange(len(before)) - before)

    def chance_probs(self, states: NDArray[np.uint64], actions: Ragged) -> NDArray[np.float64]:
        """Return a third and two thirds where secrets are dealt."""
        dealt = (self.player(states) == CHANCE)[actions.rows]
        return np.where(dealt, np.where(actions.values == 0, 1 / 3, 2 / 3), 1.0)

    def step(
        self, states: NDArray[np.uint64], rows: NDArray[np.int64], actions: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        """Return the children."""
        after = states[rows]
        after[:, 0] = after[:, 0] * np.uint64(4) + actions.astype(np.uint64)
        after[:, 1] += np.uint64(1)
        return after

    def returns(self, states: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return random payoffs of all seats."""
        sides = max(self.teams) + 1
        drawn = [self._drawn(states, 4 + side) % np.uint64(9) for side in range(sides)]
        won = np.stack(drawn, axis=1).astype(np.float64) / 4 - 1
        if sides == 2:
            won[:, 1] = -won[:, 0]
        won -= won.mean(axis=1, keepdims=True)
        return won[:, list(self.teams)]

    def infoset_key(self, states: NDArray[np.uint64], player: int) -> NDArray[np.uint64]:
        """Return the seat's secret, the record, and the moves that it made itself."""
        moves = self._moves(states, self.num_players + self.turns)
        record = self._record(states)
        known = np.zeros(len(states), np.uint64)
        for k in range(self.turns):
            before = record.copy()
            before[:, k:] = 4
            who = self._drawn(before, 2) % np.uint64(self.num_players)
            own = (who == player) & (record[:, k] == 5)
            seen = np.where(own, moves[:, self.num_players + k], record[:, k])
            known = known * np.uint64(6) + seen
        secret = moves[:, player]
        dealt = np.minimum(states[:, 1], np.uint64(self.num_players))
        return (known * np.uint64(5) + secret)[:, None] * np.uint64(8) + dealt[:, None]

    def action_text(self, state: NDArray[np.uint64], action: NDArray[np.int64]) -> str:
        """Return a letter and the number of the action."""
        return f"a{int(action)}"

    def state_text(self, state: NDArray[np.uint64]) -> str:
        """Return the moves so far."""
        return f"moves {int(state[0])}"

    def infoset_text(self, state: NDArray[np.uint64], player: int) -> str:
        """Return the number of what a seat knows."""
        return f"P{player} knows {int(self.infoset_key(state[None], player)[0, 0])}"


class SelfDrawnGame(SeatedGame):
    """The same, with a sampler of its own that is always taken: it tries random lines until they fit."""

    follows = False

    def sample_histories(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories that agree with a key, as often as chance has them."""
        states = self.root()
        while True:
            same = self.infoset_key(states, infoset.player)[:, 0] == np.uint64(infoset.key[0])
            if same.any():
                break
            actions = self.actions(states)
            states = self.step(states, actions.rows, actions.values)
        states = states[same]
        moves = self._moves(states, int(states[0, 1])).astype(np.int64)
        dealt = moves[:, : min(self.num_players, moves.shape[1])]
        share = np.where(dealt == 0, 1 / 3, 2 / 3).prod(axis=1)
        rows = rng.choice(len(states), n, p=share / share.sum())
        return Ragged.from_counts(np.full(n, moves.shape[1]), moves[rows].reshape(-1))


class RandomPlay:
    """A random policy by infoset, with random values; some actions are never played.

    zeros: share of the actions that it gives no probability.
    """

    name = "random play"

    def __init__(self, seed: int, zeros: float = 0.0) -> None:
        """Name the policy by a seed."""
        self.seed, self.zeros = seed, zeros

    def _uniforms(
        self, game: Game, states: NDArray[np.uint64], player: int, actions: Ragged
    ) -> NDArray[np.float64]:
        if len(states) == 0:
            return np.zeros((0, 2))
        asked = np.column_stack([game.infoset_key(states, player), actions.counts.astype(np.uint64)])
        found, row = np.unique(asked, axis=0, return_inverse=True)
        drawn = [
            np.random.default_rng([self.seed, player, *map(int, key)]).random((2, int(count))).T
            for *key, count in found
        ]
        counts = found[:, -1].astype(np.int64)
        numbers = Ragged.from_counts(counts, np.arange(counts.sum())).take(row.reshape(-1)).values
        return np.concatenate(drawn)[numbers]

    def policy(
        self, game: Game, states: NDArray[np.uint64], player: int, actions: Ragged
    ) -> NDArray[np.float64]:
        """Return the probability of each action."""
        drawn = self._uniforms(game, states, player, actions)
        weight = np.where(drawn[:, 1] < self.zeros, 0.0, 0.05 + drawn[:, 0])
        total = np.bincount(actions.rows, weight, minlength=len(actions))
        weight[actions.offsets[:-1][total == 0]] = 1.0
        total = np.bincount(actions.rows, weight, minlength=len(actions))
        shares: NDArray[np.float64] = weight / total[actions.rows]
        return shares

    def q(self, game: Game, states: NDArray[np.uint64], player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return a random value of each action."""
        drawn: NDArray[np.float64] = self._uniforms(game, states, player, actions)[:, 1]
        return drawn

    def value(self, game: Game, states: NDArray[np.uint64], player: int) -> NDArray[np.float64]:
        """Return a random value of each state."""
        ones = Ragged.from_counts(np.ones(len(states), np.int64), np.zeros(len(states), np.int64))
        return self.q(game, states, player, ones)
