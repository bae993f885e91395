"""What a network sees of an infoset in a game of any size, and the columns of its answers that are actions.

No game is listed. An infoset is described by the first of these that the game has:

- `game`: `Game.features(states, player)`, [n, width] of bits or small numbers, which a game may offer;
- `words`: the words of `infoset_text`, by place from the start, by place from the end and anywhere, each
  hashed to one of some buckets; written once per infoset and remembered;
- `key`: the bits of `infoset_key`, for games whose words are slow.

The seat and whether it acts are added. Actions are told apart by their values: those that random plays
come across have a column each, others share a few.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import OrderedDict
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Game, GameError, payoff_span
from games.ragged import Ragged, pick_by
from games.support.array_types import Array

KINDS = ("game", "words", "key")
BUCKETS = 1024
"""Places for hashed words: some hundred different ones collide rarely."""
LAST = 4
"""Words told by their place from the end as well."""
REMEMBERED = 200_000
"""Infosets whose words are kept, 128 bytes each."""
WORD = re.compile(r"[^\s|;/,]+|[|;]")
"""A word of an infoset's text; bars and semicolons are words, slashes and commas only end one."""
SPARE = 8
"""Columns that actions share which no random play came across."""
MOST_COLUMNS = 4096
PLAYS = 512
"""Random plays in which actions are looked for, several times over."""
LOOKS = 8


@runtime_checkable
class FeaturedGame(Protocol):
    """A game that says what a network should see."""

    def features(self, states: Array, player: int) -> Array:
        """Return what `player` knows at each state as numbers of about 0 to 1, [n, width] uint8 or float32.

        Infosets that differ should differ in a feature. It answers whoever acts, chance excepted.
        """
        ...


def feature_kind(game: Game, wanted: str = "auto") -> str:
    """Return how a game's infosets are described: `wanted`, or with "auto" the best that the game has.

    Raises GameError if it does not have what is wanted.
    """
    if wanted == "auto":
        return "game" if isinstance(game, FeaturedGame) else "words"
    if wanted not in KINDS:
        raise GameError(f"features must be auto or one of {', '.join(KINDS)}; got {wanted!r}")
    if wanted == "game" and not isinstance(game, FeaturedGame):
        raise GameError(f"{game.name}: features = game needs a method features(states, player); take words")
    return wanted


