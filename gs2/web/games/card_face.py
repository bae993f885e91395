"""A round of a game as one seat sees it: hands, counts and plays, as plain data of card names; or words.

Everything of a round follows from what the seat knows (`Game.infoset_key`), in the order in which it came;
the data are the same whatever the others hold. When a round is over all hands are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from games.game import CHANCE, Game
from games.support.array_types import Array
from gs2.web.games.game_round import GameRound
from gs2.wings import own_part

Data = dict[str, Any]
PASSED = ["PASS", "PASS", "PASS"]
"""A pass, as the page has moves: kind, rank and cards; of other moves of these games the rank stays empty."""
BOMBS = ("bomb", "rocket", "four and one", "straight flush")
"""Kinds of plays that beat others out of turn."""
MOST_SUGGESTED = 100

Leads = Callable[[Array], tuple[Array, Array, Array, Callable[[int], str]]]
"""Returns the moves that a hand can lead: hands left [n, …], cards [n], moves still needed [n], words."""
OF_A_BOMB = 4
"""Cards of one rank that make a bomb: it costs more to take one apart than a pair."""


def suggestion_order(
    moves: Sequence[tuple[bool, Sequence[str]]], hand: Sequence[str], wild: str = ""
) -> list[int]:
    """Return the places of moves, each a bomb or none and its cards, in the order in which to suggest them.

    Bombs come last; before them what needs a wild card; before that what takes groups of one rank apart, the
    fewer the sooner. Among equals the order is that of `moves`.
    """
    held = Counter(card[1:] for card in hand if card != wild)

    def cost(place: int) -> tuple[bool, bool, int, int]:
        bomb, cards = moves[place]
        used = Counter(card[1:] for card in cards if card != wild)
        apart = sum(1 + (held[rank] >= OF_A_BOMB) for rank, count in used.items() if count < held[rank])
        return bomb, wild in cards, apart, place

    return sorted(range(len(moves)), key=cost)


def fewest_moves(hand: Array, leads: Leads) -> list[str]:
    """Return the moves, in words, that a hand is shed by.

    Rule agents count the moves (`blueprint.climbing.rules`). The move that leaves the fewest is taken, the
    longest of several, until no card is left.
    """
    found = []
    while hand.any():
        left, sizes, needed, words = leads(hand)
        best = int(np.lexsort((-sizes, needed))[0])
        found.append(words(best))
        hand = left[best]
    return found


class Face:
    """How a game's cards look, and what they make.

    A game registers its face in `gs2.wings`, or has it as `card_face`. `hand` is all that a game needs whose
    moves are cards by rank and suit ("9c"), or "pass".
    """

    def __init__(self, game: Any) -> None:
        self.game = game

    def hand(self, state: Any, seat: int) -> list[str]:
        """Return the cards that a seat holds in a state of the game, by name: suit and rank, "C9"."""
        raise NotImplementedError

    def seen(self, played: GameRound, seat: int | None, hands: bool = False) -> Data:
        """Return what a seat sees, or a watcher: hands, rest, plays, greater, and what only this game has.

        hands: whether a watcher sees those of all; they are shown when the round is over.
        """
        held = [self.hand(played.state[0], who) for who in range(self.game.num_players)]
        steps = [(who, played.words(at)) for at, who in enumerate(played.players) if who != CHANCE]
        plays = [{"seat": who, "move": self.move(words, held[who]), "lead": False} for who, words in steps]
        last = {play["seat"]: play["move"] for play in plays}
        return {
            "hands": [hand if who == seat or hands or played.over else None for who, hand in enumerate(held)],
            "rest": [len(hand) for hand in held],
            "plays": plays,
            "greater": None,
            "trick": [last.get(who) for who in range(self.game.num_players)],
        }

    def points(self, played: GameRound) -> list[float]:
        """Return what each seat of a round that is over gets, in the points that people count."""
        return played.payoffs

    def unit(self, state: Array, seat: int) -> float:
        """Return by what a payoff to a seat makes the points of the table (`points`). state: [1]."""
        return 1.0

    def kinds(self, legal: Array) -> list[str]:
        """Return the name of the kind of each legal action."""
        return ["cards"] * len(legal)

    def action_of(self, played: GameRound, cards: list[str]) -> int | None:
        """Return the action that cards make, legal now or not; None if they are no combination."""
        words = [self.game.action_text(played.state[0], action) for action in played.legal]
        made = [sorted(self.cards_of(text, cards)) for text in words]
        return int(played.legal[made.index(sorted(cards))]) if sorted(cards) in made else None

    def cards_of(self, text: str, hand: list[str]) -> list[str]:
        """Return the cards of a hand that make a move, by the words of the game."""
        return [card if card[0] in "SHCD" else (card[1:] + card[0]).upper() for card in text.split()]

    def too_low(self, greater: list[Any]) -> str:
        """Return the page's word for what would beat a move, where other cards do not."""
        return "too_low"

    def moves(self, hand: list[str]) -> list[list[str]]:
        """Return about the fewest moves that shed a hand, each a list of its cards."""
        return [[card] for card in hand]

    def marks(self, played: GameRound, index: int, cards: list[str]) -> list[str] | None:
        """Return the cards that a person has chosen for a move, as the round remembers them.

        None where there is nothing to remember. Raises GameError at cards that are not those of the move.
        """
        return None

    def spoken(self, legal: Array) -> bool:
        """Return whether the choices are words, not cards."""
        return False

    def told(self, played: GameRound) -> Callable[[int], list[Any]]:
        """Return what gives the present choices of cards by their places, also when play has gone on."""
        state, legal = played.state[0], played.legal
        kinds, hand = self.kinds(legal), self.seen(played, played.player)["hands"][played.player]
        return lambda place: self.move(self.game.action_text(state, legal[place]), hand, kinds[place])

    def move(self, text: str, hand: list[str], kind: str = "cards") -> list[Any]:
        """Return a move of the page: what the game's words for it take out of a hand."""
        return PASSED if text == "pass" else [kind, "", self.cards_of(text, hand)]

    def fits(self, played: GameRound, cards: list[str]) -> tuple[list[Data], Data | None]:
        """Return the choice that cards make, if they make one; else why not."""
        action = self.action_of(played, cards)
        found: list[int] = [] if action is None else np.flatnonzero(played.legal == action).tolist()
        if found:
            return [{"index": found[0], "move": [*self.told(played)(found[0])[:2], cards]}], None
        seen = self.seen(played, played.player)
        if not cards:
            return [], {"code": "none_selected"}
        if not set(seen.get("opens", ())) <= set(cards):
            return [], {"code": "opens", "need": seen["opens"]}
        if action is None or seen["greater"] is None:
            return [], {"code": "no_combination"}
        beat = seen["greater"]["move"]
        return [], {"code": self.too_low(beat), "beat": beat}

    def suggested(self, played: GameRound) -> list[Data]:
        """Return moves to suggest, the best first."""
        told = self.told(played)
        moves = [(place, told(place)) for place in range(len(played.legal))]
        moves = [(place, move) for place, move in moves if move is not PASSED]
        hand = self.seen(played, played.player)["hands"][played.player]
        order = suggestion_order([(kind in BOMBS, cards) for _, (kind, _, cards) in moves], hand)
        return [{"index": moves[at][0], "move": moves[at][1]} for at in order[:MOST_SUGGESTED]]


