"""What a search came to, as plain data for a page, and as a page that stands alone."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.best_response import best_response_values
from cfr.values import node_values
from games.game import CHANCE, TERMINAL
from games.ragged import ranges
from games.support.files import create
from gs2.explore.prepared_games import PreparedGame
from gs2.search.config.search import SearchConfig
from gs2.search.context import NO_OPTIONS, SearchContext, SearchOptions, Strategy
from gs2.search.explain import search_infoset
from gs2.search.gadget.path import LIVE
from gs2.search.histories.enumerated import belief, histories_of
from gs2.search.pipeline import Refinement
from gs2.search.result import SearchResult

MOST_NODES = 600
"""Nodes of one tree that a page shows: more than anyone unfolds, and some hundred kilobytes."""
LISTED_ACTIONS = 3
"""Different actions that are named where a player cannot tell which was taken."""


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
    def context(self) -> SearchContext:
        """The game with its tree."""
        return self.prepared.context

    @property
    def replaced(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return (slots of the tree that the search replaces, [s] int64; their probabilities, [s] float64).

        Where histories were drawn, those of the infoset itself.
        """
        if self.refinement is not None:
            return self.refinement.slots, self.refinement.probs
        probs = np.array([row.refined for row in self.result.actions])
        return self.context.tree.slots(self.infoset), probs

    @cached_property
    def refined(self) -> NDArray[np.float64]:
        """Return the strategy of both players after the search, [slots] float64."""
        slots, probs = self.replaced
        out = self.strategy.probs.copy()
        out[slots] = probs
        return out

    @cached_property
    def values_after(self) -> NDArray[np.float64]:
        """Return the expected payoffs at each node after the search, [N, P] float64."""
        return node_values(self.context.tree, self.refined)

    @cached_property
    def whole_game(self) -> dict[str, Any]:
        """Return what best responses win in the whole game, before and after, in plain values."""
        tree = self.context.tree
        best = [
            [float(value) for value in best_response_values(self.prepared.form, probs)]
            for probs in (self.strategy.raw, self.refined)
        ]
        return {
            "histories": tree.n_nodes,
            "replaced": len(np.unique(tree.slot_infoset[self.replaced[0]])),
            "best_response": best,
            "opponent_best_response": [values[1 - self.result.player] for values in best],
            "exploitability": [sum(values) / 2 for values in best],
        }


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


@dataclass(eq=False)
class _Group:
    """Histories shown as one node: nodes of the tree, and how likely each is before and after, [m] float64.

    shares: probabilities of the step from the group above, before and after; None at the roots.
    """

    nodes: NDArray[np.int32]
    weights: NDArray[np.float64]
    parent: int | None = None
    depth: int = 0
    shares: tuple[float, float] | None = None
    about: dict[str, Any] = field(default_factory=dict)


