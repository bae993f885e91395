"""What a search came to, as plain data for a page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.best_response import best_response_values
from gs2.explore.prepared_games import PreparedGame
from gs2.explore.tree_picture import MOST_NODES, Pictured, histories_tree, seen_tree
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchOptions
from gs2.search.explain import search_infoset
from gs2.search.result import Refinement, SearchResult
from gs2.search.strategy import Strategy

__all__ = ["SOLVE_FORMAT", "SearchedGame", "search_game", "solve_picture"]

SOLVE_FORMAT = "gs2 solve"
"""What the data of a page says it is; with its version, so that a page refuses what it cannot read."""
VERSION = 1


@dataclass(frozen=True, eq=False)
class SearchedGame:
    """A search in a game that is listed.

    strategy: that was refined. infoset: its number. refinement: what the search keeps; None where histories
    were drawn, and `result` is all that is known.
    """

    prepared: PreparedGame
    strategy: Strategy
    infoset: int
    result: SearchResult
    refinement: Refinement | None

    @property
    def replaced(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return (slots of the tree that the search replaces, [s] int64; their probabilities, [s] float64).

        Where histories were drawn, those of the infoset itself.
        """
        if self.refinement is not None:
            return self.refinement.slots, self.refinement.probs
        probs = np.array([row.refined for row in self.result.actions])
        return self.prepared.context.tree.slots(self.infoset), probs

    @property
    def refined(self) -> NDArray[np.float64]:
        """Return the strategy of both players after the search, [slots] float64."""
        slots, probs = self.replaced
        out = self.strategy.probs.copy()
        out[slots] = probs
        return out


def search_game(
    prepared: PreparedGame,
    strategy: Strategy,
    infoset: int,
    config: SearchConfig,
    rng: np.random.Generator,
    options: SearchOptions = NO_OPTIONS,
) -> SearchedGame:
    """Return a search at an infoset of a listed game, with what it keeps. Raises as `solve_infoset`."""
    result, refinement = search_infoset(prepared.context, strategy, infoset, config, rng, options)
    drawn = config.histories.source == "sampled"
    return SearchedGame(prepared, strategy, infoset, result, None if drawn else refinement)


def solve_picture(
    result: SearchResult, searched: SearchedGame | None, *, most: int = MOST_NODES, **about: Any
) -> dict[str, Any]:
    """Return everything that a page shows of a search, as plain dictionaries, lists, numbers and texts.

    searched: the game it was made in; None where that is not listed, and there is no tree to show.
    most: nodes of each of its trees. about: what else is known, such as the blueprint's name and the seed.
    """
    told = result.to_json()
    config = told.pop("config")
    made: dict[str, Any] = {
        "format": SOLVE_FORMAT,
        "version": VERSION,
        "kind": "search",
        "method": result.config.name,
        "gadget": result.config.gadget.kind,
        "variant": result.config.solve.variant,
        "payoffs": None,
        **told,
        "config": config,
        "whole_game": None,
        "trees": None,
        **about,
    }
    for row in made["actions"]:
        row["value"] = row.pop("q")
    if searched is not None:
        made["payoffs"] = [float(bound) for bound in searched.prepared.context.game.payoff_range]
        made["whole_game"] = _whole_game(searched)
        made["trees"] = _trees(searched, most)
    return {name: _finite(value) for name, value in made.items()}


def _finite(value: Any) -> Any:
    """Return plain data in which a number that JSON cannot hold is None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def _whole_game(searched: SearchedGame) -> dict[str, Any]:
    """Return what best responses win in the whole game, before and after."""
    slots, _ = searched.replaced
    best = [
        [float(value) for value in best_response_values(searched.prepared.form, probs)]
        for probs in (searched.strategy.raw, searched.refined)
    ]
    return {
        "histories": searched.prepared.context.tree.n_nodes,
        "replaced": len(np.unique(searched.prepared.context.tree.slot_infoset[slots])),
        "best_response": best,
        "opponent_best_response": [values[1 - searched.result.player] for values in best],
        "exploitability": [sum(values) / 2 for values in best],
    }


def _trees(searched: SearchedGame, most: int) -> dict[str, Any]:
    slots, _ = searched.replaced
    context, player = searched.prepared.context, searched.result.player
    pictured = Pictured(context, player, searched.strategy, searched.refined, slots)
    found = {"seen": seen_tree(pictured, searched.infoset, most)}
    if searched.refinement is not None:
        roots, marks = _roots(searched, searched.refinement)
        found["histories"] = histories_tree(pictured, roots, marks, most)
    return found


def _roots(searched: SearchedGame, refinement: Refinement) -> tuple[NDArray[np.int32], list[dict[str, Any]]]:
    """Return the histories of the subgame, or all considered where none was solved, and their marks."""
    considered, kept = refinement.considered, refinement.kept
    rows = np.sort(kept.rows) if len(kept.rows) else np.arange(len(considered.nodes))
    frozen = set(kept.rows[kept.frozen].tolist())
    summary = set(kept.rows[kept.summary].tolist())
    generated = set(kept.generated.tolist())
    own = considered.own_infoset[rows] == searched.infoset
    rows = np.concatenate([rows[own], rows[~own]])
    marks = [
        {
            "opponent_infoset": int(considered.group[row]),
            "own": bool(considered.own_infoset[row] == searched.infoset),
            "generated": row in generated,
            "frozen": row in frozen,
            "summary": row in summary,
        }
        for row in rows.tolist()
    ]
    return considered.nodes[rows].astype(np.int32), marks
