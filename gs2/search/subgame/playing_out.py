"""Games played to their end from many histories at once, in common random numbers where they are compared.

Who compares rollouts compares luck as well, unless all of them meet the same luck. `CommonDraws` gives every
stream of rollouts its own numbers, one sequence for chance and one for each seat: the n-th thing that chance
does is drawn from the same number whatever was played before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from games.game import CHANCE, TERMINAL, Game
from games.ragged import Ragged, pick_by
from games.support.splitmix import STEP, mixed_bits

__all__ = ["CommonDraws", "Draws", "FreshDraws", "play_out"]

_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


class Draws(Protocol):
    """Numbers in [0, 1) that decide what is drawn."""

    def __call__(self, rows: NDArray[np.int64], actors: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return the next number of each row, [n] float64, for the seat that acts there or for chance."""
        ...


class FreshDraws:
    """New numbers for every action of every row, from a generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        """Take the generator."""
        self.rng = rng

    def __call__(self, rows: NDArray[np.int64], actors: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return the generator's next numbers, [n] float64."""
        return self.rng.random(len(rows))


class CommonDraws:
    """The same numbers for all rows of one stream and sample, whatever happened in them.

    Samples of a stream are stratified: of the numbers that they draw for the n-th action of one actor, one
    lies in each of as many equal parts of [0, 1) as there are samples (Latin hypercube sampling, by linear
    permutations). Each sample by itself is a sequence of independent uniform numbers.
    """

    def __init__(
        self, seed: int, stream: NDArray[np.int64], sample: NDArray[np.int64], samples: int, players: int
    ) -> None:
        """Take the stream and sample, in [0, samples), of each row, [n]; a seed names one set of numbers."""
        self._stream = mixed_bits(np.uint64(seed) + STEP * (stream.astype(np.uint64) + np.uint64(1)))
        self._sample = sample.astype(np.int64)
        self._samples = samples
        self._units = np.array([a for a in range(1, samples + 1) if gcd(a, samples) == 1], np.int64)
        self._count = np.zeros((len(stream), players + 1), np.uint64)

    def __call__(self, rows: NDArray[np.int64], actors: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return the next number of each row, [n] float64."""
        actor = actors.astype(np.int64) + 1  # chance first
        count = self._count[rows, actor]
        self._count[rows, actor] = count + np.uint64(1)
        key = mixed_bits(self._stream[rows] + STEP * (actor.astype(np.uint64) + np.uint64(1)))
        key = mixed_bits(key + STEP * (count + np.uint64(1)))
        sample = self._sample[rows]
        unit = self._units[(mixed_bits(key + _FIRST) % np.uint64(len(self._units))).astype(np.int64)]
        shift = (mixed_bits(key + _SECOND) % np.uint64(self._samples)).astype(np.int64)
        part = (unit * sample + shift) % self._samples
        within = mixed_bits(key + STEP * (sample.astype(np.uint64) + np.uint64(1))) >> np.uint64(11)
        drawn: NDArray[np.float64] = (part + within.astype(np.float64) * 2.0**-53) / self._samples
        return np.minimum(drawn, np.nextafter(1.0, 0.0))


def play_out(
    game: Game,
    states: NDArray[Any],
    policies: Sequence[Sequence[Blueprint]],
    draws: Draws,
    chosen: NDArray[np.integer[Any]] | None = None,
) -> NDArray[np.float64]:
    """Return the payoffs of every history played to its end once, [n, P] float64.

    policies: for each seat, the blueprints that it may follow. chosen: [n, P], which of them each seat
    follows from each history on; by default the first. draws: what decides; rows are those of `states`.
    """
    n = len(states)
    now = states
    payoffs = np.zeros((n, game.num_players))
    live = np.arange(n)
    while len(live):
        player = game.player(now)
        done = player == TERMINAL
        if done.any():
            payoffs[live[done]] = game.returns(now[done])
            now, live, player = now[~done], live[~done], player[~done]
            if len(live) == 0:
                break
        actions = game.actions(now)
        prob = np.ones(len(actions.values))
        open_ = actions.counts > 1  # nobody is asked about a forced move
        for seat in np.unique(player[open_]).tolist():
            mine = open_ & (player == seat)
            if seat == CHANCE:
                rows, at, sub = _of(actions, mine)
                prob[at] = game.chance_probs(now[rows], sub)
                continue
            follows = np.zeros(len(live), np.int64) if chosen is None else chosen[live, seat]
            for k in np.unique(follows[mine]).tolist():
                rows, at, sub = _of(actions, mine & (follows == k))
                prob[at] = policies[seat][k].policy(game, now[rows], seat, sub)
        taken = actions.offsets[:-1] + pick_by(actions, prob, draws(live, player))
        now = game.step(now, np.arange(len(now)), actions.values[taken])
    return payoffs


def _of(actions: Ragged, mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_], Ragged]:
    """Return the rows under a mask, the mask of their actions, and these."""
    rows = np.flatnonzero(mask)
    return rows, np.repeat(mask, actions.counts), actions.take(rows)