class _Grower:
    """Unfolds groups of histories, the most likely first, until the picture is full."""

    def __init__(self, searched: SearchedGame, most: int, *, merge: bool) -> None:
        """Begin with nothing shown. merge: whether histories that look alike to the player are one node."""
        self.searched, self.most, self.merge = searched, most, merge
        self.tree, self.game = searched.context.tree, searched.context.game
        self.player = searched.result.player
        self.replaced = np.zeros(self.tree.n_slots, bool)
        self.replaced[searched.replaced[0]] = True
        self.nodes: list[dict[str, Any]] = []
        self.infosets: dict[int, int] = {}
        self.named: list[dict[str, Any]] = []
        self.groups: list[_Group] = []

    def add(self, groups: list[_Group]) -> None:
        """Show groups as nodes."""
        for group in groups:
            self.nodes.append(self._node(group))
            self.groups.append(group)

    def grown(self) -> dict[str, Any]:
        """Return the picture, unfolded as far as it may be."""
        roots = np.concatenate([group.nodes for group in self.groups])
        waiting = [self._entry(number) for number in range(len(self.groups))]
        heapq.heapify(waiting)
        while waiting:
            number = heapq.heappop(waiting)[-1]
            children = list(self._children(number))
            self.nodes[number]["children"] = len(children)
            if not children or len(self.nodes) + len(children) > self.most:
                continue
            first = len(self.nodes)
            self.nodes[number]["unfolded"] = True
            self.add(children)
            for child in range(first, len(self.nodes)):
                heapq.heappush(waiting, self._entry(child))
        cut = sum(1 for node in self.nodes if node["children"] and not node["unfolded"])
        return {
            "nodes": self.nodes,
            "infosets": self.named,
            "most": self.most,
            "cut": cut,
            "histories": self.searched.context.nodes_below(roots),
        }

    def _entry(self, number: int) -> tuple[float, int, int]:
        group = self.groups[number]
        return -float(group.weights.sum(axis=1).max()), group.depth, number

    def _children(self, number: int) -> Iterator[_Group]:
        tree, group = self.tree, self.groups[number]
        counts = tree.n_children[group.nodes].astype(np.int64)
        if not counts.any():
            return
        within = ranges(np.zeros_like(counts), counts)
        above = np.repeat(np.arange(len(counts)), counts)
        nodes = (tree.first_child[group.nodes][above] + within).astype(np.int32)
        infoset = tree.infoset[group.nodes][above]
        slot = np.where(infoset < 0, -1, tree.infoset_offset[infoset] + within)
        policies = (self.searched.strategy.probs, self.searched.refined)
        steps = np.stack([np.where(slot < 0, tree.chance_prob[nodes], probs[slot]) for probs in policies])
        weights = group.weights[:, above] * steps
        total = group.weights.sum(axis=1)
        for members in self._parts(nodes, within):
            shares = [
                float(weights[when, members].sum() / total[when])
                if total[when] > LIVE
                else float(steps[when, members].sum() / len(group.nodes))
                for when in (0, 1)
            ]
            yield _Group(nodes[members], weights[:, members], number, group.depth + 1, (shares[0], shares[1]))

    def _parts(self, nodes: NDArray[np.int32], within: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return positions of the children that are one node each."""
        if not self.merge:
            return [np.array([at]) for at in range(len(nodes))]
        tree, player = self.tree, self.player
        keys = self.game.infoset_key(tree.states[nodes], player).astype(np.uint64)
        acting = tree.player[nodes].astype(np.int64)
        # Its own move is always seen; who acts next tells a decision of its own from what it waits for.
        own = np.where(tree.player[tree.parent[nodes]] == player, within, -1)
        known = np.column_stack([keys, acting.astype(np.uint64), own.astype(np.uint64)])
        _, first, number = np.unique(known, axis=0, return_index=True, return_inverse=True)
        number = number.reshape(-1)
        return [np.flatnonzero(number == kind) for kind in np.argsort(first, kind="stable")]

    def _node(self, group: _Group) -> dict[str, Any]:
        tree = self.tree
        first = group.nodes[0]
        weights = group.weights.sum(axis=1)
        seat = int(tree.player[first])
        infosets = np.unique(tree.infoset[group.nodes])
        seen = self.merge and group.parent is not None
        made: dict[str, Any] = {
            "parent": group.parent,
            "action": self._action(group) if group.parent is not None else None,
            "probability": None if group.shares is None else [_short(share) for share in group.shares],
            "reach": [_short(weight) for weight in weights],
            "value": [self._value(group, when) for when in (0, 1)],
            "player": {CHANCE: "chance", TERMINAL: "end"}.get(seat, seat),
            "infoset": self._infoset(int(infosets[0])) if len(infosets) == 1 and seat >= 0 else None,
            "merged": len(group.nodes),
            "text": self.game.infoset_text(tree.states[first], self.player)
            if self.merge
            else self.game.state_text(tree.states[first]),
            "children": 0,
            "unfolded": False,
        }
        if seen:
            made["opponents"] = len(infosets) if seat >= 0 and seat != self.player else 0
        return made | group.about

    def _value(self, group: _Group, when: int) -> float:
        values = (self.searched.strategy.values, self.searched.values_after)[when][group.nodes, self.player]
        weight = group.weights[when]
        total = float(weight.sum())
        return _short(weight @ values / total if total > LIVE else values.mean())

    def _action(self, group: _Group) -> str:
        tree = self.tree
        raw = np.ascontiguousarray(tree.action[group.nodes]).view(np.uint8).reshape(len(group.nodes), -1)
        texts: dict[str, None] = {}
        for row in np.sort(np.unique(raw, axis=0, return_index=True)[1])[: 4 * LISTED_ACTIONS]:
            node = group.nodes[row]
            texts[self.game.action_text(tree.states[tree.parent[node]], tree.action[node])] = None
        listed = list(texts)
        return " / ".join(listed[:LISTED_ACTIONS]) + (" / …" if len(listed) > LISTED_ACTIONS else "")

    def _infoset(self, number: int) -> int:
        """Return the place of an infoset among those named, naming it if it is new."""
        if number not in self.infosets:
            slots = self.tree.slots(number)
            self.infosets[number] = len(self.named)
            self.named.append(
                {
                    "infoset": self.searched.context.infoset_text(number),
                    "player": int(self.tree.infoset_player[number]),
                    "blueprint": [_short(p) for p in self.searched.strategy.probs[slots]],
                    "refined": [_short(p) for p in self.searched.refined[slots]],
                    "replaced": bool(self.replaced[slots].all()),
                }
            )
        return self.infosets[number]


def _short(value: float) -> float:
    """Return a number as it is written in a page: seven digits are more than a picture shows."""
    return float(f"{float(value):.7g}")


SOLVE_FORMAT = "gs2 solve"
"""What the data of a page says it is; with its version, so that a page refuses what it cannot read."""
VERSION = 1


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
        "variant": result.config.solve.algorithm,
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
        made["payoffs"] = [float(bound) for bound in searched.context.game.payoff_range]
        made["whole_game"] = searched.whole_game
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


def _trees(searched: SearchedGame, most: int) -> dict[str, Any]:
    """Return the game below the infoset as its player sees it, and below the histories of the subgame.

    Histories that look alike to it are one node, and then each is one; the latter tree is missing where
    histories were drawn. most: nodes of each; the most likely are shown, and unfolded first.
    """
    nodes = histories_of(searched.context, searched.infoset)
    share = belief(searched.strategy, nodes, searched.result.player)
    seen = _Grower(searched, most, merge=True)
    seen.add([_Group(nodes, np.stack([share, share]))])
    found = {"seen": seen.grown()}
    if searched.refinement is not None:
        roots, marks = _roots(searched, searched.refinement)
        share = belief(searched.strategy, roots, searched.result.player)
        grower = _Grower(searched, most, merge=False)
        groups = [
            _Group(roots[row : row + 1], np.full((2, 1), share[row]), about={"history": True, **marks[row]})
            for row in np.sort(np.argsort(-share, kind="stable")[:most])
        ]
        grower.add(groups)
        found["histories"] = grower.grown() | {"roots": len(roots)}
    return found


def _roots(searched: SearchedGame, refinement: Refinement) -> tuple[NDArray[np.int32], list[dict[str, Any]]]:
    """Return the histories of the subgame, or all considered where none was solved, and their marks."""
    considered, kept = refinement.considered, refinement.kept
    rows = np.sort(kept.rows) if len(kept.rows) else np.arange(len(considered.nodes))
    marked = kept.marks(len(considered.nodes))
    own = considered.own_infoset[rows] == searched.infoset
    rows = np.concatenate([rows[own], rows[~own]])
    marks = [
        {
            "opponent_infoset": int(considered.group[row]),
            "own": bool(considered.own_infoset[row] == searched.infoset),
            **{name: bool(marked[name][row]) for name in ("generated", "frozen", "summary")},
        }
        for row in rows.tolist()
    ]
    return considered.nodes[rows].astype(np.int32), marks


def write_explore_page(path: Path, picture: dict[str, Any], title: str) -> None:
    """Write one self-contained HTML file that shows a picture. Raises FileProblem as `create`.

    picture: of `solve_picture`, or of a game's own methods. title: what was searched.
    """
    from gs2.web.pages import standalone_page

    page = standalone_page(f"{title} · gs2 solve", "explore.js", picture, styles=("explore.css",))
    with create(path) as file:
        file.write(page)
