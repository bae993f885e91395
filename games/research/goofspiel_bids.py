"""Bids of Goofspiel that a player has not seen, from the results that it has."""

from __future__ import annotations

__all__ = ["answering_bids"]


def answering_bids(bids: list[tuple[int, str]], cards: int) -> list[int] | None:
    """Return different cards for the other player that explain the results of these bids, if any do.

    bids: card and result of each turn, won, lost or tied. cards: the highest.
    Each result allows an interval of cards; going up through the cards, the interval that ends first is
    served first, which finds an assignment whenever there is one.
    """
    spans = []
    for bid, result in bids:
        spans.append({"won": (1, bid - 1), "lost": (bid + 1, cards), "tied": (bid, bid)}[result])
    chosen = [0] * len(bids)
    for card in range(1, cards + 1):
        open_spans = [
            (high, turn) for turn, (low, high) in enumerate(spans) if low <= card and not chosen[turn]
        ]
        if open_spans:
            high, turn = min(open_spans)
            if card > high:
                return None
            chosen[turn] = card
    return chosen if all(chosen) else None
