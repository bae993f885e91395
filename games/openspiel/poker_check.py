"""A poker game of OpenSpiel's, played at random, held against the tables that were made of it."""

from __future__ import annotations

from collections import Counter
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np

from games.game import CHANCE, TERMINAL
from games.openspiel.betting_tree import CARDS, NotPoker

if TYPE_CHECKING:
    from games.openspiel.poker_form import PokerForm

__all__ = ["check_form"]

HISTORIES = 400
"""Histories that are played; a fifth of a second."""
TOLERANCE = 1e-9


def check_form(game: Any, form: PokerForm, name: str, rng: np.random.Generator) -> None:
    """Raise NotPoker if a history of OpenSpiel's is not as the tables have it.

    Cards and actions are drawn evenly. Held against them: hands, who acts, the actions, how likely the board
    is, the payoffs, and that the text that a player sees names its hand, the betting and the board.
    """
    betting = form.betting
    children: list[dict[int, int]] = [{} for _ in range(len(betting))]
    for node in range(1, len(betting)):
        children[int(betting.parent[node])][int(betting.action[node])] = node
    place = [{text: at for at, text in enumerate(told)} for told in form.hands.told]
    number = {board: at for at, board in enumerate(form.boards)}
    said: tuple[dict[str, tuple[int, ...]], ...] = ({}, {})
    for _ in range(HISTORIES):
        state = game.new_initial_state()
        while state.is_chance_node():
            _any_outcome(state, rng)
        held = [place[seat].get(str(state.information_state_string(seat)), -1) for seat in (0, 1)]
        _require(name, min(held) >= 0 and form.hands.prior[held[0], held[1]] > 0, "hands")
        node, board = 0, -1
        while True:
            who = int(betting.player[node])
            _require(name, who == _mover(state), "who acts")
            if who == TERMINAL:
                break
            if who == CHANCE:
                shown, prob = [], 1.0
                while state.is_chance_node():
                    action, p = _any_outcome(state, rng)
                    shown.append(action)
                    prob *= p
                for count in Counter(shown).values():
                    prob /= factorial(count)
                board = number.get(tuple(sorted(shown)), -1)
                told = form.board_probs[board, held[0], held[1]] if board >= 0 else 0.0
                _require(
                    name, abs(prob * factorial(len(shown)) - told) < TOLERANCE, "the probability of a board"
                )
                node = children[node][CARDS]
                continue
            _require(name, state.legal_actions() == sorted(children[node]), "the actions")
            text = str(state.information_state_string(who))
            what = (node, held[who], board)
            _require(name, said[who].setdefault(text, what) == what, "the texts that players see")
            action = int(rng.choice(state.legal_actions()))
            state.apply_action(action)
            node = children[node][action]
        won = form.outcomes[0][held[0], held[1]] if board < 0 else form.outcomes[1][board, held[0], held[1]]
        paid = float(betting.stake[node]) * (int(won) if betting.fought[node] else 1)
        _require(name, abs(paid - state.returns()[0]) < TOLERANCE * max(1.0, abs(paid)), "the payoffs")


def _any_outcome(state: Any, rng: np.random.Generator) -> tuple[int, float]:
    """Play one of chance's outcomes, each as likely as another; return it and its probability."""
    outcomes = [(action, prob) for action, prob in state.chance_outcomes() if prob > 0]
    action, prob = outcomes[int(rng.integers(len(outcomes)))]
    state.apply_action(action)
    return int(action), float(prob)


def _mover(state: Any) -> int:
    if state.is_terminal():
        return TERMINAL
    return CHANCE if state.is_chance_node() else int(state.current_player())


def _require(name: str, holds: bool, what: str) -> None:
    if not holds:
        raise NotPoker(
            name, f"must be a product of hands, betting and a board; {what} depend on more than those"
        )
