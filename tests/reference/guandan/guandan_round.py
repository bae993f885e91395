"""The round written from the rules with lists and loops: whose turn, trick ends, finishing order, payoffs."""

from __future__ import annotations


class Round:
    """A round in which the caller says which cards are played; hands are lists of card names."""

    def __init__(self, hands: list[list[str]], first: int) -> None:
        self.hands = [sorted(hand) for hand in hands]
        self.player: int | None = first
        self.best: tuple[int, object] | None = None  # who played the action to beat, and what it is
        self.waiting: list[int] = []  # who still has to answer it
        self.finished: list[int] = []

    def after(self, seat: int) -> list[int]:
        """Return the other seats that still hold cards, in turn order."""
        return [q % 4 for q in range(seat + 1, seat + 4) if self.hands[q % 4]]

    def play(self, move: object, cards: list[str]) -> None:
        """Let the player pass (no cards) or play."""
        seat = self.player
        assert seat is not None
        if cards:
            for card in cards:
                self.hands[seat].remove(card)
            self.best = (seat, move)
            self.waiting = self.after(seat)
            if not self.hands[seat]:
                self.finished.append(seat)
                if (seat + 2) % 4 in self.finished:
                    self.finished += [q for q in range(4) if q not in self.finished]
                    self.player = None
                    return
        else:
            assert self.best is not None
            self.waiting.remove(seat)
        if self.waiting:
            self.player = self.waiting[0]
        else:
            winner = self.best[0]
            self.player = winner if self.hands[winner] else (winner + 2) % 4
            self.best = None

    def payoffs(self) -> list[int]:
        """Return each seat's payoff at the end."""
        first = self.finished[0]
        gain = {1: 3, 2: 2, 3: 1}[self.finished.index((first + 2) % 4)]
        return [gain if seat % 2 == first % 2 else -gain for seat in range(4)]
