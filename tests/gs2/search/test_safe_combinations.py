"""Every combination of options that promises safety, on random games: best responses never gain."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from cfr.best_response import best_response_values
from games.support.configuration import ConfigError
from gs2.search.config.search import SearchConfig
from gs2.search.config.stages import FREEZE, GADGET_NAMES, REST, SCOPES
from gs2.search.refine.whole import RefineOptions, refine_policy
from tests.gs2.search.test_random_games import BLUEPRINTS, ROUNDING, blueprint, prepared
from tests.patience import amount

PROMISES = {
    "margin": ("sequential",),
    "anchored": ("sequential",),
    "path": ("sequential",),
    "shared": ("nested", "sequential"),
}
"""Certificates, and the modes in which what they let through adds up (docs/concepts/index.md)."""
GENERATORS = ("all", "random", "diverse", "clusters")
ORDERS = (1, 2, None)
DETAILS: tuple[dict[str, Any], ...] = (
    {},
    {"solver": "lp", "iterations": 300},
    {"solver": "anchored", "temperature": 0.0},
    {"depth": 1, "leaf": "value"},
    {"depth": 2, "leaf": "continuations"},
    {"depth": 1, "leaf": "play-on"},
    {"depth": 2, "leaf": "multi-valued", "rollouts": 0},
    {"alternative": "value"},
    {"alternative": "profile"},
    {"anchor": 0.5},
    {"shrink": 0.5},
    {"warm_start": 1.0},
    {"entry_floor": 0.05},
    {"entry_floor": 0.05, "entry_prior": "mixed"},
    {"whole": 60},
)
"""What else may be set; each goes with every combination in turn."""


def accepted(**fields: Any) -> SearchConfig | None:
    """Return a configuration, or None where it is refused."""
    try:
        return SearchConfig.of(**{"iterations": 10} | fields)
    except ConfigError:
        return None


@lru_cache(maxsize=1)
def combinations() -> tuple[SearchConfig, ...]:
    """Return every combination of options that promises safety and is accepted, with some details each."""
    modes = [(judge, mode) for judge, found in PROMISES.items() for mode in found]
    product = itertools.product(modes, SCOPES, FREEZE, GADGET_NAMES[:5], GENERATORS, ORDERS, REST)
    made: list[SearchConfig] = []
    # Of every seventh, no value is always left out: no option has seven.
    part = itertools.islice(enumerate(product), 0, None, amount(1, 7))
    for number, ((judge, mode), scope, freeze, gadget, chosen, order, rest) in part:
        fields: dict[str, Any] = {
            "certificate": judge,
            "mode": mode,
            "scope": scope,
            "freeze": freeze,
            "gadget": gadget,
            "generator": chosen,
            "order": order,
            "rest": rest,
        }
        if chosen != "all":
            fields["k"] = 1 + number % 3
        plain = accepted(**fields)
        if plain is None:
            continue
        for turn in range(len(DETAILS)):
            detail = DETAILS[(number + turn) % len(DETAILS)]
            found = accepted(**fields | detail)
            if found is not None:
                made.append(found)
                break
    order_of = np.random.default_rng(0).permutation(len(made))
    return tuple(made[at] for at in order_of)


def rise(seed: int, public: bool, kind: str, config: SearchConfig) -> float:
    """Return by how much a best response gains where each seat's strategy of a random game is refined."""
    context, form = prepared(seed, public)
    policy = blueprint(context, form, kind, seed)
    before = best_response_values(form, policy)
    most = -np.inf
    for player in np.unique(context.tree.infoset_player).tolist():
        made = refine_policy(context, policy, player, config, RefineOptions(seed=seed))
        most = max(most, best_response_values(form, made.policy)[1 - player] - before[1 - player])
    return float(most)


def worst_rise(games: range, each: int) -> float:
    """Return the largest gain over random games of both orders of turns, `each` combinations on every one."""
    every = combinations()
    worst = -np.inf
    for seed in games:
        rng = np.random.default_rng(seed)
        for turn in range(each):
            config = every[(seed * each + turn) % len(every)]
            public, kind = bool(rng.integers(2)), BLUEPRINTS[int(rng.integers(len(BLUEPRINTS)))]
            found = rise(seed, public, kind, config)
            assert found <= ROUNDING, (seed, public, kind, config.to_json(), found)
            worst = max(worst, found)
    prepared.cache_clear()
    return worst


def test_every_certificate_scope_gadget_and_generator_is_among_the_combinations() -> None:
    every = combinations()
    for name, values in (
        ("certificate", PROMISES),
        ("scope", SCOPES),
        ("gadget", GADGET_NAMES[:5]),
        ("generator", GENERATORS),
        ("freeze", FREEZE),
        ("rest", REST),
        ("solver", ("cfr", "lp", "anchored")),
    ):
        assert {config.to_json()[name] for config in every} == set(values)


def test_combinations_that_promise_safety_are_never_above_the_blueprint_on_random_games() -> None:
    worst_rise(range(5000, 5000 + amount(10, 3)), 5)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_all_combinations_that_promise_safety_on_three_hundred_random_games(part: int) -> None:
    games = 30
    each = -(-len(combinations()) // (10 * games))
    print(f"worst rise {worst_rise(range(part * games, part * games + games), each):.3g}")


def test_a_depth_limit_above_everything_that_is_decided_leaves_the_blueprint() -> None:
    ends = {"depth": 1, "leaf": "play-on"}
    found = accepted(order=None, rest="summary", certificate="path", scope="block", mode="sequential", **ends)
    assert found is not None and rise(2, False, "uniform", found) <= ROUNDING


def test_blocks_and_independent_searches_cannot_be_certified_apart() -> None:
    with pytest.raises(ConfigError, match="scope must be infoset or subtree with certificate = shared"):
        SearchConfig.of(certificate="shared", scope="block")
    with pytest.raises(ConfigError, match="mode must be nested or sequential with certificate"):
        SearchConfig.of(certificate="shared", mode="independent")
