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
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from blueprint.climbing.big2.big2_turns import big2_turns
from blueprint.climbing.doudizhu.doudizhu_turns import TURN_ROOM, doudizhu_turns
from blueprint.climbing.move_inputs import MoveInputs
from blueprint.climbing.training.climbing_play import MoveChoices
from blueprint.guandan.chooser import Chooser, Decisions
from blueprint.guandan.hands import card_counts
from blueprint.guandan.rules.fewest_moves import NO_ROOM, Room, count_fewest_moves, room
from games.climbing.big2.big2 import Big2
from games.climbing.big2.big2_rules import Book
from games.climbing.big2.table_rows import HELD
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import BOMB, Tables, move_table
from games.climbing.doudizhu.round_state import CALLS, round_views
from games.climbing.doudizhu.round_state import HAND as HAND_WORD
from games.game import GameError
from games.guandan.cards import HAND_SIZE, PASS, STRAIGHT_FLUSH
from games.guandan.rounds.state import HAND, LEVEL, action_words, views
from games.support.array_types import Array, Bytes, Ints
from games.support.kernel import kernel

__all__ = [
    "ClimbingRests",
    "HandRests",
    "PrunedChooser",
    "hand_rests",
    "kept_moves",
    "kept_words",
    "pruned_agent",
    "pruner",
]

D = TypeVar("D", bound="_Asked")
C = TypeVar("C", contravariant=True)
UNKNOWN = 99
"""Turns of a rest that the search has no room for; its move stays."""


class _Asked(Protocol):
    """Decisions of any game: `Decisions` or `MoveChoices`."""

    @property
    def offsets(self) -> Ints: ...


class HandRests(Protocol[C]):
    """What moves of a game leave in hand. dealt: cards of a seat at the deal, about."""

    dealt: int

    def turns(self, d: C) -> Ints:
        """Return in about how many moves the rest after each move can be played out, [m]."""
        ...

    def fewest(self, d: C) -> Ints:
        """Return the fewest cards that any player still in holds at each decision, [n]."""
        ...

    def kept(self, d: C, turns: Ints) -> NDArray[np.bool_]:
        """Return which moves stay whatever they leave, [m]."""
        ...


class ClimbingRests(HandRests[MoveChoices], Protocol):
    """The same of a climbing game."""

    def left(self, states: Array) -> Ints:
        """Return how many cards each seat holds, [n, seats] int64."""
        ...


@kernel(nogil=True)
def _guandan_turns(
    words: Ints, bytes_: Bytes, rows: Ints, seats: Ints, offsets: Ints, moves: Ints, work: Room, out: Ints
) -> None:
    naturals = np.empty(15, np.int64)
    for j in range(len(rows)):
        i, p = rows[j], seats[j]
        level = np.int64(bytes_[i, LEVEL])
        for k in range(offsets[j], offsets[j + 1]):
            wild = card_counts(
                words[i, HAND + 2 * p] - moves[k, 1],
                words[i, HAND + 2 * p + 1] - moves[k, 2],
                level,
                naturals,
            )
            found = count_fewest_moves(naturals, wild, work)
            out[k] = UNKNOWN if found == NO_ROOM else found


class _GuanDan:
    dealt = HAND_SIZE

    def turns(self, d: Decisions) -> Ints:
        out = np.empty(len(d.actions), np.int64)
        words, bytes_ = views(d.states)
        _guandan_turns(words, bytes_, d.rows, d.seats, d.offsets, action_words(d.actions), room(), out)
        return out

    def fewest(self, d: Decisions) -> Ints:
        left = d.states["left"][d.rows].astype(np.int64)
        found: Ints = np.where(left > 0, left, HAND_SIZE).min(1)
        return found

    def kept(self, d: Decisions, turns: Ints) -> NDArray[np.bool_]:
        kinds = d.actions["type"]
        found: NDArray[np.bool_] = (kinds == PASS) | (kinds >= STRAIGHT_FLUSH) | (turns == UNKNOWN)
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


