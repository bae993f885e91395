"""Deals sampled at one decision: the source of GuanDan's subgames, and the problem that the kept ones make.

The seats that decide in the subgame are ours and the opponents'; the partner is chance, by the blueprint.
Each of the two opponents may decline a history for its alternative value before play begins (resolving
gadget: chance, A's choice, B's choice); with one opponent left its least margin is maximised instead.
Deals are kept from one decision of a seat to the next while they agree with what was seen (nested search): a
particle is the deal as it stood at the start of the round. Those that die are replaced by the new deals that
differ most from the survivors in their alternative values.
Source: GS2 supplement, appendix C. An opponent does not act at the history, so its Q of C.7 is that of its
next decision. Where C says nothing we had to choose: deals weigh the same where all would weigh nothing, and
the tree is held to a number of nodes by thinning the moves of crowded levels, infoset by infoset.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.tree import TreeRules
from cfr.values import node_values
from cfr.variants import DEFAULT_VARIANT
from games.game import TERMINAL, Game
from games.guandan.cards import PASS, unpack
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan, advance
from games.guandan.rounds.state import action_words
from games.ragged import Ragged
from games.support.array_types import Array
from gs2.guandan.agent.deals.determinize import Worlds
from gs2.guandan.agent.decision import Decision, SampledSolution
from gs2.guandan.agent.evaluator import Evaluator, best_actions, best_moves, evaluator_values
from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.agent.rollout import Rollouts
from gs2.search.config.search import SearchConfig
from gs2.search.context import Log
from gs2.search.gadget.path import Entry
from gs2.search.generation import generate
from gs2.search.pipeline import Problem, solve_subgame
from gs2.search.subgame.cut import Subgame
from gs2.search.subgame.forest import grow_subgame

REMEMBERED = 64
"""Rounds of which an agent keeps deals."""


class DealMemory:
    """The deals that an agent keeps of each round and seat that it plays, the oldest of many forgotten."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Array] = {}

    def remember(self, states: Array, seat: int) -> None:
        """Keep the deals of some states of a seat's round, [n] STATE, instead of those kept before."""
        key = self._key(states, seat)
        self._kept.pop(key, None)
        self._kept[key] = states["hand"] + states["played"]
        while len(self._kept) > REMEMBERED:
            del self._kept[next(iter(self._kept))]

    def survivors(self, state: Array, seat: int) -> Array:
        """Return the deals kept that still agree with what `seat` knows at a state of the round, [n] STATE.

        They agreed when they were kept: whoever has played a card since must have been dealt it.
        state: [1] STATE.
        """
        deals = self._kept.get(self._key(state, seat))
        if deals is None:
            return state[:0]
        dealt = unpack(deals) >= unpack(state["played"][0])
        alive = dealt.all(axis=(1, 2))
        out = np.repeat(state, np.count_nonzero(alive))
        out["hand"] = deals[alive] - state["played"][0]
        return out

    @staticmethod
    def _key(states: Array, seat: int) -> bytes:
        """Return a seat's round, which is told by how it began."""
        row = states[0]
        start: Array = row["hand"][seat] + row["played"][seat]
        told = [seat, *(int(row[name]) for name in ("level", "first", "owner")), *row["levels"].tolist()]
        return bytes(told) + start.tobytes()


