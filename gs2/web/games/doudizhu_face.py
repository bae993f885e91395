"""How DouDiZhu looks on the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.climbing.doudizhu_turns import turns_to_shed
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import KIND_NAMES, NUM_MOVES, move_number, move_table
from games.climbing.doudizhu.multiset import RANK_LETTERS, cards_text, read_multiset
from games.climbing.doudizhu.round_state import CALLS, NO_SEAT
from games.game import CHANCE, GameError
from games.support.array_types import Array
from gs2.web.games.card_face import Face, fewest_moves, seen_plays
from gs2.web.games.game_round import GameRound

Data = dict[str, Any]
JOKERS = {"B": "SB", "R": "HR"}
"""The jokers by the names of the deck's pictures."""
GUARDS = 0x0888_8888_8888_8888
"""A free bit above each rank's number in a packed hand."""


class DouDizhuFace(Face):
    """DouDiZhu: suits decide nothing, so the page's are given as cards come to be seen.

    A rank's suits are in an order of the round's own. Whoever looks gives them away in it: first to the own
    cards, then to the bottom, then to what the others play, where the landlord's are the bottom's as long as
    there are any. So the same card keeps its suit, and no suit says anything of a hand.
    """

    game: DouDizhu

    def seen(self, played: GameRound, seat: int | None, hands: bool = False) -> Data:
        row = played.state[0]
        landlord = int(row["landlord"])
        held, bottom, cards = self._cards(played, range(3) if hands else () if seat is None else (seat,))
        shown = hands or played.over
        beats = [bool(state["beat"][0]) for state in played.states]
        steps = zip(played.players, played.taken, strict=True)
        called = [(who, int(move[0]) - CALLS) for who, move in steps if who != CHANCE]
        calls = [[who, call] for who, call in called if call >= 0]
        return {
            "deck": dict.fromkeys(RANK_LETTERS[: self.game.ranks], 4) | dict.fromkeys(JOKERS, 1),
            "hands": [cards if who == seat or shown else None for who, cards in enumerate(held)],
            "rest": [int(one) for one in row["left"]],
            **seen_plays(played, cards, self.kinds(played.history()), beats),
            "suits": "",
            "landlord": None if landlord == NO_SEAT else landlord,
            "bottom": bottom,
            "calls": calls,
            "bid": int(row["bid"]),
            "bombs": int(row["bombs"]),
            "counts_bombs": self.game.scoring == "points",
            "spring": self._sprung(played),
            "springs": self.game.spring,
        }

    def points(self, played: GameRound) -> list[float]:
        """Return the payoffs; but a landlord of fixed seat gets what both farmers pay, as at any table."""
        if self.game.scoring != "points":
            return played.payoffs
        return [float(one) for one in self.game.points(played.state)[0]]

    def unit(self, state: Array, seat: int) -> float:
        """Return the factor: a landlord of fixed seat is paid by one farmer alone."""
        alone = not self.game.by_bid and self.game.scoring == "points"
        return 2.0 if alone and int(state["landlord"][0]) == seat else 1.0

    def _sprung(self, played: GameRound) -> bool:
        """Return whether a side that never got to play doubled the stake, or a landlord that played once."""
        row = played.state[0]
        counted = self.game.spring and self.game.scoring == "points"
        if not played.over or not counted or row["landlord"] == NO_SEAT:
            return False
        plain = 2.0 * max(int(row["bid"]), 1) * 2 ** int(row["bombs"])
        return bool(abs(self.game.points(played.state)[0][int(row["landlord"])]) > plain)

    def _cards(
        self, played: GameRound, own: Sequence[int]
    ) -> tuple[list[list[str]], list[str] | None, list[list[str]]]:
        """Return the hands, the bottom (None while it is hidden) and the cards of every step, by name.

        own: seats whose cards the viewer has seen since the deal: one's own, or all. Hands of others are
        whole when the round is over; before that they are not to be shown.
        """
        suits = _Suits(played)
        row = played.state[0]
        landlord = int(row["landlord"])
        below = cards_text(int(row["bottom"]))
        hands: list[list[str]] = [[], [], []]
        for seat in own:
            packed = int(row["hand"][seat]) + int(row["played"][seat])
            hands[seat] = suits.take(cards_text(packed - (int(row["bottom"]) if seat == landlord else 0)))
        hidden = landlord == NO_SEAT and not played.over
        bottom = None if hidden else suits.take(below)
        known = list(bottom or ()) if landlord not in own else []
        if bottom is not None and landlord in own:
            hands[landlord] += bottom
        steps: list[list[str]] = []
        for at, (who, action) in enumerate(zip(played.players, played.taken, strict=True)):
            if who == CHANCE or action[0] >= NUM_MOVES:
                steps.append([])
                continue
            letters = played.words(at) if action[0] else ""
            if who in own:
                steps.append(_removed(hands[who], letters, played.marked.get(at)))
            else:
                steps.append(suits.reveal(letters, known if who == landlord else []))
        if played.over:
            # what the landlord still holds of the bottom comes first, or another would be given its suits
            for who in sorted({0, 1, 2} - set(own), key=lambda who: who != landlord):
                rest = cards_text(int(row["hand"][who]))
                hands[who] = suits.reveal(rest, known if who == landlord else [])
        return [_sorted(hand) for hand in hands], bottom, steps

    def spoken(self, legal: Array) -> bool:
        return bool((legal >= CALLS).all())

    def action_of(self, played: GameRound, cards: list[str]) -> int | None:
        try:
            return move_number("".join(map(_letter, cards))) or None
        except GameError:
            return None

    def cards_of(self, text: str, hand: list[str]) -> list[str]:
        return _removed(list(hand), text, None)

    def too_low(self, greater: list[Any]) -> str:
        return greater[0] if greater[0] in ("rocket", "bomb") else "kind"

    def kinds(self, legal: Array) -> list[str]:
        codes = self.game.action_type(legal)
        return [KIND_NAMES[code] if code < len(KIND_NAMES) else "call" for code in codes]

    def moves(self, hand: list[str]) -> list[list[str]]:
        held = list(hand)
        moves = doudizhu_moves(read_multiset("".join(map(_letter, hand))))
        return [_removed(held, letters, None) for letters in moves]

    def marks(self, played: GameRound, index: int, cards: list[str]) -> list[str] | None:
        if not cards:
            return None
        letters = self.game.action_text(played.state[0], played.legal[index])
        held = self._cards(played, (played.player,))[0][played.player]
        chosen = "".join(sorted((_letter(card) for card in cards), key=RANK_LETTERS.index))
        if chosen != letters or not set(cards) <= set(held) or len(set(cards)) < len(cards):
            raise GameError(f"{self.game.name}: these cards must make {letters}; got {' '.join(cards)[:80]}")
        return cards


