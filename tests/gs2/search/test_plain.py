"""Generative subgame solving as printed, and the fast road: the same search on the paper's six games."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest

from cfr.policies.policy import uniform_policy
from games.registry import RESEARCH_GAMES
from gs2.search import plain as module
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext, Strategy
from gs2.search.generation import diverse_subset
from gs2.search.pipeline import refine_infoset
from gs2.search.plain import PlainGs2, diverse
from tests.gs2.search.setting import blueprint, context, refined_at
from tests.patience import amount
from tests.reference.diverse import gap_cost

ROOT = Path(__file__).parents[3]

ITERATIONS = 20
MOST = 3_000
"""Nodes below the histories considered that the plain road walks in well under a second."""


def compare(context: SearchContext, sigma: np.ndarray, infoset: int, generation: str, k: int) -> bool:
    """Assert that both roads generate the same histories, or as diverse ones, and play the same then.

    Returns False, and compares nothing, where too much lies below for the plain one.
    """
    tree = context.tree
    if context.nodes_below(np.flatnonzero(tree.infoset == infoset)) > MOST:
        return False
    config = preset("gs2-d" if generation == "diverse" else "gs2-r", k=k, iterations=ITERATIONS)
    found = refine_infoset(
        context, Strategy(tree, sigma), infoset, config, np.random.default_rng([infoset, k])
    )
    if context.nodes_below(found.considered.nodes) > MOST:
        return False
    plain = PlainGs2(context.game, tree, sigma, infoset, k, generation, ITERATIONS)
    refined = plain.refine(np.random.default_rng([infoset, k]))
    considered = found.considered
    values = considered.alternative[considered.group]
    assert sorted(refined.alternative) == sorted(considered.nodes.tolist())
    for h, value in zip(considered.nodes.tolist(), values, strict=True):
        assert refined.alternative[h] == pytest.approx(value, abs=1e-9)
    kept = considered.nodes[found.kept.generated].tolist()
    if sorted(kept) != sorted(refined.generated):
        assert generation == "diverse"  # values were level, and which of them is taken is free
        own = {h: u for h, u in refined.alternative.items() if tree.infoset[h] == infoset}
        spread = np.array(list(own.values()))
        costs = [
            gap_cost(spread, np.array([list(own).index(h) for h in g])) for g in (kept, refined.generated)
        ]
        assert costs[0] == pytest.approx(costs[1], abs=1e-12)
        plain.generate = lambda *_: kept  # type: ignore[method-assign]
        refined = plain.refine(np.random.default_rng())
    np.testing.assert_allclose(refined_at(found, tree, infoset), refined.policy, atol=1e-9, rtol=0)
    return True


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if "_1" in name else name for name in RESEARCH_GAMES]
)
@pytest.mark.parametrize("generation", ["diverse", "random"])
def test_the_fast_road_finds_what_the_plain_one_finds(name: str, generation: str) -> None:
    there, sigma = context(name), blueprint(name, 5)
    many = {"leduc_poker": there.tree.n_infosets, "goofspiel_12_ascending_3": 40}.get(name, 200)
    wanted = amount(many, 3)
    rng, compared = np.random.default_rng(len(name)), 0
    for infoset in rng.permutation(there.tree.n_infosets).tolist():
        compared += compare(there, sigma, infoset, generation, int(rng.integers(1, 6)))
        if compared == wanted:
            break
    assert compared == wanted or name == "leduc_poker"


@pytest.mark.parametrize("generation", ["diverse", "random"])
def test_it_does_where_player_one_never_comes_or_every_history_is_alike(generation: str) -> None:
    there = context("leduc_poker")
    rng = np.random.default_rng(3)
    tree = there.tree
    pure = np.zeros(tree.n_slots)
    pure[tree.infoset_offset[:-1] + rng.integers(np.diff(tree.infoset_offset))] = 1.0
    for infoset in rng.integers(tree.n_infosets, size=amount(100, 6)).tolist():
        compare(there, pure, infoset, generation, 2)
        compare(there, uniform_policy(tree), infoset, generation, 2)


def test_algorithm_2_in_both_forms_spreads_values_alike() -> None:
    rng = np.random.default_rng(4)
    for _ in range(amount(3000)):
        m = int(rng.integers(1, 40))
        values = rng.normal(size=m) if rng.random() < 0.5 else rng.integers(0, 6, size=m).astype(float)
        k = int(rng.integers(1, m + 1))
        chosen, fast = np.array(diverse(values, k)), diverse_subset(values, k)
        assert len(set(chosen.tolist())) == k and len(fast) == k
        assert gap_cost(values, chosen) == pytest.approx(gap_cost(values, fast), abs=1e-12)


def test_what_its_text_and_its_page_show_is_what_it_prints_and_one_sitting_is_enough() -> None:
    assert doctest.testmod(module).failed == 0
    page = (ROOT / "docs/concepts/step_by_step.md").read_text().replace("```", "")
    shown = doctest.DocTestParser().get_doctest(page, {}, "step_by_step.md", None, 0)
    assert len(shown.examples) > 20 and doctest.DocTestRunner().run(shown).failed == 0
    assert len(Path(module.__file__).read_text().splitlines()) <= 250
