"""The form of a game with private moves: each player's infosets, and exact values of policies on them.

    form = list_private_moves(load_game("phantom_ttt"))
    form.evaluate(form.uniform()).exploitability

A policy is one array a player, a probability for each slot of that player's infosets.

Compiled walks go over the placements, with the lists of what each player may have tried.
A player's tries and their outcomes are its sequence. The histories with the same placements at the same
turns are *all* pairs of the players' sequences that fit these placements. So a walk visits placements alone,
carries the fitting sequences of each player, and a sum over pairs of sequences is a product of two sums.

Infosets, slots and edges are those of `cfr.private_moves.listing`.

Room is (lists, sums). lists: int64, stacks of both players' edges and infosets, each with the cells that are
legal after it: `edge << BITS | legal`, or an infoset's first slot in the edge's place. sums: float64, a stack
of reaches. Sides are (start, reach, gain, wins), arrays of both players. start: the first slot of the infoset
that follows an edge. gain: to the player itself. wins: which masks of stones win. A rule is (cells, whether a
failed try ends the turn, mask of the players whose gains are wanted, the weight of all gains).
"""

from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cfr.policies.policy import Policy
from cfr.private_moves.listing import Tries, list_tries
from cfr.private_moves.symmetries import Symmetries
from cfr.public.array_file import raw_bytes
from cfr.public.sweeper import Evaluation, usable_cores
from cfr.tree_cfr import learn_infoset
from cfr.values import first_wrong, uniform
from games.game import Game, GameError
from games.infosets.private_moves import PrivateMovesGame
from games.support.array_types import Array
from games.support.kernel import kernel

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]
BITS = 16
LEGAL = (1 << BITS) - 1


@kernel(nogil=True)
def walk(
    room: Any, sides: Any, rule: Any, me: int, masks: Any, span: Any, tops: Any, reached: tuple[float, float]
) -> int:
    """Add to both players' `gain` the payoffs at and below some placements, times the other's reach.

    me: the player who acts; a winner gets 1 from the other. masks: own stones and the other's. span: where
    the list of the player who acts begins and ends, then that of the other. tops: where the free space begins
    for lists of both, and in `sums`. reached: the summed reach of the edges of both.
    """
    lists, sums = room
    start, reach, gain, wins = sides
    cells, abrupt, wanted, weight = rule
    own, other = masks
    at, end, other_at, other_end = span
    top, other_top, spare = tops
    my_reach, their_reach = reached
    free = ~(own | other) & ((1 << cells) - 1)
    n_free, rest = 0, free
    while rest:
        rest &= rest - 1
        n_free += 1
    while True:
        you = 1 - me
        want_mine, want_theirs = wanted >> me & 1, wanted >> you & 1
        if not (want_mine and their_reach != 0.0) and not (want_theirs and my_reach != 0.0):
            return 0
        starts, reaches = start[me], reach[me]
        fresh = top
        for i in range(at, end):
            edge = lists[i] >> BITS
            if want_mine or reaches[edge >> 1] != 0.0:  # only gains are wanted of what is never played
                lists[fresh] = starts[edge] << BITS | lists[i] & LEGAL
                fresh += 1
        if not abrupt:
            scan = top
            while scan < fresh:
                legal, slot = lists[scan] & LEGAL, lists[scan] >> BITS
                scan += 1
                rest = legal
                while rest & other:
                    if rest & -rest & other and (want_mine or reaches[slot] != 0.0):
                        lists[fresh] = starts[2 * slot + 1] << BITS | legal ^ (rest & -rest)
                        fresh += 1
                    rest &= rest - 1
                    slot += 1
        n = fresh - top
        failed = fresh + n * n_free
        fill = failed
        for total in range(spare, spare + n_free + 1):
            sums[total] = 0.0
        for i in range(n):
            legal, slot = lists[top + i] & LEGAL, lists[top + i] >> BITS
            to, total, rest = fresh + i, spare, legal
            while rest:  # all free cells are among them
                bit = rest & -rest
                if bit & free:
                    lists[to] = slot << BITS + 1 | legal ^ bit
                    to += n
                    if want_theirs:
                        sums[total] += reaches[slot]
                    total += 1
                elif abrupt:
                    lists[fill] = (2 * slot + 1) << BITS | legal ^ bit
                    fill += 1
                    if want_theirs:
                        sums[spare + n_free] += reaches[slot]
                rest ^= bit
                slot += 1
        paid = 0.0
        block, rest = fresh, free
        for total in range(spare, spare + n_free):
            bit = rest & -rest
            rest ^= bit
            after, left = own | bit, free ^ bit
            if wins[me, after]:
                paid += sums[total]
                if want_mine:
                    gains = gain[me]
                    for i in range(block, block + n):
                        gains[lists[i] >> BITS + 1] += weight * their_reach
            # where one cell is free and nobody wins by it, nothing follows
            elif left and (left & left - 1 or wins[me, after | left] or wins[you, other | left]):
                walk(
                    room,
                    sides,
                    rule,
                    you,
                    (other, after),
                    (other_at, other_end, block, block + n),
                    (other_top, fill, spare + n_free + 1),
                    (their_reach, sums[total]),
                )
            block += n
        if want_theirs and paid != 0.0:
            gains = gain[you]
            for i in range(other_at, other_end):
                gains[lists[i] >> BITS + 1] -= weight * paid
        if fill == failed:
            return 0
        # a failed try: the other player acts at the same placements
        my_reach, their_reach = their_reach, sums[spare + n_free]
        at, end, other_at, other_end = other_at, other_end, failed, fill
        top, other_top = other_top, fill
        me, own, other = you, other, own


