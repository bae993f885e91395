"""The contract of sampling as a test: what `games.check.check_game` asks of a game whose infosets
are sampled.

A few infosets are met in random play, of the player to act and of those that wait. Histories drawn there by
the game itself (`sample_histories`), must lie in the infoset. Where the game is small, every history of the
infoset is found by a walk over the whole game as well: following what the player saw must find the same ones,
thinned samples must add up to them, and the game's own must come as often as chance has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Game, GameError
from games.infosets.histories import follow_lines
from games.infosets.sampling import follow_trails
from games.infosets.trail import Trail, Watcher
from games.ragged import Ragged
from games.support.array_types import Array

__all__ = ["check_sampling", "chi_square_bound"]

INFOSETS = 8
"""Infosets looked at."""
DRAWS = 400
"""Histories that the game is asked for at each."""
RUNS = 48
"""Thinned samples that are added up at each."""
SMALL = 30_000
"""Histories up to which a game is walked to list its infosets."""
RARE = 1e-7
"""Chance that a right sampler is taken for a wrong one, at each infoset."""


def chi_square_bound(freedom: int, rare: float = RARE) -> float:
    """Return what a chi-square variable of some degrees of freedom exceeds with at most a small probability.

    Source: Laurent and Massart 2000, lemma 1.
    """
    x = -np.log(rare)
    return float(freedom + 2 * np.sqrt(freedom * x) + 2 * x)


def check_sampling(game: Game, rng: np.random.Generator, *, small: bool) -> None:
    """Return None if histories of the game's infosets can be drawn as they should.

    small: whether all histories of the game may be looked at, if they are not more than 30,000.
    Raises GameError that names the function and the rule.
    """
    own = getattr(game, "sample_histories", None)
    trails = list(_met(game, rng))
    everything = _listed(game, trails) if small else None
    for at, trail in enumerate(trails):
        listed = None if everything is None else everything[at]
        if listed is not None:
            found = follow_trails(game, [trail], SMALL, rng)[0]
            _check_inside(game, trail, found.states, "infoset_key")
            _require(
                game,
                bool((game.player(found.states) == trail.acting).all()),
                "player",
                f"must be {trail.acting} where player {trail.player} saw it act",
                "another",
            )
            _check_all(game, trail, found.states, found.chance, listed)
            _check_thinned(game, trail, float(found.chance.sum()), len(found), rng)
        if own is None:
            continue
        lines = own(trail.infoset, DRAWS, rng)
        _require(game, isinstance(lines, Ragged), "sample_histories", "must return Ragged rows", type(lines))
        _require(game, len(lines) == DRAWS, "sample_histories", f"must return {DRAWS} rows", len(lines))
        states, _, _ = follow_lines(game, lines)
        _check_inside(game, trail, states, "sample_histories")
        there = states[game.player(states) == trail.acting]
        if listed is not None and len(there):
            _check_often(game, trail, there, listed)


def _met(game: Game, rng: np.random.Generator) -> Iterator[Trail]:
    """Yield what players saw at decisions met in random play, whoever is to act there."""
    found = 0
    while found < INFOSETS:
        watchers = [Watcher(game, player) for player in range(game.num_players)]
        state = game.root()
        trails: list[list[Trail]] = []
        while True:
            for watcher in watchers:
                watcher.see(state)
            who = int(game.player(state)[0])
            if who == TERMINAL:
                break
            if who >= 0:
                trails.append([watcher.trail for watcher in watchers])
            actions = game.actions(state)
            share = game.chance_probs(state, actions) if who == CHANCE else np.ones(len(actions.values))
            taken = rng.choice(len(share), p=share / share.sum())
            if who >= 0:
                watchers[who].act(actions.values[taken])
            state = game.step(state, np.zeros(1, np.int64), actions.values[taken : taken + 1])
        if not trails:
            return
        yield from trails[int(rng.integers(len(trails)))]
        found += game.num_players


@dataclass(frozen=True, eq=False)
class _Listed:
    """Every history of an infoset, by its state, and the probability of chance's part of it."""

    chance: dict[bytes, float]


