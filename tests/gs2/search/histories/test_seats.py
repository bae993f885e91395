"""Searches in games of three and more seats: what they answer, against whom, and what they spare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.protocol import Blueprint, Decisions, Trails
from cfr.best_response import counterfactual_values
from cfr.tree import grow
from games import Game, Infoset, Ragged, load_game
from games.infosets.trail import SeatTrail, Trail, trails_along
from games.infosets.two_seats import TwoSeatView, other_side
from games.support.array_types import Array
from gs2.parts import check_leaf_of, register_leaf
from gs2.play.agent_names import load_game_agent, load_searched
from gs2.play.game_pairs import play_agents
from gs2.play.search_agent import SearchAgent
from gs2.search.config.presets import preset
from gs2.search.config.search import SearchConfig
from gs2.search.context import SearchContext
from gs2.search.explain import solve_infoset
from gs2.search.histories.sampled_growth import LikeliestBranches
from gs2.search.histories.seats import SeatBlueprint, seat_view
from gs2.search.refine.at import refine_at
from gs2.search.refine.policy_only import PolicyOnly, UniformPlay
from gs2.search.subgame.leaf import fresh_draws, play_out, rollout_leaf
from tests.games.random_games import RandomGame, RandomPlay
from tests.gs2.search.setting import rng
from tests.patience import amount

EXACT = SearchConfig.of(gadget="unsafe", solver="lp", source="sampled", samples=5000, opponent="none")
"""Everything that the others play is known, and nothing is left out: the answer is a best response."""


def decisions(game: Game, count: int, seed: int) -> list[tuple[Trail, Infoset]]:
    """Return some decisions with a choice: their trails and names."""
    tree = grow(game)
    nodes = np.flatnonzero((tree.player >= 0) & (tree.n_children > 1))
    found = []
    for node in rng(seed).choice(nodes, count, replace=False).tolist():
        way = tree.way_to(node)
        line = Ragged.from_counts(np.array([len(way)]), tree.action[way])
        seat = int(tree.player[node])
        key = game.infoset_key(tree.states[node : node + 1], seat)[0]
        text = game.infoset_text(tree.states[node], seat)
        found.append((trails_along(game, line, seat)[0], Infoset(seat, tuple(map(int, key)), text)))
    return found


@pytest.mark.parametrize("teams", [(0, 1, 1), (0, 1, 2), (0, 1, 0, 1)])
def test_against_nobody_the_answer_is_a_best_response_to_the_blueprint(teams: tuple[int, ...]) -> None:
    for seed in range(amount(2, 1)):
        game, play = RandomGame(seed, teams=teams), RandomPlay(seed)
        for trail, _ in decisions(game, 3, seed):
            seen = seat_view(game, play, trail.player, EXACT)
            context = SearchContext(seen.view)
            best = counterfactual_values(context.tree, context.strategy(seen).raw, 0, best_response=True)
            number = context.infoset_number(Infoset(0, tuple(map(int, trail.keys[-1])), ""))
            worth = best.slot[context.tree.slots(number)]
            found = refine_at(game, play, trail, EXACT, rng(seed))
            assert found @ worth == pytest.approx(worth.max(), abs=1e-7)


def test_sampled_and_listed_searches_of_a_view_agree_where_everything_is_drawn() -> None:
    config = SearchConfig.of(order=None, solver="lp", gadget="resolve", freeze="none", scope="block")
    game, play = RandomGame(3, teams=(0, 1, 1)), RandomPlay(3)
    for trail, infoset in decisions(game, 3, 1):
        drawn = solve_infoset(game, play, trail, config.replace(source="sampled", samples=5000), rng(0))
        listed = solve_infoset(game, play, infoset, config.replace(source="enumerated"), rng(0))
        assert drawn.player == listed.player == trail.player and drawn.seats == listed.seats
        assert drawn.sampled is not None and drawn.sampled.complete and listed.sampled is None
        assert drawn.value == pytest.approx(listed.value, abs=1e-6)
        assert [row.q for row in drawn.actions] == pytest.approx([row.q for row in listed.actions], abs=1e-9)


def test_what_the_blueprint_of_others_never_leads_to_is_searched_by_drawing() -> None:
    ruled_out = 0
    for seed, public in ((0, True), (1, False), (2, True), (3, False)):
        game, play = RandomGame(seed, public=public, teams=(0, 1, 2)), RandomPlay(seed, zeros=0.7)
        agents = [
            SearchAgent(game, play, preset(name, iterations=10), name=name) for name in ("kluss", "2-klss")
        ]
        for trail, infoset in decisions(game, 3, seed):
            assert refine_at(game, play, trail, EXACT, rng(0)).sum() == pytest.approx(1)
            try:
                solve_infoset(game, play, infoset, preset("kluss", source="enumerated"), rng(0))
            except ValueError as error:
                assert "may never lead to it; source = auto draws histories there" in str(error)
                ruled_out += 1
            found = solve_infoset(game, play, infoset, preset("kluss", iterations=10), rng(0))
            assert sum(found.refined.values()) == pytest.approx(1)
        for agent in agents:
            played = play_agents(game, (agent, load_game_agent(game, "uniform")), rng(seed), 10)
            assert np.isfinite(played.payoffs).all()
    assert ruled_out > 0


def test_a_leaf_value_of_ones_own_is_checked_as_it_is_asked_about_two_of_many_seats() -> None:
    game, play = RandomGame(5, teams=(0, 1, 2)), RandomPlay(5)
    register_leaf("played on by chance", rollout_leaf(PolicyOnly(UniformPlay()), rng(0), rollouts=2))
    config = preset("kluss", depth=1, leaf="played on by chance")
    check_leaf_of(config, game)
    for _, infoset in decisions(game, 2, 5):
        assert sum(solve_infoset(game, play, infoset, config, rng(0)).refined.values()) == pytest.approx(1)


def test_where_nature_rules_out_an_infoset_what_is_drawn_still_has_perfect_recall() -> None:
    game, play = RandomGame(177, public=False, teams=(0, 1, 2, 3)), RandomPlay(177, zeros=0.5)
    ((trail, _),) = decisions(game, 1, 177)
    config = preset("gs2-r", samples=300, freeze="none", k=1, iterations=10)
    for rival in other_side(game, trail.player):
        view = TwoSeatView(game, play.policy, (trail.player, rival))
        found = refine_at(view, SeatBlueprint(view, play), view.trail(trail), config, rng(0))
        assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "words", ["rollout:samples=6", "gs2-d:source=sampled,companions=3", "gs2-r:opponent=none"]
)
def test_searching_agents_of_many_seats_play_and_answer_the_same_when_asked_again(words: str) -> None:
    game, payoffs = load_game("big2(players=3,ranks=3,suits=2)"), []
    for _ in range(2):
        agent = load_game_agent(game, f"uniform+{words}")
        assert isinstance(agent, SearchAgent)
        payoffs.append(play_agents(game, (agent, load_game_agent(game, "uniform")), rng(1), 2).payoffs)
        assert payoffs[-1].shape == (2, 3) and agent.searches > 0
    np.testing.assert_array_equal(*payoffs)


@pytest.mark.parametrize("method", ["kluss", "2-klss"])
def test_asking_for_gains_changes_no_answer_where_many_seats_are_listed(method: str) -> None:
    game, play = RandomGame(6, teams=(0, 1, 2)), RandomPlay(6)
    for trail, _ in decisions(game, 4, 6):
        seat, states = trail.player, grow(game).states
        states = states[game.player(states) == seat]
        state = states[np.all(game.infoset_key(states, seat) == trail.keys[-1], axis=1)][:1]
        seen = SeatTrail(list(trail.keys))
        asked = Decisions.of(state, game.actions(state), seat, game=game, past=Trails([seen]))
        told, plays = (SearchAgent(game, play, preset(method), name=method) for _ in range(2))
        assert told.gains(asked) is None
        assert np.array_equal(told(asked), plays(asked))


def test_search_beats_uniform_play_at_a_small_doudizhu() -> None:
    game = load_game("doudizhu(ranks=1)")
    agents = (
        load_game_agent(game, "uniform+rollout:samples=60,branches=30,gap=None,doubt=0"),
        load_game_agent(game, "uniform"),
    )
    assert play_agents(game, agents, rng(2), 30).net.mean() > 0.1


OWN = """
import numpy as np