def _letter(card: str) -> str:
    return {name: letter for letter, name in JOKERS.items()}.get(card, card[-1:])


def _sorted(cards: list[str]) -> list[str]:
    return sorted(cards, key=lambda card: (RANK_LETTERS.index(_letter(card)), card))


def _removed(held: list[str], letters: str, chosen: list[str] | None) -> list[str]:
    """Return the cards that a play takes out of a hand: those chosen, or the first ones of each rank."""
    if chosen is None or not set(chosen) <= set(held):
        left = list(held)
        chosen = []
        for letter in letters:
            chosen.append(next(card for card in left if _letter(card) == letter))
            left.remove(chosen[-1])
    for name in chosen:
        held.remove(name)
    return _sorted(chosen)


class _Suits:
    """Gives suits to cards of a round in the order in which somebody comes to see them."""

    def __init__(self, played: GameRound) -> None:
        rng = np.random.default_rng([played.seed, played.number])
        self.order = {letter: rng.permutation(list("SHCD")) for letter in RANK_LETTERS}
        self.given = dict.fromkeys(RANK_LETTERS, 0)

    def take(self, letters: str) -> list[str]:
        """Return cards of these ranks that nobody has seen yet."""
        found = []
        for letter in letters:
            if letter in JOKERS:
                found.append(JOKERS[letter])
                continue
            found.append(f"{self.order[letter][self.given[letter]]}{letter}")
            self.given[letter] += 1
        return found

    def reveal(self, letters: str, known: list[str]) -> list[str]:
        """Return cards of these ranks, those of `known` first, which lose them."""
        found = []
        for letter in letters:
            name = next((card for card in known if _letter(card) == letter), None)
            if name is None:
                found += self.take(letter)
            else:
                known.remove(name)
                found.append(name)
        return found


def doudizhu_moves(packed: int) -> list[str]:
    """Return about the fewest moves of a packed hand of DouDiZhu, each in letters: `33344`."""
    cards = move_table().cards
    sizes = (cards[:, None] >> 4 * np.arange(15) & 15).sum(axis=1)

    def leads(hand: Array) -> tuple[Array, Array, Array, Callable[[int], str]]:
        left = (hand | GUARDS) - cards
        fits = ((left & GUARDS) == GUARDS) & (cards > 0)
        rests: NDArray[np.int64] = left[fits] & ~GUARDS
        needed = np.array([turns_to_shed(rest) for rest in rests])
        return rests, sizes[fits], needed, lambda i: cards_text(int(cards[fits][i]))

    return fewest_moves(np.array(packed, np.int64), leads)
