"""Random games of perfect recall as files of Gambit's, with what uniform play is worth, as they are drawn.

Every feature of the format is drawn: payoffs at inner nodes, infosets numbered by any whole numbers, equal
and empty labels, any number of players, any sum, fractions and decimals, comments, escaped quotation marks,
infosets of chance, and definitions that are left out where they were made before.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

LABELS = ("", "x", "X", "raise all", 'say "no"', "é", "a|b", "two words")


@dataclass(frozen=True)
class GambitText:
    """A file: its text, its players, what uniform play is worth to each of them, and how its payoffs sum.

    value: of uniform play, as the file has it. total: what all payoffs sum to, None if that differs.
    """

    text: str
    players: int
    value: tuple[Fraction, ...]
    total: Fraction | None


def quoted(label: str) -> str:
    return '"' + label.replace('"', '\\"') + '"'


def number(value: Fraction, rng: np.random.Generator) -> str:
    """Return a number as a fraction, or as a decimal where that is exact."""
    exact = value.denominator in (1, 2, 4, 5)
    return str(float(value)) if exact and rng.integers(2) else str(value)


class _Writer:
    """Draws a tree depth first. Who acts is drawn; the infoset is the player's own list of what it saw.

    infosets: by what is known there, (number, label, labels of actions, probabilities). outcomes: (number,
    payoffs) by what they sum to.
    """

    def __init__(self, rng: np.random.Generator, players: int, total: Fraction | None, plain: bool) -> None:
        self.rng, self.players, self.total, self.plain = rng, players, total, plain
        self.depth = int(rng.integers(1, 5))
        self.infosets: dict[tuple, tuple[int, str, list[str], list[Fraction]]] = {}
        self.outcomes: dict[Fraction | None, list[tuple[int, list[Fraction]]]] = {}
        self.lines: list[str] = []

    def outcome(self, total: Fraction | None) -> tuple[str, list[Fraction]]:
        """Return the words of an outcome, new or used again, and its payoffs, which sum to `total`."""
        rng = self.rng
        known = self.outcomes.setdefault(total, [])
        again = bool(known) and rng.integers(4) == 0
        if not again:
            pays = [
                Fraction(int(n), int(d))
                for n, d in zip(
                    rng.integers(-9, 10, self.players), rng.choice([1, 2, 3, 5], self.players), strict=True
                )
            ]
            if total is not None:
                pays[-1] += total - sum(pays)
            known.append((3 * sum(map(len, self.outcomes.values())) + 1, pays))
        which, pays = known[int(rng.integers(len(known)))] if again else known[-1]
        between = ", " if rng.integers(2) else " "
        words = f' "o" {{ {between.join(number(pay, rng) for pay in pays)} }}'
        return f"{which}{'' if again and (self.plain or rng.integers(2)) else words}", pays

    def infoset(self, known: tuple) -> tuple[str, list[Fraction]]:
        """Return the words of an infoset, with its actions where it is new, and their probabilities."""
        rng = self.rng
        new = known not in self.infosets
        if new:
            used = {entry[0] for other, entry in self.infosets.items() if other[0] == known[0]}
            free = [n for n in range(-20, 30 + len(used)) if n not in used]
            labels = [str(label) for label in rng.choice(LABELS, int(rng.integers(1, 4)))]
            weights = [int(weight) for weight in rng.integers(1, 4, len(labels))]
            weights[0] *= len(weights) == 1 or int(rng.integers(3)) > 0
            probs = [Fraction(weight, sum(weights)) for weight in weights]
            label = str(rng.choice(LABELS)) if not self.plain else ""
            self.infosets[known] = int(rng.choice(free)), label, labels, probs
        which, label, labels, probs = self.infosets[known]
        chance = known[0] < 0
        words = [f"{quoted(a)} {p}" if chance else quoted(a) for a, p in zip(labels, probs, strict=True)]
        actions = f"{quoted(label)} {{ {' '.join(words)} }}"
        return f"{which} {actions if new or rng.integers(2) else ''}", probs

    def node(self, seen: tuple[tuple, ...], level: int) -> list[Fraction]:
        """Write a node and all below it; return what uniform play pays from there on."""
        rng = self.rng
        if level == self.depth or (level and rng.integers(5) == 0):
            end, pays = self.outcome(self.total)
            self.lines.append(f't "" {end}')
            return list(pays)
        who = int(rng.integers(-1, self.players))
        words, probs = self.infoset((who, seen[who] if who >= 0 else int(rng.integers(6))))
        end, paid = "0", [Fraction()] * self.players
        if rng.integers(3) == 0:  # what is paid on the way leaves a constant sum as it is
            end, paid = self.outcome(None if self.total is None else Fraction())
        kind = "c" if who < 0 else "p"
        seat = f"{who + 1} " if who >= 0 else ""
        self.lines.append(f'{kind} "" {seat}{words} {end}')
        value = list(paid)
        for k, prob in enumerate(probs):
            after = []
            for seat in range(self.players):
                shown = int(rng.integers(3))
                own = seat == who
                new: tuple = (("saw", who, k if shown == 2 else -1),) if shown else ()
                after.append((*seen[seat], *((("own", k),) if own else new)))
            below = self.node(tuple(after), level + 1)
            share = prob if who < 0 else Fraction(1, len(probs))
            value = [a + share * b for a, b in zip(value, below, strict=True)]
        return value


def random_efg(seed: int, *, plain: bool = False) -> GambitText:
    """Return a random file: zero-sum, constant-sum or general-sum, for one to four players.

    plain: no infoset has a label and no outcome is defined again: pygambit refuses a label that two infosets
    of a player share, and 7/5 where 1.4 stood before.
    """
    rng = np.random.default_rng([37, seed])
    players = int(rng.choice([1, 2, 2, 2, 3, 4]))
    total = [Fraction(0), Fraction(7, 2), None][int(rng.integers(3))]
    writer = _Writer(rng, players, total, plain)
    value = writer.node(((),) * players, 0)
    names = " ".join(quoted(str(label)) for label in rng.choice(LABELS, players))
    comment = '"a comment\nof two lines"\n' if rng.integers(2) else ""
    head = f"EFG 2 {rng.choice(['R', 'D'])} {quoted('a title')} {{ {names} }}\n{comment}"
    return GambitText(head + "\n".join(writer.lines) + "\n", players, tuple(value), total)


def random_nfg(seed: int) -> GambitText:
    """Return a random strategic game, as payoffs or as outcomes, for two or three players."""
    rng = np.random.default_rng([38, seed])
    players = int(rng.integers(2, 4))
    sizes = [int(size) for size in rng.integers(1, 4, players)]
    cells = int(np.prod(sizes))
    total = [Fraction(0), Fraction(7, 2), None][int(rng.integers(3))]
    by_outcome = bool(rng.integers(2))
    drawn = rng.integers(-5, 6, (cells, players))
    rows = [[Fraction(int(n), 2) for n in row] for row in drawn]
    if total is not None:
        rows = [[*row[:-1], total - sum(row[:-1])] for row in rows]
    numbers = list(range(1, cells + 1))
    if by_outcome and total is None:
        numbers = [int(n) for n in rng.integers(0, cells + 1, cells)]  # 0 stands for none
    named = [quoted(str(label)) for label in rng.choice(LABELS, sum(sizes))]
    strategies = " ".join(map(str, sizes))
    if by_outcome or rng.integers(2):
        parts = np.split(np.array(named, object), np.cumsum(sizes)[:-1])
        strategies = " ".join("{ " + " ".join(part) + " }" for part in parts)
    if by_outcome:
        listed = " ".join('{ "o" ' + ", ".join(number(pay, rng) for pay in row) + " }" for row in rows)
        body = "{ " + listed + " }\n" + " ".join(map(str, numbers))
        rows = [rows[n - 1] if n else [Fraction()] * players for n in numbers]
    else:
        body = "\n".join(" ".join(number(pay, rng) for pay in row) for row in rows)
    comment = '"a comment"' if rng.integers(2) else ""
    names = " ".join(quoted(f"player {seat}") for seat in range(players))
    text = f'NFG 1 R "a title" {{ {names} }} {{ {strategies} }}\n{comment}\n{body}\n'
    value = tuple(sum((row[seat] for row in rows), Fraction()) / cells for seat in range(players))
    return GambitText(text, players, value, total)
