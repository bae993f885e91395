"""What a network with a head for hands knows of the others' cards in DouDiZhu and Big2.

    cards = hidden_cards(move_inputs(load_game("big2")))
    found = hands_known(network, cards, states, seats, rng)

Cards that are alike are of one sort: the 15 ranks of DouDiZhu, the 52 cards of Big2. The head says for each
bit of the others' hands whether it is set. Its expected copies of a sort, as shares, are the odds of who
holds one.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from blueprint.climbing.move_inputs import MoveInputs
from blueprint.layers.fast_moves import FastMoves
from games.climbing.big2.big2 import Big2
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.support.array_types import Array, Ints

__all__ = ["HiddenCards", "drawn_hands", "hands_known", "hidden_cards"]

Values = NDArray[np.float64]
DRAWS = 4
"""Deals that the fewest turns of a hand are guessed from."""
RANKS = 15


class HiddenCards(Protocol):
    """How the bits of a game's hidden hands are cards. sorts: of cards; others: seats that are hidden."""

    sorts: int
    others: int

    def copies(self, bits: Array) -> Values:
        """Return the copies of each sort, [.., others, sorts], from bits or their odds [.., hidden_bits]."""
        ...

    def bombs(self, odds: Values, unseen: Ints) -> Values:
        """Return expected bombs of each hand, [n, others], were every copy dealt by itself by these odds.

        odds: [n, others, sorts]; unseen: [n, sorts] copies.
        """
        ...

    def held_bombs(self, held: Ints) -> Ints:
        """Return the bombs of hands, [..] from [.., sorts]: ranks held whole, and both jokers."""
        ...

    def turns(self, held: Ints) -> int:
        """Return about how many turns a hand, [sorts], takes."""
        ...


class _DouDizhuCards:
    sorts, others = RANKS, 2

    def copies(self, bits: Array) -> Values:
        each = np.asarray(bits).reshape(*np.shape(bits)[:-1], self.others, 54)
        plain = each[..., :52].reshape(*each.shape[:-1], 13, 4).sum(-1)
        found: Values = np.concatenate([plain, each[..., 52:]], -1)
        return found

    def bombs(self, odds: Values, unseen: Ints) -> Values:
        fours = (odds[..., :13] ** 4 * (unseen[:, None, :13] == 4)).sum(-1)
        both = odds[..., 13] * odds[..., 14] * (unseen[:, None, 13:].sum(-1) == 2)
        found: Values = fours + both
        return found

    def held_bombs(self, held: Ints) -> Ints:
        found: Ints = (held[..., :13] == 4).sum(-1) + (held[..., 13:].sum(-1) == 2)
        return found

    def turns(self, held: Ints) -> int:
        from blueprint.climbing.doudizhu.doudizhu_turns import turns_to_shed
        from games.climbing.doudizhu.multiset import pack_ranks

        return turns_to_shed(int(pack_ranks(held)))


class _Big2Cards:
    sorts, others = 52, 3

    def __init__(self, game: Big2) -> None:
        self.game = game

    def copies(self, bits: Array) -> Values:
        found: Values = np.asarray(bits).reshape(*np.shape(bits)[:-1], self.others, self.sorts)
        return found

    def bombs(self, odds: Values, unseen: Ints) -> Values:
        fours = odds.reshape(*odds.shape[:-1], 13, 4).prod(-1)
        whole = unseen.reshape(-1, 1, 13, 4).sum(-1) == 4
        found: Values = (fours * whole).sum(-1)
        return found

    def held_bombs(self, held: Ints) -> Ints:
        found: Ints = (held.reshape(*held.shape[:-1], 13, 4).sum(-1) == 4).sum(-1)
        return found

    def turns(self, held: Ints) -> int:
        from blueprint.climbing.big2.big2_turns import big2_turns_to_shed

        return big2_turns_to_shed(self.game, sum(1 << int(card) for card in np.flatnonzero(held)))


def hidden_cards(inputs: MoveInputs) -> HiddenCards:
    """Return how a game's hidden bits are cards."""
    game = inputs.game
    if isinstance(game, DouDizhu):
        return _DouDizhuCards()
    assert isinstance(game, Big2)
    return _Big2Cards(game)


def drawn_hands(odds: Values, held: Ints, rng: np.random.Generator) -> Ints:
    """Return hands of the true sizes that are drawn by odds, [others, sorts], of one decision.

    One seat after another takes its number of the copies that are left, each likelier by the odds that it
    rather than a later seat holds it (successive draws, by exponential clocks). odds, held: [others, sorts].
    """
    copies = np.repeat(np.arange(held.shape[1]), held.sum(0))
    found = np.zeros_like(held)
    for k in range(len(held) - 1):
        here, later = odds[k, copies], odds[k + 1 :, copies].sum(0)
        clock = rng.exponential(size=len(copies)) * np.maximum(later, 1e-9) / np.maximum(here, 1e-9)
        order = np.argsort(clock, kind="stable")
        size = int(held[k].sum())
        np.add.at(found[k], copies[order[:size]], 1)
        copies = copies[order[size:]]
    np.add.at(found[-1], copies, 1)
    return found


def hands_known(
    network: FastMoves, cards: HiddenCards, states: Array, seats: Ints, rng: np.random.Generator
) -> dict[str, tuple[Values, Values]]:
    """Return by measure what the model and the numbers of cards alone come to at each decision, [n] each.

    states: [n] contiguous, each with hidden cards. seats: [n] whose eyes.
    """
    inputs = network.inputs
    rows = np.arange(len(seats))
    bits = np.empty((len(seats), inputs.hidden_bits), np.uint8)
    inputs.write_hidden(states, rows, seats, bits)
    held = cards.copies(bits).astype(np.int64)
    told = 1 / (1 + np.exp(-network.log_odds(states, rows, seats).astype(np.float64)))
    expected = cards.copies(told) + 1e-9
    known = expected / expected.sum(1, keepdims=True)
    sizes = held.sum(2)
    even = np.repeat((sizes / sizes.sum(1, keepdims=True))[:, :, None], cards.sorts, 2)
    unseen = held.sum(1)
    total, bombs = unseen.sum(1), cards.held_bombs(held)
    turns = np.array([[cards.turns(hand) for hand in hands] for hands in held])
    sides = []
    for odds in (known, even):
        nats = -(np.log(np.maximum(odds, 1e-12)) * held).sum((1, 2)) / total
        best = np.take_along_axis(held, odds.argmax(1)[:, None], 1)[:, 0].sum(1) / total
        missed = np.abs(cards.bombs(odds, unseen) - bombs).mean(1)
        guess = np.array([_guessed(cards, odds[k], held[k], rng) for k in rows])
        sides.append((nats, best, missed, np.abs(guess - turns).mean(1)))
    names = ("nats a hidden card", "cards whose likeliest holder is right", "bombs a hand, off by")
    return {
        name: (sides[0][k], sides[1][k]) for k, name in enumerate((*names, "fewest turns of a hand, off by"))
    }


def _guessed(cards: HiddenCards, odds: Values, held: Ints, rng: np.random.Generator) -> Values:
    """Return the mean turns of the hands that deals by these odds give, [others]."""
    deals = [drawn_hands(odds, held, rng) for _ in range(DRAWS)]
    found: Values = np.mean([[cards.turns(hand) for hand in deal] for deal in deals], axis=0)
    return found
