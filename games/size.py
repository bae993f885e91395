"""How large a game is, from a sample of it: known before its tree is grown.

    from games import load_game
    from games.size import estimate_size
    estimate_size(load_game("liars_dice(dice=2,sides=6)"))

The game is grown level by level, whole while it is narrow. A wider level is thinned to a fixed number of
histories, each of which then stands for as many as were left out, several times independently; what the runs
differ by says how far off their mean may be. The mean is unbiased.
Source: Knuth 1975, "Estimating the efficiency of backtrack programs", for one path at a time; Chen 1992,
"Heuristic sampling", for many. We draw one history from each of equal stretches of a level, in the order of
the parents, which spreads a sample over the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Game, Infoset
from games.ragged import Ragged, ranges
from games.support.array_types import Array

RUNS = 12
"""Independent runs; the interval is a t-interval over them."""
T_QUANTILE = 2.201
"""Of Student's t at 97.5 %, for RUNS - 1 degrees of freedom."""
WIDTH = 2000
"""Histories kept of a level in each run. A level of up to RUNS * WIDTH is kept whole."""
SLOW_WIDTH, SLOW_HISTORIES, SLOW_ACTIONS = 8, 10_000, 50
"""Of a game that is played one history after the other (`one_by_one`): the width, the histories looked at in
all, and the actions of a history up to which its infosets are estimated. That is a few seconds' work."""
TARGETS = 32
"""Histories of each player whose infosets are filled to learn how many histories an infoset holds."""
MEMBERS = 256
"""Histories that filling one infoset follows at once."""
MAX_DEPTH = 10_000


@dataclass(frozen=True)
class Count:
    """A number that was counted, or estimated with an interval that holds it in about 95 of 100 games.

    mean: the number, or its unbiased estimate. low, high: the interval; both are `mean` if it was counted.
    exact: whether it was counted.
    """

    mean: float
    low: float
    high: float
    exact: bool = False

    def __str__(self) -> str:
        """Return the number in words, with its interval if it is an estimate."""
        if self.exact:
            return f"{self.mean:,.0f}"
        return f"about {_short(self.mean)} ({_short(self.low)} to {_short(self.high)})"


@dataclass(frozen=True)
class GameSize:
    """Sizes of the tree below some histories, of a game or of a part of it.

    histories: all of them, ends included. terminals, chance: those that end the game, or where chance acts.
    decisions: for each player, histories where it acts. infosets: for each player, or None where they were
        not asked for, or the histories to start from are too many to keep. actions: (infoset, action) pairs
    over all players, or None. depth: actions on the longest path that was seen. most_actions: of any history
    that was seen. seed: of the sample. complete: False if the sample was ended early, at `enough` or after
        SLOW_HISTORIES; the sizes are then those of the levels above, and the game is larger.
    """

    histories: Count
    terminals: Count
    chance: Count
    decisions: tuple[Count, ...]
    infosets: tuple[Count, ...] | None
    actions: Count | None
    depth: int
    most_actions: int
    seed: int
    complete: bool = True

    @property
    def exact(self) -> bool:
        """Return whether everything was counted."""
        return self.histories.exact

    def to_json(self) -> dict[str, Any]:
        """Return the sizes as plain dictionaries, lists and numbers."""
        return asdict(self)


@dataclass
class _Level:
    """One level of a sample: rows of all runs, those of a run together.

    run: [n] int64, run of each row; all 0 while the level is whole. up: [n] int64, row of the parent in the
    level before. weight: [runs] float64, histories that each row of a run stands for.
    """

    states: Array
    run: NDArray[np.int64]
    up: NDArray[np.int64]
    weight: NDArray[np.float64]
    player: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


