"""A seat at RLCard's DouDiZhu table for an agent of ours, who sees what RLCard shows and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from blueprint.protocol import Agent, Decisions, drawn
from games.climbing.doudizhu.doudizhu import DouDizhu, rounds_from_hands
from games.climbing.doudizhu.move_table import BOMB, move_letters, move_number, move_table
from games.climbing.doudizhu.multiset import RANK_LETTERS
from games.game import GameError
from games.ragged import Ragged
from games.support.array_types import Rows

__all__ = ["RlcardSeat", "round_points_of", "seen_round"]

ONE = np.zeros(1, np.int64)


def seen_round(game: DouDizhu, raw: dict[str, Any]) -> Rows:
    """Return the round that an observation of RLCard's tells, a batch of one.

    raw: `raw_obs` of a state. Cards that it hides are dealt to the two other seats in any way that agrees; no
    agent of a seat looks at them. Raises GameError where the observation's own moves are not legal.
    """
    gone = _played(raw)
    own, played = int(raw["self"]), [_packed(cards) for cards in gone]
    hidden = sorted(raw["others_hand"])
    left = [int(number) for number in raw["num_cards_left"]]
    hands = [0, 0, 0]
    for seat in range(3):
        if seat == own:
            hands[seat] = _packed(raw["current_hand"]) + played[seat]
        else:
            hands[seat] = _packed(hidden[: left[seat]]) + played[seat]
            hidden = hidden[left[seat] :]
    state = rounds_from_hands(np.array(hands, np.uint64))
    # what it shows is what the landlord has not played yet; ours is the whole bottom
    shown = Counter(raw["seen_cards"])
    state["bottom"] = _packed([c for c in shown for _ in range(shown[c] + gone[0].count(c))])
    for seat, action in raw["trace"]:
        if seat != state["player"][0]:
            raise GameError(f"rlcard: seat {state['player'][0]} is to act; got a move of seat {seat}")
        state = game.step(state, ONE, np.array([move_number(action)]))
    return state


def _packed(letters: Iterable[str]) -> int:
    """Return the packed multiset of single letters, in any order: read as a text, B and J would be one."""
    return sum(1 << 4 * RANK_LETTERS.index(letter) for letter in letters)


def _played(raw: dict[str, Any]) -> list[list[str]]:
    found: list[list[str]] = [[], [], []]
    for seat, action in raw["trace"]:
        if action != "pass":
            found[seat] += action
    return found


class RlcardSeat:
    """An agent of RLCard's, who asks an agent of ours."""

    use_raw = True

    def __init__(self, game: DouDizhu, agent: Agent, rng: np.random.Generator) -> None:
        """Take our game and agent. rng: draws where the agent is not certain."""
        self.game, self.agent, self.rng = game, agent, rng

    def step(self, state: dict[str, Any]) -> str:
        """Return the move that our agent takes, in RLCard's letters."""
        raw = state["raw_obs"]
        legal = sorted(raw["actions"], key=move_number)
        if len(legal) == 1:
            return str(legal[0])
        moves = np.array([move_number(action) for action in legal], np.int64)
        actions = Ragged.from_counts(np.array([len(moves)]), moves)
        seen = seen_round(self.game, raw)
        asked = Decisions.of(seen, actions, int(raw["self"]), game=self.game)
        return move_letters(int(moves[drawn(self.agent, asked, self.rng)[0][0]]))

    def eval_step(self, state: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the same move, and nothing beside it."""
        return self.step(state), {}


def round_points_of(trace: list[tuple[int, str]], landlord_won: bool) -> float:
    """Return what a round was worth to the landlord's side in points: 2, doubled by each bomb and the rocket.

    DouZero's ADP: RLCard itself pays 1 to the winners and 0 to the losers.
    """
    kinds = [int(move_table().heads[move_number(action)]) & 255 for _, action in trace]
    points = 2.0 ** (1 + sum(kind >= BOMB for kind in kinds))
    return points if landlord_won else -points
