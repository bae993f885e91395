"""A step at every infoset of a public tree is the step at every infoset of the listed game."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.best_response import exploitability
from cfr.public.policies.public_policy import evaluate_policy
from cfr.public.tree import grow_public
from games.registry import load_game
from gs2.policies.policy_spec import policy_from_spec
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext
from gs2.search.public_source import PublicSearchError
from gs2.search.refine.whole import refine_both
from studies.public_steps import mixed_strategies, named_strategy, step_everywhere
from tests.gs2.search.test_public_source import random_strategy


@pytest.mark.parametrize("name", ["kuhn_poker(cards=4)", "leduc_poker", "liars_dice(dice=2,sides=2)"])
@pytest.mark.parametrize(
    "changes",
    [
        {"generator": "all"},
        {"k": 1000},
        {"generator": "all", "robust": False},
        {"k": 1000, "robust": False, "extragradient": False},
    ],
)
@pytest.mark.some(5)
def test_a_step_on_the_public_tree_is_that_on_the_listed_one(name, changes):
    game = load_game(name)
    strategy = random_strategy(grow_public(game), np.random.default_rng(3))
    config = preset("gs2-s", **changes)
    listed = SearchContext(game)
    found = refine_both(listed, strategy, config)
    public = step_everywhere(strategy, config, np.random.default_rng(0))
    # histories of answers are ordered by another value here, so that shares of their strata round otherwise
    close = 1e-6 if config.solve.extragradient else 1e-9
    assert evaluate_policy(public).exploitability == pytest.approx(
        exploitability(listed.tree, found.policy), rel=close
    )
    assert evaluate_policy(public).exploitability != pytest.approx(
        evaluate_policy(strategy).exploitability, rel=1e-3
    )


@pytest.mark.parametrize("blueprint", ["uniform", "cfr:3", "dmc:300", "network:300"])
def test_a_blueprint_on_the_public_tree_is_that_on_the_listed_one(blueprint):
    game = load_game("leduc_poker")
    public, listed = named_strategy(grow_public(game), blueprint), SearchContext(game).tree
    before = exploitability(listed, policy_from_spec(blueprint, game, listed))
    assert evaluate_policy(public).exploitability == pytest.approx(before, rel=1e-9)


def test_the_mixture_of_draws_is_never_worse_than_their_mean():
    game = load_game("liars_dice(dice=2,sides=2)")
    strategy = random_strategy(grow_public(game), np.random.default_rng(1))
    drawn = [step_everywhere(strategy, preset("gs2-s", k=1), np.random.default_rng(s)) for s in range(3)]
    alone = [evaluate_policy(one).exploitability for one in drawn]
    assert len(set(alone)) == 3
    assert evaluate_policy(mixed_strategies(drawn)).exploitability <= np.mean(alone) + 1e-9
    assert evaluate_policy(mixed_strategies(drawn[:1])).exploitability == pytest.approx(alone[0], rel=1e-9)


def test_a_subgame_everywhere_is_refused():
    strategy = random_strategy(grow_public(load_game("kuhn_poker")), np.random.default_rng(0))
    with pytest.raises(PublicSearchError, match="solver must be mirror-descent"):
        step_everywhere(strategy, preset("maxmargin"), np.random.default_rng(0))
