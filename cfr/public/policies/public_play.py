"""What both players play on a public tree: probabilities by node, by infoset, or at histories.

The numbers may lie in a file (`cfr.public.policies.policy_file`), of which only the pages of what is looked
up are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.public.array_file import ArrayFile, ArrayFileError
from cfr.public.policies.state_index import StateIndex, index_states, private_numbers
from cfr.public.tree import PublicTree, PublicTreeError, require_public_tree
from games.game import CHANCE, Game, Infoset
from games.infosets.factored import FactoredGame
from games.infosets.histories import follow_lines
from games.infosets.sampling import sample_infoset
from games.ragged import Ragged
from games.support.array_types import Array

__all__ = ["PublicPlay", "PublicPolicyError"]


class PublicPolicyError(ValueError):
    """A policy on a public tree, or its file, that does not fit: the rule, what was received, what to do."""


class PublicPlay:
    """What both players play on the whole public tree of a factored game; an agent of the game.

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
        self.index = index_states(tree) if index is None else index
        self._tree_is_known = False

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

    def line_to(self, infoset: Infoset) -> Array:
        """Return the public actions on the way to an infoset, from the end of the dealing on."""
        line, state = self._line(infoset), self.game.root()
        at = 0
        while at < len(line) and self.game.player(state)[0] == CHANCE:
            state = self.game.step(state, np.zeros(1, np.int64), line[at : at + 1])
            at += 1
        return line[at:]

    def _line(self, infoset: Infoset) -> Array:
        """Return the actions of one history of an infoset, from the root."""
        rng, own = np.random.default_rng(0), getattr(self.game, "sample_histories", None)
        if own is not None:
            lines: Ragged = own(infoset, 1, rng)
            return lines[0]
        return sample_infoset(self.game, infoset, 1, rng).lines[0]

    def history(self, infoset: Infoset) -> Array:
        """Return one history of an infoset, a batch of one."""
        line = self._line(infoset)
        return follow_lines(self.game, Ragged.from_counts(np.array([len(line)]), line))[0]

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
