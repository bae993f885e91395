"""Searches explain themselves, and refinements of whole strategies hold together."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfr.best_response import best_response_values
from cfr.lp import LpTimeout
from games.support.configuration import ConfigError
from gs2.parts import register_generator
from gs2.search.config.presets import PRESET_NOTES, PRESETS, preset
from gs2.search.config.search import SearchConfig
from gs2.search.config.stages import GENERATOR_NAMES
from gs2.search.context import SearchOptions
from gs2.search.explain import solve_infoset
from gs2.search.generation import GENERATORS
from gs2.search.pipeline import refine_infoset
from gs2.search.refine import RefineOptions, refine_policy
from gs2.search.result import SearchResult
from gs2.search.strategy import Strategy
from tests.gs2.search.setting import (
    GOOFSPIEL,
    KUHN,
    LEDUC,
    LIARS_DICE,
    blueprint,
    context,
    form,
    random_policy,
)
from tests.patience import PATIENCE, amount

NEVER_ABOVE = 1e-9


@pytest.mark.parametrize("method", PRESETS)
@pytest.mark.parametrize("name", [KUHN, LIARS_DICE])
def test_every_preset_explains_its_answer(method, name):
    prepared = context(name)
    infoset = prepared.game.parse_infoset(prepared.infoset_text(3))
    config = preset(method)
    if config.solve.solver == "cfr":
        config = config.replace(iterations=50)
    found = solve_infoset(prepared, blueprint(name), infoset, config, np.random.default_rng(1))
    assert found.infoset == infoset.text and found.player == infoset.player
    assert sum(found.refined.values()) == pytest.approx(1.0)
    assert sum(found.blueprint.values()) == pytest.approx(1.0)
    assert sum(row.reach for row in found.histories) == pytest.approx(1.0)
    numbers = {row.number for row in found.opponents}
    assert {row.opponent_infoset for row in found.histories} == numbers
    assert found.histories_kept == sum(row.kept for row in found.histories)
    assert len(found.slots) == len(found.probs)
    assert json.loads(json.dumps(found.to_json()))["config"]["name"] == method
    assert method in PRESET_NOTES
    if config.solve.solver != "mirror-descent":
        assert found.nodes > 0 and found.iterations > 0


def test_the_same_seed_gives_the_same_answer_and_a_passed_deadline_the_old_one():
    prepared = context(LEDUC)
    runs = [
        solve_infoset(prepared, blueprint(LEDUC), 5, preset("gs2-r"), np.random.default_rng(7))
        for _ in range(2)
    ]
    assert np.array_equal(runs[0].probs, runs[1].probs)
    late = solve_infoset(
        prepared,
        blueprint(LEDUC),
        5,
        preset("gs2+"),
        np.random.default_rng(7),
        SearchOptions(deadline=time.perf_counter() - 1),
    )
    assert late.refined == late.blueprint and not late.kept_refined
    assert late.cut_off


def test_a_linear_programme_that_the_time_cuts_off_leaves_the_old_strategy(monkeypatch):
    def cut_off(tree, *, time_limit):
        assert time_limit is not None and time_limit > 0
        raise LpTimeout("the time was up")

    monkeypatch.setattr("gs2.search.solve.subgame.solve_lp", cut_off)
    prepared = context(LIARS_DICE)
    config = preset("maxmargin", solver="lp", time_limit=3600.0)
    found = solve_infoset(prepared, blueprint(LIARS_DICE), 0, config, np.random.default_rng(0))
    assert found.refined == found.blueprint and not found.kept_refined
    assert any("time was up" in note for note in found.cut_off)


@pytest.mark.parametrize("name", [KUHN, LIARS_DICE, pytest.param(GOOFSPIEL, marks=pytest.mark.long)])
@pytest.mark.parametrize("method", ["gs2+", "gs2+:whole", "gs2+path"])
def test_gs2_plus_is_never_above_its_blueprint_and_well_below_it(name, method):
    prepared = context(name)
    policy = blueprint(name, 10)
    changes = {"whole": 0, "k": 2} if method == "gs2+:whole" else {}
    config = preset(method.partition(":")[0], iterations=100, **changes)
    before, refined = best_response_values(form(name), policy), policy.copy()
    for player in (0, 1):
        made = refine_policy(prepared, policy, player, config)
        mine = prepared.tree.slot_player == player
        assert np.array_equal(made.policy[~mine], policy[~mine])
        refined[mine] = made.policy[mine]
        assert best_response_values(form(name), made.policy)[1 - player] <= before[1 - player] + NEVER_ABOVE
    assert sum(best_response_values(form(name), refined)) <= 0.7 * sum(before)


def test_independent_searches_do_not_depend_on_their_order_or_on_workers():
    prepared = context(KUHN)
    policy = blueprint(KUHN)
    config = preset("gs2-r", k=1, iterations=30)
    mine = np.flatnonzero(prepared.tree.infoset_player == 0)
    one = refine_policy(prepared, policy, 0, config, RefineOptions(mode="independent", infosets=mine))
    other = refine_policy(prepared, policy, 0, config, RefineOptions(mode="independent", infosets=mine[::-1]))
    shared = refine_policy(prepared, policy, 0, config, RefineOptions(mode="independent", workers=2))
    assert np.array_equal(one.policy, other.policy) and np.array_equal(one.policy, shared.policy)


def lowest_index(values, weights, k, rng):
    """Choose the first k histories."""
    return np.arange(min(k, len(values)))


@pytest.mark.long
def test_workers_are_sent_parts_of_ones_own_and_give_the_same_strategy():
    prepared = context(LIARS_DICE)
    policy = blueprint(LIARS_DICE)
    register_generator("lowest-index", lowest_index)
    register_generator("not-to-send", lambda values, weights, k, rng: lowest_index(values, weights, k, rng))
    try:
        config = SearchConfig.of(generator="lowest-index", k=2, iterations=20)
        one = refine_policy(prepared, policy, 1, config, RefineOptions(mode="nested", seed=3))
        shared = refine_policy(prepared, policy, 1, config, RefineOptions(mode="nested", seed=3, workers=2))
        assert np.array_equal(one.policy, shared.policy) and len(one.searches) == len(shared.searches)
        with pytest.raises(ConfigError, match=r"the generator must be one that pickle can send.*workers=1"):
            refine_policy(
                prepared,
                policy,
                1,
                config.replace(generator="not-to-send"),
                RefineOptions(mode="nested", workers=2),
            )
    finally:
        for name in ("lowest-index", "not-to-send"):
            GENERATOR_NAMES.remove(name)
            del GENERATORS[name]


def test_workers_of_a_script_that_calls_without_a_guard_are_explained(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import gs2, games\n"
        "from cfr.policies.policy import uniform_policy\n"
        "context = gs2.SearchContext(games.load_game('kuhn_poker'))\n"
        "gs2.refine_policy(context, uniform_policy(context.tree), 0, gs2.preset('resolve', iterations=1),\n"
        "                  gs2.RefineOptions(workers=2))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert "ConfigError: refine_policy: every process must answer" in done.stderr.strip().splitlines()[-1]
    assert "__main__" in done.stderr


def test_nested_searches_see_those_above_them():
    prepared = context(LIARS_DICE)
    policy = blueprint(LIARS_DICE, 5)
    config = preset("1-klss", iterations=50)
    made = {
        mode: refine_policy(prepared, policy, 0, config, RefineOptions(mode=mode))
        for mode in ("independent", "nested")
    }
    assert not np.array_equal(made["independent"].policy, made["nested"].policy)
    first = np.flatnonzero(prepared.tree.infoset_player == 0)[0]
    at = prepared.tree.slots(int(first))
    assert np.array_equal(made["independent"].policy[at], made["nested"].policy[at])


def test_bad_configurations_name_the_field_the_value_and_the_next_step():
    with pytest.raises(ConfigError, match="did you mean"):
        preset("gs2-e")
    with pytest.raises(ConfigError, match="k must be given"):
        SearchConfig.of(generator="diverse")
    with pytest.raises(ConfigError, match="at least 1; got 0"):
        preset("gs2-d", k=0)
    with pytest.raises(ConfigError, match="no field deepness"):
        preset("gs2-d", deepness=3)
    with pytest.raises(ConfigError, match="fallback_k must be an integer of at least 0; got -1"):
        preset("gs2+", fallback_k=-1)
    with pytest.raises(ConfigError, match="fallback_k needs rest = summary"):
        preset("gs2-d", fallback_k=3)
    with pytest.raises(ConfigError, match="close must be True"):
        preset("gs2+", close=False)
    with pytest.raises(ConfigError, match="mode must be one of"):
        refine_policy(context(KUHN), blueprint(KUHN), 0, preset("resolve"), RefineOptions(mode="together"))
    assert preset("7-klss").histories.order == 7


@pytest.mark.long
def test_a_warm_start_makes_little_time_enough():
    # Three iterations from uniform play are worse than the blueprint, which then stands; from the blueprint
    # they improve on it.
    prepared, policy = context(GOOFSPIEL), blueprint(GOOFSPIEL, 30)
    before = sum(best_response_values(form(GOOFSPIEL), policy))
    after = {}
    for warm in (0.0, 0.3):
        config = preset("gs2+", iterations=3, warm_start=warm)
        refined = policy.copy()
        for player in (0, 1):
            found = refine_policy(prepared, policy, player, config).policy
            mine = prepared.tree.slot_player == player
            refined[mine] = found[mine]
        after[warm] = sum(best_response_values(form(GOOFSPIEL), refined)) / before
    assert after[0.3] < 0.7 * after[0.0] <= 0.7 * (1 + 1e-9)


def test_a_warm_start_is_for_cfr_alone():
    for solver in ("lp", "mirror-descent"):
        with pytest.raises(ConfigError, match="warm_start needs solver = cfr"):
            SearchConfig.of(solver=solver, warm_start=1.0)


def test_a_warm_start_begins_at_the_blueprint():
    prepared, policy = context(LEDUC), blueprint(LEDUC, 30)
    for gadget in ("resolve", "maxmargin", "unsafe"):
        config = preset("1-klss", gadget=gadget, iterations=1, warm_start=1e9)
        for infoset in (0, 3, 20):
            found = refine_infoset(
                prepared, Strategy(prepared.tree, policy), infoset, config, np.random.default_rng(0)
            )
            np.testing.assert_allclose(
                found.at(prepared.tree, infoset), policy[prepared.tree.slots(infoset)], atol=1e-6
            )


@given(
    seed=st.integers(0, 10**6), rounds=st.integers(1, 3), scope=st.sampled_from(["both", "block", "subtree"])
)
@settings(max_examples=amount(20), deadline=None)
def test_searches_of_several_steps_never_change_the_callers_strategy(seed, rounds, scope):
    prepared = context(KUHN)
    policy = random_policy(KUHN, np.random.default_rng(seed))
    strategy = Strategy(prepared.tree, policy)
    freeze = "outside" if scope == "both" else "none"
    config = preset("gs2+", rounds=rounds, scope=scope, freeze=freeze, iterations=5)
    infoset = seed % prepared.tree.n_infosets
    found = refine_infoset(prepared, strategy, infoset, config, np.random.default_rng(0))
    assert np.array_equal(strategy.probs, policy)
    assert len(found.steps) == len(config.steps()) or len(config.steps()) == 1


@given(seed=st.integers(0, 10**6))
@settings(max_examples=3, deadline=None)
@pytest.mark.long
def test_passes_of_a_refinement_are_made_one_after_the_other(seed):
    prepared = context(LIARS_DICE)
    policy = random_policy(LIARS_DICE, np.random.default_rng(seed))
    passes = [preset("gs2+", iterations=20), preset("gs2+path", iterations=20)]
    before = best_response_values(form(LIARS_DICE), policy)
    for player in (0, 1):
        both = refine_policy(prepared, policy, player, passes, RefineOptions(seed=seed))
        first = refine_policy(prepared, policy, player, passes[0], RefineOptions(seed=seed))
        second = refine_policy(prepared, first.policy, player, passes[1], RefineOptions(seed=seed))
        assert np.array_equal(both.policy, second.policy)
        assert len(both.searches) == len(first.searches) + len(second.searches)
        values = [best_response_values(form(LIARS_DICE), p)[1 - player] for p in (first.policy, both.policy)]
        assert values[1] <= values[0] + NEVER_ABOVE and values[0] <= before[1 - player] + NEVER_ABOVE
    with pytest.raises(ConfigError, match="at least one"):
        refine_policy(prepared, policy, 0, [])


def test_the_help_of_a_search_shows_one_that_runs_and_says_what_comes_back() -> None:
    text = solve_infoset.__doc__ or ""
    found = doctest.DocTestParser().get_doctest(text, {}, "solve_infoset", None, None)
    assert doctest.DocTestRunner().run(found) == (0, len(found.examples)) and len(found.examples) > 4
    for field in ("refined", "blueprint", "histories", "margins", "cut_off", "seconds", "slots", "probs"):
        assert f"`{field}`" in text and (
            field in SearchResult.__annotations__ or hasattr(SearchResult, field)
        )
