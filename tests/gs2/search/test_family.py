"""The family of depth-limited and regularised searches, on games that can be listed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gs2.search.config.presets import preset
from gs2.search.config.search import SearchConfig
from gs2.search.explain import solve_infoset
from tests.gs2.search.setting import (
    GOOFSPIEL,
    KUHN,
    LEDUC,
    LIARS_DICE,
    blueprint,
    context,
    random_policy,
    refined_at,
    rng,
    searched,
)

EXACT = {"leaf": "multi-valued", "rollouts": 0}
NAMES = pytest.mark.parametrize("name", [LEDUC, KUHN, GOOFSPIEL, LIARS_DICE])


@cache
def some_infosets(name: str) -> tuple[int, ...]:
    """Return a few infosets that player 0 reaches."""
    tree = context(name).tree
    mine = np.flatnonzero((tree.infoset_player == 0) & (np.diff(tree.infoset_offset) > 1))
    return tuple(np.random.default_rng(0).choice(mine, 4, replace=False).tolist())


def refined(name: str, policy: np.ndarray, infoset: int, config: SearchConfig) -> np.ndarray:
    """Return the policy that a search proposes at an infoset."""
    return refined_at(searched(name, policy, infoset, config), context(name).tree, infoset)


@NAMES
@pytest.mark.some(2)
def test_one_continuation_for_everybody_is_the_exact_leaf(name: str) -> None:
    policy = blueprint(name)
    for infoset in some_infosets(name):
        one, plain = (
            refined(name, policy, infoset, preset("maxmargin", depth=1, **leaf))
            for leaf in ({"policies": "blueprint", **EXACT}, {"leaf": "exact"})
        )
        np.testing.assert_allclose(one, plain, atol=1e-9)


@NAMES
@pytest.mark.some(2)
def test_opponents_who_may_choose_leave_less_than_those_who_may_not(name: str) -> None:
    policy = random_policy(name, rng(2))
    for infoset in some_infosets(name):
        gaps = []
        for policies in ("blueprint", "blueprint+greedy+first+last"):
            config = preset("unsafe", depth=1, policies=policies, choosers="opponents", solver="lp", **EXACT)
            made = searched(name, policy, infoset, config)
            gaps.append(made.solved)
        # What the opponent gets at each of its infosets together, as often as it is there.
        at = made.considered
        mass = np.bincount(at.group, at.reach * at.opponent_reach)[: len(gaps[0])]
        some = ~np.isnan(gaps[0]) & (mass > 0)
        assert mass[some] @ gaps[0][some] <= mass[some] @ gaps[1][some] + 1e-8


@NAMES
@pytest.mark.some(2)
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


def test_an_anchored_search_stops_at_its_deadline_and_says_its_gap() -> None:
    prepared = context(LEDUC)
    config = preset("maxmargin", solver="anchored", iterations=10**8, time_limit=0.05)
    found = solve_infoset(prepared, blueprint(LEDUC), 0, config, np.random.default_rng(0))
    assert any("time was up" in note for note in found.cut_off)
    assert found.gap >= -1e-9
    near = preset("maxmargin", solver="anchored", iterations=10**8, target=1e-2)
    assert solve_infoset(prepared, blueprint(LEDUC), 0, near, np.random.default_rng(0)).gap <= 1e-2


def test_a_statistical_certificate_keeps_what_gains_and_drops_what_does_not() -> None:
    tree, weak = context(LEDUC).tree, random_policy(LEDUC, rng(5))
    config = preset("unsafe", certificate="statistical", trials=2000)
    kept = dropped = 0
    for infoset in some_infosets(LEDUC):
        found = searched(LEDUC, weak, infoset, config)
        assert found.certified is not None
        assert found.certified.said
        assert found.certified.said in found.cut_off
        kept += found.anchor == 1
        if found.anchor == 0:
            assert np.array_equal(refined_at(found, tree, infoset), weak[tree.slots(infoset)])
        # What is nearly an equilibrium leaves nothing that so few games could prove.
        dropped += searched(LEDUC, blueprint(LEDUC, 500), infoset, config.replace(trials=50)).anchor == 0
    assert kept >= 2
    assert dropped >= 3
