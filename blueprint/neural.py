"""The trained network as a `Blueprint`, and what every blueprint must keep, neural or tabular."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.chooser import Decisions
from blueprint.protocol import Blueprint
from games.contract import ContractError
from games.game import TERMINAL, Game
from games.ragged import Ragged

if TYPE_CHECKING:
    from blueprint.guandan.network.inference import Inference

__all__ = ["BlueprintError", "BlueprintReport", "NeuralBlueprint", "check_blueprint", "load_blueprint"]

TEMPERATURE = 0.06
"""Levels, as training begins with: actions this much worse than the best are e times less likely."""


class BlueprintError(ContractError):
    """A blueprint that was asked about what it does not know, or that does not keep its contract."""


def _row_sums(values: NDArray, actions: Ragged) -> NDArray[np.float64]:
    """Return the sum of each row's values, [n] float64."""
    return np.bincount(actions.rows, values, minlength=len(actions)).astype(np.float64)


class NeuralBlueprint:
    """A network trained on GuanDan: q = V(I) + A(I, a), in levels, soft choice by advantage.

    A is learned against a critic of all four hands, so only its differences within a decision mean anything;
    q is centred so that its mean under the soft policy is V(I), and kept within the payoffs.
    """

    def __init__(self, inference: Inference, *, temperature: float = TEMPERATURE) -> None:
        """Take the network's fast path. temperature: of the soft policy, in levels; 0 is the best move."""
        if not 0 <= temperature <= 100:
            raise BlueprintError(f"temperature must be in [0, 100] levels; got {temperature}")
        self.inference = inference
        self.temperature = temperature
        self.name = inference.name

    def q(self, game: Game, states: NDArray, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the value to `player` of each action, [m] float64 in levels.

        Raises BlueprintError for another game than GuanDan.
        """
        advantage, policy = self._ask(game, states, player, actions)
        mean = _row_sums(advantage * policy, actions)
        value = self.value(game, states, player)
        return np.clip(advantage + (value - mean)[actions.rows], *game.payoff_range)

    def policy(self, game: Game, states: NDArray, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the softmax of advantage / temperature over each row, [m] float64.

        At temperature 0 the best action has probability 1, the first among equals.
        """
        return self._ask(game, states, player, actions)[1]

    def value(self, game: Game, states: NDArray, player: int) -> NDArray[np.float64]:
        """Return the payoff that `player` expects from what it sees, [n] float64 in levels."""
        self._check(game)
        n = len(states)
        return self.inference.values(states, np.arange(n), np.full(n, player, np.int64))

    def _ask(
        self, game: Game, states: NDArray, player: int, actions: Ragged
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        self._check(game)
        n = len(states)
        found = self.inference.advantages(Decisions.of(states, actions, np.full(n, player)))
        advantage = found.astype(np.float64)
        filled = np.flatnonzero(actions.counts)
        starts = actions.offsets[filled]
        best = np.zeros(n)
        best[filled] = np.maximum.reduceat(advantage, starts) if len(filled) else 0
        behind = advantage - best[actions.rows]
        if self.temperature > 0:
            weight = np.exp(behind / self.temperature)
        else:
            index = np.arange(len(behind))
            index[behind < 0] = len(behind)
            first = np.full(n, len(behind))
            first[filled] = np.minimum.reduceat(index, starts) if len(filled) else 0
            weight = (np.arange(len(behind)) == first[actions.rows]).astype(np.float64)
        return advantage, weight / _row_sums(weight, actions)[actions.rows]

    def _check(self, game: Game) -> None:
        if game.name.partition("(")[0] != "guandan":
            raise BlueprintError(f"{self.name} was trained on guandan; got {game.name}; train one for it")


def load_blueprint(
    path: str | os.PathLike[str] | None = None, *, temperature: float = TEMPERATURE
) -> NeuralBlueprint:
    """Return the blueprint of a checkpoint, by default the one that comes with the package.

    It answers in single precision, so that what else is in a batch does not matter.
    temperature: of the soft policy, in levels.
    Raises CheckpointError if the file is missing, damaged or foreign.
    """
    from blueprint.guandan.network.inference import load_inference

    return NeuralBlueprint(load_inference(path, critic=False, half=False), temperature=temperature)


@dataclass(frozen=True)
class BlueprintReport:
    """What `check_blueprint` saw: decisions asked about, and the extremes of q and of values."""

    decisions: int
    lowest: float
    highest: float


def check_blueprint(
    blueprint: Blueprint,
    game: Game,
    rng: np.random.Generator,
    *,
    plays: int = 20,
    states: NDArray | None = None,
    tolerance: float = 0.05,
) -> BlueprintReport:
    """Return what was seen while checking that a blueprint keeps its contract on a game.

    Random plays are walked through; at every decision: q, policy and value have one finite number for each
    action or state; probabilities are not negative and sum to 1; q and values lie within the game's payoffs;
    the policy's mean of q is the value; and an infoset gets the same answers whatever is hidden from it and
    whatever else is asked in the batch.
    plays: random plays from `states`, by default from the game's root (drawn with replacement).
    tolerance: allowed error of the mean, of the bounds and between answers, in payoffs.
    Raises BlueprintError naming what does not hold, and where.
    """
    low, high = game.payoff_range
    now = game.root() if states is None else states
    now = now[rng.integers(0, len(now), plays)]
    count, lowest, highest = 0, np.inf, -np.inf
    while len(now):
        players = np.asarray(game.player(now), np.int64)
        now, players = now[players != TERMINAL], players[players != TERMINAL]
        if len(now) == 0:
            break
        actions = game.actions(now)
        for player in np.unique(players[players >= 0]):
            rows = np.flatnonzero(players == player)
            at, table = now[rows], actions.take(rows)
            q, policy, value = _answers(blueprint, game, at, int(player), table)
            _require(blueprint, game, at, int(player), table, (q, policy, value), (low, high), tolerance)
            count += len(rows)
            lowest, highest = min(lowest, q.min(), value.min()), max(highest, q.max(), value.max())
        pick = actions.offsets[:-1] + (rng.random(len(now)) * actions.counts).astype(np.int64)
        now = game.step(now, np.arange(len(now)), actions.values[pick])
    return BlueprintReport(count, float(lowest), float(highest))


def _answers(
    blueprint: Blueprint, game: Game, states: NDArray, player: int, actions: Ragged
) -> tuple[NDArray, NDArray, NDArray]:
    q = np.asarray(blueprint.q(game, states, player, actions))
    policy = np.asarray(blueprint.policy(game, states, player, actions))
    value = np.asarray(blueprint.value(game, states, player))
    for name, array, size in (
        ("q", q, len(actions.values)),
        ("policy", policy, len(actions.values)),
        ("value", value, len(states)),
    ):
        if array.shape != (size,) or not np.all(np.isfinite(array)):
            raise BlueprintError(
                f"{blueprint.name}: {name} must be {size} finite numbers; got shape {array.shape}"
                + (", not all of them finite" if array.shape == (size,) else "")
            )
    return q, policy, value


def _require(
    blueprint: Blueprint,
    game: Game,
    states: NDArray,
    player: int,
    actions: Ragged,
    answers: tuple[NDArray, NDArray, NDArray],
    payoffs: tuple[float, float],
    tolerance: float,
) -> None:
    q, policy, value = answers
    low, high = payoffs

    def fail(rule: str, bad: NDArray[np.bool_], got: NDArray) -> None:
        if np.any(bad):
            row = int(np.argmax(bad))
            where = game.infoset_text(states[row], player)
            raise BlueprintError(f"{blueprint.name}: {rule}; got {got[row]} at {where}")

    rows = actions.rows
    negative = np.bincount(rows[policy < 0], minlength=len(states)) > 0
    fail("a probability must not be negative", negative, _row_sums(np.minimum(policy, 0), actions))
    total = _row_sums(policy, actions)
    fail("probabilities must sum to 1", np.abs(total - 1) > 1e-6, total)
    keys = game.infoset_key(states, player)
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    same = first[group.ravel()]
    twin = actions.offsets[same][rows] + np.arange(len(rows)) - actions.offsets[rows]
    for name, array, at, other in (("value", value, np.arange(len(states)), same), ("q", q, rows, twin)):
        apart = np.zeros(len(states))
        np.maximum.at(apart, at, np.abs(array - array[other]))
        fail(f"{name} must be the same throughout an infoset", apart > tolerance, apart)
    mean = _row_sums(policy * q, actions)
    fail("the policy's mean of q must be the value", np.abs(mean - value) > tolerance, mean - value)
    for name, array, at in (("q", q, rows), ("value", value, np.arange(len(states)))):
        out = np.zeros(len(states))
        np.maximum.at(out, at, np.maximum(low - array, array - high))
        fail(f"{name} must lie in [{low}, {high}]", out > tolerance * (high - low), out)
    one = np.array([0])
    alone = _answers(blueprint, game, states[one], player, actions.take(one))
    for got, batch in zip(alone, answers, strict=True):
        apart = np.abs(got - batch[: len(got)]).max()
        fail("answers must not depend on the batch", np.array([apart > tolerance]), np.array([apart]))
