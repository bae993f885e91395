"""Actions are kept by what they are worth at the infoset, also where a blueprint values single histories."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.protocol import Decisions, values_histories
from cfr.policies.policy import uniform_policy
from games.game import Game
from games.ragged import Ragged
from games.support.array_types import Array
from gs2.play.search_agent import SearchAgent
from gs2.policies.tabulate import tabulate
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext, Strategy
from gs2.search.continuation_policies import rollout_play
from gs2.search.histories.enumerated import action_values
from gs2.search.histories.sampled_growth import (
    MOST_ASKED,
    HistoriesMet,
    InfosetValues,
    LikeliestBranches,
    root_reach,
)
from gs2.search.histories.seats import SeatBlueprint, seat_view
from gs2.search.refine.policy_only import PlayedStrategy, PolicyOnly, UniformPlay
from tests.games.random_games import RandomGame, RandomPlay
from tests.gs2.search.setting import LEDUC, LIARS_DICE, context, random_policy, rng
from tests.patience import amount

GAP = 0.3
SLACK = 0.5
"""By how much a mean over `MOST_ASKED` histories and a few games from each may mistake which action is best:
a thirtieth of the payoffs of Leduc poker."""


def strategy_of(there: SearchContext, name: str, seed: int | None) -> Strategy:
    """Return a random strategy, or uniform play without a seed."""
    return there.strategy(uniform_policy(there.tree) if seed is None else random_policy(name, rng(seed)))


def wide(there: SearchContext, count: int, seed: int) -> list[int]:
    """Return the numbers of some infosets with a choice."""
    choice = np.flatnonzero(np.diff(there.tree.infoset_offset) > 1)
    found: list[int] = rng(seed).choice(choice, min(count, len(choice)), replace=False).tolist()
    return found


def drawn_whole(strategy: Strategy, number: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return all histories of an infoset, and how likely chance and the opponent make them."""
    nodes = np.flatnonzero(strategy.tree.infoset == number)
    known = strategy.reach_at(nodes.astype(np.int32))
    return nodes, known.chance * known.players[:, 1 - int(strategy.tree.infoset_player[number])]


@pytest.mark.parametrize("seed", [None, 0, 1])
@pytest.mark.some(2)
def test_actions_kept_by_playing_on_are_those_of_the_infosets_values(seed: int | None) -> None:
    there = context(LEDUC)
    strategy = strategy_of(there, LEDUC, seed)
    blueprint = PolicyOnly(UniformPlay() if seed is None else PlayedStrategy(there, strategy))
    exact = tabulate(there.game, there.tree, strategy.raw)
    differ = 0
    for number in wide(there, 60, 5):
        nodes, reach = drawn_whole(strategy, number)
        states, player = there.tree.states[nodes], int(there.tree.infoset_player[number])
        actions = there.game.actions(states)
        asked = there.game, states, player, actions
        rule = LikeliestBranches(blueprint, 3, GAP, root_reach(states, reach))
        mine = rule(*asked).reshape(len(nodes), -1)
        theirs = LikeliestBranches(exact, 3, GAP)(*asked).reshape(len(nodes), -1)
        assert (mine == mine[0]).all()
        worth = action_values(there, strategy, number)
        assert worth[mine[0]].max() >= worth.max() - GAP - SLACK
        near = np.abs(worth - (worth.max() - GAP)) < SLACK
        differ += int(((mine[0] != theirs[0]) & ~near).any())
    assert differ <= 3


def test_neither_the_order_of_histories_nor_what_else_is_asked_changes_what_is_kept() -> None:
    there = context(LEDUC)
    strategy = strategy_of(there, LEDUC, 2)
    blueprint = PolicyOnly(PlayedStrategy(there, strategy))
    mine = [number for number in wide(there, 400, 1) if there.tree.infoset_player[number] == 1][:30]
    nodes = np.concatenate([drawn_whole(strategy, number)[0] for number in mine])
    states = there.tree.states[nodes]
    kept = LikeliestBranches(blueprint, 2, 0.2)(there.game, states, 1, there.game.actions(states))
    for seed in range(4):
        # The way the histories come, and which infosets come at all.
        order = rng(seed).permutation(len(nodes))
        order = order[np.isin(there.tree.infoset[nodes[order]], mine[: 30 - 7 * seed])]
        actions = there.game.actions(states[order])
        found = LikeliestBranches(blueprint, 2, 0.2)(there.game, states[order], 1, actions)
        wanted = Ragged.from_counts(there.game.actions(states).counts, kept).take(order).values
        np.testing.assert_array_equal(found, wanted)


def test_of_actions_played_alike_the_best_are_kept() -> None:
    there = context(LIARS_DICE)
    exact = tabulate(there.game, there.tree, uniform_policy(there.tree))
    nodes = np.flatnonzero((there.tree.player == 0) & (there.tree.n_children > 2))
    states = there.tree.states[nodes]
    actions = there.game.actions(states)
    kept = LikeliestBranches(exact, 1)(there.game, states, 0, actions)
    q = exact.q(there.game, states, 0, actions)
    best = np.maximum.reduceat(q, actions.offsets[:-1])
    assert (q[kept] == best).all() and kept.sum() == len(states)


