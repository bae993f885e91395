"""The contract of a game as a test: `check_game(game, rng)` says what is wrong with a new game, if anything.

    from games.check import check_game
    check_game(MyGame(), np.random.default_rng(0))

It grows the game from its root one level at a time, whole where it is small and a random part of each level
where it is not, and holds everything that the functions return against the contract in `games/game.py`. A
factored game's public states are held against their histories, too (`games.infosets.factored`).

Where infosets are sampled, a few are met in random play, of the player to act and of those that wait.
Histories drawn there by the game itself (`sample_histories`) must lie in the infoset. Where the game is
small, every history of the infoset is found by a walk over the whole game as well: following what the player
saw must find the same ones, thinned samples must add up to them, and the game's own must come as often as
chance has them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Game, GameError, require_payoff_size
from games.infosets import infoset_at
from games.infosets.factored import FactoredGame, check_factored
from games.infosets.histories import follow_lines
from games.infosets.naming import random_line
from games.infosets.private_moves import PrivateMovesGame, check_private_moves
from games.infosets.sampling import follow_trails
from games.infosets.trail import Trail, Watcher
from games.ragged import Ragged
from games.support.array_types import Array

PROBABILITY_TOLERANCE = 1e-9
PAYOFF_TOLERANCE = 1e-9
"""As a share of the largest payoff, lest tiny payoffs pass unchecked and huge ones fail by rounding."""
TEXTS_PER_LEVEL = 40
"""Histories of each level whose words are checked: words are made one at a time. At greater depths a history
is put into words less often, since its words are as long as it is."""

WALKED = 1000
"""Histories to keep of a level from which on a small game may also be walked whole, to list infosets."""
MOST_PAIRS = 10_000
"""Pairs of private states up to which the factored form of a game that has one is checked as well."""
LONG, WIDTH_OF_LONG = 500, 20
"""A depth that few games reach, and the histories to keep of each level from there on: lest a game that never
ends is followed for hours before that is said."""
PAIRS_PER_LEVEL = 1_000
"""Histories held against public states at each depth, at least one public state's."""


@dataclass(frozen=True)
class CheckReport:
    """What a check saw.

    complete: whether every history from the game's root on was visited.
    histories, terminals: how many were visited.
    infosets: per player, how many infosets were seen at which that player decides.
    """

    complete: bool
    histories: int
    terminals: int
    infosets: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Level:
    """Histories of one depth, [n], and what the game says of them.

    acting: [n] int8, who acts. actions: their legal actions. keys: every player's key of each, as bytes.
    """

    states: Array
    acting: NDArray[np.int8]
    actions: Ragged
    keys: list[list[bytes]]


@dataclass
class _Seen:
    """What is remembered from level to level to hold later histories against."""

    met: list[dict[bytes, tuple[bytes, bytes | None, Array]]]
    """Per player and infoset: its own sequence so far, its legal actions if it acts, and one history."""
    texts: list[dict[str, tuple[bytes, Array]]]
    """Per player: the infoset that each text names, and one history of it."""
    names: list[dict[bytes, tuple[str, Array]]]
    """Per player: the text of each infoset, and one history of it."""
    payoffs: list[float] = field(default_factory=list)

    @classmethod
    def nothing(cls, num_players: int) -> _Seen:
        """Return an empty memory for each player."""
        players = range(num_players)
        return cls([{} for _ in players], [{} for _ in players], [{} for _ in players])


