"""The contract of factored games: each player's one secret is dealt first, and all that follows is public.

Dice under a cup, a card in the hand. Such a game is a *public tree* times the private states of each player;
nobody has to list its histories. A game that offers the functions of `FactoredGame` beside those of `Game` is
solved in that form (`cfr.public`). Its states do double duty: where nothing private has been dealt, a state
is a *public state*, what both players see; `player`, `actions` and `step` serve it as they serve a history.

A game that offers `payoff_forms` as well (`StructuredGame`) says how its payoffs compare strengths, so that
nobody has to keep a matrix of them.

`check_factored(game)` holds a game's factored form against its histories. Source of the form: Johanson,
Waugh, Bowling and Zinkevich 2011, "Accelerating best response calculation in large extensive games".
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Game, GameError
from games.infosets.payoff_forms import PayoffForms
from games.support.array_types import Array

WEIGHT_TOLERANCE = 1e-12
PAYOFF_TOLERANCE = 1e-12
"""Of structured payoffs, as a share of the largest payoff."""
MOST_DEALT = 100_000
"""Histories up to which the dealing is listed."""


@runtime_checkable
class FactoredGame(Game, Protocol):
    """A two-player game of one private state each, dealt by chance before anything else happens.

    Private states of a player are numbered from 0, in one order everywhere. What chance does later (the board
    of a poker game) is public; it may depend on both private states.
    """

    def private_states(self) -> tuple[int, int]:
        """Return how many private states each player may hold."""
        ...

    def public_root(self) -> Array:
        """Return the first public state, [1]: the dealing is over, and no private state is filled in."""
        ...

    def deal(self, states: Array, private0: NDArray[np.int64], private1: NDArray[np.int64]) -> Array:
        """Return the histories, [n], that public states [n] become with these private states dealt.

        Of several histories that differ only in the order of the dealing it is any one.
        """
        ...

    def public_state(self, states: Array) -> Array:
        """Return the public states, [n], of histories [n] at which the dealing is over."""
        ...

    def deal_weights(self, states: Array) -> NDArray[np.float64]:
        """Return the probability by chance, [n, n0, n1] float64, of each pair of private states together with
        all that chance has shown on the way to the public states [n]; 0 where they exclude each other."""
        ...

    def payoff_kinds(self, states: Array) -> NDArray[np.int64]:
        """Return a number for each terminal public state, [n]; where two are equal, so are the payoffs and
        the weights by chance, for every pair of private states."""
        ...


@runtime_checkable
class StructuredGame(FactoredGame, Protocol):
    """A factored game whose payoffs have a structured form."""

    def payoff_forms(self, states: Array) -> PayoffForms:
        """Return the payoffs to player 0 times chance, `deal_weights`, at terminal public states [n]."""
        ...


def payoffs_at(game: FactoredGame, states: Array) -> PayoffForms:
    """Return the payoffs at terminal public states: the game's own forms, or matrices where it has none."""
    if isinstance(game, StructuredGame):
        return game.payoff_forms(states)
    return PayoffForms.of_matrices(_matrices(game, states))


def _matrices(game: FactoredGame, states: Array) -> NDArray[np.float64]:
    """Return [n, n0, n1] float64, the payoff to player 0 times chance at terminal public states."""
    weights = game.deal_weights(states)
    at, private0, private1 = np.nonzero(weights)
    out = np.zeros(weights.shape)
    out[at, private0, private1] = game.returns(game.deal(states[at], private0, private1))[:, 0]
    return out * weights


def check_factored(game: Game, rng: np.random.Generator, *, width: int = 400) -> int:
    """Return how many public states were held against their histories.

    Every public state is looked at with every pair of private states, up to `width` random public states of
    each depth: who acts, the actions, the probabilities of chance, infosets that tell the private state and
    nothing of the other's, payoffs by kind, payoffs in structured form if the game has one, and that the
    root's weights are the dealing's, if it has at most 100,000 histories.
    Raises GameError that names the function and the rule.
    """
    if not isinstance(game, FactoredGame):
        raise GameError(f"{game.name}: a factored game must offer the functions of FactoredGame; it does not")
    root = game.public_root()
    _check_deal(game, root)
    states, seen = root, 0
    kinds: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    while len(states):
        if len(states) > width:
            states = states[np.sort(rng.choice(len(states), width, replace=False))]
        seen += len(states)
        acting, actions = game.player(states), game.actions(states)
        for row in range(len(states)):
            _check_public(game, states[row : row + 1], kinds)
        _check_forms(game, states[acting == TERMINAL])
        inner = actions.counts > 0
        states = game.step(states, actions.rows, actions.values)
        if not np.array_equal(inner, acting != TERMINAL):
            raise GameError(f"{game.name}: a public state must have actions where it is no terminal one")
    return seen


def _refuse(game: Game, function: str, rule: str) -> None:
    raise GameError(f"{game.name}: {function} {rule}; see games.infosets.factored")


