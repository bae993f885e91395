"""Random positions that reach the rare moves: few ranks, few suits, every number of wild cards."""

from __future__ import annotations

import numpy as np

from games.guandan.cards import CARD_NAMES, NUM_CARDS, RANKS, TYPE_NAMES, unpack
from games.guandan.matches.lockstep import CardDecisions
from tests.reference.guandan.guandan_moves import Move


def random_hand(rng: np.random.Generator, level: int, wilds: int, size: int) -> np.ndarray:
    """Return counts [54] of a hand with exactly `wilds` wild cards, the rest from a wide or narrow pool."""
    pool = np.arange(NUM_CARDS)
    style = rng.integers(4)
    if style == 1:  # a few ranks in a row: bombs, tubes, plates
        start = rng.integers(0, 13)
        ranks = (start + np.arange(rng.integers(4, 7))) % 13
        pool = np.concatenate([4 * r + np.arange(4) for r in ranks] + [[52, 53]])
    elif style == 2:  # two suits: straight flushes
        suits = rng.choice(4, 2, replace=False)
        pool = np.concatenate([4 * np.arange(13) + s for s in suits] + [[52, 53]])
    pool = pool[pool != 4 * level]
    deck = np.repeat(pool, 2)
    chosen = rng.choice(deck, min(size - wilds, len(deck)), replace=False)
    counts = np.bincount(chosen, minlength=NUM_CARDS)
    counts[4 * level] = wilds
    return counts.astype(np.uint8)


def random_cards(due: CardDecisions, rng: np.random.Generator) -> np.ndarray:
    """Return a tribute or return card for each decision, [k], uniformly among its options."""
    return np.where(due.options, rng.random(due.options.shape), -1.0).argmax(1)


def names(counts: np.ndarray) -> list[str]:
    """Return the card names of counts [54]."""
    return [CARD_NAMES[c] for c in np.flatnonzero(counts) for _ in range(counts[c])]


_WORD = {name: (1 << 2 * c if c < 28 else 1 << 64 + 2 * (c - 28)) for c, name in enumerate(CARD_NAMES)}


def move_id(move: Move) -> tuple[int, int, int]:
    """Return a reference move as (type, rank code, cards as one integer)."""
    kind, rank, cards = move
    return (
        TYPE_NAMES.index(kind),
        RANKS.index(rank) if rank != "PASS" else 0,
        sum(_WORD[card] for card in cards),
    )


def action_ids(actions: np.ndarray) -> list[tuple[int, int, int]]:
    """Return actions as tuples that compare with `move_id`."""
    return [
        (t, r, lo | hi << 64)
        for t, r, lo, hi in zip(
            *(actions[name].tolist() for name in ("type", "rank", "lo", "hi")), strict=True
        )
    ]


def cards_of(action: np.ndarray) -> np.ndarray:
    """Return the counts [54] of one action's cards."""
    return unpack(np.array([action["lo"], action["hi"]], np.uint64))
