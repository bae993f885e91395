"""Matches in lockstep: chance that the games of a pair share, payoffs as they should be, trails."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.checkpoint import CheckpointError
from blueprint.guandan import SHIPPED
from blueprint.protocol import (
    Agent,
    AgentFault,
    Blueprint,
    Decisions,
    agent_of,
    blueprint_of,
    drawn,
    follows,
    probabilities,
    seat_by_seat,
)
from cfr.best_response import expected_value
from cfr.sequence_form import sequence_form
from cfr.tree import grow
from cfr.values import root_values
from games import load_game
from games.game import GameError
from games.support.array_types import Array
from gs2.play.agent_names import load_game_agent
from gs2.play.game_pairs import numbered_draws, play_agents, play_numbered, playing_teams
from gs2.policies.tabulate import tabulate
from gs2.search.refine.policy_only import PolicyOnly, UniformPlay
from tests.games.random_games import RandomGame
from tests.patience import amount

STANDARD_ERRORS = 4.5
"""How far a mean of seeded games may lie from the exact value."""
UNIFORM = agent_of(PolicyOnly(UniformPlay()))
LARGE = ("liars_dice(dice=5)", "goofspiel(cards=13,turns=13)", "leduc_poker(ranks=13,suits=4)")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


class KeyedAgent:
    """Plays a random fixed policy: each infoset's is drawn from a generator that its key seeds."""

    def __init__(self, seed: int) -> None:
        self.name, self.seed = f"keyed {seed}", seed

    def __call__(self, decisions: Decisions) -> Array:
        return seat_by_seat(decisions, self.at)

    def at(self, decisions: Decisions, seat: int) -> NDArray[np.float64]:
        keys = decisions.game.infoset_key(decisions.states[decisions.rows], seat)
        rows = [
            rng_of(self.seed, seat, key).dirichlet(np.ones(count))
            for key, count in zip(keys, decisions.table.counts.tolist(), strict=True)
        ]
        return np.concatenate(rows)


def rng_of(*words: object) -> np.random.Generator:
    flat = [int(w) for word in words for w in np.ravel(np.asarray(word))]
    return np.random.default_rng(flat)


class Witness(KeyedAgent):
    """The same, and checks what it is told of each game."""

    asked = 0
    follows = True

    def at(self, decisions: Decisions, seat: int) -> NDArray[np.float64]:
        assert decisions.past is not None
        keys = decisions.game.infoset_key(decisions.states[decisions.rows], seat)
        for key, row in zip(keys, decisions.rows.tolist(), strict=True):
            trail = decisions.past.of(row)
            self.asked += 1
            assert np.array_equal(trail.seen[-1], key)
            assert len(trail.own) == len(trail.taken)
            assert trail.own == sorted(set(trail.own)) and all(at < len(trail.seen) - 1 for at in trail.own)
            assert all(not np.array_equal(a, b) for a, b in zip(trail.seen, trail.seen[1:], strict=False))
        return super().at(decisions, seat)


@pytest.mark.parametrize("seed", range(3))
def test_two_agents_of_one_policy_are_even_in_every_pair_of_random_games(seed: int) -> None:
    game = RandomGame(seed, public=seed % 2 == 0)
    witness = Witness(seed)
    played = play_agents(game, (witness, KeyedAgent(seed)), rng(seed), 40)
    assert np.array_equal(played.net, np.zeros(40))
    alone = play_agents(game, (KeyedAgent(seed), KeyedAgent(seed)), rng(seed), 100, duplicate=False)
    assert alone.net.std() > 0
    # trails tell what a seat saw, and change nothing
    assert follows(witness) and not follows(UNIFORM)
    told, untold = (
        play_agents(game, (one, KeyedAgent(9)), rng(seed), 60) for one in (Witness(seed), KeyedAgent(seed))
    )
    assert np.array_equal(told.payoffs, untold.payoffs)
    assert witness.asked == played.paces[0].decisions > 0


