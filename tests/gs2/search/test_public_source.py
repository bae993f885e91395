"""Search on the public tree does what search on listed histories does, and is measured exactly."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest

from cfr.public.policies.public_policy import PublicPolicy, evaluate_policy
from cfr.public.public_solver import PublicSolver
from cfr.public.tree import PublicTree, grow_public, path_to
from games.game import GameError, Infoset
from games.registry import load_game
from games.support.configuration import ConfigError
from gs2.policies.policy_spec import policy_from_spec
from gs2.search.config.presets import preset
from gs2.search.config.search import SearchConfig
from gs2.search.context import SearchContext, SearchOptions
from gs2.search.explain import solve_infoset
from gs2.search.public_source import (
    PublicBlueprint,
    PublicPlace,
    PublicRefinement,
    PublicSearchError,
    find_place,
    public_states,
    refine_public,
)
from tests.gs2.search.setting import context as listed_context
from tests.patience import amount

GAMES = ("kuhn_poker(cards=4)", "leduc_poker", "liars_dice(sides=3)", "liars_dice(dice=2,sides=2)")
METHODS = ("1-klss", "2-klss", "gs2-d", "maxmargin", "unsafe", "gs2+")
MARGIN_TOLERANCE = 2e-3
"""Two CFR runs of a thousand iterations, whose gadgets learn in another order, stop this close together."""


@cache
def tree_of(game: str) -> PublicTree:
    """Return the public tree of a game, grown once."""
    return grow_public(load_game(game))


@cache
def blueprint(game: str, iterations: int = 20) -> PublicPolicy:
    """Return the average of CFR on the public tree, computed once."""
    solver = PublicSolver(tree_of(game), "cfr", threads=1)
    solver.run(iterations)
    return PublicPolicy.of(solver)


def random_strategy(tree: PublicTree, rng: np.random.Generator) -> PublicPolicy:
    """Return a strategy of random probabilities, many of them zero."""
    found = []
    for player in (0, 1):
        rows = np.empty((tree.n_rows[player], tree.n_private[player]))
        for node in np.flatnonzero(tree.player == player):
            first, count = tree.row[node], tree.first_edge[node + 1] - tree.first_edge[node]
            numbers = rng.gamma(0.5, size=(count, rows.shape[1])) * rng.integers(
                2, size=(count, rows.shape[1])
            )
            numbers[rng.integers(count)] += 1e-3
            rows[first : first + count] = numbers / numbers.sum(0)
        found.append(rows)
    return PublicPolicy(tree, (found[0], found[1]))


def random_place(tree: PublicTree, rng: np.random.Generator) -> PublicPlace:
    nodes = np.flatnonzero(tree.player >= 0)
    while True:
        node = int(rng.choice(nodes))
        player = int(tree.player[node])
        private = int(rng.integers(tree.n_private[player]))
        weights = tree.game.deal_weights(public_states(tree, node))[0]
        if (weights if player == 0 else weights.T)[private].sum() > 0:
            return PublicPlace(node, private)


def pairs(refined: PublicRefinement) -> np.ndarray:
    """Return which pairs of private states were in the subgame, [own, opponent's]."""
    player, kept = refined.found.considered.player, refined.found.kept.rows
    tree = refined.source.strategy.tree
    out = np.zeros((tree.n_private[player], tree.n_private[1 - player]), bool)
    out.reshape(-1)[refined.found.considered.nodes[kept]] = True
    return out


def infosets_of(context: SearchContext) -> list[Infoset]:
    """Return every infoset of a listed game at which there is a choice."""
    wide = np.flatnonzero(np.diff(context.tree.infoset_offset) > 1)
    return [context.game.parse_infoset(context.infoset_text(number)) for number in wide.tolist()]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(6)
def test_a_search_is_the_listed_one(name: str, method: str) -> None:
    context, strategy = listed_context(name), blueprint(name)
    game = context.game
    listed = policy_from_spec("cfr:20", game, context.tree)
    if method == "2-klss" and "liars_dice" not in name:
        pytest.skip("a card that one holds the other cannot: order 2 is not the closure")
    rng = np.random.default_rng([GAMES.index(name), METHODS.index(method)])
    for infoset in rng.permutation(np.array(infosets_of(context), object))[: amount(3, 1)]:
        config = preset(method, iterations=1000)
        theirs = solve_infoset(context, listed, infoset, config, np.random.default_rng(1))
        ours = solve_infoset(game, PublicBlueprint(strategy), infoset, config, np.random.default_rng(1))
        assert (ours.infoset, ours.player) == (theirs.infoset, theirs.player)
        counts = ("histories_considered", "histories_generated", "histories_kept")
        one_die = "dice=2" not in name  # two dice are a history for each order in which they were rolled
        if one_die:
            assert [getattr(ours, name) for name in counts] == [getattr(theirs, name) for name in counts]
        for a, b in zip(ours.actions, theirs.actions, strict=True):
            assert a.action == b.action
            assert (a.blueprint, a.q) == pytest.approx((b.blueprint, b.q), abs=1e-9)
        assert ours.blueprint_value == pytest.approx(theirs.blueprint_value, abs=1e-9)
        reaches = sorted((row.history, row.reach, row.alternative) for row in ours.histories)
        expected = sorted((row.history, row.reach, row.alternative) for row in theirs.histories)
        if not method.startswith("gs2-d"):  # ties among its histories are broken by the order they stand in
            for row, other in zip(reaches, expected, strict=True) if one_die else ():
                assert row[1:] == pytest.approx(other[1:], abs=1e-9)
            if method in ("1-klss", "2-klss", "maxmargin"):
                assert min(ours.margins) == pytest.approx(min(theirs.margins), abs=MARGIN_TOLERANCE)
            assert ours.gap == pytest.approx(theirs.gap, abs=MARGIN_TOLERANCE) and ours.gap > -1e-9
        assert sum(ours.refined.values()) == pytest.approx(1)
        assert str(ours.to_json()["infoset"]) == ours.infoset


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(2)
def test_every_decision_is_found_on_the_tree(name: str) -> None:
    context, tree = listed_context(name), tree_of(name)
    game = context.game
    strategy = random_strategy(tree, np.random.default_rng(2))
    seen, some = set(), infosets_of(context)[:: amount(1, 5)]
    for infoset in some:
        place = find_place(tree, infoset)
        seen.add((place.node, place.private))
        states = public_states(tree, place.node)
        assert int(tree.player[place.node]) == infoset.player == int(game.player(states)[0])
        assert len(strategy.probs(place.node)[place.private]) == len(game.actions(states).values)
        line = path_to(tree, place.node)
        after = [*[node for node, _ in line[1:]], place.node]
        assert all(tree.child[edge] == node for (_, edge), node in zip(line, after[: len(line)], strict=True))
    assert len(seen) == len(some)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.some(6)
def test_no_certified_search_raises_the_exploitability_of_any_strategy(name: str, seed: int) -> None:
    rng = np.random.default_rng([seed, GAMES.index(name)])
    tree = tree_of(name)
    strategy = random_strategy(tree, rng)
    gained = 0.0
    for number in range(amount(8, 4)):
        place = PublicPlace(0, number % tree.n_private[0]) if number < 2 else random_place(tree, rng)
        opponent = 1 - int(tree.player[place.node])
        before = evaluate_policy(strategy).best_response[opponent]
        config = preset("gs2+", iterations=30)
        if rng.integers(3) == 0:
            config = config.replace(certificate="margin", gadget="resolve")
        strategy = refine_public(strategy, place, config, rng, threads=1).strategy
        after = evaluate_policy(strategy).best_response[opponent]
        assert after <= before + 1e-9
        gained += before - after
    assert gained > 1e-6
    for player, rows in enumerate(strategy.rows):
        for node in np.flatnonzero(tree.player == player):
            assert np.allclose(strategy.probs(node).sum(axis=1), 1) and (rows >= 0).all()


@pytest.mark.parametrize("certificate", ("margin", "anchored"))
@pytest.mark.parametrize("scope", ("infoset", "subtree", "block"))
@pytest.mark.parametrize("freeze", ("none", "outside"))
@pytest.mark.some(3)
def test_no_accepted_certificate_lets_the_opponent_gain(freeze: str, scope: str, certificate: str) -> None:
    # With nothing frozen a block replaces the policy of hands that meet others than the infoset's own does.
    strategy = blueprint("leduc_poker", 30)
    tree, rng = strategy.tree, np.random.default_rng(9)
    before = evaluate_policy(strategy).best_response
    changed = 0
    places = [PublicPlace(1, private) for private in (0, 2, 4)[: amount(3, 1)]]
    places += [random_place(tree, rng) for _ in range(amount(5, 1))]
    for order, method in ((1, "kluss"), (None, "maxmargin"), (1, "gs2-d")):
        config = preset(
            method, order=order, freeze=freeze, scope=scope, certificate=certificate, iterations=30
        )
        for place in places:
            found = refine_public(strategy, place, config, rng, threads=1)
            opponent = 1 - int(tree.player[place.node])
            assert evaluate_policy(found.strategy).best_response[opponent] <= before[opponent] + 1e-9
            changed += found.found.anchor > 0
    assert changed > 0


CHANGES: dict[str, tuple[str, dict[str, object], dict[str, object]]] = {
    "order": ("kluss", {}, {"order": None}),
    "alternative": ("maxmargin", {}, {"alternative": "profile"}),
    "source": ("1-klss", {}, {"source": "sampled"}),
    "samples": ("1-klss", {}, {"samples": 1}),
    "companions": ("kluss", {}, {"companions": 1}),
    "belief": ("1-klss", {}, {"belief": 0.0}),
    "slip": ("1-klss", {}, {"slip": 0.5}),
    "explore": ("1-klss", {}, {"explore": 0.0}),
    "generator": ("gs2-d", {"k": 2}, {"generator": "random"}),
    "k": ("gs2-d", {}, {"k": 1}),
    "freeze": ("kluss", {"scope": "subtree"}, {"freeze": "outside"}),
    "rest": ("gs2+", {}, {"rest": "drop", "whole": 0, "fallback_k": 0}),
    "whole": ("gs2+", {}, {"whole": 10}),
    "branches": ("maxmargin", {}, {"branches": 2}),
    "depth": ("maxmargin", {}, {"depth": 2}),
    "gadget": ("maxmargin", {}, {"gadget": "resolve"}),
    "entry_floor": ("maxmargin", {}, {"entry_floor": 0.1}),
    "solver": ("maxmargin", {}, {"solver": "lp"}),
    "variant": ("maxmargin", {}, {"variant": "cfr+"}),
    "gamma": ("maxmargin", {}, {"gamma": 1.0}),
    "iterations": ("maxmargin", {}, {"iterations": 9}),
    "target": ("maxmargin", {}, {"target": 0.1}),
    "warm_start": ("maxmargin", {}, {"warm_start": 1.0}),
    "anchor": ("maxmargin", {}, {"anchor": 0.5}),
    "certificate": ("unsafe", {}, {"certificate": "margin"}),
    "shrink": ("gs2+", {}, {"shrink": 0.5}),
    "scope": ("maxmargin", {}, {"scope": "infoset"}),
    "time_limit": ("maxmargin", {}, {"time_limit": 1e-9}),
}
"""Of each field, a method and what else is set, and a change of it."""
NOT_OF_ONE_SEARCH = {"name", "mode", "opponent", "plans", "fallback_k"}
"""Names, what is of many searches, of games of more seats, and of closures that are not solved whole."""


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_every_field_changes_a_search_or_is_refused(name: str) -> None:
    method, others, change = CHANGES[name]
    strategy, place = blueprint("leduc_poker", 5), PublicPlace(1, 2)
    base = preset(method, **{"iterations": 12, **others})
    found = refine_public(strategy, place, base, np.random.default_rng(1), threads=1)
    try:
        other = refine_public(strategy, place, base.replace(**change), np.random.default_rng(1), threads=1)
    except (PublicSearchError, ConfigError):
        return
    same = np.array_equal(found.policy, other.policy) and np.array_equal(pairs(found), pairs(other))
    told = [(one.found.anchor, one.found.slots.tolist()) for one in (found, other)]
    assert not (same and told[0] == told[1])


def test_the_fields_tried_are_all_that_can_be_set_on_a_public_tree() -> None:
    left = set(SearchConfig.of().to_json()) - set(CHANGES) - NOT_OF_ONE_SEARCH
    # The rest is read with a depth, an entry floor, another solver or another certificate, which are refused.
    assert left == {
        *(
            "gap",
            "beyond",
            "leaf",
            "continuations",
            "policies",
            "choosers",
            "playing",
            "rollouts",
            "entry_prior",
        ),
        *("step", "unit", "caution", "extragradient", "robust", "temperature", "doubt"),
        *("confidence", "trials", "against"),
    }


def test_the_deadline_of_the_options_ends_a_search() -> None:
    strategy, config = blueprint("leduc_poker", 5), preset("maxmargin", iterations=50)
    game = strategy.tree.game
    asked = game, PublicBlueprint(strategy), game.parse_infoset("P0 holds Ks"), config
    late = SearchOptions(deadline=time.perf_counter())
    assert solve_infoset(*asked, np.random.default_rng(0), late).iterations == 1
    assert solve_infoset(*asked, np.random.default_rng(0)).iterations == 50


def test_action_values_are_weighed_by_chance_where_the_opponent_never_leads() -> None:
    strategy = blueprint("leduc_poker")
    node = int(strategy.tree.child[strategy.tree.first_edge[0]])
    never = strategy.rows[0].copy()
    never[0] = 0.0
    policy = PublicPolicy(strategy.tree, (never, strategy.rows[1]))
    found = refine_public(
        policy, PublicPlace(node, 0), preset("1-klss", iterations=2), np.random.default_rng(0)
    )
    assert np.isfinite(found.seen.q).all()


@pytest.mark.parametrize(
    ("method", "changes", "says"),
    [
        ("path", {}, "gadget on a public tree must be one of"),
        ("gs2", {}, "on a public tree must be none"),
        ("maxmargin", {"solver": "lp"}, "solver on a public tree must be cfr"),
        ("maxmargin", {"certificate": "path"}, "certificate on a public tree"),
        ("maxmargin", {"entry_floor": 0.1}, "entry_floor"),
        ("2-klss", {}, "order on a public tree"),
        ("gs2+", {"whole": 0}, "whole on a public tree must be above 0"),
        ("maxmargin", {"warm_start": 2.0}, "warm_start on a public tree must be 0"),
        ("maxmargin", {"target": 0.1}, "target on a public tree must be none"),
        ("gs2+", {"shrink": 0.5}, "shrink on a public tree must be 1"),
        ("gs2+", {"whole": 8}, "whole on a public tree must be at least its public states, .* here"),
        ("gs2-d", {"slip": 0.1}, "slip on a public tree must be 0"),
        (
            "gs2-d",
            {"source": "sampled"},
            "source on a public tree must be one of .*; got sampled",
        ),
        ("gs2-d", {"samples": 5}, "samples on a public tree must be 64; got 5"),
    ],
)
def test_what_the_public_form_does_not_have_is_refused(
    method: str, changes: dict[str, object], says: str
) -> None:
    strategy = blueprint("leduc_poker", 2)
    with pytest.raises(PublicSearchError, match=says):
        refine_public(strategy, PublicPlace(0, 0), preset(method, **changes), np.random.default_rng(0))


def test_an_infoset_without_a_choice_is_refused() -> None:
    tree = tree_of("liars_dice(sides=3)")
    with pytest.raises(PublicSearchError, match="must have a choice"):
        find_place(tree, tree.game.parse_infoset("P1 holds 1 | 2x3"))
    with pytest.raises(GameError):
        find_place(tree, tree.game.parse_infoset("P1 holds 9 | 2x3"))
