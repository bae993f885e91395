"""A round of a climbing game as one seat sees it: hands, counts and plays, as plain data of card names.

Everything here follows from what the seat knows (`Game.infoset_key`), in the order in which it learned it:
the data are the same whatever the others hold. When a round is over all hands are shown.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

import numpy as np

from games.climbing.big2.big2 import Big2
from games.climbing.big2.combinations import NO_PLAY, PLAY_KINDS
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import KIND_NAMES, NUM_MOVES, move_number
from games.climbing.doudizhu.multiset import RANK_LETTERS, cards_text, read_multiset
from games.climbing.doudizhu.round_state import CALLS, NO_SEAT
from games.game import CHANCE, Game, GameError
from games.support.array_types import Array
from gs2.web.arrangement import big2_moves, doudizhu_moves
from gs2.web.games.game_round import GameRound

__all__ = ["Face", "card_face", "points_of_payoff", "seat_points"]

Data = dict[str, Any]
JOKERS = {"B": "SB", "R": "HR"}
"""The jokers of DouDiZhu by the names of the deck's pictures."""


class Face(Protocol):
    """How a game's rounds look."""

    def seen(self, played: GameRound, seat: int) -> Data:
        """Return what a seat sees, with `kind`, the page's word for this way of looking."""
        ...

    def kinds(self, game: Game, legal: Array) -> list[str]:
        """Return the name of the kind of each legal action."""
        ...

    def kind_of(self, cards: list[str]) -> str | None:
        """Return the kind of play that cards make; None if they are no combination."""
        ...

    def moves(self, hand: list[str]) -> list[list[str]]:
        """Return about the fewest moves that shed a hand, each a list of its cards."""
        ...

    def marks(self, played: GameRound, index: int, cards: list[str]) -> list[str] | None:
        """Return the cards that a person has chosen for a move, as the round remembers them.

        None where there is nothing to remember. Raises GameError at cards that are not those of the move.
        """
        ...


def card_face(game: Game) -> Face | None:
    """Return how a game's cards are shown; None for a game that is shown by its words alone."""
    if isinstance(game, DouDizhu):
        return _DouDizhuFace(game)
    return _Big2Face(game) if isinstance(game, Big2) else None


def seat_points(played: GameRound) -> list[float]:
    """Return what each seat of a round that is over gets, in the points that people count.

    They are the payoffs; but a landlord of fixed seat gets what both farmers pay, as at any table.
    """
    game = played.game
    if isinstance(game, DouDizhu) and game.scoring == "points":
        return [float(one) for one in game.points(played.state)[0]]
    return played.payoffs


def points_of_payoff(table: Game, played_as: Game, state: Array, seat: int) -> float:
    """Return by what a payoff of a game makes the points of the table (`seat_points`).

    played_as: the table's game, or that without its auction, in which no call has been a factor and the
    landlord's payoff is what one farmer pays. state: [1] at the table. seat: of the table.
    """
    if not isinstance(table, DouDizhu) or not isinstance(played_as, DouDizhu) or played_as.by_bid:
        return 1.0
    counted = table.scoring == "points"
    doubled = int(state["landlord"][0]) == seat and (counted or table.by_bid)
    called = max(int(state["bid"][0]), 1) if counted and table.by_bid else 1
    return float((1 + doubled) * called)


def _plays(played: GameRound, cards: list[list[str]], kinds: list[str], beats: list[bool]) -> list[Data]:
    """Return the moves of a round; cards, kinds and beats: of each step, those of the deal ignored."""
    return [
        {"seat": who, "cards": cards[at], "kind": kinds[at], "lead": not beats[at]}
        for at, who in enumerate(played.players)
        if who != CHANCE
    ]


def _to_beat(plays: list[Data], beating: bool) -> Data | None:
    if not beating:
        return None
    last = next(play for play in reversed(plays) if play["cards"])
    return {"seat": last["seat"], "cards": last["cards"], "kind": last["kind"]}


class _Big2Face:
    """Big2: cards are what they are."""

    def __init__(self, game: Big2) -> None:
        self.game = game

    def seen(self, played: GameRound, seat: int) -> Data:
        rules = self.game.rules
        row = played.state[0]
        taken = played.history()
        masks = [0 if who == CHANCE else int(mask) for who, mask in zip(played.players, taken, strict=True)]
        cards = [self._names(mask) for mask in masks]
        kinds = [PLAY_KINDS[kind] for kind in self.game.action_type(taken)]
        beats = [bool(state["beat"][0]) for state in played.states]
        plays = _plays(played, cards, kinds, beats)
        hands = [self._names(int(mask)) for mask in row["hand"][: rules.players]]
        return {
            "kind": "big2",
            "deck": dict(Counter(name[-1] for name in self._names(self.game.words.whole))),
            "hand": hands[seat],
            "hands": [hand if who == seat or played.over else None for who, hand in enumerate(hands)],
            "left": [len(hand) for hand in hands],
            "plays": plays,
            "beat": _to_beat(plays, beats[-1] and not played.over),
            "suits": rules.suit_letters,
            "bomb_rule": rules.bombs,
            "opens": self._opening(played, seat),
        }

    def _opening(self, played: GameRound, seat: int) -> list[str]:
        """Return the card that the seat's first play of the round must hold, if it opens and has to."""
        row = played.state[0]
        # of cards that were left out only who has the lowest of the others knows that it is the lowest
        if self.game.rules.opening != "lowest" or row["plays"] or played.player != seat:
            return []
        return self._names(1 << int(row["low"]))

    def kinds(self, game: Game, legal: Array) -> list[str]:
        return [PLAY_KINDS[kind] for kind in game.action_type(legal)]

    def kind_of(self, cards: list[str]) -> str | None:
        try:
            play = np.array([self.game.words.read_play(" ".join(cards))], np.uint64)
        except GameError:
            return None
        kind = int(self.game.action_type(play)[0])
        return None if kind == NO_PLAY else PLAY_KINDS[kind]

    def moves(self, hand: list[str]) -> list[list[str]]:
        return [words.split() for words in big2_moves(self.game, self.game.words.read_play(" ".join(hand)))]

    def marks(self, played: GameRound, index: int, cards: list[str]) -> list[str] | None:
        return None

    def _names(self, mask: int) -> list[str]:
        return self.game.words.cards(mask).split()


