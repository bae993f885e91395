"""How Big2 looks on the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from blueprint.climbing.big2_turns import big2_turns_to_shed
from games.climbing.big2.big2 import Big2
from games.climbing.big2.combinations import NO_PLAY, PLAY_KINDS, play_kinds
from games.game import CHANCE, GameError
from games.support.array_types import Array
from gs2.web.games.card_face import Face, fewest_moves, seen_plays
from gs2.web.games.game_round import GameRound

Data = dict[str, Any]
FIVE = 5
"""Cards of the plays that only plays of as many cards beat."""


class Big2Face(Face):
    """Big2: cards are what they are."""

    game: Big2

    def seen(self, played: GameRound, seat: int | None, hands: bool = False) -> Data:
        rules = self.game.rules
        row = played.state[0]
        taken = played.history()
        masks = [0 if who == CHANCE else int(mask) for who, mask in zip(played.players, taken, strict=True)]
        cards = [self._names(mask) for mask in masks]
        beats = [bool(state["beat"][0]) for state in played.states]
        held = [self._names(int(mask)) for mask in row["hand"][: rules.players]]
        shown = hands or played.over
        return {
            "deck": dict(Counter(name[-1] for name in self._names(self.game.whole))),
            "hands": [hand if who == seat or shown else None for who, hand in enumerate(held)],
            "rest": [len(hand) for hand in held],
            **seen_plays(played, cards, self.kinds(taken), beats),
            "suits": rules.suit_letters,
            "opens": self._opening(played, seat),
        }

    def _opening(self, played: GameRound, seat: int | None) -> list[str]:
        """Return the card that the seat's first play of the round must hold, if it opens and has to."""
        row = played.state[0]
        # of cards that were left out only who has the lowest of the others knows that it is the lowest
        if self.game.rules.opening != "lowest" or row["plays"] or played.player != seat:
            return []
        return self._names(1 << int(row["low"]))

    def kinds(self, legal: Array) -> list[str]:
        return [PLAY_KINDS[kind] for kind in self.game.action_type(legal)]

    def action_of(self, played: GameRound, cards: list[str]) -> int | None:
        try:
            play = self.game.read_play(" ".join(cards))
        except GameError:
            return None
        return None if int(self.game.action_type(np.array([play], np.uint64))[0]) == NO_PLAY else play

    def too_low(self, greater: list[Any]) -> str:
        return "five" if len(greater[2]) == FIVE else f"few.{self.game.rules.bombs}"

    def moves(self, hand: list[str]) -> list[list[str]]:
        return [words.split() for words in big2_moves(self.game, self.game.read_play(" ".join(hand)))]

    def _names(self, mask: int) -> list[str]:
        return self.game.cards_text(mask).split()


def big2_moves(game: Big2, mask: int) -> list[str]:
    """Return about the fewest moves of a hand of Big2, a mask of cards, each in words: `S3 D3`."""

    def leads(hand: Array) -> tuple[Array, Array, Array, Callable[[int], str]]:
        held = [1 << place for place in range(52) if int(hand) >> place & 1]
        sets = [sum(some) for size in (1, 2, 3, 5) for some in combinations(held, size)]
        plays = np.array(sets, np.uint64)
        plays = plays[play_kinds(plays, game.rules.book()) != NO_PLAY]
        rests = hand & ~plays
        needed = np.array([big2_turns_to_shed(game, int(rest)) for rest in rests])
        sizes = np.array([int(play).bit_count() for play in plays])
        return rests, sizes, needed, lambda i: game.cards_text(int(plays[i]))

    return fewest_moves(np.array(mask, np.uint64), leads)
