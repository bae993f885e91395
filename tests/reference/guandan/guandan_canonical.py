"""The canonical choice as a cost to be least, written from its description; cards are names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.reference.guandan.guandan_moves import SEQUENCE, Move


def needs(hand: list[str], level: str) -> dict[str, int]:
    """Return what each natural card is worth to the straight flushes that the hand can make."""
    wild = "H" + level
    natural = {card for card in hand if card != wild}
    worth: Counter[str] = Counter()
    for suit in "HSCD":
        for start in range(10):
            cards = {suit + rank for rank in SEQUENCE[start : start + 5]}
            held = cards & natural
            if len(held) + hand.count(wild) >= 5:
                for card in held:
                    worth[card] += {5: 36, 4: 6, 3: 1}[len(held)]
    return dict(worth)


def cost(move: Move, hand: list[str], level: str, worth: dict[str, int]) -> tuple[int, int]:
    """Return (wild cards spent, sum of `needs` over the natural cards, a spare copy being free)."""
    kind, _, cards = move
    wild = "H" + level
    held, spent = Counter(hand), Counter(cards)
    total = 0
    for card, copies in spent.items():
        if card != wild:
            free = 1 if held[card] == 2 else 0
            total += max(0, copies - free) * worth.get(card, 0)
            if kind == "StraightFlush":
                alike = sum(n for name, n in held.items() if name[1] == card[1] and name != wild)
                total += 216 if alike == 4 else 36 if alike > 4 else 0
    return spent[wild], total


def effect(move: Move, level: str) -> tuple[str, ...]:
    """Return what a canonical list tells apart: type, rank, size of a bomb, rank of a full house's pair."""
    kind, rank, cards = move
    if kind == "Bomb":
        return kind, rank, str(len(cards))
    if kind == "ThreeWithTwo":
        others = {card[1] for card in cards if card != "H" + level and card[1] != rank}
        return kind, rank, others.pop() if others else level
    return kind, rank


def least_costs(moves: Iterable[Move], hand: list[str], level: str) -> dict[tuple[str, ...], tuple[int, int]]:
    """Return the least cost of each effect among some moves."""
    worth = needs(hand, level)
    least: dict[tuple[str, ...], tuple[int, int]] = {}
    for move in moves:
        key, price = effect(move, level), cost(move, hand, level, worth)
        least[key] = min(least.get(key, price), price)
    return least
