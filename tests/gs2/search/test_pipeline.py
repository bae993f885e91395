"""The pipeline serves any source of histories: here one that is neither a tree of ours nor GuanDan.

The seed decides every random choice of a search, games that are played out among them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from games.registry import load_game
from gs2.search.config.presets import preset
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchOptions
from gs2.search.explain import solve_infoset
from gs2.search.gadget.build import Gadget
from gs2.search.gadget.path import Entry
from gs2.search.histories.enumerated import Considered
from gs2.search.pipeline import (
    HistorySource,
    Kept,
    LeftAlone,
    Log,
    Problem,
    Refinement,
    SubgameSolution,
    plays_out,
    refine_from,
    refine_infoset,
    solve_subgame,
)
from gs2.search.refine.whole import RefineOptions, refine_policy
from gs2.search.safety import Certified, Proposal
from gs2.search.subgame.cut import Subgame
from gs2.search.subgame.forest import grow_subgame
from tests.gs2.search.setting import LEDUC, blueprint, context, random_policy, rng, searched
from tests.patience import amount


class Everything:
    """A source of one history: the start of the game, where no opponent can decline."""

    def __init__(self, name: str, config: SearchConfig, refuse: str = "") -> None:
        self.game, self.config, self.refuse, self.log = load_game(name), config, refuse, Log()
        self.calls: list[str] = []
        self.found: SubgameSolution | None = None

    def consider(self) -> Considered:
        self.calls.append("consider")
        none, one = np.zeros(1, np.int32), np.ones(1)
        return Considered(0, 1, 0, none, none, none == 0, none, one, one, np.zeros(1), 0, False)

    def generate(self, considered: Considered, rng: np.random.Generator) -> Kept:
        self.calls.append("generate")
        if self.refuse == "generate":
            raise LeftAlone("no history fits")
        rows = np.zeros(1, np.int64)
        return Kept(rows, rows > 0, rows > 0, rows)

    def solve(self, considered: Considered, kept: Kept) -> Proposal:
        self.calls.append("solve")
        if self.refuse == "solve":
            raise LeftAlone("no time")
        problem = WholeGame(self, self.game.root())
        checked: Problem = problem
        self.found = found = solve_subgame(checked, self.log)
        assert problem.reviewed == 1 and not checked.partial
        mine = np.flatnonzero(found.subgame.tree.slot_player == 0)
        return Proposal(mine, found.policy[mine], np.zeros(1), 1, 1, 1, found.iterations, found.gap)

    def certify(self, considered: Considered, proposal: Proposal) -> Certified:
        self.calls.append("certify")
        return Certified(1.0, proposal.slots, proposal.probs, considered, np.zeros(1), np.zeros(1))

    def here(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return np.zeros(1, np.int64), np.ones(1)


class WholeGame:
    """The game from its start, behind a gadget that everyone enters."""

    deadline: float | None = None
    partial = False

    def __init__(self, source: Everything, states: NDArray[Any]) -> None:
        self.game, self.config, self.states = source.game, source.config, states
        self.payoff_range = self.game.payoff_range
        none, one = np.zeros((1, len(states)), np.int32), np.ones(len(states))
        self.entry = Entry((1,), none, np.zeros((1, len(states))), one / len(states), one)
        self.reviewed = 0

    def grow(self) -> Subgame:
        return grow_subgame(self.game, self.states, self.entry.reach)

    def start(self, subgame: Subgame, gadget: Gadget) -> NDArray[np.float64]:
        raise AssertionError("a start is asked for with a warm start alone")

    def review(self, subgame: Subgame, policy: NDArray[np.float64], tolerance: float) -> float:
        assert len(policy) == subgame.tree.n_slots
        self.reviewed += 1
        return 0.0


CONFIG = SearchConfig.of(gadget="unsafe", solver="lp")


@pytest.mark.parametrize("name", ["kuhn_poker", "goofspiel(cards=3)"])
def test_a_strangers_source_is_searched_by_the_same_pipeline(name: str) -> None:
    source = Everything(name, CONFIG)
    shown: HistorySource = source
    refined = refine_from(shown, np.random.default_rng(0))
    assert source.calls == ["consider", "generate", "solve", "certify"]
    solution = source.found
    assert solution is not None and refined.anchor == 1.0 and np.array_equal(refined.kept.rows, [0])
    assert solution.gap == pytest.approx(0.0, abs=1e-9) and solution.missed == 0.0
    assert np.allclose(np.add.reduceat(solution.policy, solution.subgame.tree.infoset_offset[:-1]), 1.0)
    assert np.array_equal(refined.probs, solution.policy[refined.slots])
    # CFR reads its limits from the configuration, and each stage is timed.
    refined = refine_from(
        Everything(name, SearchConfig.of(gadget="unsafe", iterations=40)), np.random.default_rng(0)
    )
    assert refined.iterations == 40 and 0 <= refined.gap < 0.05
    assert {"subgame", "gadget", "solve", "summary", "safety"} <= refined.seconds.keys()


def test_a_search_says_whether_it_changed_anything() -> None:
    there, policy = context(LEDUC), blueprint(LEDUC, 30)
    kept = []
    for infoset in range(0, there.tree.n_infosets, amount(12, 60)):
        config = preset("maxmargin", certificate="anchored", iterations=20)
        found = solve_infoset(there, policy, infoset, config, np.random.default_rng(0))
        assert found.kept_refined == bool(np.any(found.probs != policy[found.slots]))
        assert found.kept_refined == (found.anchor > 0)
        kept.append(found.kept_refined)
    assert True in kept and False in kept


@pytest.mark.parametrize("stage, why", [("generate", "no history fits"), ("solve", "no time")])
def test_a_source_may_leave_the_strategy_alone(stage: str, why: str) -> None:
    source = Everything("kuhn_poker", CONFIG, stage)
    refined = refine_from(source, np.random.default_rng(0))
    assert refined.cut_off == (f"{why}: the strategy is left as it was",) and refined.anchor == 0.0
    assert len(refined.kept.rows) == (stage == "solve") and source.calls[-1] == stage
    assert np.array_equal(refined.probs, source.here()[1])


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
        assert plays_out(config)
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
        assert not plays_out(config)
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
        options = RefineOptions(seed=seed, infosets=infosets)
        return refine_policy(prepared, policy, 0, config.replace(mode="independent"), options).policy

    found = refined(0, some)
    assert np.array_equal(found, refined(0, some[::-1]))
    assert not np.array_equal(found, refined(1, some))