class _Counted:
    """A blueprint that values histories at what it is told, and counts how many it is asked about."""

    name = "counted"

    def __init__(self, first: NDArray[np.float64], *, hidden: bool) -> None:
        """Take what the first action is worth at each state, by its first word; others are worth 0."""
        self.first, self.values_histories, self.asked = first, hidden, 0

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        """Return uniform play."""
        found: Array = np.repeat(1 / actions.counts, actions.counts)
        return found

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        """Return the first action's worth at each state."""
        self.asked += len(states)
        out = np.zeros(len(actions.values))
        out[actions.offsets[:-1]] = self.first[states[:, 0].astype(np.int64)]
        return out

    def value(self, game: Game, states: Array, player: int) -> Array:
        """Return nothing."""
        return np.zeros(len(states))


def met(histories: NDArray[np.int64], infosets: NDArray[np.int64]) -> HistoriesMet:
    """Return made-up histories of two actions each, by the number of each and of its infoset."""
    actions = Ragged.from_counts(np.full(len(histories), 2), np.tile([0, 1], len(histories)))
    states = np.stack([histories, histories], axis=1).astype(np.uint64)
    return HistoriesMet(context(LEDUC).game, states, 0, actions, infosets.astype(np.uint64)[:, None])


def test_means_are_weighted_by_reach_and_bounded_in_what_they_ask() -> None:
    for n in (1, 3, MOST_ASKED, 1000):
        worth, weight = rng(n).normal(size=n), rng(n, 1).exponential(size=n)
        all_of = met(np.arange(n), np.zeros(n, np.int64))
        blueprint = _Counted(worth, hidden=True)
        values = InfosetValues(blueprint, root_reach(all_of.states, weight))(all_of, np.ones(1, bool))
        # Of more than are asked about, as many are taken at even steps of the weight.
        exact = n <= MOST_ASKED
        assert values[0] == pytest.approx(weight @ worth / weight.sum(), abs=1e-9 if exact else 0.5)
        assert values[1] == 0 and 0 < blueprint.asked <= MOST_ASKED
    both = met(np.arange(2), np.zeros(2, np.int64))
    for weight in ([0.0, 1.0], [1.0, 0.0]):  # nobody leads to one of two histories
        reach = root_reach(both.states, np.array(weight))
        values = InfosetValues(_Counted(np.array([1.0, -1.0]), hidden=True), reach)(both, np.ones(1, bool))
        assert values[0] == weight[0] - weight[1]


def test_an_infoset_met_again_is_worth_what_it_was_and_one_that_is_known_is_asked_about_once() -> None:
    values = InfosetValues(_Counted(np.arange(5.0), hidden=True))
    first = values(met(np.array([1]), np.zeros(1, np.int64)), np.ones(1, bool))
    again = values(met(np.array([4, 2]), np.array([0, 9])), np.ones(2, bool))
    np.testing.assert_array_equal(again, [*first, 2.0, 0.0])
    blueprint = _Counted(np.arange(40.0), hidden=False)
    asked = met(np.arange(40), np.repeat(np.arange(4), 10))
    found = InfosetValues(blueprint)(asked, np.array([True, False, True, True]))
    assert blueprint.asked == 3
    np.testing.assert_array_equal(found.reshape(4, 2)[:, 0], [0, 0, 20, 30])


@pytest.mark.parametrize("method", ["rollout", "gs2"])
def test_an_agents_answer_does_not_depend_on_what_is_hidden(method: str) -> None:
    there = context(LEDUC)
    config = preset(method, samples=8, iterations=20, branches=2)
    for number in wide(there, amount(8, 4), 3):
        nodes, player = np.flatnonzero(there.tree.infoset == number), int(there.tree.infoset_player[number])
        answers = []
        for state in there.tree.states[nodes][:, None]:
            agent = SearchAgent(there.game, PolicyOnly(UniformPlay()), config, name="searched")
            asked = Decisions.of(state, there.game.actions(state), player, game=there.game)
            answers.append(agent(asked))
        np.testing.assert_array_equal(answers, np.repeat(answers[:1], len(nodes), axis=0))


def test_a_view_from_two_seats_says_what_its_blueprint_says() -> None:
    game = RandomGame(1, teams=(0, 1, 2))
    for blueprint, hidden in ((RandomPlay(1), False), (PolicyOnly(RandomPlay(1)), True)):
        seen = seat_view(game, blueprint, 0, preset("rollout"))
        assert isinstance(seen, SeatBlueprint)
        assert values_histories(blueprint) == values_histories(seen) == hidden


def test_nobody_plays_on_by_values_that_see_what_a_seat_does_not() -> None:
    there = context(LEDUC)
    strategy = strategy_of(there, LEDUC, 3)
    table, kept = tabulate(there.game, there.tree, strategy.raw), PlayedStrategy(there, strategy)
    seeing = PolicyOnly(UniformPlay())
    assert rollout_play(seeing, greedy=True) is seeing
    assert rollout_play(table, greedy=False) is table
    assert not values_histories(kept)
    many = wide(there, 12, 5)
    for play in (rollout_play(seeing, greedy=True), rollout_play(kept, greedy=True)):
        for number in many:
            nodes = np.flatnonzero(there.tree.infoset == number)
            states, player = there.tree.states[nodes], int(there.tree.infoset_player[number])
            probs = play.policy(there.game, states, player, there.game.actions(states))
            # all histories that a seat cannot tell apart are played alike
            assert np.ptp(probs.reshape(len(nodes), -1), axis=0).max() < 1e-12
    assert np.isin(there.tree.infoset, many).sum() > 25
