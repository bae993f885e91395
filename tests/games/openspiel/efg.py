"""Random two-player games of perfect recall as files of OpenSpiel's `efg_game` (Gambit's format).

A player's infoset is its own list of what it saw: what it did itself, and of the moves of others and of
chance either all, or nothing, or that there was one. Who moves next may depend on anything, hidden moves
included, so a player need not know how often, or whether, the other one moved: histories of one infoset lie
at different depths unless `public_order` is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

HIDDEN_MOVE = """EFG 2 R "hidden move" { "P1" "P2" }
c "" 1 "" { "move" 1/2 "none" 1/2 } 0
p "" 2 1 "" { "L" "R" } 0
p "" 1 1 "" { "a" "b" } 0
t "" 1 "" { 0, 0 }
t "" 2 "" { 4, -4 }
p "" 1 1 "" { "a" "b" } 0
t "" 3 "" { 2, -2 }
t "" 4 "" { 0, 0 }
p "" 1 1 "" { "a" "b" } 0
t "" 5 "" { 3, -3 }
t "" 6 "" { 0, 0 }
"""
"""Eleven nodes in which player 0 cannot tell whether player 1 moved. Source: made by an outside examiner of
gs2 to show a certificate that forgot the third history of player 0's only infoset."""


@dataclass
class Node:
    """A history: who acts (0, 1, -1 chance, -2 the end), its children, and what each player saw so far."""

    player: int
    seen: tuple[tuple, tuple]
    depth: int
    children: list[Node] = field(default_factory=list)
    payoff: float = 0.0


@dataclass
class RandomGame:
    """A random game: its nodes in the order of its file, and the file's text."""

    nodes: list[Node]
    text: str

    def save(self, folder: Path) -> str:
        """Write the file and return its name as a game string."""
        path = folder / "random.efg"
        path.write_text(self.text)
        return f"openspiel:efg_game(filename={path})"


def random_efg(
    rng: np.random.Generator, *, public_order: bool = False, max_nodes: int = 400, max_depth: int = 7
) -> RandomGame:
    """Return a random game of perfect recall.

    public_order: let the depth decide who moves, and every player notice every move, seen or not.
    """
    actions: dict[object, int] = {}
    order = rng.permutation([0, 1, -1] * max_depth)

    def children(node: Node) -> int:
        # The number of actions belongs to the infoset: where one's own list is the same, so is the number.
        name = (node.player, node.seen[node.player] if node.player >= 0 else rng.random())
        return actions.setdefault(name, int(rng.integers(2, 4)))

    root = Node(int(order[0]), ((), ()), 0)
    if root.player == -1 and rng.random() < 0.3:
        root.player = int(rng.integers(2))
    frontier, count = [root], 1
    while frontier:
        node = frontier.pop(int(rng.integers(len(frontier))) if not public_order else 0)
        wide = children(node)
        shown = [str(rng.choice(["all", "none", "some"])) for _ in range(2)]
        for taken in range(wide):
            seen = []
            for player in range(2):
                mine = node.seen[player]
                if player == node.player:
                    seen.append((*mine, ("own", taken)))
                elif shown[player] == "all":
                    seen.append((*mine, ("saw", node.player, taken)))
                elif shown[player] == "some" or public_order:
                    seen.append((*mine, ("heard",)))
                else:
                    seen.append(mine)
            child = Node(-2, (seen[0], seen[1]), node.depth + 1)
            node.children.append(child)
            count += 1
            ends = child.depth >= max_depth or count + len(frontier) * 3 > max_nodes
            if public_order:
                child.player = -2 if ends else int(order[child.depth])
            elif not ends and rng.random() < 0.85:
                child.player = int(rng.choice([0, 1, -1], p=[0.4, 0.4, 0.2]))
            if child.player == -2:
                child.payoff = float(rng.integers(-5, 6))
            else:
                frontier.append(child)
    return _written(root, rng)


def _written(root: Node, rng: np.random.Generator) -> RandomGame:
    nodes: list[Node] = []
    numbers: tuple[dict[tuple, int], dict[tuple, int]] = ({}, {})
    lines = ['EFG 2 R "random" { "A" "B" }']
    stack = [root]
    while stack:
        node = stack.pop()
        nodes.append(node)
        labels = [f'"{chr(97 + i)}"' for i in range(len(node.children))]
        if node.player == -2:
            pay = int(node.payoff)
            lines.append(f't "" {len(nodes)} "" {{ {pay}, {-pay} }}')
        elif node.player == -1:
            weights = rng.integers(1, 4, len(labels))
            odds = " ".join(f"{a} {w}/{weights.sum()}" for a, w in zip(labels, weights, strict=True))
            lines.append(f'c "" {len(nodes)} "" {{ {odds} }} 0')
        else:
            of = numbers[node.player]
            number = of.setdefault(node.seen[node.player], len(of) + 1)
            lines.append(f'p "" {node.player + 1} {number} "" {{ {" ".join(labels)} }} 0')
        stack += reversed(node.children)
    return RandomGame(nodes, "\n".join(lines) + "\n")