@pytest.mark.parametrize("name", LARGE)
def test_two_agents_of_one_policy_are_even_in_large_games(name: str) -> None:
    played = play_agents(load_game(name), (UNIFORM, UNIFORM), rng(3), 20)
    assert np.array_equal(played.net, np.zeros(20)) and np.any(played.payoffs != 0)


@pytest.mark.parametrize(("seed", "duplicate"), [(0, True), (1, False)])
def test_mean_payoffs_are_the_exact_ones_on_random_games(seed: int, duplicate: bool) -> None:
    game = RandomGame(100 + seed, public=seed % 2 == 0)
    tree = grow(game)
    form = sequence_form(tree)
    one, two = (rng(seed).dirichlet(np.ones(8), tree.n_slots)[:, k] for k in (0, 1))
    policies = [p / np.bincount(tree.slot_infoset, p)[tree.slot_infoset] for p in (one, two)]
    agents = tuple(tabulate(game, tree, p) for p in policies)
    first = np.where(tree.slot_player == 0, policies[0], policies[1])
    second = np.where(tree.slot_player == 0, policies[1], policies[0])
    exact = np.array([expected_value(form, first), -expected_value(form, second)])
    games = amount(3000, 800)
    played = play_agents(game, (agents[0], agents[1]), rng(seed), games, duplicate=duplicate)
    error = played.payoffs.std(0) / np.sqrt(games)
    assert np.all(np.abs(played.payoffs.mean(0) - exact) <= STANDARD_ERRORS * error + 1e-12)
    low, high = played.interval()
    assert low <= played.net.mean() <= high


def test_games_depend_on_their_numbers_alone() -> None:
    game = load_game("leduc_poker")
    agents: tuple[Agent, Agent] = (KeyedAgent(1), KeyedAgent(2))
    whole = play_numbered(game, agents, np.arange(60), 7)
    parts = [play_numbered(game, agents, np.array(k), 7) for k in (range(40, 60), range(40))]
    assert np.array_equal(whole.payoffs[40:], parts[0].payoffs)
    assert np.array_equal(whole.payoffs[:40], parts[1].payoffs)
    assert not np.array_equal(whole.payoffs, play_numbered(game, agents, np.arange(60), 8).payoffs)


def test_an_answer_that_is_no_policy_is_refused() -> None:
    class Bad:
        name = "bad"
        row: ClassVar[list[float]] = []

        def __call__(self, decisions: Decisions) -> Array:
            return np.array(self.row)

    game = load_game("kuhn_poker")
    states = game.step(game.root(), np.zeros(1, np.int64), np.array([0]))
    states = game.step(states, np.zeros(1, np.int64), np.array([1]))
    bad, asked = Bad(), Decisions.of(states, game.actions(states), 0, game=game)
    for bad.row, says in (
        ([0.5, 0.6], "must sum to 1"),
        ([1.5, -0.5], "must not be negative"),
        ([np.nan, 1.0], "must sum to 1"),
        ([1.0], "one probability for each"),
        ([2], "index of its legal moves"),
        ([True, False], "one probability for each"),
    ):
        with pytest.raises(AgentFault, match=f"bad: .*{says}"):
            probabilities(bad, asked)
    bad.row = [1]
    assert probabilities(bad, asked).tolist() == [0.0, 1.0] and drawn(bad, asked)[0].tolist() == [1]
    bad.row = [0.25, 0.75]
    picked, chance = drawn(bad, asked, rng())
    assert chance.tolist() == [bad.row[picked[0]]]
    with pytest.raises(AgentFault, match="bad: it must answer with indices here"):
        drawn(bad, asked)