def estimate_size(
    game: Game,
    states: Array | None = None,
    *,
    seed: int = 0,
    width: int = WIDTH,
    infosets: bool = True,
    enough: float = np.inf,
) -> GameSize:
    """Return how many histories and infosets there are at and below some histories, by default the root.

    seed: of the sample; the same one gives the same answer. width: histories kept of a level in each of
        RUNS runs; more cost more and narrow the interval.
    infosets: whether to estimate the infosets too. Their number is that of the decisions divided by how
        many of them an infoset holds; the latter is learned by growing what a player cannot tell from a
        sampled history, unless the game is `one_by_one` and has more than SLOW_ACTIONS. Where one infoset
        lies at several depths the number may be too high.
    enough: end once every run has more histories than this; `complete` says so.
    The work is bounded by the depth of the game, whatever its size, and in a game that says
    `one_by_one = True` by SLOW_HISTORIES, after which the sample ends early. Rare deep parts may be missed:
    then the estimate is too low, and whoever grows the tree should watch it on the way.
    """
    if width < 1:
        raise ValueError(f"estimate_size: width must be at least 1; got {width}")
    rng = np.random.default_rng(seed)
    slow = getattr(game, "one_by_one", False)
    if slow and width == WIDTH:
        width = SLOW_WIDTH
    levels, complete = _sampled(game, game.root() if states is None else states, rng, width, enough)
    wide = slow and max(int(level.counts.max(initial=0)) for level in levels) > SLOW_ACTIONS
    infosets = infosets and complete and not wide
    seats = game.num_players
    total = np.zeros((RUNS, seats + 3))  # histories, terminals, chance, decisions of each player
    most = 0
    for level in levels:
        runs = len(level.weight)
        kinds = [np.ones(len(level.run), bool), level.player == TERMINAL, level.player == CHANCE]
        kinds += [level.player == seat for seat in range(seats)]
        for column, kind in enumerate(kinds):
            total[:, column] += level.weight * np.bincount(level.run[kind], minlength=runs)
        most = max(most, int(level.counts.max(initial=0)))
    whole = all(len(level.weight) == 1 for level in levels)
    sizes = [_count(total[:, column], whole) for column in range(seats + 3)]
    known: tuple[Count, ...] | None = None
    actions: Count | None = None
    if infosets and len(levels[0].weight) == 1:
        known, actions = (
            _counted_infosets(game, levels) if whole else _filled_infosets(game, levels, sizes[3:], rng)
        )
    return GameSize(
        sizes[0], sizes[1], sizes[2], tuple(sizes[3:]), known, actions, len(levels) - 1, most, seed, complete
    )


def infosets_met(game: Game, rng: np.random.Generator, *, plays: int = 200) -> Iterator[Infoset]:
    """Yield the infosets at which random plays of a game decide, each once, shallow ones first."""
    found: set[tuple[int, bytes]] = set()
    states = np.repeat(game.root(), plays, axis=0)
    while len(states):
        players, actions = game.player(states), game.actions(states)
        for seat in range(game.num_players):
            mine = np.flatnonzero(players == seat)
            for row, key in zip(mine.tolist(), game.infoset_key(states[mine], seat), strict=True):
                if (seat, key.tobytes()) not in found:
                    found.add((seat, key.tobytes()))
                    words = tuple(int(word) for word in key)
                    yield Infoset(seat, words, game.infoset_text(states[row], seat))
        going = np.flatnonzero(players >= CHANCE)
        pick = actions.offsets[:-1][going] + (rng.random(len(going)) * actions.counts[going]).astype(np.int64)
        states = game.step(states, going, actions.values[pick])


def _sampled(
    game: Game, states: Array, rng: np.random.Generator, width: int, enough: float
) -> tuple[list[_Level], bool]:
    """Return the levels of a sampled tree, and whether they go to its end."""
    total = np.zeros(RUNS)
    slow = getattr(game, "one_by_one", False)  # then levels are thinned before their children are made
    looked, most = 0, SLOW_HISTORIES if slow and enough == np.inf else np.inf
    level = _Level(states, np.zeros(len(states), np.int64), np.full(len(states), -1), np.ones(1))
    levels = [level]
    for _ in range(MAX_DEPTH):
        if len(level.weight) == 1 and len(level.run) > RUNS * width:
            # Too wide to be kept whole: from here on each run keeps a sample of its own.
            rows, level.run, level.weight = _of_a_whole_level(len(level.run), width, rng)
            level.states, level.up = level.states[rows], level.up[rows]
        if len(level.weight) > 1:
            _thin(level, rng, width)
        level.player = game.player(level.states)
        actions = game.actions(level.states)
        level.counts = actions.counts
        if not len(actions.values):
            return levels, True
        total += level.weight * np.bincount(level.run, minlength=len(level.weight))
        looked += len(level.run) + len(actions.values) // 50  # listing actions costs, too
        if total.min() > enough or looked > most:
            break
        rows = actions.rows
        run = level.run[rows]
        if slow and len(level.weight) == 1 and len(rows) > RUNS * width:
            kept, run, weight = _of_a_whole_level(len(rows), width, rng)
        elif len(level.weight) == 1 or len(rows) <= RUNS * width * (1 if slow else 4):
            kept, weight = np.arange(len(rows)), level.weight
        else:  # thin before stepping, which is what costs
            kept, weight = _stratified(run, len(level.weight), width, rng)
            run, weight = run[kept], level.weight * weight
        rows = rows[kept]
        level = _Level(game.step(level.states, rows, actions.values[kept]), run, rows, weight)
        levels.append(level)
    return levels, False


