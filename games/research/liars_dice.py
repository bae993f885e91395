"""Liar's Dice: private dice, rising bids on all the dice together, until someone says "liar".

A bid names a quantity and a face. After "liar" the bidder wins if at least that many dice show the face, and
loses otherwise. Histories, infosets and payoffs are those of OpenSpiel's `liars_dice`, whose highest face is
always wild.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame
from games.game import CHANCE, TERMINAL, GameError, Infoset
from games.infosets.payoff_forms import FormBuilder, PayoffForms
from games.parameters import Bool, Int, OneOf, named
from games.ragged import Ragged
from games.support.array_types import Array

SMALL_STATE = np.dtype([("bids", "u4"), ("dice0", "u1"), ("dice1", "u1"), ("next", "u1"), ("turn", "u1")])
LARGE_STATE = np.dtype([("bids", "u8"), ("dice0", "u2"), ("dice1", "u2"), ("next", "u2"), ("turn", "u2")])
"""bids: bit b is set once bid b was made, the bit after the last bid once "liar" was said; bids only rise, so
this is the whole line. dice: the player's dice in the order rolled, a few bits each, 0 until rolled. next:
the lowest bid still allowed. turn: one of the codes below."""

TURN_0, TURN_1, CALLED_BY_0, CALLED_BY_1, ROLLING = range(5)
PLAYER = np.array([0, 1, TERMINAL, TERMINAL, CHANCE], np.int8)


class LiarsDice(TwoPlayerGame):
    """Liar's Dice with `dice` dice of `sides` sides for each player; chance rolls them one by one.

    bidding: "reset-face": a higher quantity frees the face, so bids rise 1x1, 1x2, … 2x1; "reset-quantity": a
    higher face frees the quantity, so bids rise 1x1, 2x1, … 1x2.
    """

    summary = "private dice, rising bids, and the word liar"
    parameters = (
        Int(name="dice", default=1, low=1, high=8, doc="dice per player", aliases=("numdice",)),
        Int(name="sides", default=6, low=2, high=31, doc="sides of a die", aliases=("dice_sides",)),
        Bool(name="wild", default=True, doc="whether the highest face counts as every face"),
        OneOf(
            name="bidding",
            default="reset-face",
            choices=("reset-face", "reset-quantity"),
            doc="which part of a bid a rise in the other frees",
            aliases=("bidding_rule",),
        ),
    )
    payoff_range = (-1.0, 1.0)

    def __init__(
        self, *, dice: int = 1, sides: int = 6, wild: bool = True, bidding: str = "reset-face"
    ) -> None:
        given = (dice, sides, wild, bidding)
        self.name, (dice, sides, wild, bidding) = named("liars_dice", self.parameters, given)
        self.dice, self.sides, self.wild, self.bidding = dice, sides, wild, bidding
        self.num_bids = 2 * dice * sides
        self._die_bits = sides.bit_length()
        dice_bits = dice * self._die_bits
        if self.num_bids > 63 or dice_bits > 16:
            raise GameError(
                f"{self.name}: dice times sides must be at most 31, and dice times the bits of a side at "
                f"most 16; got {dice * sides} and {dice_bits}; choose fewer dice or sides"
            )
        bids = np.arange(self.num_bids)
        if bidding == "reset-face":
            self._quantity, self._face = bids // sides + 1, bids % sides + 1
        else:
            self._quantity, self._face = bids % (2 * dice) + 1, bids // (2 * dice) + 1

        small = self.num_bids < 32 and dice_bits <= 8
        self._dtype = SMALL_STATE if small else LARGE_STATE
        self._bit = np.uint64(1) << np.arange(self.num_bids + 1, dtype=np.uint64)
        self._bit = self._bit.astype(self._dtype["bids"])
        self._clock_bits = (2 * dice).bit_length()
        self.key_width = 1 if self.num_bids + 1 + dice_bits + self._clock_bits <= 64 else 2

        size = 1 << dice_bits
        self._rolled: Any = np.zeros(size, np.uint8)
        self._sorted = np.zeros(size, np.uint64)
        self._matches = np.zeros((size, sides + 1), np.uint8)
        for count in range(dice + 1):
            for faces in itertools.product(range(1, sides + 1), repeat=count):
                packed = self._packed(faces)
                self._rolled[packed] = count
                self._sorted[packed] = self._packed(sorted(faces))
                for face in range(1, sides + 1):
                    self._matches[packed, face] = sum(d == face or (wild and d == sides) for d in faces)

        cups = itertools.combinations_with_replacement(range(1, sides + 1), dice)
        self._cups = np.array([self._packed(faces) for faces in cups], self._dtype["dice0"])
        orders = np.bincount(self._sorted[self._rolled == dice].astype(np.int64), minlength=size)
        self._chance = orders[self._cups] / sides**dice

    def root(self) -> Array:
        states = np.zeros(1, self._dtype)
        states["turn"] = ROLLING
        return states

    def player(self, states: Array) -> NDArray[np.int8]:
        acting: NDArray[np.int8] = PLAYER[states["turn"]]
        return acting

    def actions(self, states: Array) -> Ragged:
        turn, first = states["turn"], states["next"].astype(np.int64)
        counts = self.num_bids - first + (first > 0)
        counts[(turn == CALLED_BY_0) | (turn == CALLED_BY_1)] = 0
        counts[turn == ROLLING] = self.sides
        offsets = np.zeros(len(states) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        first -= offsets[:-1]
        return Ragged(offsets, np.arange(offsets[-1]) + np.repeat(first, counts))

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        return np.repeat(np.where(states["turn"] == ROLLING, 1.0 / self.sides, 1.0), actions.counts)

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        after = states.take(rows)
        turn = after["turn"]
        rolling = np.flatnonzero(turn == ROLLING)
        if len(rolling) == len(after):
            return self._roll(after, actions)
        rolled = self._roll(after[rolling], actions[rolling]) if len(rolling) else None
        after["bids"] |= self._bit.take(actions)
        called = actions == self.num_bids
        after["turn"] = np.where(called, turn + 2, turn ^ 1)
        after["next"] = np.where(called, after["next"], actions + 1)
        if rolled is not None:
            after[rolling] = rolled
        return after

    def returns(self, states: Array) -> NDArray[np.float64]:
        bid = states["next"].astype(np.int64) - 1
        face = self._face.take(bid)
        count = self._matches[states["dice0"], face] + self._matches[states["dice1"], face]
        true = count >= self._quantity.take(bid)
        won = np.where(true == (states["turn"] == CALLED_BY_1), 1.0, -1.0)
        return np.stack([won, -won], axis=1)

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        # Nobody looks under its cup before all its dice are rolled: the order of a roll is not remembered.
        dice = states[f"dice{player}"]
        own = self._sorted.take(np.where(self._rolled.take(dice) < self.dice, 0, dice))
        own <<= np.uint64(self._clock_bits)
        own |= self._rolled.take(states["dice0"]) + self._rolled.take(states["dice1"])
        bids = states["bids"].astype(np.uint64)
        if self.key_width == 2:
            return np.stack([bids, own], axis=1)
        bids <<= np.uint64(self.dice * self._die_bits + self._clock_bits)
        bids |= own
        return bids[:, None]

    def features(self, states: Array, player: int) -> NDArray[np.uint8]:
        """Return what a network sees: own dice by face, how many match a bid on each face, and all bids.

        [n, width] uint8 of 0 and 1, counts in unary; quantity and face of the last bid once more.
        """
        own = states[f"dice{player}"].astype(np.int64)
        mask = (1 << self._die_bits) - 1
        faces = own[:, None] >> np.arange(self.dice) * self._die_bits & mask
        held = (faces[:, :, None] == np.arange(1, self.sides + 1)).sum(1)
        counts = np.stack([held, self._matches[own, 1:]], axis=1)
        unary = counts[..., None] > np.arange(self.dice)
        bits = states["bids"].astype(np.uint64)[:, None] >> np.arange(self.num_bids, dtype=np.uint64) & 1
        last = states["next"].astype(np.int64)[:, None] - 1
        quantity = np.where(last < 0, 0, self._quantity[last]) == np.arange(1, 2 * self.dice + 1)
        face = np.where(last < 0, 0, self._face[last]) == np.arange(1, self.sides + 1)
        parts = [unary.reshape(len(states), 2 * self.sides * self.dice), bits, quantity, face]
        return np.concatenate([part.astype(np.uint8) for part in parts], axis=1)

    def action_text(self, state: Array, action: Array) -> str:
        if state["turn"] == ROLLING:
            return f"roll {int(action) + 1}"
        return self._word(int(action))

    def state_text(self, state: Array) -> str:
        return f"P0 {self._held(state, 0)}, P1 {self._held(state, 1)}{self._line(state)}"

    def infoset_text(self, state: Array, player: int) -> str:
        hidden = self._rolled[state[f"dice{player}"]] < self.dice
        held = "holds no dice" if hidden else self._held(state, player)
        return f"P{player} {held}{self._line(state)}"

    def sample_histories(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories of an infoset; its own dice come in any order, the other's are rolled."""
        words = [int(word) for word in infoset.key]
        rolled, low = words[-1] & (1 << self._clock_bits) - 1, words[-1] >> self._clock_bits
        own = low & (1 << self.dice * self._die_bits) - 1
        bids = words[0] if self.key_width == 2 else words[0] >> self.dice * self._die_bits + self._clock_bits
        faces = [own >> i * self._die_bits & (1 << self._die_bits) - 1 for i in range(self.dice)]
        mine = rng.permuted(np.tile(np.array(faces) - 1, (n, 1)), axis=1)
        if not own:  # nobody looks under its cup before all its dice are rolled
            mine = rng.integers(self.sides, size=(n, self.dice))
        other = rng.integers(self.sides, size=(n, self.dice))
        line = np.array([bid for bid in range(self.num_bids + 1) if bids >> bid & 1], np.int64)
        rolls = (mine, other) if infoset.player == 0 else (other, mine)
        table = np.concatenate([np.concatenate(rolls, axis=1)[:, :rolled], np.tile(line, (n, 1))], axis=1)
        return Ragged.from_counts(np.full(n, table.shape[1]), table.reshape(-1))

    def private_states(self) -> tuple[int, int]:
        return len(self._cups), len(self._cups)

    def public_root(self) -> Array:
        states = np.zeros(1, self._dtype)
        states["turn"] = TURN_0
        return states

    def deal(self, states: Array, private0: NDArray[np.int64], private1: NDArray[np.int64]) -> Array:
        dealt = states.copy()
        dealt["dice0"], dealt["dice1"] = self._cups[private0], self._cups[private1]
        return dealt

    def public_state(self, states: Array) -> Array:
        public = states.copy()
        public["dice0"] = public["dice1"] = 0
        return public

    def deal_weights(self, states: Array) -> NDArray[np.float64]:
        chance = self._chance
        return np.broadcast_to(np.outer(chance, chance), (len(states), len(chance), len(chance)))

    def payoff_kinds(self, states: Array) -> NDArray[np.int64]:
        kinds: NDArray[np.int64] = states["next"].astype(np.int64) << 1 | (states["turn"] == CALLED_BY_1)
        return kinds

    def payoff_forms(self, states: Array) -> PayoffForms:
        forms = FormBuilder(self.private_states())
        deal = forms.deal(self._chance, self._chance)
        for row, state in enumerate(states):
            bid = int(state["next"]) - 1
            count = self._matches[self._cups, self._face[bid]].astype(np.int64)
            # The bid is true where player 0's count is what player 1's lacks of it, or more.
            order = forms.strengths(count, self._quantity[bid] - count)
            true = 1.0 if state["turn"] == CALLED_BY_1 else -1.0
            forms.pay(row, deal, order, (-true, true, true))
        return forms.build(len(states))

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names; the dice may come in any order."""
        read = re.match(r"\s*(p[01] holds )([\d ]+)(.*)", text, re.IGNORECASE)
        if read:
            text = f"{read[1]}{' '.join(sorted(read[2].split(), key=int))} {read[3]}"
        return super().parse_infoset(text)

    def history_in(self, text: str) -> Array | None:
        read = re.fullmatch(r"p([01]) holds (\d+(?: \d+)*)(?: \| (.*))?", text)
        own = [int(face) - 1 for face in read[2].split()] if read else []
        if not read or len(own) != self.dice or not all(0 <= face < self.sides for face in own):
            return None
        other = [0] * self.dice
        states = self.forced(self.root(), *(own + other if read[1] == "0" else other + own))
        return self.played(states, (read[3] or "").split())

    def _roll(self, after: Array, actions: Array) -> Array:
        """Return the states, which the caller owns, after these faces (less one) are rolled."""
        first = self._rolled[after["dice0"]] < self.dice
        for field, mine in (("dice0", first), ("dice1", ~first)):
            shift = self._rolled[after[field]].astype(np.int64) * self._die_bits
            after[field] |= np.where(mine, (actions + 1) << shift, 0).astype(after.dtype[field])
        after["turn"][self._rolled[after["dice1"]] == self.dice] = TURN_0
        return after

    def _packed(self, faces: tuple[int, ...] | list[int]) -> int:
        return sum(face << (i * self._die_bits) for i, face in enumerate(faces))

    def _word(self, action: int) -> str:
        if action == self.num_bids:
            return "liar"
        return f"{self._quantity[action]}x{self._face[action]}"

    def _held(self, state: Array, player: int) -> str:
        packed = int(self._sorted[state[f"dice{player}"]])
        mask = (1 << self._die_bits) - 1
        faces = [packed >> (i * self._die_bits) & mask for i in range(self.dice)]
        held = " ".join(str(face) for face in faces if face)
        return f"holds {held}" if held else "holds no dice"

    def _line(self, state: Array) -> str:
        if state["turn"] == ROLLING:
            left = [self.dice - int(self._rolled[state[field]]) for field in ("dice0", "dice1")]
            return f" | rolling {left[0]} for P0, {left[1]} for P1"
        bids = int(state["bids"])
        words = [self._word(bid) for bid in range(self.num_bids + 1) if bids >> bid & 1]
        return f" | {' '.join(words)}" if words else ""