def card_face(game: Game) -> Face | None:
    """Return how a game's cards are shown, as it registers; None for a game that has its words alone."""
    own = getattr(game, "card_face", None) or own_part(game.name, "face")
    return None if own is None else own(game)


def seat_points(played: GameRound) -> list[float]:
    """Return what each seat of a round that is over gets, in the points that people count."""
    face = card_face(played.game)
    return played.payoffs if face is None else face.points(played)


def round_view(game: Game, played: GameRound, seat: int | None, hands: bool = False) -> Data:
    """Return what a seat sees of a round, or a watcher: a function of its infoset; all once it is over.

    hands: whether a watcher sees those of all. In what is returned, `turn` says whose choice is due, with its
    moves in words where they are no cards.
    """
    face, over, state, legal = card_face(game), played.over, played.state[0], played.legal
    words = None
    if face is None and (over or hands):
        words = game.state_text(state)
    elif face is None and seat is not None:
        words = game.infoset_text(state, seat)
    cards: Data = {"hands": None, "rest": None, "plays": [], "greater": None}
    turn = None
    if played.player == seat:
        spoken = face is None or face.spoken(legal)
        texts = [game.action_text(state, action) for action in legal]
        turn = {
            "stage": "play",
            "count": len(legal),
            "pass": None if spoken or "pass" not in texts else texts.index("pass"),
            "moves": texts if spoken else None,
        }
    return {
        "round": {
            "number": played.number,
            "over": over,
            "points": seat_points(played) if over else None,
            "words": words,
            **(cards if face is None else face.seen(played, seat, hands)),
        },
        "turn": {"seats": [] if over else [played.player], "you": turn},
    }


def seen_plays(played: GameRound, cards: list[list[str]], kinds: list[str], beats: list[bool]) -> Data:
    """Return the plays of a round, and the one to beat; cards, kinds: of each step; beats: of each state."""
    plays = [
        {"seat": who, "move": [kinds[at], "", cards[at]] if cards[at] else PASSED, "lead": not beats[at]}
        for at, who in enumerate(played.players)
        if who != CHANCE and kinds[at] != "call"
    ]
    greater = None
    if beats[-1] and not played.over:
        greater = next(play for play in reversed(plays) if play["move"] is not PASSED)
    return {"plays": plays, "greater": greater and {"seat": greater["seat"], "move": greater["move"]}}
