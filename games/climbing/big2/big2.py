"""Big2 (Big Two, Da Lao Er) under the `Game` protocol: two to four seats, each for itself.

Cards are dealt one by one by chance, lowest first, so that a deal is a line of small chance nodes and no two
lines make the same deal. Whoever goes out first wins, and the others pay for the cards that they hold.
Source: Tan et al. 2024, appendix B, for the usual rules; `Big2Rules` has the others.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from math import comb
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.climbing.big2.big2_rules import PARAMETERS, Big2Rules
from games.climbing.big2.card_masks import ASIDE, DEAL
from games.climbing.big2.combinations import play_kinds
from games.climbing.big2.record_keys import (
    NO_LEAD,
    Big2Words,
    KnownRecord,
    TurnOrder,
    draw_deals,
    record_keys,
    record_of_key,
    record_width,
)
from games.climbing.big2.table_rows import (
    after_line,
    apply_all,
    big2_roots,
    dealt_rounds,
    first_misfit,
    legal_plays,
    settle_rounds,
)
from games.climbing.big2.table_rows import play_randomly as random_play
from games.game import CHANCE, TERMINAL, GameError, Infoset
from games.infosets import infoset_at, unknown_infoset
from games.parameters import Parameter, canonical_name
from games.ragged import Ragged
from games.round_rows import one_row, views
from games.support.array_types import Array, Row, Rows

__all__ = ["Big2"]

LISTED = 20_000
"""Histories looked through for names like one that does not exist."""


class _IllegalMove(GameError):
    """A line of an infoset holds a move that the rules do not allow: near matches would not tell which."""


class Big2:
    """One round of Big2 as a `Game` (see `games.game`).

    Takes the fields of `Big2Rules` as keywords. States are BIG2_STATE rows. Actions are uint64: the mask of
    the cards played, 0 for a pass, or one bit above them for what chance does with its next card (see
    `card_masks`).
    teams: every seat a team of its own; payoffs sum to zero over the seats.
    """

    summary = "Big2: get rid of your cards first, each for itself; pairs, triples and five-card poker hands"
    parameters: tuple[Parameter, ...] = PARAMETERS
    moves_are_inputs = True
    """Plays are too many for a column each: a network is shown what they do (`blueprint.climbing`)."""
    MOST_LISTED = 4096
    """Above the longest lists found: 1,364 plays of 17 cards and 3,567 of 26."""

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - {parameter.name for parameter in PARAMETERS}
        if unknown:
            names = ", ".join(parameter.name for parameter in PARAMETERS)
            raise GameError(f"big2: no parameter is called {sorted(unknown)[0]!r}; it has {names}")
        self.rules = rules = Big2Rules(**values)
        self.name = canonical_name("big2", PARAMETERS, rules.values())
        self.num_players = rules.players
        self.teams = tuple(range(rules.players))
        self.payoff_range = rules.payoff_range()
        self.key_width = record_width(rules.ranks)
        self.words = Big2Words(rules)
        self._book = rules.book()
        self._cost = rules.penalties()

    @property
    def longest_list(self) -> int:
        """A length that no list of legal actions exceeds, as far as is known."""
        hand = self.rules.hand
        ranks = -(-hand // 4)  # as few as may be: then pairs and triples are as many as may be
        return min(1 + hand + (comb(4, 2) + comb(4, 3)) * ranks + comb(hand, 5), self.MOST_LISTED)

    def root(self) -> Rows:
        """Return the state before the first card is dealt, a batch of one BIG2_STATE."""
        return big2_roots(1)

    def sample_deals(self, n: int, rng: np.random.Generator) -> Rows:
        """Return n freshly dealt rounds, [n] BIG2_STATE, as chance would deal them.

        Raises GameError if n is negative.
        """
        if n < 0:
            raise GameError(f"big2: the number of deals must be at least 0; got {n}; ask for 0 or more")
        rules = self.rules
        room = np.full(rules.players, rules.hand)
        owners = np.repeat(np.arange(rules.players), room)
        owners = np.append(owners, np.full(len(rules.deck) - len(owners), ASIDE))
        return dealt_rounds(rng.permuted(np.tile(owners, (n, 1)), axis=1), self._book)

    def player(self, states: Rows) -> NDArray[np.int8]:
        """Return the seat to act at each state, CHANCE while cards are dealt, or TERMINAL, [n] int8."""
        return states["player"].copy()

    def actions(self, states: Rows) -> Ragged:
        """Return the actions of each state, Ragged of uint64: the pass first, then plays by size and kind."""
        return legal_plays(states, self._book)

    def chance_probs(self, states: Rows, actions: Ragged) -> NDArray[np.float64]:
        """Return how likely chance gives its next card to each seat: its room over the cards to go, [m]."""
        probs = np.ones(len(actions.values))
        rows = actions.rows
        by_chance = np.flatnonzero(states["player"][rows] == CHANCE)
        if len(by_chance) == 0:
            return probs
        rows, size = rows[by_chance], len(self.rules.deck)
        one = actions.values[by_chance, None] >> (DEAL + np.arange(ASIDE + 1)).astype(np.uint64)
        seat = (one & np.uint64(1)).argmax(1)
        held = _cards_in(states["hand"])
        aside = states["dealt"] - held.sum(1)
        room = np.column_stack([self.rules.hand - held, size - self.rules.hand * self.num_players - aside])
        probs[by_chance] = room[rows, seat] / (size - states["dealt"][rows].astype(np.int64))
        return probs

    def step(self, states: Rows, rows: NDArray[np.int64], actions: Array) -> Rows:
        """Return the states after `actions[j]` is taken at `states[rows[j]]`, [m] BIG2_STATE.

        Raises GameError at a finished round, at cards that are not in hand or make no combination, and at a
        pass on nothing. That a play beats what lies there is the caller's to know.
        """
        after = states[rows]
        words, bytes_ = views(after)
        moves = np.array(actions, np.uint64).view(np.int64)
        bad = first_misfit(words, bytes_, moves, self._book)
        if bad >= 0:
            if after["player"][bad] == TERMINAL:
                raise GameError("big2: the round is over and no player can act; stop at player == TERMINAL")
            who = _actor(int(after["player"][bad]))
            raise GameError(
                f"big2: {int(actions[bad]):#x} is not an action of {who}, row {bad}; take one of "
                "actions(states)"
            )
        apply_all(words, bytes_, moves, self._book)
        return after

    def returns(self, states: Rows) -> NDArray[np.float64]:
        """Return the payoffs of finished rounds, [n, players] float64 points; zero where play goes on.

        Each seat's cards left cost it points. It pays them to the winner, or where losers settle in pairs the
        difference to every seat that is cheaper. Payoffs sum to zero.
        """
        out = np.empty((len(states), self.num_players))
        both = views(np.ascontiguousarray(states))
        settle_rounds(*both, self.num_players, self.rules.settling == "pairs", self._cost, out)
        return out

    def infoset_key(self, states: Rows, player: int) -> NDArray[np.uint64]:
        """Return what a seat knows, exactly, [n, key_width] uint64: its initial hand and the public line."""
        if player not in range(self.num_players):
            raise GameError(f"{self.name}: a seat must be in [0, {self.num_players}); got {player}")
        return record_keys(states, player, len(self.rules.deck), self.key_width)

    def action_type(self, actions: Array) -> NDArray[np.int64]:
        """Return the kind of each action, [m] int64, by its place in PLAY_KINDS."""
        return play_kinds(actions, self._book)

    def action_text(self, state: Rows | Row, action: Array) -> str:
        """Return one action as its cards: `D3 C3`; or `pass`, or `deal D3 to P1`."""
        return self.words.action(one_row(state), int(action))

    def state_text(self, state: Rows | Row) -> str:
        """Return one history in words: all hands as they are, who led, and the line."""
        return self.words.state(one_row(state))

    def infoset_text(self, state: Rows | Row, player: int) -> str:
        """Return what a seat knows in one line: `P1 holds C4 S2 | P0 leads: D3, pass`."""
        return self.words.infoset(one_row(state), player)

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names; case, spacing and the order of cards do not matter.

        Raises GameError if there is none: naming a move that the rules do not allow, else with near matches.
        """
        try:
            found = self._spoken(text)
        except _IllegalMove:
            raise
        except GameError as error:
            raise GameError(f"{error} ({unknown_infoset(self, text, max_states=LISTED)})") from error
        if found is None:
            raise unknown_infoset(self, text, max_states=LISTED)
        return found

    def sample_histories(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories of an infoset, after the deal: hidden cards uniform among deals that agree.

        Raises GameError if its key is of no infoset.
        """
        known = record_of_key(infoset.key)
        if known.dealt < len(self.rules.deck):
            raise GameError(f"{self.name}: histories are drawn once all cards are dealt; {known.dealt} are")
        deals = draw_deals(self.rules, infoset.player, known, n, rng)
        given = np.uint64(1) << (deals + DEAL).astype(np.uint64)
        line = np.array([cards for _, cards in known.line(self.num_players, self.rules.stays_out)], np.uint64)
        table = np.concatenate([given, np.tile(line, (n, 1))], axis=1)
        return Ragged.from_counts(np.full(n, table.shape[1]), table.reshape(-1))

    def play_randomly(self, states: Rows, rng: np.random.Generator) -> tuple[Rows, NDArray[np.int64]]:
        """Return dealt rounds after uniformly random play to the end, and the decisions of each, [n]."""
        return random_play(states, rng, self._book)

    def _spoken(self, text: str) -> Infoset | None:
        """Return the infoset that a text names, by playing its line from a deal that agrees; or None."""
        said = self.words.read(text)
        rules = self.rules
        if said is None or max(said.seat, said.first) >= rules.players:
            return None
        if said.line[:1] == (0,):
            raise _IllegalMove(f'big2: move 1, "pass" of seat {said.first}, {NO_LEAD}')
        # who played what follows from the line, so that the initial hand does
        order = TurnOrder(said.first, rules.players, rules.stays_out)
        acts = []
        for cards in said.line:
            acts.append((order.turn, cards))
            order.act(cards)
        own = reduce(or_, (cards for seat, cards in acts if seat == said.seat), 0)
        plays = tuple((seat, cards) for seat, cards in acts if cards)
        after = len(acts) - max((at for at, (_, cards) in enumerate(acts) if cards), default=-1) - 1
        known = KnownRecord(said.hand | own, len(rules.deck), said.first, plays, after)
        # passes that had to be tell of the hands only once the line is one that could be
        for heeds in sorted({False, rules.must_play}):
            table = replace(rules, must_play=heeds)
            book = table.book()
            deals = draw_deals(table, said.seat, known, 1, np.random.default_rng(0))
            states, done = after_line(dealt_rounds(deals, book), said.line, book)
            if done[0] < len(said.line):
                at = int(done[0])
                raise _IllegalMove(f"big2: {self.words.refusal(states[0], at + 1, said.line[at])}")
        found = infoset_at(self, states, said.seat)
        return found if self.words.read(found.text) == said else None


def _actor(player: int) -> str:
    return {CHANCE: "chance", TERMINAL: "nobody"}.get(player, f"seat {player}")


def _cards_in(masks: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of cards in each mask, of the same shape."""
    bits = np.unpackbits(np.ascontiguousarray(masks, "<u8").view(np.uint8).reshape(*masks.shape, 8), axis=-1)
    count: NDArray[np.int64] = bits.sum(-1, dtype=np.int64)
    return count