def test_numbered_draws_are_uniform_and_independent_of_each_other() -> None:
    n = 20_000
    stream, number = np.divmod(np.arange(n), 50)
    draws = numbered_draws(5, stream, 2, number)
    assert draws.min() >= 0 and draws.max() < 1
    counts = np.bincount((draws * 20).astype(int), minlength=20)
    assert ((counts - n / 20) ** 2 / (n / 20)).sum() < 45  # chi-squared, 19 degrees of freedom: 1 in 1,000
    others = [
        numbered_draws(5, stream, 3, number),
        numbered_draws(6, stream, 2, number),
        numbered_draws(5, stream + 1, 2, number),
        numbered_draws(5, stream, 2, number + 1),
    ]
    for other in others:
        assert abs(np.corrcoef(draws, other)[0, 1]) < 0.03


def test_where_each_seat_is_a_team_the_first_agent_sits_on_every_seat_once() -> None:
    game = load_game("big2(players=3,ranks=3,suits=2)")
    agent = KeyedAgent(1)
    even = play_agents(game, (agent, agent), rng(), 50)
    assert even.payoffs.shape == (50, 3)
    np.testing.assert_allclose(even.net, 0, atol=1e-12)
    assert np.abs(even.payoffs).max() > 0
    # against others it scores what the tree says of each seating
    tree, games = grow(game), amount(4000, 600)
    agents = (agent, UNIFORM)
    played = play_agents(game, agents, rng(2), games, duplicate=False)
    sizes = np.diff(tree.infoset_offset)
    others = np.repeat(1 / sizes, sizes)
    rows = [
        rng_of(agent.seed, player, key).dirichlet(np.ones(count))
        for player, key, count in zip(tree.infoset_player, tree.infoset_key, sizes.tolist(), strict=True)
    ]
    mine = np.concatenate(rows)
    for seat in range(3):
        seated = np.where(tree.slot_player == seat, mine, others)
        value = root_values(tree, seated)[seat]
        error = played.payoffs[:, seat].std() / np.sqrt(games)
        assert abs(played.payoffs[:, seat].mean() - value) <= STANDARD_ERRORS * error


def test_where_no_teams_are_true_each_seat_is_one() -> None:
    game = load_game("doudizhu(ranks=4,landlord=bid)")
    played = play_numbered(game, (KeyedAgent(1), KeyedAgent(2)), np.arange(30), 3, recorded=("a", "b"))
    assert played.payoffs.shape == (30, 3) and playing_teams(game) == (0, 1, 2)
    for record in played.rounds:
        assert record.agents == tuple("a" if seat == record.team else "b" for seat in range(3))
        assert record.payoffs[record.team] == played.payoffs[record.pair, record.team]
    assert np.isin(played.won, [0, 1 / 3, 1 / 2, 1]).all() and (played.won == 1 / 2).any()
    even = play_numbered(game, (KeyedAgent(1), KeyedAgent(1)), np.arange(30), 3)
    assert not even.net.any()
    points = load_game("goofspiel(cards=3,returns=total_points)", general_sum=True)
    with pytest.raises(GameError, match="payoffs of all seats must sum to zero"):
        play_numbered(points, (UNIFORM, UNIFORM), np.arange(5), 0)


def test_guandan_is_played_as_any_other_game_and_its_network_beats_uniform_play() -> None:
    game = load_game("guandan(moves=canonical)")
    network = load_game_agent(game, "network")
    assert isinstance(blueprint_of(network), Blueprint)
    games = play_agents(game, (network, UNIFORM), rng(), 3)
    assert games.net.tolist() == [3.0, 3.0, 3.0]  # levels a round, each deal from both sides
    rules = [load_game_agent(game, name) for name in ("strong", "random")]
    assert play_agents(game, (rules[0], rules[1]), rng(), 10).net.mean() > 0
    searching = load_game_agent(game, "rollout-fast:worlds=2,deadline=600")
    assert np.abs(play_agents(game, (searching, rules[1]), rng(), 1).payoffs).min() >= 1
    with pytest.raises(CheckpointError, match="must be a network for kuhn_poker"):
        load_game_agent(load_game("kuhn_poker"), str(SHIPPED))
