"""Searches at histories that were drawn: exact where all were, near to it where many were.

Trials of a statistical certificate there are new histories, played beyond the tree.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfr.policies.policy import uniform_policy
from games.game import GameError, payoff_span
from games.guandan.rounds.round import GuanDan
from games.infosets.trail import find_trail
from games.registry import load_game
from games.support.configuration import ConfigError
from gs2.search.config.presets import PRESETS, preset
from gs2.search.config.search import SearchConfig
from gs2.search.context import Strategy
from gs2.search.explain import refine_part, solve_infoset
from gs2.search.histories.enumerated import action_values
from gs2.search.histories.sampled_source import Part, sample_tree
from gs2.search.pipeline import where_listed
from gs2.search.refine.policy_only import PlayedStrategy, PolicyOnly, UniformPlay
from gs2.search.refine.whole import RefineOptions, refine_policy
from gs2.search.result import SearchResult
from tests.gs2.search.setting import (
    GAMES,
    GOOFSPIEL,
    KUHN,
    LEDUC,
    LIARS_DICE,
    context,
    random_policy,
    rng,
)
from tests.gs2.search.test_random_games import BLUEPRINTS, blueprint, prepared
from tests.gs2.search.test_safe_combinations import rise
from tests.patience import amount

SAME = 1e-9
EVERYTHING = 1_000_000
SERVED = [
    name
    for name, config in PRESETS.items()
    if config.gadget.kind not in ("path", "reach-maxmargin")
    and (config.histories.order or 1) == 1
    and config.histories.source == "auto"
]


def sampled(config: SearchConfig, samples: int = EVERYTHING, **changes: Any) -> SearchConfig:
    """Return a configuration that draws its histories, by default all of them."""
    return config.replace(source="sampled", samples=samples, **{"companions": EVERYTHING, **changes})


def same(ours: SearchResult, others: SearchResult) -> None:
    """Check that two results are the same in all that matters."""
    assert ours.refined == pytest.approx(others.refined, abs=SAME)
    assert ours.value == pytest.approx(others.value, abs=SAME)
    assert sorted(ours.margins) == pytest.approx(sorted(others.margins), abs=1e-7)
    assert (ours.histories_considered, ours.histories_kept, ours.nodes) == (
        others.histories_considered,
        others.histories_kept,
        others.nodes,
    )


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("method", SERVED)
def test_all_histories_drawn_give_the_enumerated_result(name: str, method: str) -> None:
    there, config = context(name), where_listed(preset(method))
    if config.solve.robust:  # one of its answers begins above the infoset, of which nothing is drawn
        config = config.replace(robust=False)
    if config.solve.solver == "cfr":
        config = config.replace(iterations=60)
    policy = random_policy(name, rng(1, len(method)), sharpness=2.0)
    for infoset in rng(2, len(method)).choice(there.tree.n_infosets, amount(3, 1)).tolist():
        listed = solve_infoset(there, policy, infoset, config, rng(3))
        drawn = solve_infoset(there, policy, infoset, sampled(config), rng(3))
        assert drawn.sampled is not None and drawn.sampled.complete and listed.sampled is None
        same(drawn, listed)


METHODS = ("gs2-d", "gs2+", "maxmargin", "kluss", "1-klss", "unsafe")


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("seed", [*range(10), 44, 56, 57, 62, 86])
@pytest.mark.some(10)
def test_all_histories_of_random_games_drawn_give_the_listed_result(seed: int, public: bool) -> None:
    # At infosets of the last five the player's own strategy never leads to some histories.
    there, form = prepared(seed, public)
    kind = BLUEPRINTS[seed % len(BLUEPRINTS)]
    policy = blueprint(there, form, kind, seed)
    some = rng(seed, 1).choice(there.tree.n_infosets, min(4, there.tree.n_infosets), replace=False)
    for turn, infoset in enumerate(some.tolist()):
        method = METHODS[(seed + turn) % len(METHODS)]
        config = preset(method, iterations=20)
        if turn % 2:
            config = config.replace(alternative="value")
        listed = solve_infoset(there, policy, infoset, config, rng(3))
        drawn = solve_infoset(there, policy, infoset, sampled(config), rng(3))
        assert drawn.sampled is not None and drawn.sampled.complete
        same(drawn, listed)


def test_a_block_is_certified_by_all_who_may_notice_it_where_histories_are_drawn() -> None:
    config = SearchConfig.of(
        certificate="anchored",
        scope="block",
        freeze="none",
        mode="sequential",
        iterations=20,
        gadget="unsafe",
    )
    for seed in range(amount(3, 1)):
        assert rise(seed, seed % 2 == 0, "dirichlet", sampled(config)) <= SAME


@pytest.mark.parametrize("private", range(2, 12))
@pytest.mark.some(3)
def test_parts_of_games_with_a_private_order_of_turns_can_be_searched_or_are_refused_by_name(
    private: int,
) -> None:
    there, _ = prepared(private, False)
    policy = uniform_policy(there.tree)
    some = rng(private).choice(there.tree.n_infosets, min(4, there.tree.n_infosets), replace=False)
    solved = 0
    for turn, infoset in enumerate(some.tolist()):
        config = preset(METHODS[(private + turn) % len(METHODS)], iterations=5)
        for most, companions in ((3, 2), (64, 1), (64, 32)):
            try:
                found = solve_infoset(
                    there, policy, infoset, sampled(config, most, companions=companions), rng(private)
                )
            except ConfigError as error:
                assert "what is drawn has no perfect recall" in str(error)
                continue
            assert sum(found.refined.values()) == pytest.approx(1)
            solved += 1
    assert solved > 0


def test_a_part_of_the_histories_refines_a_strategy_too() -> None:
    there = context(LEDUC)
    policy = random_policy(LEDUC, rng(6))
    some = RefineOptions(infosets=rng(7).choice(there.tree.n_infosets, amount(20, 8), replace=False), seed=1)
    config = sampled(preset("gs2-r", iterations=30), 3, companions=2)
    found, again = (refine_policy(there, policy, 0, config, some).policy for _ in range(2))
    sums = np.add.reduceat(found, there.tree.infoset_offset[:-1])
    np.testing.assert_allclose(sums, 1, atol=SAME)
    theirs = there.tree.slot_player == 1
    np.testing.assert_array_equal(found[theirs], policy[theirs])
    assert not np.allclose(found, policy)
    np.testing.assert_array_equal(again, found)


def test_a_part_of_the_histories_is_searched_where_all_enter_and_the_rest_is_summed_up() -> None:
    there, policy = context(LEDUC), random_policy(LEDUC, rng(6))
    config = sampled(preset("unsafe", rest="summary", iterations=30), 3, companions=2)
    for infoset in rng(7).choice(there.tree.n_infosets, 4, replace=False).tolist():
        found = solve_infoset(there, policy, infoset, config, rng(1))
        assert sum(found.refined.values()) == pytest.approx(1)


@pytest.mark.parametrize("method", ["gs2+", "1-klss", "maxmargin"])
@pytest.mark.some(1)
def test_without_exploration_a_pure_blueprint_is_searched_or_refused_by_name(method: str) -> None:
    there = context(LEDUC)
    offset = there.tree.infoset_offset
    policy = np.zeros(there.tree.n_slots)
    policy[rng(9).integers(offset[:-1], offset[1:])] = 1.0
    config = preset(method, iterations=10)
    part = 0
    for infoset in rng(10).choice(there.tree.n_infosets, amount(60, 25), replace=False).tolist():
        try:
            drawn = solve_infoset(
                there, policy, infoset, sampled(config, 200, companions=200, explore=0.0), rng(0)
            )
        except GameError as error:
            assert "with explore = 0 none is drawn that the policy never plays" in str(error)
            continue
        assert drawn.sampled is not None
        if drawn.sampled.complete:
            same(drawn, solve_infoset(there, policy, infoset, config, rng(0)))
        part += not drawn.sampled.complete
    assert part


def test_where_the_players_own_strategy_never_leads_a_part_is_searched_by_chance_alone() -> None:
    there = context(LEDUC)
    policy = uniform_policy(there.tree)
    first, after = (
        there.infoset_number(there.game.parse_infoset(text))
        for text in ("P0 holds Ks", "P0 holds Ks | raise raise")
    )
    policy[there.tree.slots(first)] = [1.0, 0.0]  # never raises
    for method in ("gs2+", "gs2-d", "maxmargin"):
        config = sampled(preset(method, iterations=20), 3, companions=2)
        found = solve_infoset(there, policy, after, config, rng(0))
        assert any("never leads here" in note for note in found.cut_off)
        assert sum(found.refined.values()) == pytest.approx(1)


def test_more_histories_bring_the_policy_nearer_to_the_enumerated_one() -> None:
    there, config = context(GOOFSPIEL), preset("1-klss", iterations=100)
    policy = random_policy(GOOFSPIEL, rng(8))
    size = np.bincount(there.tree.infoset[there.tree.infoset >= 0])
    large = np.flatnonzero(size >= np.sort(size)[-12])
    off = []
    for samples in (2, 6, EVERYTHING):
        far = []
        for infoset in large[:12].tolist():
            exact = solve_infoset(there, policy, infoset, config, rng(0)).refined
            part = sampled(config, samples, companions=max(4, samples))
            found = solve_infoset(there, policy, infoset, part, rng(infoset)).refined
            far.append(sum(abs(found[action] - exact[action]) for action in exact))
        off.append(float(np.mean(far)))
    assert off[0] > off[1] > off[2] and off[2] < SAME


def test_weights_of_the_roots_are_those_of_the_game_on_average() -> None:
    there = context(GOOFSPIEL)
    policy = random_policy(GOOFSPIEL, rng(9))
    strategy = Strategy(there.tree, policy)
    played = PlayedStrategy(there, strategy)
    size = np.bincount(there.tree.infoset[there.tree.infoset >= 0])
    infoset = int(np.argmax(size))
    graph = there.graph(int(there.tree.infoset_player[infoset]))
    nodes = graph.nodes[graph.neighbours(graph.of_infoset(infoset), (1 - graph.player,))]
    known = strategy.reach_at(nodes)
    exact = {
        there.tree.states[node].tobytes(): chance * own
        for node, chance, own in zip(nodes, known.chance, known.players[:, graph.player], strict=True)
    }
    trail = there.trail_to(infoset)
    names, runs = list(exact), amount(100, 40)
    place = {name: at for at, name in enumerate(names)}
    drawn = np.zeros((runs, len(names)))
    config = sampled(preset("1-klss"), EVERYTHING, companions=2)
    for run in range(runs):
        tree = sample_tree(there.game, played, trail, config, rng(run)).context.tree
        for state, weight in zip(tree.states[: tree.n_roots], tree.chance_prob[: tree.n_roots], strict=True):
            drawn[run, place[state.tobytes()]] = weight
    measured = rng(3).normal(size=(len(names), 6))  # sums of anything over the histories
    sums = drawn @ measured
    error = sums.std(axis=0) / np.sqrt(runs)
    assert np.all(np.abs(sums.mean(axis=0) - np.array(list(exact.values())) @ measured) <= 5 * error)
    assert (drawn == 0).any() and error.min() > 0


BIG = "goofspiel(cards=13,turns=13)"
BIG_TEXT = "P0 | prize 4: bid 6 won | prize 11: bid 12 lost | prize 2"


@pytest.mark.parametrize("method", ["gs2-r", "gs2+", "maxmargin", "resolve", "1-klss", "unsafe"])
@pytest.mark.some(3)
def test_games_too_large_to_list_are_searched(method: str) -> None:
    game, blueprint = load_game(BIG), PolicyOnly(UniformPlay())
    config = preset(method, iterations=20, depth=1, leaf="rollout", rollouts=1, samples=6, companions=3)
    found = solve_infoset(game, blueprint, game.parse_infoset(BIG_TEXT), config, rng(0))
    assert sum(found.refined.values()) == pytest.approx(1) and min(found.refined.values()) >= 0
    assert found.sampled is not None and not found.sampled.complete
    assert found.sampled.histories <= 6 and found.infoset == BIG_TEXT
    assert found.to_json()["sampled"]["drawn"] == found.sampled.drawn


def test_a_tree_that_can_be_grown_is_unless_histories_are_to_be_drawn() -> None:
    game, blueprint = load_game("kuhn_poker"), PolicyOnly(UniformPlay())
    infoset = game.parse_infoset("P1 holds K | bet")
    assert solve_infoset(game, blueprint, infoset, preset("gs2-d"), rng(0)).sampled is None
    drawn = solve_infoset(game, blueprint, infoset, preset("gs2-d", source="sampled"), rng(0))
    assert drawn.sampled is not None and drawn.sampled.complete


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gadget": "path"}, "gadget = path needs a game that can be listed"),
        ({"gadget": "reach-maxmargin"}, "gadget = reach-maxmargin needs"),
        ({"depth": 2}, "leaf = exact needs a game that can be listed.*value or rollout"),
        ({"depth": 2, "leaf": "play-on"}, "leaf = play-on needs"),
        ({"order": 3}, "order = 3 needs a game that can be listed.*1 or None"),
    ],
)
def test_what_needs_more_than_a_sample_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        SearchConfig.of(source="sampled", **changes)
    game, blueprint = load_game(BIG), PolicyOnly(UniformPlay())
    with pytest.raises(ConfigError, match=words):
        solve_infoset(game, blueprint, game.parse_infoset(BIG_TEXT), SearchConfig.of(**changes), rng(0))


def test_what_no_sample_or_no_tree_reads_is_refused() -> None:
    with pytest.raises(ConfigError, match="samples needs a source that draws"):
        SearchConfig.of(source="enumerated", samples=5)
    with pytest.raises(ConfigError, match=r"samples needs a source that draws.*gadget = path"):
        SearchConfig.of(gadget="path", samples=5)
    game = load_game(BIG)
    with pytest.raises(ValueError, match="must be an Infoset or a Trail and the blueprint a Blueprint"):
        solve_infoset(game, np.zeros(3), game.parse_infoset(BIG_TEXT), preset("gs2-d"), rng(0))
    with pytest.raises(GameError):
        game.parse_infoset("P0 | prize 99")
    four: Any = GuanDan(moves="canonical")
    trail = context(KUHN).trail_to(0)
    with pytest.raises(ConfigError, match="needs two players; got 4"):
        sample_tree(four, PolicyOnly(UniformPlay()), trail, preset("gs2-d", source="sampled"), rng(0))


def test_certificates_of_samples_are_trusted_the_more_the_more_is_drawn() -> None:
    there = context(LEDUC)
    played = PlayedStrategy(there, Strategy(there.tree, random_policy(LEDUC, rng(1))))
    infoset = there.game.parse_infoset("P1 holds Ks | raise")
    trail = find_trail(there.game, infoset, rng(0))
    shrinks: list[float] = []
    for samples in (1, 2, 3, 4):
        part = sample_tree(there.game, played, trail, sampled(preset("gs2+"), samples), rng(0))
        assert part.config.safety.scope == "subtree" and part.config.subgame.rest == "drop"
        shrinks.append(part.config.safety.shrink)
    assert shrinks == sorted(shrinks) and shrinks[0] < shrinks[-1] < 1
    whole = sample_tree(there.game, played, trail, sampled(preset("gs2+")), rng(0))
    assert whole.config.safety.shrink == 1 and whole.config.safety.scope == "block"


def test_a_policy_alone_is_valued_by_playing_on() -> None:
    there, blueprint = context(KUHN), PolicyOnly(UniformPlay())
    many = np.repeat(there.tree.states[there.tree.infoset_first_node()[:1]], 2000)
    # The jack loses a showdown; half of the time somebody gives up before.
    worth = [float(blueprint.value(there.game, many, player).mean()) for player in (0, 1)]
    assert abs(sum(worth)) < 0.2
    q = blueprint.q(there.game, many, 0, there.game.actions(many))
    assert q.shape == (4000,) and np.all(np.abs(q) <= 2)


def test_the_match_of_the_page_on_sampled_histories_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[4] / "docs" / "how-to" / "sampled_histories.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    exec(compile(code, str(page), "exec"), {})
    assert re.fullmatch(r"\dx\d", capsys.readouterr().out.strip())


def test_a_step_gains_from_the_opponent_as_believed_and_from_one_that_played_anything() -> None:
    least = {True: 0.0, False: 0.0}
    for name, seed in product((LEDUC, LIARS_DICE), range(40)):
        there = context(name)
        strategy = Strategy(there.tree, random_policy(name, rng(seed), sharpness=2.0))
        infoset = int(rng(seed, 1).integers(there.tree.n_infosets))
        trail = find_trail(there.game, there.game.parse_infoset(there.infoset_text(infoset)), rng(seed))
        for robust in least:
            config = preset("gs2-s", source="sampled", branches=12, robust=robust)
            played = PlayedStrategy(there, strategy)
            draws = rng(seed, 2)
            part = sample_tree(there.game, played, trail, config, draws)
            found = refine_part(part, draws)
            mine, player = part.strategy, trail.player
            nodes = np.flatnonzero(mine.tree.infoset == part.infoset)
            children = mine.tree.first_child[nodes][:, None] + np.arange(mine.tree.n_children[nodes[0]])
            moved = found.here(mine) - mine.probs[mine.tree.slots(part.infoset)]
            gains = mine.values[children, player] @ moved / payoff_span(there.game)
            reached = mine.reach_at(nodes)
            believed = reached.chance * reached.players[:, 1 - player]
            for weight in (believed, reached.chance):
                least[robust] = min(least[robust], float(weight @ gains) / max(weight.sum(), 1e-12))
    assert least[True] > -0.005 and least[False] < -0.02


def drawn(name: str, infoset: int, policy: np.ndarray, **changes: Any) -> Part:
    """Return the tree of histories drawn at an infoset of a listed game."""
    there = context(name)
    played = PlayedStrategy(there, Strategy(there.tree, policy))
    config = preset("gs2-d", **{"source": "sampled", "certificate": "statistical", **changes})
    return sample_tree(there.game, played, there.trail_to(infoset), config, rng(1))


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
    runs, each = 60, 8
    sums = np.zeros((runs, len(nodes)))
    for run in range(runs):
        states, weights = replace(part, seed=run).draw(each)
        assert len(states) == each
        for state, weight in zip(states, weights, strict=True):
            sums[run, place[state.tobytes()]] += weight / each
    measured = rng(5).normal(size=(len(nodes), 6))
    error = (sums @ measured).std(axis=0) / np.sqrt(runs)
    assert np.all(np.abs(sums.mean(axis=0) @ measured - exact @ measured) <= 5 * error) and error.min() > 0
    # With more trials than histories the infoset is known, and each trial is as likely as it is.
    states, weights = part.draw(2000)
    counts = np.bincount([place[state.tobytes()] for state in states], minlength=len(nodes)) / 2000
    assert np.all(weights == 1) and np.abs(counts - exact / exact.sum()).max() < 0.06


def test_the_blueprint_is_played_wherever_the_strategies_do_not_differ_from_it() -> None:
    policy = random_policy(LEDUC, rng(6))
    part = drawn(LEDUC, context(LEDUC).infoset_number(0), policy, samples=2, companions=1, branches=2)
    tree, game = part.context.tree, context(LEDUC).game
    here = tree.slots(part.infoset)
    flipped = part.strategy.with_changes(here, np.roll(part.strategy.probs[here], 1))
    old, new = part.plays((part.strategy, flipped))
    whole = context(LEDUC).tree
    for infoset in range(whole.n_infosets):
        node = int(whole.infoset_first_node()[infoset])
        states, player = whole.states[node : node + 1], int(whole.infoset_player[infoset])
        actions = game.actions(states)
        key = whole.infoset_key[infoset]
        searched = player == tree.infoset_player[part.infoset] and bool(
            np.all(key == tree.infoset_key[part.infoset])
        )
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
        {"companions": 0, "depth": 2, "leaf": "value", "against": "blueprint+greedy"},
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
