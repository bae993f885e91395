"""The seed decides every random choice of a search, games that are played out among them."""

from __future__ import annotations

import numpy as np
import pytest

from gs2.search.config.presets import preset
from gs2.search.config.search import SearchConfig
from gs2.search.context import SearchOptions
from gs2.search.pipeline import refine_infoset
from gs2.search.refine import RefineOptions, refine_policy
from gs2.search.result import Refinement
from tests.gs2.search.setting import LEDUC, blueprint, context, random_policy

LEAVES = (
    preset("maxmargin", depth=1, leaf="rollout", rollouts=1),
    preset("maxmargin", depth=1, leaf="multi-valued", rollouts=1, policies="blueprint+uniform"),
)
JUDGED = preset("unsafe", certificate="statistical", trials=40)
EXACT = (
    preset("maxmargin"),
    preset("maxmargin", depth=1),
    preset("maxmargin", depth=1, leaf="multi-valued", rollouts=0),
    preset("mirror-descent"),
)


def _searched(config: SearchConfig, seed: int, options: SearchOptions | None = None) -> Refinement:
    prepared = context(LEDUC)
    strategy = prepared.strategy(random_policy(LEDUC, np.random.default_rng(3)))
    rng = np.random.default_rng(seed)
    return refine_infoset(prepared, strategy, 0, config, rng, options or SearchOptions())


@pytest.mark.parametrize("config", LEAVES, ids=lambda config: config.subgame.leaf)
def test_leaves_that_are_played_out_follow_the_seed(config: SearchConfig) -> None:
    assert config.plays_out
    one, again, other = (_searched(config, seed).solved for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.allclose(one, other)


def test_the_trials_of_a_certificate_follow_the_seed_and_are_others_at_each_infoset() -> None:
    assert JUDGED.plays_out
    said = [
        found.certified.said for seed in (0, 0, 1) if (found := _searched(JUDGED, seed)).certified is not None
    ]
    assert said[0] == said[1] != said[2]


def test_searches_of_one_luck_play_out_the_same_games() -> None:
    shared = SearchOptions(luck=5)
    for config in (*LEAVES, JUDGED):
        one, other = (_searched(config, seed, shared) for seed in (0, 1))
        assert np.array_equal(one.solved, other.solved)
        assert one.cut_off == other.cut_off


@pytest.mark.parametrize("config", EXACT, ids=lambda config: f"{config.name}-{config.subgame.depth}")
def test_what_plays_nothing_out_draws_nothing_for_it(config: SearchConfig) -> None:
    assert not config.plays_out
    rng = np.random.default_rng(0)
    prepared = context(LEDUC)
    refine_infoset(prepared, prepared.strategy(blueprint(LEDUC)), 0, config, rng)
    assert rng.integers(1 << 62) == np.random.default_rng(0).integers(1 << 62)


@pytest.mark.parametrize(
    "config", (LEAVES[0], JUDGED.replace(scope="infoset", confidence=0.6)), ids=("leaf", "certificate")
)
def test_a_refinement_follows_its_seed_and_not_the_order_of_its_searches(config: SearchConfig) -> None:
    prepared = context(LEDUC)
    policy = random_policy(LEDUC, np.random.default_rng(3))
    some = np.flatnonzero(prepared.tree.infoset_player == 0)[:12]

    def refined(seed: int, infosets: np.ndarray) -> np.ndarray:
        options = RefineOptions(mode="independent", seed=seed, infosets=infosets)
        return refine_policy(prepared, policy, 0, config, options).policy

    found = refined(0, some)
    assert np.array_equal(found, refined(0, some[::-1]))
    assert not np.array_equal(found, refined(1, some))
