"""Generative subgame solving as its paper prints it: Algorithms 1 and 2 and the gadget, in one sitting.

`gs2.solve_infoset` runs the same search faster, by the presets `gs2-d` and `gs2-r`. Tests hold it to this.

    >>> from cfr import grow, uniform_policy
    >>> from games import load_game
    >>> from gs2.search.plain import PlainGs2
    >>> tree = grow(load_game("kuhn_poker"))
    >>> plain = PlainGs2(load_game("kuhn_poker"), tree, uniform_policy(tree), infoset=0, k=1)
    >>> [f"{p:.2f}" for p in plain.refine(np.random.default_rng(0)).policy]  # with the jack: check, bet
    ['0.83', '0.17']

The notation is that of the paper. Player 1 searches at its infoset I; player 2 is the opponent; both have
a blueprint σ. h is a history, P(h) who acts there, I₂(h) what player 2 knows there. The steps:

1. `top`: S_top, the histories of I and all that player 2 confuses with them, by player 2's infosets I₀.
2. `alternative`: u*₂(σ₁ | I₀), what player 2's best reply to player 1's blueprint gets at I₀.
3. `diverse` (Algorithm 2), or a random choice: the k histories of I that are generated.
4. `subgame` (Algorithm 1): player 2 chooses one of the infosets I₀ that a generated history touches; chance
   deals a history of it by π₋₂; below, the game goes on, and every payoff is less u*₂(σ₁ | I₀). Where the
   history is not of I, player 1's decisions are chance's, by σ₁. This is the maxmargin gadget (Moravcik et
   al. 2016): what solves it leaves player 2 as far below u*₂ as it can, wherever player 2 enters.
5. `solve`: CFR on this small game. What player 1 then plays at I is the refined strategy.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cfr.plain import PlainCfr
from cfr.tree import FlatTree, require_states
from cfr.variants import REGRET_NOISE, variant
from games.game import CHANCE, TERMINAL, Game


@dataclass(eq=False)
class Node:
    """A history of the subgame S.

    player: who acts, CHANCE or TERMINAL. infoset: what that player knows. children: one for each action.
    probs: chance's probability of each. u2: the payoff to player 2 at a terminal.
    """

    player: int
    infoset: Hashable = None
    children: list[Node] = field(default_factory=list)
    probs: list[float] = field(default_factory=list)
    u2: float = 0.0


@dataclass(frozen=True, eq=False)
class Refined:
    """What a search came to.

    policy: [a] float64, the refined strategy at I. generated: S′_top, the nodes of the histories generated.
    alternative: u*₂ at each history of S_top.
    """

    policy: NDArray[np.float64]
    generated: list[int]
    alternative: dict[int, float]


@dataclass(eq=False)
class PlainGs2:
    """One search of a two-player zero-sum game that can be listed.

    tree: the whole game, with its states. sigma: σ of both, [n_slots] float64. infoset: the number of I. k:
    histories to generate. generation: "diverse" (GS2-D) or "random" (GS2-R). iterations: of CFR.
    """

    game: Game
    tree: FlatTree
    sigma: NDArray[np.float64]
    infoset: int
    k: int
    generation: str = "diverse"
    iterations: int = 300

    def __post_init__(self) -> None:
        self.one = int(self.tree.infoset_player[self.infoset])
        self.two = 1 - self.one
        self.I = dict.fromkeys(np.flatnonzero(self.tree.infoset == self.infoset).tolist())

    def refine(self, rng: np.random.Generator) -> Refined:
        """Return the refined strategy at I."""
        top = self.top()
        comes = any(self.reach(h) for h in self.I)  # if player 1 never does, chance alone weighs
        pi = {h: self.reach(h, comes) for block in top for h in block}
        top = [block for block in top if sum(pi[h] for h in block) > 0]
        u_star = {h: self.alternative({h: pi[h] for h in block}) for block in top for h in block}
        generated = self.generate(u_star, pi, rng)
        subgame = self.subgame([block for block in top if set(block) & set(generated)], pi, u_star)
        return Refined(self.solve(subgame), generated, u_star)

    def top(self) -> list[list[int]]:
        """Return S_top: for each of player 2's infosets I₀ that I touches, its nodes where player 1 acts."""
        acts = np.flatnonzero(self.tree.player == self.one)
        known = self.game.infoset_key(require_states(self.tree, "PlainGs2").states[acts], self.two)
        touched = np.unique(known[np.isin(acts, list(self.I))], axis=0)
        return [acts[np.all(known == key, axis=1)].tolist() for key in touched]

    def probability(self, h: int, child: int) -> float:
        """Return the probability with which chance, or σ of whoever acts at h, goes to a child."""
        tree = self.tree
        if tree.player[h] == CHANCE:
            return float(tree.chance_prob[child])
        return float(self.sigma[tree.infoset_offset[tree.infoset[h]] + child - tree.first_child[h]])

    def reach(self, h: int, by_one: bool = True) -> float:
        """Return π₋₂(h): the probability that chance, and player 1 by σ₁, lead to h; or chance alone."""
        up = int(self.tree.parent[h])
        if up < 0:
            return 1.0
        counts = self.tree.player[up] == CHANCE or (by_one and self.tree.player[up] == self.one)
        return self.reach(up, by_one) * (self.probability(up, h) if counts else 1.0)

    def children(self, h: int) -> range:
        """Return the nodes after h, one for each action."""
        return range(self.tree.first_child[h], self.tree.first_child[h] + self.tree.n_children[h])

    def payoff(self, z: int) -> float:
        """Return u₂(z)."""
        return float(self.tree.returns[np.searchsorted(self.tree.terminal, z), self.two])

    def alternative(self, block: dict[int, float]) -> float:
        """Return u*₂(σ₁ | I₀), the counterfactual best response value of an infoset with weights π₋₂."""
        return self.best(block.items()) / sum(block.values())

    def best(self, weighted: Iterable[tuple[int, float]]) -> float:
        """Return the sum of π₋₂ u₂ when player 2 replies best below histories that it cannot tell apart."""
        total, ahead = 0.0, deque(weighted)
        met: dict[int, list[tuple[int, float]]] = defaultdict(list)
        while ahead:
            h, pi = ahead.popleft()
            if self.tree.player[h] == TERMINAL:
                total += pi * self.payoff(h)
            elif self.tree.player[h] == self.two:
                met[int(self.tree.infoset[h])].append((h, pi))
            else:
                ahead.extend((child, pi * self.probability(h, child)) for child in self.children(h))
        for histories in met.values():
            actions = zip(*([(child, pi) for child in self.children(h)] for h, pi in histories), strict=True)
            total += max(self.best(after) for after in actions)
        return total

    def generate(self, u: dict[int, float], pi: dict[int, float], rng: np.random.Generator) -> list[int]:
        """Return S′_top ⊆ I: k of its histories. Only those of positive probability are chosen (C.6)."""
        own = [h for h in u if h in self.I]
        if self.k >= len(own):
            return own
        if self.generation == "random":
            return [own[i] for i in np.sort(rng.choice(len(own), size=self.k, replace=False))]
        live, dead = ([h for h in own if (pi[h] > 0) is lives] for lives in (True, False))
        if len(live) <= self.k:
            return live + [int(h) for h in rng.choice(dead, size=self.k - len(live), replace=False)]
        mixed = rng.permutation(live).tolist()  # of histories with equal values any may be chosen
        return [mixed[i] for i in diverse(np.array([u[h] for h in mixed]), self.k)]

    def subgame(self, top: list[list[int]], pi: dict[int, float], u_star: dict[int, float]) -> Node:
        """Return the root of S (Algorithm 1): player 2 picks I₀, chance a history of it, by π₋₂(h) / D."""
        root = Node(self.two, "where to enter")
        for block in top:
            D = sum(pi[h] for h in block)
            copies = [self.copy(h, u_star[h], fixed=h not in self.I) for h in block]
            root.children.append(Node(CHANCE, None, copies, [pi[h] / D for h in block]))
        return root

    def copy(self, h: int, u_star: float, fixed: bool) -> Node:
        """Return a copy of h and all below. fixed: player 1's decisions are chance's, by σ₁."""
        player = int(self.tree.player[h])
        if player == TERMINAL:
            return Node(TERMINAL, u2=self.payoff(h) - u_star)
        copies = [self.copy(child, u_star, fixed) for child in self.children(h)]
        if player == CHANCE or (player == self.one and fixed):
            return Node(CHANCE, None, copies, [self.probability(h, child) for child in self.children(h)])
        return Node(player, int(self.tree.infoset[h]), copies)

    def solve(self, root: Node) -> NDArray[np.float64]:
        """Return the strategy at I after CFR on S: predictive CFR+ as the presets have it."""
        S, number = as_tree(root, self.two)
        noise = REGRET_NOISE * float(np.abs(S.returns).max())
        cfr = PlainCfr(S, variant("pcfr+", gamma=5), noise)
        cfr.run(self.iterations)
        return np.array(cfr.table(cfr.average_policy())[number[self.infoset]])


