"""Move pruning by minimum combination (ODMC): moves that spoil the hand are not offered.

Of a decision's moves those stay

- whose rest can be played out in at most K_min + n + N / f - 1 moves, K_min being the least among all moves,
  n the margin asked for, N the cards dealt to a seat (in DouDiZhu on average, a third of the deck) and f the
  fewest cards that any player still in holds, so that pruning fades as the end comes near;
- the pass; in GuanDan and DouDiZhu bombs of every kind; and a move that plays the last card.

Source: Luo & Tan 2024, equation 2: K_i <= K_min + N / f + d with d the number of the current circle from 1.
With n = 2 and d = 1 ours is theirs at the deal. We leave d out (a round of GuanDan takes some 20 circles, so
that theirs would end after three), and keep bombs and the pass, which win and cede the lead whatever they
cost. In GuanDan straight flushes count as straights in K: what breaks one up is not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from blueprint.climbing.big2_turns import big2_turns
from blueprint.climbing.doudizhu_turns import TURN_ROOM, doudizhu_turns
from blueprint.guandan.rules.min_combination import UNIT, UNIT_COSTS, SplitRoom, split_hand, split_room
from blueprint.protocol import Agent, Decisions, DrawingAgent, agent_name, drawn
from games.climbing.big2.big2 import Big2
from games.climbing.big2.big2_rules import Book
from games.climbing.big2.table_rows import HELD
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import BOMB, Tables, move_table
from games.climbing.doudizhu.round_state import CALLS, round_views
from games.climbing.doudizhu.round_state import HAND as HAND_WORD
from games.game import Game, GameError
from games.guandan.cards import HAND_SIZE, PASS, STRAIGHT_FLUSH
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import HAND, LEVEL, action_words
from games.round_rows import views
from games.support.array_types import Array, Bytes, Ints
from games.support.kernel import kernel

KNOWN = 1 << 12
"""Rests whose split is remembered while a batch of decisions is pruned."""


class HandRests(Protocol):
    """What moves of a game leave in hand. dealt: cards of a seat at the deal, about."""

    dealt: int

    def turns(self, d: Decisions) -> Ints:
        """Return in about how many moves the rest after each move can be played out, [m]."""
        ...

    def fewest(self, d: Decisions) -> Ints:
        """Return the fewest cards that any player still in holds at each decision, [n]."""
        ...

    def kept(self, d: Decisions, turns: Ints) -> NDArray[np.bool_]:
        """Return which moves stay whatever they leave, [m]."""
        ...


class ClimbingRests(HandRests, Protocol):
    """The same of a climbing game."""

    def left(self, states: Array) -> Ints:
        """Return how many cards each seat holds, [n, seats] int64."""
        ...

    def fewest(self, d: Decisions) -> Ints:
        """Return the fewest cards that any player holds at each decision, [n]."""
        found: Ints = self.left(d.states[d.rows]).min(1)
        return found


@kernel(nogil=True)
def _guandan_turns(
    words: Ints,
    bytes_: Bytes,
    rows: Ints,
    seats: Ints,
    offsets: Ints,
    moves: Ints,
    costs: Ints,
    room: SplitRoom,
    out: Ints,
) -> None:
    groups = np.empty((32, 3), np.int64)
    for j in range(len(rows)):
        i, p = rows[j], seats[j]
        level = np.int64(bytes_[i, LEVEL])
        for k in range(offsets[j], offsets[j + 1]):
            lo, hi = words[i, HAND + 2 * p] - moves[k, 1], words[i, HAND + 2 * p + 1] - moves[k, 2]
            cost, _ = split_hand(lo, hi, level, costs[level], room, groups)
            out[k] = cost // UNIT


class _GuanDan:
    dealt = HAND_SIZE

    def turns(self, d: Decisions) -> Ints:
        out = np.empty(len(d.actions), np.int64)
        words, bytes_ = views(d.states)
        moves, room = action_words(d.actions), split_room(KNOWN)
        _guandan_turns(words, bytes_, d.rows, d.seats, d.offsets, moves, UNIT_COSTS, room, out)
        return out

    def fewest(self, d: Decisions) -> Ints:
        left = d.states["left"][d.rows].astype(np.int64)
        found: Ints = np.where(left > 0, left, HAND_SIZE).min(1)
        return found

    def kept(self, d: Decisions, turns: Ints) -> NDArray[np.bool_]:
        kinds = d.actions["type"]
        found: NDArray[np.bool_] = (kinds == PASS) | (kinds >= STRAIGHT_FLUSH)
        return found


@kernel(nogil=True)
def _doudizhu_turns(words: Ints, seats: Ints, offsets: Ints, moves: Ints, tables: Tables, out: Ints) -> None:
    """Write the turns that each move leaves to shed, [m]; a call leaves those of the hand."""
    stack = np.empty(TURN_ROOM, np.int64)
    for j in range(len(seats)):
        hand = words[j, HAND_WORD + seats[j]]
        for k in range(offsets[j], offsets[j + 1]):
            move = moves[k]
            rest = hand if move >= CALLS else hand - tables[0][move]
            out[k] = doudizhu_turns(rest, stack) if rest else 0


class _DouDizhu(ClimbingRests):
    def __init__(self, game: DouDizhu) -> None:
        self.dealt = (4 * game.ranks + 2) // 3

    def turns(self, d: Decisions) -> Ints:
        out = np.empty(len(d.actions), np.int64)
        words = round_views(d.states[d.rows])[0]
        _doudizhu_turns(words, d.seats, d.offsets, d.actions, move_table().tables, out)
        return out

    def left(self, states: Array) -> Ints:
        return np.asarray(states["left"], np.int64)

    def kept(self, d: Decisions, turns: Ints) -> NDArray[np.bool_]:
        kinds = move_table().heads[np.minimum(d.actions, CALLS - 1)] & 255
        found: NDArray[np.bool_] = (d.actions == 0) | (d.actions >= CALLS) | (kinds >= BOMB)
        return found


@kernel(nogil=True)
def _big2_turns(words: Ints, seats: Ints, offsets: Ints, moves: Ints, book: Book, out: Ints) -> None:
    """Write the turns that each play leaves to shed, [m]."""
    work = np.empty(26, np.int64)
    for j in range(len(seats)):
        hand = words[j, HELD + seats[j]]
        for k in range(offsets[j], offsets[j + 1]):
            out[k] = big2_turns(hand & ~moves[k], book, work)


class _Big2(ClimbingRests):
    def __init__(self, game: Big2) -> None:
        self.dealt, self.book, self.players = int(game.rules.hand), game.rules.book(), game.num_players

    def turns(self, d: Decisions) -> Ints:
        out = np.empty(len(d.actions), np.int64)
        words = views(d.states[d.rows])[0]
        _big2_turns(words, d.seats, d.offsets, d.actions.view(np.int64), self.book, out)
        return out

    def left(self, states: Array) -> Ints:
        held = np.ascontiguousarray(states["hand"][:, : self.players])
        bits = np.unpackbits(held.view(np.uint8).reshape(*held.shape, 8), axis=2)
        found: Ints = bits.sum(2, dtype=np.int64)
        return found

    def kept(self, d: Decisions, turns: Ints) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = d.actions == 0
        return found


def hand_rests(
    game: Game, rule: str = "prune must be -1", what: str = "can prune moves", *, climbing: bool = False
) -> Any:
    """Return what moves of a game leave in hand: `HandRests`, or `ClimbingRests` of a climbing game.

    Raises GameError for a game without: what must hold then (`rule`), and what needs it. climbing: GuanDan
    is one of these.
    """
    if isinstance(game, DouDizhu):
        return _DouDizhu(game)
    if isinstance(game, Big2):
        return _Big2(game)
    if isinstance(game, GuanDan) and not climbing:
        return _GuanDan()
    raise GameError(f"{game.name}: {rule}; only doudizhu and big2 {what}")


def kept_moves(rests: HandRests, d: Decisions, margin: int) -> NDArray[np.bool_]:
    """Return which moves of each decision stay, [m] bool; at least one of each decision does.

    margin: n of the rule above, at least 0. Raises ValueError at a lower one.
    """
    if margin < 0:
        raise ValueError(f"pruning: the margin must be at least 0; got {margin}")
    turns = rests.turns(d)
    if len(turns) == 0:
        return np.ones(0, np.bool_)
    least = np.minimum.reduceat(turns, d.offsets[:-1])
    limit = least + margin + rests.dealt // np.maximum(rests.fewest(d), 1) - 1
    return rests.kept(d, turns) | (turns <= np.repeat(limit, np.diff(d.offsets)))


def pruner(game: Game, margin: int) -> Callable[[Decisions], NDArray[np.bool_]]:
    """Return what says which moves of a game's decisions stay; raise GameError if none can be pruned."""
    return partial(kept_moves, hand_rests(game), margin=margin)


class Pruned(DrawingAgent):
    """An agent that is offered only the moves that stay, [m] bool of `kept`."""

    def __init__(self, agent: Agent, game: Game, margin: int) -> None:
        """Take an agent of a game; raise GameError if no move of it can be pruned."""
        self.agent: Any = agent
        self.name, self.kept = agent_name(agent), pruner(game, margin)

    @property
    def rng(self) -> Any:
        """What the agent draws from."""
        return getattr(self.agent, "rng", None)

    @rng.setter
    def rng(self, rng: np.random.Generator) -> None:
        self.agent.rng = rng

    def draw(self, decisions: Decisions) -> tuple[Ints, NDArray[np.float32]]:
        """Return one action per decision, as an index within its row, and its probability."""
        kept = self.kept(decisions)
        offsets = np.concatenate([[0], np.cumsum(kept)])[decisions.offsets]
        within = np.arange(len(kept)) - np.repeat(decisions.offsets[:-1], np.diff(decisions.offsets))
        choice, chance = drawn(
            self.agent, replace(decisions, offsets=offsets, actions=decisions.actions[kept])
        )
        return within[kept][offsets[:-1] + choice], chance