def _listed(game: Game, trails: list[Trail]) -> list[_Listed] | None:
    """Return the histories of each trail's infoset by a walk over the whole game; None if it is too large."""
    states, chance = game.root(), np.ones(1)
    found: list[dict[bytes, float]] = [{} for _ in trails]
    visited = 1
    while len(states):
        who = game.player(states)
        keys = [game.infoset_key(states, player) for player in range(game.num_players)]
        for trail, histories in zip(trails, found, strict=True):
            same = np.all(keys[trail.player] == trail.keys[-1], axis=1)
            for row in np.flatnonzero(same & (who == trail.acting)).tolist():
                histories[states[row].tobytes()] = float(chance[row])
        going = np.flatnonzero(who >= CHANCE)
        actions = game.actions(states[going])
        visited += len(actions.values)
        if visited > SMALL:
            return None
        dealt = (who[going] == CHANCE)[actions.rows]
        share = np.where(dealt, game.chance_probs(states[going], actions), 1.0)
        rows = going[actions.rows]
        chance = chance[rows] * share
        states = game.step(states, rows, actions.values)
    return [_Listed(histories) for histories in found]


def _require(game: Game, holds: bool, function: str, rule: str, received: object) -> None:
    if not holds:
        raise GameError(f"{game.name}: {function} {rule}; got {received}; see games/game.py")


def _check_inside(game: Game, trail: Trail, states: Array, function: str) -> None:
    """Check that states lie in a trail's infoset."""
    key = game.infoset_key(states, trail.player)
    inside = np.all(key == trail.keys[-1], axis=1) & (game.player(states) >= CHANCE)
    wrong = states[np.argmin(inside)]
    words = game.infoset_text(wrong, trail.player)
    rule = f"of player {trail.player} must lead to histories of the infoset alone"
    _require(game, bool(inside.all()), function, rule, repr(words))


def _check_all(game: Game, trail: Trail, states: Array, chance: NDArray[np.float64], listed: _Listed) -> None:
    """Check that following a trail finds every history of its infoset, with chance's part."""
    ours = {state.tobytes(): float(part) for state, part in zip(states, chance, strict=True)}
    rule = (
        f"of player {trail.player} must remember at every history what it was before, whoever acts, or the "
        f"game say `remembers = False`: following what the player saw must find all {len(listed.chance)} "
        "histories of its infoset"
    )
    _require(game, ours.keys() == listed.chance.keys(), "infoset_key", rule, len(ours))
    wrong = [name for name, part in ours.items() if abs(part - listed.chance[name]) > 1e-9]
    _require(game, not wrong, "chance_probs", "must be the same on the way to a history", len(wrong))


def _check_thinned(game: Game, trail: Trail, total: float, count: int, rng: np.random.Generator) -> None:
    """Check that samples of a part of an infoset add up to the whole of it on average."""
    most = max(1, count // 3)
    sums = []
    for _ in range(RUNS):
        found = follow_trails(game, [trail], most, rng)[0]
        sums.append(float(np.sum(found.stands * found.chance)))
    off = abs(float(np.mean(sums)) - total)
    bound = 7 * float(np.std(sums)) / np.sqrt(RUNS) + 1e-9
    rule = f"must make samples of player {trail.player}'s infoset add up to {total:g}, within {bound:g}"
    _require(game, off <= bound, "step", rule, float(np.mean(sums)))


def _check_often(game: Game, trail: Trail, states: Array, listed: _Listed) -> None:
    """Check that a game draws the histories of an infoset as often as chance has them."""
    names = list(listed.chance)
    place = {name: at for at, name in enumerate(names)}
    seen = np.zeros(len(names))
    for state in states:
        name: Any = state.tobytes()
        _require(game, name in place, "sample_histories", "must draw histories of the infoset alone", state)
        seen[place[name]] += 1
    share = np.array([listed.chance[name] for name in names])
    expected = len(states) * share / share.sum()
    # Rare ones count together: a chi-square sum needs a few draws of each.
    often = expected >= 5
    cells = np.concatenate([(seen[often] - expected[often]) ** 2 / expected[often], np.zeros(1)])
    rest = expected[~often].sum()
    if rest > 0:
        cells[-1] = (seen[~often].sum() - rest) ** 2 / rest
    rule = f"must draw each history of player {trail.player}'s infoset as often as chance's part of it says"
    bound = chi_square_bound(max(1, len(cells) - 1))
    _require(game, float(cells.sum()) <= bound, "sample_histories", rule, f"chi-square {cells.sum():.1f}")