def check_game(
    game: Game, rng: np.random.Generator, *, max_width: int = 2000, max_depth: int = 10_000
) -> CheckReport:
    """Return what was checked; raise GameError that names the function and the rule if the game breaks one.

    rng: chooses the histories to follow and the orders in which batches are tried.
    max_width: histories kept of each level, from the 500th on at most 20; a level with more is thinned at
        random. Infosets are listed, to hold samples of them against, if it is at least 1,000 or no level was
        thinned.
    max_depth: levels after which a game is taken never to end.
    """
    _check_description(game)
    seen = _Seen.nothing(game.num_players)
    states = game.root()
    one = isinstance(states, np.ndarray) and len(states) == 1
    _require(game, one, "root", "must return a batch of one state")
    begun = bool((game.player(states) != TERMINAL).all())
    _require(game, begun, "player", "must not be TERMINAL at the root: somebody, or chance, must act")
    sequences = np.full((len(states), game.num_players), b"", object)
    histories = terminals = 0
    complete = True
    for depth in range(max_depth):
        acting = _check_player(game, states)
        histories += len(states)
        terminals += int((acting == TERMINAL).sum())
        _check_returns(game, states[acting == TERMINAL], seen)
        actions = _check_actions(game, states, acting)
        keys = _check_keys(game, states)
        level = _Level(states, acting, actions, keys)
        _check_recall(game, level, sequences, seen)
        _check_words(game, level, seen, rng, depth)
        if not len(actions.values):
            break
        kept = np.arange(len(actions.values))
        width = max_width if depth < LONG else min(max_width, WIDTH_OF_LONG)
        if len(kept) > width:
            complete = False
            kept = np.sort(rng.choice(kept, width, replace=False))
        rows, taken = actions.rows[kept], actions.values[kept]
        sequences = _sequences_after(acting, rows, taken, keys, sequences)
        states = _check_step(game, states, actions, rows, taken, rng)
    else:
        raise GameError(
            f"{game.name}: a game must end; no end within {max_depth} actions; raise max_depth if it does"
        )
    _check_payoff_range(game, seen, complete)
    check_sampling(game, rng, small=complete or max_width >= WALKED)
    if isinstance(game, FactoredGame):
        pairs = game.private_states()[0] * game.private_states()[1]
        if pairs <= MOST_PAIRS:
            check_factored(game, rng, width=max(1, min(max_width, PAIRS_PER_LEVEL // pairs)))
    if isinstance(game, PrivateMovesGame):
        check_private_moves(game, rng)
    infosets = tuple(sum(legal is not None for _, legal, _ in met.values()) for met in seen.met)
    return CheckReport(complete, histories, terminals, infosets)


def _require(game: Game, holds: bool, function: str, rule: str, received: object = None) -> None:
    """Raise GameError unless the rule holds."""
    if not holds:
        got = "" if received is None else f"; got {received}"
        raise GameError(f"{game.name}: {function} {rule}{got}; see games/game.py")


def _check_type(
    game: Game, function: str, found: Array, shape: tuple[int, ...], dtype: type, of: str = ""
) -> None:
    """Check the shape and the type of what a function returned. of: what the shape is for, in words."""
    _require(game, found.shape == shape, function, f"must be {list(shape)}{of}", found.shape)
    _require(game, found.dtype == dtype, function, f"must be {np.dtype(dtype)}", found.dtype)


def _check_description(game: Game) -> None:
    contract = [*Game.__annotations__, *(name for name in vars(Game) if not name.startswith("_"))]
    inherited = vars(Game)  # a subclass of Game that leaves a function out has the empty one
    missing = [
        name
        for name in contract
        if not hasattr(game, name)
        or (name in inherited and getattr(type(game), name, None) is inherited[name])
    ]
    if missing:
        kind = type(game).__name__
        raise GameError(
            f"{kind}: a game must have all of games.Game; it lacks {', '.join(missing)}; see games/game.py"
        )
    _require(game, isinstance(game.name, str) and bool(game.name.strip()), "name", "must be words", game.name)
    _require(game, game.num_players >= 2, "num_players", "must be at least 2", game.num_players)
    sides = set(game.teams)
    right = len(game.teams) == game.num_players and len(sides) > 1 and sides == set(range(len(sides)))
    rule = f"must put each of {game.num_players} seats in one of at least two teams, counted from 0"
    _require(game, right, "teams", rule, game.teams)
    right = game.num_players > 2 or game.teams == (0, 1)
    _require(game, right, "teams", "must be (0, 1) for two", game.teams)
    _require(game, game.key_width >= 1, "key_width", "must be at least 1", game.key_width)
    told: Any = game.payoff_range
    numbers = isinstance(told, (tuple, list)) and all(isinstance(x, (int, float, np.number)) for x in told)
    right = numbers and len(told) == 2 and told[0] <= told[1]
    _require(game, right, "payoff_range", "must be (smallest, largest) as numbers", told)
    require_payoff_size(game)


def _check_player(game: Game, states: Array) -> NDArray[np.int8]:
    acting = game.player(states)
    _check_type(game, "player", acting, (len(states),), np.int8)
    known = (acting >= TERMINAL) & (acting < game.num_players)
    _require(game, bool(known.all()), "player", "must be a seat, CHANCE or TERMINAL", acting[~known][:3])
    return acting


def _check_returns(game: Game, ends: Array, seen: _Seen) -> None:
    if not len(ends):
        return
    returns = game.returns(ends)
    _check_type(game, "returns", returns, (len(ends), game.num_players), np.float64, f" for {len(ends)} ends")
    _require(game, bool(np.isfinite(returns).all()), "returns", "must be finite")
    team = np.array(game.teams)
    tolerance = PAYOFF_TOLERANCE * _largest(game, returns)
    sides = range(max(game.teams) + 1)
    payoff = [returns[:, team == side] for side in sides]
    if getattr(game, "zero_sum", True):
        for side in sides:
            shared = np.ptp(payoff[side], axis=1).max() <= tolerance
            _require(game, bool(shared), "returns", f"must be the same for all seats of team {side}")
        gap = np.abs(sum(of_side[:, 0] for of_side in payoff)).max()
        _require(game, bool(gap <= tolerance), "returns", "of the teams must sum to zero", gap)
    seen.payoffs += [float(returns.min()), float(returns.max())]


def _largest(game: Game, payoffs: Array) -> float:
    """Return the largest size of a payoff, of those given and those that the game says there are."""
    sizes = np.abs([*game.payoff_range, payoffs.min(), payoffs.max()])
    return float(sizes[np.isfinite(sizes)].max())


def _check_payoff_range(game: Game, seen: _Seen, complete: bool) -> None:
    if not seen.payoffs:
        return
    low, high = min(seen.payoffs), max(seen.payoffs)
    tolerance = PAYOFF_TOLERANCE * _largest(game, np.array(seen.payoffs))
    inside = game.payoff_range[0] - tolerance <= low and high <= game.payoff_range[1] + tolerance
    rule = f"must hold every payoff; it is {game.payoff_range}"
    _require(game, inside, "payoff_range", rule, f"payoffs from {low} to {high}")
    exact = np.allclose((low, high), game.payoff_range, rtol=0, atol=tolerance)
    rule = f"must be the smallest and largest payoff, ({low}, {high})"
    _require(game, not complete or bool(exact), "payoff_range", rule, game.payoff_range)


def _check_actions(game: Game, states: Array, acting: Array) -> Ragged:
    actions = game.actions(states)
    _require(game, isinstance(actions, Ragged), "actions", "must return Ragged rows", type(actions))
    _require(game, len(actions) == len(states), "actions", f"must have {len(states)} rows", len(actions))
    ended = acting == TERMINAL
    _require(game, not actions.counts[ended].any(), "actions", "must be empty where the game is over")
    _require(game, bool(actions.counts[~ended].all()), "actions", "must not be empty before the game is over")
    pairs = np.concatenate([_as_bytes(actions.rows), _as_bytes(actions.values)], axis=1)
    _require(game, len(np.unique(pairs, axis=0)) == len(pairs), "actions", "must be different in each row")

    probs = game.chance_probs(states, actions)
    shape = (len(actions.values),)
    _check_type(game, "chance_probs", probs, shape, np.float64, ", one an action")
    by_chance = (acting == CHANCE)[actions.rows]
    certain, possible = bool((probs[~by_chance] == 1).all()), bool((probs[by_chance] > 0).all())
    _require(game, certain, "chance_probs", "must be 1 where chance does not act")
    _require(game, possible, "chance_probs", "must be positive: leave impossible ones out")
    sums = np.bincount(actions.rows, probs, len(states))[acting == CHANCE]
    off = np.abs(sums - 1).max(initial=0)
    _require(game, bool(off <= PROBABILITY_TOLERANCE), "chance_probs", "must sum to 1", f"a sum off by {off}")

    _check_type(game, "action_type", game.action_type(actions.values), shape, np.int64)
    return actions


def _check_keys(game: Game, states: Array) -> list[list[bytes]]:
    """Return every player's key of every state, as bytes."""
    keys = []
    for player in range(game.num_players):
        key = game.infoset_key(states, player)
        _check_type(game, "infoset_key", key, (len(states), game.key_width), np.uint64)
        keys.append([row.tobytes() for row in np.ascontiguousarray(key)])
    return keys


def _check_recall(game: Game, level: _Level, sequences: Array, seen: _Seen) -> None:
    """Check that an infoset decides what may be done, and what its player did before (perfect recall)."""
    acting, keys = level.acting, level.keys
    for player, row in itertools.product(range(game.num_players), range(len(acting))):
        acts = acting[row] == player
        sequence, legal = sequences[row, player], _as_bytes(level.actions[row]).tobytes() if acts else None
        key, state = keys[player][row], level.states[row]
        before = seen.met[player].setdefault(key, (sequence, legal, state))
        if (before[1] is None) == acts:
            rule = "where it acts and where it does not"
        elif before[1] != legal:
            rule = "where the legal actions or their order are"
        elif before[0] != sequence:
            rule = "where it did or saw something else before (perfect recall)"
        else:
            continue
        both = f"one key for both {_two(game, before[2], state)}"
        _require(game, False, "infoset_key", f"of player {player} must be different {rule}", both)


def _two(game: Game, one: Array, other: Array) -> str:
    """Return two histories in words."""
    return f'"{game.state_text(one)}" and "{game.state_text(other)}"'


def _sequences_after(
    acting: Array, rows: Array, taken: Array, keys: list[list[bytes]], sequences: Array
) -> Array:
    """Return each player's last infoset and action after each action, [m, players] of bytes."""
    after = sequences[rows]
    words = _as_bytes(taken)
    for j in np.flatnonzero(acting[rows] >= 0):
        player = int(acting[rows[j]])
        after[j, player] = keys[player][rows[j]] + words[j].tobytes()
    return after


def _check_step(
    game: Game, states: Array, actions: Ragged, rows: Array, taken: Array, rng: np.random.Generator
) -> Array:
    """Return the states after `taken` at `rows`."""
    before = states.copy()
    children = game.step(states, rows, taken)
    _require(game, len(children) == len(rows), "step", f"must return {len(rows)} states", len(children))
    same = children.dtype == states.dtype and children.shape[1:] == states.shape[1:]
    _require(game, same, "step", f"must return states like the given ones, {states.dtype}", children.dtype)
    _require(game, _same(states, before), "step", "must leave the given states unchanged")

    # The same actions in another order, and one at a time, must lead to the same states.
    order = rng.permutation(len(rows))[:TEXTS_PER_LEVEL]
    shuffled = game.step(states, rows[order], taken[order])
    _require(game, _same(shuffled, children[order]), "step", "must not depend on the order of the batch")
    for j in order[:5]:
        alone = game.step(states[rows[j]][None], np.zeros(1, np.int64), taken[j : j + 1])
        _require(game, _same(alone, children[j : j + 1]), "step", "must not depend on the rest of the batch")
    parents = rng.permutation(len(states))[:TEXTS_PER_LEVEL]
    again = game.actions(states[parents])
    alike = _same(again.values, actions.take(parents).values)
    _require(game, alike, "actions", "must not depend on the order of the batch")
    return children


def _check_words(game: Game, level: _Level, seen: _Seen, rng: np.random.Generator, depth: int) -> None:
    """Check that words are unique where they must be, and that infosets are read back."""
    states, keys = level.states, level.keys
    for row in rng.permutation(len(states))[:TEXTS_PER_LEVEL]:
        state = states[row]
        if rng.random() * depth < TEXTS_PER_LEVEL:
            said = game.state_text(state)
            _require(game, isinstance(said, str) and bool(said), "state_text", "must be words", repr(said))
        words = [game.action_text(state, action) for action in level.actions[int(row)]]
        _require(game, len(set(words)) == len(words), "action_text", "must be unique in a state", words)
        for player in range(game.num_players):
            text, key = game.infoset_text(state, player), keys[player][row]
            one_line = bool(text.strip()) and len(text.splitlines()) == 1
            _require(game, one_line, "infoset_text", "must be one line of words", repr(text))
            named, first = seen.texts[player].setdefault(text, (key, state))
            if named != key:
                rule = f"of player {player} must be unique to its infoset"
                got = f"{text!r} for both {_two(game, first, state)}, whose keys differ"
                _require(game, False, "infoset_text", rule, got)
            before, first = seen.names[player].setdefault(key, (text, state))
            if before != text:
                rule = f"of player {player} must be the same all over an infoset"
                got = f"{before!r} and {text!r} for {_two(game, first, state)}, whose keys are equal"
                _require(game, False, "infoset_text", rule, got)
            if level.acting[row] == player:
                wanted = infoset_at(game, states[row : row + 1], player)
                try:
                    read: object = game.parse_infoset(text)
                except GameError as error:
                    read = error
                _require(game, read == wanted, "parse_infoset", f"must read {wanted} back", read)


def _as_bytes(values: Array) -> NDArray[np.uint8]:
    """Return rows of anything as rows of bytes, [n, bytes a row], padding left out."""
    if values.dtype.names:
        return np.concatenate([_as_bytes(values[name]) for name in values.dtype.names], axis=1)
    packed = np.ascontiguousarray(values)
    return packed.view(np.uint8).reshape(len(packed), -1 if packed.size else 0)


def _same(ours: Array, others: Array) -> bool:
    """Return whether two arrays of any dtype hold the same values, bit for bit; padding does not count."""
    if ours.shape != others.shape or ours.dtype != others.dtype:
        return False
    if ours.dtype.names:
        return all(_same(ours[name], others[name]) for name in ours.dtype.names)
    return ours.tobytes() == others.tobytes()


INFOSETS = 8
"""Infosets looked at."""
DRAWS = 400
"""Histories that the game is asked for at each."""
RUNS, AT_ONCE = 48, 16
"""Thinned samples that are added up at each, and those that are drawn together."""
SMALL = 30_000
"""Histories up to which a game is walked to list its infosets."""
REMEMBERS = (
    "must remember at every history what it was before, whoever acts, or the game say `remembers = False`"
)
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
            there = bool((game.player(found.states) == trail.acting).all())
            rule = f"must be {trail.acting} where player {trail.player} saw it act"
            _require(game, there, "player", rule, "another")
            if found.scaled:
                _check_all(game, trail, found.states, found.chance, listed)
                _check_thinned(game, trail, float(found.chance.sum()), len(found), rng)
        if own is None:
            continue
        lines = own(trail.infoset, DRAWS, rng)
        _require(game, isinstance(lines, Ragged), "sample_histories", "must return Ragged rows", type(lines))
        _require(game, len(lines) == DRAWS, "sample_histories", f"must return {DRAWS} rows", len(lines))
        states, _, _ = follow_lines(game, lines)
        _check_inside(game, trail, states, "sample_histories")
        states = states[game.player(states) == trail.acting]
        if listed is not None and len(states):
            _check_often(game, trail, states, listed)


def _met(game: Game, rng: np.random.Generator) -> Iterator[Trail]:
    """Yield what players saw at decisions met in random play, whoever is to act there."""
    found = 0
    while found < INFOSETS:
        line = [(state, who, taken) for state, who, _, taken in random_line(game, rng)]
        decisions = [at for at, (_, who, _) in enumerate(line) if who >= 0]
        if not decisions:
            return
        end = decisions[int(rng.integers(len(decisions)))]
        watchers = [Watcher(game, player) for player in range(game.num_players)]
        for at, (state, who, taken) in enumerate(line[: end + 1]):
            for watcher in watchers:
                watcher.see(state)
            if who >= 0 and at < end:
                watchers[who].act(taken)
        yield from (watcher.trail for watcher in watchers)
        found += game.num_players


_Listed: TypeAlias = dict[bytes, float]
"""Every history of an infoset, by its state, and the probability of chance's part of it."""


def _ways(
    game: Game, player: int, who: Array, keys: Array, above: list[tuple[int, bytes]], met: dict[Any, int]
) -> list[tuple[int, bytes]]:
    """Return by which changes a player came to know what it knows, the same ones all over an infoset.

    A way is a number and the last key. above: those of the histories above. met: ways and infosets so far.
    """
    found = []
    for acting, key, (way, before) in zip(who.tolist(), map(bytes, keys), above, strict=True):
        way = way if key == before else met.setdefault((way, key), len(met) + 1)
        same = acting < 0 or met.setdefault(key, way) == way
        _require(game, same, "infoset_key", f"of player {player} {REMEMBERS}")
        found.append((way, key))
    return found


def _listed(game: Game, trails: list[Trail]) -> list[_Listed] | None:
    """Return the histories of each trail's infoset by a walk over the whole game; None if it is too large."""
    states, chance = game.root(), np.ones(1)
    found: list[_Listed] = [{} for _ in trails]
    visited, rows = 1, np.zeros(1, np.int64)
    seats = range(game.num_players if getattr(game, "remembers", True) else 0)
    ways, met = [[(0, b"")] for _ in seats], [dict[Any, int]() for _ in seats]
    while len(states):
        who = game.player(states)
        keys = [game.infoset_key(states, player) for player in range(game.num_players)]
        for seat in seats:
            above = [ways[seat][row] for row in rows.tolist()]
            ways[seat] = _ways(game, seat, who, keys[seat], above, met[seat])
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
    return found


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
    every = f"following what the player saw must find all {len(listed)} histories of its infoset"
    rule = f"of player {trail.player} {REMEMBERS}: {every}"
    _require(game, ours.keys() == listed.keys(), "infoset_key", rule, len(ours))
    wrong = [name for name, part in ours.items() if abs(part - listed[name]) > 1e-9]
    _require(game, not wrong, "chance_probs", "must be the same on the way to a history", len(wrong))


def _check_thinned(game: Game, trail: Trail, total: float, count: int, rng: np.random.Generator) -> None:
    """Check that samples of a part of an infoset add up to the whole of it on average."""
    most = max(1, count // 3)
    sums = []
    for done in range(0, RUNS, AT_ONCE):
        for found in follow_trails(game, [trail] * min(AT_ONCE, RUNS - done), most, rng):
            if not found.scaled:  # the game drew them itself
                return
            sums.append(float(np.sum(found.stands * found.chance)))
    off = abs(float(np.mean(sums)) - total)
    bound = 7 * float(np.std(sums)) / np.sqrt(RUNS) + 1e-9
    rule = f"must make samples of player {trail.player}'s infoset add up to {total:g}, within {bound:g}"
    _require(game, off <= bound, "step", rule, float(np.mean(sums)))


def _check_often(game: Game, trail: Trail, states: Array, listed: _Listed) -> None:
    """Check that a game draws the histories of an infoset as often as chance has them."""
    names = list(listed)
    place = {name: at for at, name in enumerate(names)}
    seen = np.zeros(len(names))
    for state in states:
        name = state.tobytes()
        _require(game, name in place, "sample_histories", "must draw histories of the infoset alone", state)
        seen[place[name]] += 1
    share = np.array([listed[name] for name in names])
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
