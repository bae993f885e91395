"""The family of depth-limited and regularised searches, on games that can be listed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from cfr.best_response import best_response_values, exploitability
from gs2.search.config.presets import preset
from gs2.search.config.search import SearchConfig
from gs2.search.explain import solve_infoset
from gs2.search.pipeline import refine_infoset
from gs2.search.refine import RefineOptions, refine_policy
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

EXACT = {"leaf": "multi-valued", "rollouts": 0}
NAMES = pytest.mark.parametrize("name", [KUHN, LEDUC, LIARS_DICE, GOOFSPIEL])

QUICK = pytest.mark.parametrize("name", [KUHN, LEDUC, LIARS_DICE])


@cache
def some_infosets(name: str) -> tuple[int, ...]:
    """Return a few infosets that player 0 reaches."""
    tree = context(name).tree
    mine = np.flatnonzero((tree.infoset_player == 0) & (np.diff(tree.infoset_offset) > 1))
    return tuple(np.random.default_rng(0).choice(mine, 4, replace=False).tolist())


def refined(name: str, policy: np.ndarray, infoset: int, config: SearchConfig) -> np.ndarray:
    """Return the policy that a search proposes at an infoset."""
    prepared = context(name)
    strategy = Strategy(prepared.tree, policy)
    found = refine_infoset(prepared, strategy, infoset, config, np.random.default_rng(0))
    return found.at(prepared.tree, infoset)


@NAMES
def test_one_continuation_for_everybody_is_the_exact_leaf(name: str) -> None:
    policy = blueprint(name)
    for infoset in some_infosets(name):
        one = preset("maxmargin", depth=1, policies="blueprint", **EXACT)
        plain = preset("maxmargin", depth=1, leaf="exact")
        np.testing.assert_allclose(
            refined(name, policy, infoset, one), refined(name, policy, infoset, plain), atol=1e-9
        )


@NAMES
def test_many_rollouts_come_near_the_exact_payoffs_of_continuations(name: str) -> None:
    prepared = context(name)
    strategy = Strategy(prepared.tree, random_policy(name, np.random.default_rng(1)))
    found = []
    for rollouts in (0, 400):
        config = preset("maxmargin", depth=1, leaf="multi-valued", rollouts=rollouts, solver="lp")
        infoset = some_infosets(name)[0]
        rng = np.random.default_rng(0)
        made = refine_infoset(prepared, strategy, infoset, config, rng)
        found.append(np.nanmin(made.solved))
        assert made.nodes > 0
    low, high = prepared.game.payoff_range
    assert found[0] == pytest.approx(found[1], abs=0.1 * (high - low))


@NAMES
def test_opponents_who_may_choose_leave_less_than_those_who_may_not(name: str) -> None:
    prepared = context(name)
    strategy = Strategy(prepared.tree, random_policy(name, np.random.default_rng(2)))
    for infoset in some_infosets(name):
        gaps = []
        for policies in ("blueprint", "blueprint+greedy+first+last"):
            config = preset("unsafe", depth=1, policies=policies, choosers="opponents", solver="lp", **EXACT)
            made = refine_infoset(prepared, strategy, infoset, config, np.random.default_rng(0))
            gaps.append(made.solved)
        # What the opponent gets at each of its infosets together, as often as it is there.
        weight = made.considered.reach
        mass = np.bincount(made.considered.group, weight * made.considered.opponent_reach)
        some = ~np.isnan(gaps[0]) & (mass[: len(gaps[0])] > 0)
        share = mass[: len(gaps[0])][some]
        assert share @ gaps[0][some] <= share @ gaps[1][some] + 1e-8


@NAMES
def test_the_temperature_leads_from_the_solution_to_the_blueprint(name: str) -> None:
    policy = random_policy(name, np.random.default_rng(3))
    prepared = context(name)
    for infoset in some_infosets(name)[:2]:
        slots = prepared.tree.slots(infoset)
        distance = []
        for temperature in (1e4, 1.0, 1e-4):
            config = preset("maxmargin", solver="anchored", temperature=temperature, iterations=400)
            found = refined(name, policy, infoset, config)
            assert found.sum() == pytest.approx(1.0)
            distance.append(float(np.abs(found - policy[slots]).sum()))
        assert distance[0] < 0.01
        assert distance[0] <= distance[1] + 0.01 <= distance[2] + 0.05


@QUICK
@pytest.mark.some(2)
def test_cold_anchored_searches_reach_what_cfr_reaches(name: str) -> None:
    prepared = context(name)
    policy = blueprint(name, 3)
    scores = []
    for changes in ({}, {"solver": "anchored", "temperature": 1e-4}):
        config = preset("maxmargin", iterations=300, **changes)
        both = policy.copy()
        for player in (0, 1):
            options = RefineOptions(mode="nested")
            made = refine_policy(prepared, policy, player, config, options).policy
            mine = prepared.tree.slot_player == player
            both[mine] = made[mine]
        scores.append(exploitability(form(name), both))
    low, high = prepared.game.payoff_range
    assert scores[1] <= scores[0] + 0.01 * (high - low)
    assert scores[1] < exploitability(form(name), policy)


def test_an_anchored_search_stops_at_its_deadline_and_says_its_gap() -> None:
    prepared = context(LEDUC)
    config = preset("maxmargin", solver="anchored", iterations=10**8, time_limit=0.05)
    found = solve_infoset(prepared, blueprint(LEDUC), 0, config, np.random.default_rng(0))
    assert any("time was up" in note for note in found.cut_off)
    assert found.gap >= -1e-9
    near = preset("maxmargin", solver="anchored", iterations=10**8, target=1e-2)
    assert solve_infoset(prepared, blueprint(LEDUC), 0, near, np.random.default_rng(0)).gap <= 1e-2


@QUICK
@pytest.mark.some(2)
def test_anchored_searches_take_summaries_and_certificates(name: str) -> None:
    prepared = context(name)
    policy = random_policy(name, np.random.default_rng(4))
    config = preset("gs2+", whole=0, k=1, solver="anchored", temperature=0.01, iterations=60)
    for player in (0, 1):
        made = refine_policy(prepared, policy, player, config).policy
        before = best_response_values(form(name), policy)[1 - player]
        assert best_response_values(form(name), made)[1 - player] <= before + 1e-9


def test_a_statistical_certificate_keeps_what_gains_and_drops_what_does_not() -> None:
    prepared = context(LEDUC)
    weak = random_policy(LEDUC, np.random.default_rng(5))
    kept = dropped = 0
    for infoset in some_infosets(LEDUC):
        config = preset("unsafe", certificate="statistical", trials=2000)
        found = refine_infoset(
            prepared, Strategy(prepared.tree, weak), infoset, config, np.random.default_rng(0)
        )
        assert found.certified is not None
        assert found.certified.said
        assert found.certified.said in found.cut_off
        kept += found.anchor == 1
        if found.anchor == 0:
            assert np.array_equal(found.at(prepared.tree, infoset), weak[prepared.tree.slots(infoset)])
        # What is nearly an equilibrium leaves nothing that so few games could prove.
        strong = Strategy(prepared.tree, blueprint(LEDUC, 2000))
        again = refine_infoset(prepared, strong, infoset, config.replace(trials=50), np.random.default_rng(0))
        dropped += again.anchor == 0
    assert kept >= 2
    assert dropped >= 3


def test_a_tolerance_lets_smaller_weights_pass() -> None:
    prepared = context(LEDUC)
    weak = Strategy(prepared.tree, random_policy(LEDUC, np.random.default_rng(6)))
    seen = set()
    for infoset in some_infosets(LEDUC):
        config = preset(
            "unsafe", certificate="statistical", trials=1000, against="blueprint+uniform+last", tolerance=0.05
        )
        found = refine_infoset(prepared, weak, infoset, config, np.random.default_rng(0))
        seen.add(found.anchor)
        strict = refine_infoset(
            prepared, weak, infoset, config.replace(tolerance=0.0), np.random.default_rng(0)
        )
        assert strict.anchor in (0, 1)
    assert seen <= {0, 0.25, 0.5, 0.75, 1}
    assert seen - {0}
