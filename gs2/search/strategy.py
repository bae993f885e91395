"""A strategy of both players on the full tree, and everything that follows from it.

There is one road: game -> tree -> Strategy -> refine -> policy. `SearchContext` grows the tree,
`SearchContext.strategy` takes a strategy of any shape, searches change it piece by piece, and
`refine_both(...).strategy` is what comes out. The shapes, and what each is for:

probabilities on slots, [slots]    what solvers return and `policy_from_spec` reads; `Strategy.probs`.
cfr.Policy                         by infoset key, for files and other trees; `Strategy.to_policy`.
Blueprint                          by state, with values; networks, or `tabulate` of the probabilities.
Strategy                           on one tree, with everything that searches derive from it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from cfr.best_response import CounterfactualValues, counterfactual_values
from cfr.policies.policy import Policy, tabular_policy
from cfr.tree import FlatTree, require_states
from cfr.values import Reach, best_responses, check_policy, node_values, reach
from games.game import Game
from games.ragged import ranges
from gs2.policies.tabulate import tabulate
from gs2.search.continuation_policies import Continuation
from gs2.search.subgame.continuations import continuation_values, exact_continuation_payoffs
from gs2.search.subgame.cut import root_numbers

NOTHING_KNOWN: Mapping[int, CounterfactualValues] = {}


@dataclass(eq=False)
class _Derived:
    """The array behind a strategy, and what was derived from it so far.

    reach: right at nodes of lower numbers than `until`; elsewhere it may be that of an earlier strategy.
    """

    raw: NDArray[np.float64] | None = None
    reach: Reach | None = None
    until: int = 0
    kept: dict[Hashable, NDArray[np.float64]] = field(default_factory=dict)
    opponent: dict[int, CounterfactualValues] = field(default_factory=dict)
    answers: dict[Hashable, tuple[NDArray[np.bool_], Strategy]] = field(default_factory=dict)
    tabulated: Blueprint | None = None


@dataclass(frozen=True, eq=False)
class Strategy:
    """A strategy of every player on a tree; it never changes, and what follows from it is derived once.

    tree: of the whole game. probs: [slots] float64, action probabilities; a copy, read-only.
    blueprint: what values histories where a search asks `Blueprint.value`; None for the strategy itself.
    whole: seats whose alternative values searches take from their best response to the whole strategy, found
        once for all of them. Those of other seats are found below the histories of each search, unless these
        are much of the game.
    above: [roots, P] float64, how likely every player's own part leads to the roots of a tree that is only a
        part of the game (`gs2.search.histories.sampled_source`); None for 1.
    Raises ValueError unless there is one probability per slot.
    """

    tree: FlatTree
    probs: NDArray[np.float64]
    blueprint: Blueprint | None = None
    whole: frozenset[int] = frozenset()
    above: NDArray[np.float64] | None = None
    _derived: _Derived = field(default_factory=_Derived, repr=False)
    _origin: Strategy | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self._derived.raw is None:
            self._derived.raw = check_policy(self.tree, self.probs).copy()
        object.__setattr__(self, "probs", _read_only(self._derived.raw.view()))

    @property
    def raw(self) -> NDArray[np.float64]:
        """Return the array behind `probs`, [slots] float64, for compiled functions alone: never write to it.

        Numba compiles a function a second time for an array that is marked read-only.
        """
        assert self._derived.raw is not None  # since __post_init__
        return self._derived.raw

    def with_changes(
        self,
        slots: NDArray[np.int64],
        probs: NDArray[np.float64],
        opponent: Mapping[int, CounterfactualValues] = NOTHING_KNOWN,
    ) -> Strategy:
        """Return the strategy with other probabilities at some slots; itself where nothing is different.

        slots: [s] int64. probs: [s] float64.
        opponent: best-response values of a seat after the change, as far as they are known (`until`).
        What was derived from this one is shared where it still holds: the reach of nodes above the changes.
        """
        known = self._derived
        if np.array_equal(self.raw[slots], probs):
            if not opponent:
                return self
            return replace(self, _derived=replace(known, opponent={**known.opponent, **opponent}))
        changed = self.raw.copy()
        changed[slots] = probs
        until = min(known.until, self.first_below(slots))
        shared = _Derived(changed, known.reach if until else None, until, opponent=dict(opponent))
        origin = self if self._origin is None else self._origin
        return Strategy(self.tree, changed, self.blueprint, frozenset(), self.above, shared, origin)

    def with_best_response(self, seat: int) -> Strategy:
        """Return the same strategy, with a seat's best response to the whole of it shared by all searches."""
        return self if seat in self.whole else replace(self, whole=self.whole | {seat})

    def to_policy(self, game: str, note: str = "") -> Policy:
        """Return the strategy by infoset key, as it is saved and handed to other programs.

        game: the canonical name of the tree's game. note: how the strategy was made, in words.
        Raises PolicyError if probabilities do not sum to 1 at an infoset.
        """
        return tabular_policy(game, self.tree, self.probs, note)

    def answered(
        self, key: Hashable, infosets: NDArray[np.int64], answer: Callable[[int], NDArray[np.float64]]
    ) -> Strategy:
        """Return the strategy with answers to it at some infosets, and at others that were asked for before.

        key: of the answers, which are made once. infosets: rising, [i]. answer: the policy at an infoset.
        """
        known, found = self._derived.answers.get(key, (np.zeros(self.tree.n_infosets, bool), self))
        missing = infosets[~known[infosets]]
        if len(missing):
            offset = self.tree.infoset_offset
            policies = np.concatenate([answer(infoset) for infoset in missing.tolist()])
            known = known.copy()
            known[missing] = True
            found = found.with_changes(ranges(offset[missing], np.diff(offset)[missing]), policies)
            self._derived.answers[key] = known, found
        return found

    def first_below(self, slots: NDArray[np.int64]) -> int:
        """Return a number of nodes, all before the first that some slots, [s] int64, lead to."""
        first = int(self.tree.infoset_first_node()[self.tree.slot_infoset[slots]].min())
        return int(self.tree.first_child[first])

    @property
    def reach(self) -> Reach:
        """Return the reach of each node of the tree."""
        known = self._derived
        if known.reach is None or known.until < self.tree.n_nodes:
            made = reach(self.tree, self.raw)
            if self.above is not None:
                made = Reach(made.players * self.above[root_numbers(self.tree)], made.chance)
            known.reach = Reach(_read_only(made.players), _read_only(made.chance))
            known.until = self.tree.n_nodes
        return known.reach

    def reach_at(self, nodes: NDArray[np.int32]) -> Reach:
        """Return the reach of some nodes; of those above all recent changes without deriving it anew.

        nodes: [n] int32; the arrays of the result have n rows.
        """
        known = self._derived
        if known.reach is None or (len(nodes) and nodes.max() >= known.until):
            return self._rows(self.reach, nodes)
        return self._rows(known.reach, nodes)

    @staticmethod
    def _rows(whole: Reach, nodes: NDArray[np.int32]) -> Reach:
        return Reach(whole.players[nodes], whole.chance[nodes])

    def kept(self, name: Hashable, make: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return what is derived from the strategy under a name, made on first use and read-only.

        make: makes it, of any shape, such as [N] or [slots].
        """
        known = self._derived.kept
        if name not in known:
            known[name] = _read_only(make())
        return known[name]

    @property
    def values(self) -> NDArray[np.float64]:
        """Return the expected payoffs at each node, [N, P] float64."""
        return self.kept("values", lambda: node_values(self.tree, self.raw))

    @property
    def squares(self) -> NDArray[np.float64]:
        """Return the expected squares of the payoffs at each node, [N, P] float64."""
        return self.kept("squares", lambda: node_values(self.tree, self.raw, self.tree.returns**2))

    def exact_leaf(self, nodes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the payoffs expected at nodes of the tree under this strategy, [n, P] float64."""
        return self.values[nodes]

    def best_response(self, seat: int) -> NDArray[np.float64]:
        """Return the payoff to `seat` from each node when it best-responds to the whole strategy, [N]."""
        return self.kept(("best", seat), lambda: best_responses(self.tree, self.raw, seat)[0])

    def opponent_values(self, seat: int, nodes: NDArray[np.int32] | None = None) -> CounterfactualValues:
        """Return the counterfactual best-response values of `seat` against the others' strategy.

        nodes: [n] int32; those at the infosets above these nodes must hold; by default all.
        """
        tree = self.tree
        found = self.known_opponent_values(seat)
        until = None if found is None else found.until
        stale = until is not None and (nodes is None or bool(len(nodes) and nodes.max() >= until))
        if found is None or stale:
            best = counterfactual_values(tree, self.raw, seat, best_response=True)
            values, others, _ = best_responses(tree, self.raw, seat)
            found = replace(best, root=float(values[: tree.n_roots] @ others[: tree.n_roots]))
            self._derived.opponent[seat] = found
        return found

    def known_opponent_values(self, seat: int) -> CounterfactualValues | None:
        """Return `opponent_values` as far as they are known (see `CounterfactualValues.until`), or None."""
        return self._derived.opponent.get(seat)

    def continuations(self, opponent: int, count: int) -> NDArray[np.float64]:
        """Return `continuation_values` on the whole tree, [count, N, P] float64."""
        name = "continuations", opponent, count
        return self.kept(name, lambda: continuation_values(self.tree, self.raw, opponent, count))

    def choices(self, game: Game, continuations: tuple[tuple[Continuation, ...], ...]) -> NDArray[np.float64]:
        """Return `exact_continuation_payoffs` on the whole tree, [K0, …, N, P] float64."""
        name = "choices", continuations
        return self.kept(name, lambda: exact_continuation_payoffs(game, self.tree, self.raw, continuations))

    def known_blueprint(self, game: Game) -> Blueprint:
        """Return the blueprint that values histories: the one given, or one made of the strategy itself.

        After changes, of the strategy before the first of them.
        """
        if self.blueprint is not None:
            return self.blueprint
        if self._origin is not None:
            return self._origin.known_blueprint(game)
        if self._derived.tabulated is None:
            self._derived.tabulated = tabulate(game, require_states(self.tree, "search"), self.raw)
        return self._derived.tabulated


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, which nobody may write to from now on."""
    array.flags.writeable = False
    return array
