"""Particles that follow what players saw, from the root on: every step of `games.infosets.sampling`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Game
from games.infosets.histories import HistorySample, PlayRule, probabilities
from games.infosets.trail import Trail, same_actions
from games.ragged import Ragged
from games.support.array_types import Array


def thinned(
    weights: NDArray[np.float64], n: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return which of m weighted things are kept, at most n rising indices, and how many each stands for.

    Those whose weight is above a threshold are kept and stand for themselves; of the others each is kept with
    probability weight / threshold and stands for the inverse of it, so that sums stay unbiased.
    Source: Fearnhead and Clifford 2003, with systematic draws.
    """
    live = np.flatnonzero(weights > 0)
    if len(live) <= n:
        return live, np.ones(len(live))
    ranked = np.sort(weights[live])[::-1]
    rest = np.cumsum(ranked[::-1])[::-1]
    # The largest number of heavy ones such that the rest fit below their threshold.
    kept = np.arange(n)
    fits = ranked[:n] * (n - kept) <= rest[:n] * (1 + 1e-12)
    heavy = int(np.argmax(fits)) if fits.any() else n - 1
    threshold = rest[heavy] / (n - heavy)
    chance = np.minimum(weights[live] / threshold, 1.0)
    chance[chance > 1 - 1e-9] = 1.0
    order = rng.permutation(len(live))
    marks = np.floor(np.cumsum(chance[order]) + rng.random())
    drawn = np.diff(marks, prepend=0.0) > 0
    drawn |= chance[order] == 1.0
    rows = np.sort(order[drawn])
    return live[rows], 1.0 / chance[rows]


@dataclass(eq=False)
class _Particles:
    """Histories under way; m of them.

    of: [m] int64, the trail each follows. at: [m] int64, how far along it. target: [m] float64, what they are
    drawn by. met: [m] bool, whether one of the infoset's histories lies at or above. The rest as in
    `HistorySample`.
    """

    states: Array
    of: NDArray[np.int64]
    at: NDArray[np.int64]
    chance: NDArray[np.float64]
    players: NDArray[np.float64]
    stands: NDArray[np.float64]
    target: NDArray[np.float64]
    met: NDArray[np.bool_]

    def take(self, rows: NDArray[Any]) -> _Particles:
        return _Particles(*(getattr(self, part.name)[rows] for part in fields(self)))


_Done = tuple[int, NDArray[np.int64], _Particles, NDArray[np.int64]]
"""Particles that have come to the end of their trails: level, rows there, themselves, and the units.

units: [2, trails] int64: `target` and `chance` count in 1 / 2 ** these.
"""
FAINT = 1e-200


