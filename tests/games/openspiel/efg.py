"""Games given as nodes as files of OpenSpiel's `efg_game` (Gambit's format), which do not say who waits."""

from __future__ import annotations

from pathlib import Path

from games import CHANCE, TERMINAL
from tests.games.random_games import Node, NodeGame

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


def efg_of(game: NodeGame) -> tuple[str, list[Node]]:
    """Return a game as the text of a file, and its nodes in the order of the file."""
    nodes: list[Node] = []
    numbers: tuple[dict[tuple, int], dict[tuple, int]] = ({}, {})
    lines = ['EFG 2 R "random" { "A" "B" }']
    stack = [0]
    while stack:
        at = stack.pop()
        node = game.nodes[at]
        nodes.append(node)
        children = range(game.first[at], game.first[at] + node.count)
        labels = [f'"{chr(97 + i)}"' for i in range(node.count)]
        if node.who == TERMINAL:
            lines.append(f't "" {len(nodes)} "" {{ {node.payoff}, {-node.payoff} }}')
        elif node.who == CHANCE:
            weights = [1 + round(100 * game.nodes[child].prob) for child in children]
            odds = " ".join(f"{a} {w}/{sum(weights)}" for a, w in zip(labels, weights, strict=True))
            lines.append(f'c "" {len(nodes)} "" {{ {odds} }} 0')
        else:
            of = numbers[node.who]
            number = of.setdefault(node.known[node.who], len(of) + 1)
            lines.append(f'p "" {node.who + 1} {number} "" {{ {" ".join(labels)} }} 0')
        stack += reversed(children)
    return "\n".join(lines) + "\n", nodes


def saved(text: str, folder: Path) -> str:
    """Write a file and return its game string."""
    path = folder / "random.efg"
    path.write_text(text)
    return f"openspiel:efg_game(filename={path})"
