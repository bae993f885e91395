"""Trees for the tests of this folder."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from cfr.tree import FlatTree, TreeRules, grow
from games import CHANCE, TERMINAL, Game, Ragged, SimpleGame, load_game
from tests.games.random_games import RandomGame

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


class LongWay(SimpleGame):
    """Two players in turn go on or end the game in one of many ways; uniform play hardly comes to the end.

    chance: the first takes turns with chance instead.
    """

    payoff_range = (-1.0, 1.0)
    max_length = MOVES = 450
    ways = 30

    def __init__(self, *, chance: bool = False) -> None:
        self.second = CHANCE if chance else 1

    def start(self) -> int:
        return 0

    def turn(self, made: int) -> int:
        return TERMINAL if not 0 <= made < self.MOVES else (self.second, 0)[made % 2]

    def choices(self, made: int) -> range:
        return range(self.ways)

    def after(self, made: int, way: int) -> int:
        return made + 1 if way == 0 else -self.ways * made - way

    def payoff(self, made: int) -> float:
        return (-1.0) ** made

    def sees(self, made: int, player: int) -> str:
        return f"after {made}"


def random_policy(tree: FlatTree, seed: int, *, zeros: float = 0.0) -> np.ndarray:
    """Return random action probabilities; each is 0 with probability `zeros`, but for one per infoset."""
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=tree.n_slots) * (rng.random(tree.n_slots) >= zeros)
    weights[tree.infoset_offset[:-1] + rng.integers(0, np.diff(tree.infoset_offset))] += 0.1
    sums = np.add.reduceat(weights, tree.infoset_offset[:-1])
    return weights / np.repeat(sums, np.diff(tree.infoset_offset))


@cache
def random_tree(
    seed: int,
    *,
    teams: tuple[int, ...] = (0, 1),
    levels: int = 6,
    width: int = 3,
    deciding: int | None = None,
) -> FlatTree:
    """Return a random forest of perfect recall: uneven depths and widths, chance anywhere, private signals.

    The roots are what may follow the first move, by chance, of a random game that is not small; payoffs are
    zero-sum between the teams. deciding: how many seats, the first ones, decide, for the others chance; by
    default all.
    """
    drawn = (
        RandomGame(100 * seed + k, teams=teams, depth=levels + 1, width=width, most=60 * levels)
        for k in itertools.count()
    )
    game = next(game for game in drawn if len(game.nodes) > 20 * levels and game.nodes[0].who == CHANCE)
    rules = TreeRules()
    if deciding is not None:
        rules = TreeRules(frozen=lambda game, states, players: players >= deciding, policy=evenly)
    roots = game.step(game.root(), np.zeros(game.nodes[0].count, np.int64), game.actions(game.root()).values)
    weights = np.random.default_rng(seed).random(len(roots))
    return grow(game, roots, weights, rules=rules, keep_states=False)


def evenly(game: Game, states: np.ndarray, player: int, actions: Ragged) -> np.ndarray:
    """Return equal probabilities."""
    return 1.0 / actions.counts[actions.rows]
