"""The sequence form of a tree in which two seats decide: a treeplex each and one sparse payoff matrix.

A sequence is what one player has done so far: the empty sequence 0, or an action at one of its infosets.
Chance and the weights of the roots are folded into the payoffs, so a full game, a subgame and a gadget
are all the same object to a solver. Source: Koller, Megiddo and von Stengel 1996.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cfr.engine.layout import Layout, counted_order, make_layout, sorted_pairs
from cfr.tree import FlatTree, InvalidTree, require_tree
from cfr.tree.flat import array_digest, infoset_parent_slot, own_slots
from games.game import Game

ZERO_SUM_TOLERANCE = 1e-9
"""Largest sum of the two sides' payoffs at a leaf, as a share of the largest payoff."""


@dataclass(frozen=True, eq=False)
class Treeplex:
    """The decisions of one player: I infosets and S sequences, sequence 0 empty, parents before children.

    player: the seat.
    infoset: [I] int32, number of the infoset in the tree.
    start: [I + 1] int32; the actions of infoset i are the sequences `start[i]:start[i + 1]`.
    parent: [I] int32, the sequence that leads to the infoset.
    slot: [S] int64, slot of the sequence in the tree; -1 for the empty sequence.
    """

    player: int
    infoset: NDArray[np.int32]
    start: NDArray[np.int32]
    parent: NDArray[np.int32]
    slot: NDArray[np.int64]

    @property
    def n_infosets(self) -> int:
        """Return I."""
        return len(self.parent)

    @property
    def n_sequences(self) -> int:
        """Return S, the empty sequence included."""
        return len(self.slot)


@dataclass(frozen=True, eq=False)
class SequenceForm:
    """Two treeplexes and the payoffs of pairs of sequences, in compressed rows; E entries.

    sides: the treeplexes of the row player (side 0, team 0) and the column player (side 1).
    row_start: [S0 + 1] int64; the entries of row r are `row_start[r]:row_start[r + 1]`.
    column: [E] int32, rising within each row.
    payoff: [E] float64, payoff to side 0 times the probability of chance and the weight of the root,
        summed over the leaves of the pair; never 0.
    n_slots, n_infosets: of the tree; policies are [n_slots] float64.
    n_leaves: leaves of the tree that were folded into the entries.
    total_weight: what the weights of the roots sum to; values are sums over roots, not means.
    payoff_scale: largest absolute payoff at any leaf, before weights.
    """

    sides: tuple[Treeplex, Treeplex]
    row_start: NDArray[np.int64]
    column: NDArray[np.int32]
    payoff: NDArray[np.float64]
    n_slots: int
    n_infosets: int
    n_leaves: int
    total_weight: float
    payoff_scale: float

    @property
    def players(self) -> tuple[int, int]:
        """Return the seats of side 0 and side 1."""
        return self.sides[0].player, self.sides[1].player

    @property
    def n_entries(self) -> int:
        """Return E."""
        return len(self.column)

    @cached_property
    def layout(self) -> Layout:
        """Return how solvers hold this form in memory; made on first use."""
        plexes = tuple((plex.start, plex.parent) for plex in self.sides)
        rows = (self.row_start, self.column, self.payoff)
        return make_layout(plexes, rows, transpose(*rows, self.sides[1].n_sequences))

    @cached_property
    def infoset_offset(self) -> NDArray[np.int64]:
        """Return where each infoset's slots begin in the tree, [I + 1] int64."""
        offset = np.full(self.n_infosets + 1, self.n_slots, np.int64)
        for plex in self.sides:
            offset[plex.infoset] = plex.slot[plex.start[:-1]]
        return offset

    @cached_property
    def digest(self) -> str:
        """Return a fingerprint of both treeplexes and the payoffs."""
        sides = [array for p in self.sides for array in (p.infoset, p.start, p.parent, p.slot)]
        return array_digest(*sides, self.row_start, self.column, self.payoff)


def deciding_seats(tree: FlatTree) -> list[int]:
    """Return the seats that have infosets in the tree, rising. Raises InvalidTree for something else."""
    require_tree(tree)
    return np.flatnonzero(np.bincount(tree.infoset_player, minlength=tree.n_players)).tolist()


def is_two_sided(tree: FlatTree) -> bool:
    """Return whether the tree has a sequence form: zero-sum, two teams, at most one seat of each decides."""
    teams = [tree.teams[seat] for seat in deciding_seats(tree)]
    return tree.zero_sum and set(tree.teams) == {0, 1} and len(teams) == len(set(teams))


