"""Histories of an infoset, drawn without listing it: `sample_infoset`, and its parts.

    from games.infosets.sampling import sample_infoset
    sample_infoset(game, game.parse_infoset("P1 holds Ks | raise"), 100, rng, policy=blueprint.policy)

Particles follow what the player saw (`games.infosets.trail`) from the root. At every step all that chance and
the others may do is looked at, and what the player would have seen differently dies. While the particles are
few, all are kept, and what comes back is the whole infoset, exactly. Beyond that they are thinned: those of
large weight stay as they are, of the others one is drawn for many and stands for them. No history comes
twice, and sums over the sample, each history counted as often as it stands, are unbiased.
Source: sequential importance sampling with resampling (Gordon, Salmond and Smith 1993), the optimal thinning
of Fearnhead and Clifford 2003. A game's own `sample_histories` takes over where following would thin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Game, GameError, Infoset
from games.infosets.trail import Trail, find_trail, same_actions, walk
from games.ragged import Ragged
from games.support.array_types import Array

__all__ = [
    "HistorySample",
    "PolicyRule",
    "follow_trails",
    "line_order",
    "replay",
    "same_lines",
    "sample_infoset",
    "thinned",
]

PolicyRule = Callable[[Game, Any, int, Ragged], NDArray[np.float64]]
"""(game, states, player, actions) -> [m] float64, action probabilities: a blueprint's `policy`, say."""
WIDTH = 4
"""Particles followed for each history asked for: some die later."""
FEWEST = 256
"""Particles followed at least."""
TRIES = 4
"""Times that a trail on which every particle died is followed again, with WIDTH times as many."""


@dataclass(frozen=True, eq=False)
class HistorySample:
    """Different histories of one infoset; n of them.

    lines: the actions from the root that make them, a row for each. states: [n] of the game's.
    chance: [n] float64, the probability of chance's part of each. players: [n, P] float64, that of every
        player's own part under the policy; 1 without one.
    stands: [n] float64, how many histories each stands for, itself included; 1 where all are there.
    complete: whether these are all histories of the infoset.
    scaled: whether sums over the sample estimate sums over the infoset; False for a game's own sample, of
        which only ratios do.
    """

    lines: Ragged
    states: Array
    chance: NDArray[np.float64]
    players: NDArray[np.float64]
    stands: NDArray[np.float64]
    complete: bool
    scaled: bool = True

    def __len__(self) -> int:
        """Return the number of histories."""
        return len(self.states)

    def weights(self, player: int | None = None) -> NDArray[np.float64]:
        """Return how likely each history is given the infoset, [n] float64 summing to 1.

        player: the seat whose own part is left out, as counterfactual reach does; None for everyone's part.
        All alike where nobody's play leads here.
        """
        parts = self.players if player is None else np.delete(self.players, player, axis=1)
        weight = self.stands * self.chance * parts.prod(axis=1)
        total = weight.sum()
        return weight / total if total > 0 else np.full(len(self), 1.0 / max(1, len(self)))

    def effective(self, player: int | None = None) -> float:
        """Return the effective sample size of `weights`, 1 to n: 1 over the sum of their squares."""
        return float(1.0 / np.sum(self.weights(player) ** 2))

    def take(self, rows: NDArray[np.int64]) -> HistorySample:
        """Return some of the histories; no longer all of them, unless all are taken."""
        every = self.complete and len(rows) == len(self)
        return HistorySample(
            self.lines.take(rows),
            self.states[rows],
            self.chance[rows],
            self.players[rows],
            self.stands[rows],
            every,
            self.scaled,
        )


def sample_infoset(
    game: Game,
    infoset: Infoset | Trail,
    n: int,
    rng: np.random.Generator,
    *,
    policy: PolicyRule | None = None,
    explore: float = 0.5,
) -> HistorySample:
    """Return up to n histories of an infoset with everyone's reach; all of them where they are few.

    infoset: by name, or what its player saw on the way.
    policy: what everyone plays, such as a blueprint's; without one every history counts by chance alone.
    explore: share of uniform play in what the others are drawn by. Above 0 no history is ruled out because
        the policy would not play it; its reach is that of the policy all the same.
    Raises GameError if no history is found.
    """
    trail = infoset if isinstance(infoset, Trail) else find_trail(game, infoset, rng)
    return follow_trails(game, [trail], n, rng, policy=policy, explore=explore)[0]


def follow_trails(
    game: Game,
    trails: Sequence[Trail],
    n: int,
    rng: np.random.Generator,
    *,
    policy: PolicyRule | None = None,
    explore: float = 0.5,
) -> list[HistorySample]:
    """Return up to n histories of each trail's infoset, those of all trails followed together.

    Arguments as of `sample_infoset`, which says more. Raises GameError if a trail leads nowhere.
    """
    if n < 1:
        raise GameError(f"{game.name}: a sample must have at least 1 history; got n = {n}")
    own = getattr(game, "sample_histories", None)
    found: list[HistorySample | None] = [None] * len(trails)
    left = list(range(len(trails)))
    width = max(WIDTH * n, FEWEST)
    for _ in range(TRIES):
        follow = _Following(game, [trails[at] for at in left], n, width, rng, policy, explore, own is not None)
        missing = []
        for at, sample in zip(left, follow.run(), strict=True):
            if sample is None and own is not None:
                found[at] = _own_sample(game, trails[at], n, rng, policy)
            elif sample is None:
                missing.append(at)
            else:
                found[at] = sample
        if not missing:
            return [sample for sample in found if sample is not None]
        left, width = missing, width * WIDTH
    raise GameError(
        f"{game.name}: what a player saw must lead to a history; {width // WIDTH:,} particles all died; give "
        "the game sample_histories (games/game.py), and check its infoset keys with games.check_game"
    )


