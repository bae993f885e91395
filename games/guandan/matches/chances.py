"""Chances of winning a match, and what each outcome of a round is worth in it.

Between two rounds a match is its levels, who finished first and by how much, and the failures at A. Given how
often rounds end in each way, the chances of every such state follow from those of the states after it: a
linear system, solved by iteration. A round's outcomes are then worth what they make of these chances, which
near A is far from the levels that they bring.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from games.game import GameError
from games.guandan.cards import NUM_RANKS
from games.guandan.matches.tribute import score_round
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import RULING, Rules
from games.support.array_types import Array

RESULTS = (3, 2, 1, 0, -1, -2, -3)
"""Payoffs of a round to one side. It ends at 0 where a team at its own level A finishes first and last."""
_PLAYED = [k for k, result in enumerate(RESULTS) if result]
_ORDERS = {
    3: (0, 2, 1, 3),
    2: (0, 1, 2, 3),
    1: (0, 1, 3, 2),
    -1: (1, 0, 2, 3),
    -2: (1, 0, 3, 2),
    -3: (1, 3, 0, 2),
}
"""An order of finishing for each payoff to team 0."""


@dataclass(frozen=True, eq=False)
class MatchChances:
    """Chances of team 0 between the rounds of a match of equals.

    win: [13, 13, 2, 3, F, F], by both levels, the team that won the last round, by how many levels, and both
    teams' failures at A. frequencies: [3, 6], see `solve_chances`. rules: of the match.
    """

    win: NDArray[np.float64]
    frequencies: NDArray[np.float64]
    rules: Rules

    @cached_property
    def _worth(self) -> NDArray[np.float64]:
        """[13, 13, 3, F, F, 7]: chance of team 0 after each result of a round; owner 2 is NOBODY."""
        levels, owner, fails = _grid((0, 1, NOBODY), self.win.shape[4])
        found = np.empty((len(owner), len(RESULTS)))
        for k in _PLAYED:
            found[:, k] = _after(self.win, levels, owner, fails, RESULTS[k], self.rules)
        # 0 is what a team gets that wins at its own level A with a seat that comes last: in the match that is
        # a win by one level, and a failure
        mine = [_owned_at_ace(levels, owner, team) for team in (0, 1)]
        nothing = found[:, _PLAYED].mean(1)
        found[:, RESULTS.index(0)] = np.select(
            mine, [found[:, RESULTS.index(1)], found[:, RESULTS.index(-1)]], nothing
        )
        return found.reshape(NUM_RANKS, NUM_RANKS, 3, *self.win.shape[4:], len(RESULTS))

    def worth(self, states: Array) -> NDArray[np.float64]:
        """Return the chance of team 0 after each result of the rounds, [n, 7] by payoff to it as in RESULTS.

        states: [n] STATE of rounds in a match.
        """
        last = self.win.shape[4] - 1
        owner = np.where(states["owner"] == NOBODY, 2, states["owner"])
        fails = np.minimum(states["fails"], last)
        levels = states["levels"]
        found: NDArray[np.float64] = self._worth[levels[:, 0], levels[:, 1], owner, fails[:, 0], fails[:, 1]]
        return found

    def utilities(self, states: Array, seats: Array) -> NDArray[np.float64]:
        """Return what each result of the rounds is worth to the seats' sides, [n, 7] by payoff, in levels.

        The chances of winning the match, moved and scaled for each state so that over the frequencies of the
        results their mean and deviation are those of the payoffs: where levels are all that counts, utilities
        are levels. Where the match does not depend on the round, they are zero.
        """
        side = np.asarray(seats, np.int64) & 1
        chance = self.worth(states)
        chance = np.where(side[:, None] == 0, chance, 1 - chance[:, ::-1])
        often = self.frequencies.mean(0)
        often = (often + often[::-1]) / 2
        results = np.asarray(RESULTS, np.float64)[_PLAYED]
        spread = np.sqrt(often @ results**2)
        # no matrix products: their last digit follows how many rounds are asked for at once
        mean = (chance[:, _PLAYED] * often).sum(1)
        deviation = np.sqrt((((chance[:, _PLAYED] - mean[:, None]) ** 2) * often).sum(1))
        scale = np.where(deviation > 1e-9, spread / np.maximum(deviation, 1e-9), 0.0)
        found: NDArray[np.float64] = (chance - mean[:, None]) * scale[:, None]
        ace = _owned_at_ace(states["levels"], states["owner"], 0) | _owned_at_ace(
            states["levels"], states["owner"], 1
        )
        found[~ace, RESULTS.index(0)] = 0.0
        return found


def solve_chances(frequencies: Array, rules: Rules = RULING, *, tolerance: float = 1e-12) -> MatchChances:
    """Return the chances of a match between equals, by iteration to `tolerance`.

    frequencies: [3, 6], how often a round ends with the payoffs 3, 2, 1, -1, -2, -3 to the team that owns it,
        after it won the round before by 1, 2 or 3 levels (which decides who pays tribute).
    Of the rules, `max_drops` and `max_rounds` are left out: they end matches that hardly ever last so long.
    Raises GameError if a row is no distribution in which either side can win.
    """
    often = np.asarray(frequencies, np.float64)
    if often.shape != (3, len(_PLAYED)) or np.any(often < 0) or not np.allclose(often.sum(1), 1):
        raise GameError(f"guandan: frequencies are [3, 6] of which each row sums to 1; got {often.tolist()}")
    if np.any(often[:, :2].sum(1) == 0):
        raise GameError("guandan: an owner must be able to win by 2 or more, or no match ends")
    size = rules.ace_limit
    levels, owner, fails = _grid((0, 1), size)
    shape = (NUM_RANKS, NUM_RANKS, 2, 3, size, size)
    places, ends = [], []
    for k in _PLAYED:
        to_owner = RESULTS[k]
        place = np.empty(len(owner), np.int64)
        end = np.full(len(owner), np.nan)
        for team in (0, 1):
            mine = owner == team
            result = to_owner if team == 0 else -to_owner
            place[mine], end[mine] = _next(shape, levels[mine], owner[mine], fails[mine], result, rules)
        places.append(place)
        ends.append(end)
    at, over = np.stack(places), np.stack(ends)
    ended = ~np.isnan(over)
    win = np.full(shape, 0.5)
    while True:
        after = np.where(ended, over, win.reshape(-1)[at])  # [6, states without the margin]
        found = np.einsum("mk,ks->sm", often, after).reshape(NUM_RANKS, NUM_RANKS, 2, size, size, 3)
        found = np.moveaxis(found, 5, 3)
        change = np.abs(found - win).max()
        win = found
        if change < tolerance:
            return MatchChances(win, often, rules)


def _owned_at_ace(levels: Array, owner: Array, team: int) -> NDArray[np.bool_]:
    """Return where a round is played at a team's level A. levels: [n, 2]; owner: [n]."""
    found: NDArray[np.bool_] = (owner == team) & (levels[:, team] == NUM_RANKS - 1)
    return found


