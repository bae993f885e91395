"""Histories as rows of actions from the root: what they lead to, and how likely they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, Game, GameError
from games.infosets.trail import same_actions, walk
from games.ragged import Ragged
from games.support.array_types import Array

PlayRule = Callable[[Game, Any, int, Ragged], NDArray[np.float64]]
"""(game, states, player, actions) -> [m] float64, action probabilities: a blueprint's `policy`, say."""


@dataclass(frozen=True, eq=False)
class HistorySample:
    """Different histories of one infoset; n of them.

    lines: the actions from the root that make them, a row for each. states: [n] of the game's.
    chance: [n] float64, the probability of chance's part of each; 1 where `stands` says it all.
    players: [n, P] float64, that of every player's own part under the policy; 1 without one.
    stands: [n] float64, how many histories each stands for, itself included; 1 where all are there.
    complete: whether these are all histories of the infoset.
    scaled: whether sums over the sample estimate sums over the infoset; False for a game's own sample and
        where chance leads there with less than 1e-200, of which only ratios do.
    sealed: whether every history that shows the player what it sees here leads to exactly one of these, or to
        the end of the game: whatever it sees later, it then sees below them. False where nobody looked.
    """

    lines: Ragged
    states: Array
    chance: NDArray[np.float64]
    players: NDArray[np.float64]
    stands: NDArray[np.float64]
    complete: bool
    scaled: bool = True
    sealed: bool = False

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
            self.sealed and every,
        )


def joined_samples(samples: Sequence[HistorySample]) -> HistorySample:
    """Return the histories of several infosets in one row, which is a sample of none."""
    return HistorySample(
        _end_to_end([sample.lines for sample in samples]),
        np.concatenate([sample.states for sample in samples]),
        np.concatenate([sample.chance for sample in samples]),
        np.concatenate([sample.players for sample in samples]),
        np.concatenate([sample.stands for sample in samples]),
        False,
        all(sample.scaled for sample in samples),
    )


def _end_to_end(lines: list[Ragged]) -> Ragged:
    counts = np.concatenate([line.counts for line in lines])
    return Ragged.from_counts(counts, np.concatenate([line.values for line in lines]))


def follow_lines(
    game: Game, lines: Ragged, policy: PlayRule | None = None
) -> tuple[Array, NDArray[np.float64], NDArray[np.float64]]:
    """Return (states [n], chance's part [n], players' parts [n, P]) of rows of actions from the root.

    policy: what the players' parts, probabilities like chance's, are those of; 1 without one.

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
        prob = probabilities(game, going, who, actions, policy)[same]
        dealt = who == CHANCE
        chance[rows[on[dealt]]] *= prob[dealt]
        acts = np.flatnonzero(~dealt)
        players[rows[on[acts]], who[acts]] *= prob[acts]
    return ends, chance, players


def probabilities(
    game: Game, states: Array, who: NDArray[np.int8], actions: Ragged, policy: PlayRule | None
) -> NDArray[np.float64]:
    """Return the probability of each action, [m] float64: chance's, the policy's, or 1 without one."""
    prob = np.ones(len(actions.values))
    open_ = actions.counts > 1  # nobody is asked about a forced move
    for seat in range(CHANCE, game.num_players if policy is not None else 0):
        mine = open_ & (who == seat)
        rows = np.flatnonzero(mine)
        if len(rows) == 0:
            continue
        alone = len(rows) == len(who)
        sub = actions if alone else actions.take(rows)
        at = slice(None) if alone else np.repeat(mine, actions.counts)
        part = states if alone else states[rows]
        if seat == CHANCE:
            prob[at] = game.chance_probs(part, sub)
        elif policy is not None:
            prob[at] = policy(game, part, seat, sub)
    return prob


def line_order(lines: Ragged) -> NDArray[np.int64]:
    """Return the order of different histories by their actions, [n] int64: that of a tree's level."""
    if lines.values.ndim == 1 and lines.values.dtype.kind in "iu":
        return np.lexsort(_table(lines).T[::-1]) if len(lines.values) else np.arange(len(lines))
    return np.argsort(line_names(lines), kind="stable")


def _table(lines: Ragged) -> Array:
    """Return rows of actions as a rectangle, [n, longest, ...], filled up with zeros."""
    width = max(1, int(lines.counts.max(initial=0)))
    table = np.zeros((len(lines), width, *lines.values.shape[1:]), lines.values.dtype)
    table[lines.rows, np.arange(len(lines.values)) - lines.offsets[:-1][lines.rows]] = lines.values
    return table


def line_names(lines: Ragged) -> Array:
    """Return one sortable value for each row of actions, equal where the rows are."""
    flat = np.ascontiguousarray(_table(lines)).view(np.uint8).reshape(len(lines), -1)
    named = np.concatenate([flat, lines.counts.astype("<i8").view(np.uint8).reshape(-1, 8)], axis=1)
    return np.ascontiguousarray(named).view(np.dtype((np.void, named.shape[1])))[:, 0]
