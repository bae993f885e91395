"""Goofspiel with hidden bids: both bid a card from their hands for a prize; who bid more is all they learn.

Each turn turns up one prize card. Both players bid one card of their own; the higher bid takes the prize's
points, equal bids discard it, and the bids stay hidden. Simultaneous bids are played one after the other:
player 0 bids first and player 1 does not see that bid. Histories, infosets and payoffs are those of
OpenSpiel's `turn_based_simultaneous_game(game=goofspiel(imp_info=True))` with the same number of cards and
turns, except where there is one card more than there are turns: OpenSpiel 2.0.2 then plays past the last one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame
from games.game import CHANCE, TERMINAL, GameError, Infoset
from games.parameters import Int, OneOf, named
from games.ragged import Ragged
from games.support.array_types import Array

FIELDS = ["bids0", "bids1", "prizes", "hand0", "hand1", "deck", "points0", "points1", "wins", "stage"]
SMALL_STATE = np.dtype(
    {
        "names": FIELDS,
        "formats": ["u2", "u2", "u2", "u2", "u2", "u2", "u1", "u1", "u1", "u1"],
    }
)
LARGE_STATE = np.dtype(
    {
        "names": FIELDS,
        "formats": ["u8", "u8", "u8", "u2", "u2", "u2", "u1", "u1", "u4", "u4"],
    },
    align=True,
)
"""bids, prizes: the cards of turn t in a few bits at t, 0 until played; prizes only when the order is random.
hand, deck: a bit for each card left. wins: two bits a turn, one of the codes below. stage: actions so far."""

FIRST_WON, SECOND_WON, TIED = 1, 2, 3
DEAL, BID_0, BID_1 = range(3)


class Goofspiel(TwoPlayerGame):
    """Goofspiel in which bids stay hidden, with `cards` cards in each suit and `turns` turns.

    points_order: prizes rise from 1 ("ascending"), fall from the highest ("descending") or are drawn by
        chance ("random").
    returns: "point_difference": half the difference in points, which is points minus the average;
        "win_loss": 1 for more points, -1 for fewer, 0 for equal; "total_points": one's own points, which is
        general-sum (tied prizes are lost), so `zero_sum` is False and `load_game` refuses it unless asked.
    If there are as many turns as cards, the last leaves no choice and is played by itself, as in OpenSpiel.
    """

    summary = "hidden bids for prizes; only who won each is seen"
    parameters = (
        Int(name="cards", default=5, low=2, high=13, doc="cards in each hand", aliases=("num_cards",)),
        Int(name="turns", default=3, low=1, high=13, doc="turns, at most cards", aliases=("num_turns",)),
        OneOf(
            name="points_order",
            default="random",
            choices=("random", "ascending", "descending"),
            doc="order in which prizes come",
        ),
        OneOf(
            name="returns",
            default="point_difference",
            choices=("point_difference", "win_loss", "total_points"),
            doc="payoffs; total_points is general-sum",
            aliases=("returns_type",),
        ),
    )

    def __init__(
        self,
        *,
        cards: int = 5,
        turns: int = 3,
        points_order: str = "random",
        returns: str = "point_difference",
    ) -> None:
        given = (cards, turns, points_order, returns)
        self.name, (cards, turns, points_order, returns) = named("goofspiel", self.parameters, given)
        if turns > cards:
            raise GameError(f"goofspiel: turns must be at most cards, {cards}; got {turns}")
        self.cards, self.turns, self.points_order, self.returns_type = cards, turns, points_order, returns
        self.zero_sum = returns != "total_points"

        self._phases = (DEAL, BID_0, BID_1) if points_order == "random" else (BID_0, BID_1)
        self._chosen_turns = turns - 1 if turns == cards else turns
        over = self._chosen_turns * len(self._phases)
        self._phase = np.array(
            [self._phases[s % len(self._phases)] for s in range(over)] + [TERMINAL], np.int8
        )
        self._player = np.array([(CHANCE, 0, 1)[phase] for phase in self._phase[:-1]] + [TERMINAL], np.int8)
        self._card_bits = cards.bit_length()
        line_bits = turns * self._card_bits
        self._dtype = SMALL_STATE if line_bits <= 16 and turns <= 4 else LARGE_STATE
        stage_bits = over.bit_length()
        prize_bits = line_bits if points_order == "random" else 0
        self._key_bits = (prize_bits, 2 * turns, stage_bits)
        self.key_width = 1 if line_bits + sum(self._key_bits) <= 64 else 3
        self.payoff_range = self._payoff_range()

        in_hand = np.arange(1 << cards)[:, None] >> np.arange(cards) & 1
        self._held = Ragged.from_counts(in_hand.sum(axis=1), np.nonzero(in_hand)[1])

    def root(self) -> Array:
        states = np.zeros(1, self._dtype)
        for field in ("hand0", "hand1", "deck"):
            states[field] = (1 << self.cards) - 1
        return states

    def player(self, states: Array) -> NDArray[np.int8]:
        acting: NDArray[np.int8] = self._player[states["stage"]]
        return acting

    def actions(self, states: Array) -> Ragged:
        stage = states["stage"]
        if len(states) and np.all(stage == stage[0]):
            return self._legal(states, int(self._phase[stage[0]]))
        phases = self._phase[stage]
        masks = np.select(
            [phases == DEAL, phases == BID_0, phases == BID_1],
            [states["deck"], states["hand0"], states["hand1"]],
        )
        return self._held.take(masks)

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        counts = actions.counts
        chance = self._player[states["stage"]] == CHANCE
        return np.repeat(np.where(chance, 1.0 / np.maximum(counts, 1), 1.0), counts)

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        after = states.take(rows)
        stage = after["stage"].copy()  # playing changes it
        if len(after) and np.all(stage == stage[0]):
            self._play(after, actions, int(stage[0]))
            return after
        for each in np.unique(stage):
            at = np.flatnonzero(stage == each)
            played = after[at]
            self._play(played, actions[at], int(each))
            after[at] = played
        return after

    def returns(self, states: Array) -> NDArray[np.float64]:
        points = states["points0"], states["points1"]
        payoffs = np.empty((len(states), 2))
        for player, own in enumerate(points):
            if self.returns_type == "total_points":
                payoffs[:, player] = own
            else:
                np.subtract(own, points[1 - player], out=payoffs[:, player], dtype=np.float64)
        if self.returns_type == "win_loss":
            np.sign(payoffs, out=payoffs)
        elif self.returns_type == "point_difference":
            payoffs /= 2
        return payoffs

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        own = states[f"bids{player}"].astype(np.uint64)
        prize_bits, win_bits, stage_bits = self._key_bits
        if self.key_width == 3:
            public = states["wins"].astype(np.uint64) << np.uint64(stage_bits) | states["stage"]
            return np.stack([own, states["prizes"].astype(np.uint64), public], axis=1)
        if prize_bits:
            own <<= np.uint64(prize_bits)
            own |= states["prizes"]
        own <<= np.uint64(win_bits)
        own |= states["wins"]
        own <<= np.uint64(stage_bits)
        own |= states["stage"]
        return own[:, None]

    def features(self, states: Array, player: int) -> NDArray[np.uint8]:
        """Return what a network sees: prize, own bid and result of each turn, what is left, the lead.

        [n, width] uint8 of 0 and 1: a card as one of all, the lead in steps of a sixteenth of the points.
        """
        random, turns = self.points_order == "random", np.arange(self.turns)
        lines = ["prizes", f"bids{player}"] if random else [f"bids{player}"]
        mask, shifts = (1 << self._card_bits) - 1, turns * self._card_bits
        played = [states[line].astype(np.int64)[:, None] >> shifts & mask for line in lines]
        won = states["wins"].astype(np.int64)[:, None] >> 2 * turns & 3
        left = [f"hand{player}", "deck"] if random else [f"hand{player}"]
        stage = states["stage"].astype(np.int64)
        turn = np.minimum(stage // len(self._phases), self.turns - 1)
        fixed = np.array([self._fixed_prize(t) for t in range(self.turns)])
        now = played[0][np.arange(len(states)), turn] if random else fixed[turn]
        lead = states[f"points{player}"].astype(np.int64) - states[f"points{1 - player}"].astype(np.int64)
        cards = np.arange(1, self.cards + 1)
        parts = [
            *(line[:, :, None] == cards for line in played),
            won[:, :, None] == np.arange(1, 4),
            *(states[cards_left].astype(np.int64)[:, None] >> cards - 1 & 1 for cards_left in left),
            stage[:, None] == np.arange(len(self._player)),
            now[:, None] == cards,
            lead[:, None] * 16 > sum(cards.tolist()) * np.arange(-16, 16),
        ]
        flat = [part.reshape(len(states), math.prod(part.shape[1:])) for part in parts]
        return np.concatenate([part.astype(np.uint8) for part in flat], axis=1)

    def action_text(self, state: Array, action: Array) -> str:
        return f"{'prize' if self._player[state['stage']] == CHANCE else 'bid'} {int(action) + 1}"

    def state_text(self, state: Array) -> str:
        turns = []
        for turn in range(self.turns):
            prize, bid0, bid1 = (self._card(state, field, turn) for field in ("prizes", "bids0", "bids1"))
            if prize:
                words = [f"P0 bid {bid0}"] * (bid0 > 0) + [f"P1 bid {bid1}"] * (bid1 > 0)
                turns.append(f"prize {prize}: {', '.join(words)}" if words else f"prize {prize}")
        return f"P0 {int(state['points0'])} points, P1 {int(state['points1'])} points" + "".join(
            f" | {words}" for words in turns
        )

    def infoset_text(self, state: Array, player: int) -> str:
        parts = [f"P{player}"]
        for turn in range(self.turns):
            prize, bid = self._card(state, "prizes", turn), self._card(state, f"bids{player}", turn)
            code = int(state["wins"]) >> 2 * turn & 3
            if prize:
                won = ("", " won", " lost", " tied") if player == 0 else ("", " lost", " won", " tied")
                parts.append(f"prize {prize}: bid {bid}{won[code]}" if bid else f"prize {prize}")
        phase = self._phase[state["stage"]]
        if phase == DEAL:
            parts.append("next prize")
        elif phase == BID_0 and player == 1:
            parts.append("P0 bids")
        return " | ".join(parts)

    def sample_histories(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories of an infoset; the other's bids are any that explain who won, all alike."""
        turns, prizes, own, results = self._read_key(infoset)
        found = explaining_bids(self.cards, own, results, n, rng)
        if found is None:
            raise GameError(
                f"{self.name}: some bids of the other must explain what player {infoset.player} saw at "
                f"{infoset.text!r}; none drawn do"
            )
        columns = []
        for turn in range(turns):
            line = [prizes[turn]] if self.points_order == "random" and prizes[turn] else []
            columns += [np.full(n, card - 1) for card in line]
            mine = [np.full(n, own[turn] - 1)] if turn < len(own) else []
            theirs = [found[:, turn] - 1] if turn < len(results) else []
            columns += mine + theirs if infoset.player == 0 else theirs + mine
        table = np.stack(columns, axis=1) if columns else np.zeros((n, 0), np.int64)
        return Ragged.from_counts(np.full(n, table.shape[1]), table.reshape(-1))

    def _read_key(self, infoset: Infoset) -> tuple[int, list[int], list[int], list[int]]:
        """Return (turns begun, prizes, own bids, the other's results) by turn, of what a key tells.

        A result is how the other's bid compares with ours, or OPEN for a bid that is not resolved yet.
        """
        prize_bits, win_bits, stage_bits = self._key_bits
        mask = (1 << self._card_bits) - 1
        if self.key_width == 3:
            own_line, prize_line, public = infoset.key
        else:
            key = infoset.key[0]
            public = key & (1 << win_bits + stage_bits) - 1
            prize_line = key >> win_bits + stage_bits & (1 << prize_bits) - 1
            own_line = key >> win_bits + stage_bits + prize_bits
        stage, wins = public & (1 << stage_bits) - 1, public >> stage_bits
        done, phase = divmod(stage, len(self._phases))
        phases = self._phases[:phase]
        turns = done + (phase > 0)
        prizes = [prize_line >> turn * self._card_bits & mask for turn in range(turns)]
        own = [own_line >> turn * self._card_bits & mask for turn in range(done)]
        codes = {TIED: 0, FIRST_WON: -1, SECOND_WON: 1}
        sign = 1 if infoset.player == 0 else -1
        results = [sign * codes[wins >> 2 * turn & 3] for turn in range(done)]
        if (BID_0, BID_1)[infoset.player] in phases:
            own.append(own_line >> done * self._card_bits & mask)
        if (BID_1, BID_0)[infoset.player] in phases:
            results.append(OPEN)
        return turns, prizes, own, results

    def history_in(self, text: str) -> Array | None:
        first, *turns = text.split(" | ")
        if first not in ("p0", "p1") or not 1 <= len(turns) <= self._chosen_turns:
            return None
        player = int(first[1])
        played = [re.fullmatch(r"prize (\d+) : bid (\d+) (won|lost|tied)", turn) for turn in turns[:-1]]
        prize = re.fullmatch(r"prize (\d+)", turns[-1])
        others = answering_bids([(int(turn[2]), turn[3]) for turn in played if turn], self.cards)
        if prize is None or others is None or not all(played):
            return None
        actions: list[int] = []
        for turn, other in zip(played, others, strict=True):
            if turn:
                bids = (int(turn[2]), other) if player == 0 else (other, int(turn[2]))
                actions += [card - 1 for card in (int(turn[1]), *bids)]
        actions.append(int(prize[1]) - 1)
        if self.points_order != "random":
            if any(card + 1 != self._fixed_prize(turn) for turn, card in enumerate(actions[::3])):
                return None
            del actions[::3]
        states = self.root()
        for action in actions:
            if action not in self.actions(states).values:
                return None
            states = self.forced(states, action)
        return self.forced(states, int(self.actions(states).values[0])) if player == 1 else states

    def _payoff_range(self) -> tuple[float, float]:
        """Return the smallest and largest payoff.

        With a card to spare one player can outbid the other every turn. Without, the bids of both add up to
        the same, so whoever wins a turn loses another: at best the prize of 1.
        """
        order = range(1, self.turns + 1)
        prizes = (
            sum(order) if self.points_order == "ascending" else sum(self.cards + 1 - turn for turn in order)
        )
        spared = 1 if self.turns == self.cards else 0
        if self.returns_type == "total_points":
            return 0.0, float(prizes - spared)
        most = 1.0 if self.returns_type == "win_loss" else (prizes - 2 * spared) / 2
        return -most, most

    def _legal(self, states: Array, phase: int) -> Ragged:
        if phase == TERMINAL:
            return Ragged(np.zeros(len(states) + 1, np.int64), np.zeros(0, np.int64))
        return self._held.take(states[("deck", "hand0", "hand1")[phase]])

    def _play(self, states: Array, actions: Array, stage: int) -> None:
        """Play one action at each of the states, all at this stage, in place."""
        phase, turn = int(self._phase[stage]), stage // len(self._phases)
        line, hand = (("prizes", "deck"), ("bids0", "hand0"), ("bids1", "hand1"))[phase]
        self._put(states, line, hand, turn, actions + 1)
        states["stage"] = stage + 1
        if phase == BID_1:
            self._resolve(states, turn)
            if turn + 1 == self._chosen_turns < self.turns:
                self._play_last(states, turn + 1)

    def _play_last(self, states: Array, turn: int) -> None:
        """Play the turn in which nobody has a choice: one card is left in each hand."""
        for line, hand in (("prizes", "deck"), ("bids0", "hand0"), ("bids1", "hand1")):
            if line == "prizes" and self.points_order != "random":
                continue
            card = np.frexp(states[hand].astype(np.float64))[1]  # the position of the only bit, from 1
            self._put(states, line, hand, turn, card)
        self._resolve(states, turn)

    def _put(self, states: Array, line: str, hand: str, turn: int, cards: Array) -> None:
        """Move cards from what is left to what was played in this turn."""
        kind = self._dtype[line]
        states[line] |= cards.astype(kind) << kind.type(turn * self._card_bits)
        states[hand] ^= np.left_shift(np.uint16(1), (cards - 1).astype(np.uint16))

    def _resolve(self, states: Array, turn: int) -> None:
        """Award the prize of this turn."""
        mask, shift = (1 << self._card_bits) - 1, turn * self._card_bits
        kind = self._dtype["bids0"].type
        bid0, bid1, prize = (
            (states[field] >> kind(shift) & kind(mask)).astype(np.uint8)
            for field in ("bids0", "bids1", "prizes")
        )
        if self.points_order != "random":
            prize = np.uint8(self._fixed_prize(turn))
        first, second = bid0 > bid1, bid1 > bid0
        states["points0"] += first * prize
        states["points1"] += second * prize
        code = TIED - first * np.uint8(TIED - FIRST_WON) - second * np.uint8(TIED - SECOND_WON)
        states["wins"] |= code.astype(states.dtype["wins"]) << states.dtype["wins"].type(2 * turn)

    def _fixed_prize(self, turn: int) -> int:
        return turn + 1 if self.points_order == "ascending" else self.cards - turn

    def _card(self, state: Array, field: str, turn: int) -> int:
        """Return the card of this turn in one state, 0 if it is not on the table yet."""
        if field == "prizes" and self.points_order != "random":
            begun = turn * 2 <= int(state["stage"]) and turn < self._chosen_turns
            return self._fixed_prize(turn) if begun or self._card(state, "bids1", turn) else 0
        return int(state[field]) >> turn * self._card_bits & (1 << self._card_bits) - 1


