"""Searches in games of one payoff, and what is no player, strategy or infoset."""

from __future__ import annotations

import numpy as np
import pytest

from cfr import grow, solve_lp
from cfr.policies.policy import tabular_policy
from games import CHANCE, TERMINAL, decision_infosets
from games.game import payoff_span
from games.research.kuhn_poker import KuhnPoker
from games.support.configuration import ConfigError
from games.support.contract import ContractError
from gs2.policies.policy_spec import policy_from_spec
from gs2.search.config.presets import PRESETS, preset
from gs2.search.context import SearchContext
from gs2.search.explain import solve_infoset
from gs2.search.refine.whole import refine_policy
from gs2.search.subgame.leaf import check_leaf_value
from tests.games.random_games import Node, NodeGame
from tests.gs2.search.setting import KUHN, blueprint, context


class Friendly(KuhnPoker):
    """Kuhn poker in which nobody ever wins or loses anything."""

    payoff_range = (0.0, 0.0)

    def returns(self, states):
        return np.zeros((len(states), 2))


class Idle(NodeGame):
    """A game in which chance alone acts."""

    def __init__(self) -> None:
        root = Node(-1, 0, ((), ()), CHANCE, 2)
        super().__init__("idle", [root, *(Node(0, i, ((i,), (i,)), TERMINAL, prob=0.5) for i in (0, 1))])

    def action_text(self, state, action):
        return f"deal {action}"

    def state_text(self, state):
        return str(state)

    def infoset_text(self, state, player):
        return f"P{player} at {state}"


def test_every_method_and_certificate_searches_where_all_payoffs_are_equal() -> None:
    game = Friendly()
    assert payoff_span(game) == 1.0 and payoff_span(KuhnPoker()) == 4.0
    searched, infosets = SearchContext(game), list(decision_infosets(game))
    policy = solve_lp(searched.tree).policy
    for number, (method, config) in enumerate(PRESETS.items()):
        config = config.replace(iterations=10) if config.solve.solver != "mirror-descent" else config
        infoset = infosets[number % 3]
        found = solve_infoset(searched, policy, infoset, config, np.random.default_rng(0))
        assert sum(found.refined.values()) == pytest.approx(1), method
        assert {row.q for row in found.actions} == {0.0}, method
    for source in ("enumerated", "sampled"):
        config = preset("gs2-d", certificate="statistical", source=source, trials=20)
        found = solve_infoset(searched, policy, infosets[1], config, np.random.default_rng(0))
        assert not found.kept_refined and found.refined == found.blueprint


def test_blueprints_are_learnt_where_all_payoffs_are_equal() -> None:
    game = Friendly()
    tree = grow(game)
    for spec in ("dmc:50", "network:500"):
        probs = policy_from_spec(spec, game, tree)
        assert np.isfinite(probs).all() and probs.min() >= 0


def test_a_game_without_decisions_has_no_leaves_to_check() -> None:
    with pytest.raises(ContractError, match="somebody decides; got no decision in 1000 plays of idle"):
        check_leaf_value(lambda game, states: np.zeros((len(states), 2)), Idle(), np.random.default_rng(0))


def test_what_is_no_player_infoset_or_strategy_is_refused_with_what_is_one() -> None:
    prepared, policy = context(KUHN), blueprint(KUHN)
    says = "player must be the seat whose strategy is refined, 0 or 1; got"
    for player in (-1, 2, None, "0"):
        with pytest.raises(ConfigError, match=says):
            refine_policy(prepared, policy, player, preset("maxmargin"))  # type: ignore[arg-type]
    for infoset in (-1, 10**6, 1.5, "P0 holds J", None):
        with pytest.raises(ValueError, match=r"must be an Infoset, as game.parse_infoset\(text\) returns it"):
            prepared.infoset_number(infoset)  # type: ignore[arg-type]
    for factor in (2.0, -1.0, np.nan, 0.0):
        with pytest.raises(ValueError, match="must be at least 0 and sum to 1; infoset 0 has"):
            prepared.strategy(policy * factor)


def test_a_search_without_a_tree_says_what_it_takes() -> None:
    prepared = context(KUHN)
    policy = tabular_policy(prepared.game.name, prepared.tree, blueprint(KUHN))
    infoset = prepared.game.parse_infoset("P0 holds J")
    with pytest.raises(ValueError, match=r"takes any strategy as gs2.SearchContext\(game\)"):
        solve_infoset(prepared.game, policy, infoset, preset("gs2"), np.random.default_rng(0))
