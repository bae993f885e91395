"""Small games given as lists of nodes, and random ones of perfect recall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from games import CHANCE, TERMINAL, CheckReport, Game, Infoset, Ragged, check_game
from games.base import TwoPlayerGame
from tests.patience import amount


@dataclass
class Node:
    """One history, listed breadth first.

    up: number of the history before, -1 at the root; move: number of the action that led here.
    who: a seat, CHANCE or TERMINAL. count: actions. prob: of the outcome that led here, where chance acted.
    known: what each seat knows. payoff: to seat 0, where the game is over. paid: to more than two sides.
    """

    up: int
    move: int
    known: tuple[tuple, ...]
    who: int = TERMINAL
    count: int = 0
    prob: float = 1.0
    payoff: float = 0.0
    paid: tuple[float, ...] = ()


class NodeGame(TwoPlayerGame):
    """A game given by its nodes, children next to each other in order; a state is a node's number."""

    def __init__(self, name: str, nodes: list[Node], teams: tuple[int, ...] = (0, 1)) -> None:
        """Take the nodes, root first."""
        self.name, self.teams, self.num_players = name, teams, len(teams)
        self.nodes = nodes
        self._who = np.array([node.who for node in nodes], np.int8)
        self._count = np.array([node.count for node in nodes], np.int64)
        self.first = 1 + np.cumsum(self._count) - self._count
        self._prob = np.array([node.prob for node in nodes])
        rest = (0.0,) * (max(teams) - 1)
        sides = np.array([node.paid or (node.payoff, -node.payoff, *rest) for node in nodes])
        self._payoff = sides[:, list(teams)]
        ends = self._payoff[self._who == TERMINAL]
        self.payoff_range = (float(ends.min()), float(ends.max()))
        known: list[dict] = [{} for _ in teams]
        self._known = np.array(
            [
                [names.setdefault(node.known[s], len(names)) for node in nodes]
                for s, names in enumerate(known)
            ],
            np.uint64,
        )

    def root(self) -> NDArray[np.int64]:
        """Return the root."""
        return np.zeros(1, np.int64)

    def player(self, states: NDArray) -> NDArray[np.int8]:
        """Return who acts."""
        return self._who[states]

    def actions(self, states: NDArray) -> Ragged:
        """Return the numbers of the actions, from 0."""
        counts = self._count[states]
        before = np.repeat(np.cumsum(counts) - counts, counts)
        return Ragged.from_counts(counts, np.arange(len(before)) - before)

    def chance_probs(self, states: NDArray, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each outcome."""
        return self._prob[self.first[states][actions.rows] + actions.values]

    def step(self, states: NDArray, rows: NDArray[np.int64], actions: NDArray) -> NDArray:
        """Return the children."""
        return self.first[states[rows]] + actions

    def returns(self, states: NDArray) -> NDArray[np.float64]:
        """Return the payoffs of all seats."""
        return self._payoff[states]

    def infoset_key(self, states: NDArray, player: int) -> NDArray[np.uint64]:
        """Return the number of what a seat knows."""
        return self._known[player][states][:, None]

    def action_text(self, state: NDArray, action: NDArray) -> str:
        """Return a letter and the number of the action."""
        return f"a{int(action)}"

    def state_text(self, state: NDArray) -> str:
        """Return the actions so far."""
        return " ".join(f"a{node.move}" for node in self.way(int(state))) or "start"

    def way(self, at: int) -> list[Node]:
        """Return the nodes from the root's child on to a node."""
        node, found = self.nodes[at], []
        while node.up >= 0:
            found.append(node)
            node = self.nodes[node.up]
        return found[::-1]

    def infoset_text(self, state: NDArray, player: int) -> str:
        """Return the number of what a seat knows."""
        return f"P{player} knows {int(self._known[player][int(state)])}"


def hidden_move() -> NodeGame:
    """Return a game in which seat 0 acts without knowing whether seat 1 has moved; 11 nodes.

    Chance lets seat 1 choose between two actions, or not; seat 0 then chooses, in one infoset.
    """
    left, right, none = ("moves", 0), ("moves", 1), ("nothing",)
    return NodeGame(
        "hidden_move",
        [
            Node(-1, 0, ((), ()), CHANCE, 2),
            Node(0, 0, ((), ("moves",)), 1, 2, 0.5),
            Node(0, 1, (("asked",), none), 0, 2, 0.5),
            Node(1, 0, (("asked",), left), 0, 2),
            Node(1, 1, (("asked",), right), 0, 2),
            Node(2, 0, (("asked", 0), none), payoff=3.0),
            Node(2, 1, (("asked", 1), none), payoff=0.0),
            Node(3, 0, (("asked", 0), left), payoff=0.0),
            Node(3, 1, (("asked", 1), left), payoff=4.0),
            Node(4, 0, (("asked", 0), right), payoff=2.0),
            Node(4, 1, (("asked", 1), right), payoff=0.0),
        ],
    )


class RandomGame(NodeGame):
    """A random zero-sum game of perfect recall, between two players unless `teams` says otherwise.

    Chance deals privately and acts anywhere, either seat may be first, lines end at different depths.

    public: every move is noticed by both seats, and who acts and whether the game ends follow from what both
        have seen. Otherwise they may depend on hidden things, and a seat may not notice that the other
        moved: a private order of turns.
    """

    def __init__(
        self,
        seed: int,
        *,
        public: bool = True,
        teams: tuple[int, ...] = (0, 1),
        depth: int = 5,
        width: int = 3,
        most: int = 150,
    ) -> None:
        """Draw a game: at most `depth` moves, `width` actions, `most` nodes or so. teams: sides of seats."""
        seats, sides = len(teams), max(teams) + 1
        self.remembers = public  # else a seat may or may not wait on its way to an infoset
        rng = np.random.default_rng([seed, public])
        self._seed = [seed, int(public), 1]
        self._drawn: dict[tuple, int] = {}
        hidden = (0.3, 0.6, 0.9)[int(rng.integers(3))]
        nodes = [Node(-1, 0, ((),) * seats)]
        open_: list[tuple] = [()]
        decimals = int(rng.integers(0, 3))
        for at, node in enumerate(nodes):  # grows as we go
            length, seen = len(open_[at]), node.known
            # What decides who acts: what everybody saw or, in a private order, the history itself.
            about = ("turn", open_[at]) if public else ("turn", at)
            over = length >= depth or len(nodes) > most
            if over or self._draw(about, "ends", 100) < (0 if length < 2 else 20):
                node.payoff = float(np.round(rng.normal(0, 2), decimals))
                if sides > 2:
                    more = rng.integers(-2, 3, sides - 2).tolist()
                    node.paid = (node.payoff, *more, -node.payoff - sum(more))
                continue
            node.who = self._draw(about, "who", 8)
            node.who = CHANCE if node.who < 2 and length != 1 else node.who % seats
            if node.who == CHANCE:
                node.count = 2 + self._draw(about, "outcomes", width - 1)
            else:
                drawn = self._draw(("own", node.who, seen[node.who]), "actions", width + 2)
                node.count = min(width, 1 + drawn)
                asked = (*seen[node.who], "asked")
                node.known = tuple(asked if seat == node.who else seen[seat] for seat in range(seats))
            prob = 0.02 + rng.dirichlet(np.ones(node.count)) * (1 - 0.02 * node.count)
            # In public games everybody sees one label of a move: its number, or only that it was made.
            shown = self._draw(about, "shown", 2) and node.who >= 0
            for action in range(node.count):
                label = (node.who, action if shown else -1)
                after = []
                for seat in range(seats):
                    new: tuple = (label,) if public else ()
                    if seat == node.who:
                        new = ("asked", action, *new)
                    elif rng.random() >= hidden:
                        new = (*new, "saw", action if rng.integers(3) == 0 else int(rng.integers(2)))
                    after.append((*seen[seat], new) if new else seen[seat])
                chance = float(prob[action]) if node.who == CHANCE else 1.0
                nodes.append(Node(at, action, tuple(after), prob=chance))
                open_.append((*open_[at], label))
        ends = [node for node in nodes if node.who == TERMINAL]
        if not any(node.payoff for node in ends):
            ends[0].payoff = 1.0
        more = f",teams={'-'.join(map(str, teams))}" if seats > 2 else ""
        super().__init__(f"random_game(seed={seed},public={public}{more})", nodes, teams)

    def _draw(self, about: tuple, what: str, n: int) -> int:
        """Return one of n numbers, the same whenever the same thing is asked."""
        name = (about, what, n)
        if name not in self._drawn:
            words = [*self._seed, *np.frombuffer(repr(name).encode(), np.uint8).tolist()]
            self._drawn[name] = int(np.random.default_rng(words).integers(n))
        return self._drawn[name]


class SelfDrawnGame(RandomGame):
    """A random public game with a sampler of its own that is always taken."""

    follows = False

    def sample_histories(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories that agree with a key, as often as chance has them."""
        nodes = np.flatnonzero(self._known[infoset.player] == np.uint64(infoset.key[0]))
        ways = [self.way(at) for at in nodes.tolist()]
        share = np.array([np.prod([node.prob for node in way]) for way in ways])
        moves = np.array(
            [[node.move for node in way] for way in ways], np.int64
        )  # what is public counts them
        rows = rng.choice(len(nodes), n, p=share / share.sum())
        return Ragged.from_counts(np.full(n, moves.shape[1]), moves[rows].reshape(-1))


class RandomPlay:
    """A random policy by infoset, with random values; some actions are never played.

    zeros: share of the actions that it gives no probability.
    """

    name = "random play"

    def __init__(self, seed: int, zeros: float = 0.0) -> None:
        """Name the policy by a seed."""
        self.seed, self.zeros = seed, zeros

    def _uniforms(
        self, game: Game, states: NDArray[np.uint64], player: int, actions: Ragged
    ) -> NDArray[np.float64]:
        if len(states) == 0:
            return np.zeros((0, 2))
        asked = np.column_stack([game.infoset_key(states, player), actions.counts.astype(np.uint64)])
        found, row = np.unique(asked, axis=0, return_inverse=True)
        drawn = [
            np.random.default_rng([self.seed, player, *map(int, key)]).random((2, int(count))).T
            for *key, count in found
        ]
        counts = found[:, -1].astype(np.int64)
        numbers = Ragged.from_counts(counts, np.arange(counts.sum())).take(row.reshape(-1)).values
        return np.concatenate(drawn)[numbers]

    def policy(
        self, game: Game, states: NDArray[np.uint64], player: int, actions: Ragged
    ) -> NDArray[np.float64]:
        """Return the probability of each action."""
        drawn = self._uniforms(game, states, player, actions)
        weight = np.where(drawn[:, 1] < self.zeros, 0.0, 0.05 + drawn[:, 0])
        total = np.bincount(actions.rows, weight, minlength=len(actions))
        weight[actions.offsets[:-1][total == 0]] = 1.0
        total = np.bincount(actions.rows, weight, minlength=len(actions))
        shares: NDArray[np.float64] = weight / total[actions.rows]
        return shares

    def q(self, game: Game, states: NDArray[np.uint64], player: int, actions: Ragged) -> NDArray[np.float64]:
        """Return a random value of each action."""
        drawn: NDArray[np.float64] = self._uniforms(game, states, player, actions)[:, 1]
        return drawn

    def value(self, game: Game, states: NDArray[np.uint64], player: int) -> NDArray[np.float64]:
        """Return a random value of each state."""
        ones = Ragged.from_counts(np.ones(len(states), np.int64), np.zeros(len(states), np.int64))
        return self.q(game, states, player, ones)


def broken(function: str, change: Callable[..., Any], base: type[Any]) -> Any:
    """Return a game of a class with `change` applied to what one of its functions returns.

    change: takes that and the function's arguments.
    """
    right = getattr(base, function)

    def wrong(self: Any, *arguments: Any) -> Any:
        return change(right(self, *arguments), *arguments)

    return type("Broken", (base,), {function: wrong})()


def check_quickly(game: Game, rng: np.random.Generator, **limits: Any) -> CheckReport:
    """Check a game as `check_game` does, with --long; otherwise by fewer samples of fewer infosets.

    What samples must come near to allows for their number.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, many, few in (("INFOSETS", 8, 4), ("RUNS", 48, 12), ("DRAWS", 400, 100)):
            patch.setattr(f"games.check.{name}", amount(many, few))
        return check_game(game, rng, **limits)
