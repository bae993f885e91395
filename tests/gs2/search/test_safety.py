"""Certificates: whatever a subgame says, what is kept never helps the opponent."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.best_response import best_response_values
from cfr.values import reach
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext
from gs2.search.explain import solve_infoset
from gs2.search.refine.whole import RefineOptions, refine_policy
from gs2.search.safety import PlanMixer, splice_slots
from tests.cfr.trees import LongWay
from tests.gs2.search.setting import (
    KUHN,
    LEDUC,
    LIARS_DICE,
    blueprint,
    context,
    form,
    opponent_gain,
    random_policy,
    rng,
    searched,
)
from tests.patience import amount

ROUNDING = 1e-9

RISKY = (
    preset("gs2+", iterations=3),
    preset("gs2+", iterations=3, whole=0, plans=1, k=1),
    preset("gs2+", iterations=2, whole=0, k=2, certificate="margin"),
    preset("gs2+path", iterations=3),
    preset("gs2-r", k=1, certificate="anchored", iterations=5),
    preset("1-klss", certificate="margin", iterations=5),
    preset("unsafe", certificate="anchored", iterations=5),
)
"""Searches that are often wrong: few iterations, one history, no gadget."""


@pytest.mark.parametrize(
    "config", RISKY, ids=lambda c: f"{c.name}-{c.safety.certificate}-{c.generation.k}-{c.subgame.whole}"
)
def test_a_certificate_stops_what_raises_the_opponents_best_response_value_without_one(config):
    bare, stopped = config.replace(certificate="none"), 0
    for seed in range(1, 61, 2):
        if opponent_gain(LIARS_DICE, bare, seed, near=True)[0] > 1e-4:
            assert opponent_gain(LIARS_DICE, config, seed, near=True)[0] <= ROUNDING
            stopped += 1
            if stopped == amount(12, 2):
                break
    assert stopped > 0


@pytest.mark.parametrize("name, k", [(KUHN, 1), pytest.param(LIARS_DICE, 2, marks=pytest.mark.long)])
def test_small_searches_in_place_of_closures_never_raise_it_however_many_there_are(name, k, monkeypatch):
    monkeypatch.setattr("gs2.search.pipeline.TreeSource._too_large", lambda *_: True)
    prepared = context(name)
    config = preset("gs2+", fallback_k=k, time_limit=600.0, iterations=10)
    fell = []
    for seed in range(amount(3, 1)):
        policy = 0.9 * blueprint(name, 20) + 0.1 * random_policy(name, np.random.default_rng(seed))
        before = best_response_values(form(name), policy)
        for player in (0, 1):
            made = refine_policy(prepared, policy, player, config, RefineOptions(seed=seed))
            again = refine_policy(prepared, policy, player, config, RefineOptions(seed=seed + 1))
            assert np.array_equal(made.policy, again.policy), "the seed changes nothing"
            alone = refine_policy(prepared, policy, player, config.replace(fallback_k=0))
            assert np.array_equal(alone.policy, policy), "what was refined, the small searches refined"
            after = best_response_values(form(name), made.policy)
            assert after[1 - player] <= before[1 - player] + ROUNDING
            fell.append(before[1 - player] - after[1 - player])
    assert max(fell) > 1e-3


def test_a_closure_that_cannot_be_solved_in_time_is_left_alone_without_a_fallback(monkeypatch):
    monkeypatch.setattr("gs2.search.pipeline.SECONDS_PER_NODE", 1e9)
    policy = blueprint(LIARS_DICE)
    made = searched(LIARS_DICE, policy, 0, preset("gs2+", fallback_k=0, time_limit=600.0))
    assert made.timed_out and made.anchor == 0 and np.array_equal(made.probs, policy[made.slots])
    assert "cannot be solved" in made.cut_off[0]


def test_small_searches_keep_as_many_histories_as_the_time_allows(monkeypatch):
    config = preset("gs2+", fallback_k=2, time_limit=600.0, iterations=10)
    kept = []
    monkeypatch.setattr("gs2.search.pipeline.TreeSource._too_large", lambda *_: True)
    for seconds_per_node in (1e-9, 1.0, 1e6):
        monkeypatch.setattr("gs2.search.pipeline.SECONDS_PER_NODE", seconds_per_node)
        made = searched(LIARS_DICE, blueprint(LIARS_DICE), 0, config)
        kept.append((len(made.kept.generated), made.nodes > 0))
    assert kept == [(2, True), (1, True), (0, False)]


def test_mixing_plans_mixes_the_reach_of_every_node():
    prepared = context(LEDUC)
    tree, draw = prepared.tree, rng(1)
    old, new = random_policy(LEDUC, draw), random_policy(LEDUC, draw, sharpness=3)
    mine = tree.slot_player == 0
    slots = draw.permutation(np.flatnonzero(mine))
    new[~mine] = old[~mine]
    mixed = old.copy()
    mixed[slots] = PlanMixer(prepared, 0, slots, old[slots], new[slots]).mix(0.3)
    of = [reach(tree, policy).players[:, 0] for policy in (old, new, mixed)]
    assert np.allclose(of[2], 0.7 * of[0] + 0.3 * of[1], atol=1e-12)


@pytest.mark.parametrize("chance", (False, True))
def test_what_hundreds_of_moves_make_unlikely_is_mixed_and_searched(chance):
    prepared = SearchContext(LongWay(chance=chance))
    tree, draw = prepared.tree, rng(2)
    policy, other = draw.dirichlet(np.ones(LongWay.ways), (2, tree.n_infosets)).reshape(2, -1)
    slots = np.flatnonzero(tree.slot_player == 0)
    mixed = PlanMixer(prepared, 0, slots, policy[slots], other[slots]).mix(0.5)
    assert np.allclose(mixed.reshape(-1, LongWay.ways).sum(axis=1), 1.0, atol=1e-12)
    for infoset in (0, tree.n_infosets - 1):
        config = preset("maxmargin", iterations=3, anchor=0.5)
        found = solve_infoset(prepared, policy, infoset, config, draw)
        assert sum(found.refined.values()) == pytest.approx(1.0, abs=1e-12)


def test_scopes_are_the_infoset_what_follows_it_and_everything():
    prepared = context(KUHN)
    tree = prepared.tree
    mine = np.flatnonzero(tree.infoset_player == 0)
    slots = np.concatenate([prepared.tree.slots(int(i)) for i in mine])
    first = int(mine[0])
    assert set(slots[splice_slots(prepared, 0, first, slots, "infoset")]) == set(prepared.tree.slots(first))
    below = splice_slots(prepared, 0, first, slots, "subtree")
    assert set(prepared.tree.slot_infoset[slots[below]]) == {
        i for i in mine if i == first or prepared.parent_slot(0)[i] in prepared.tree.slots(first)
    }
    assert splice_slots(prepared, 0, first, slots, "block").all()


def test_an_anchor_holds_the_refined_strategy_back():
    policy = random_policy(KUHN, rng(2))
    config = preset("maxmargin", scope="infoset")
    whole, half = (searched(KUHN, policy, 0, config.replace(anchor=anchor)) for anchor in (1.0, 0.5))
    assert half.anchor == 0.5
    assert np.allclose(half.probs, (policy[half.slots] + whole.probs) / 2)