def _grid(owners: tuple[int, ...], fails: int) -> tuple[Array, Array, Array]:
    """Return levels [s, 2], owners [s] and failures [s, 2] of every state but for the margin, in C order."""
    axes = (
        np.arange(NUM_RANKS),
        np.arange(NUM_RANKS),
        np.asarray(owners),
        np.arange(fails),
        np.arange(fails),
    )
    a, b, owner, f, g = (part.ravel() for part in np.meshgrid(*axes, indexing="ij"))
    return np.stack([a, b], 1), owner, np.stack([f, g], 1)


def _next(
    shape: tuple[int, ...], levels: Array, owner: Array, fails: Array, result: int, rules: Rules
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the number of the state after a round that ends at `result` for team 0; its chance if over."""
    n = len(owner)
    order = np.tile(np.array(_ORDERS[result]), (n, 1))
    score = score_round(order, owner, levels, fails, np.zeros((n, 2), np.int64), rules=rules)
    first = np.full(n, 0 if result > 0 else 1)
    place = np.ravel_multi_index(
        (
            *score.levels.astype(np.int64).T,
            first,
            np.full(n, abs(result) - 1),
            *np.minimum(score.fails.astype(np.int64), shape[4] - 1).T,
        ),
        shape,
    )
    over = np.where(score.winner == NOBODY, np.nan, (score.winner == 0).astype(float))
    return place, over


def _after(
    win: NDArray[np.float64], levels: Array, owner: Array, fails: Array, result: int, rules: Rules
) -> NDArray[np.float64]:
    """Return the chance of team 0 after a round that ends at `result` for it, [s]."""
    place, over = _next(win.shape, levels, owner, fails, result, rules)
    return np.where(np.isnan(over), win.reshape(-1)[place], over)
