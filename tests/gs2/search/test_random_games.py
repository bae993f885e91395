"""Search on random games: private and public order of turns, private chance, uneven depths, any blueprint."""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cfr.best_response import best_response_values
from cfr.lp import solve_lp
from cfr.policies.lock import LockedTree
from cfr.policies.policy import tabular_policy, uniform_policy
from cfr.sequence_form import SequenceForm, sequence_form
from cfr.solver import solve
from cfr.values import group_values
from games import check_game
from gs2.search.config.presets import PRESET_NOTES, PRESETS, preset
from gs2.search.config.stages import WEIGHTED_GENERATORS
from gs2.search.context import SearchContext, Strategy
from gs2.search.explain import solve_infoset
from gs2.search.generation import GENERATORS
from gs2.search.pipeline import refine_infoset
from gs2.search.refine.whole import RefineOptions, refine_policy
from gs2.search.subgame.continuations import best_response_policy
from tests.games.random_games import RandomGame
from tests.gs2.search.setting import spliced
from tests.patience import amount

ROUNDING = 1e-9
BLUEPRINTS = ("uniform", "dirichlet", "one-hot", "sparse", "best response", "cfr")
CLOSURES = ("resolve", "maxmargin", "reach-maxmargin", "path")


@lru_cache(maxsize=64)
def prepared(seed: int, public: bool) -> tuple[SearchContext, SequenceForm]:
    """Return a random game, ready for searches."""
    context = SearchContext(RandomGame(seed, public=public))
    return context, sequence_form(context.tree)


def blueprint(context: SearchContext, form: SequenceForm, kind: str, seed: int) -> np.ndarray:
    """Return a strategy of a kind for both players, [slots]."""
    tree = context.tree
    rng = np.random.default_rng(seed)
    start = tree.infoset_offset[:-1]
    counts = np.diff(tree.infoset_offset)
    if kind == "uniform":
        return uniform_policy(tree)
    if kind == "cfr":
        return solve(form, variant="cfr", iterations=int(rng.integers(1, 30))).policy
    weight = rng.exponential(size=tree.n_slots)
    if kind == "sparse":
        weight *= rng.random(tree.n_slots) < 0.5
    if kind == "one-hot":
        weight[:] = 0.0
    if kind in ("sparse", "one-hot"):
        weight[start + rng.integers(0, counts)] += 1.0
    policy = weight / np.repeat(np.add.reduceat(weight, start), counts)
    if kind == "best response":
        policy = best_response_policy(tree, policy, int(rng.integers(2)))
    return policy


random_searches = given(seed=st.integers(0, 10**6), public=st.booleans(), kind=st.sampled_from(BLUEPRINTS))


def at_random(test):
    """Run a test on random games, of both orders of turns and all blueprints."""
    quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    return settings(max_examples=amount(50, 5), deadline=None, suppress_health_check=quiet)(
        random_searches(test)
    )


def exploitabilities(
    context: SearchContext, form: SequenceForm, policy: np.ndarray, method: str, seed: int, **changes
) -> tuple[list[float], list[float], float, float]:
    """Return the best-response values before and after refining the other seat, and exploitabilities."""
    tree = context.tree
    before = best_response_values(form, policy)
    both = policy.copy()
    after = list(before)
    for player in np.unique(tree.infoset_player).tolist():
        config = preset(method, iterations=20, **changes)
        made = refine_policy(context, policy, player, config, RefineOptions(seed=seed))
        after[1 - player] = best_response_values(form, made.policy)[1 - player]
        mine = tree.slot_player == player
        assert np.array_equal(made.policy[~mine], policy[~mine]), "the other player's strategy stays"
        both[mine] = made.policy[mine]
    return list(before), after, sum(before) / 2, sum(best_response_values(form, both)) / 2


def never_above(seed: int, public: bool, kind: str, method: str, **changes) -> None:
    """Raise AssertionError if a certified method ends above its blueprint on a random game."""
    context, form = prepared(seed, public)
    policy = blueprint(context, form, kind, seed)
    before, after, was, now = exploitabilities(context, form, policy, method, seed, **changes)
    assert max(np.subtract(after, before)) <= ROUNDING, (seed, public, kind, method, changes)
    assert now <= was + ROUNDING


@at_random
def test_certified_refinements_are_never_above_their_blueprint(seed, public, kind):
    k = 1 + seed % 3
    never_above(seed, public, kind, "gs2+")
    never_above(seed, public, kind, "gs2+", whole=0, k=k)
    never_above(seed, public, kind, "gs2+path")
    few = ("gs2-r", "gs2-d", "1-klss", "kluss", "unsafe", "maxmargin")[seed % 6]
    judge = ("margin", "anchored")[seed % 2]
    never_above(seed, public, kind, few, certificate=judge, mode="sequential")
    with pytest.MonkeyPatch.context() as patch:  # small searches in place of closures
        patch.setattr("gs2.search.pipeline.TreeSource._too_large", lambda *_: True)
        never_above(seed, public, kind, "gs2+", fallback_k=k, time_limit=600.0)


