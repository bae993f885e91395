"""Styles of play: the blueprint leaning one way or another, as continuations of a depth-limited search.

At the depth limit every player may choose how to play on (multi-valued states). The choices are styles: the
blueprint's best move after a bonus in levels for passing, for bombs, for cards shed and for high ranks.
Source: Brown, Sandholm and Amos 2018; their continuations are the blueprint biased towards one action.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Decisions
from games.guandan.cards import PASS
from games.guandan.combos import BOMB_CLASS, combo_strength
from games.guandan.rounds.state import LEVEL, action_words
from games.round_rows import views
from games.support.array_types import Array, Bytes, Ints
from games.support.configuration import ConfigError
from games.support.kernel import kernel
from games.support.near import near

BONUSES = ("passing", "bombing", "shedding", "height")
"""Levels on top of the blueprint's Q: of the pass, of every bomb, of each card played, and of the highest
rank over the lowest, in proportion between."""
STYLES: dict[str, dict[str, float]] = {
    "blueprint": {},
    "yield": {"passing": 0.15},
    "contest": {"passing": -0.15},
    "bomb": {"bombing": 0.2},
    "hold": {"bombing": -0.3},
    "low": {"height": -0.15},
    "high": {"height": 0.15},
    "rush": {"shedding": 0.03},
}
"""Continuations by name (bonuses ours: each changes about one decision in ten of the shipped network)."""


def style_table(names: tuple[str, ...]) -> NDArray[np.float32]:
    """Return the bonuses of some styles, [len(names), 4] float32, in the order of `BONUSES`.

    Raises ConfigError for a name that no style has.
    """
    for name in names:
        if name not in STYLES:
            hint = near(name, STYLES, f"one of {', '.join(STYLES)}")
            raise ConfigError(f"continuations: no style is called {name!r}; {hint}")
    rows = [[STYLES[name].get(bonus, 0.0) for bonus in BONUSES] for name in names]
    return np.array(rows, np.float32).reshape(len(names), 4)


@dataclass(frozen=True, eq=False)
class Styles:
    """How each seat plays on in some rounds.

    table: [s, 4] float32, bonuses (see `style_table`). of: [states, 4] uint8, row of the table for each seat.
    """

    table: NDArray[np.float32]
    of: NDArray[np.uint8]

    def lean(self, decisions: Decisions, values: NDArray[np.float32]) -> None:
        """Add the bonuses of its player's style to the value of each action, in place; values: [m]."""
        _, bytes_ = views(decisions.states)
        moves = action_words(decisions.actions)
        _lean(bytes_, decisions.rows, decisions.seats, decisions.offsets, moves, self.of, self.table, values)


@kernel(nogil=True)
def _lean(
    bytes_: Bytes,
    rows: Ints,
    seats: Ints,
    offsets: Ints,
    moves: Ints,
    styles: NDArray[np.uint8],
    table: Array,
    values: Array,
) -> None:
    """Add to each move's value the bonus of its player's style, in place.

    styles: [states, 4], row of `table` for each seat. values: [m] of the moves of all decisions.
    """
    for j in range(len(rows)):
        style = styles[rows[j], seats[j]]
        passing, bombing, shedding, height = table[style]
        if passing == 0 and bombing == 0 and shedding == 0 and height == 0:
            continue
        level = np.int64(bytes_[rows[j], LEVEL])
        for k in range(offsets[j], offsets[j + 1]):
            head = moves[k, 0]
            kind, rank, size = head & 255, head >> 8 & 255, head >> 16 & 255
            if kind == PASS:
                values[k] += passing
                continue
            strong = combo_strength(kind, rank, size, level)
            values[k] += shedding * size
            if strong >> 8 >= BOMB_CLASS:
                values[k] += bombing
            else:
                values[k] += height * (strong & 255) / 14
