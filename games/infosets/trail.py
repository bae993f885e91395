"""Trails: what one player saw on its way to an infoset, step by step.

By perfect recall every history of an infoset shows its player the same things in the same order, so a trail
made of any one of them leads to all of them (`games.infosets.sampling`). How long a player is shown the same
may differ: it need not notice that somebody else moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import TERMINAL, Game, GameError, Infoset
from games.infosets.naming import normal_text
from games.ragged import Ragged
from games.support.array_types import Array

MAX_SEARCHED = 200_000
"""Histories that a search for one of an infoset looks at before it gives up."""
FOLLOWED = 2_000
"""Histories that it follows at once."""
BEAM = 60
"""Infosets of the player that it follows at once."""


@dataclass(frozen=True, eq=False)
class Trail:
    """What a player saw on its way to an infoset of its own; t different things, one after another.

    player: whose eyes. acting: the seat that is to act where the trail ends; the player itself, or another
    where the player waits. keys: [t, key width] uint64, the player's infoset keys from the start of the game,
    each as often as it changed; the last is the infoset's. acted: [t] bool, whether the player itself acted
    there. action: [t] of the game's action dtype, what it did; anything elsewhere.
    """

    player: int
    acting: int
    keys: NDArray[np.uint64]
    acted: NDArray[np.bool_]
    action: Array

    def __len__(self) -> int:
        """Return how many different things the player saw."""
        return len(self.keys)

    @property
    def infoset(self) -> Infoset:
        """The infoset at the end of the trail, without words."""
        return Infoset(self.player, tuple(int(word) for word in self.keys[-1]), "", self.keys)

    def at_decisions(self) -> Trail:
        """Return the trail with the infosets alone at which the player acted, and the last."""
        kept = self.acted.copy()
        kept[-1] = True
        return replace(self, keys=self.keys[kept], acted=self.acted[kept], action=self.action[kept])


@dataclass(eq=False)
class SeatTrail:
    """What one seat saw and did in one game so far.

    seen: its infoset keys in the order of play, [key_width] uint64 each, those where others or chance act
        included; keys that follow each other differ. The last is the present one.
    own: the places in `seen` at which it has acted. taken: the actions that it took there.
    """

    seen: list[NDArray[np.uint64]] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    taken: list[Array] = field(default_factory=list)

    def see(self, key: NDArray[np.uint64]) -> None:
        """Add an infoset key, unless nothing has changed."""
        if not self.seen or not np.array_equal(self.seen[-1], key):
            self.seen.append(key)

    def act(self, action: Array) -> None:
        """Add an action of the seat's own at the present infoset."""
        self.own.append(len(self.seen) - 1)
        self.taken.append(action)

    def of(self, player: int, acting: int | None = None) -> Trail:
        """Return the trail of the seat. acting: who is to act now, None for the seat itself."""
        acted = np.zeros(len(self.seen), bool)
        acted[self.own] = True
        known = np.asarray(self.taken) if len(self.taken) else np.zeros(1, np.int64)
        place = np.zeros(len(self.seen), np.int64)
        place[acted] = np.arange(len(self.own))
        keys = np.array(self.seen, np.uint64)
        return Trail(player, player if acting is None else acting, keys, acted, known[place])


class Watcher:
    """Makes the trail of one player while a game is played.

    game, player: whose game and whose eyes. `see` takes every state of the history, from the root on, and
    `act` every action of the player's own.
    """

    def __init__(self, game: Game, player: int) -> None:
        """Start before the first state."""
        self.game, self.player = game, player
        self._noted = SeatTrail()
        self._acting = TERMINAL

    def see(self, state: Array) -> None:
        """Take the state that the game is in now, a batch of one; only what the player knows is kept."""
        self._acting = int(self.game.player(state)[0])
        self._noted.see(self.game.infoset_key(state, self.player)[0])

    def act(self, action: Array) -> None:
        """Take the action that the player chose at the state seen last, one of the game's actions."""
        self._noted.act(action)

    @property
    def trail(self) -> Trail:
        """Return the trail up to the state seen last.

        Raises GameError before the first one.
        """
        if not self._noted.seen:
            raise GameError(f"{self.game.name}: a trail needs a state; got none; call Watcher.see first")
        return self._noted.of(self.player, self._acting)


def walk(game: Game, lines: Ragged) -> Iterator[tuple[NDArray[np.int64], Array, NDArray[np.int64], Array]]:
    """Yield, step by step, (rows still going, their states, their next actions' places, those actions).

    lines: actions from the root, a row for each history. The last step yields the rows that have just ended,
    too: rows come as long as they have actions left, and once more at their end, with place -1.
    """
    counts, start = lines.counts, lines.offsets[:-1]
    rows = np.arange(len(lines))
    states = np.repeat(game.root(), len(lines), axis=0)
    step = 0
    while len(rows):
        going = counts[rows] > step
        place = np.where(going, start[rows] + step, -1)
        yield rows, states, place, lines.values[np.maximum(place, 0)] if len(lines.values) else lines.values
        on = np.flatnonzero(going)
        if len(on) == 0:
            return
        states = game.step(states, on, lines.values[place[on]])
        rows = rows[on]
        step += 1


