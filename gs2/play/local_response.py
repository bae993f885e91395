"""Local best response in any game: a responder that knows the agent and looks one action ahead.

At each decision it holds the posterior over what it cannot see (`games.infosets.sampling`). Every action is
tried in rollouts from there, in which both sides go on as the agent would. The better half is tried again,
with twice the rollouts, until one is left. The actions of an infoset share their hidden states and random
numbers, so what they differ by is what they cause.
Source: Lisý and Bowling 2017 (in poker, rolling out check and call). Halving: Karnin, Koren and Somekh 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Agent, Blueprint, Decisions, agent_name, agent_of, probabilities, seat_by_seat
from cfr.best_response import counterfactual_values
from cfr.tree import FlatTree
from cfr.values import check_policy
from games.game import Game
from games.infosets.following import Following
from games.infosets.trail import SeatTrail, Trail
from games.ragged import Ragged
from games.support.array_types import Array
from gs2.play.game_pairs import NumberedGames

TOGETHER = 32
"""Infosets that are decided together."""


@dataclass(frozen=True, eq=False)
class _Belief:
    """Histories that a player holds possible, those of one infoset together.

    states: [m], at each of which the player is to act. offsets: [n + 1] int64, those of infoset i are
    `offsets[i]:offsets[i + 1]`; none where the agent plays none. weight: [m] float64, summing to 1 in each.
    listed: in how many infosets these are all, and not thinned.
    """

    states: Array
    offsets: NDArray[np.int64]
    weight: NDArray[np.float64]
    listed: int


class LocalResponder:
    """A local best responder: an agent that follows the games.

    model: the agent that it responds to; where that one searches, its blueprint is the cheaper model, and
    what is gained against the searching agent is a lower bound all the same. What it chose at an infoset is
    remembered, so it is one fixed strategy. seed: of its posteriors and rollouts.
    most: histories followed to an infoset up to which its posterior is exact. rollouts: of each action in the
    first comparison; each later one doubles them. halvings: comparisons at most, from 1 on; the last one
    decides among all that are left.
    decisions, listed: infosets decided, and how many of them with an exact posterior.
    """

    follows = True

    def __init__(
        self,
        model: Agent | Blueprint,
        *,
        seed: int = 0,
        most: int = 1024,
        rollouts: int = 32,
        halvings: int = 3,
    ) -> None:
        """Take the agent to respond to. Raises ValueError for numbers out of range."""
        if most < 4 or rollouts < 1 or not 1 <= halvings <= 16:
            rule = "most must be at least 4, rollouts at least 1 and halvings in 1..16"
            raise ValueError(f"LocalResponder: {rule}; got {most}, {rollouts} and {halvings}")
        self.model, self.seed = agent_of(model), seed
        self.most, self.rollouts, self.halvings = most, rollouts, halvings
        self.name = f"local best response to {agent_name(self.model)}"
        self.decisions = self.listed = 0
        self._known: dict[tuple[int, bytes], int] = {}

    def __call__(self, decisions: Decisions) -> Array:
        """Return the probability of each action, [m] float64: 1 for the best one.

        Raises ValueError without a past: there is no posterior without the way to an infoset.
        """
        return seat_by_seat(decisions, self._policy)

    def _policy(self, decisions: Decisions, player: int) -> Array:
        game, past, actions = decisions.game, decisions.past, decisions.table
        if past is None:
            raise ValueError(f"{self.name}: it needs the course of the game; pass Decisions.past")
        states = decisions.states[decisions.rows]
        names = [(player, key.tobytes()) for key in game.infoset_key(states, player)]
        new = {name: row for row, name in enumerate(names) if name not in self._known}
        rows = sorted(new.values())
        for start in range(0, len(rows), TOGETHER):
            part = rows[start : start + TOGETHER]
            legal = actions.take(np.array(part))
            style = probabilities(self.model, Decisions.of(states[part], legal, player, game=game))
            trails = [past.of(int(decisions.rows[row])) for row in part]
            chosen = self._best(game, player, legal, trails, style)
            self._known.update(zip((names[row] for row in part), chosen.tolist(), strict=True))
        found = np.zeros(len(actions.values))
        found[actions.offsets[:-1] + np.array([self._known[name] for name in names], np.int64)] = 1.0
        return found

    def _best(
        self, game: Game, player: int, actions: Ragged, trails: list[SeatTrail], style: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return the place of the best action at each of some infosets, [n] int64.

        style: [m] float64, the agent's own policy, whose first choice is taken where no history is possible.
        """
        words = np.concatenate([trail.seen[-1] for trail in trails])
        rng = np.random.default_rng([self.seed, player, *words.tolist()])
        belief = self._believed(game, player, [trail.of(player) for trail in trails], rng)
        self.decisions += len(trails)
        self.listed += belief.listed
        best = np.lexsort((-style, actions.rows))[actions.offsets[:-1]] - actions.offsets[:-1]
        held = np.diff(belief.offsets) > 0
        candidate = np.flatnonzero(held[actions.rows])  # places in actions.values
        seed = int(rng.integers(1 << 62))
        total, count = np.zeros(len(actions.values)), 0
        for comparison in range(self.halvings):
            if len(candidate) == 0:
                break
            n = self.rollouts << comparison
            draw = (seed, comparison, n)
            total[candidate] += n * self._tried(game, player, actions, candidate, belief, draw)
            count += n
            last = comparison == self.halvings - 1
            candidate = _better(candidate, actions, total / count, last)
            alone = np.bincount(actions.rows[candidate], minlength=len(trails))[actions.rows[candidate]] == 1
            done = candidate[alone]
            best[actions.rows[done]] = done - actions.offsets[actions.rows[done]]
            candidate = candidate[~alone]
        return best

    def _believed(self, game: Game, player: int, trails: list[Trail], rng: np.random.Generator) -> _Belief:
        """Return the posterior at each infoset, given how the agent plays."""

        def rule(game: Game, states: Array, seat: int, actions: Ragged) -> NDArray[np.float64]:
            return probabilities(self.model, Decisions.of(states, actions, seat, game=game))

        most = self.most
        found = Following(game, trails, most, most, rng, rule, 0.0, False).run()
        there = [sample for sample in found if sample is not None]
        counts = [0 if sample is None else len(sample) for sample in found]
        return _Belief(
            np.concatenate([sample.states for sample in there]) if there else game.root()[:0],
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([np.zeros(0), *(sample.weights(player) for sample in there)]),
            sum(bool(np.all(sample.stands == 1)) for sample in there),
        )

    def _tried(
        self,
        game: Game,
        player: int,
        actions: Ragged,
        candidate: NDArray[np.int64],
        belief: _Belief,
        draw: tuple[int, int, int],
    ) -> NDArray[np.float64]:
        """Return the mean payoff to `player` of each candidate action, [candidates] float64."""
        seed, comparison, n = draw
        rng = np.random.default_rng(draw)
        infosets, which = np.unique(actions.rows[candidate], return_inverse=True)
        rows = np.concatenate([np.arange(*belief.offsets[i : i + 2]) for i in infosets])
        offsets = np.concatenate([[0], np.cumsum(np.diff(belief.offsets)[infosets])])
        drawn = rows[systematic_rows(belief.weight[rows], offsets, n, rng)]
        drawn = rng.permuted(drawn, axis=1)
        start = belief.states[drawn[which].ravel()]
        after = game.step(start, np.arange(len(start)), np.repeat(actions.values[candidate], n, axis=0))
        stream = (which[:, None] * n + np.arange(n)).ravel() * self.halvings + comparison
        payoff = play_on(game, self.model, after, stream, seed)[:, player]
        mean: NDArray[np.float64] = payoff.reshape(-1, n).mean(1)
        return mean