def answering_bids(bids: list[tuple[int, str]], cards: int) -> list[int] | None:
    """Return different cards for the other player that explain the results of these bids, if any do.

    bids: card and result of each turn, won, lost or tied. cards: the highest.
    Each result allows an interval of cards; going up through the cards, the interval that ends first is
    served first, which finds an assignment whenever there is one.
    """
    spans = []
    for bid, result in bids:
        spans.append({"won": (1, bid - 1), "lost": (bid + 1, cards), "tied": (bid, bid)}[result])
    chosen = [0] * len(bids)
    for card in range(1, cards + 1):
        open_spans = [
            (high, turn) for turn, (low, high) in enumerate(spans) if low <= card and not chosen[turn]
        ]
        if open_spans:
            high, turn = min(open_spans)
            if card > high:
                return None
            chosen[turn] = card
    return chosen if all(chosen) else None


OPEN = 2
"""Of a bid that is made and not resolved yet, where others are compared: lower -1, equal 0, higher 1."""
MOST_DRAWS = 2_000
"""Batches drawn before a sample is given up."""


def explaining_bids(
    cards: int, own: Sequence[int], results: Sequence[int], n: int, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Return n rows of different cards that explain the results of our bids, [n, turns] int64, all alike.

    cards: of the hand, numbered from 1. own: our bid of each turn. results: of each turn, how the card asked
    for compares with it: -1 lower, 0 equal, 1 higher, or OPEN for one card left over.
    None if no draw explains them.

    Cards below ours are drawn lowest limit first, cards above ours highest first, which leaves every choice
    as many cards whatever was drawn before; draws in which the two meet are thrown away.
    """
    below = [turn for turn, result in enumerate(results) if result == -1]
    above = [turn for turn, result in enumerate(results) if result == 1]
    order = [(turn, False) for turn in sorted(below, key=lambda turn: own[turn])]
    order += [(turn, True) for turn in sorted(above, key=lambda turn: -own[turn])]
    tied = np.array([own[turn] for turn, result in enumerate(results) if result == 0], np.int64)
    face = np.arange(1, cards + 1)
    found = np.zeros((0, len(results)), np.int64)
    for _ in range(MOST_DRAWS):
        bids = np.zeros((n, len(results)), np.int64)
        bids[:, np.array(results, np.int64) == 0] = tied
        free = np.ones((2, n, cards), bool)
        free[:, :, tied - 1] = False
        whole = np.ones(n, bool)
        for turn, higher in order:
            allowed = free[int(higher)] & (face > own[turn] if higher else face < own[turn])
            pick = np.argmax(rng.random(allowed.shape) * allowed, axis=1)
            whole &= allowed[np.arange(n), pick]
            free[int(higher), np.arange(n), pick] = False
            bids[:, turn] = pick + 1
        left = free[0] & free[1]
        # A card that both kinds took is in neither's rest.
        whole &= (free[0] | free[1]).sum(axis=1) == cards - len(tied)
        for at in np.flatnonzero(np.array(results, np.int64) == OPEN).tolist():
            bids[:, at] = np.argmax(rng.random(left.shape) * left, axis=1) + 1
        found = np.concatenate([found, bids[whole]])[:n]
        if len(found) == n:
            return found
    return None
