"""Continuations by name: how a seat may play on from the depth limit, made of any blueprint.

    blueprint      as it is
    greedy         the action of highest Q
    uniform        any action
    first, last    the blueprint with the first or last legal action BIAS times likelier
    class2         the blueprint with actions of class 2 (`Game.action_type`) BIAS times likelier
    class2*10      the same, ten times

Several stand in one text with plus signs between: `blueprint+greedy+class2*10`.
Source: Brown, Sandholm and Amos 2018, "Depth-limited solving", who bias towards fold, call and raise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint, values_histories
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.configuration import ConfigError

BIAS = 5.0
"""How much likelier a biased continuation makes its favoured action (Brown, Sandholm and Amos: 5 to 10)."""
PLAIN = ("blueprint", "greedy", "uniform", "first", "last")
_CLASS = re.compile(r"class(\d+)(?:\*([0-9.eE-]+))?")


@dataclass(frozen=True)
class Continuation:
    """One way to play on.

    kind: one of `PLAIN` or "class"; on a tree also "best", the best response to the blueprint.
    number: the class of actions, or how far from the first or last the favoured one is. size: how many times
    likelier the favoured actions are.
    """

    kind: str
    number: int = 0
    size: float = BIAS

    @property
    def name(self) -> str:
        """Return the text that names it."""
        if self.kind == "class":
            return f"class{self.number}" + (f"*{self.size:g}" if self.size != BIAS else "")
        return self.kind

    def probs(
        self,
        actions: Ragged,
        classes: Callable[[], NDArray[np.int64]],
        policy: Callable[[], NDArray[np.float64]],
        q: Callable[[], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64.

        actions: one row for each history or infoset. classes, policy, q: give the class, probability and
        value of each action, [m], where they are needed.
        """
        if self.kind == "blueprint":
            return policy()
        if self.kind == "uniform":
            return (1.0 / actions.counts)[actions.rows]
        if self.kind == "greedy":
            return greedy(actions, q())
        if self.kind == "class":
            favoured = classes() == self.number
        else:
            favoured, first = np.zeros(len(actions.values), bool), self.kind == "first"
            place = actions.offsets[:-1] + self.number if first else actions.offsets[1:] - 1 - self.number
            favoured[place[actions.counts > self.number]] = True
        return biased(actions, policy(), favoured, self.size)


def usual_continuations(count: int) -> tuple[Continuation, ...]:
    """Return the first of: the blueprint, its best response, and it biased to the last action, the first, the
    last but one, …
    """
    biased = [Continuation(kind, k) for k in range(count // 2) for kind in ("last", "first")]
    return (Continuation("blueprint"), Continuation("best"), *biased)[:count]


def biased(
    actions: Ragged, probs: NDArray[np.float64], favoured: NDArray[np.bool_], factor: float
) -> NDArray[np.float64]:
    """Return probabilities after those of favoured actions were multiplied and rows made to sum to 1, [m].

    probs: [m] float64. favoured: [m] bool. factor: positive.
    """
    weight = probs * np.where(favoured, factor, 1.0)
    mass = np.bincount(actions.rows, weight, minlength=len(actions))
    shares: NDArray[np.float64] = weight / mass[actions.rows]
    return shares


def greedy(actions: Ragged, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 for the first action of highest q in each row and 0 elsewhere, [m] float64."""
    best = np.maximum.reduceat(q, actions.offsets[:-1])
    hits = np.flatnonzero(q >= best[actions.rows])
    first = hits[np.unique(actions.rows[hits], return_index=True)[1]]
    out = np.zeros(len(q))
    out[first] = 1.0
    return out


class ValuedByAnother:
    """A blueprint that plays by itself and values as another, `base`, does."""

    base: Blueprint

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        """Return the other blueprint's value of each action, [m] float64."""
        return self.base.q(game, states, player, actions)

    def value(self, game: Game, states: Array, player: int) -> Array:
        """Return the other blueprint's value of each state, [n] float64."""
        return self.base.value(game, states, player)


class ContinuationBlueprint(ValuedByAnother):
    """A blueprint that plays as a continuation of another."""

    def __init__(self, base: Blueprint, continuation: Continuation) -> None:
        """Take the blueprint and what is changed in it."""
        self.base, self.continuation = base, continuation
        self.name = f"{base.name}, {continuation.name}"

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64."""
        return self.continuation.probs(
            actions,
            lambda: game.action_type(actions.values),
            lambda: self.base.policy(game, states, player, actions),
            lambda: self.base.q(game, states, player, actions),
        )


def rollout_play(blueprint: Blueprint, *, greedy: bool) -> Blueprint:
    """Return what everybody plays in rollouts: the blueprint, or with `greedy` its action of highest Q.

    One that values single histories plays its policy all the same: its highest Q sees what a seat does not.
    """
    if greedy and not values_histories(blueprint):
        return ContinuationBlueprint(blueprint, Continuation("greedy"))
    return blueprint


def read_continuations(text: str) -> tuple[Continuation, ...]:
    """Return the continuations that a text names, in its order.

    Raises ConfigError for a name that is none, a factor that is not positive, and one that comes twice.
    """
    found = tuple(_read(part.strip()) for part in text.split("+"))
    if len(set(found)) < len(found):
        raise ConfigError(f"policies must name each continuation once; got {text!r}")
    return found


def _read(name: str) -> Continuation:
    if name in PLAIN:
        return Continuation(name)
    try:
        if (found := _CLASS.fullmatch(name)) is not None:
            size = BIAS if found[2] is None else float(found[2])
            if 0 < size < np.inf:
                return Continuation("class", int(found[1]), size)
    except ValueError:
        pass
    raise ConfigError(
        f"policies must name continuations: {', '.join(PLAIN)}, class2 or class2*10, with plus signs "
        f"between; got {name!r}"
    )


def continuation_blueprints(base: Blueprint, text: str) -> tuple[Blueprint, ...]:
    """Return the blueprints that a text names, in its order; `blueprint` is the base itself.

    Raises ConfigError as `read_continuations`.
    """
    return tuple(
        base if read.kind == "blueprint" else ContinuationBlueprint(base, read)
        for read in read_continuations(text)
    )
