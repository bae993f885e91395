"""Small games, prepared once, and blueprints of every quality for them."""

from __future__ import annotations

from functools import cache

import numpy as np

from cfr.best_response import best_response_values
from cfr.policies.policy import uniform_policy
from cfr.sequence_form import SequenceForm, sequence_form
from cfr.solver import solve
from cfr.tree import FlatTree
from games.registry import load_game
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchContext, SearchOptions, Strategy
from gs2.search.pipeline import Refinement, refine_infoset

KUHN = "kuhn_poker"
LEDUC = "leduc_poker"
LIARS_DICE = "liars_dice(sides=3)"
GOOFSPIEL = "goofspiel(cards=4,turns=3)"
GAMES = (KUHN, LEDUC, LIARS_DICE, GOOFSPIEL)


@cache
def context(name: str) -> SearchContext:
    """Return the game with its tree, prepared for searches."""
    return SearchContext(load_game(name))


@cache
def form(name: str) -> SequenceForm:
    """Return the sequence form of the game's tree."""
    return sequence_form(context(name).tree)


@cache
def _cfr(name: str, iterations: int) -> np.ndarray:
    return solve(form(name), variant="cfr", iterations=iterations).policy


def blueprint(name: str, iterations: int = 20) -> np.ndarray:
    """Return the average policy of plain CFR."""
    return _cfr(name, iterations).copy()


def random_policy(name: str, rng: np.random.Generator, *, sharpness: float = 1.0) -> np.ndarray:
    """Return a random strategy; the sharper, the nearer to a pure one, with some actions never played."""
    tree = context(name).tree
    weight = rng.exponential(size=tree.n_slots) ** sharpness
    weight[rng.random(tree.n_slots) < 0.1 * (sharpness - 1)] = 0.0
    total = np.add.reduceat(weight, tree.infoset_offset[:-1])
    counts = np.diff(tree.infoset_offset)
    spread = np.repeat(np.where(total > 0, total, 1.0), counts)
    return np.where(np.repeat(total > 0, counts), weight / spread, uniform_policy(tree))


def rng(*seed: int) -> np.random.Generator:
    """Return a generator of a seed."""
    return np.random.default_rng(seed)


def searched(
    name: str,
    policy: np.ndarray | Strategy,
    infoset: int,
    config: SearchConfig,
    seed: int = 0,
    options: SearchOptions = NO_OPTIONS,
) -> Refinement:
    """Return what one search in a game comes to."""
    there = context(name)
    return refine_infoset(there, there.strategy(policy), infoset, config, rng(seed), options)


def refined_at(found: Refinement, tree: FlatTree, infoset: int) -> np.ndarray:
    """Return what a search plays at one of the infosets that it replaces, [a]; of the game's `tree`."""
    at = np.flatnonzero(np.isin(found.slots, tree.slots(infoset)))
    return found.probs[at[np.argsort(found.slots[at])]]


def spliced(policy: np.ndarray, found: Refinement) -> np.ndarray:
    """Return a strategy with what a search found in its place."""
    after = policy.copy()
    after[found.slots] = found.probs
    return after


def opponent_gain(name: str, config: SearchConfig, seed: int, *, near: bool = False) -> tuple[float, float]:
    """Return what one search at a random infoset gives the opponent, in payoffs, and the weight certified.

    near: whether every other random blueprint lies near an equilibrium, where there is more to lose.
    """
    draw = rng(seed)
    policy = random_policy(name, draw, sharpness=float(draw.integers(1, 3)))
    if near and seed % 2:
        policy = 0.95 * blueprint(name, 200) + 0.05 * policy
    # Shallow infosets, numbered first, matter most to the value of the game.
    infoset = int(draw.integers(context(name).tree.n_infosets if seed % 3 == 0 else 12))
    found = searched(name, policy, infoset, config, seed)
    before, after = (best_response_values(form(name), p) for p in (policy, spliced(policy, found)))
    return float(np.subtract(after, before)[found.considered.opponent]), found.anchor
