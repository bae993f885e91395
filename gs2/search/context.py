"""What many searches in one game share: the full tree, who knows what, and the strategy being refined."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from cfr.memory import SEARCH_BYTES
from cfr.tree import FlatTree, grow
from cfr.values import (
    Reach,
    check_policy,
    counterfactual_values,
    infoset_parent_slot,
    node_values,
    reach,
)
from games.game import Game, Infoset
from gs2.search.histories.alternative import best_response_node_values
from gs2.search.histories.cover import CoverMaker
from gs2.search.histories.knowledge import KnowledgeGraph, KnowledgeReport, knowledge_graph, knowledge_report
from gs2.search.subgame.continuations import continuation_values
from gs2.search.subgame.cut import TreeCutter
from gs2.tabulate import tabulate

if TYPE_CHECKING:
    from gs2.search.safety import Certified

__all__ = ["MAX_ENUMERATED", "Profile", "SearchContext"]

MAX_ENUMERATED = 8_000_000
"""Histories up to which a game is enumerated; the largest research game has 1.9 million."""


class SearchContext:
    """One game small enough to enumerate, prepared once for any number of searches.

    game, tree: the game and its full tree, with states. cutter: cuts subgames out of the tree.
    """

    def __init__(self, game: Game, tree: FlatTree | None = None) -> None:
        """Grow the game's tree, or take one that holds its states.

        Raises ValueError if the game does not have two players; TooLarge if its tree, or a
        search on it, would take more memory than it may (see `cfr.memory`).
        """
        if game.num_players != 2:
            raise ValueError(
                f"{game.name}: searching a full tree needs two players; got {game.num_players}; "
                "use sampled histories"
            )
        self.game = game
        if tree is None:
            tree = grow(game, max_nodes=MAX_ENUMERATED, history_bytes=SEARCH_BYTES)
        self.tree = tree
        if self.tree.states is None:
            raise ValueError("search: the tree must hold its states; grow it with keep_states=True")
        self.cutter = TreeCutter(self.tree)
        self._graphs: dict[int, KnowledgeGraph] = {}
        self._covers: dict[int, CoverMaker] = {}
        self._parents: dict[int, NDArray[np.int64]] = {}
        self._own_slots: dict[int, NDArray[np.int64]] = {}
        self._closure: tuple[int, NDArray[np.int64]] | None = None
        self._plans = np.empty((0, self.tree.n_slots))

    def plan_buffer(self, count: int) -> NDArray[np.float64]:
        """Return room for policies on the tree's slots, [count, slots] float64, shared by all searches.

        It holds whatever was written last: write what is read.
        """
        if len(self._plans) < count:
            self._plans = np.zeros((count, self.tree.n_slots))
        return self._plans[:count]

    def graph(self, player: int) -> KnowledgeGraph:
        """Return who can tell which histories apart where `player` acts; made on first use."""
        if player not in self._graphs:
            self._graphs[player] = knowledge_graph(self.game, self.tree, player)
        return self._graphs[player]

    def covers(self, player: int) -> CoverMaker:
        """Return what makes the covers of searches by `player`; made on first use.

        Raises GameError if the game's infoset keys are of imperfect recall.
        """
        if player not in self._covers:
            own, theirs = self.own_slot(player), self.own_slot(1 - player)
            self._covers[player] = CoverMaker(self.tree, self.graph(player), own, theirs)
        return self._covers[player]

    def closure(self, infoset: int) -> NDArray[np.int64]:
        """Return the common-knowledge closure of an infoset, rising positions in its player's graph."""
        graph = self.graph(int(self.tree.infoset_player[infoset]))
        if (
            self._closure is None
            or not np.isin(graph.of_infoset(infoset)[0], self._closure[1])
            or (self._closure[0] != graph.player)
        ):
            self._closure = graph.player, graph.order(infoset, None)
        return self._closure[1]

    def infoset_number(self, infoset: Infoset | int) -> int:
        """Return the number of an infoset in the tree.

        Raises ValueError if it is not a decision infoset of this game.
        """
        if not isinstance(infoset, Infoset):
            if not 0 <= infoset < self.tree.n_infosets:
                raise ValueError(f"infoset must be in [0, {self.tree.n_infosets}); got {infoset}")
            return int(infoset)
        key = np.array(infoset.key, np.uint64)
        found = np.flatnonzero(
            (self.tree.infoset_player == infoset.player) & np.all(self.tree.infoset_key == key, axis=1)
        )
        if len(found) == 0:
            raise ValueError(
                f"{self.game.name}: player {infoset.player} must have a decision at the infoset; "
                f"got {infoset.text!r}; list them with `gs2 infosets`"
            )
        return int(found[0])

    def knowledge(self, infoset: Infoset | int, max_order: int | None = None) -> KnowledgeReport:
        """Return the sizes of an infoset's knowledge sets, order by order."""
        number = self.infoset_number(infoset)
        graph = self.graph(int(self.tree.infoset_player[number]))
        return knowledge_report(
            self.game, self.tree, number, graph=graph, sizes=self.cutter.sizes, max_order=max_order
        )

    def nodes_below(self, nodes: NDArray) -> int:
        """Return how many nodes stand at and below some histories, none below another."""
        return int(self.cutter.sizes[nodes].sum())

    def slots_of(self, infoset: int) -> NDArray[np.int64]:
        """Return the slots of an infoset's actions, [a] int64."""
        return np.arange(*self.tree.infoset_offset[infoset : infoset + 2])

    def infoset_text(self, infoset: int) -> str:
        """Return the words that name an infoset of the tree."""
        assert self.tree.states is not None
        node = self.tree.infoset_first_node()[infoset]
        return self.game.infoset_text(self.tree.states[node], int(self.tree.infoset_player[infoset]))

    def parent_slot(self, player: int) -> NDArray[np.int64]:
        """Return the player's own slot before each of its infosets, [I] int64; -1 if there is none."""
        if player not in self._parents:
            self._parents[player] = infoset_parent_slot(self.tree, player)
        return self._parents[player]

    def own_slot(self, player: int) -> NDArray[np.int64]:
        """Return the last slot that the player chose above each node, [N] int64; -1 if there is none."""
        if player not in self._own_slots:
            tree = self.tree
            child = tree.child_slot()
            last = np.full(tree.n_nodes, -1, np.int64)
            for start, end in pairwise(tree.level_offsets[1:]):
                above = tree.parent[start:end]
                own = tree.player[above] == player
                last[start:end] = np.where(own, child[start:end], last[above])
            self._own_slots[player] = last
        return self._own_slots[player]

    @cached_property
    def slot_infoset(self) -> NDArray[np.int64]:
        """Infoset of each slot, [slots] int64."""
        return np.repeat(np.arange(self.tree.n_infosets), np.diff(self.tree.infoset_offset))

    @cached_property
    def infoset_level(self) -> NDArray[np.int64]:
        """Depth of the shallowest history of each infoset, [I] int64."""
        first = self.tree.infoset_first_node()
        return np.searchsorted(self.tree.level_offsets, first, side="right") - 1


