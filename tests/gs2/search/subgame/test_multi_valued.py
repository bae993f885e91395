"""Multi-valued leaves: continuations by name, rollouts in common random numbers, choices of every player."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from blueprint.tabular import TabularBlueprint
from cfr.lp import solve_lp
from cfr.tree import TreeRules, grow
from cfr.values import node_values
from games.game import CHANCE, Game
from games.registry import load_game
from games.support.configuration import ConfigError
from gs2.play.search_agent import named_search
from gs2.policies.tabulate import policy_of, tabulate
from gs2.search.context import SearchContext
from gs2.search.continuation_policies import (
    ContinuationBlueprint,
    continuation_blueprints,
    read_continuations,
)
from gs2.search.explain import solve_infoset
from gs2.search.subgame.continuations import (
    LeafChooser,
    continuation_payoffs,
    exact_continuation_payoffs,
    known_at,
    with_choices,
)
from gs2.search.subgame.cut import Subgame
from gs2.search.subgame.forest import grow_subgame
from gs2.search.subgame.leaf import CommonDraws, fresh_draws, play_out, rollout_leaf
from tests.games.random_games import RandomGame
from tests.gs2.search.setting import GAMES, GOOFSPIEL, KUHN, LEDUC, context, random_policy, rng

SEEDS = pytest.mark.parametrize("seed", range(3))
TEXT = "blueprint+greedy+uniform+first+last+class1*3"


def unvalued(game: Game, states) -> np.ndarray:
    """Return payoffs of 0: the leaf of a subgame that is grown to be valued afterwards."""
    return np.zeros((len(states), game.num_players))


def random_blueprint(game, seed: int) -> tuple[TabularBlueprint, np.ndarray]:
    """Return a random strategy of a game as a blueprint, and on the slots of the game's tree."""
    tree = grow(game)
    weight = np.random.default_rng(seed).exponential(size=tree.n_slots)
    policy = weight / np.add.reduceat(weight, tree.infoset_offset[:-1])[tree.slot_infoset]
    return tabulate(game, tree, policy), policy


def truncated(game, depth: int) -> Subgame:
    """Return the game grown to a depth limit, with nothing at its leaves."""
    return grow_subgame(game, game.root(), np.ones(1), rules=TreeRules(depth_limit=depth, leaf=unvalued))


@pytest.mark.parametrize("name", GAMES)
def test_continuations_are_strategies_and_those_on_a_tree_are_those_of_the_wrapper(name: str) -> None:
    prepared = context(name)
    game, tree = prepared.game, prepared.tree
    policy = random_policy(name, np.random.default_rng(1), sharpness=2)
    base = tabulate(game, tree, policy)
    read = read_continuations(TEXT)
    assert "+".join(one.name for one in read) == TEXT
    for one in read:
        wrapped = ContinuationBlueprint(base, one)
        plan = policy_of(wrapped, game, tree)
        np.testing.assert_allclose(np.add.reduceat(plan, tree.infoset_offset[:-1]), 1.0, atol=1e-9)
        for seat in (0, 1):
            joint = policy.copy()
            joint[tree.slot_player == seat] = plan[tree.slot_player == seat]
            sets = [read_continuations("blueprint"), read_continuations("blueprint")]
            sets[seat] = (one,)
            found = exact_continuation_payoffs(game, tree, policy, sets)[0, 0]
            reached = found[0] - node_values(tree, joint)[0]
            np.testing.assert_allclose(reached, 0.0, atol=1e-9)


def test_what_is_favoured_is_likelier_by_its_factor() -> None:
    game, tree = context(LEDUC).game, context(LEDUC).tree
    policy = random_policy(LEDUC, rng(2))
    kind = game.action_type(tree.slot_actions())
    (biased,) = continuation_blueprints(tabulate(game, tree, policy), "class1*3")
    odds = policy_of(biased, game, tree) / policy
    for infoset in range(tree.n_infosets):
        slots = tree.slots(infoset)
        one, rest = odds[slots][kind[slots] == 1], odds[slots][kind[slots] != 1]
        if len(one) and len(rest):
            np.testing.assert_allclose(one / rest[0], 3.0)


def test_names_that_say_nothing_are_refused() -> None:
    base, _ = random_blueprint(load_game(KUHN), 0)
    for text in ("", "blueprint+", "bluprint", "class", "class1*0", "class1*x", "value1*3", "last+last"):
        for read in (read_continuations, lambda text: continuation_blueprints(base, text)):
            with pytest.raises(ConfigError, match="policies must name"):
                read(text)
    assert continuation_blueprints(base, "blueprint+greedy")[0] is base