def top_up(kept: NDArray[np.float64], offered: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return which of the offered deals to add, [count] at most, each the most different from those in.

    kept: [q, a], offered: [q, b], alternative values of each opponent. The first of an empty start is the one
    of the most extreme value.
    """
    offered = np.atleast_2d(offered)
    chosen: list[int] = []
    if kept.shape[1]:
        near = np.min(((offered[:, :, None] - kept[:, None, :]) ** 2).sum(0), axis=1)
    else:
        near = ((offered - offered.mean(1, keepdims=True)) ** 2).sum(0)
    for _ in range(min(count, offered.shape[1])):
        pick = int(np.argmax(near))
        chosen.append(pick)
        near = np.minimum(near, ((offered - offered[:, [pick]]) ** 2).sum(0))
        near[pick] = -1.0
    return np.array(chosen, np.int64)


_GAME = GuanDan(moves="canonical")
CROWD = 27
"""Opponents' cards beyond which the smaller depth limit holds (GS2 supplement, C.3)."""
PARTNERS = np.array([1.0, -1.0, 1.0, -1.0])
"""Share of each seat in the gain of seats 0 and 2."""


@dataclass(frozen=True, eq=False)
class Deals:
    """Deals that a decision may be in.

    worlds: n of them. values: [q, n] float64, alternative value of each to each opponent, in levels; nan for
    deals of weight zero, whose diversity does not count.
    settled: whether they were chosen before, so that all of them are kept.
    """

    worlds: Worlds
    values: NDArray[np.float64]
    settled: bool = False


def opponents_of(state: NDArray[np.void]) -> tuple[int, ...]:
    """Return the seats that play against the one to act and have cards left, the next to act first."""
    seat = int(state["player"][0])
    return tuple(other for other in (seat + 1 & 3, seat + 3 & 3) if state["left"][0, other] > 0)


def best_values(
    evaluator: Evaluator, states: NDArray[np.void], seat: int, temperature: float
) -> NDArray[np.float64]:
    """Return the largest Q of a seat at its next decision, [n] float64, in levels to it; else what it gets.

    The decision is reached by everybody's best move. An evaluator knows Q but for what is common to a
    decision, so its mean under the soft policy, of this temperature in levels, is put at V. Source: C.7.
    """
    states = states.copy()
    while len(others := np.flatnonzero((states["player"] != seat) & (states["player"] != TERMINAL))):
        part = states[others]
        advance(part, best_moves(evaluator, part))
        states[others] = part
    out: NDArray[np.float64] = _GAME.returns(states)[:, seat].astype(np.float64)
    rows = np.flatnonzero(states["player"] == seat)
    if len(rows):
        part, first = states[rows], np.arange(len(rows))
        table = legal(part, canonical=True)
        q = evaluator_values(evaluator, part, table)
        q -= np.maximum.reduceat(q, table.offsets[:-1])[table.rows]
        soft = np.exp(q / temperature)
        mean = np.add.reduceat(soft * q, table.offsets[:-1]) / np.add.reduceat(soft, table.offsets[:-1])
        out[rows] = evaluator.values(part, first, np.full(len(rows), seat, np.int64)) - mean
    return out.clip(-3, 3)


def valued(worlds: Worlds, evaluator: Evaluator, config: GuanDanConfig) -> Deals:
    """Return deals of one infoset with their alternative values."""
    opponents, live = opponents_of(worlds.states[:1]), worlds.weights > 0
    values = np.full((len(opponents), len(worlds)), np.nan)
    values[:, live] = alternative_values(evaluator, worlds.states[live], opponents, config)
    return Deals(worlds, values)


def alternative_values(
    evaluator: Evaluator, states: NDArray[np.void], opponents: tuple[int, ...], config: GuanDanConfig
) -> NDArray[np.float64]:
    """Return what each opponent gets by declining each state, [q, n] float64, in levels to it."""
    out = np.empty((len(opponents), len(states)))
    for i, seat in enumerate(opponents):
        if config.subgame.alternative == "best":
            out[i] = best_values(evaluator, states, seat, config.deals.temperature)
        else:
            out[i] = evaluator.values(states, np.arange(len(states)), np.full(len(states), seat, np.int64))
    return out


def choose_worlds(deals: Deals, config: GuanDanConfig, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return which deals enter the subgame, [min(k, n)] rising indices: of weight zero where others lack.

    "diverse" spreads the mean of their values over the opponents, "clusters" takes them as vectors.
    """
    if deals.settled:
        return np.arange(len(deals.worlds))
    features = deals.values.mean(0) if config.subgame.generator == "diverse" else deals.values.T
    weights, k = deals.worlds.weights, min(config.subgame.k, len(deals.worlds))
    live, dead = np.flatnonzero(weights > 0), np.flatnonzero(weights == 0)
    if len(live) <= k:
        return np.sort(np.append(live, rng.permutation(dead)[: k - len(live)]))
    features = np.ascontiguousarray(features[live])
    return live[generate(config.subgame.generator, features, weights[live], k, rng)[0]]


def renewed(old: Deals, new: Deals, config: GuanDanConfig, rng: np.random.Generator) -> Deals:
    """Return k deals: those of some weight among the old, then among the new, then others, the old first.

    Those of the new that weigh something are the most unlike what stays, any under the generator "random".
    """
    k = min(config.subgame.k, len(old.worlds) + len(new.worlds))
    live, dead = (np.flatnonzero((old.worlds.weights > 0) == alive)[:k] for alive in (True, False))
    fresh, rest = (
        rng.permutation(np.flatnonzero((new.worlds.weights > 0) == alive)) for alive in (True, False)
    )
    missing = k - len(live)
    if config.subgame.generator != "random" and len(fresh):
        fresh = np.sort(fresh)
        fresh = fresh[top_up(old.values[:, live], new.values[:, fresh], missing)]
    fresh = fresh[:missing]
    stay = np.append(live, dead[: missing - len(fresh)])
    come = np.append(fresh, rest)[: k - len(stay)]
    worlds = old.worlds.take(stay).joined(new.worlds.take(come))
    return Deals(worlds, np.concatenate([old.values[:, stay], new.values[:, come]], 1), settled=True)


def search_config(config: GuanDanConfig, state: NDArray[np.void]) -> SearchConfig:
    """Return the stages of a search at one decision: gadget and depth depend on who is left."""
    opponents = opponents_of(state)
    kind = config.subgame.gadget
    if kind in ("auto", "maxmargin"):
        kind = "resolve" if len(opponents) == 2 else "maxmargin"
    cards = int(state["left"][0, list(opponents)].sum())
    return SearchConfig.of(
        name=config.name,
        generator=config.subgame.generator,
        k=config.subgame.k,
        depth=config.subgame.crowd_depth if cards > CROWD else config.subgame.subgame_depth,
        leaf=config.subgame.leaf,
        gadget=kind,
        entry_floor=0.0 if kind == "unsafe" else config.subgame.entry_floor,
        variant=DEFAULT_VARIANT,
        gamma=None,
        iterations=config.subgame.iterations,
    )


class DealProblem(Problem):
    """The deals that one decision may be in and the subgame below those kept.

    Every reply of the opponents is in the subgame, as far as it goes.

    chosen: the deals that entered the subgame; None before that. deals: the r of them that are reached, in
    the order of the roots. values: [q, r], what each opponent gets by declining; solved: [q, r], what it gets
    in the subgame by the last policy reviewed.
    """

    payoff_range = (-3.0, 3.0)

    def __init__(
        self, decision: Decision, deadline: float, rollouts: Rollouts, config: GuanDanConfig
    ) -> None:
        """Take a decision with its candidates; deadline: an instant of `time.perf_counter()`."""
        self.decision, self.rollouts, self.settings, self.log = decision, rollouts, config, Log()
        self.per_type, self.room = config.subgame.actions_per_type, config.subgame.room
        self.config = search_config(config, decision.state)
        self.deadline = deadline
        self.chosen: Worlds | None = None

    def solve(self, draw: Callable[[], Deals], rng: np.random.Generator) -> SampledSolution:
        """Return the refined policy at the decision. draw: samples deals, with their alternative values.

        Raises TimeoutError if the tree could not be grown in time, MemoryError if it became too large.
        """
        considered = draw()
        self.log.lap("sampling")
        self._choose(considered, choose_worlds(considered, self.settings, rng))
        self.log.lap("generation")
        solution = solve_subgame(self, self.log)
        decision = self.decision
        tree, policy, whole = solution.subgame.tree, solution.policy, solution.gadget.tree
        wanted = action_keys(decision.actions[decision.candidates])
        place = {bytes(key): i for i, key in zip(decision.candidates, wanted, strict=True)}
        kept = tree.action[tree.first_child[0] : tree.first_child[0] + tree.n_children[0]]
        return SampledSolution(
            worlds=self.deals,
            opponents=self.entry.seats,
            alternative=self.values,
            solved=self.solved,
            moves=np.array([place[bytes(key)] for key in action_keys(kept)], np.int64),
            policy=policy[tree.slots(int(tree.infoset[0]))],
            nodes=whole.n_nodes,
            infosets=whole.n_infosets,
            leaves=tree.n_truncated,
            depth=self.config.subgame.depth or 0,
            iterations=solution.iterations,
            gap=float(solution.gap),
        )

    def _choose(self, considered: Deals, rows: NDArray[np.int64]) -> None:
        """Keep the deals of some rows, and work out how the opponents come to them."""
        self.chosen = considered.worlds.take(rows)
        opponents = opponents_of(self.decision.state)
        # What nobody reaches counts for nothing, except where the opponent chooses among its infosets.
        reach = _chance(self.chosen, opponents)
        live = np.flatnonzero(reach > 0)
        deals, values = Worlds(self.chosen.states, reach, False).take(live), considered.values[:, rows[live]]
        if np.isnan(values).any():
            values = alternative_values(self.rollouts.evaluator, deals.states, opponents, self.settings)
        group = np.array([_infosets(deals.states, opponent) for opponent in opponents], np.int32)
        order = np.argsort(group[0], kind="stable")
        self.deals, self.values, group = deals.take(order), values[:, order], group[:, order]
        # averaged within each opponent's infosets
        pairs = zip(self.values, group, strict=True)
        even = np.array([(np.bincount(at, row) / np.bincount(at))[at] for row, at in pairs])
        self.entry = Entry(opponents, group, even, self.deals.weights, np.ones(len(deals)))
        self.solved = np.full_like(values, np.nan)

    def grow(self) -> Subgame:
        """Return the forest below the deals. Raises TimeoutError if the time is up before it is grown."""
        decision, config = self.decision, self.config
        wanted = action_keys(decision.actions[decision.candidates])
        first = True

        def branch(game: Game, states: NDArray[Any], player: int, legal: Ragged) -> NDArray[np.bool_]:
            nonlocal first
            if first:  # our own decision: exactly the candidates
                first = False
                return np.isin(action_keys(legal.values), wanted)
            if self.deadline is not None and time.perf_counter() >= self.deadline:
                raise TimeoutError("the subgame could not be grown in time")
            return branches(self.rollouts.evaluator, states, legal, self.per_type, self.room)

        def leaf(game: Game, states: NDArray[Any]) -> NDArray[np.float64]:
            plies = None if config.subgame.leaf == "rollout" else 0
            gain = self.rollouts.payoffs(states.copy(), plies, self.deadline)
            shared: NDArray[np.float64] = gain[:, None] * PARTNERS
            return shared

        rules = TreeRules(
            depth_limit=config.subgame.depth,
            leaf=leaf,
            branch_limit=branch,
            policy=self._partner,
            frozen=lambda game, states, players: players == decision.seat + 2 & 3,
        )
        room = 200 * self.room
        return grow_subgame(_GAME, self.deals.states, self.deals.weights, rules=rules, max_nodes=room)

    def _partner(self, game: Game, states: NDArray[Any], player: int, legal: Ragged) -> NDArray[np.float64]:
        """Return the partner's policy: the blueprint's best move, [m] 0 or 1."""
        q = evaluator_values(self.rollouts.evaluator, states, legal)
        out = np.zeros(len(q))
        out[best_actions(q, legal)] = 1.0
        return out

    def review(self, subgame: Subgame, policy: NDArray[np.float64], tolerance: float) -> float:
        """Return 0.0 and note what each opponent gets at each root when everyone follows the policy."""
        values = node_values(subgame.tree, policy)
        self.solved = values[: subgame.tree.n_roots, list(self.entry.seats)].T
        return 0.0


def branches(
    evaluator: Evaluator, states: NDArray[Any], actions: Ragged, per_type: int, room: int
) -> NDArray[np.bool_]:
    """Return which moves are worth growing, [m] bool: the best few of each type by the blueprint.

    room: moves kept in all, beyond which each state keeps fewer.
    """
    q = evaluator_values(evaluator, states, actions)
    rows, kinds = actions.rows, actions.values["type"].astype(np.int64)
    # rank of each action within its row, and within its row and type, by falling Q
    order = np.lexsort((-q, rows))
    place = np.empty(len(q), np.int64)
    place[order] = np.arange(len(q)) - actions.offsets[:-1][rows[order]]
    order = np.lexsort((-q, kinds, rows))
    group = rows[order] * 16 + kinds[order]
    start = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    within = np.empty(len(q), np.int64)
    within[order] = np.arange(len(q)) - np.repeat(start, np.diff([*start, len(q)]))
    keep: NDArray[np.bool_] = (within < per_type) | (kinds == PASS)
    for most in (12, 6, 4, 3, 2, 1):
        if np.count_nonzero(keep) <= room:
            break
        keep &= place < most
    return keep


def action_keys(actions: NDArray[Any]) -> NDArray[Any]:
    return action_words(actions).view("V24").reshape(-1)


def _chance(deals: Worlds, opponents: tuple[int, ...]) -> NDArray[np.float64]:
    """Return how likely chance makes each deal, [n], alike where all weigh nothing: all of an infoset where
    the only opponent chooses one, reached or not."""
    alone = len(opponents) == 1
    group = _infosets(deals.states, opponents[0]) if alone else np.zeros(len(deals), np.int64)
    out: NDArray[np.float64] = np.where(np.bincount(group, deals.weights)[group] > 0, deals.weights, 1.0)
    return out


def _infosets(states: NDArray[Any], seat: int) -> NDArray[np.int64]:
    """Return the number of the infoset of a seat that each state is in, [n]."""
    return np.unique(_GAME.infoset_key(states, seat), axis=0, return_inverse=True)[1].reshape(-1)