@dataclass(eq=False)
class OpponentValues:
    """Counterfactual best-response values of one seat, weighted by the others' reach.

    infoset, reach: [I] float64, nan at the infosets of others. slot: [slots] float64. root: of the game.
    """

    infoset: NDArray[np.float64]
    slot: NDArray[np.float64]
    reach: NDArray[np.float64]
    root: float


class Profile:
    """A strategy for both players on the full tree, changed piece by piece, and what follows from it.

    policy: [slots] float64; change it through `update` only.
    start: where many searches change one level of the game one after another, the strategies before the
        first of them; None where none did.
    blueprint: where action values and history values come from, if not from the tree.
    """

    def __init__(
        self, tree: FlatTree, policy: NDArray[np.float64], blueprint: Blueprint | None = None
    ) -> None:
        """Take a strategy on the slots of a tree, and the blueprint that it came from, if any."""
        self.tree = tree
        self.policy = check_policy(tree, policy).copy()
        self.start: Profile | None = None
        self.blueprint = blueprint
        self._reach: Reach | None = None
        self._values: NDArray[np.float64] | None = None
        self._best: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._gifts: dict[int, NDArray[np.float64]] = {}
        self._opponent: dict[int, OpponentValues] = {}
        self._continuations: dict[tuple[int, int], NDArray[np.float64]] = {}

    def copy(self) -> Profile:
        """Return a profile of its own with the same strategies, which shares what was derived from them."""
        twin = Profile.__new__(Profile)
        twin.__dict__.update(self.__dict__)
        twin.policy = self.policy.copy()
        twin._best, twin._gifts = dict(self._best), dict(self._gifts)
        twin._continuations = dict(self._continuations)
        # These are adjusted in place.
        twin._opponent = {
            seat: replace(best, infoset=best.infoset.copy(), slot=best.slot.copy())
            for seat, best in self._opponent.items()
        }
        return twin

    def update(
        self, slots: NDArray[np.int64], probs: NDArray[np.float64], *, reach_kept: bool = False
    ) -> None:
        """Change the probabilities of some slots; what was derived is derived again when asked for.

        reach_kept: keep the reach as it is, for a caller that will only ask for it at or above the changed
            infosets, where it does not change. `opponent_values` are kept too: see `adjust`.
        """
        self.policy[slots] = probs
        self._values = None
        if not reach_kept:
            self._reach = None
            self._opponent = {}
        self._best, self._gifts, self._continuations = {}, {}, {}

    @property
    def reach(self) -> Reach:
        """Reach of each node of the tree."""
        if self._reach is None:
            self._reach = reach(self.tree, self.policy)
        return self._reach

    @property
    def values(self) -> NDArray[np.float64]:
        """Expected payoffs at each node, [N, P] float64."""
        if self._values is None:
            self._values = node_values(self.tree, self.policy)
        return self._values

    def exact_leaf(self, nodes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the payoffs expected at nodes of the tree under this strategy, [n, P] float64."""
        return self.values[nodes]

    def opponent_values(self, seat: int) -> OpponentValues:
        """Return the counterfactual best-response values of `seat` against the others' strategy."""
        if seat not in self._opponent:
            best = counterfactual_values(self.tree, self.policy, seat, best_response=True)
            nodes, others = best_response_node_values(self.tree, self.policy, seat)
            roots = self.tree.n_roots
            root = float(nodes[:roots] @ others[:roots])
            self._opponent[seat] = OpponentValues(best.infoset, best.slot, best.reach, root)
        return self._opponent[seat]

    def adjust(
        self,
        context: SearchContext,
        seat: int,
        slots: NDArray[np.int64],
        gains: NDArray[np.float64],
    ) -> None:
        """Take note that what follows some slots of `seat` became worth more, weighted by the others' reach.

        slots: [n] int64, -1 for the start of the game. gains: [n] float64. Values above are brought up to
        date, values below are not.
        """
        if seat not in self._opponent:
            return
        best = self._opponent[seat]
        parents = context.parent_slot(seat)
        waiting: dict[int, float] = {}
        for slot, gain in zip(slots.tolist(), gains.tolist(), strict=True):
            waiting[slot] = waiting.get(slot, 0.0) + gain
        # Infosets are numbered ancestors first, so the highest slot has nothing waiting below it.
        while waiting:
            slot = max(waiting)
            gain = waiting.pop(slot)
            if gain == 0.0:
                continue
            if slot < 0:
                best.root += gain
                continue
            best.slot[slot] += gain
            infoset = int(context.slot_infoset[slot])
            # Other slots of the same infoset may wait too; take them together.
            start, end = self.tree.infoset_offset[infoset : infoset + 2]
            for other in range(start, end):
                best.slot[other] += waiting.pop(other, 0.0)
            now = float(best.slot[start:end].max())
            above = int(parents[infoset])
            waiting[above] = waiting.get(above, 0.0) + now - best.infoset[infoset]
            best.infoset[infoset] = now

    def take_over(
        self,
        context: SearchContext,
        player: int,
        slots: NDArray[np.int64],
        probs: NDArray[np.float64],
        certified: Certified | None,
    ) -> None:
        """Change the player's strategy to what a search found.

        Where the opponent notices every turn, searches of one depth do not change each other's reach; what
        is derived is then kept and brought up to date by what the certificate found.
        """
        kept = context.covers(player).turns_are_noticed
        self.update(slots, probs, reach_kept=kept)
        if kept and certified is not None:
            self._take_note(context, certified)

    def _take_note(self, context: SearchContext, certified: Certified) -> None:
        """Bring `opponent_values` up to date after a change whose effect a certificate found."""
        considered = certified.considered
        known = np.isfinite(certified.after)
        mass = np.bincount(considered.group, considered.reach)
        first = np.searchsorted(considered.group, np.arange(len(mass)))
        slot = context.own_slot(considered.opponent)[considered.nodes[first]]
        gain = mass * (certified.after - certified.before)
        self.adjust(context, considered.opponent, slot[known], gain[known])

    def gifts(self, seat: int) -> NDArray[np.float64]:
        """Return what `seat` has given away on the way to each node by not best-responding, [N] float64.

        In payoffs, per unit of the others' reach: summed over its own actions above the node, the value of
        the infoset less that of the action. Given to all histories below alike, which shares a gift among
        subgames in proportion to that reach and keeps refining all of them safe.
        Source: Brown and Sandholm 2017.
        """
        if seat not in self._gifts:
            best = counterfactual_values(self.tree, self.policy, seat, best_response=True)
            counts = np.diff(self.tree.infoset_offset)
            lost = np.repeat(best.infoset, counts) - best.slot
            mass = np.repeat(best.reach, counts)
            per_slot = np.divide(lost, mass, out=np.zeros_like(lost), where=mass > 0)
            out = np.zeros(self.tree.n_nodes)
            slot = self.tree.child_slot()
            levels = self.tree.level_offsets
            for start, end in pairwise(levels[1:]):
                above = self.tree.parent[start:end]
                own = self.tree.player[above] == seat
                out[start:end] = out[above]
                out[start:end][own] += per_slot[slot[start:end][own]]
            self._gifts[seat] = out
        return self._gifts[seat]

    def known_blueprint(self, context: SearchContext) -> Blueprint:
        """Return the blueprint that the strategy came from, or one made of the strategy itself."""
        if self.blueprint is None:
            self.blueprint = tabulate(context.game, self.tree, self.policy)
        return self.blueprint

    def continuations(self, opponent: int, count: int) -> NDArray[np.float64]:
        """Return `continuation_values` on the whole tree, [count, N, P] float64."""
        name = (opponent, count)
        if name not in self._continuations:
            self._continuations[name] = continuation_values(self.tree, self.policy, opponent, count)
        return self._continuations[name]

    def prepare(self, seat: int) -> None:
        """Compute the best response of `seat` on the whole tree once, so that many searches can share it."""
        if seat not in self._best:
            self._best[seat] = best_response_node_values(self.tree, self.policy, seat)

    def best_response(self, seat: int) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return what `prepare` computed for `seat`, or None if the strategy has changed since."""
        return self._best.get(seat)
