"""Trials of a statistical certificate where histories are drawn: new ones, played beyond the tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gs2.search.config.presets import preset
from gs2.search.explain import solve_infoset
from gs2.search.histories.enumerated import action_values
from gs2.search.histories.sampled_source import FreshTrials, Part, sample_tree
from gs2.search.refine.policy_only import PlayedStrategy
from gs2.search.strategy import Strategy
from tests.gs2.search.setting import GOOFSPIEL, LEDUC, context, random_policy, rng, trail_to
from tests.patience import amount


def drawn(name: str, infoset: int, policy: np.ndarray, **changes: Any) -> Part:
    """Return the tree of histories drawn at an infoset of a listed game."""
    there = context(name)
    played = PlayedStrategy(there, Strategy(there.tree, policy))
    config = preset("gs2-d", **{"source": "sampled", "certificate": "statistical", **changes})
    return sample_tree(there.game, played, trail_to(there, infoset), config, rng(1))


@pytest.mark.parametrize("samples", (1, 2))
@pytest.mark.some(1)
def test_few_histories_prove_no_gain_that_is_none(samples: int) -> None:
    there, seeds = context(LEDUC), amount(4, 1)
    config = preset("1-klss", gadget="unsafe", source="sampled", samples=samples, companions=2, iterations=30)
    judged = config.replace(certificate="statistical", trials=100)
    kept = losing = gaining = 0
    for seed in range(seeds):
        strategy = there.strategy(random_policy(LEDUC, rng(2, seed), sharpness=2.0))
        for infoset in rng(3, seed).choice(there.tree.n_infosets, 30, replace=False).tolist():
            proposed, found = (
                solve_infoset(there, strategy.raw, infoset, one, rng(infoset)) for one in (config, judged)
            )
            change = np.array([row.refined - row.blueprint for row in proposed.actions])
            worse = float(change @ action_values(there, strategy, infoset)) < -1e-9
            if found.kept_refined:
                assert found.refined == proposed.refined, "the same was judged"
            losing += worse
            kept += worse and found.kept_refined
            gaining += not worse and found.kept_refined
    assert losing >= 5 * seeds and gaining >= 5 * seeds // 2
    # 5 % of the tests may fail, and twice the standard error of that.
    assert kept <= 0.05 * losing + 2 * np.sqrt(0.05 * 0.95 * losing)


@pytest.mark.parametrize("belief", (0.5, 1.0))
@pytest.mark.some(1)
def test_weights_of_new_histories_are_without_bias(belief: float) -> None:
    there, policy = context(GOOFSPIEL), random_policy(GOOFSPIEL, rng(4))
    infoset = int(np.argmax(np.bincount(there.tree.infoset[there.tree.infoset >= 0])))
    nodes = np.flatnonzero(there.tree.infoset == infoset).astype(np.int32)
    known = Strategy(there.tree, policy).reach_at(nodes)
    exact = known.chance * known.players[:, 1 - int(there.tree.infoset_player[infoset])] ** belief
    place = {there.tree.states[node].tobytes(): at for at, node in enumerate(nodes)}
    part = drawn(GOOFSPIEL, infoset, policy, belief=belief, samples=2)
    asked, runs, each = part.trials, 60, 8
    sums = np.zeros((runs, len(nodes)))
    for run in range(runs):
        trials = FreshTrials(there.game, asked.blueprint, asked.trail, asked.config, part.strategy, run)
        states, weights = trials.draw(each)
        assert len(states) == each
        for state, weight in zip(states, weights, strict=True):
            sums[run, place[state.tobytes()]] += weight / each
    measured = rng(5).normal(size=(len(nodes), 6))
    error = (sums @ measured).std(axis=0) / np.sqrt(runs)
    assert np.all(np.abs(sums.mean(axis=0) @ measured - exact @ measured) <= 5 * error) and error.min() > 0
    # With more trials than histories the infoset is known, and each trial is as likely as it is.
    states, weights = part.trials.draw(2000)
    counts = np.bincount([place[state.tobytes()] for state in states], minlength=len(nodes)) / 2000
    assert np.all(weights == 1) and np.abs(counts - exact / exact.sum()).max() < 0.06


def test_the_blueprint_is_played_wherever_the_strategies_do_not_differ_from_it() -> None:
    policy = random_policy(LEDUC, rng(6))
    part = drawn(LEDUC, context(LEDUC).infoset_number(0), policy, samples=2, companions=1, branches=2)
    tree, game = part.context.tree, context(LEDUC).game
    here = tree.slots(part.infoset)
    flipped = part.strategy.with_changes(here, np.roll(part.strategy.probs[here], 1))
    old, new = part.trials.plays((part.strategy, flipped))
    whole = context(LEDUC).tree
    for infoset in range(whole.n_infosets):
        node = int(whole.infoset_first_node()[infoset])
        states, player = whole.states[node : node + 1], int(whole.infoset_player[infoset])
        actions = game.actions(states)
        key = whole.infoset_key[infoset]
        searched = player == part.trials.trail.player and bool(np.all(key == tree.infoset_key[part.infoset]))
        probs = [one.policy(game, states, player, actions) for one in (old, new)]
        assert [float(one.sum()) for one in probs] == pytest.approx([1, 1])
        if not searched:
            assert np.allclose(probs[0], policy[whole.slots(infoset)]) and np.array_equal(*probs)
            continue
        assert (probs[1] > 0).sum() <= 2 and not np.allclose(*probs)
        assert np.array_equal(old.q(game, states, player, actions), new.q(game, states, player, actions))
        assert np.array_equal(old.value(game, states, player), new.value(game, states, player))


@pytest.mark.parametrize(
    "changes",
    [
        {"depth": 1, "leaf": "rollout", "rollouts": 2},
        {"depth": 1, "leaf": "value", "branches": 2},
        {"branches": 1},
        {"companions": 0},
        {"companions": 0, "depth": 2, "leaf": "value", "tolerance": 0.1, "against": "blueprint+greedy"},
        {"explore": 0.0, "slip": 0.1},
    ],
)
@pytest.mark.some(2)
def test_a_statistical_certificate_judges_what_goes_beyond_the_tree(changes: dict[str, Any]) -> None:
    there, policy = context(LEDUC), random_policy(LEDUC, rng(7), sharpness=2.0)
    config = {"source": "sampled", "samples": 3, "companions": 2, "certificate": "statistical", "trials": 60}
    for infoset in rng(8).choice(there.tree.n_infosets, amount(8, 2), replace=False).tolist():
        search = preset("gs2-d", **{"gadget": "unsafe", "iterations": 20, **config, **changes})
        found = solve_infoset(there, policy, infoset, search, rng(0))
        assert sum(found.refined.values()) == pytest.approx(1)
        assert sum("over 60 paired samples" in note for note in found.cut_off) == 1
        again = solve_infoset(there, policy, infoset, search, rng(0))
        assert (again.refined, again.cut_off) == (found.refined, found.cut_off)
