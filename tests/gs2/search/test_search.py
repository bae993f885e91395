"""Searches explain themselves, and refinements of whole strategies hold together."""

from __future__ import annotations

import doctest
import time

import numpy as np
import pytest

from cfr.best_response import best_response_values
from cfr.lp import LpTimeout
from games.support.configuration import ConfigError
from gs2.search.config.presets import preset
from gs2.search.config.search import SearchConfig
from gs2.search.context import SearchOptions
from gs2.search.explain import solve_infoset
from gs2.search.refine.whole import RefineOptions, refine_both, refine_policy
from gs2.search.result import SearchResult
from tests.gs2.search.setting import (
    GOOFSPIEL,
    KUHN,
    LEDUC,
    LIARS_DICE,
    blueprint,
    context,
    form,
    refined_at,
    rng,
    searched,
)

NEVER_ABOVE = 1e-9


def test_the_same_seed_gives_the_same_answer_and_a_passed_deadline_the_old_one():
    there, policy = context(LEDUC), blueprint(LEDUC)
    one, again = (solve_infoset(there, policy, 5, preset("gs2-r"), rng(7)) for _ in range(2))
    assert np.array_equal(one.probs, again.probs)
    passed = SearchOptions(deadline=time.perf_counter() - 1)
    late = solve_infoset(there, policy, 5, preset("gs2+"), rng(7), passed)
    assert late.refined == late.blueprint and not late.kept_refined
    assert late.cut_off


def test_a_linear_programme_that_the_time_cuts_off_leaves_the_old_strategy(monkeypatch):
    def cut_off(tree, *, time_limit):
        assert time_limit is not None and time_limit > 0
        raise LpTimeout("the time was up")

    monkeypatch.setattr("gs2.search.pipeline.solve_lp", cut_off)
    policy = blueprint(LIARS_DICE)
    found = searched(LIARS_DICE, policy, 0, preset("maxmargin", solver="lp", time_limit=3600.0))
    assert np.array_equal(found.probs, policy[found.slots])
    assert any("time was up" in note for note in found.cut_off)


@pytest.mark.parametrize("name", [KUHN, LIARS_DICE, pytest.param(GOOFSPIEL, marks=pytest.mark.long)])
@pytest.mark.parametrize("method", ["gs2+", "gs2+:whole", "gs2+path"])
@pytest.mark.some(3)
def test_gs2_plus_is_never_above_its_blueprint_and_well_below_it(name, method):
    prepared, policy = context(name), blueprint(name, 10)
    changes = {"whole": 0, "k": 2} if method == "gs2+:whole" else {}
    config = preset(method.partition(":")[0], iterations=100, **changes)
    before = best_response_values(form(name), policy)
    both = refine_both(prepared, policy, config)
    for player, made in enumerate(both.results):
        theirs = prepared.tree.slot_player != player
        assert np.array_equal(made.policy[theirs], policy[theirs])
        assert best_response_values(form(name), made.policy)[1 - player] <= before[1 - player] + NEVER_ABOVE
    assert sum(best_response_values(form(name), both.policy)) <= 0.7 * sum(before)


def test_nested_searches_see_those_above_them():
    prepared, policy = context(LIARS_DICE), blueprint(LIARS_DICE, 5)
    alone, nested = (
        refine_policy(prepared, policy, 0, preset("1-klss", iterations=50, mode=mode)).policy
        for mode in ("independent", "nested")
    )
    assert not np.array_equal(alone, nested)
    first = prepared.tree.slots(int(np.flatnonzero(prepared.tree.infoset_player == 0)[0]))
    assert np.array_equal(alone[first], nested[first])


def test_bad_configurations_name_the_field_the_value_and_the_next_step():
    for says, method, changes in (
        ("did you mean", "gs2-e", {}),
        ("at least 1; got 0", "gs2-d", {"k": 0}),
        ("no field deepness", "gs2-d", {"deepness": 3}),
        ("fallback_k must be an integer of at least 0; got -1", "gs2+", {"fallback_k": -1}),
        ("fallback_k needs rest = summary", "gs2-d", {"fallback_k": 3}),
        ("needs solver = cfr", "unsafe", {"solver": "lp", "warm_start": 1.0}),
    ):
        with pytest.raises(ConfigError, match=says):
            preset(method, **changes)
    with pytest.raises(ConfigError, match="k must be given"):
        SearchConfig.of(generator="diverse")
    with pytest.raises(ConfigError, match="mode must be one of"):
        preset("resolve", mode="together")
    assert preset("7-klss").histories.order == 7


def test_a_warm_start_begins_at_the_blueprint():
    tree, policy = context(LEDUC).tree, blueprint(LEDUC, 30)
    for gadget, infoset in (("resolve", 0), ("maxmargin", 3), ("unsafe", 20)):
        config = preset("1-klss", gadget=gadget, iterations=1, warm_start=1e9)
        found = searched(LEDUC, policy, infoset, config)
        np.testing.assert_allclose(refined_at(found, tree, infoset), policy[tree.slots(infoset)], atol=1e-6)


def test_passes_of_a_refinement_are_made_one_after_the_other():
    prepared, policy, options = context(KUHN), blueprint(KUHN, 5), RefineOptions(seed=3)
    passes = [preset("gs2+", iterations=20), preset("gs2+path", iterations=20)]
    for player in (0, 1):
        both = refine_policy(prepared, policy, player, passes, options)
        first = refine_policy(prepared, policy, player, passes[0], options)
        second = refine_policy(prepared, first.policy, player, passes[1], options)
        assert np.array_equal(both.policy, second.policy)
        assert len(both.searches) == len(first.searches) + len(second.searches)
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
