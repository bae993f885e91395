"""States, infosets and actions of Big2 in words, and an infoset's words taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from games.climbing.big2.big2_rules import Big2Rules
from games.climbing.big2.card_masks import ASIDE, DEAL, card_words, read_cards
from games.climbing.big2.combinations import NO_PLAY, PLAY_KINDS, play_kinds
from games.climbing.big2.record_keys import record_keys, record_of_key, record_width
from games.game import GameError
from games.support.array_types import Row

__all__ = ["NO_LEAD", "Big2Words", "SpokenInfoset"]

PASS_WORD, NOTHING = "pass", "nothing"
NO_LEAD = "is no lead; who leads plays cards"


@dataclass(frozen=True)
class SpokenInfoset:
    """What the words of an infoset say.

    seat: whose it is. hand: the cards that it holds now. first: the seat that led the round. line: the
    actions since the deal, passes (0) included.
    """

    seat: int
    hand: int
    first: int
    line: tuple[int, ...]


class Big2Words:
    """The words for one deck and one set of rules.

    A card is a suit and a rank, `D3`; a play its cards, weakest first; a line of play the seat that led and
    the actions in turn: `P2 leads: D3 C3, pass, H5 S5`.
    """

    def __init__(self, rules: Big2Rules) -> None:
        self.rules = rules
        self.whole = sum(1 << int(card) for card in rules.deck)
        self.letters = rules.suit_letters

    def cards(self, mask: int) -> str:
        """Return the cards of a mask in words."""
        return card_words(mask, self.letters)

    def action(self, state: Row, action: int) -> str:
        """Return one action in words: its cards, `pass`, or what chance does with its next card."""
        if action >> DEAL:
            seat = action.bit_length() - 1 - DEAL
            card = self.cards(1 << int(self.rules.deck[int(state["dealt"])]))
            return f"leave {card} out" if seat == ASIDE else f"deal {card} to P{seat}"
        return self.cards(action) if action else PASS_WORD

    def state(self, state: Row) -> str:
        """Return one history in words, hands of all seats included."""
        held = ", ".join(
            f"P{s} holds {self.cards(int(state['hand'][s])) or NOTHING}" for s in range(self.rules.players)
        )
        return f"{held}{self._line(state)}"

    def infoset(self, state: Row, seat: int) -> str:
        """Return what a seat knows in one line of words."""
        if state["dealt"] < len(self.rules.deck):
            return f"P{seat} holds {NOTHING}{self._line(state)}"
        return f"P{seat} holds {self.cards(int(state['hand'][seat])) or NOTHING}{self._line(state)}"

    def read(self, text: str) -> SpokenInfoset | None:
        """Return what the words of an infoset say, None if they are none; the line may still be impossible.

        Raises GameError at a card that is not of the deck.
        """
        found = re.fullmatch(
            r"\s*p([0-3])\s+holds\s+([^|]*?)\s*\|\s*p([0-3])\s+leads\s*(?::(.*))?", text, re.IGNORECASE
        )
        if found is None:
            return None
        hand = 0 if found[2].lower() == NOTHING else read_cards(found[2], self.letters, self.whole)
        words = [word.strip() for word in (found[4] or "").split(",") if word.strip()]
        line = [
            0 if word.lower() == PASS_WORD else read_cards(word, self.letters, self.whole) for word in words
        ]
        return SpokenInfoset(int(found[1]), hand, int(found[3]), tuple(line))

    def refusal(self, state: Row, number: int, action: int) -> str:
        """Return why an action, the `number`-th of a line, is not legal at a state where it is not."""
        what = f'move {number}, "{self.cards(action) or PASS_WORD}"'
        said = f"{what} of seat {state['player']},"
        if state["player"] < 0:
            return f"{what}, comes after the end of the round; end there"
        if not action and not state["beat"]:
            return f"{said} {NO_LEAD}"
        beat = f'"{self.cards(int(state["beat"]))}"'
        if not action:
            return f"{said} may not be: who can beat {beat} has to; play what does"
        pair = np.array([action, state["beat"]], np.uint64)
        kind, lies = (int(code) for code in play_kinds(pair, self.rules.book()))
        if kind == NO_PLAY:
            return f"{said} is no combination; play one that the rules have"
        if not state["beat"]:
            return (
                f"{said} opens without the lowest card, {self.cards(1 << int(state['low']))}; play that too"
            )
        stronger = ", a stronger kind" if int(state["head"]) >> 16 == 5 else ""
        bomb = ", a bomb" if self.rules.bombs != "none" else ""
        return f"{said} does not beat {beat}; play a higher {PLAY_KINDS[lies]}{stronger}{bomb} or pass"

    def read_play(self, text: str) -> int:
        """Return the mask of one play in words, 0 for a pass. Raises GameError at a card that is none."""
        if text.strip().lower() == PASS_WORD:
            return 0
        mask = read_cards(text, self.letters, self.whole)
        if not mask:
            raise GameError(f'big2: a play names its cards or says "{PASS_WORD}"; got {text!r}; name one')
        return mask

    def _line(self, state: Row) -> str:
        rules = self.rules
        dealt, size = int(state["dealt"]), len(rules.deck)
        if dealt < size:
            return f" | dealing, {size - dealt} to go"
        # every seat knows the line; take the first one's key
        key = record_keys(np.array([state]), 0, size, record_width(rules.ranks))[0]
        known = record_of_key(tuple(int(word) for word in key))
        words = [self.cards(cards) or PASS_WORD for _, cards in known.line(rules.players, rules.stays_out)]
        return f" | P{known.first} leads{': ' if words else ''}{', '.join(words)}"