class InfosetFeatures:
    """Numbers that describe infosets of one game. kind: how (see this module). width: how many."""

    def __init__(self, game: Game, kind: str) -> None:
        self.game, self.kind = game, feature_kind(game, kind)
        self._known: OrderedDict[tuple[int, bytes], NDArray[np.uint8]] = OrderedDict()
        self.flags = game.num_players + 1
        if self.kind == "words":
            self.width = BUCKETS + self.flags
        elif self.kind == "key":
            self.width = 64 * game.key_width + self.flags
        else:
            self.width = self._own(_first_decision(game), 0).shape[1] + self.flags

    def of(self, states: Array, player: int, acts: NDArray[np.bool_]) -> Array:
        """Return the features of what `player` knows, [n, width] uint8 or float32.

        acts: [n], whether it is the one who acts.
        """
        if self.kind == "game":
            own = self._own(states, player)
        elif self.kind == "key":
            words = np.ascontiguousarray(self.game.infoset_key(states, player), "<u8")
            own = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
        else:
            own = self._words(states, player)
        out = np.zeros((len(states), self.width), own.dtype)
        out[:, : own.shape[1]] = own
        out[:, own.shape[1] + player] = 1
        out[:, -1] = acts
        return out

    def _own(self, states: Array, player: int) -> Array:
        assert isinstance(self.game, FeaturedGame)
        found = np.asarray(self.game.features(states, player))
        return found if found.dtype == np.uint8 else found.astype(np.float32, copy=False)

    def _words(self, states: Array, player: int) -> NDArray[np.uint8]:
        keys = self.game.infoset_key(states, player)
        packed = np.empty((len(states), BUCKETS // 8), np.uint8)
        for row, key in enumerate(keys):
            name = (player, key.tobytes())
            known = self._known.get(name)
            if known is None:
                known = _hashed(self.game.infoset_text(states[row], player))
                self._known[name] = known
                if len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
            packed[row] = known
        return np.unpackbits(packed, axis=1)


def _hashed(text: str) -> NDArray[np.uint8]:
    """Return the buckets of a text's words, [BUCKETS / 8] uint8 of bits."""
    words = WORD.findall(text)
    told = {f"{place}:{word}" for place, word in enumerate(words)}
    told |= {f"-{place}:{word}" for place, word in enumerate(words[: -LAST - 1 : -1], 1)}
    told |= {f"any:{word}" for word in words}
    bits = np.zeros(BUCKETS, np.uint8)
    bits[[zlib.crc32(word.encode()) % BUCKETS for word in told]] = 1
    return np.packbits(bits)


def _first_decision(game: Game) -> Array:
    """Return a history at which somebody acts, [1]."""
    states = game.root()
    while game.player(states)[0] == CHANCE:
        states = game.step(states, np.zeros(1, np.int64), game.actions(states).values[:1])
    return states


class ActionColumns:
    """The column of each action in a network's answer.

    known: [k] values of actions with a column of their own, sorted as scalars. count: columns in all.
    """

    def __init__(self, known: Array) -> None:
        """Take the actions that have columns of their own, [k], in any order."""
        self.known = np.unique(scalar_actions(known))
        self.count = len(self.known) + SPARE
        self._table: NDArray[np.int64] | None = None
        whole = self.known.dtype.kind in "iu" and len(self.known) > 0
        if whole and self.known.min() >= 0 and self.known.max() < 1 << 20:
            self._table = np.full(int(self.known.max()) + 1, -1, np.int64)
            self._table[self.known] = np.arange(len(self.known))

    @classmethod
    def sampled(cls, game: Game, rng: np.random.Generator) -> tuple[ActionColumns, float]:
        """Return columns for the actions that random plays come across, and what is at stake in them.

        What is at stake is the standard deviation of payoffs, at least a hundredth of the payoff range.
        Raises GameError if there are more actions than a network should have columns, or none.
        """
        if game.player(game.root())[0] == TERMINAL:
            raise GameError(f"{game.name}: a game to learn must not be over at its root; this one is")
        found: list[Array] = []
        payoffs: list[NDArray[np.float64]] = []
        for _ in range(LOOKS):
            states = np.repeat(game.root(), PLAYS, axis=0)
            while len(states):
                players = game.player(states)
                payoffs.append(game.returns(states[players == TERMINAL]).reshape(-1))
                states, players = states[players != TERMINAL], players[players != TERMINAL]
                if len(states) == 0:
                    break
                actions = game.actions(states)
                legal = actions.take(np.flatnonzero(players >= 0)).values
                found = [np.unique(np.concatenate([scalar_actions(legal), *found]))]
                uniforms = rng.random(len(states))
                pick = (uniforms * actions.counts).astype(np.int64)
                if len(chance := np.flatnonzero(players == CHANCE)):
                    outcomes = actions.take(chance)
                    probs = game.chance_probs(states[chance], outcomes)
                    pick[chance] = pick_by(outcomes, probs, uniforms[chance])
                states = game.step(
                    states, np.arange(len(states)), actions.values[actions.offsets[:-1] + pick]
                )
            if len(found[0]) > MOST_COLUMNS:
                raise GameError(
                    f"{game.name}: a network has a column for each of at most {MOST_COLUMNS:,} actions; "
                    "random plays came across more; give the game fewer distinct actions"
                )
        stake = max(float(np.concatenate(payoffs).std()), payoff_span(game) / 100)
        return cls(found[0]), stake

    def of(self, actions: Ragged) -> NDArray[np.int64]:
        """Return the column of each action, [m] int64."""
        values = scalar_actions(actions.values)
        if self._table is not None and values.dtype.kind in "iu":
            inside = (values >= 0) & (values < len(self._table))
            column = np.where(inside, self._table[np.where(inside, values, 0)], -1)
        else:
            at = np.minimum(np.searchsorted(self.known, values), len(self.known) - 1)
            column = np.where(self.known[at] == values, at, -1)
        for row in np.flatnonzero(column < 0):
            column[row] = len(self.known) + zlib.crc32(np.asarray(values[row]).tobytes()) % SPARE
        return column


def scalar_actions(values: Array) -> Any:
    """Return each action as one value that can be sorted and compared: whole numbers, or raw bytes."""
    if values.ndim == 1 and values.dtype.kind in "iu":
        return values.astype(np.int64)
    width = values.dtype.itemsize * math.prod(values.shape[1:])
    return np.ascontiguousarray(values).reshape(-1).view(np.dtype((np.void, width)))
