"""What a network sees of a research game: each infoset's words, by place, as ones and zeros.

`Game.infoset_text` names an infoset in words ("P1 holds Qh | raise call | board Ks"), the same way for every
game. A feature is a word at its place from the start, at its place from the end (the latest actions), or
anywhere; the seat's name is among the words. Nothing is hashed: infosets that differ differ in a feature.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.tabular import KeyIndex
from games.game import CHANCE, Game, GameError
from games.support.array_types import Array

__all__ = ["Infosets", "list_infosets"]

LAST = 3
"""Words told by their place from the end as well."""
MAX_HISTORIES = 4_000_000
"""Histories up to which a game is listed; the largest research game has 1.9 million."""


@dataclass(frozen=True, eq=False)
class Infosets:
    """What each seat can know at any decision, its own or another's; K views, those of seat 0 first.

    game: the game. actions: [A] its actions outside chance, rising.
    start: [seats + 1] int64, views of seat p are `start[p]:start[p + 1]`.
    features: [K, width] uint8, 0 or 1. words: what each feature tells.
    columns: [K, A] int64, the legal actions' places in `actions`, in the game's order, -1 behind them; all -1
        where another seat decides. counts: [K] int64, legal actions.
    """

    game: Game
    actions: Array
    start: NDArray[np.int64]
    features: NDArray[np.uint8]
    words: tuple[str, ...]
    columns: NDArray[np.int64]
    counts: NDArray[np.int64]
    index: tuple[KeyIndex, ...]

    @property
    def digest(self) -> str:
        """Return a hash of the layout of features and actions."""
        text = json.dumps([self.game.name, self.words, self.actions.tolist()])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def rows(self, states: Array, player: int) -> NDArray[np.int64]:
        """Return the view that `player` has of each decision state, [n] int64.

        Raises GameError for a state of another game.
        """
        return self.rows_of_keys(self.game.infoset_key(states, player), player)

    def rows_of_keys(self, keys: NDArray[np.uint64], player: int) -> NDArray[np.int64]:
        """Return the view of each infoset key of `player`, [n] int64. Raises GameError for a foreign key."""
        row = self.index[player].find(keys)
        if np.any(row < 0):
            raise GameError(f"{self.game.name}: an infoset key must be one of the game's; one is not")
        found: NDArray[np.int64] = row + self.start[player]
        return found


def list_infosets(game: Game, *, max_histories: int = MAX_HISTORIES) -> Infosets:
    """Return the infosets of a game with their features, by walking its whole tree.

    Raises GameError if the game has more histories than `max_histories`.
    """
    seats = range(game.num_players)
    keys: list[list[Array]] = [[] for _ in seats]
    texts: list[list[str]] = [[] for _ in seats]
    legal: list[list[Array]] = [[] for _ in seats]
    seen: list[set[bytes]] = [set() for _ in seats]
    states = game.root()
    visited = 1
    while len(states):
        players = game.player(states)
        actions = game.actions(states)
        visited += len(actions.values)
        if visited > max_histories:
            raise GameError(
                f"{game.name}: a network is trained on games of up to {max_histories:,} histories; "
                "this one has more; take a smaller one"
            )
        deciding = np.flatnonzero(players >= 0)
        for seat in seats:
            found, first = np.unique(game.infoset_key(states[deciding], seat), axis=0, return_index=True)
            for key, row in zip(found, deciding[first], strict=True):
                name = key.tobytes()
                if name in seen[seat]:
                    continue
                seen[seat].add(name)
                keys[seat].append(key)
                texts[seat].append(game.infoset_text(states[row], seat))
                legal[seat].append(actions[row] if players[row] == seat else actions.values[:0])
        going = np.flatnonzero(players >= CHANCE)
        moves = actions.take(going)
        states = game.step(states, going[moves.rows], moves.values)
    every = np.unique(np.concatenate([values for seat in legal for values in seat]))
    flat = [values for seat in legal for values in seat]
    counts = np.array([len(values) for values in flat], np.int64)
    columns = np.full((len(flat), len(every)), -1, np.int64)
    for row, values in enumerate(flat):
        columns[row, : len(values)] = np.searchsorted(every, values)
    words, features = _features([text for seat in texts for text in seat])
    return Infosets(
        game,
        every,
        np.cumsum([0] + [len(seat) for seat in keys]),
        features,
        words,
        columns,
        counts,
        tuple(KeyIndex(np.stack(seat)) for seat in keys),
    )


def _features(texts: list[str]) -> tuple[tuple[str, ...], NDArray[np.uint8]]:
    """Return the name of each feature, and the features [K, width] of each text."""
    told = []
    for text in texts:
        words = text.replace("|", " | ").split()
        told.append(
            {f"{place}:{word}" for place, word in enumerate(words)}
            | {f"-{place}:{word}" for place, word in enumerate(words[: -LAST - 1 : -1], 1)}
            | {f"any:{word}" for word in words}
        )
    names = sorted(set().union(*told))
    column = {name: k for k, name in enumerate(names)}
    features = np.zeros((len(texts), len(names)), np.uint8)
    for row, mine in enumerate(told):
        features[row, [column[name] for name in mine]] = 1
    keep = (features != features[:1]).any(0)  # a word that every text has tells nothing
    return tuple(name for name, kept in zip(names, keep, strict=True) if kept), features[:, keep]
