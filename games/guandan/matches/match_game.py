"""A match of GuanDan as a game over rounds, as far as a record needs it: deals, tribute and moves in words.

    {"game": "guandan_match(rules=njupt)", "chance": ["P2 leads; S2 H3 … / … / … / …", "S2 S2 … / …"],
     "play": ["P2 [\"Single\",\"6\",[\"S6\"]]", …, "P3 tribute HR", "P2 back S4", …], …}

Chance deals each round. It names the hands by seat, and in the first round who leads.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, GameError
from games.guandan.cards import hand_text, parse_cards
from games.guandan.matches.match import Match
from games.guandan.rounds.position import position_text
from games.guandan.rules import as_rules
from games.support.array_types import Array, Bytes

__all__ = ["GuanDanMatch", "deal_words", "match_name"]

NAME = re.compile(r"guandan_match\(rules=([^,)]+)\)")
DEAL = re.compile(r"(?:P(\d) leads; )?([^/;]*(?:/[^/;]*){3})")


def match_name(rules: str) -> str:
    """Return the game string of a match under the rules of a preset."""
    return f"guandan_match(rules={rules})"


def deal_words(hands: Bytes, first: int | None = None) -> str:
    """Return a deal in words. hands: [4, 54] counts. first: the seat that leads, in a first round."""
    leads = "" if first is None else f"P{first} leads; "
    return leads + " / ".join(hand_text(hand) for hand in hands)


class GuanDanMatch:
    """A match, of the functions of `games.game.Game` those that replay a record.

    A state is a `Match`, whose deal is open (`dealt` False) or done; an action is its words.
    text: the game string. Raises GameError if it is none.
    """

    num_players = 4
    teams = (0, 1, 0, 1)
    payoff_range = (-1.0, 1.0)

    def __init__(self, text: str) -> None:
        found = NAME.fullmatch(text.strip())
        if found is None:
            raise GameError(f"guandan: a match is guandan_match(rules=PRESET); got {text!r}")
        self.name, self.rules = text.strip(), as_rules(found[1])

    def root(self) -> Array:
        """Return the match before the first deal, [1] of object."""
        return _one(_Played(Match(rules=self.rules)))

    def player(self, states: Array) -> NDArray[np.int8]:
        """Return who acts, [n] int8; of two seats that exchange cards, the one who pays or returns first."""
        return np.array([state.player for state in states], np.int8)

    def parse_action(self, state: _Played, words: str) -> Array:
        """Return the action that some words name, [1] of object; `step` finds out whether it is legal."""
        return _one(words)

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        """Return the matches after these actions. Raises GameError where one is not legal."""
        after = np.empty(len(rows), object)
        for k, (row, words) in enumerate(zip(rows, actions, strict=True)):
            after[k] = states[row].after(words)
        return after

    def returns(self, states: Array) -> NDArray[np.float64]:
        """Return 1 for the seats of the winning team and -1 for the others, [n, 4]; 0 in a drawn match."""
        return np.array([state.payoffs for state in states], np.float64).reshape(-1, 4)

    def action_text(self, state: _Played, action: str) -> str:
        """Return the words."""
        return action

    def state_text(self, state: _Played) -> str:
        """Return the round in play as `position` does; the number of a round in which no card was played."""
        match = state.match
        if state.player == TERMINAL:
            return f"match over after {match.round} rounds"
        playing = state.dealt and match.phase == "play"
        return position_text(match.state[0]) if playing else f"round {match.round}, before its first lead"


class _Played:
    """A match as far as it was played."""

    def __init__(self, match: Match, dealt: bool = False) -> None:
        self.match, self.dealt = match, dealt

    @property
    def player(self) -> int:
        if self.match.over:
            return TERMINAL
        return self.match.pending()[0].seat if self.dealt else CHANCE

    @property
    def payoffs(self) -> list[float]:
        winner = self.match.winner
        return [0.0 if winner is None else 1.0 if seat % 2 == winner else -1.0 for seat in range(4)]

    def after(self, words: str) -> _Played:
        match = self.match.copy()
        if self.dealt:
            number = match.round
            stage, _, card = words.partition(" ")
            phase = match.phase
            if (stage in ("tribute", "back")) != (phase != "play") or (phase != "play" and stage != phase):
                raise GameError(f"guandan: this is the time for {phase}; got {words!r}")
            match.apply(self.player, card if phase != "play" else words)
            return _Played(match, match.round == number)
        found = DEAL.fullmatch(words.strip())
        if found is None or (found[1] is None) != (match.round > 1):
            raise GameError(
                "guandan: a deal must be four hands, CARDS / CARDS / CARDS / CARDS, and of a first round "
                f"P0 leads; in front; got {words[:60]!r}"
            )
        hands = np.stack([parse_cards(hand) for hand in found[2].split("/")])
        match.redeal(hands, int(found[1] or 0))
        return _Played(match, True)


def _one(value: object) -> Array:
    """Return a batch of one object."""
    batch = np.empty(1, object)
    batch[0] = value
    return batch