def diverse(values: NDArray[np.float64], k: int) -> list[int]:
    """Return which k of m values are spread best: squared gaps between neighbours are least (Algorithm 2).

    cost[i] is the least sum of squared gaps up to value i, the j-th chosen one; `last` is the one before it.
    Both extremes are always chosen. The paper has k >= 2; one value is here that nearest to the middle.
    """
    order = np.argsort(values, kind="stable")
    x = values[order]
    if k == 1:
        return [int(order[np.argmin((x - x[0]) ** 2 + (x[-1] - x) ** 2)])]
    gaps = np.where(np.tri(len(x), k=-1, dtype=bool), (x[:, None] - x[None, :]) ** 2, np.inf)
    cost, lasts = np.where(np.arange(len(x)) == 0, 0.0, np.inf), []
    for _ in range(1, k):
        lasts.append(np.argmin(gaps + cost, axis=1))
        cost = np.min(gaps + cost, axis=1)
    chosen = [len(x) - 1]
    for last in reversed(lasts):
        chosen.append(last[chosen[-1]])
    return [int(order[i]) for i in reversed(chosen)]


def as_tree(root: Node, two: int) -> tuple[FlatTree, dict[Hashable, int]]:
    """Return S as arrays, breadth first, and the number of each infoset by its name."""
    nodes, parent, prob, ends = [root], [-1], [1.0], [0, 1]
    while ends[-1] > ends[-2]:
        for above in range(ends[-2], ends[-1]):
            children = nodes[above].children
            nodes += children
            parent += [above] * len(children)
            prob += nodes[above].probs or [1.0] * len(children)
        ends.append(len(nodes))
    first: dict[Hashable, Node] = {}
    for node in filter(lambda node: node.player >= 0, nodes):
        first.setdefault(node.infoset, node)
    number = {name: i for i, name in enumerate(first)}
    u2 = np.array([node.u2 for node in nodes if node.player == TERMINAL])
    tree = FlatTree.of_levels(
        np.array(parent),
        np.array([node.player for node in nodes], np.int8),
        np.array(ends[:-1]),
        np.array([len(first[name].children) for name in number]),
        infoset=np.array([number[n.infoset] if n.player >= 0 else -1 for n in nodes], np.int32),
        chance_prob=np.array(prob),
        returns=np.stack([-u2, u2] if two == 1 else [u2, -u2], axis=1),
        infoset_player=np.array([first[name].player for name in number], np.int8),
        infoset_key=np.arange(len(number), dtype=np.uint64)[:, None],
        action=np.zeros(len(nodes), np.int64),
        teams=(0, 1),
    )
    return tree.validate(), number