@example(seed=70593, public=False, kind="uniform")  # an extension without a history of the closure itself
@at_random
def test_solved_closures_are_exact_with_each_gadget(seed, public, kind):
    context, form = prepared(seed, public)
    tree = context.tree
    policy = blueprint(context, form, kind, seed)
    rng = np.random.default_rng(seed)
    infoset = int(rng.integers(tree.n_infosets))
    for name in CLOSURES:
        config = preset(name, solver="lp", entry_floor=0.0)
        strategy = Strategy(tree, policy)
        found = refine_infoset(context, strategy, infoset, config, rng)
        assert np.array_equal(strategy.probs, policy)
        opponent = found.considered.opponent
        after = spliced(policy, found)
        was, now = (best_response_values(form, p)[opponent] for p in (policy, after))
        assert now <= was + 1e-7, (seed, public, kind, name)
        if found.considered.off_path or found.nodes == 0:
            continue
        # What the subgame says that the opponent gets is what it gets in the whole game.
        whole = Strategy(tree, after)
        at = found.considered
        rooted = group_values(whole.best_response(opponent)[at.nodes], at.reach, at.group)
        assert np.allclose(found.solved, rooted, atol=1e-7), (seed, public, kind, name)
        if name in ("resolve", "maxmargin"):
            assert np.all(found.solved <= at.alternative + 1e-6), (seed, public, kind, name)


@at_random
def test_refining_the_first_closure_with_the_path_gadget_solves_what_can_be_solved(seed, public, kind):
    # The best strategy that agrees with the blueprint outside the closure, found by another way: the linear
    # programme of the whole game with everything else that the player decides fixed by the blueprint.
    context, form = prepared(seed, public)
    tree = context.tree
    policy = blueprint(context, form, kind, seed)
    infoset = int(np.random.default_rng(seed).integers(tree.n_infosets))
    config = preset("path", solver="lp", entry_floor=0.0)
    found = refine_infoset(context, Strategy(tree, policy), infoset, config, np.random.default_rng(0))
    if found.considered.off_path or found.nodes == 0:
        return
    player, opponent = found.considered.player, found.considered.opponent
    after = spliced(policy, found)
    fixed = tree.infoset_player == player
    fixed[tree.slot_infoset[found.slots]] = False
    lock = tabular_policy(context.game.name, tree, policy).only(fixed)
    best = solve_lp(LockedTree(tree, lock).tree)
    value = float(best.value) if player == 0 else -float(best.value)
    assert best_response_values(form, after)[opponent] == pytest.approx(-value, abs=1e-6)


@at_random
def test_every_preset_runs_keeps_to_the_rules_and_explains_its_answer(seed, public, kind):
    context, form = prepared(seed, public)
    tree = context.tree
    policy = blueprint(context, form, kind, seed)
    infoset = seed % tree.n_infosets
    for number, name in enumerate(PRESETS):
        if (seed + number) % amount(1, 2):
            continue
        config = preset(name)
        if config.solve.solver == "cfr":
            config = config.replace(iterations=3)
        if config.generation.generator != "all":
            left_out = () if config.solve.solver == "mirror-descent" else WEIGHTED_GENERATORS
            names = sorted(set(GENERATORS) - set(left_out))
            chosen = names[(seed + number) % len(names)]
            k = None if chosen == "all" else 1 + seed % 4
            config = config.replace(generator=chosen, **({} if k is None else {"k": k}))
        if config.solve.solver != "mirror-descent" and (seed + number) % 2:
            config = config.replace(depth=1 + seed % 3, leaf="value")
        config = config.replace(source="auto")
        strategy = Strategy(tree, policy)
        found = solve_infoset(context, strategy, infoset, config, np.random.default_rng(seed))
        assert np.array_equal(strategy.probs, policy), "the caller's strategy is left as it was"
        probs = np.array(list(found.refined.values()))
        assert np.all(probs >= 0) and probs.sum() == pytest.approx(1.0, abs=1e-9)
        theirs = tree.infoset_player[context.tree.slot_infoset[found.slots]]
        assert np.all(theirs == tree.infoset_player[infoset])
        assert found.kept_refined or np.array_equal(found.probs, policy[found.slots])
        assert found.infoset == context.infoset_text(infoset) and len(found.slots) == len(found.probs)
        assert sum(row.reach for row in found.histories) == pytest.approx(1.0)
        assert {row.opponent_infoset for row in found.histories} == {row.number for row in found.opponents}
        assert found.histories_kept == sum(row.kept for row in found.histories)
        assert json.loads(json.dumps(found.to_json()))["config"]["name"] == name in PRESET_NOTES


@pytest.mark.parametrize("name", ("maxmargin", "resolve", "gs2+"))
def test_a_depth_limit_before_the_infoset_itself_leaves_its_strategy(name):
    told = 0
    for seed in range(1040, 1040 + amount(8, 2)):
        context, form = prepared(seed, False)
        policy = blueprint(context, form, "uniform", seed)
        for infoset in range(context.tree.n_infosets):
            config = preset(name, depth=1, leaf="value", iterations=3)
            found = solve_infoset(context, policy, infoset, config, np.random.default_rng(0))
            if any("the depth limit comes before the infoset itself" in note for note in found.cut_off):
                assert found.refined == found.blueprint
                told += 1
    assert told > 0


@given(seed=st.integers(0, 10**6), public=st.booleans())
@settings(max_examples=amount(30, 1), deadline=None)
def test_the_random_games_keep_the_contract(seed, public):
    check_game(RandomGame(seed, public=public), np.random.default_rng(seed))