@SEEDS
def test_common_draws_are_uniform_stratified_and_the_same_for_one_stream(seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples = int(rng.integers(1, 14))
    stream = np.repeat(np.arange(500), samples)
    sample = np.tile(np.arange(samples), 500)
    draws = CommonDraws(seed, stream, sample, samples, 2)
    again = CommonDraws(seed, stream, sample, samples, 2)
    every = np.arange(len(stream))
    first, second = draws(every, np.zeros(len(every), np.int8)), draws(every, np.full(len(every), CHANCE))
    # Each part holds one sample of every stream, and the luck of one actor says nothing of another's.
    parts = np.sort((first * samples).astype(int).reshape(500, samples), axis=1)
    assert np.array_equal(parts, np.tile(np.arange(samples), (500, 1)))
    assert abs(np.corrcoef(first, second)[0, 1]) < 6 / np.sqrt(len(every))
    of_one = first[sample == 0]
    assert abs(of_one.mean() - 0.5) < 6 * np.sqrt(1 / 12 / 500)
    assert abs(np.corrcoef(of_one[1:], of_one[:-1])[0, 1]) < 6 / np.sqrt(500)
    # What another row did in between, or another actor, changes nothing.
    some = rng.permutation(every)[:50]
    assert np.array_equal(again(some, np.full(50, CHANCE)), second[some])
    assert np.array_equal(again(some, np.zeros(50, np.int8)), first[some])
    assert not np.array_equal(again(some, np.zeros(50, np.int8)), first[some])


@pytest.mark.parametrize("name", [LEDUC, GOOFSPIEL])
def test_one_continuation_for_everybody_is_the_rollout_of_today(name: str) -> None:
    game, tree = context(name).game, context(name).tree
    base = tabulate(game, tree, random_policy(name, rng(3)))
    states = tree.states[np.flatnonzero(tree.player >= 0)[:40]]
    one = rollout_leaf(base, rng(5), rollouts=4)(game, states)
    many = play_out(game, np.repeat(states, 4, axis=0), [(base,), (base,)], fresh_draws(rng(5)))
    np.testing.assert_array_equal(one, many.reshape(40, 4, 2).mean(axis=1))
    # In a subgame such leaves are the leaves of a depth limit, valued by the same games.
    grown = truncated(game, 1)
    ends = grown.tree.states[grown.truncated]
    values = continuation_payoffs(game, ends, [(base,), (base,)], rng(7), rollouts=4)
    made = with_choices(grown, [LeafChooser(seat, known_at(game, ends, seat)) for seat in (0, 1)], values)
    rules = TreeRules(depth_limit=1, leaf=lambda game, states: values[:, 0, 0])
    plain = grow_subgame(game, game.root(), np.ones(1), rules=rules)
    for field in ("parent", "player", "infoset", "returns", "terminal", "infoset_offset"):
        np.testing.assert_array_equal(getattr(made.tree, field), getattr(plain.tree, field))


@SEEDS
def test_rollouts_of_continuations_come_near_their_exact_values_in_random_games(seed: int) -> None:
    game = RandomGame(seed, public=bool(seed % 2))
    base, policy = random_blueprint(game, seed)
    tree = grow(game)
    text = "blueprint+last+uniform"
    sets = [continuation_blueprints(base, text), continuation_blueprints(base, "blueprint+first")]
    nodes = np.flatnonzero(tree.player >= 0)[:5]
    exact = exact_continuation_payoffs(
        game, tree, policy, [read_continuations(text), read_continuations("blueprint+first")]
    )
    found = continuation_payoffs(game, tree.states[nodes], sets, np.random.default_rng(seed), rollouts=1501)
    assert found.shape == (len(nodes), 3, 2, 2)
    low, high = game.payoff_range
    np.testing.assert_allclose(
        found, np.moveaxis(exact[:, :, nodes], 2, 0), atol=3 * (high - low) / np.sqrt(1501)
    )


def test_common_luck_compares_better_than_luck_of_its_own() -> None:
    game, tree = load_game(LEDUC), context(LEDUC).tree
    base = tabulate(game, tree, random_policy(LEDUC, np.random.default_rng(0)))
    states = tree.states[np.flatnonzero(tree.player >= 0)[[0, 9, 50]]]
    sets = [continuation_blueprints(base, "blueprint+class2*2"), (base,)]
    common, apart = [], []
    for k in range(30):
        rng = np.random.default_rng(k)
        both = continuation_payoffs(game, states, sets, rng, rollouts=8)
        common.append(both[:, 1, 0, 0] - both[:, 0, 0, 0])
        one = [continuation_payoffs(game, states, [(only,), (base,)], rng, rollouts=8) for only in sets[0]]
        apart.append(one[1][:, 0, 0, 0] - one[0][:, 0, 0, 0])
    assert np.var(common, axis=0).mean() < 0.8 * np.var(apart, axis=0).mean()


def payoff_tables(seed: int, leaves: int, counts: tuple[int, ...]) -> np.ndarray:
    """Return random payoffs of two seats, zero-sum."""
    gain = np.random.default_rng(seed).normal(size=(leaves, *counts))
    return np.stack([gain, -gain], axis=-1)


@SEEDS
def test_players_choose_at_once_and_know_what_they_knew_at_the_leaf(seed: int) -> None:
    game = RandomGame(seed, public=True)
    cut = truncated(game, 2)
    leaves = len(cut.truncated)
    if leaves == 0:
        pytest.skip("the game ends before its depth limit")
    states = cut.tree.states[cut.truncated]
    known = [known_at(game, states, seat) for seat in (0, 1)]
    values = payoff_tables(seed, leaves, (2, 3))
    made = with_choices(cut, [LeafChooser(0, known[0]), LeafChooser(1, known[1])], values)
    tree = made.tree.validate()
    assert tree.n_nodes == cut.tree.n_nodes + leaves * (2 + 6)
    assert tree.n_infosets == cut.tree.n_infosets + sum(len(np.unique(one)) for one in known)
    assert np.array_equal(tree.player[made.truncated], np.zeros(leaves))
    assert np.all(made.slot_origin[cut.tree.n_slots :] == -1)
    assert np.array_equal(made.root_of[made.truncated], cut.root_of[cut.truncated])
    # The order of the choosers is no matter: none sees the others' choice.
    turned = with_choices(
        cut, [LeafChooser(1, known[1]), LeafChooser(0, known[0])], np.swapaxes(values, 1, 2)
    )
    assert solve_lp(tree).value == pytest.approx(solve_lp(turned.tree).value, abs=1e-9)
    # Payoffs stand where the pair of choices leads.
    for leaf, node in enumerate(made.truncated.tolist()):
        for a, b in product(range(2), range(3)):
            end = tree.first_child[tree.first_child[node] + a] + b
            row = np.searchsorted(tree.terminal, end)
            assert np.array_equal(tree.returns[row], values[leaf, a, b])


@SEEDS
def test_a_leaf_where_both_choose_is_worth_its_matrix_game(seed: int) -> None:
    # Every leaf holds the same matrix: the game is worth that of the matrix of payoffs.
    game, cut = load_game(KUHN), truncated(load_game(KUHN), 1)
    matrix = rng(seed).normal(size=(3, 4))
    values = np.stack([matrix, -matrix], axis=-1)[None].repeat(len(cut.truncated), 0)
    states = cut.tree.states[cut.truncated]
    made = with_choices(cut, [LeafChooser(seat, known_at(game, states, seat)) for seat in (0, 1)], values)
    best = linprog(
        np.r_[np.zeros(3), -1.0],
        A_ub=np.c_[-matrix.T, np.ones(4)],
        b_ub=np.zeros(4),
        A_eq=[[1, 1, 1, 0]],
        b_eq=[1],
        bounds=[(0, None)] * 3 + [(None, None)],
    )
    # Everybody's payoffs are the matrix's wherever play is cut off, and nothing else ends before.
    assert len(cut.truncated) == len(cut.tree.terminal)
    assert solve_lp(made.tree).value == pytest.approx(-best.fun, abs=1e-8)


def test_payoffs_of_another_shape_are_refused() -> None:
    cut = truncated(load_game(KUHN), 1)
    known = np.zeros(len(cut.truncated), np.int64)
    for shape in ((len(known), 2), (len(known), 2, 2, 2), (1, 2, 2), (len(known), 2, 3)):
        with pytest.raises(ValueError, match="choices: values must be"):
            with_choices(cut, [LeafChooser(0, known)], np.zeros(shape))


@SEEDS
@pytest.mark.parametrize("method", ["maxmargin:", "gs2+:whole=0,k=1,"])
def test_what_a_player_chooses_at_leaves_is_no_part_of_its_refined_strategy(seed: int, method: str) -> None:
    there = SearchContext(RandomGame(seed))
    policy = random_blueprint(there.game, seed)[1]
    config = named_search(f"{method}depth=1,leaf=multi-valued,rollouts=0,choosers=everyone,iterations=20")
    for infoset in range(there.tree.n_infosets):
        found = solve_infoset(there, policy, infoset, config, rng(seed))
        mine = there.tree.infoset_player == there.tree.infoset_player[infoset]
        assert np.all(found.slots >= 0) and np.all(mine[there.tree.slot_infoset[found.slots]])
        after = policy.copy()
        after[found.slots] = found.probs
        sums = np.add.reduceat(after, there.tree.infoset_offset[:-1])
        assert sums == pytest.approx(np.ones(there.tree.n_infosets))