@dataclass(eq=False)
class Following:
    """Trails of one game followed together."""

    game: Game
    trails: Sequence[Trail]
    n: int
    width: int
    rng: np.random.Generator
    policy: PlayRule | None
    explore: float
    own: bool
    steps: list[tuple[NDArray[np.int64], Array]] = field(default_factory=list)
    """Of each level, the row in the level before and the action that made each particle."""
    lenient: bool = False
    """Whether what a player is told while it waits may differ on the way to one infoset."""

    def run(self) -> list[HistorySample | None]:
        """Return a sample for each trail; None where thinning began and the game samples better itself."""
        game = self.game
        self.lenient = not getattr(game, "remembers", True)
        trails = [trail.at_decisions() for trail in self.trails] if self.lenient else self.trails
        count = len(trails)
        self._length = length = np.array([len(trail) for trail in trails])
        self._start = start = np.concatenate([[0], np.cumsum(length)[:-1]])
        self._keys = keys = np.concatenate([trail.keys for trail in trails])
        self._seat = seat = np.array([trail.player for trail in trails])
        acted = np.concatenate([trail.acted for trail in trails])
        action = np.concatenate([trail.action for trail in trails])
        acting = np.array([trail.acting for trail in trails])
        exact = np.ones(count, bool)
        given_up = np.zeros(count, bool)
        self._sealed = np.full(count, not self.lenient)
        self._unit = np.zeros((2, count), np.int64)
        done: list[_Done] = []
        ones, every = np.ones(count), np.arange(count)
        root = np.repeat(game.root(), count, axis=0)
        at, agrees = self._agree(root, every, np.full(count, -1))
        players = np.ones((count, game.num_players))
        now = _Particles(root, every, at, ones, players, ones, ones, np.zeros(count, bool))
        now = now.take(agrees)
        level = 0
        while len(now.of):
            who = game.player(now.states)
            last = now.at == length[now.of] - 1
            there = last & (who == acting[now.of])
            if self.lenient and there.any():
                # While the player waits it may have been told more since.
                for player in np.unique(seat[now.of[there]]).tolist():
                    rows = np.flatnonzero(there & (seat[now.of] == player))
                    ends = keys[start[now.of[rows]] + length[now.of[rows]] - 1]
                    there[rows] = np.all(game.infoset_key(now.states[rows], player) == ends, axis=1)
            if there.any():
                rows = np.flatnonzero(there)
                self._sealed[now.of[there & now.met]] = False
                now.met |= there
                done.append((level, rows, now.take(rows), self._unit.copy()))
            # Others may act again while its player knows the same: such histories are of the infoset, too.
            going = np.flatnonzero(~(there & (who == seat[now.of])) & (who != TERMINAL))
            if len(going) == 0:
                break
            part, who = now.take(going), who[going]
            actions = game.actions(part.states)
            rows, values = actions.rows, actions.values
            place = start[part.of] + part.at
            own = who == seat[part.of]
            if own.any():
                # The player did what it did; by then it has acted wherever its trail goes on.
                keep = ~own[rows] | (acted[place[rows]] & same_actions(values, action[place[rows]]))
                prob = probabilities(game, part.states, who, actions, self.policy)[keep]
                rows, values = rows[keep], values[keep]
            else:
                prob = probabilities(game, part.states, who, actions, self.policy)
            children = game.step(part.states, rows, values)
            of = part.of[rows]
            if own.any():  # the player itself acts at one of these, where another's act was asked for
                self._sealed[part.of[own & ~part.met & last[going]]] = False
            at, agrees = self._agree(children, of, part.at[rows])
            self._sealed[of[~agrees & ~part.met[rows] & last[going][rows]]] = False
            target = self._target(part, who, own, actions, rows, prob)
            alive = np.flatnonzero(agrees & (target > 0))
            # What chance never deals is no history; what a policy never plays is one, and was left out.
            exact[of[agrees & (target <= 0) & (who[rows] >= 0)]] = False
            rows, of = rows[alive], of[alive]
            players = part.players[rows]
            mover = who[rows]
            decided = np.flatnonzero(mover >= 0)
            players[decided, mover[decided]] *= prob[alive][decided]
            dealt = mover == CHANCE
            now = _Particles(
                children[alive],
                of,
                at[alive],
                part.chance[rows] * np.where(dealt, prob[alive], 1.0),
                players,
                part.stands[rows],
                target[alive],
                part.met[rows],
            )
            self._rescale(now)
            up, taken = going[rows], values[alive]
            now, up, taken = self._thin(now, up, taken, exact, given_up)
            self.steps.append((up, taken))
            level += 1
        return self._gather(done, exact, given_up)

    def _agree(
        self,
        states: Array,
        of: NDArray[np.int64],
        at: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return how far along its trail each state is, and whether the player sees what it saw."""
        keys, start, length, seat = self._keys, self._start, self._length, self._seat
        at = at.copy()
        agrees = np.zeros(len(of), bool)
        acting = self.game.player(states) if self.lenient else None
        for player in range(self.game.num_players):
            mine = np.flatnonzero(seat[of] == player)
            if len(mine) == 0:
                continue
            key = self.game.infoset_key(states if len(mine) == len(of) else states[mine], player)
            here = start[of[mine]] + at[mine]
            more = at[mine] + 1 < length[of[mine]]
            on = more & np.all(key == keys[np.where(more, here + 1, here)], axis=1)
            if acting is None:
                stays = (at[mine] >= 0) & np.all(key == keys[here], axis=1)
            else:
                stays = acting[mine] != player
            at[mine] += on
            agrees[mine] = on | stays
        return at, agrees

    def _target(
        self,
        part: _Particles,
        who: NDArray[np.int8],
        own: NDArray[np.bool_],
        actions: Ragged,
        rows: NDArray[np.int64],
        prob: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return what each child is drawn by: chance's part and the others', mixed with uniform."""
        drawn = prob
        if self.policy is not None and self.explore > 0:
            uniform = 1.0 / actions.counts[rows]
            mixed = (1 - self.explore) * prob + self.explore * uniform
            drawn = np.where(who[rows] >= 0, mixed, prob)
        found: NDArray[np.float64] = part.target[rows] * np.where(own[rows], 1.0, drawn)
        return found

    def _rescale(self, now: _Particles) -> None:
        """Count what is all but impossible in another unit, a power of 2, lest it become 0 on the way."""
        for unit, part in zip(self._unit, (now.target, now.chance), strict=True):
            if len(part) and part.min() < FAINT:
                most = np.zeros(len(self.trails))
                np.maximum.at(most, now.of, part)
                up = np.where(most < FAINT, -np.frexp(most)[1], 0)
                unit += up
                part[:] = np.ldexp(part, up[now.of])

    def _thin(
        self,
        now: _Particles,
        up: NDArray[np.int64],
        taken: Array,
        exact: NDArray[np.bool_],
        given_up: NDArray[np.bool_],
    ) -> tuple[_Particles, NDArray[np.int64], Array]:
        """Return the particles with at most `width` for each trail; `exact` and `given_up` are brought up."""
        counts = np.bincount(now.of, minlength=len(self.trails))
        crowded = np.flatnonzero(counts > self.width)
        if len(crowded) == 0:
            return now, up, taken
        keep = np.ones(len(now.of), bool)
        for trail in crowded.tolist():
            rows = np.flatnonzero(now.of == trail)
            keep[rows] = False
            exact[trail] = False
            if self.own:
                given_up[trail] = True
                continue
            chosen, each = thinned(now.stands[rows] * now.target[rows], self.width, self.rng)
            keep[rows[chosen]] = True
            now.stands[rows[chosen]] *= each
        return now.take(keep), up[keep], taken[keep]

    def _gather(
        self,
        done: list[_Done],
        exact: NDArray[np.bool_],
        given_up: NDArray[np.bool_],
    ) -> list[HistorySample | None]:
        """Return the samples, thinned to n each."""
        found: list[HistorySample | None] = []
        for trail in range(len(self.trails)):
            mine = [
                (level, rows[ended.of == trail], ended.take(ended.of == trail), unit[:, trail])
                for level, rows, ended, unit in done
                if (ended.of == trail).any()
            ]
            if given_up[trail] or not mine:
                found.append(None)
                continue
            lines = [self._lines(level, rows) for level, rows, *_ in mine]
            parts = [ended for _, _, ended, _ in mine]
            units = mine[0][3]  # the largest: histories that come later are no likelier
            target, chance = (
                np.concatenate(
                    [np.ldexp(getattr(part, name), units[at] - unit[at]) for *_, part, unit in mine]
                )
                for at, name in enumerate(("target", "chance"))
            )
            sample = HistorySample(
                Ragged.from_counts(
                    np.concatenate([line.counts for line in lines]),
                    np.concatenate([line.values for line in lines]),
                ),
                np.concatenate([ended.states for ended in parts]),
                chance,
                np.concatenate([ended.players for ended in parts]),
                np.concatenate([ended.stands for ended in parts]),
                bool(exact[trail]),
                scaled=not units[1],
                sealed=bool(exact[trail] and self._sealed[trail]),
            )
            if len(sample) > self.n:
                kept, each = thinned(sample.stands * target, self.n, self.rng)
                sample = sample.take(kept)
                sample = replace(sample, stands=sample.stands * each)
            found.append(sample)
        return found

    def _lines(self, level: int, rows: NDArray[np.int64]) -> Ragged:
        """Return the actions that led to some particles of a level, a row for each."""
        way = []
        for up, taken in reversed(self.steps[:level]):
            way.append(taken[rows])
            rows = up[rows]
        if not way:
            return Ragged(np.zeros(len(rows) + 1, np.int64), self.trails[0].action[:0])
        table = np.stack(way[::-1], axis=1)
        return Ragged.from_counts(
            np.full(len(rows), level), table.reshape(len(rows) * level, *table.shape[2:])
        )