class _DouDizhuFace:
    """DouDiZhu: suits decide nothing, so the page's are given as cards come to be seen.

    A rank's suits are in an order of the round's own. Whoever looks gives them away in it: first to the own
    cards, then to the bottom, then to what the others play, where the landlord's are the bottom's as long as
    there are any. So the same card keeps its suit, and no suit says anything of a hand.
    """

    def __init__(self, game: DouDizhu) -> None:
        self.game = game

    def seen(self, played: GameRound, seat: int) -> Data:
        row = played.state[0]
        landlord = int(row["landlord"])
        kinds = self._kinds(played.history())
        hands, bottom, cards = self._cards(played, seat)
        beats = [bool(state["beat"][0]) for state in played.states]
        plays = [play for play in _plays(played, cards, kinds, beats) if play["kind"] != "call"]
        steps = zip(played.players, played.taken, strict=True)
        called = [(who, int(move[0]) - CALLS) for who, move in steps if who != CHANCE]
        calls = [[who, call] for who, call in called if call >= 0]
        return {
            "kind": "doudizhu",
            "deck": dict.fromkeys(RANK_LETTERS[: self.game.ranks], 4) | dict.fromkeys(JOKERS, 1),
            "hand": hands[seat],
            "hands": [cards if who == seat or played.over else None for who, cards in enumerate(hands)],
            "left": [int(one) for one in row["left"]],
            "plays": plays,
            "beat": _to_beat(plays, beats[-1] and not played.over),
            "landlord": None if landlord == NO_SEAT else landlord,
            "bottom": bottom,
            "calls": calls,
            "bid": int(row["bid"]),
            "bombs": int(row["bombs"]),
            "counts_bombs": self.game.scoring == "points",
            "spring": self._sprung(played),
            "springs": self.game.spring,
        }

    def _sprung(self, played: GameRound) -> bool:
        """Return whether a side that never got to play doubled the stake, or a landlord that played once."""
        row = played.state[0]
        counted = self.game.spring and self.game.scoring == "points"
        if not played.over or not counted or row["landlord"] == NO_SEAT:
            return False
        plain = 2.0 * max(int(row["bid"]), 1) * 2 ** int(row["bombs"])
        return bool(abs(self.game.points(played.state)[0][int(row["landlord"])]) > plain)

    def _cards(
        self, played: GameRound, seat: int
    ) -> tuple[list[list[str]], list[str] | None, list[list[str]]]:
        """Return the hands, the bottom (None while it is hidden) and the cards of every step, by name.

        Hands of others are whole when the round is over; before that they are not to be shown.
        """
        suits = _Suits(played)
        row = played.state[0]
        landlord = int(row["landlord"])
        below = cards_text(int(row["bottom"]))
        packed = int(row["hand"][seat]) + int(row["played"][seat])
        if seat == landlord:
            packed -= int(row["bottom"])
        own = suits.take(cards_text(packed))
        hidden = landlord == NO_SEAT and not played.over
        bottom = None if hidden else suits.take(below)
        known = list(bottom or ()) if landlord != seat else []
        if bottom is not None and landlord == seat:
            own = own + bottom
        steps: list[list[str]] = []
        for at, (who, action) in enumerate(zip(played.players, played.taken, strict=True)):
            if who == CHANCE or action[0] >= NUM_MOVES:
                steps.append([])
                continue
            letters = played.words(at) if action[0] else ""
            if who == seat:
                steps.append(_removed(own, letters, played.marked.get(at)))
            else:
                steps.append(suits.reveal(letters, known if who == landlord else []))
        hands: list[list[str]] = [[], [], []]
        hands[seat] = _sorted(own)
        if played.over:
            # what the landlord still holds of the bottom comes first, or another would be given its suits
            for who in sorted({0, 1, 2} - {seat}, key=lambda who: who != landlord):
                rest = cards_text(int(row["hand"][who]))
                hands[who] = _sorted(suits.reveal(rest, known if who == landlord else []))
        return hands, bottom, steps

    def kinds(self, game: Game, legal: Array) -> list[str]:
        return self._kinds(legal)

    def kind_of(self, cards: list[str]) -> str | None:
        try:
            move = move_number("".join(map(_letter, cards)))
        except GameError:
            return None
        return self._kinds(np.array([move]))[0]

    def _kinds(self, actions: Array) -> list[str]:
        codes = self.game.action_type(actions)
        return [KIND_NAMES[code] if code < len(KIND_NAMES) else "call" for code in codes]

    def moves(self, hand: list[str]) -> list[list[str]]:
        held = list(hand)
        moves = doudizhu_moves(read_multiset("".join(map(_letter, hand))))
        return [_removed(held, letters, None) for letters in moves]

    def marks(self, played: GameRound, index: int, cards: list[str]) -> list[str] | None:
        if not cards:
            return None
        letters = self.game.action_text(played.state[0], played.legal[index])
        held = self._cards(played, played.player)[0][played.player]
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
