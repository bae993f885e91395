"""The policy of both players on a public tree as a Blueprint, with exact values; and that of a solver.

A policy gives probabilities by node, by infoset, or at histories. Its numbers may lie in a file
(`cfr.public.policies.policy_file`), of which only the pages of what is looked up are read.

Values, at any history and against best responses, are counterfactual sums of a sweep below a node, divided by
the chance and the reach with which the other may be there. Those of a node are kept, for a search asks again
and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.simd import unpacked
from cfr.public.array_file import ArrayFile, ArrayFileError
from cfr.public.public_solver import PublicSolver
from cfr.public.sweeper import VALUE, Evaluation, PolicySweeper, Rules, SideArrays
from cfr.public.tree import PublicTree, PublicTreeError, padded, past_forced, path_to, require_public_tree
from games.game import CHANCE, TERMINAL, Game, GameError, Infoset
from games.infosets.factored import FactoredGame
from games.infosets.histories import follow_lines
from games.infosets.sampling import sample_infoset
from games.ragged import Ragged
from games.support.array_types import Array
from games.support.kernel import kernel
from games.support.splitmix import STEP, mixed_bits

SALTS = 8
"""Sets of hashes that are tried."""
AT_ONCE = 1024
"""Histories whose private states are looked for at once."""


@dataclass(frozen=True, eq=False)
class StateIndex:
    """Nodes by the hash of their public state.

    A tree keeps no states: a hash of 64 bits and a number of 32 for each node take their place. Hashes of one
    tree are all different, which is made sure of by drawing others until they are. A state that is no node is
    taken for one in 1 of 2^64 / nodes cases.

    hashes: [n] uint64, rising. nodes: [n] int32, whose each is. salt: what the hashes begin with.
    """

    hashes: NDArray[np.uint64]
    nodes: NDArray[np.int32]
    salt: int

    def find(self, states: Array) -> NDArray[np.int64]:
        """Return the nodes of public states, [n] int64; -1 for one that is none."""
        wanted = _hashes(states, self.salt)
        at = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        return np.where(self.hashes[at] == wanted, self.nodes[at].astype(np.int64), -1)


def index_states(tree: PublicTree) -> StateIndex:
    """Return the index of a whole game's public tree, by walking through the game once.

    Raises GameError if the tree is another one than the game's, or public states are not all different.
    """
    for salt in range(SALTS):
        hashes = _walk(tree, salt)
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        hashes = hashes[order]
        if not (hashes[1:] == hashes[:-1]).any():
            return StateIndex(hashes, order, salt)
    raise GameError(
        f"{tree.game.name}: public states must be different wherever players saw or did different things; "
        "two are the same; see games.infosets.factored"
    )


def private_numbers(game: FactoredGame, public: Array, states: Array, player: int) -> NDArray[np.int64]:
    """Return which of its private states a player holds at each history, [n] int64; -1 if it is none.

    public: the public state of each of `states`.
    """
    out = np.full(len(states), -1, np.int64)
    for start in range(0, len(states), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        weights = game.deal_weights(public[part]) > 0
        own_last = weights if player == 1 else weights.swapaxes(1, 2)
        # With any private state of the other that goes with it: the key tells nothing of that.
        at, own = np.nonzero(own_last.any(axis=1))
        other = own_last.argmax(axis=1)[at, own]
        dealt = game.deal(public[part][at], *((own, other) if player == 0 else (other, own)))
        keys = game.infoset_key(states[part], player)
        same = np.flatnonzero((game.infoset_key(dealt, player) == keys[at]).all(axis=1))
        out[start + at[same]] = own[same]
    return out


def one_history(game: FactoredGame, infoset: Infoset) -> tuple[Array, Array]:
    """Return the actions of one history of an infoset, from the root, and its state, a batch of one."""
    rng, own = np.random.default_rng(0), getattr(game, "sample_histories", None)
    lines: Ragged = sample_infoset(game, infoset, 1, rng).lines if own is None else own(infoset, 1, rng)
    line = lines[0]
    return line, follow_lines(game, Ragged.from_counts(np.array([len(line)]), line))[0]


def way_on(tree: PublicTree, line: Array) -> list[tuple[int, int]]:
    """Return the (node, edge) pairs on a public tree along the actions of a history, from the root."""
    game, one = tree.game, np.zeros(1, np.int64)
    state, dealt = game.root(), 0
    while dealt < len(line) and game.player(state)[0] == CHANCE:
        state = game.step(state, one, line[dealt : dealt + 1])
        dealt += 1
    public, node, found = game.public_root(), 0, []
    for action in line[dealt:]:
        legal = game.actions(public).values
        same = [bool(np.all(other == action)) for other in legal].index(True)
        if len(legal) > 1:
            edge = int(tree.first_edge[node]) + same
            found.append((node, edge))
            node = int(tree.child[edge])
        public = game.step(public, one, legal[same : same + 1])
    return found


def _levels(
    tree: PublicTree,
) -> Iterator[tuple[NDArray[np.int64], Array, Ragged, NDArray[np.int64]]]:
    """Yield (nodes, their public states, these states' actions, the edge of each action), level by level.

    Walks through the whole game.
    """
    game = tree.game
    nodes, states = np.zeros(1, np.int64), past_forced(game, game.public_root())
    while len(nodes):
        actions = game.actions(states)
        edges = tree.first_edge[nodes][actions.rows] + np.arange(len(actions.values))
        edges -= actions.offsets[actions.rows]
        yield nodes, states, actions, edges
        on = np.flatnonzero(tree.child[edges] >= 0)
        states = past_forced(game, game.step(states, actions.rows[on], actions.values[on]))
        nodes = tree.child[edges[on]].astype(np.int64)


def ends_ahead(tree: PublicTree) -> dict[bytes, tuple[int, int]]:
    """Return the public states from which forced moves lead to an end, each with the edge that leads there.

    By their bytes: (the last node before, the edge taken there).
    """
    game, found = tree.game, {}
    for nodes, states, actions, edges in _levels(tree):
        over = np.flatnonzero(tree.child[edges] < 0)
        state = game.step(states, actions.rows[over], actions.values[over])
        while len(over):
            going = np.flatnonzero(game.player(state) != TERMINAL)
            over, state = over[going], state[going]
            for row, one in zip(over.tolist(), state, strict=True):
                found[one.tobytes()] = int(nodes[actions.rows[row]]), int(edges[row])
            state = game.step(state, np.arange(len(state)), game.actions(state).values)
    return found


def _walk(tree: PublicTree, salt: int) -> NDArray[np.uint64]:
    """Return the hash of every node's public state, [nodes] uint64."""
    game, hashes, met = tree.game, np.zeros(len(tree), np.uint64), 0
    for nodes, states, actions, _ in _levels(tree):
        met += len(nodes)
        hashes[nodes] = _hashes(states, salt)
        same = np.array_equal(tree.first_edge[nodes + 1] - tree.first_edge[nodes], actions.counts)
        if not same or not np.array_equal(tree.player[nodes], game.player(states)):
            met = -1
            break
    if met != len(tree):
        raise GameError(f"{game.name}: the tree must be the game's whole public tree; it is another one")
    return hashes


def _hashes(states: Array, salt: int) -> NDArray[np.uint64]:
    """Return a hash of each state, [n] uint64: SplitMix64 of its words."""
    parts = np.concatenate(_bytes_of(states), axis=1)
    width = -(-parts.shape[1] // 8) * 8
    padded = np.zeros((len(parts), width), np.uint8)
    padded[:, : parts.shape[1]] = parts
    found: NDArray[np.uint64] = np.full(len(parts), salt + 1, np.uint64) * STEP
    for word in padded.view("<u8").T:
        found = mixed_bits((found ^ word) + STEP)
    return found


def _bytes_of(values: Array) -> list[NDArray[np.uint8]]:
    """Return rows of anything as rows of bytes, in parts [n, bytes]; what pads a record is left out."""
    if values.dtype.names:
        return [part for name in values.dtype.names for part in _bytes_of(values[name])]
    width = values.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
    return [np.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(len(values), width)]


class PublicPolicyError(ValueError):
    """A policy on a public tree, or its file, that does not fit: the rule, what was received, what to do."""


class PublicPolicy:
    """The policy of both players on the whole public tree of a factored game; a Blueprint.

    tree: the public tree. rows: of each player, [rows, private states], numbers in proportion to which it
    acts. name: what it is called in results. note: how it was made, in words.
    """

    def __init__(
        self,
        tree: PublicTree,
        rows: tuple[NDArray[Any], NDArray[Any]],
        index: StateIndex | None = None,
        *,
        name: str = "public",
        note: str = "",
        file: ArrayFile | None = None,
    ) -> None:
        for player in (0, 1):
            wanted = tree.n_rows[player], tree.n_private[player]
            if rows[player].shape != wanted:
                raise PublicPolicyError(
                    f"{tree.game.name}: player {player} must have {wanted} (rows, private states); got "
                    f"{rows[player].shape}"
                )
        self.tree, self.rows = tree, rows
        self.name, self.note, self.file = name, note, file
        self._index = index
        self._tree_is_known = False

    @property
    def index(self) -> StateIndex:
        """Return which node each public state is; made on first use, by walking through the game once."""
        if self._index is None:
            self._index = index_states(self.tree)
        return self._index

    @classmethod
    def of(cls, solver: PublicSolver, *, current: bool = False) -> PublicPolicy:
        """Return a solver's average policy, or that of its last iteration, in memory, float64."""
        tree = solver.tree
        rows = []
        for player in (0, 1):
            none = np.zeros((0, tree.n_private[player]))  # of one who never decides
            rows.append(np.concatenate([none, *policy_rows(solver, player, current=current)]))
        note = f"{solver.variant.name}, {solver.iteration} iterations"
        return cls(tree, (rows[0], rows[1]), note=note)

    def below(self, node: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return both players' probabilities below a node, [rows, padded private states] float64, in memory.

        By the rows of `tree.below(node)`, in the layout of a solver's arrays; padding is 0.
        """
        found = []
        for player in (0, 1):
            rows, n = self.tree.rows_below(node, player), self.tree.n_private[player]
            out = np.zeros((rows.stop - rows.start, padded(n)))
            at = 0
            for part in self.values.normalised(player, node):
                out[at : at + len(part), :n] = part
                at += len(part)
            found.append(out)
        return found[0], found[1]

    def reach(self, node: int, player: int) -> NDArray[np.float64]:
        """Return the probability with which a player's own actions lead to a node, [its private states]."""
        self.check_tree()
        found = np.ones(self.tree.n_private[player])
        for at, edge in path_to(self.tree, node):
            if self.tree.player[at] == player:
                found = found * self.probs(at)[:, edge - int(self.tree.first_edge[at])]
        return found

    def spliced(
        self, node: int, player: int, probs: NDArray[np.float64], private: NDArray[np.bool_]
    ) -> PublicPolicy:
        """Return the policy with one player's below a node replaced for some of its private states.

        In memory. probs: [rows below the node, private states or more]. private: [its private states] bool.
        """
        changed, lanes = np.array(self.rows[player], np.float64), np.flatnonzero(private)
        rows = self.tree.rows_below(node, player)
        changed[rows.start : rows.stop, lanes] = probs[:, lanes]
        pair = (changed, self.rows[1]) if player == 0 else (self.rows[0], changed)
        return PublicPolicy(self.tree, pair, self._index)

    def q(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the value to `player` of each action, [m] float64, when both go on by the policy.

        Exact, given what the player knows; where the policy would not get, the other may hold anything.
        """
        self.require_game(game)
        return self.values.of_actions(states, player, actions)

    def value(self, game: Game, states: Array, player: int) -> NDArray[np.float64]:
        """Return the value to `player` of each history after the dealing, [n] float64, whoever is to act."""
        self.require_game(game)
        return self.values.of_states(states, player)

    @cached_property
    def values(self) -> PolicyValues:
        """Return what values nodes by sweeping the tree below them."""
        self.check_tree()
        return PolicyValues(self)

    @property
    def game(self) -> FactoredGame:
        """Return the game whose policy it is."""
        return self.tree.game

    @property
    def bits(self) -> int:
        """Return the bits that a probability takes."""
        return 8 * self.rows[0].itemsize

    def at(self, states: Array) -> NDArray[np.int64]:
        """Return the nodes of histories or public states at which somebody has a choice, [n] int64.

        Raises PublicPolicyError for one at which nobody has, or of another game's.
        """
        nodes = self.index.find(self.game.public_state(states))
        if (nodes >= len(self.tree)).any():
            raise self.damaged()
        if (nodes < 0).any():
            state = states[int(np.argmax(nodes < 0))]
            raise PublicPolicyError(
                f"{self.game.name}: a state must be a decision after the deal; got "
                f"{self.game.state_text(state)!r}; is the policy of this game?"
            )
        return nodes

    def probs(self, node: int) -> NDArray[np.float64]:
        """Return the probability of each action at a node for each private state, [private, actions] float64.

        Raises PublicPolicyError where chance decides, or if there is no such node.
        """
        if not 0 <= node < len(self.tree) or self.tree.player[node] == CHANCE:
            raise PublicPolicyError(f"a node must be in [0, {len(self.tree)}) and a player's; got {node}")
        player = int(self.tree.player[node])
        first, n = int(self.tree.row[node]), int(self.tree.first_edge[node + 1] - self.tree.first_edge[node])
        if not 0 <= first <= len(self.rows[player]) - n:
            raise self.damaged()
        numbers = np.array(self.rows[player][first : first + n], np.float64)
        mass = numbers.sum(axis=0)
        self._require_sound(numbers, mass)
        found: NDArray[np.float64] = (numbers / mass).T
        return found

    def infoset(self, infoset: Infoset | str) -> NDArray[np.float64]:
        """Return the probabilities at an infoset, [actions] float64 in the game's order.

        infoset: with its key, or its name. Raises GameError for an unknown name, PublicPolicyError for one at
        which its player does not decide.
        """
        game = self.game
        asked = game.parse_infoset(infoset) if isinstance(infoset, str) else infoset
        states = self.history(asked)
        if game.player(states)[0] != asked.player:
            raise PublicPolicyError(f"{game.name}: player {asked.player} must decide at {asked.text!r}")
        return self.policy(game, states, asked.player, game.actions(states))

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each action, [m] float64, all legal actions in the game's order.

        Raises PublicPolicyError for another game, states of another player, or other actions.
        """
        self.require_game(game)
        out = np.ones(len(actions.values))
        choice = np.flatnonzero(actions.counts != 1)
        if not len(choice):
            return out
        tree, picked = self.tree, actions.take(choice)
        nodes, own = self.located(states[choice], player)
        first = tree.first_edge[nodes]
        if (tree.player[nodes] != player).any() or not np.array_equal(
            tree.first_edge[nodes + 1] - first, picked.counts
        ):
            raise PublicPolicyError(
                f"{game.name}: actions must be all legal ones where player {player} acts, in the game's order"
            )
        rows = picked.rows
        within = np.arange(len(rows)) - picked.offsets[:-1][rows]
        try:
            numbers = self.rows[player][tree.row[nodes][rows] + within, own[rows]].astype(np.float64)
        except IndexError:
            raise self.damaged() from None
        mass = np.bincount(rows, numbers, len(picked)).astype(np.float64)
        self._require_sound(numbers, mass)
        out[(actions.counts != 1)[actions.rows]] = numbers / mass[rows]
        return out

    def check(self, names: Iterable[str] | None = None) -> None:
        """Raise PublicPolicyError if the checksums of its file's arrays, or some of them, are wrong."""
        try:
            if self.file is not None:
                self.file.check(names)
        except ArrayFileError as error:
            raise PublicPolicyError(str(error)) from None

    def check_tree(self) -> None:
        """Raise PublicPolicyError unless the tree can be swept; every sweep asks first.

        All of it is read the first time, without the probabilities: their checksums are for `check`.
        """
        if self._tree_is_known:
            return
        if self.file is not None:
            self.check(name for name in self.file.names if not name.startswith("probs"))
        try:
            require_public_tree(self.tree)
        except PublicTreeError as error:
            raise PublicPolicyError(
                f"{self.name}: its tree is damaged: {error}; make it again with `gs2 blueprint`"
            ) from None
        if self.file is not None:
            self.file.let_go()
        self._tree_is_known = True

    def located(self, states: Array, player: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (node, private state that `player` holds) of histories, [n] int64 each.

        Raises PublicPolicyError as `at`.
        """
        return self.at(states), self.held(self.game.public_state(states), states, player)

    def held(self, public: Array, states: Array, player: int) -> NDArray[np.int64]:
        """Return the private state that a player holds at each history, [n] int64.

        public: their public states. Raises PublicPolicyError where it holds none, before the dealing is over.
        """
        own = private_numbers(self.game, public, states, player)
        if (own < 0).any():
            text = self.game.infoset_text(states[int(np.argmax(own < 0))], player)
            raise PublicPolicyError(f"{self.game.name}: the dealing must be over; got {text!r}")
        return own

    def history(self, infoset: Infoset) -> Array:
        """Return one history of an infoset, a batch of one."""
        return one_history(self.game, infoset)[1]

    def require_game(self, game: Game) -> None:
        """Raise PublicPolicyError unless this is the policy's game."""
        if game.name != self.game.name:
            raise PublicPolicyError(f"{self.name}: it is a policy of {self.game.name}; got {game.name}")

    def _require_sound(self, numbers: NDArray[np.float64], mass: NDArray[np.float64]) -> None:
        if not (np.isfinite(mass).all() and (mass > 0).all() and (numbers >= 0).all()):
            raise self.damaged()

    def damaged(self) -> PublicPolicyError:
        """Return the error for numbers that no policy has."""
        return PublicPolicyError(f"{self.name}: the file is damaged; make it again with `gs2 blueprint`")


ROWS = 1 << 16
"""About so many rows are read or made at once."""
KEPT = 1 << 16
"""Values that are kept, of a node each."""
LARGE = 1 << 24
"""Probabilities above which a sweep is done in float32."""

Floats = NDArray[np.float64]


def evaluate_policy(policy: PublicPolicy, *, threads: int = 1) -> Evaluation:
    """Return what a policy is worth, and what best responses win against it.

    threads: that sweep at once.
    Raises PublicPolicyError if the policy's file is damaged: all of it is read.
    """
    policy.check_tree()
    policy.check(("probs0", "probs1"))
    sweeper, numbers = _swept(policy, 0, threads)
    try:
        return sweeper.worth(numbers)
    finally:
        sweeper.close()


class PolicyValues:
    """Values of a policy at the nodes of its tree, each computed when it is first asked for."""

    def __init__(self, policy: PublicPolicy) -> None:
        self._policy, self._tree = policy, policy.tree
        self._known: dict[tuple[str, int, int], Floats] = {}
        self._ends: dict[bytes, tuple[int, int]] | None = None

    def normalised(self, player: int, node: int = 0) -> Iterator[Floats]:
        """Yield a player's probabilities below a node, by its rows: [rows of some nodes, private] float64."""
        rows, base = self._policy.rows[player], self._tree.rows_below(node, player).start
        for _, counts, first, end in _pieces(self._tree, player, node):
            part = np.array(rows[base + first : base + end], np.float64)
            mass = np.add.reduceat(part, np.cumsum(counts) - counts, axis=0)
            yield part / np.repeat(mass, counts, axis=0)

    def of_states(self, states: Array, player: int) -> Floats:
        """Return the value to a player of histories after the dealing, [n] float64."""
        policy, game = self._policy, self._tree.game
        public = game.public_state(states)
        own = policy.held(public, states, player)
        policy.held(public, states, 1 - player)  # raises if the dealing is not over
        ahead = past_forced(game, public)
        nodes = policy.index.find(ahead)
        out = np.empty(len(states))
        for node in np.unique(nodes).tolist():
            rows = np.flatnonzero(nodes == node)
            if node >= 0:
                out[rows] = self._kept(self._at, node, player, ahead[rows[:1]])[own[rows], 0]
                continue
            for row in rows.tolist():  # nobody has a choice any more
                out[row] = self._at_end(ahead[[row]], states[[row]], player)[own[row], 0]
        return out

    def of_actions(self, states: Array, player: int, actions: Ragged) -> Floats:
        """Return the value to a player, who acts, of each action at histories, [m] float64."""
        out = np.empty(len(actions.values))
        forced = np.flatnonzero(actions.counts == 1)
        if len(forced):
            out[actions.offsets[:-1][forced]] = self.of_states(states[forced], player)
        choice = np.flatnonzero(actions.counts > 1)
        if not len(choice):
            return out
        nodes, own = self._policy.located(states[choice], player)
        public = self._tree.game.public_state(states[choice])
        for k, row in enumerate(choice.tolist()):
            found = self._kept(self.behind, int(nodes[k]), player, public[k : k + 1])
            out[actions.offsets[row] : actions.offsets[row + 1]] = found[own[k]]
        return out

    def _kept(
        self, make: Callable[[int, int, Array], Floats], node: int, player: int, public: Array
    ) -> Floats:
        """Return what was computed before, or is now."""
        name = make.__name__, node, player
        if name not in self._known:
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[name] = make(node, player, public)
        return self._known[name]

    def _at(self, node: int, player: int, public: Array) -> Floats:
        """Return the values of a node to a player's private states, [private, 1] float64."""
        reach = self._policy.reach(node, 1 - player)
        return self._means(public, player, reach, lambda part: self._below(node, player, part)[:, None])

    def behind(self, node: int, player: int, public: Array) -> Floats:
        """Return the values of the actions at the player's own node, [private, actions] float64."""
        tree = self._tree

        def numbers(reach: Floats) -> Floats:
            found = []
            for to in tree.child[int(tree.first_edge[node]) : int(tree.first_edge[node + 1])].tolist():
                if to >= 0:
                    found.append(self._below(to, player, reach))
                else:
                    found.append(tree.payoffs.values(-1 - to, player, reach))
            return np.stack(found, axis=1)

        return self._means(public, player, self._policy.reach(node, 1 - player), numbers)

    def _at_end(self, end: Array, state: Array, player: int) -> Floats:
        """Return the values of a history from which forced moves lead to an end, [private, 1] float64.

        end: the public state at which they do.
        """
        tree, game, policy = self._tree, self._tree.game, self._policy
        if game.player(end)[0] != TERMINAL:
            policy.at(end)  # raises, in words
        node, edge = self._before(state, player)
        reach = self._policy.reach(node, 1 - player)
        if tree.player[node] == 1 - player:
            reach = reach * policy.probs(node)[:, edge - int(tree.first_edge[node])]
        weights = game.deal_weights(end)[0]
        at = np.argwhere(weights > 0)
        dealt = game.deal(end[np.zeros(len(at), np.int64)], at[:, 0], at[:, 1])
        paid = np.zeros(weights.shape)
        paid[tuple(at.T)] = game.returns(dealt)[:, player] * weights[tuple(at.T)]
        paid = paid if player == 0 else paid.T
        public = game.public_state(state)
        return self._means(public, player, reach, lambda part: (paid @ part)[:, None])

    def _before(self, state: Array, player: int) -> tuple[int, int]:
        """Return the last node on the way to a history, and the edge that was taken there."""
        tree, game = self._tree, self._tree.game
        if not hasattr(game, "sample_histories"):
            if self._ends is None:
                self._ends = ends_ahead(tree)
            return self._ends[game.public_state(state).tobytes()]
        key = tuple(int(word) for word in game.infoset_key(state, player)[0])
        line, _ = one_history(game, Infoset(player, key, game.infoset_text(state[0], player)))
        way = way_on(tree, line)
        return way[-1] if way else (0, 0)

    def _means(
        self, public: Array, player: int, reach: Floats, numbers: Callable[[Floats], Floats]
    ) -> Floats:
        """Return numbers divided by how likely the other is there, [private, k] float64; else 0.

        reach: of the other, by the policy; where that does not go there, chance alone counts. numbers: of a
        reach, [private, k].
        """
        weights = self._tree.game.deal_weights(public)[0]
        weights = weights if player == 0 else weights.T
        out: Floats | None = None
        left = np.ones(len(weights), bool)
        for part in (reach, np.ones(len(reach))):
            norm = weights @ part
            now = left & (norm > 0)
            if now.any() or out is None:
                found = numbers(part)
                out = np.zeros(found.shape) if out is None else out
                out[now] = found[now] / norm[now, None]
            left &= ~now
        assert out is not None
        return out

    def _below(self, node: int, player: int, reach: Floats) -> Floats:
        """Return a sweep's values at a node, [private] float64."""
        sweeper, numbers = _swept(self._policy, node, 1)
        return sweeper.values(player, VALUE, numbers, reach)


def _swept(policy: PublicPolicy, node: int, threads: int) -> tuple[PolicySweeper, Any]:
    """Return what sweeps the tree below a node, and both players' numbers there."""
    tree = policy.tree
    below = tree.below(node)
    dtype: Any = np.float32 if below.n_slots > LARGE else np.float64
    sweeper, found = PolicySweeper(below, dtype, threads), []
    for player in (0, 1):
        first, n = tree.rows_below(node, player).start, tree.n_private[player]
        out = np.zeros((below.n_rows[player], sweeper.wide[player]), dtype)
        for start in range(0, len(out), ROWS):
            part = out[start : start + ROWS]
            numbers = policy.rows[player][first + start : first + start + len(part)]
            if not (numbers.min() >= 0 and numbers.max() < np.inf):
                raise policy.damaged()
            part[:, :n] = numbers
        found.append(out)
    return sweeper, found


def _pieces(
    tree: PublicTree, player: int, node: int = 0
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], int, int]]:
    """Yield a player's nodes below a node in pieces: (nodes, their actions, first row, the row behind)."""
    own = np.flatnonzero(tree.player[node : node + int(tree.size[node])] == player) + node
    counts = tree.first_edge[own + 1] - tree.first_edge[own]
    ends = np.cumsum(counts)
    start = 0
    while start < len(own):
        first = int(ends[start] - counts[start])
        stop = max(start + 1, int(np.searchsorted(ends, first + ROWS, side="right")))
        yield own[start:stop], counts[start:stop], first, int(ends[stop - 1])
        start = stop


def policy_rows(solver: PublicSolver, player: int, *, current: bool = False) -> Iterator[NDArray[np.float64]]:
    """Yield a player's average policy by `learnt_rows`, or with `current` that of the last iteration."""
    learnt = solver.sides[player], solver.rules(), solver.iteration
    return learnt_rows(solver.tree, player, *learnt, current=current)


def learnt_rows(
    tree: PublicTree, player: int, side: SideArrays, rules: Rules, done: int, *, current: bool = False
) -> Iterator[NDArray[np.float64]]:
    """Yield a policy in the order of its rows, [rows of some nodes, private states] float64.

    It is what the kernels of the sweep play: the average policy, and the current one where a private state
    never came to its decision. side, rules: of the player after `done` iterations.
    """
    regret, prediction, sums, stamp, *_, wide, n = side
    _, predictive, noise, discount = rules
    rule = (current, predictive and done > 0, noise, float(discount[done, 0]), float(discount[done, 1]), done)
    for own, counts, first, end in _pieces(tree, player):
        out = np.empty((end - first, n))
        part = slice(first * wide, end * wide)
        numbers = (*(unpacked(array, part) for array in (regret, prediction, sums)), stamp)
        _match_rows((own, counts, wide), numbers, rule, out)
        yield out


@kernel(nogil=True)
def _match_rows(nodes: Any, numbers: Any, rule: Any, out: NDArray[np.float64]) -> None:
    """Fill `out` with the policy at some nodes of one player.

    nodes: (their numbers, their numbers of actions, numbers in a row).
    """
    node, counts, wide = nodes
    regret, prediction, sums, stamp = numbers
    current, predictive, noise, positive, negative, last = rule
    at = row = 0
    for k in range(len(node)):
        count = counts[k]
        expectant = predictive and stamp[node[k]] == last
        for i in range(out.shape[1]):
            first = row * wide + i
            mass = 0.0
            if not current:
                for a in range(count):
                    out[at + a, i] = sums[first + a * wide]
                    mass += out[at + a, i]
            if mass <= 0:
                for a in range(count):
                    number = np.float64(regret[first + a * wide])
                    if expectant:
                        factor = positive if number > 0 else negative
                        number = number * factor + prediction[first + a * wide]
                    out[at + a, i] = number if number > noise else 0.0
                    mass += out[at + a, i]
            for a in range(count):
                out[at + a, i] = out[at + a, i] / mass if mass > 0 else 1.0 / count
        at += count
        row += count