@kernel(nogil=True)
def fill_reaches(
    first: Indices, parent: Indices, policy: Floats, reach: Floats, weight: float, sums: Floats
) -> None:
    """Write the reach of each slot by the player's own policy; add weight times that to `sums` unless 0."""
    reach[0] = 1.0
    for infoset in range(len(parent)):
        before = reach[parent[infoset] // 2]
        for slot in range(first[infoset], first[infoset + 1]):
            reach[slot] = before * policy[slot]
            if weight > 0.0:
                sums[slot] += weight * reach[slot]


@kernel(nogil=True)
def best_values(first: Indices, parent: Indices, gain: Floats) -> None:
    """Add the best value of each infoset to its parent's slot; gain[0] becomes the whole game's."""
    for infoset in range(len(parent) - 1, -1, -1):
        best = gain[first[infoset]]
        for slot in range(first[infoset] + 1, first[infoset + 1]):
            best = max(best, gain[slot])
        gain[parent[infoset] // 2] += best


@kernel(nogil=True)
def learn(
    first: Indices,
    parent: Indices,
    gain: Floats,
    state: tuple[Floats, Floats, Floats],
    rule: tuple[float, float, float, float, float, bool, bool],
) -> None:
    """Turn gains into values of the policy and into regrets, and match the policy to these, bottom up.

    `gain` becomes the instantaneous regrets. state: (regret, prediction, policy). rule: see `learn_infoset`.
    """
    regret, prediction, policy = state
    for infoset in range(len(parent) - 1, -1, -1):
        ends = first[infoset], first[infoset + 1]
        value = 0.0
        for slot in range(ends[0], ends[1]):
            value += policy[slot] * gain[slot]
        gain[parent[infoset] // 2] += value
        for slot in range(ends[0], ends[1]):
            gain[slot] -= value
        learn_infoset(ends, gain, regret, prediction, policy, rule)


@kernel(nogil=True)
def normalize(first: Indices, sums: Floats, policy: Floats) -> None:
    """Divide the sums of each infoset by their total into `policy`, which stays where that is 0."""
    for infoset in range(len(first) - 1):
        total = 0.0
        for slot in range(first[infoset], first[infoset + 1]):
            total += sums[slot]
        if total > 0.0:
            for slot in range(first[infoset], first[infoset + 1]):
                policy[slot] = sums[slot] / total


Both: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
"""A number for each slot, of both players."""


class PrivateMovesError(ValueError):
    """A policy that is none on this game's infosets: the rule, the row and the next step."""


class PrivateMovesForm:
    """A game's form of private moves.

    game: whose it is. sides: both players' infosets. symmetries: of the board.
    """

    def __init__(self, game: PrivateMovesGame, sides: tuple[Tries, Tries]) -> None:
        self.game, self.sides = game, sides
        self.symmetries = Symmetries(game.placements, sides)
        self._height = max(side.height for side in sides)
        first, second = (np.concatenate([side.first, [0]])[side.child] for side in sides)
        self._start = first, second

    @property
    def nbytes(self) -> int:
        """Return the bytes that the infosets take, and where symmetries take them."""
        starts = sum(start.nbytes for start in self._start)
        return sum(side.nbytes for side in self.sides) + starts + self.symmetries.nbytes

    @property
    def n_slots(self) -> int:
        """Return the slots of both players."""
        return sum(side.n_slots for side in self.sides)

    def digest(self) -> str:
        """Return a fingerprint of the infosets."""
        found = 0
        for side in self.sides:
            found = zlib.crc32(raw_bytes(side.parent), zlib.crc32(raw_bytes(side.legal), found))
        return f"{found:08x}"

    def uniform(self) -> Both:
        """Return the policies that choose every action alike."""
        first, second = (np.concatenate([[1.0], uniform(side.first)]) for side in self.sides)
        return first, second

    def infoset_text(self, player: int, infoset: int) -> str:
        """Return the name of an infoset, as `parse_infoset` of the game reads it."""
        game, states = self.game, np.repeat(self.game.root(), 1)
        tries, base = 0, 2 * game.placements.cells + 1
        for cell, failed in self.sides[player].tries(infoset):
            tries = tries * base + 2 * cell + failed + 1
        states["tries"][0, player], states["turn"] = tries, player
        return game.infoset_text(states[0], player)

    def decisions(self, player: int) -> Array:
        """Return a history at each infoset of a player, [infosets]; the opponent has what the tries say."""
        side, game = self.sides[player], self.game
        states = np.repeat(game.root(), side.n_infosets)
        known = (1 << game.placements.cells) - 1 & ~side.legal.astype(np.int64)
        slot, failed = np.divmod(side.parent.astype(np.int64), 2)
        before = np.searchsorted(side.first, slot, side="right") - 1
        tried, stones = np.zeros((2, side.n_infosets), np.int64)
        bit = known & ~known[before]
        digit = 2 * np.log2(np.maximum(bit, 1)).astype(np.int64) + failed + 1
        cells = game.placements.cells
        made = (known[:, None] >> np.arange(cells) & 1).sum(1)
        for rows in (np.flatnonzero(made == count) for count in range(1, cells)):
            tried[rows] = tried[before[rows]] * (2 * cells + 1) + digit[rows]
            stones[rows] = stones[before[rows]] | np.where(failed[rows], 0, bit[rows])
        states["tries"][:, player], states["known"][:, player], states["turn"] = tried, known, player
        states["stones"][:, player], states["stones"][:, 1 - player] = stones, known & ~stones
        return states

    def rows(self, policy: NDArray[np.float64], player: int) -> NDArray[np.float64]:
        """Return a policy as a table, [infosets, cells], 0 where an action is illegal."""
        side = self.sides[player]
        table = np.zeros((side.n_infosets, self.game.placements.cells))
        table[self._legal(player)] = policy[1:]
        return table

    def keyed(self, policy: Both) -> Policy:
        """Return policies by infoset key, as searches and agents read them."""
        counts = np.concatenate([np.diff(side.first) for side in self.sides])
        return Policy(
            game=self.game.name,
            probs=np.concatenate([policy[0][1:], policy[1][1:]]),
            infoset_player=np.repeat(np.arange(2, dtype=np.int8), [side.n_infosets for side in self.sides]),
            infoset_offset=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
            infoset_key=np.concatenate(
                [self.game.infoset_key(self.decisions(seat), seat) for seat in (0, 1)]
            ),
        )

    def from_rows(self, table: NDArray[np.float64], player: int) -> NDArray[np.float64]:
        """Return the policy of a table, [infosets, cells], in the order of `sides`.

        Raises PrivateMovesError with the name of the row if it has mass on an illegal action, NaN, a negative
        number, or does not sum to 1; or if rows are missing.
        """
        legal = self._legal(player)
        if table.shape != legal.shape:
            raise PrivateMovesError(
                f"policy of player {player}: it must have a row for each infoset, {legal.shape}; got "
                f"{table.shape}; ask at every infoset"
            )
        wrong = np.flatnonzero((np.where(legal, 0.0, table) != 0).any(1))
        if len(wrong):
            row = int(wrong[0])
            raise PrivateMovesError(
                f"policy at {self.infoset_text(player, row)!r}: a cell tried before must have probability 0; "
                f"got {table[row].tolist()}; mend this row"
            )
        policy = np.concatenate([[1.0], table[legal].astype(np.float64)])
        self._check(policy, player)
        return policy

    def check(self, policy: Both) -> None:
        """Raise PrivateMovesError with the row's name unless these are policies."""
        for player in (0, 1):
            self._check(policy[player], player)

    def evaluate(self, policy: Both, *, threads: int | None = None) -> Evaluation:
        """Return the value of policies and both best responses. threads: by default all cores.

        Policies that the symmetries of the board keep, as those of CFR, take a walk over a part of it.
        Raises PrivateMovesError with the name of a row that is no distribution.
        """
        self.check(policy)
        reach = self.reaches(policy)
        gains = self.gains(reach, symmetric=self.symmetries.keeps(policy), threads=threads)
        value = float(np.dot(gains[0], reach[0]))
        for side, gain in zip(self.sides, gains, strict=True):
            best_values(side.first, side.parent, gain)
        return Evaluation(value, (float(gains[0][0]), float(gains[1][0])))

    def reaches(self, policy: Both) -> Both:
        """Return the reach of every slot by its own player's policy."""
        none = np.zeros(0)
        reach = np.empty(len(policy[0])), np.empty(len(policy[1]))
        for player, side in enumerate(self.sides):
            fill_reaches(side.first, side.parent, policy[player], reach[player], 0.0, none)
        return reach

    def gains(
        self,
        reach: Both,
        *,
        wanted: int = 3,
        symmetric: bool = False,
        out: Both | None = None,
        threads: int | None = None,
    ) -> Both:
        """Return what each slot pays its player at the game's end times the other's reach, [slots] each.

        wanted: a mask of players; the gains of others stay 0. symmetric: whether the symmetries of the board
        keep the reaches, so that one of like parts of the game is walked. out: arrays to fill.
        """
        gain = out or (np.empty(len(reach[0])), np.empty(len(reach[1])))
        for array in gain:
            array[:] = 0.0
        rules = self.game.placements
        cells, rounds = rules.cells, self.symmetries.parts(symmetric)
        sides, whole, half = (self._start, reach, gain, rules.wins), (1 << cells) - 1, self._height

        def task(first: int, second: int, weight: float) -> None:
            """Walk what follows these first tries; the second fails where they are the same."""
            rule = cells, int(rules.abrupt), wanted, weight
            lists, sums = np.empty(2 * half, np.int64), np.zeros((4 * cells + 2) * (cells + 1))
            lists[0] = 2 * (1 + first) << BITS | whole ^ 1 << first
            lists[half] = 2 * (1 + second) + (first == second) << BITS | whole ^ 1 << second
            stones = 1 << first, 0 if first == second else 1 << second
            reached = float(reach[0][1 + first]), float(reach[1][1 + second])
            room, here = (lists, sums), (0, 1, half, half + 1)
            if first != second or rules.abrupt:
                walk(room, sides, rule, 0, stones, here, (1, half + 1, 0), reached)
            else:
                walk(room, sides, rule, 1, stones[::-1], here[2:] + here[:2], (half + 1, 1, 0), reached[::-1])

        # In a round no two tasks share a first try of either player, so no two write to one slot.
        task(*rounds[0].pop(0))  # alone: it compiles
        with ThreadPoolExecutor(threads or usable_cores()) as pool:
            for parts in rounds:
                for future in [pool.submit(task, *part) for part in parts]:
                    future.result()
        if symmetric:
            for player in (0, 1):
                if wanted >> player & 1:
                    self.symmetries.add(player, gain[player])
        return gain

    def _legal(self, player: int) -> NDArray[np.bool_]:
        cells = np.arange(self.game.placements.cells, dtype=np.uint16)
        return (self.sides[player].legal[:, None] >> cells & 1).astype(bool)

    def _check(self, policy: NDArray[np.float64], player: int) -> None:
        side = self.sides[player]
        if policy.shape != (side.n_slots,):
            raise PrivateMovesError(
                f"policy of player {player}: it must have {side.n_slots:,} probabilities, slot 0 included; "
                f"got shape {policy.shape}; make it on this game's form"
            )
        row = first_wrong(policy, side.first)
        if row >= 0:
            got = policy[side.first[row] : side.first[row + 1]].tolist()
            raise PrivateMovesError(
                f"policy at {self.infoset_text(player, row)!r}: probabilities must be at least 0 and sum to "
                f"1; got {got}; mend this row"
            )


def list_private_moves(game: Game) -> PrivateMovesForm:
    """Return a game's form of private moves.

    Raises GameError for a game that has none, TooLarge if the infosets do not fit.
    """
    if not isinstance(game, PrivateMovesGame):
        raise GameError(
            f"{game.name}: a game of private moves must have `placements`; it has none; "
            "see games.infosets.private_moves"
        )
    rules = game.placements
    first, second = (list_tries(rules, player, game.name) for player in (0, 1))
    return PrivateMovesForm(game, (first, second))