def replay(
    game: Game, lines: Ragged, policy: PolicyRule | None = None
) -> tuple[Array, NDArray[np.float64], NDArray[np.float64]]:
    """Return the states that rows of actions from the root lead to, [n], chance's part of them, [n], and every
    player's under a policy, [n, P].

    Raises GameError for an action that is not legal.
    """
    n = len(lines)
    chance, players = np.ones(n), np.ones((n, game.num_players))
    ends: Array = np.repeat(game.root(), n, axis=0)
    for rows, states, place, taken in walk(game, lines):
        ended = place < 0
        ends[rows[ended]] = states[ended]
        on = np.flatnonzero(~ended)
        if len(on) == 0:
            continue
        going = states if len(on) == len(states) else states[on]
        who = game.player(going)
        actions = game.actions(going)
        same = np.flatnonzero(same_actions(actions.values, taken[on][actions.rows]))
        if len(same) != len(on):
            wrong = np.setdiff1d(np.arange(len(on)), actions.rows[same])[0]
            raise GameError(
                f"{game.name}: every action of a history must be legal; {taken[on][wrong]} is not after "
                f"{game.state_text(going[wrong])}; see sample_histories in games/game.py"
            )
        prob = _probabilities(game, going, who, actions, policy)[same]
        dealt = who == CHANCE
        chance[rows[on[dealt]]] *= prob[dealt]
        acts = np.flatnonzero(~dealt)
        players[rows[on[acts]], who[acts]] *= prob[acts]
    return ends, chance, players


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


def _own_sample(
    game: Game, trail: Trail, n: int, rng: np.random.Generator, policy: PolicyRule | None
) -> HistorySample:
    """Return histories that the game itself drew, those drawn twice once."""
    sampler: Any = game
    infoset = Infoset(trail.player, tuple(int(word) for word in trail.keys[-1]), "")
    lines: Ragged = sampler.sample_histories(infoset, n, rng)
    states, chance, players = replay(game, lines, policy)
    _, first, count = np.unique(_names(lines), return_index=True, return_counts=True)
    # Drawn by chance's part alone: what is likelier was drawn more often, and stands for fewer.
    stands = count / chance[first]
    stands *= len(first) / stands.sum()
    return HistorySample(lines.take(first), states[first], chance[first], players[first], stands, False, False)


def same_lines(lines: Ragged, others: Ragged) -> NDArray[np.int64]:
    """Return the row of `others` that is the same history as each of `lines`, [n] int64; -1 for none.

    lines, others: actions from the root, a row for each history; those of `others` different.
    """
    both = Ragged.from_counts(
        np.concatenate([lines.counts, others.counts]), np.concatenate([lines.values, others.values])
    )
    number = np.unique(_names(both), return_inverse=True)[1].reshape(-1)
    place = np.full(len(both), -1, np.int64)
    place[number[len(lines) :]] = np.arange(len(others))
    return place[number[: len(lines)]]


def line_order(lines: Ragged) -> NDArray[np.int64]:
    """Return the order of different histories by their actions, [n] int64: that of a tree's level."""
    if lines.values.ndim == 1 and lines.values.dtype.kind in "iu":
        return np.lexsort(_table(lines).T[::-1]) if len(lines.values) else np.arange(len(lines))
    return np.argsort(_names(lines), kind="stable")


def _table(lines: Ragged) -> Array:
    """Return rows of actions as a rectangle, [n, longest, ...], filled up with zeros."""
    width = max(1, int(lines.counts.max(initial=0)))
    table = np.zeros((len(lines), width, *lines.values.shape[1:]), lines.values.dtype)
    table[lines.rows, np.arange(len(lines.values)) - lines.offsets[:-1][lines.rows]] = lines.values
    return table


def _names(lines: Ragged) -> Array:
    """Return one sortable value for each row of actions, equal where the rows are."""
    flat = np.ascontiguousarray(_table(lines)).view(np.uint8).reshape(len(lines), -1)
    named = np.concatenate([flat, lines.counts.astype("<i8").view(np.uint8).reshape(-1, 8)], axis=1)
    return np.ascontiguousarray(named).view(np.dtype((np.void, named.shape[1])))[:, 0]


