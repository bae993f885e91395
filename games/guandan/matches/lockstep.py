"""Whole matches in lockstep: n matches as two tables, for training, evaluation and search.

A match is a row of MATCH and a row of STATE (its current round). Play goes on wherever `phase` is PLAY,
through the same kernels as single rounds; before a round the payers and receivers of tribute choose cards
(TRIBUTE, BACK). Every deal follows from the match's seed and the round's number alone: two matches of one
seed see the same cards whatever is played, which is what paired evaluation needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.game import TERMINAL, GameError
from games.guandan.cards import HAND_SIZE, NUM_CARDS, NUM_RANKS, pack, unpack
from games.guandan.matches.tribute import (
    CARD_PACKED,
    anti_tribute,
    big_jokers,
    card_place,
    payers,
    return_options,
    score_round,
    settle_tribute,
    tribute_options,
)
from games.guandan.rounds.round import Shown, advance, from_hands
from games.guandan.rounds.state import NOBODY, STATE, deal_hands
from games.guandan.rules import Rules, as_rules
from games.support.array_types import Bytes, Rows
from games.support.splitmix import STEP, mixed_bits

TRIBUTE, BACK, PLAY, OVER = range(4)
PHASES = ("tribute", "back", "play", "over")
"""Names of the phases; "tribute" and "back" are also the wire's names of these moves."""

MATCH = np.dtype(
    [
        ("seed", "<u8"),
        ("hand", "<u8", (4, 2)),
        ("round", "<u4"),
        ("drops", "<u2", (2,)),
        ("levels", "u1", (2,)),
        ("fails", "u1", (2,)),
        ("owner", "u1"),
        ("order", "u1", (4,)),
        ("phase", "u1"),
        ("winner", "u1"),
        ("payer", "u1", (2,)),
        ("receiver", "u1", (2,)),
        ("paid", "u1", (2,)),
        ("back", "u1", (2,)),
        ("arrived", "u1"),
        ("leader", "u1"),
        ("anti", "u1"),
    ]
)
"""One match between its rounds.

round: number of the current round, from 1. levels, fails, drops: of each team (see `promotion`).
owner: team at whose level the round is played; NOBODY in the first. order: how the round before ended.
hand: packed hands while tribute is exchanged. payer, receiver, paid, back: seats and card indices by slot,
    NOBODY where there is none (yet). arrived: slot whose payer answered first. anti: 1 if refused.
leader: seat that leads the round. winner: team, NOBODY while the match lasts or if it is drawn.
"""


