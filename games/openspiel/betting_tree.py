"""The betting of a poker game of OpenSpiel's, walked once with a few deals side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, GameError
from games.infosets.infoset_words import ACTS, OTHER_ACTS, OVER
from games.openspiel.expansion import has_more_below

__all__ = ["CARDS", "BettingTree", "NotPoker", "walk_betting"]

CARDS = -1
"""The action of a way past the board."""
MOST_NODES = 1_000_000
"""Betting nodes; so many take half a minute to walk."""
TOLERANCE = 1e-9


class NotPoker(GameError):
    """A game of OpenSpiel's that is no product of hands, betting and boards.

    rule: what it should do.
    """

    def __init__(self, name: str, rule: str) -> None:
        self.rule = f"such a game {rule}"
        super().__init__(f"{name}: to be solved on its public tree, a game {rule}")


@dataclass(frozen=True, eq=False)
class BettingTree:
    """What can be bet, whatever the cards; parents come before their children.

    player: [n] int8, a seat, CHANCE where the board is shown, or TERMINAL. parent: [n] int32, -1 at the root.
    action: [n] int64, OpenSpiel's action that leads to the node, CARDS for the board.
    stage: [n] int8, 0 before the board and 1 after it. fought: [n] bool, a showdown.
    stake: [n] float64, what player 0 is paid where there is no showdown, else what the winner is paid.
    shown: cards of a board.
    """

    player: NDArray[np.int8]
    parent: NDArray[np.int32]
    action: NDArray[np.int64]
    stage: NDArray[np.int8]
    fought: NDArray[np.bool_]
    stake: NDArray[np.float64]
    shown: int

    def __len__(self) -> int:
        return len(self.player)

    def way(self, node: int) -> list[int]:
        """Return the actions from the root to a node."""
        way: list[int] = []
        while node:
            way.append(int(self.action[node]))
            node = int(self.parent[node])
        return way[::-1]

    def showdown(self, stage: int) -> int | None:
        """Return a showdown for something in a stage, one that few actions lead to; None if there is none."""
        found = np.flatnonzero(self.fought & (self.stage == stage) & (self.stake > 0))
        return min(found.tolist(), key=lambda node: len(self.way(node)), default=None)

    def first_chance(self) -> int | None:
        """Return the first node at which the board is shown; None if there is none."""
        found = np.flatnonzero(self.player == CHANCE)
        return int(found[0]) if len(found) else None


def walk_betting(probes: list[Any], name: str) -> BettingTree:
    """Return the betting that follows a few deals, OpenSpiel's states; it must be one for all.

    The first of them gets the same board everywhere; what OpenSpiel then tells a player must name the node.
    Raises NotPoker if the betting differs, cards are shown twice, or a player forgets.
    """
    if has_more_below(probes[0], name, MOST_NODES):
        raise NotPoker(name, f"must have at most {MOST_NODES:,} ways to bet; it has more")
    rng = np.random.default_rng(0)
    rows: list[tuple[int, int, int, int, bool, float]] = []
    shown = 0
    seen: tuple[dict[tuple[int, str], int], dict[tuple[int, str], int]] = ({}, {})
    stack: list[tuple[list[Any], int, int, int]] = [(probes, -1, 0, 0)]
    while stack:
        states, parent, action, stage = stack.pop()
        node = len(rows)
        if node >= MOST_NODES:
            raise NotPoker(name, f"must have at most {MOST_NODES:,} ways to bet; it has more")
        who = _one(name, [_mover(state) for state in states], "must let the same player act")
        _recalled(name, states[0], who, node, seen)
        if who == TERMINAL:
            fought, stake = _paid(name, states)
            rows.append((who, parent, action, stage, fought, stake))
            continue
        rows.append((who, parent, action, stage, False, 0.0))
        if who == CHANCE:
            if stage:
                raise NotPoker(
                    name,
                    "must show cards once; this one does so twice, and what OpenSpiel tells its players does "
                    "not say in which order",
                )
            after, counts = zip(
                *(_shown(state, rng, row == 0) for row, state in enumerate(states)), strict=True
            )
            count = _one(name, list(counts), "must show as many cards to all")
            if shown not in (0, count):
                raise NotPoker(name, "must show as many cards however the betting went")
            shown = count
            stack.append((list(after), node, CARDS, 1))
            continue
        legal = _one(name, [tuple(state.legal_actions()) for state in states], "must allow the same actions")
        stack += [([state.child(a) for state in states], node, a, stage) for a in reversed(legal)]
    player, parent_of, action_of, stage_of, fought_at, stake_at = zip(*rows, strict=True)
    return BettingTree(
        player=np.array(player, np.int8),
        parent=np.array(parent_of, np.int32),
        action=np.array(action_of, np.int64),
        stage=np.array(stage_of, np.int8),
        fought=np.array(fought_at, np.bool_),
        stake=np.array(stake_at, np.float64),
        shown=shown,
    )


def _one(name: str, found: list[Any], rule: str) -> Any:
    """Return what all the deals have in common."""
    if any(other != found[0] for other in found):
        raise NotPoker(
            name, f"{rule} whatever the cards; got {found[0]} and {next(o for o in found if o != found[0])}"
        )
    return found[0]


def _mover(state: Any) -> int:
    if state.is_terminal():
        return TERMINAL
    return CHANCE if state.is_chance_node() else int(state.current_player())


def _recalled(
    name: str,
    state: Any,
    who: int,
    node: int,
    seen: tuple[dict[tuple[int, str], int], dict[tuple[int, str], int]],
) -> None:
    """Raise NotPoker if a player was told the same at an earlier betting node."""
    for seat in (0, 1):
        role = OVER if who == TERMINAL else ACTS if who == seat else OTHER_ACTS
        told = str(state.information_state_string(seat))
        if seen[seat].setdefault((role, told), node) != node:
            raise NotPoker(
                name, f'must show its players the bets; player {seat} sees "{told}" after two different ones'
            )


def _shown(state: Any, rng: np.random.Generator, first: bool) -> tuple[Any, int]:
    """Return a state with a board, the first one or one at random, and of how many cards."""
    count = 0
    while state.is_chance_node():
        outcomes = [action for action, prob in state.chance_outcomes() if prob > 0]
        state = state.child(outcomes[0 if first else int(rng.integers(len(outcomes)))])
        count += 1
    return state, count


def _paid(name: str, states: list[Any]) -> tuple[bool, float]:
    """Return (whether it is a showdown, what player 0 is paid or the winner of it) at an end."""
    paid = np.array([state.returns() for state in states], np.float64)
    if np.abs(paid.sum(axis=1)).max() > TOLERANCE:
        raise NotPoker(
            name, f"must have payoffs that sum to zero; got {paid[np.abs(paid.sum(axis=1)).argmax()]}"
        )
    own = paid[:, 0]
    if np.ptp(own) <= TOLERANCE and own[0] != 0:
        return False, float(own[0])
    stake = float(np.abs(own).max())
    if (np.minimum(np.abs(own), np.abs(np.abs(own) - stake)) > TOLERANCE * max(1.0, stake)).any():
        raise NotPoker(name, f"must pay the same at a showdown whatever the cards; got {own.tolist()}")
    return True, stake
