"""Trees for the tests of this folder."""

from __future__ import annotations

from functools import cache

import numpy as np

from cfr.tree import FlatTree, grow
from games import load_game

SMALL = {
    "kuhn": "kuhn_poker",
    "leduc": "leduc_poker",
    "dice": "liars_dice(sides=3)",
    "goofspiel": "goofspiel(cards=4,turns=3,points_order=ascending)",
    "random order": "goofspiel(cards=3,turns=3,points_order=random)",
}


@cache
def tree_of(name: str) -> FlatTree:
    """Return the full tree of a game, by game string or by a name in `SMALL`."""
    return grow(load_game(SMALL.get(name, name)), keep_states=False)


def forgetful_tree(n_seats: int = 3) -> FlatTree:
    """Return a tree in which seat 0 acts twice and forgets its first action, then seats 1 and 2 act.

    Seat 0 gets 1 for its actions (0, 0), 0.9 for (1, 1), otherwise 0. Seats from 3 on never act.
    """
    player = np.repeat([0, 0, 1, 2, -2], [1, 2, 4, 8, 16])
    parent = np.concatenate(([-1], np.repeat(np.arange(15), 2)))
    leaf = np.arange(16)
    first, second = leaf >> 3, leaf >> 2 & 1
    gain = np.where((first == 0) & (second == 0), 1.0, np.where((first == 1) & (second == 1), 0.9, 0.0))
    returns = np.zeros((16, n_seats))
    returns[:, :3] = gain[:, None] * [1.0, -0.5, -0.5]
    return FlatTree(
        parent=parent.astype(np.int32),
        first_child=np.arange(1, 63, 2, dtype=np.int32),
        n_children=np.where(player == -2, 0, 2).astype(np.int32),
        player=player.astype(np.int8),
        infoset=np.repeat(np.array([0, 1, 2, 3, -1], np.int32), [1, 2, 4, 8, 16]),
        chance_prob=np.ones(31),
        level_offsets=np.array([0, 1, 3, 7, 15, 31]),
        terminal=np.arange(15, 31, dtype=np.int32),
        returns=returns,
        infoset_player=np.array([0, 0, 1, 2], np.int8),
        infoset_offset=np.arange(0, 10, 2),
        infoset_key=np.arange(4, dtype=np.uint64)[:, None],
        action=np.zeros(31, np.int64),
        states=None,
        teams=tuple(range(n_seats)),
    ).validate()


def random_policy(tree: FlatTree, seed: int, *, zeros: float = 0.0) -> np.ndarray:
    """Return random action probabilities; each is 0 with probability `zeros`, but for one per infoset."""
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=tree.n_slots) * (rng.random(tree.n_slots) >= zeros)
    weights[tree.infoset_offset[:-1] + rng.integers(0, np.diff(tree.infoset_offset))] += 0.1
    sums = np.add.reduceat(weights, tree.infoset_offset[:-1])
    return weights / np.repeat(sums, np.diff(tree.infoset_offset))


def random_tree(
    seed: int,
    *,
    teams: tuple[int, ...] = (0, 1),
    levels: int = 6,
    roots: int = 3,
    width: int = 3,
    deciding: int | None = None,
) -> FlatTree:
    """Return a random forest of perfect recall: uneven depths and widths, chance anywhere, private signals.

    A seat's infoset is its own last sequence, a random signal and the number of actions; payoffs are
    zero-sum between the teams. deciding: how many seats, the first ones, decide; by default all.
    """
    rng = np.random.default_rng(seed)
    parent, n_children, player, infoset, prob = [], [], [], [], []
    keys: dict[tuple, int] = {}
    sizes: list[int] = []
    terminal, returns, offsets = [], [], [0]
    level: list[tuple[int, float, tuple]] = [(-1, rng.random(), (0,) * len(teams)) for _ in range(roots)]
    while level:
        nxt = []
        for up, weight, own in level:
            node = len(parent)
            parent.append(up)
            prob.append(weight)
            if len(offsets) > levels or (len(offsets) > 1 and rng.random() < 0.15):
                terminal.append(node)
                gain = float(np.round(rng.normal(), 1))
                returns.append([gain if team == 0 else -gain for team in teams])
                player.append(-2)
                infoset.append(-1)
                n_children.append(0)
                continue
            seat = int(rng.integers(-1, len(teams) if deciding is None else deciding))
            n = int(rng.integers(1, width + 1)) + (seat < 0)
            n_children.append(n)
            player.append(seat)
            if seat < 0:
                infoset.append(-1)
                nxt += [(node, p, own) for p in rng.dirichlet(np.ones(n))]
                continue
            key = (seat, own[seat], int(rng.integers(0, 2)), n)
            if key not in keys:
                keys[key] = len(keys)
                sizes.append(n)
            infoset.append(keys[key])
            for a in range(n):
                sequence = 1 + keys[key] * 10 + a
                nxt.append((node, 1.0, tuple(sequence if p == seat else o for p, o in enumerate(own))))
        offsets.append(len(parent))
        level = nxt
    counts = np.array(n_children, np.int32)
    first = roots + np.concatenate(([0], np.cumsum(counts)[:-1]))
    return FlatTree(
        parent=np.array(parent, np.int32),
        first_child=first.astype(np.int32),
        n_children=counts,
        player=np.array(player, np.int8),
        infoset=np.array(infoset, np.int32),
        chance_prob=np.array(prob, np.float64),
        level_offsets=np.array(offsets, np.int64),
        terminal=np.array(terminal, np.int32),
        returns=np.array(returns, np.float64).reshape(len(terminal), len(teams)),
        infoset_player=np.array([key[0] for key in keys], np.int8),
        infoset_offset=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        infoset_key=np.arange(len(keys), dtype=np.uint64)[:, None],
        action=np.zeros(len(parent), np.int64),
        states=None,
        teams=teams,
    ).validate()