@dataclass(frozen=True, eq=False)
class CardDecisions:
    """Tribute and return cards to be chosen, k of them; all of them may be chosen at once.

    rows: [k] int64, match. seats, slots: [k] uint8. back: [k] bool, a return rather than a tribute.
    levels: [k] uint8. hands: [k, 2] uint64, packed. options: [k, 54] bool, the cards to choose from.
    """

    rows: NDArray[np.int64]
    seats: NDArray[np.uint8]
    slots: NDArray[np.uint8]
    back: NDArray[np.bool_]
    levels: NDArray[np.uint8]
    hands: NDArray[np.uint64]
    options: NDArray[np.bool_]

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.rows)

    def where(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> CardDecisions:
        """Return some of the decisions."""
        return CardDecisions(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class RoundsOver:
    """Rounds that have just ended.

    rows: [k] int64, match. states: [k] STATE, final: `GuanDan.returns` gives their payoffs.
    over: [k] bool, the match is over. winner: [k] uint8, the team that won it, else NOBODY.
    """

    rows: NDArray[np.int64]
    states: Rows
    over: NDArray[np.bool_]
    winner: NDArray[np.uint8]


def mix_seeds(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each word after SplitMix64's step and finaliser."""
    return mixed_bits(x + STEP)


def deal_round(seeds: NDArray[np.uint64], rounds: ArrayLike) -> NDArray[np.uint64]:
    """Return the packed hands dealt in round `rounds` of matches with these seeds, [n, 4, 2] uint64."""
    words = np.zeros((len(seeds), 8), np.int64)
    deal_hands(mix_seeds(mix_seeds(seeds) ^ np.asarray(rounds).astype(np.uint64)), words)
    return words.view(np.uint64).reshape(len(seeds), 4, 2)


class Matches:
    """n matches in lockstep.

    seeds: [n] integers, one for each match.
    rules: `Rules`, a preset's name, or a dictionary of switches.
    levels: rank code of each team's level at the start, [2] or [n, 2]; both 2 (code 0) by the rules.
    owner: team at whose level the first round is played, one or [n]; NOBODY if the teams' levels are equal.
    order: [n, 4], how the round before the first one ended, for which tribute is owed, and which gives the
        owner; None if there was none.

    table: [n] MATCH. states: [n] STATE, the rounds being played; `player` is TERMINAL where none is.
    Raises GameError at levels, seats or hands that cannot be.
    """

    def __init__(
        self,
        seeds: ArrayLike,
        *,
        rules: Rules | str | dict[str, object] = "ruling",
        levels: ArrayLike = (0, 0),
        owner: ArrayLike = NOBODY,
        order: ArrayLike | None = None,
    ) -> None:
        self.rules = as_rules(rules)
        self.seeds = np.atleast_1d(np.asarray(seeds)).astype(np.uint64)
        n = len(self.seeds)
        team_levels = np.broadcast_to(np.asarray(levels), (n, 2))
        if n and not 0 <= team_levels.min() <= team_levels.max() < NUM_RANKS:
            raise GameError(f"guandan: levels are rank codes 0..12; got {levels!r}")
        if order is not None:
            order = np.broadcast_to(np.asarray(order), (n, 4))
            if np.any(np.sort(order, 1) != np.arange(4)):
                raise GameError(f"guandan: an order names each of the four seats once; got {order}")
            owner = order[:, 0] % 2
        owners = np.broadcast_to(np.asarray(owner), n)
        nobodys = (owners == NOBODY) & (team_levels[:, 0] == team_levels[:, 1])
        if not np.all((owners == 0) | (owners == 1) | nobodys):
            raise GameError(
                f"guandan: levels {levels!r} need an owner, team 0 or 1, whose level is played; got {owner!r}"
            )
        self.table = np.zeros(n, MATCH)
        self.states = np.zeros(n, STATE)
        self.states["player"] = TERMINAL
        self.table["seed"] = self.seeds
        self.table["levels"], self.table["owner"], self.table["winner"] = team_levels, owners, NOBODY
        self.table["order"] = NOBODY if order is None else order
        self._new_rounds(np.arange(n))

    def __len__(self) -> int:
        """Return the number of matches."""
        return len(self.table)

    @property
    def phase(self) -> NDArray[np.uint8]:
        """[n] uint8: TRIBUTE, BACK, PLAY or OVER."""
        return self.table["phase"]

    @property
    def over(self) -> NDArray[np.bool_]:
        """[n] bool: the match is over."""
        over: NDArray[np.bool_] = self.table["phase"] == OVER
        return over

    def play(self, actions: Rows) -> RoundsOver:
        """Return the rounds that ended as one action was played in each match.

        actions: [n] ACTION, each legal where the phase is PLAY (not checked) and ignored elsewhere.
        """
        advance(self.states, actions)
        return self.settle()

    def settle(self) -> RoundsOver:
        """Return the rounds that have ended, after scoring them and beginning the next.

        `play` does it after each action. Call it after playing `states` on by other means, such as
        `random_playouts`.
        """
        ended = (self.states["player"] == TERMINAL) & (self.table["phase"] == PLAY)
        rows = np.flatnonzero(ended)
        states = self.states[rows]
        if len(rows) == 0:
            return RoundsOver(rows, states, np.zeros(0, bool), np.zeros(0, np.uint8))
        table = self.table[rows]
        score = score_round(
            states["order"],
            table["owner"],
            table["levels"],
            table["fails"],
            table["drops"],
            rules=self.rules,
        )
        over = (score.winner != NOBODY) | score.drawn
        if self.rules.max_rounds is not None:
            over |= table["round"] >= self.rules.max_rounds
        table["levels"], table["fails"], table["drops"] = score.levels, score.fails, score.drops
        table["winner"], table["order"] = score.winner, states["order"]
        table["owner"] = np.where(over, table["owner"], states["order"][:, 0] % 2)
        table["phase"] = OVER
        self.table[rows] = table
        if not over.all():
            self._new_rounds(rows[~over])
        return RoundsOver(rows, states, over, score.winner)

    def redeal(self, hands: ArrayLike, first: int) -> None:
        """Give every match other hands for the round that has just begun, [n, 4, 54] counts.

        first: the seat that leads where no round was before. Raises GameError where they are no deal.
        """
        if first not in range(4):
            raise GameError(f"guandan: first is a seat 0..3; got {first!r}")
        counts = np.asarray(hands)
        if counts.shape != (len(self), 4, NUM_CARDS):
            raise GameError(f"guandan: deals are counts [{len(self)}, 4, 54]; got {counts.shape}")
        dealt = pack(counts)
        if np.any(counts.sum(2) != HAND_SIZE) or np.any(counts.sum(1) != 2):
            raise GameError("guandan: a deal gives each of four seats 27 of the 108 cards; one does not")
        self.table["round"] -= 1
        self.states["player"] = TERMINAL
        self._new_rounds(np.arange(len(self)), dealt, first)

    def _new_rounds(
        self, rows: NDArray[np.int64], hands: NDArray[np.uint64] | None = None, first: int | None = None
    ) -> None:
        """Deal the next round of these matches and find out whether tribute is owed.

        hands: packed; None for those that follow from the seeds. first: who leads where no round was before;
        None to follow the rules.
        """
        table = self.table[rows]
        table["round"] += 1
        hands = deal_round(table["seed"], table["round"]) if hands is None else hands
        table["hand"] = hands
        for name in ("payer", "receiver", "paid", "back", "arrived"):
            table[name] = NOBODY
        table["anti"] = 0
        begins = table["order"][:, 0] == NOBODY
        owes = np.flatnonzero(~begins)
        order = table["order"][owes]
        seats = payers(order)
        anti = anti_tribute(hands[owes], seats)
        table["anti"][owes] = anti
        table["payer"][owes] = np.where(anti[:, None], NOBODY, seats)
        table["leader"][owes] = order[:, 0]
        if first is not None:
            table["leader"][begins] = first
        elif self.rules.first_lead == "random":
            draw = mix_seeds(table["seed"] ^ np.uint64(0x6C656164))
            table["leader"][begins] = (draw[begins] >> np.uint64(62)).astype(np.uint8)
        else:
            table["leader"][begins] = 0
        # whoever refuses tribute shows the big jokers
        known = np.zeros((len(rows), 4, 2), np.uint64)
        for slot in range(2):
            shows = anti & (seats[:, slot] != NOBODY)
            at, seat = owes[shows], seats[shows, slot]
            known[at, seat] += big_jokers(hands[at, seat])[:, None] * CARD_PACKED[53]
        plays = table["payer"][:, 0] == NOBODY
        table["phase"] = np.where(plays, PLAY, TRIBUTE)
        self.table[rows] = table
        self._start(rows[plays], hands[plays], known[plays], None)

    def _start(
        self, rows: NDArray[np.int64], hands: NDArray[np.uint64], known: NDArray[np.uint64], cap: Bytes | None
    ) -> None:
        """Begin play in these matches."""
        if len(rows) == 0:
            return
        table = self.table[rows]
        self.states[rows] = from_hands(
            unpack(hands),
            level=self.level(rows),
            first=table["leader"],
            levels=table["levels"],
            owner=table["owner"],
            shown=Shown(unpack(known), cap),
        )
        self.states["fails"][rows] = table["fails"]
        self.states["ace"][rows] = self.rules.ace

    def level(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Return the level of the current round of each match (or of these rows), uint8 rank codes."""
        table = self.table if rows is None else self.table[rows]
        return table["levels"][np.arange(len(table)), np.where(table["owner"] == NOBODY, 0, table["owner"])]

    def card_decisions(self) -> CardDecisions:
        """Return every tribute and return card that is still to be chosen."""
        waits = np.flatnonzero(self.table["phase"] < PLAY)
        if len(waits) == 0:
            none = np.zeros(0, np.uint8)
            hands, options = np.zeros((0, 2), np.uint64), np.zeros((0, NUM_CARDS), bool)
            return CardDecisions(waits, none, none, none > 0, none, hands, options)
        table = self.table[waits]
        back = table["phase"] == BACK
        given = np.where(back[:, None], table["back"], table["paid"])
        at, slots = np.nonzero((table["payer"] != NOBODY) & (given == NOBODY))
        rows, back = waits[at], back[at]
        seats = np.where(back, table["receiver"][at, slots], table["payer"][at, slots])
        hands = table["hand"][at, seats % 4]
        levels = self.level(rows)
        options = np.zeros((len(rows), NUM_CARDS), bool)
        pays = ~back
        options[pays] = tribute_options(hands[pays], levels[pays], rules=self.rules)
        options[back] = return_options(
            hands[back], levels[back], table["paid"][at, slots][back], rules=self.rules
        )
        return CardDecisions(
            rows, seats.astype(np.uint8), slots.astype(np.uint8), back, levels, hands, options
        )

    def give(self, decisions: CardDecisions, cards: ArrayLike) -> None:
        """Carry out tribute and return cards.

        decisions: those of `card_decisions`, or some of them. cards: [k], card index chosen in each.
        Where all payers have chosen, the cards change hands and the receivers' turn comes; where all
        receivers have, play begins.
        Raises GameError, and changes nothing, if a card is not among its options or has been chosen before.
        """
        cards = np.asarray(cards)
        k = len(decisions)
        if cards.shape != (k,) or (k and not np.all((cards >= 0) & (cards < NUM_CARDS))):
            raise GameError(f"guandan: cards are {k} card indices 0..53; got shape {cards.shape}: {cards}")
        if not np.all(decisions.options[np.arange(k), cards]):
            raise GameError("guandan: a tribute or return card must be one of its options; one is not")
        rows, slots, back = decisions.rows, decisions.slots, decisions.back
        now = self.table[rows]
        open_ = now["phase"] == np.where(back, BACK, TRIBUTE)
        open_ &= np.where(back, now["back"][np.arange(k), slots], now["paid"][np.arange(k), slots]) == NOBODY
        if not open_.all() or len(np.unique(2 * rows + slots)) < k:
            raise GameError("guandan: a tribute or return card is chosen once; ask card_decisions() again")
        pays = np.flatnonzero(~back)
        # backwards, so that of two answers at once the first counts as the first
        unset = self.table["arrived"][rows[pays]] == NOBODY
        for j in pays[unset][::-1]:
            self.table["arrived"][rows[j]] = slots[j]
        self.table["paid"][rows[pays], slots[pays]] = cards[pays]
        self.table["back"][rows[back], slots[back]] = cards[back]
        self._exchange(np.unique(rows))

    def _exchange(self, rows: NDArray[np.int64]) -> None:
        """Move the cards of all these matches whose payers or receivers have all chosen."""
        table = self.table[rows]
        for phase, name in ((TRIBUTE, "paid"), (BACK, "back")):
            whole = np.all((table["payer"] == NOBODY) | (table[name] != NOBODY), 1)
            ready = rows[(table["phase"] == phase) & whole]
            if len(ready):
                (self._pay if phase == TRIBUTE else self._return)(ready)

    def _pay(self, rows: NDArray[np.int64]) -> None:
        table = self.table[rows]
        to, leader = settle_tribute(
            table["order"], self.level(rows), table["paid"], table["arrived"], rules=self.rules
        )
        table["receiver"], table["leader"], table["phase"] = to, leader, BACK
        for slot in range(2):
            _move_cards(table, "payer", "receiver", "paid", slot)
        self.table[rows] = table

    def _return(self, rows: NDArray[np.int64]) -> None:
        table = self.table[rows]
        level = self.level(rows)
        known = np.zeros((len(rows), 4, NUM_CARDS), np.uint8)
        cap = np.full((len(rows), 4), 14, np.uint8)
        for slot in range(2):
            _move_cards(table, "receiver", "payer", "back", slot)
            at = np.flatnonzero(table["payer"][:, slot] != NOBODY)
            payer, paid, back = (table[name][at, slot] for name in ("payer", "paid", "back"))
            known[at, payer, back] += 1
            # a receiver who returns the very card is not known to hold (another copy of) it
            known[at, table["receiver"][at, slot], paid] += paid != back
            # the payers have no higher card left, and no big joker: two would have spared them the tribute
            cap[at, payer] = np.minimum(card_place(paid, level[at]), 13)
        table["phase"] = PLAY
        self.table[rows] = table
        self._start(rows, table["hand"], pack(known), cap)


def _move_cards(table: Rows, giver: str, taker: str, card: str, slot: int) -> None:
    """Move one card a match from hand to hand."""
    at = np.flatnonzero(table["payer"][:, slot] != NOBODY)
    cards = CARD_PACKED[table[card][at, slot]]
    table["hand"][at, table[giver][at, slot]] -= cards
    table["hand"][at, table[taker][at, slot]] += cards
