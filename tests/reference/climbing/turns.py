"""Minimum combinations and pruning, by trying every choice in plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement

from games.climbing.big2.big2 import Big2
from games.climbing.doudizhu.multiset import RANK_LETTERS, cards_text

CHAIN = RANK_LETTERS[:12]


def slow_doudizhu_turns(packed: int) -> int:
    """Return the fewest turns of a packed hand: every set of chains, the rest by rank."""
    return _over_chains(Counter(cards_text(packed)), 0, 0)


def _over_chains(held: Counter[str], after: int, carriers: int) -> int:
    found = _by_rank(held, carriers)
    shapes = [(3, 2), (2, 3), (1, 5)]
    chains = [(copies, first, shortest) for copies, shortest in shapes for first in range(12)]
    for number in range(after, len(chains)):
        copies, first, shortest = chains[number]
        for links in range(shortest, 13 - first):
            ranks = CHAIN[first : first + links]
            if any(held[rank] < copies for rank in ranks):
                break
            rest = Counter(held)
            for rank in ranks:
                rest[rank] -= copies
            found = min(found, 1 + _over_chains(rest, number, carriers + (links if copies == 3 else 0)))
    return found


def _by_rank(held: Counter[str], carriers: int) -> int:
    groups = [held[rank] for rank in RANK_LETTERS[:13] if held[rank]]
    jokers = held["B"] + held["R"]
    kickers = sum(group < 3 for group in groups) + (jokers == 1)
    return len(groups) + (jokers > 0) - min(carriers + groups.count(3), kickers)


def slow_big2_turns(game: Big2, mask: int) -> int:
    """Return about how many turns a hand of Big2 takes, by the same rules of thumb."""
    cards = [c for c in range(52) if mask >> c & 1]
    counts = Counter(c // 4 for c in cards)
    found = _straights(game, counts, 2)
    for suit in range(4):
        own = [c for c in cards if c % 4 == suit]
        if len(own) > 4:
            order = {1: 0, 3: 1, 2: 2, 4: 3}
            own.sort(key=lambda c: (order[counts[c // 4]], c))
            left = Counter(counts)
            left.subtract(c // 4 for c in own[:5])
            found = min(found, 1 + _straights(game, left, 1))
    return found


def _straights(game: Big2, counts: Counter[int], most: int) -> int:
    best = 99
    for number in range(most + 1):
        for rows in combinations_with_replacement(game.rules.straight_rows, number):
            left = Counter(counts)
            for row in rows:
                left.subtract(row)
            if min(left.values(), default=0) >= 0:
                best = min(best, number + _groups(game, left))
    return best


def _groups(game: Big2, counts: Counter[int]) -> int:
    of = Counter(counts.values())
    full, fifth = min(of[3], of[2]), min(of[4], of[1])
    triples = of[3] - full
    alone = triples if game.rules.triples else 2 * triples
    # a full house, a four with a single, two pairs of a four, and what is left
    return full + fifth + 2 * (of[4] - fifth) + (of[1] - fifth) + (of[2] - full) + alone


def kept_by_turns(turns: list[int], always: list[bool], margin: int, cards: int, fewest: int) -> list[bool]:
    """Return which moves stay, by the turns that each leaves. fewest: cards that any seat holds."""
    limit = min(turns) + margin + cards // fewest - 1
    return [one or count <= limit for one, count in zip(always, turns, strict=True)]
