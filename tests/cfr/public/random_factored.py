"""Random factored games: a random public tree, random private states, weights, chance and payoffs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from games import CHANCE, TERMINAL, Ragged
from games.base import TwoPlayerGame
from games.infosets.payoff_forms import FormBuilder, PayoffForms

STATE = np.dtype([("node", "i4"), ("held0", "i2"), ("held1", "i2")])
DEAL_0, DEAL_1, FIRST = 0, 1, 2


@dataclass
class PublicNode:
    """One public state.

    who: a seat, CHANCE or TERMINAL. weights: [n0, n1] by chance. children: numbers of nodes.
    chance: [n0, n1, children], where chance acts. payoff: [n0, n1] to player 0, kind: its kind, at an end.
    """

    who: int
    weights: NDArray[np.float64]
    children: list[int] = field(default_factory=list)
    chance: NDArray[np.float64] | None = None
    payoff: NDArray[np.float64] | None = None
    kind: int = -1


class RandomFactored(TwoPlayerGame):
    """A random game in which each player's one secret is dealt first.

    Some private states are never dealt, some pairs exclude each other, what chance shows depends on both, a
    move may be forced, and several ends may be of one kind.
    """

    def __init__(self, seed: int, *, depth: int = 4, width: int = 3, most_private: int = 5) -> None:
        rng = np.random.default_rng([seed, 77])
        self.name = f"random_factored(seed={seed})"
        self.n = int(rng.integers(1, most_private + 1)), int(rng.integers(2, most_private + 1))
        joint = rng.random(self.n) * (rng.random(self.n) < 0.8)
        joint.flat[rng.integers(joint.size)] += 0.5
        joint /= joint.sum()
        self.nodes: list[PublicNode] = [PublicNode(CHANCE, joint), PublicNode(CHANCE, joint)]
        self._pool = [self._payoff(rng) for _ in range(3)]
        self._kinds: dict[tuple, int] = {}
        self._rng, self._depth, self._width = rng, depth, width
        self._add(joint, 0, ())
        ends = [node for node in self.nodes if node.payoff is not None]
        most = max(float(np.abs(node.payoff[node.weights > 0]).max()) for node in ends)
        if not most:  # somebody must be paid something
            for pool in self._pool:
                pool += 1.0
            most = 1.0
        self.payoff_range = (-most, most)
        self.who = np.array([node.who for node in self.nodes], np.int8)

    def _payoff(self, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.round(rng.normal(0, 2, self.n), int(rng.integers(3)))

    def _add(self, weights: NDArray[np.float64], depth: int, shown: tuple) -> int:
        rng, number = self._rng, len(self.nodes)
        roll = rng.random()
        if depth >= self._depth or (depth >= 2 and roll < 0.15):
            pool = int(rng.integers(3))
            kind = self._kinds.setdefault((pool, shown), len(self._kinds))
            self.nodes.append(PublicNode(TERMINAL, weights, payoff=self._pool[pool], kind=kind))
            return number
        who = CHANCE if depth > 0 and roll < 0.4 else int(rng.integers(2))
        node = PublicNode(who, weights)
        self.nodes.append(node)
        count = 1 + int(rng.integers(self._width)) if depth else 2
        if who == CHANCE:
            drawn = rng.random((*self.n, count)) * (rng.random((*self.n, count)) < 0.8)
            drawn[..., 0] += drawn.sum(axis=-1) == 0
            drawn.reshape(-1, count)[np.argmax(weights)] += 0.1  # every outcome can come, with some pair
            node.chance = drawn / drawn.sum(axis=-1, keepdims=True)
        for k in range(count):
            below, seen = weights, shown
            if node.chance is not None:
                below, seen = weights * node.chance[..., k], (*shown, number, k)
            node.children.append(self._add(below, depth + 1, seen))
        return number

    def root(self) -> NDArray:
        return np.zeros(1, STATE)

    def player(self, states: NDArray) -> NDArray[np.int8]:
        return self.who[states["node"]]

    def actions(self, states: NDArray) -> Ragged:
        rows = [self._open(state) for state in states]
        return Ragged.from_counts(
            np.array([len(row) for row in rows], np.int64),
            np.concatenate([np.zeros(0, np.int64), *[np.array(row, np.int64) for row in rows]]),
        )

    def _open(self, state: np.void) -> list[int]:
        node, held = int(state["node"]), self._held(state)
        joint = self.nodes[DEAL_0].weights
        if node == DEAL_0:
            return np.flatnonzero(joint.sum(axis=1)).tolist()
        if node == DEAL_1:
            return np.flatnonzero(joint[held[0]]).tolist()
        chance = self.nodes[node].chance
        every = list(range(len(self.nodes[node].children)))
        return every if chance is None or held[0] < 0 else np.flatnonzero(chance[held]).tolist()

    @staticmethod
    def _held(state: np.void) -> tuple[int, int]:
        return int(state["held0"]) - 1, int(state["held1"]) - 1

    def chance_probs(self, states: NDArray, actions: Ragged) -> NDArray[np.float64]:
        out = np.ones(len(actions.values))
        joint = self.nodes[DEAL_0].weights
        for k, (row, action) in enumerate(zip(actions.rows, actions.values, strict=True)):
            node, held = int(states["node"][row]), self._held(states[row])
            if node == DEAL_0:
                out[k] = joint[action].sum()
            elif node == DEAL_1:
                out[k] = joint[held[0], action] / joint[held[0]].sum()
            elif self.nodes[node].chance is not None:
                out[k] = self.nodes[node].chance[(*held, action)]
        return out

    def step(self, states: NDArray, rows: NDArray[np.int64], actions: NDArray) -> NDArray:
        after = states[rows]
        for k, action in enumerate(actions):
            node = int(after["node"][k])
            if node < FIRST:
                after[f"held{node}"][k] = action + 1
                after["node"][k] = node + 1
            else:
                after["node"][k] = self.nodes[node].children[int(action)]
        return after

    def returns(self, states: NDArray) -> NDArray[np.float64]:
        paid = np.array([self.nodes[int(s["node"])].payoff[self._held(s)] for s in states])
        return np.stack([paid, -paid], axis=1).reshape(len(states), 2)

    def infoset_key(self, states: NDArray, player: int) -> NDArray[np.uint64]:
        return (
            (states["node"].astype(np.uint64) << np.uint64(16)) | states[f"held{player}"].astype(np.uint64)
        )[:, None]

    def action_text(self, state: np.void, action: np.int64) -> str:
        return f"a{int(action)}"

    def state_text(self, state: np.void) -> str:
        return f"node {int(state['node'])}, P0 holds {state['held0']}, P1 holds {state['held1']}"

    def infoset_text(self, state: np.void, player: int) -> str:
        return f"P{player} holds {state[f'held{player}']} at node {int(state['node'])}"

    def private_states(self) -> tuple[int, int]:
        return self.n

    def public_root(self) -> NDArray:
        return np.array([(FIRST, 0, 0)], STATE)

    def deal(self, states: NDArray, private0: NDArray[np.int64], private1: NDArray[np.int64]) -> NDArray:
        dealt = states.copy()
        dealt["held0"], dealt["held1"] = private0 + 1, private1 + 1
        return dealt

    def public_state(self, states: NDArray) -> NDArray:
        public = states.copy()
        public["held0"] = public["held1"] = 0
        return public

    def deal_weights(self, states: NDArray) -> NDArray[np.float64]:
        return np.stack([self.nodes[int(node)].weights for node in states["node"]])

    def payoff_kinds(self, states: NDArray) -> NDArray[np.int64]:
        return np.array([self.nodes[int(node)].kind for node in states["node"]], np.int64)


class RandomStructured(RandomFactored):
    """A random game whose payoffs have a structured form: one to three terms, with strengths that often tie.

    Weights by chance are no products: the forms list what is left of them, pair by pair.
    """

    def __init__(self, seed: int, *, depth: int = 4, most_private: int = 5) -> None:
        self._forms: list[list[tuple]] = []
        super().__init__(seed, depth=depth, most_private=most_private)
        self.name = f"random_structured(seed={seed})"

    def _payoff(self, rng: np.random.Generator) -> NDArray[np.float64]:
        terms = []
        paid = np.zeros(self.n)
        for _ in range(int(rng.integers(1, 4))):
            strengths = [rng.integers(0, int(rng.integers(1, 6)), n) for n in self.n]
            amounts = np.round(rng.normal(0, 2, 3), 1) + 0.05
            amounts[1] = amounts[[0, 1, 2][int(rng.integers(3))]]
            if rng.random() < 0.3:
                amounts[:] = amounts[0]
            terms.append((strengths, tuple(amounts.tolist())))
            paid += amounts[1 + np.sign(strengths[0][:, None] - strengths[1])]
        self._forms.append(terms)
        return paid

    def payoff_forms(self, states: NDArray) -> PayoffForms:
        builder = FormBuilder(self.n)
        for row, state in enumerate(states):
            node = self.nodes[int(state["node"])]
            weights = node.weights
            first, second = weights.sum(axis=1), weights.sum(axis=0) / max(weights.sum(), 1e-300)
            rest = weights - np.outer(first, second)
            pairs = np.argwhere(rest != 0)
            deal = builder.deal(first, second, pairs=pairs, share=rest[tuple(pairs.T)])
            which = next(k for k, paid in enumerate(self._pool) if paid is node.payoff)
            for strengths, amounts in self._forms[which]:
                builder.pay(row, deal, builder.strengths(*strengths), amounts)
        return builder.build(len(states))
