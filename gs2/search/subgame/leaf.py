"""Leaf evaluators: what a history at the depth limit is worth.

An evaluator is a function (game, states) -> payoffs [n, P], on the game's own scale. `check_leaf_value` is
the contract test for one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from games.game import CHANCE, TERMINAL, Game
from games.infosets.naming import random_line
from games.ragged import Ragged, pick_by
from games.support.contract import require
from games.support.splitmix import STEP, mixed_bits

_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


Draws = Callable[[NDArray[np.int64], NDArray[np.int8]], NDArray[np.float64]]
"""What decides what is drawn: (rows [n], who acts there, a seat or chance) to numbers in [0, 1), [n]."""


def fresh_draws(rng: np.random.Generator) -> Draws:
    """Return new numbers for every action of every row, from a generator."""
    return lambda rows, actors: rng.random(len(rows))


class CommonDraws:
    """The same numbers for all rows of one stream and sample, whatever happened in them.

    Comparing rollouts also compares luck, unless they share random numbers. Each stream has one sequence for
    chance and one for each seat: the n-th thing that chance does is drawn from the same number whatever was
    played before it.

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


MOST_IDLE = 1000
"""Random plays without any decision after which a game is taken to have none."""

CHECKED = 64
"""Histories at which an evaluator is checked."""

LeafEvaluator = Callable[[Game, NDArray[Any]], NDArray[np.float64]]
"""What values histories: (game, states [n]) to payoffs, [n, P] float64, on the game's own scale."""
OWN_LEAVES: dict[str, LeafEvaluator] = {}
"""Those that were registered, by name (`gs2.parts.register_leaf`)."""


def value_leaf(blueprint: Blueprint) -> LeafEvaluator:
    """Return an evaluator that asks the blueprint for the value of each team's view and settles between them.

    Two seats of different teams see a history differently, so their values need not sum to zero; half the
    difference does. Seats of one team are averaged first.
    """

    def leaf(game: Game, states: NDArray[Any]) -> NDArray[np.float64]:
        teams = np.array(game.teams)
        by_seat = np.stack([blueprint.value(game, states, seat) for seat in range(game.num_players)], axis=1)
        gain = (by_seat[:, teams == 0].mean(axis=1) - by_seat[:, teams == 1].mean(axis=1)) / 2
        payoffs: NDArray[np.float64] = gain[:, None] * np.where(teams == 0, 1.0, -1.0)
        return payoffs

    return leaf


def rollout_leaf(blueprint: Blueprint, rng: np.random.Generator, *, rollouts: int = 10) -> LeafEvaluator:
    """Return an evaluator that plays every history to its end a few times and takes the mean payoff.

    rollouts: games from each history.
    """

    def leaf(game: Game, states: NDArray[Any]) -> NDArray[np.float64]:
        now = np.repeat(states, rollouts, axis=0)
        payoffs = play_out(game, now, [(blueprint,)] * game.num_players, fresh_draws(rng))
        mean: NDArray[np.float64] = payoffs.reshape(len(states), rollouts, -1).mean(axis=1)
        return mean

    return leaf


def check_leaf_value(leaf: LeafEvaluator, game: Game, rng: np.random.Generator) -> None:
    """Return None if `leaf` keeps the contract at histories met in random play.

    Payoffs must come as [n, players] finite floats within the game's payoff range, equal within a team, with
    the two teams' summing to zero. An evaluator on another scale (win probability, normalised reward) fails
    here rather than corrupting a search.
    Raises ContractError naming the broken rule, and for a game in which nobody decides.
    """
    states = _random_histories(game, rng, CHECKED)
    _check_values(leaf(game, states.copy()), game, len(states))


def checked_leaf(leaf: LeafEvaluator) -> LeafEvaluator:
    """Return the same evaluator with every answer held against the contract of `check_leaf_value`."""

    def checked(game: Game, states: NDArray[Any]) -> NDArray[np.float64]:
        return _check_values(leaf(game, states), game, len(states))

    return checked


def _check_values(given: Any, game: Game, n: int) -> NDArray[np.float64]:
    """Return what an evaluator said of n histories, [n, players]; raise ContractError if it must not."""
    try:
        values = np.asarray(given)
    except ValueError:  # rows of different lengths
        values = np.zeros(0, object)
    wanted = (n, game.num_players)
    _require(values.shape == wanted, f"must be [n, players], {wanted}", values.shape)
    _require(np.issubdtype(values.dtype, np.floating), "must be finite floats", values.dtype)
    finite = np.isfinite(values)
    _require(finite.all(), "must be finite floats", values[~finite][:3])
    teams = np.array(game.teams)
    low, high = game.payoff_range
    slack = 1e-6 * (high - low)
    if n == 0:
        return values
    inside = values.min() >= low - slack and values.max() <= high + slack
    _require(inside, f"must lie in the payoff range [{low}, {high}]", f"[{values.min():g}, {values.max():g}]")
    for team in (0, 1):
        mine = values[:, teams == team]
        shared = np.allclose(mine, mine[:, :1], atol=slack)
        _require(shared, f"must be the same for all seats of team {team}", mine[0])
    total = values[:, int(np.argmax(teams == 0))] + values[:, int(np.argmax(teams == 1))]
    _require(
        np.allclose(total, 0.0, atol=2 * slack),
        "must sum to zero over the two teams",
        f"a sum of {total[np.abs(total).argmax()]:g}",
    )
    return values


def _require(holds: object, rule: str, received: object) -> None:
    require(holds, f"leaf: values {rule}", received, "check_leaf_value in gs2/search/subgame/leaf.py")


def _random_histories(game: Game, rng: np.random.Generator, count: int) -> NDArray[Any]:
    """Return decision histories met while playing uniformly at random."""
    found: list[NDArray[Any]] = []
    plays = 0
    while len(found) < count:
        plays += 1
        found += [state for state, player, _, _ in random_line(game, rng) if player >= 0]
        met = found or plays < MOST_IDLE
        _require(met, "are asked for where somebody decides", f"no decision in {plays} plays of {game.name}")
    return np.concatenate(found[:count])
