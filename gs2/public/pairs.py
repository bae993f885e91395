"""Which histories of a public state a search considers and keeps: pairs of private states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gs2.public.public_subgame import PublicProblem
from gs2.search.config.search import SearchConfig
from gs2.search.generation import generator

__all__ = [
    "PublicPlace",
    "PublicSearchError",
    "certified_pairs",
    "chosen_pairs",
    "free_states",
    "generated_pairs",
    "listed_pairs",
]


class PublicSearchError(ValueError):
    """A search that the public form does not have: the rule, the value received and the next step."""


@dataclass(frozen=True)
class PublicPlace:
    """An infoset of a factored game. node: of the public tree. private: the acting player's private state."""

    node: int
    private: int


def listed_pairs(
    pairs: NDArray[np.float64],
    reach: NDArray[np.float64],
    theirs: NDArray[np.float64],
    place: PublicPlace,
    config: SearchConfig,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Return which pairs are considered, [own, opponent's]: those drawn, or all that the method asks for."""
    if config.histories.source == "sampled":
        return _drawn(pairs, reach, theirs, place, config, rng)
    listed: NDArray[np.bool_] = pairs > 0
    if config.histories.order == 1 and not takes_closure(config):
        # Opponent infosets that the infoset's histories do not belong to are no neighbours of it.
        listed &= listed[place.private]
    _check_order(pairs > 0, place, config.histories.order)
    return listed


def _check_order(pairs: NDArray[np.bool_], place: PublicPlace, order: int | None) -> None:
    """Raise PublicSearchError for a knowledge set between the infoset and the closure: its boundary runs
    through infosets of the player's, whose policy here is solved whole or not at all."""
    if order is None or order == 1:
        return
    known = pairs & (np.arange(len(pairs)) == place.private)[:, None]
    for _ in range(order - 1):
        known = pairs & (known.any(axis=1)[:, None] | known.any(axis=0))
    if not np.array_equal(known, pairs):
        raise PublicSearchError(
            f"order on a public tree must be 1, none, or one that reaches the closure; here order {order} "
            f"holds {known.sum()} of its {pairs.sum()} histories; list the game, or take a higher order"
        )


def free_states(listed: NDArray[np.bool_], place: PublicPlace, config: SearchConfig) -> NDArray[np.bool_]:
    """Return the own private states with which the player's policy is solved, [own] bool.

    With one of which no history is listed nothing can be learnt.
    """
    there: NDArray[np.bool_] = np.asarray(listed.any(axis=1))
    closure = config.histories.order != 1 and config.subgame.rest != "summary"
    if config.subgame.freeze == "none" or closure:
        return there
    here: NDArray[np.bool_] = there & (np.arange(len(there)) == place.private)
    return here


def certified_pairs(
    considered: NDArray[np.float64],
    every: NDArray[np.float64],
    lanes: NDArray[np.bool_],
    config: SearchConfig,
) -> NDArray[np.float64]:
    """Return the pairs by which a certificate judges a change of the player's policy, [own, opponent's].

    considered: those of the search. every: all that chance deals. lanes: [own] bool, private states with
    which the policy changes: whatever private state of the opponent's may meet one of them notices it, also
    one that the infoset searched rules out. Of histories that were drawn a certificate knows these alone.
    """
    if config.histories.source == "sampled" or config.safety.certificate == "none":
        return considered
    noticed = (considered > 0).any(axis=0) | (every[lanes] > 0).any(axis=0)
    return every * noticed


def takes_closure(config: SearchConfig) -> bool:
    """Return whether every history of the common-knowledge closure is generated, whatever the generator."""
    return config.histories.order != 1 or config.subgame.rest == "summary"


def _drawn(
    pairs: NDArray[np.float64],
    reach: NDArray[np.float64],
    theirs: NDArray[np.float64],
    place: PublicPlace,
    config: SearchConfig,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Return which pairs were drawn: histories of the infoset, and companions in their opponent infosets."""
    belief = pairs[place.private] * theirs**config.histories.belief
    chance = pairs[place.private]
    likely = _shares(belief) * (1 - config.histories.explore) + _shares(chance) * config.histories.explore
    out = np.zeros(pairs.shape, bool)
    if likely.sum() <= 0:
        return out
    others = np.unique(rng.choice(len(likely), config.histories.samples, p=_shares(likely)))
    for other in others[chance[others] > 0].tolist():
        out[place.private, other] = True
        mine = _shares(reach * pairs[:, other])
        if config.histories.companions and mine.sum() > 0:
            out[rng.choice(len(mine), config.histories.companions, p=mine), other] = True
    return out & (pairs > 0)


def _shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    total = weights.sum()
    return weights / total if total > 0 else np.zeros(len(weights))


def generated_pairs(
    base: PublicProblem,
    alternative: NDArray[np.float64],
    place: PublicPlace,
    config: SearchConfig,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the pairs that enter the subgame, [own, opponent's] of 0 and 1."""
    kept = np.ones(base.pairs.shape)
    own = base.pairs[place.private]
    if config.generation.generator == "all" or takes_closure(config):
        return kept
    if config.generation.k is None:
        raise PublicSearchError(f"k must be given with the generator {config.generation.generator}; got none")
    candidates = np.flatnonzero(own > 0)
    if not len(candidates):
        return np.zeros(base.pairs.shape)
    weights = base.reach[place.private] * own[candidates]
    chosen = candidates[
        generator(config.generation.generator)(alternative[candidates], weights, config.generation.k, rng)
    ]
    touched = np.zeros(base.pairs.shape[1], bool)
    touched[chosen] = True
    if config.generation.close:
        return kept * touched
    kept[:] = 0.0
    kept[place.private, chosen] = 1.0
    return kept


def chosen_pairs(problem: PublicProblem, place: PublicPlace, config: SearchConfig) -> NDArray[np.bool_]:
    """Return which pairs the generator chose, [own, opponent's]; the others complete opponent infosets."""
    chosen: NDArray[np.bool_] = problem.pairs > 0
    if not takes_closure(config):
        chosen = chosen & (np.arange(len(chosen)) == place.private)[:, None]
    return chosen