def sequence_form(tree: FlatTree, game: Game | None = None) -> SequenceForm:
    """Return the sequence form of a tree or forest in which at most one seat of each team decides.

    game: only to name infosets in errors; the tree must then hold its states.
    Raises ImperfectRecall naming the infoset whose player forgot; InvalidTree if more seats decide (use
    `tree_cfr`), or if the two sides' payoffs do not sum to zero.
    """
    seats = deciding_seats(tree)
    if set(tree.teams) != {0, 1}:
        raise InvalidTree(
            f"sequence form: there must be two teams; got {tree.teams}; there is no LP and no search; "
            "cfr.solve runs on the tree (cfr.tree_cfr)"
        )
    teams = [[p for p in seats if tree.teams[p] == team] for team in (0, 1)]
    if max(map(len, teams)) > 1:
        raise InvalidTree(
            f"sequence form: at most one seat of each team may decide; got seats {seats} "
            f"of teams {[tree.teams[p] for p in seats]}; there is no LP and no search; cfr.solve runs on the "
            "tree (cfr.tree_cfr)"
        )
    players = tuple(teams[t][0] if teams[t] else tree.teams.index(t) for t in (0, 1))
    gain = np.ascontiguousarray(tree.returns[:, players[0]])
    scale = float(np.abs(gain).max()) if len(gain) else 0.0
    surplus = float(np.abs(gain + tree.returns[:, players[1]]).max()) if len(gain) else 0.0
    if not surplus <= ZERO_SUM_TOLERANCE * max(scale, 1e-300):
        raise InvalidTree(
            f"sequence form: payoffs of seats {players[0]} and {players[1]} must sum to zero at every leaf; "
            f"got a sum of {surplus:g}; there is no LP and no search there; say zero_sum = False "
            "in the game, and cfr.solve and cfr.nash_conv work on its tree"
        )

    ends = tree.terminal
    sides, last = [], []
    for player in players:
        infoset = np.flatnonzero(tree.infoset_player == player).astype(np.int32)
        slot = np.append(-1, np.flatnonzero(tree.slot_player == player))
        start = np.ones(len(infoset) + 1, np.int32)
        start[1:] += np.cumsum(np.diff(tree.infoset_offset)[infoset], dtype=np.int32)
        sequence = np.zeros(tree.n_slots + 1, np.int32)  # the last entry is the empty sequence's, slot -1
        sequence[slot[1:]] = np.arange(1, len(slot))
        own = own_slots(tree, player)
        parent = infoset_parent_slot(tree, player, own, game=game)[infoset]
        sides.append(Treeplex(player, infoset, start, sequence[parent], slot))
        last.append(sequence[own[ends]])
    n_sequences = sides[0].n_sequences, sides[1].n_sequences
    row_start, column, payoff = _compressed(last[0], last[1], _weights(tree)[ends] * gain, n_sequences)
    return SequenceForm(
        sides=(sides[0], sides[1]),
        row_start=row_start,
        column=column,
        payoff=payoff,
        n_slots=tree.n_slots,
        n_infosets=tree.n_infosets,
        n_leaves=len(tree.terminal),
        total_weight=float(tree.chance_prob[: tree.n_roots].sum()),
        payoff_scale=scale,
    )


def _weights(tree: FlatTree) -> NDArray[np.float64]:
    """Return the product of chance's probabilities and the root's weight at every node, [N] float64."""
    weight = tree.chance_prob.copy()
    for start, end in pairwise(tree.level_offsets[1:].tolist()):
        weight[start:end] *= weight[tree.parent[start:end]]
    return weight


def _compressed(
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    value: NDArray[np.float64],
    n_sequences: tuple[int, int],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return (row_start, column, payoff) of the leaves, sorted by row and column, equal pairs summed."""
    order = sorted_pairs(row, column, n_sequences)
    row, column = row[order], column[order]
    new = np.append(True, (row[1:] != row[:-1]) | (column[1:] != column[:-1]))[: len(row)]
    payoff = np.bincount(np.cumsum(new) - 1, value[order])
    kept = payoff != 0.0
    rows, columns = row[new][kept], column[new][kept]
    return np.cumsum(np.append(0, np.bincount(rows, minlength=n_sequences[0]))), columns, payoff[kept]


def transpose(
    row_start: NDArray[np.int64], column: NDArray[np.int32], payoff: NDArray[np.float64], n_columns: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return a compressed-row matrix in compressed columns: (column_start, row, payoff)."""
    row = np.repeat(np.arange(len(row_start) - 1, dtype=np.int32), np.diff(row_start))
    order = counted_order(column, n_columns)
    return np.cumsum(np.append(0, np.bincount(column, minlength=n_columns))), row[order], payoff[order]