def trails_along(game: Game, lines: Ragged, player: int) -> list[Trail]:
    """Return the trail of a player along each history, given as rows of actions from the root."""
    n = len(lines)
    keys: list[list[NDArray[np.uint64]]] = [[] for _ in range(n)]
    acted: list[list[int]] = [[] for _ in range(n)]
    acting = np.zeros(n, np.int64)
    last = np.zeros((n, game.key_width), np.uint64)
    first = True
    for rows, states, place, _ in walk(game, lines):
        key = game.infoset_key(states, player)
        who = game.player(states)
        new = np.ones(len(rows), bool) if first else np.any(key != last[rows], axis=1)
        first = False
        last[rows] = key
        acting[rows] = who
        for at in np.flatnonzero(new).tolist():
            keys[rows[at]].append(key[at])
            acted[rows[at]].append(-1)
        for at in np.flatnonzero((who == player) & (place >= 0)).tolist():
            acted[rows[at]][-1] = int(place[at])
    found = []
    blank = lines.values[:1] if len(lines.values) else game.actions(game.root()).values[:1]
    pool = np.concatenate([blank, lines.values])
    for row in range(n):
        places = np.array(acted[row], np.int64)
        found.append(
            Trail(player, int(acting[row]), np.array(keys[row], np.uint64), places >= 0, pool[places + 1])
        )
    return found


def same_actions(ours: Array, others: Array) -> NDArray[np.bool_]:
    """Return which actions are the same, [m] bool, for any dtype and trailing shape."""
    same = np.asarray(ours == others, bool).reshape(len(ours), -1)
    whole: NDArray[np.bool_] = np.all(same, axis=1)
    return whole


def find_trail(game: Game, infoset: Infoset, rng: np.random.Generator) -> Trail:
    """Return the trail to an infoset, by any one history of it.

    A game that samples its infosets gives one. Otherwise histories are followed from the root, those first
    whose words for the player share most with the infoset's, until one is found.
    Raises GameError if none is found, with what to do.
    """
    sampler = getattr(game, "sample_histories", None)
    if sampler is not None:
        lines = sampler(infoset, 1, rng)
        return trails_along(game, lines, infoset.player)[0]
    line = named_line(game, infoset.player, infoset.text, followed=FOLLOWED, most=MAX_SEARCHED)
    if line is None:
        raise GameError(
            f"{game.name}: a history of the infoset must be found; none of {MAX_SEARCHED:,} at most is one "
            f"of {infoset.text!r}; a lock may never lead to it; otherwise give the game sample_histories "
            "(games/game.py), or search from a trail"
        )
    return trails_along(game, Ragged.from_counts(np.array([len(line)]), line), infoset.player)[0]


def named_line(game: Game, player: int, text: str, *, followed: int, most: float = np.inf) -> Array | None:
    """Return the actions that lead to one history of the infoset that a text names; None if none is found.

    Histories that the player cannot tell apart are followed together, those first whose words are most like
    the beginning of the text.
    followed: histories followed at once, evenly from BEAM infosets at most. most: histories looked at.
    """
    wanted = normal_text(text)
    words = _tokens(wanted)
    states, looked = game.root(), 0
    lines: list[list[Any]] = [[]]
    while len(states) and looked < most:
        keys = game.infoset_key(states, player)
        _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        texts = [normal_text(game.infoset_text(states[at], player)) for at in first.tolist()]
        if wanted in texts:
            return np.array(lines[first[texts.index(wanted)]], game.actions(states).values.dtype)
        likeness = [_likeness(_tokens(text), words) for text in texts]
        likely = sorted(range(len(first)), key=lambda one: (-likeness[one], first[one]))[:BEAM]
        each = max(1, followed // len(likely))
        alike = [np.flatnonzero(group.reshape(-1) == one) for one in likely]
        kept = np.concatenate([_spread(rows, each) for rows in alike])
        actions = game.actions(states[kept])
        looked += len(actions.values)
        rows = kept[actions.rows]
        lines = [[*lines[row], action] for row, action in zip(rows.tolist(), actions.values, strict=True)]
        states = game.step(states, rows, actions.values)
    return None


def _tokens(text: str) -> list[str]:
    return re.findall(r"[\w,.]+|[^\w\s,.]", text)


def _likeness(words: list[str], wanted: list[str]) -> float:
    """Return how well a text can be the beginning of another: runs of words that both have, long ones first.

    Words that the other does not have count against it.
    """
    blocks = SequenceMatcher(None, words, wanted, autojunk=False).get_matching_blocks()
    return sum(block.size**2 for block in blocks) - len(words) + sum(block.size for block in blocks)


def _spread(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return up to `most` rows, evenly from first to last."""
    count = min(most, len(rows))
    return rows[np.arange(count) * len(rows) // count]