def _probabilities(
    game: Game, states: Array, who: NDArray[np.int8], actions: Ragged, policy: PolicyRule | None
) -> NDArray[np.float64]:
    """Return the probability of each action, [m] float64: chance's, the policy's, or 1 without one."""
    prob = np.ones(len(actions.values))
    for seat in np.unique(who).tolist():
        if seat == TERMINAL or (seat >= 0 and policy is None):
            continue
        alone = bool(np.all(who == seat))
        rows = np.flatnonzero(who == seat)
        sub = actions if alone else actions.take(rows)
        at = slice(None) if alone else np.repeat(who == seat, actions.counts)
        part = states if alone else states[rows]
        if seat == CHANCE:
            prob[at] = game.chance_probs(part, sub)
        elif policy is not None:
            prob[at] = policy(game, part, seat, sub)
    return prob


@dataclass(eq=False)
class _Particles:
    """Histories under way; m of them.

    of: [m] int64, the trail each follows. at: [m] int64, how far along it. target: [m] float64, what they are
    drawn by. The rest as in `HistorySample`.
    """

    states: Array
    of: NDArray[np.int64]
    at: NDArray[np.int64]
    chance: NDArray[np.float64]
    players: NDArray[np.float64]
    stands: NDArray[np.float64]
    target: NDArray[np.float64]

    def take(self, rows: NDArray[Any]) -> _Particles:
        return _Particles(
            self.states[rows],
            self.of[rows],
            self.at[rows],
            self.chance[rows],
            self.players[rows],
            self.stands[rows],
            self.target[rows],
        )


@dataclass(eq=False)
class _Following:
    """Trails of one game followed together."""

    game: Game
    trails: Sequence[Trail]
    n: int
    width: int
    rng: np.random.Generator
    policy: PolicyRule | None
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
        length = np.array([len(trail) for trail in trails])
        start = np.concatenate([[0], np.cumsum(length)[:-1]])
        keys = np.concatenate([trail.keys for trail in trails])
        acted = np.concatenate([trail.acted for trail in trails])
        action = np.concatenate([trail.action for trail in trails])
        seat = np.array([trail.player for trail in trails])
        acting = np.array([trail.acting for trail in trails])
        exact = np.ones(count, bool)
        given_up = np.zeros(count, bool)
        done: list[tuple[int, NDArray[np.int64], _Particles]] = []
        ones, every = np.ones(count), np.arange(count)
        root = np.repeat(game.root(), count, axis=0)
        at, agrees = self._agree(root, every, every * 0 - 1, keys, start, length, seat)
        now = _Particles(root, every, at, ones, np.ones((count, game.num_players)), ones, ones)
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
                done.append((level, rows, now.take(rows)))
            # Others may act again, and its player still know the same: such histories are of the infoset, too.
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
                prob = _probabilities(game, part.states, who, actions, self.policy)[keep]
                rows, values = rows[keep], values[keep]
            else:
                prob = _probabilities(game, part.states, who, actions, self.policy)
            children = game.step(part.states, rows, values)
            of = part.of[rows]
            at, agrees = self._agree(children, of, part.at[rows], keys, start, length, seat)
            target = self._target(part, who, own, actions, rows, prob)
            alive = np.flatnonzero(agrees & (target > 0))
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
            )
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
        keys: NDArray[np.uint64],
        start: NDArray[np.int64],
        length: NDArray[np.int64],
        seat: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return how far along its trail each state is, and whether the player sees what it saw."""
        at = at.copy()
        agrees = np.zeros(len(of), bool)
        acting = self.game.player(states) if self.lenient else None
        for player in np.unique(seat[of]).tolist() if len(of) else []:
            mine = np.flatnonzero(seat[of] == player)
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
        """Return what each child is drawn by: chance's part and the others', the latter mixed with uniform."""
        drawn = prob
        if self.policy is not None and self.explore > 0:
            uniform = 1.0 / actions.counts[rows]
            mixed = (1 - self.explore) * prob + self.explore * uniform
            drawn = np.where(who[rows] >= 0, mixed, prob)
        found: NDArray[np.float64] = part.target[rows] * np.where(own[rows], 1.0, drawn)
        return found

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
        done: list[tuple[int, NDArray[np.int64], _Particles]],
        exact: NDArray[np.bool_],
        given_up: NDArray[np.bool_],
    ) -> list[HistorySample | None]:
        """Return the samples, thinned to n each."""
        found: list[HistorySample | None] = []
        for trail in range(len(self.trails)):
            mine = [(level, rows[ended.of == trail], ended.take(ended.of == trail)) for level, rows, ended in done]
            mine = [(level, rows, ended) for level, rows, ended in mine if len(rows)]
            if given_up[trail] or not mine:
                found.append(None)
                continue
            lines = [self._lines(level, rows) for level, rows, _ in mine]
            sample = HistorySample(
                Ragged.from_counts(
                    np.concatenate([line.counts for line in lines]),
                    np.concatenate([line.values for line in lines]),
                ),
                np.concatenate([ended.states for *_, ended in mine]),
                np.concatenate([ended.chance for *_, ended in mine]),
                np.concatenate([ended.players for *_, ended in mine]),
                np.concatenate([ended.stands for *_, ended in mine]),
                bool(exact[trail]),
            )
            if len(sample) > self.n:
                target = np.concatenate([ended.target for *_, ended in mine])
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