class _DouDizhu:
    def __init__(self, game: DouDizhu) -> None:
        self.dealt = (4 * game.ranks + 2) // 3

    def turns(self, d: MoveChoices) -> Ints:
        out = np.empty(len(d.words), np.int64)
        _doudizhu_turns(round_views(d.states)[0], d.seats, d.offsets, d.words, move_table().tables, out)
        return out

    def left(self, states: Array) -> Ints:
        return np.asarray(states["left"], np.int64)

    def fewest(self, d: MoveChoices) -> Ints:
        found: Ints = self.left(d.states).min(1)
        return found

    def kept(self, d: MoveChoices, turns: Ints) -> NDArray[np.bool_]:
        kinds = move_table().heads[np.minimum(d.words, CALLS - 1)] & 255
        found: NDArray[np.bool_] = (d.words == 0) | (d.words >= CALLS) | (kinds >= BOMB)
        return found


@kernel(nogil=True)
def _big2_turns(words: Ints, seats: Ints, offsets: Ints, moves: Ints, book: Book, out: Ints) -> None:
    """Write the turns that each play leaves to shed, [m]."""
    work = np.empty(26, np.int64)
    for j in range(len(seats)):
        hand = words[j, HELD + seats[j]]
        for k in range(offsets[j], offsets[j + 1]):
            out[k] = big2_turns(hand & ~moves[k], book, work)


class _Big2:
    def __init__(self, game: Big2) -> None:
        self.dealt, self.book, self.players = int(game.rules.hand), game.rules.book(), game.num_players

    def turns(self, d: MoveChoices) -> Ints:
        out = np.empty(len(d.words), np.int64)
        _big2_turns(views(d.states)[0], d.seats, d.offsets, d.words, self.book, out)
        return out

    def left(self, states: Array) -> Ints:
        held = np.ascontiguousarray(states["hand"][:, : self.players])
        bits = np.unpackbits(held.view(np.uint8).reshape(*held.shape, 8), axis=2)
        found: Ints = bits.sum(2, dtype=np.int64)
        return found

    def fewest(self, d: MoveChoices) -> Ints:
        found: Ints = self.left(d.states).min(1)
        return found

    def kept(self, d: MoveChoices, turns: Ints) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = d.words == 0
        return found


GUANDAN: HandRests[Decisions] = _GuanDan()


def hand_rests(inputs: MoveInputs, rule: str, what: str) -> ClimbingRests:
    """Return what moves of a climbing game leave in hand.

    Raises GameError for another game: what must hold without (`rule`), and what needs it.
    """
    game = inputs.game
    if isinstance(game, DouDizhu):
        return _DouDizhu(game)
    if isinstance(game, Big2):
        return _Big2(game)
    raise GameError(f"{game.name}: {rule}; only doudizhu and big2 {what}")


def kept_moves(rests: HandRests[D], d: D, margin: int) -> NDArray[np.bool_]:
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


class PrunedChooser(Generic[D]):
    """A player that is offered only the moves that stay. kept: which they are, [m] bool."""

    def __init__(self, chooser: Callable[[D], Ints], kept: Callable[[D], NDArray[np.bool_]]) -> None:
        self.chooser, self.kept = chooser, kept

    def __call__(self, decisions: D) -> Ints:
        """Return one action per decision, as an index within its row."""
        kept = self.kept(decisions)
        offsets = np.concatenate([[0], np.cumsum(kept)])[decisions.offsets]
        within = np.arange(len(kept)) - np.repeat(decisions.offsets[:-1], np.diff(decisions.offsets))
        name = "words" if isinstance(decisions, MoveChoices) else "actions"
        fewer: Any = {"offsets": offsets, name: getattr(decisions, name)[kept]}
        asked: D = replace(decisions, **fewer)  # type: ignore[type-var]
        found: Ints = within[kept][offsets[:-1] + self.chooser(asked)]
        return found


def pruned_agent(chooser: Chooser, margin: int) -> PrunedChooser[Decisions]:
    """Return a player of GuanDan that is offered only the moves that stay."""
    return PrunedChooser(chooser, partial(kept_moves, GUANDAN, margin=margin))


def pruner(inputs: MoveInputs, margin: int) -> Callable[[MoveChoices], NDArray[np.bool_]]:
    """Return what says which moves of a climbing game stay; raise GameError if none can be pruned."""
    return partial(kept_moves, hand_rests(inputs, "prune must be -1", "can prune moves"), margin=margin)


def kept_words(
    inputs: MoveInputs, states: Array, seats: Ints, offsets: Ints, words: Ints, margin: int
) -> NDArray[np.bool_]:
    """Return which of words[offsets[j]:offsets[j + 1]] at states[j] stay, [m] bool."""
    return pruner(inputs, margin)(MoveChoices(states, seats, offsets, words))