def _of_a_whole_level(
    n: int, width: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return `width` of n rows for each run, the run of each, and how many rows each stands for, [runs]."""
    within = np.arange(width) + rng.random((RUNS, width))
    rows = np.floor(within * (n / width)).astype(np.int64).reshape(-1)
    return np.minimum(rows, n - 1), np.repeat(np.arange(RUNS), width), np.full(RUNS, n / width)


def _thin(level: _Level, rng: np.random.Generator, width: int) -> None:
    """Keep at most `width` rows of each run, each standing for more."""
    kept, factor = _stratified(level.run, len(level.weight), width, rng)
    if len(kept) < len(level.run):
        level.states, level.run, level.up = level.states[kept], level.run[kept], level.up[kept]
        level.weight = level.weight * factor


def _stratified(
    run: NDArray[np.int64], runs: int, width: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return up to `width` rows of each run, equally far apart, and how many each of them stands for."""
    counts = np.bincount(run, minlength=runs)
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    taken = np.minimum(counts, width)
    step = counts / np.maximum(taken, 1)
    number = ranges(np.zeros_like(taken), taken)
    offset = rng.random(len(number)) * np.repeat(counts > width, taken)
    rows = np.floor((number + offset) * np.repeat(step, taken)).astype(np.int64)
    rows = np.minimum(rows, np.repeat(np.maximum(counts, 1) - 1, taken))
    return np.repeat(begins, taken) + rows, np.maximum(step, 1.0)


def _count(runs: NDArray[np.float64], whole: bool) -> Count:
    """Return the mean of independent estimates with a t-interval, of their logarithms where that is wider."""
    mean = float(runs.mean())
    if np.ptp(runs) == 0:
        return Count(mean, mean, mean, whole)
    with np.errstate(over="ignore"):  # of games beyond 1e150 histories
        half = T_QUANTILE * float(runs.std(ddof=1)) / np.sqrt(len(runs))
    low, high = max(0.0, mean - half), mean + half
    if (runs > 0).all():
        logs = np.log(runs)
        factor = np.exp(T_QUANTILE * float(logs.std(ddof=1)) / np.sqrt(len(runs)))
        low, high = min(low, mean / factor) or mean / factor, max(high, mean * factor)
    return Count(mean, low, high)


def _exactly(number: int) -> Count:
    return Count(float(number), float(number), float(number), True)


def _words(keys: NDArray[np.uint64]) -> Array:
    """Return each key as one value that can be sorted and compared."""
    keys = np.ascontiguousarray(keys)
    return keys[:, 0] if keys.shape[1] == 1 else keys.view(np.dtype((np.void, keys[0].nbytes)))[:, 0]


def _counted_infosets(game: Game, levels: list[_Level]) -> tuple[tuple[Count, ...], Count]:
    """Return the number of each player's infosets, and of their actions, of a tree that was kept whole."""
    infosets, actions = [], 0
    for seat in range(game.num_players):
        keys, counts = [], []
        for level in levels:
            acts = level.player == seat
            if acts.any():
                keys.append(game.infoset_key(level.states[acts], seat))
                counts.append(level.counts[acts])
        first = np.unique(_words(np.concatenate(keys)), return_index=True)[1] if keys else np.zeros(0, int)
        infosets.append(_exactly(len(first)))
        actions += int(np.concatenate(counts)[first].sum()) if keys else 0
    return tuple(infosets), _exactly(actions)


def _filled_infosets(
    game: Game, levels: list[_Level], decisions: list[Count], rng: np.random.Generator
) -> tuple[tuple[Count, ...], Count]:
    """Return the number of each player's infosets, and of their actions, from those of sampled histories."""
    infosets: list[Count] = []
    actions = np.zeros(3)
    for seat in range(game.num_players):
        depth, row = _targets(levels, seat, rng)
        if len(depth) == 0:
            infosets.append(Count(0.0, 0.0, 0.0, False))
            continue
        share = 1.0 / _members(game, levels, seat, depth, row, rng)
        count = np.array([levels[d].counts[r] for d, r in zip(depth, row, strict=True)])
        number = decisions[seat]
        relative = (number.high - number.low) / 2 / max(number.mean, 1e-300)
        for values, into in ((share, None), (share * count, actions)):
            mean = float(values.mean())
            error = 2 * float(values.std(ddof=1)) / np.sqrt(len(values)) / mean if len(values) > 1 else 1.0
            off = float(np.hypot(relative, error))
            low, high = (
                mean / (1 + off),
                min(mean * (1 + off), float(count.max()) if into is not None else 1.0),
            )
            three = number.mean * np.array([mean, low, max(high, mean)])
            if into is None:
                infosets.append(Count(float(three[0]), float(three[1]), float(three[2])))
            else:
                into += three
    return tuple(infosets), Count(float(actions[0]), float(actions[1]), float(actions[2]))


def _targets(
    levels: list[_Level], seat: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the level and row of sampled histories where `seat` acts, each history equally likely.

    By the smallest of exponential clocks whose rates are the weights (Efraimidis and Spirakis 2006).
    """
    clocks, depths, rows = [], [], []
    for depth, level in enumerate(levels):
        acts = np.flatnonzero(level.player == seat)
        rate = np.broadcast_to(level.weight, (RUNS,))[level.run[acts]] if len(acts) else np.zeros(0)
        if len(level.weight) == 1:
            rate = rate * RUNS  # a level kept whole stands for every run
        clocks.append(rng.exponential(size=len(acts)) / rate)
        depths.append(np.full(len(acts), depth))
        rows.append(acts)
    order = np.argsort(np.concatenate(clocks), kind="stable")[:TARGETS]
    return np.concatenate(depths)[order], np.concatenate(rows)[order]


def _members(
    game: Game,
    levels: list[_Level],
    seat: int,
    depth: NDArray[np.int64],
    row: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return how many histories the infoset of each target holds at its depth, [targets] float64, at least 1.

    All targets are grown at once from the first level, and at each level only what `seat` cannot tell from
    the target's own way is kept; too many are thinned.
    """
    n = len(depth)
    at = np.zeros((int(depth.max()) + 1, n), np.int64)  # the target's row in each level on its way
    for i in range(n):
        r = int(row[i])
        for d in range(int(depth[i]), -1, -1):
            at[d, i] = r
            r = int(levels[d].up[r])
    top = levels[0]
    states = top.states[np.tile(np.arange(len(top.run)), n)]
    target = np.repeat(np.arange(n), len(top.run))
    weight = np.ones(n)
    size = np.ones(n)
    for d in range(int(depth.max()) + 1):
        here = levels[d]
        mine = _words(game.infoset_key(states, seat))
        wanted = _words(game.infoset_key(here.states[at[d]], seat))
        alike = (mine == wanted[target]) & (
            (game.player(states) == seat) == (here.player[at[d]] == seat)[target]
        )
        found = np.bincount(target[alike], minlength=n)
        reached = depth == d
        size[reached] = np.maximum(weight * found, 1.0)[reached]
        keep = np.flatnonzero(alike & (depth > d)[target])
        if len(keep) == 0:
            break
        most = SLOW_WIDTH if getattr(game, "one_by_one", False) else MEMBERS
        thinned, factor = _stratified(target[keep], n, most, rng)
        weight = weight * factor
        states, target = states[keep[thinned]], target[keep[thinned]]
        actions: Ragged = game.actions(states)
        states = game.step(states, actions.rows, actions.values)
        target = target[actions.rows]
    return size


def _short(number: float) -> str:
    """Return a large number in a few digits."""
    return f"{number:,.0f}" if number < 1e6 else f"{number:.3g}"