class Last:
    name = "last"

    def __call__(self, decisions):
        return np.diff(decisions.offsets) - 1
"""


def test_an_agent_that_only_plays_is_valued_by_playing_on(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    game, own = load_game("doudizhu(ranks=1)"), f"{tmp_path / 'own.py'}:Last"
    assert isinstance(load_searched(game, own), Blueprint)
    agents = load_game_agent(game, f"{own}+rollout:samples=8,gap=None"), load_game_agent(game, own)
    assert np.isfinite(play_agents(game, agents, rng(3), 4).payoffs).all()


class _Asked(RandomPlay):
    """Fails where it is asked about a forced move."""

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        assert actions.counts.min() > 1
        return super().policy(game, states, player, actions)


def test_nobody_is_asked_about_a_forced_move_in_rollouts() -> None:
    game = RandomGame(2, teams=(0, 1, 1))
    states = np.repeat(game.root(), 50, axis=0)
    asked = play_out(game, states, [(_Asked(1),)] * 3, fresh_draws(rng(5)))
    plain = play_out(game, states, [(RandomPlay(1),)] * 3, fresh_draws(rng(5)))
    np.testing.assert_array_equal(asked, plain)


class _Greedy(RandomPlay):
    """Plays the action of highest value alone."""

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        q = self.q(game, states, player, actions)
        best = np.maximum.reduceat(q, actions.offsets[:-1])
        found: Array = (q == best[actions.rows]).astype(np.float64)
        return found


def test_of_actions_never_played_the_best_are_kept_and_none_beyond_the_gap() -> None:
    game, play = RandomGame(4, teams=(0, 1, 1)), _Greedy(4)
    tree = grow(game)
    for seat in range(3):
        states = tree.states[(tree.player == seat) & (tree.n_children == 3)]
        if len(states) == 0:
            continue
        actions = game.actions(states)
        q = play.q(game, states, seat, actions).reshape(-1, 3)
        two = LikeliestBranches(play, 2)(game, states, seat, actions).reshape(-1, 3)
        np.testing.assert_array_equal(two, q > q.min(axis=1, keepdims=True))
        near = LikeliestBranches(play, 3, 0.3)(game, states, seat, actions).reshape(-1, 3)
        np.testing.assert_array_equal(near, q >= q.max(axis=1, keepdims=True) - 0.3)
