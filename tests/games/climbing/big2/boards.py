"""Games of Big2 under many rules, and the slow twin's view of their states."""

from __future__ import annotations

from typing import Any

import numpy as np

from games.climbing.big2.big2 import Big2
from games.climbing.big2.card_masks import ASIDE
from games.climbing.big2.table_rows import dealt_rounds
from tests.reference.big2 import Play, Round, Table

__all__ = ["VARIANTS", "after_random", "as_names", "dealt", "play_beside", "same_round"]

VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"suit_order": "cdhs", "straights": "twos", "flushes": "suit", "bombs": "both", "double_from": 10},
    {"straights": "plain", "bombs": "quads", "must_play": True, "settling": "pairs", "triple_from": 13},
    {"straights": "ladder", "opening": "holder", "stays_out": True, "triples": False, "suit_order": "scdh"},
    {"players": 3, "opening": "first", "bombs": "both", "must_play": True, "stays_out": True},
    {"players": 2, "cards": 13, "flushes": "suit", "straights": "twos"},
    {"players": 3, "ranks": 8, "suits": 3, "cards": 7, "settling": "pairs"},
    {"players": 2, "ranks": 6, "suits": 2, "double_from": 3},
)
"""Every value of every option, over large and small decks."""


def as_names(game: Big2, mask: int) -> Play:
    """Return the cards of a mask as the slow twin has them."""
    return tuple(game.words.cards(int(mask)).split())


def dealt(game: Big2, *hands: str) -> np.ndarray:
    """Return a round that begins with these hands, [1] BIG2_STATE; cards that nobody holds are left out."""
    holders = {name: seat for seat, hand in enumerate(hands) for name in hand.split()}
    names = (game.words.cards(1 << card) for card in game.rules.deck.tolist())
    owners = np.array([[holders.get(name, ASIDE) for name in names]])
    return dealt_rounds(owners, game.rules.book())


def play_beside(game: Big2, options: dict[str, Any], state: np.ndarray) -> Round:
    """Return the slow twin of a round that begins at a dealt state."""
    hands = [set(as_names(game, state["hand"][seat])) for seat in range(game.num_players)]
    return Round(Table(**options), hands)


def same_round(game: Big2, state: np.ndarray, twin: Round) -> None:
    """Raise AssertionError unless a state and its slow twin say the same."""
    assert int(state["player"]) == (-2 if twin.turn is None else twin.turn)
    for seat, hand in enumerate(twin.hands):
        assert set(as_names(game, state["hand"][seat])) == hand
    assert as_names(game, state["beat"]) == twin.beat or twin.turn is None


def after_random(game: Big2, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the states after a random action of each."""
    actions = game.actions(states)
    pick = actions.offsets[:-1] + (rng.random(len(states)) * actions.counts).astype(np.int64)
    return game.step(states, np.arange(len(states)), actions.values[pick])
