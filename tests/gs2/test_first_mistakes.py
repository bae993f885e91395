"""What is passed in another's place is refused with a ValueError that names the next step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cfr
import gs2
from games.registry import load_game

GAME = load_game("kuhn_poker")
CONTEXT = gs2.SearchContext(GAME)
TREE = CONTEXT.tree
POLICY = cfr.uniform_policy(TREE)
MAXMARGIN = gs2.preset("maxmargin", iterations=5)
DRAWN = gs2.preset("maxmargin", source="sampled")
HERE = GAME.parse_infoset("P1 holds K | bet")
SOME = gs2.RefineOptions
GROW = r"cfr\.grow\(game\)"
INFOSET = r"game\.parse_infoset\(text\)"


def rng() -> np.random.Generator:
    """Return a generator."""
    return np.random.default_rng(0)


def refined_at(infosets: Any, seed: int = 0) -> Callable[[], Any]:
    """Return a refinement at some infosets, still to be made."""
    return lambda: gs2.refine_policy(GAME, POLICY, 1, MAXMARGIN, SOME(infosets=infosets, seed=seed))


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "solve a game": (lambda: cfr.solve(GAME, iterations=1), GROW),
    "drive a game": (lambda: cfr.Solver(GAME), GROW),
    "programme of a game": (lambda: cfr.solve_lp(GAME), GROW),
    "sample a game": (lambda: cfr.MonteCarloSolver(GAME, rng()), GROW),
    "plain CFR of a game": (lambda: cfr.PlainCfr(GAME), GROW),
    "anchor in a game": (lambda: cfr.solve_anchored(GAME, cfr.Anchor(POLICY, 0.1), iterations=1), GROW),
    "uniform in a game": (lambda: cfr.uniform_policy(GAME), GROW),
    "exploitability in a game": (lambda: cfr.exploitability(GAME, POLICY), GROW),
    "value in a game": (lambda: cfr.expected_value(GAME, POLICY), GROW),
    "responses in a game": (lambda: cfr.best_response_values(GAME, POLICY), GROW),
    "method by name": (lambda: gs2.solve_infoset(GAME, POLICY, 0, "gs2+", rng()), r"gs2\.preset\("),
    "seed for a generator": (lambda: gs2.solve_infoset(GAME, POLICY, 0, MAXMARGIN, 0), "default_rng"),
    "no generator": (lambda: gs2.solve_infoset(GAME, POLICY, 0, MAXMARGIN, None), "default_rng"),
    "search in a tree": (lambda: gs2.solve_infoset(TREE, POLICY, 0, MAXMARGIN, rng()), "load_game"),
    "infoset by words": (lambda: gs2.solve_infoset(GAME, POLICY, HERE.text, MAXMARGIN, rng()), INFOSET),
    "words for a sample": (lambda: gs2.solve_infoset(GAME, POLICY, HERE.text, DRAWN, rng()), INFOSET),
    "refined by name": (lambda: gs2.refine_policy(CONTEXT, POLICY, 1, "gs2+"), r"gs2\.preset\("),
    "passes by name": (lambda: gs2.refine_both(CONTEXT, POLICY, ["gs2+", "path"]), r"gs2\.preset\("),
    "refined in a tree": (lambda: gs2.refine_policy(TREE, POLICY, 1, MAXMARGIN), "load_game"),
    "infoset below 0": (refined_at(np.array([-1])), INFOSET),
    "infoset too large": (refined_at([100]), INFOSET),
    "infosets by words": (refined_at([HERE.text]), INFOSET),
    "half an infoset": (refined_at(np.array([1.5])), INFOSET),
    "negative seed": (refined_at(None, seed=-1), "seed must be at least 0; got -1"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_thing_of_another_kind_is_refused_with_the_next_step(mistake: str) -> None:
    made, step = MISTAKES[mistake]
    with pytest.raises(ValueError, match=step):
        made()


def test_a_player_is_refined_in_a_game_as_in_its_context_and_at_infosets_by_name() -> None:
    number = CONTEXT.infoset_number(HERE)
    by_name, by_number = (
        gs2.refine_policy(game, POLICY, 1, MAXMARGIN, SOME(infosets=infosets))
        for game, infosets in ((GAME, [HERE]), (CONTEXT, np.array([number])))
    )
    assert [search.infoset for search in by_name.searches] == [number]
    assert np.array_equal(by_name.policy, by_number.policy)