def tree_response(
    tree: FlatTree, policy: NDArray[np.float64], player: int, *, best: bool = False
) -> NDArray[np.float64]:
    """Return the policy with the player's local best response in it, or its best one, [n_slots] float64.

    The local one takes at each infoset the best action if play goes on by `policy` after it; its belief is
    the exact posterior. By policy improvement it gets at least what `policy` gets against itself. Infosets
    that the others never lead to keep the policy.
    Raises ValueError for a policy of another size or a seat out of range.
    """
    values = counterfactual_values(tree, policy, player, best_response=best)
    answer = check_policy(tree, policy).copy()
    for infoset in np.flatnonzero(values.reach > 0):
        first, last = tree.infoset_offset[infoset : infoset + 2]
        answer[first:last] = 0.0
        answer[first + int(np.argmax(values.slot[first:last]))] = 1.0
    return answer


def systematic_rows(
    weight: NDArray[np.float64], offsets: NDArray[np.int64], wanted: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return `wanted` rows of each group drawn in proportion to weight by one random number a group, [g,
    wanted].

    weight: [m] float64, groups at `offsets` [g + 1], none of them empty. Source: Kitagawa 1996.
    """
    total = np.concatenate([[0.0], np.cumsum(weight)])
    low, high = total[offsets[:-1]], total[offsets[1:]]
    step = (np.arange(wanted) + rng.random((len(low), 1))) / wanted
    places = low[:, None] + step * (high - low)[:, None]
    rows = np.searchsorted(total, places, side="right") - 1
    clipped: NDArray[np.int64] = np.clip(rows, offsets[:-1, None], offsets[1:, None] - 1)
    return clipped


def _better(
    candidate: NDArray[np.int64], actions: Ragged, mean: NDArray[np.float64], last: bool
) -> NDArray[np.int64]:
    """Return the better half of each infoset's candidates, or with `last` the best one."""
    rows = actions.rows[candidate]
    order = np.lexsort((-mean[candidate], rows))
    counts = np.bincount(rows, minlength=len(actions))
    rank = np.arange(len(order)) - (np.cumsum(counts) - counts)[rows[order]]
    keep = 1 if last else (counts + 1) // 2
    kept: NDArray[np.int64] = candidate[order[rank < (keep if last else np.asarray(keep)[rows[order]])]]
    return np.sort(kept)


def play_on(
    game: Game, agent: Agent, states: Array, stream: NDArray[np.int64], seed: int
) -> NDArray[np.float64]:
    """Return the payoffs of playing each state on with one agent in all seats, [n, players] float64.

    stream: [n] int64; states of the same stream draw the same random numbers, in the order of each seat's and
    chance's turns.
    """
    games = NumberedGames(game, states, stream, seed)
    while games.go_on():
        games.take_turns(partial(probabilities, agent))
    return games.payoff