def _pairs(game: FactoredGame, state: Array) -> tuple[Array, NDArray[np.int64], NDArray[np.float64]]:
    """Return (histories, their private states [m, 2], weights [m]) that a public state stands for."""
    weights = game.deal_weights(state)[0]
    if weights.shape != game.private_states() or (weights < 0).any():
        _refuse(game, "deal_weights", f"must be at least 0 and [n, {game.private_states()}]")
    pairs = np.argwhere(weights > 0)
    return game.deal(state[np.zeros(len(pairs), np.int64)], *pairs.T), pairs, weights[weights > 0]


def _check_deal(game: FactoredGame, root: Array) -> None:
    """Hold the weights at the public root against the histories that chance deals."""
    states, mass = game.root(), np.ones(1)
    while (game.player(states) == CHANCE).all():
        actions = game.actions(states)
        if len(actions.values) > MOST_DEALT:
            return
        mass = mass[actions.rows] * game.chance_probs(states, actions)
        states = game.step(states, actions.rows, actions.values)
    if not np.array_equal(game.public_state(states), root[np.zeros(len(states), np.int64)]):
        _refuse(game, "public_state", "must be public_root() where the dealing is over")
    keys = [game.infoset_key(states, player) for player in (0, 1)]
    found: dict[bytes, float] = {}
    for key, p in zip(np.concatenate(keys, axis=1), mass, strict=True):
        found[key.tobytes()] = found.get(key.tobytes(), 0.0) + float(p)
    histories, _, weights = _pairs(game, root)
    keys = [game.infoset_key(histories, player) for player in (0, 1)]
    told = {key.tobytes(): float(p) for key, p in zip(np.concatenate(keys, axis=1), weights, strict=True)}
    if found.keys() != told.keys() or any(abs(found[k] - told[k]) > WEIGHT_TOLERANCE for k in found):
        _refuse(game, "deal_weights", "must give at the root what chance deals")


def _check_forms(game: FactoredGame, ends: Array) -> None:
    """Hold payoffs in structured form against those of the histories."""
    if not len(ends) or not isinstance(game, StructuredGame):
        return
    forms, wanted = game.payoff_forms(ends), _matrices(game, ends)
    if len(forms) != len(ends) or forms.private != game.private_states():
        _refuse(game, "payoff_forms", f"must be of {len(ends)} states and {game.private_states()}")
    allowed = PAYOFF_TOLERANCE * max(map(abs, game.payoff_range))
    for row in range(len(ends)):
        if np.abs(forms.dense(row) - wanted[row]).max() > allowed:
            _refuse(game, "payoff_forms", "must be the payoffs times deal_weights")
        for player, paid in ((0, wanted[row]), (1, -wanted[row].T)):
            # Sums over sorted strengths, for a reach that tells all private states apart.
            reach = np.arange(1.0, paid.shape[1] + 1)
            if np.abs(forms.values(row, player, reach) - paid @ reach).max() > allowed * reach.sum():
                _refuse(game, "payoff_forms", "must add up to the payoffs times deal_weights")


def _check_public(
    game: FactoredGame, state: Array, kinds: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]]
) -> None:
    """Hold one public state against its histories."""
    histories, pairs, weights = _pairs(game, state)
    if not np.array_equal(game.public_state(histories), state[np.zeros(len(histories), np.int64)]):
        _refuse(game, "public_state", "must undo deal")
    acting = int(game.player(state)[0])
    if (game.player(histories) != acting).any():
        _refuse(game, "player", "must be one for all private states")
    for player in (0, 1):
        keys = [key.tobytes() for key in game.infoset_key(histories, player)]
        if len(set(zip(keys, pairs[:, player], strict=True))) != len(set(keys)) or len(set(keys)) != len(
            set(pairs[:, player].tolist())
        ):
            _refuse(game, "infoset_key", "must tell the own private state and nothing of the other's")
    if acting == TERMINAL:
        paid = np.zeros(game.private_states())
        paid[tuple(pairs.T)] = game.returns(histories)[:, 0]
        kind = int(game.payoff_kinds(state)[0])
        known = kinds.setdefault(kind, (paid, game.deal_weights(state)[0]))
        if not np.array_equal(known[0], paid) or not np.allclose(known[1], game.deal_weights(state)[0]):
            _refuse(game, "payoff_kinds", "must be equal only where payoffs and weights are")
        return
    open_actions = game.actions(state)
    listed = game.actions(histories)
    if acting != CHANCE:
        for row in range(len(histories)):
            if not np.array_equal(listed[row], open_actions.values):
                _refuse(game, "actions", "must be one for all private states where a player acts")
        return
    probs = game.chance_probs(histories, listed)
    after = game.deal_weights(game.step(state, open_actions.rows, open_actions.values))
    expected = np.zeros_like(after)
    place = {int(action): at for at, action in enumerate(open_actions.values)}
    for row, action, p in zip(listed.rows, listed.values, probs, strict=True):
        if int(action) not in place:
            _refuse(game, "actions", "must hold all that chance may show for any private states")
        expected[(place[int(action)], *pairs[row])] = weights[row] * p
    if np.abs(expected - after).max() > WEIGHT_TOLERANCE:
        _refuse(game, "deal_weights", "must be multiplied by what chance shows")
