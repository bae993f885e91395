"""The seed decides every random choice of a search, games that are played out among them."""

from __future__ import annotations

import numpy as np
import pytest

from gs2.search.config.presets import preset
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchOptions
from gs2.search.pipeline import refine_infoset
from gs2.search.refine.whole import RefineOptions, refine_policy
from gs2.search.stages import Refinement
from tests.gs2.search.setting import LEDUC, blueprint, context, random_policy, rng, searched

QUICK = preset("maxmargin", iterations=60)
LEAVES = (
    QUICK.replace(depth=1, leaf="rollout", rollouts=1),
    QUICK.replace(depth=1, leaf="multi-valued", rollouts=1, policies="blueprint+uniform"),
)
JUDGED = preset("unsafe", certificate="statistical", trials=40, iterations=60)
EXACT = (
    QUICK,
    QUICK.replace(depth=1),
    QUICK.replace(depth=1, leaf="multi-valued", rollouts=0),
    preset("mirror-descent"),
)


def _searched(config: SearchConfig, seed: int, options: SearchOptions = NO_OPTIONS) -> Refinement:
    return searched(LEDUC, random_policy(LEDUC, rng(3)), 0, config, seed, options)


def test_what_is_played_out_follows_the_seed_or_a_luck_that_is_shared() -> None:
    shared = SearchOptions(luck=5)
    for config in (*LEAVES, JUDGED):
        assert config.plays_out
        one, again, other = (_searched(config, seed) for seed in (0, 0, 1))
        if config is JUDGED:
            said = [found.certified.said for found in (one, again, other) if found.certified is not None]
            assert said[0] == said[1] != said[2]
        else:
            assert np.array_equal(one.solved, again.solved)
            assert not np.allclose(one.solved, other.solved)
        one, other = (_searched(config, seed, shared) for seed in (0, 1))
        assert np.array_equal(one.solved, other.solved)
        assert one.cut_off == other.cut_off


def test_what_plays_nothing_out_draws_nothing_for_it() -> None:
    strategy = context(LEDUC).strategy(blueprint(LEDUC))
    for config in EXACT:
        assert not config.plays_out
        draw = rng(0)
        refine_infoset(context(LEDUC), strategy, 0, config, draw)
        assert draw.integers(1 << 62) == rng(0).integers(1 << 62)


@pytest.mark.parametrize(
    "config", (LEAVES[0], JUDGED.replace(scope="infoset", confidence=0.6)), ids=("leaf", "certificate")
)
def test_a_refinement_follows_its_seed_and_not_the_order_of_its_searches(config: SearchConfig) -> None:
    prepared = context(LEDUC)
    policy = random_policy(LEDUC, rng(3))
    some = np.flatnonzero(prepared.tree.infoset_player == 0)[:12]

    def refined(seed: int, infosets: np.ndarray) -> np.ndarray:
        options = RefineOptions(mode="independent", seed=seed, infosets=infosets)
        return refine_policy(prepared, policy, 0, config, options).policy

    found = refined(0, some)
    assert np.array_equal(found, refined(0, some[::-1]))
    assert not np.array_equal(found, refined(1, some))
