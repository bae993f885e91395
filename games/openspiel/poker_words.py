"""The words of a poker game of OpenSpiel's, read off OpenSpiel's own states, and read back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from games.game import TERMINAL
from games.infosets import normal_text
from games.infosets.infoset_words import ACTS, OTHER_ACTS, OVER, infoset_line, joined_lines, numbered
from games.openspiel.poker_form import PokerForm
from games.openspiel.poker_tables import DEAL_0, DEAL_1, FIRST, PokerTables
from games.support.array_types import Array

__all__ = ["PokerWords"]


class PokerWords:
    """What can be said of a poker game's histories and infosets.

    An infoset is (betting node, own hand, board, player) here, the hand and the board counted from 1.
    """

    def __init__(self, game: Any, form: PokerForm, tables: PokerTables) -> None:
        self._game, self._form, self._tables = game, form, tables

    def position(self, state: Array) -> Any:
        """Return OpenSpiel's own state at a history, its dealing over."""
        held = int(state["hand0"]) - 1, int(state["hand1"]) - 1
        return self._played(int(state["bet"]), held, int(state["board"]))

    def action(self, state: Array, action: int) -> str:
        """Return an action, or what chance deals."""
        bet = int(state["bet"])
        if self._tables.player[bet] < 0:
            return self._dealt[min(bet, FIRST)][action]
        position, mover = self.position(state), int(self._tables.player[bet])
        ids = self._tables.open[bet].tolist()
        texts = numbered(" ".join(position.action_to_string(mover, a).split()) for a in ids)
        return str(texts[ids.index(action)])

    def history(self, state: Array) -> str:
        """Return a history."""
        if state["bet"] == DEAL_0:
            return "the start"
        if state["bet"] == DEAL_1:
            return f"P0 {self._dealt[DEAL_0][int(state['hand0']) - 1]}"
        return joined_lines(str(self.position(state)))

    def infoset(self, bet: int, own: int, board: int, player: int) -> str:
        """Return an infoset in one line."""
        if bet < FIRST:
            held = f"{self._dealt[DEAL_0][own - 1]} | " if own else ""
            return f"P{player} {held}dealing to P{bet}"
        return infoset_line(*self.told(bet, own, board, player), player)

    def told(self, bet: int, own: int, board: int, player: int) -> tuple[int, str]:
        """Return a player's part at an infoset of the betting, and what OpenSpiel tells it."""
        share = self._form.hands.prior.take(own - 1, axis=player)
        if board:
            share = share * self._form.board_probs[board - 1].take(own - 1, axis=player)
        other = int(np.argmax(share))
        held = (own - 1, other) if player == 0 else (other, own - 1)
        who = int(self._tables.player[bet])
        role = OVER if who == TERMINAL else ACTS if who == player else OTHER_ACTS
        return role, str(self._played(bet, held, board).information_state_string(player))

    def named(self, wanted: str, player: int) -> tuple[int, int, int] | None:
        """Return the infoset of a player that a normalised text names, None if there is none."""
        for bet, own, board in self._likely(wanted, player):
            if normal_text(self.infoset(bet, own, board, player)) == wanted:
                return bet, own, board
        return None

    def _likely(self, wanted: str, player: int) -> Iterator[tuple[int, int, int]]:
        """Yield the infosets that a text may name: of the hands and boards whose words it has, if any's."""
        betting, hands = self._form.betting, range(self._tables.hands[player])
        yield from ((bet, 0, 0) for bet in range(DEAL_0, DEAL_1 + (player == 1)))
        yield from ((DEAL_1, own + 1, 0) for own in hands if player == 0)
        likely = _fitting(wanted, [self.infoset(FIRST, own + 1, 0, player) for own in hands])
        before, after = (np.flatnonzero(betting.stage == stage) + FIRST for stage in (0, 1))
        for own in likely:
            yield from ((bet, own + 1, 0) for bet in before.tolist())
        for own in likely if len(after) else ():
            with_it = self._form.board_probs.take(own, axis=1 + player)
            boards = (np.flatnonzero(np.asarray(with_it).any(axis=1)) + 1).tolist()
            texts = [self.infoset(int(after[0]), own + 1, board, player) for board in boards]
            for at in _fitting(wanted, texts):
                yield from ((bet, own + 1, boards[at]) for bet in after.tolist())

    def _played(self, bet: int, held: tuple[int, int], board: int) -> Any:
        position = self._game.new_initial_state()
        for action in self._form.line(bet - FIRST, held, board - 1):
            position.apply_action(action)
        return position

    @cached_property
    def _dealt(self) -> tuple[list[str], ...]:
        """The words for every hand of both players and for every board."""
        start = self._game.new_initial_state()

        def words(cards: tuple[int, ...]) -> str:
            said = (joined_lines(start.action_to_string(start.current_player(), card)) for card in cards)
            return " and ".join(said) or "nothing"

        hands = self._form.hands.cards
        return tuple(numbered(map(words, lines)) for lines in (*hands, self._form.boards))


def _fitting(wanted: str, texts: list[str]) -> list[int]:
    """Return which texts have no part of their own that a wanted text lacks; all if there is none such.

    Parts are what stands between brackets; a part of all texts is nobody's own.
    """
    parts = [set(re.split(r"[\[\]]", normal_text(text))) for text in texts]
    common = set.intersection(*parts) if parts else set()
    found = [at for at, own in enumerate(parts) if own - common and all(p in wanted for p in own - common)]
    return found or list(range(len(texts)))
