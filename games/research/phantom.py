"""Phantom tic-tac-toe and dark hex: nobody sees the opponent's stones until it tries to place one there.

A try on a cell that the opponent holds fails. In the classical form the player tries again; in the abrupt
form its turn is over. Moves, turns and payoffs are those of OpenSpiel's `phantom_ttt` and `dark_hex`.
Infosets remember the order of a player's own tries, as OpenSpiel's dark hex does not.
"""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame
from games.game import TERMINAL
from games.infosets.naming import ACTS, OTHER_ACTS, OVER
from games.infosets.private_moves import Placements
from games.parameters import Bool, Int, named
from games.ragged import Ragged
from games.support.array_types import Array

STATE = np.dtype([("tries", "u8", (2,)), ("stones", "u2", (2,)), ("known", "u2", (2,)), ("turn", "u1")])
"""tries: each player's tries in order, digits of a number. stones, known: masks of cells that a player holds,
and of those that it has tried. turn: who acts, 2 at the end."""

PLAYER = np.array([0, 1, TERMINAL], np.int8)
MOST_LOOKED_AT = 20_000
"""Histories after which no infoset is searched further for a name."""
ABRUPT = Bool(name="abrupt", default=False, doc="whether a failed try ends the turn")


class PhantomGame(TwoPlayerGame):
    """A game of hidden stones on a board of a few rows, by the rules in `placements`.

    Cells have a letter for the column and a number for the row, as in `b3`; an infoset lists the player's
    tries, failed ones with `-taken`: `P0 b2 a1-taken c3`.
    """

    payoff_range = (-1.0, 1.0)

    def __init__(self, name: str, placements: Placements, columns: int) -> None:
        self.name, self.placements, self._columns = name, placements, columns
        self._base = np.uint64(2 * placements.cells + 1)

    def root(self) -> Array:
        return np.zeros(1, STATE)

    def player(self, states: Array) -> NDArray[np.int8]:
        acting: NDArray[np.int8] = PLAYER[states["turn"]]
        return acting

    def actions(self, states: Array) -> Ragged:
        row = np.arange(len(states))
        known = states["known"][row, states["turn"] & 1]
        open_cells = ~known[:, None] >> np.arange(self.placements.cells, dtype=np.uint16) & 1
        open_cells[states["turn"] == 2] = 0
        return Ragged.from_counts(open_cells.sum(1, dtype=np.int64), np.nonzero(open_cells)[1])

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        return np.ones(len(actions.values))

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        after = states[rows]
        row, me = np.arange(len(after)), after["turn"].astype(np.int64)
        bit = (1 << actions).astype(np.uint16)
        failed = (after["stones"][row, 1 - me] & bit) > 0
        after["known"][row, me] |= bit
        after["stones"][row, me] |= np.where(failed, 0, bit).astype(np.uint16)
        digit = (2 * actions + failed + 1).astype(np.uint64)
        after["tries"][row, me] = after["tries"][row, me] * self._base + digit
        held = after["stones"]
        over = self.placements.wins[me, held[row, me]]
        over |= (held[:, 0] | held[:, 1]) == (1 << self.placements.cells) - 1
        again = failed & (not self.placements.abrupt)
        after["turn"] = np.where(over, 2, np.where(again, me, 1 - me))
        return after

    def returns(self, states: Array) -> NDArray[np.float64]:
        won = [self.placements.wins[seat, states["stones"][:, seat]].astype(np.float64) for seat in (0, 1)]
        return np.stack([won[0] - won[1], won[1] - won[0]], axis=1)

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        role = np.where(states["turn"] == player, ACTS, np.where(states["turn"] == 2, OVER, OTHER_ACTS))
        keys: NDArray[np.uint64] = states["tries"][:, player, None] * np.uint64(4)
        return keys + role[:, None].astype(np.uint64)

    def features(self, states: Array, player: int) -> NDArray[np.uint8]:
        """Return what a network sees: own stones, cells found taken, and the cell of each try in order.

        [n, 2 * cells + cells * (cells + 1)] uint8 of 0 and 1; each try has a bit more that says it failed.
        """
        n, cells = len(states), self.placements.cells
        stones, known = states["stones"][:, player], states["known"][:, player]
        bits = np.stack([stones, known & ~stones], axis=1)[..., None] >> np.arange(cells, dtype=np.uint16) & 1
        tried = bits.sum((1, 2), dtype=np.int64)[:, None] - 1 - np.arange(cells)
        powers = self._base ** np.arange(cells, dtype=np.uint64)
        digits = states["tries"][:, player, None] // powers[np.maximum(tried, 0)] % self._base
        digits = np.where(tried < 0, 0, digits).astype(np.int64)
        cell = (digits[..., None] - 1 >> 1 == np.arange(cells)) & (digits > 0)[..., None]
        failed = (digits > 0) & (digits % 2 == 0)
        line = np.concatenate([cell, failed[..., None]], axis=2).reshape(n, cells * (cells + 1))
        return np.concatenate([bits.reshape(n, 2 * cells), line], axis=1).astype(np.uint8)

    def action_text(self, state: Array, action: Array) -> str:
        return self._cell(int(action))

    def state_text(self, state: Array) -> str:
        return " | ".join(f"P{seat} {self._tried(state, seat)}".rstrip() for seat in (0, 1))

    def infoset_text(self, state: Array, player: int) -> str:
        words = f"P{player} {self._tried(state, player)}".rstrip()
        return words + {player: "", 2: " | over"}.get(int(state["turn"]), " | waiting")

    def history_in(self, text: str) -> Array | None:
        read = re.fullmatch(r"p([01])((?: [a-p]\d+(?:-taken)?)*)(?: \| (waiting|over))?", text)
        if not read:
            return None
        names = {self._cell(cell): cell for cell in range(self.placements.cells)}
        wanted = [word.partition("-") for word in read[2].split()]
        if not all(cell in names for cell, _, _ in wanted):
            return None
        tries = [(names[cell], bool(failed)) for cell, _, failed in wanted]
        end = {None: int(read[1]), "waiting": 1 - int(read[1]), "over": 2}[read[3]]
        return self._search(int(read[1]), tries, end)

    def _search(self, player: int, tries: list[tuple[int, bool]], end: int) -> Array | None:
        """Return a history after which a player has made these tries and `end` is to act, if there is one."""
        stack = [(self.root(), 0)]
        for _ in range(MOST_LOOKED_AT):
            if not stack:
                break
            states, made = stack.pop()
            turn = int(states["turn"][0])
            if made == len(tries) and turn == end:
                return states
            if turn == 2 or (turn == player and made == len(tries)):
                continue
            if turn == player:
                cell, failed = tries[made]
                held = bool(states["stones"][0, 1 - player] >> cell & 1)
                if states["known"][0, player] >> cell & 1 or held != failed:
                    continue
                stack.append((self.forced(states, cell), made + 1))
                continue
            found = [cell for cell, failed in tries[made:] if failed]
            legal = self.actions(states).values.tolist()
            legal.sort(key=lambda cell: found[::-1].index(cell) if cell in found else -1)
            stack.extend((self.forced(states, cell), made) for cell in legal)
        return None

    def _cell(self, cell: int) -> str:
        return f"{chr(ord('a') + cell % self._columns)}{cell // self._columns + 1}"

    def _tried(self, state: Array, player: int) -> str:
        words, left = [], int(state["tries"][player])
        while left:
            left, digit = divmod(left, int(self._base))
            words.append(self._cell((digit - 1) // 2) + ("" if digit & 1 else "-taken"))
        return " ".join(words[::-1])


class PhantomTicTacToe(PhantomGame):
    """Tic-tac-toe with hidden stones; three in a row win, a full board without them is a draw."""

    summary = "tic-tac-toe whose players see their own stones alone"
    parameters = (ABRUPT,)

    def __init__(self, *, abrupt: bool = False) -> None:
        name, (abrupt,) = named("phantom_ttt", self.parameters, (abrupt,))
        lines = np.array([0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124])
        wins = ((np.arange(512)[:, None] & lines) == lines).any(1)
        super().__init__(name, Placements(9, np.stack([wins, wins]), abrupt), 3)


class DarkHex(PhantomGame):
    """Hex with hidden stones: player 0 joins the first and the last row, player 1 the outer columns."""

    summary = "hex whose players see their own stones alone"
    parameters = (
        Int(name="size", default=3, low=2, high=3, doc="rows and columns", aliases=("board_size",)),
        ABRUPT,
    )

    def __init__(self, *, size: int = 3, abrupt: bool = False) -> None:
        name, (size, abrupt) = named("dark_hex", self.parameters, (size, abrupt))
        self.size = size
        super().__init__(name, Placements(size * size, self._joined, abrupt), size)

    @cached_property
    def _joined(self) -> NDArray[np.bool_]:
        """Return which masks of stones join a player's sides, [2, masks] bool."""
        cells = np.arange(self.size**2)
        place = np.stack(np.divmod(cells, self.size), axis=1)
        step = place[:, None] - place
        near = (np.abs(step).max(2) <= 1) & (step.prod(2) <= 0)
        held = np.arange(1 << len(cells))[:, None] >> cells & 1 > 0
        joined = []
        for axis in (0, 1):
            reached = held & (place[:, axis] == 0)
            for _ in cells:
                reached = held & (reached @ near)
            joined.append((reached & (place[:, axis] == self.size - 1)).any(1))
        return np.stack(joined)
