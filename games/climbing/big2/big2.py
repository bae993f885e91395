"""Big2 (Big Two, Da Lao Er) under the `Game` protocol: two to four seats, each for itself.

Cards are dealt one by one by chance, lowest first, so that a deal is a line of small chance nodes and no two
lines make the same deal. Whoever goes out first wins, and the others pay for the cards that they hold.
Source: Tan et al. 2024, appendix B, for the usual rules; `Big2Rules` has the others.

No infoset key is hashed: it holds the seat's initial hand and, for every card, when it went and from whom,
which is the whole public line (see BIG2_STATE). So equal keys are equal knowledge, and histories can be drawn
from a key alone.

Deals that agree with what a seat knows are drawn uniformly, with no inference from how the others played.
What the rules show is heeded. The seat that led the round was dealt the lowest of all cards that were dealt,
so that cards below it, if any, were left out. Where everyone has to play who can, a pass tells more: on a
single card that its seat had no higher one, which the draw builds in, and on other plays that it had nothing
to beat them, by which draws are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from math import comb, factorial, prod
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from games.climbing.big2.big2_rules import PARAMETERS, Big2Rules
from games.climbing.big2.card_masks import ASIDE, DEAL, card_words, lowest_place, read_cards
from games.climbing.big2.combinations import MOST_PLAYS, NO_PLAY, PLAY_KINDS, play_kinds
from games.climbing.big2.table_rows import (
    DEALT,
    FIRST,
    HELD,
    PASSES,
    PLAYED,
    WENT,
    after_line,
    apply_all,
    big2_roots,
    dealt_rounds,
    first_misfit,
    list_rounds,
    play_rounds,
    settle_rounds,
)
from games.game import CHANCE, TERMINAL, GameError, Infoset
from games.infosets import infoset_at, unknown_infoset
from games.parameters import Parameter, named
from games.ragged import Ragged
from games.round_rows import fill_ragged, one_row, play_out, views
from games.support.array_types import Array, Bytes, Ints, Row, Rows
from games.support.kernel import kernel

LISTED = 20_000
"""Histories looked through for names like one that does not exist."""
PASSES_AT, FIRST_AT, DEALT_AT = 52, 54, 56
"""Bits of a key's first word above the 52 of the hand: passes, the seat that led first, cards dealt."""
PASS_WORD, NOTHING = "pass", "nothing"
NO_LEAD = "is no lead; who leads plays cards"


class TurnOrder:
    """Whose turn it is, action by action: a round of seats that never run out of cards."""

    def __init__(self, first: int, rules: Big2Rules) -> None:
        self._round, self._book = big2_roots(1), rules.book()
        self._round["hand"], self._round["player"] = (1 << DEAL) - 1, first

    @property
    def turn(self) -> int:
        """Return the seat to act."""
        return int(self._round["player"][0])

    def act(self, cards: int) -> None:
        """Let the seat to act play these cards, 0 for a pass, which cannot come first."""
        apply_all(*views(self._round), np.array([cards], np.int64), self._book)


@dataclass(frozen=True)
class KnownRecord:
    """What a key says.

    hand: the cards that its seat was dealt. dealt: cards dealt so far. first: the seat that led the round.
    plays: (seat, cards) of every play in order. passes: since the last play.
    """

    hand: int
    dealt: int
    first: int
    plays: tuple[tuple[int, int], ...]
    passes: int

    def line(self, rules: Big2Rules) -> list[tuple[int, int]]:
        """Return (seat, action) for every action since the deal, passes (0) included.

        Raises GameError if the first play is not that of the seat that led.
        """
        if (self.plays[0][0] if self.plays else self.first) != self.first or (self.passes and not self.plays):
            raise GameError(
                f"big2: the first play must be of the seat that led, {self.first}; got {self.plays[:1]}; "
                "take keys from infoset_key"
            )
        order = TurnOrder(self.first, rules)
        actions: list[tuple[int, int]] = []

        def act(cards: int) -> None:
            actions.append((order.turn, cards))
            order.act(cards)

        for seat, cards in self.plays:
            while order.turn != seat:
                act(0)
            act(cards)
        for _ in range(self.passes):
            act(0)
        return actions


def record_of_key(key: tuple[int, ...]) -> KnownRecord:
    """Return what the words of a key say."""
    head = key[0]
    plays: dict[int, tuple[int, int]] = {}
    for card, went in enumerate(np.array(key[1:], "<u8").tobytes()):
        if went:
            _, cards = plays.get(went & 63, (0, 0))
            plays[went & 63] = (went >> 6, cards | 1 << card)
    return KnownRecord(
        head & (1 << PASSES_AT) - 1,
        head >> DEALT_AT,
        head >> FIRST_AT & 3,
        tuple(plays[number] for number in sorted(plays)),
        head >> PASSES_AT & 3,
    )


class Spoken(NamedTuple):
    """What the words of an infoset say.

    seat: whose it is. hand: the cards that it holds now. first: the seat that led the round. line: the
    actions since the deal, passes (0) included.
    """

    seat: int
    hand: int
    first: int
    line: tuple[int, ...]


class _IllegalMove(GameError):
    """A line of an infoset holds a move that the rules do not allow: near matches would not tell which."""


class Big2:
    """One round of Big2 as a `Game` (see `games.game`).

    Takes the fields of `Big2Rules` as keywords. States are BIG2_STATE rows. Actions are uint64: the mask of
    the cards played, 0 for a pass, or one bit above them for what chance does with its next card (see
    `card_masks`).
    teams: every seat a team of its own; payoffs sum to zero over the seats. whole: mask of the deck.
    A card in words is a suit and a rank, `D3`; a play its cards, weakest first; a line of play the seat that
    led and the actions in turn: `P2 leads: D3 C3, pass, H5 S5`.
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
        self.name, _ = named("big2", PARAMETERS, rules.values())
        self.num_players = rules.players
        self.teams = tuple(range(rules.players))
        self.payoff_range = rules.payoff_range()
        self.key_width = 1 + (4 * rules.ranks + 7) // 8
        self.whole = sum(1 << int(card) for card in rules.deck)
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
        both = views(np.ascontiguousarray(states))
        found = fill_ragged(list_rounds, len(states), *both, self._book, room=(MOST_PLAYS, 24))
        return Ragged(found.offsets, found.values.view(np.uint64))

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
        out = np.empty((len(states), self.key_width), np.uint64)
        _keys(*views(np.ascontiguousarray(states)), player, len(self.rules.deck), out)
        return out

    def action_type(self, actions: Array) -> NDArray[np.int64]:
        """Return the kind of each action, [m] int64, by its place in PLAY_KINDS."""
        return play_kinds(actions, self._book)

    def cards_text(self, mask: int) -> str:
        """Return the cards of a mask in words, weakest first."""
        return card_words(mask, self.rules.suit_letters)

    def read_play(self, text: str) -> int:
        """Return the mask of one play in words, 0 for a pass. Raises GameError at a card that is none."""
        if text.strip().lower() == PASS_WORD:
            return 0
        mask = read_cards(text, self.rules.suit_letters, self.whole)
        if not mask:
            raise GameError(f'big2: a play names its cards or says "{PASS_WORD}"; got {text!r}; name one')
        return mask

    def action_text(self, state: Rows | Row, action: Array) -> str:
        """Return one action as its cards: `D3 C3`; or `pass`, or `deal D3 to P1`."""
        mask = int(action)
        if mask >> DEAL:
            seat = mask.bit_length() - 1 - DEAL
            card = self.cards_text(1 << int(self.rules.deck[int(one_row(state)["dealt"])]))
            return f"leave {card} out" if seat == ASIDE else f"deal {card} to P{seat}"
        return self.cards_text(mask) or PASS_WORD

    def state_text(self, state: Rows | Row) -> str:
        """Return one history in words: all hands as they are, who led, and the line."""
        row = one_row(state)
        hands = row["hand"][: self.num_players].tolist()
        held = (f"P{seat} holds {self.cards_text(hand) or NOTHING}" for seat, hand in enumerate(hands))
        return f"{', '.join(held)}{self._line(row)}"

    def infoset_text(self, state: Rows | Row, player: int) -> str:
        """Return what a seat knows in one line: `P1 holds C4 S2 | P0 leads: D3, pass`."""
        row = one_row(state)
        hand = int(row["hand"][player]) if row["dealt"] == len(self.rules.deck) else 0
        return f"P{player} holds {self.cards_text(hand) or NOTHING}{self._line(row)}"

    def _line(self, state: Row) -> str:
        rules = self.rules
        dealt, size = int(state["dealt"]), len(rules.deck)
        if dealt < size:
            return f" | dealing, {size - dealt} to go"
        # every seat knows the line; take the first one's key
        known = record_of_key(tuple(self.infoset_key(np.array([state]), 0)[0].tolist()))
        words = [self.cards_text(cards) or PASS_WORD for _, cards in known.line(rules)]
        return f" | P{known.first} leads{': ' if words else ''}{', '.join(words)}"

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
        line = np.array([cards for _, cards in known.line(self.rules)], np.uint64)
        table = np.concatenate([given, np.tile(line, (n, 1))], axis=1)
        return Ragged.from_counts(np.full(n, table.shape[1]), table.reshape(-1))

    def play_randomly(self, states: Rows, rng: np.random.Generator) -> tuple[Rows, NDArray[np.int64]]:
        """Return dealt rounds after uniformly random play to the end, and decisions taken, [n] int64.

        Each round draws from its own stream, seeded from `rng`.
        """
        book, out = self._book, np.empty(MOST_PLAYS, np.int64)
        return play_out(lambda after, seeds, n: play_rounds(*views(after), seeds, book, out, n), states, rng)

    def _spoken(self, text: str) -> Infoset | None:
        """Return the infoset that a text names, by playing its line from a deal that agrees; or None."""
        said = self._read(text)
        rules = self.rules
        if said is None or max(said.seat, said.first) >= rules.players:
            return None
        if said.line[:1] == (0,):
            raise _IllegalMove(f'big2: move 1, "pass" of seat {said.first}, {NO_LEAD}')
        # who played what follows from the line, so that the initial hand does
        order = TurnOrder(said.first, rules)
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
                raise _IllegalMove(f"big2: {self._refusal(states[0], at + 1, said.line[at])}")
        found = infoset_at(self, states, said.seat)
        return found if self._read(found.text) == said else None

    def _read(self, text: str) -> Spoken | None:
        """Return what the words of an infoset say, None if they are none; the line may still be impossible.

        Raises GameError at a card that is not of the deck.
        """
        found = re.fullmatch(
            r"\s*p([0-3])\s+holds\s+([^|]*?)\s*\|\s*p([0-3])\s+leads\s*(?::(.*))?", text, re.IGNORECASE
        )
        if found is None:
            return None
        letters = self.rules.suit_letters
        hand = 0 if found[2].lower() == NOTHING else read_cards(found[2], letters, self.whole)
        words = [word.strip() for word in (found[4] or "").split(",") if word.strip()]
        line = [0 if word.lower() == PASS_WORD else read_cards(word, letters, self.whole) for word in words]
        return Spoken(int(found[1]), hand, int(found[3]), tuple(line))

    def _refusal(self, state: Row, number: int, action: int) -> str:
        """Return why an action, the `number`-th of a line, is not legal at a state where it is not."""
        what = f'move {number}, "{self.cards_text(action) or PASS_WORD}"'
        said = f"{what} of seat {state['player']},"
        if state["player"] < 0:
            return f"{what}, comes after the end of the round; end there"
        if not action and not state["beat"]:
            return f"{said} {NO_LEAD}"
        beat = f'"{self.cards_text(int(state["beat"]))}"'
        if not action:
            return f"{said} may not be: who can beat {beat} has to; play what does"
        pair = np.array([action, state["beat"]], np.uint64)
        kind, lies = (int(code) for code in play_kinds(pair, self._book))
        if kind == NO_PLAY:
            return f"{said} is no combination; play one that the rules have"
        if not state["beat"]:
            lowest = self.cards_text(1 << int(state["low"]))
            return f"{said} opens without the lowest card, {lowest}; play that too"
        stronger = ", a stronger kind" if int(state["head"]) >> 16 == 5 else ""
        bomb = ", a bomb" if self.rules.bombs != "none" else ""
        return f"{said} does not beat {beat}; play a higher {PLAY_KINDS[lies]}{stronger}{bomb} or pass"


def _actor(player: int) -> str:
    return {CHANCE: "chance", TERMINAL: "nobody"}.get(player, f"seat {player}")


def _cards_in(masks: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of cards in each mask, of the same shape."""
    bits = np.unpackbits(np.ascontiguousarray(masks, "<u8").view(np.uint8).reshape(*masks.shape, 8), axis=-1)
    count: NDArray[np.int64] = bits.sum(-1, dtype=np.int64)
    return count


@kernel(nogil=True)
def _keys(words: Ints, bytes_: Bytes, player: int, deck: int, out: NDArray[np.uint64]) -> None:
    """Write what a seat knows at each state, [n, width]. deck: cards in it."""
    for i in range(len(words)):
        dealt = np.int64(bytes_[i, DEALT])
        if dealt < deck:  # nobody looks before the last card is dealt
            out[i, 0] = np.uint64(dealt << DEALT_AT)
            for k in range(1, out.shape[1]):
                out[i, k] = np.uint64(0)
            continue
        known = words[i, HELD + player] | words[i, PLAYED + player]
        known |= np.int64(bytes_[i, PASSES]) << PASSES_AT | np.int64(bytes_[i, FIRST]) << FIRST_AT
        out[i, 0] = np.uint64(known | dealt << DEALT_AT)
        for k in range(1, out.shape[1]):
            out[i, k] = np.uint64(words[i, WENT // 8 + k - 1])


MOST_TRIES = 1 << 20
"""Deals drawn at most where passes reject some."""


@dataclass(frozen=True, eq=False)
class _Unseen:
    """Cards that a seat does not see, from the highest down, and the room for them.

    cards: [k] their places in the deck. room: [5] free places of each seat and aside. cap: [5] the highest
    place in the deck of a card that each may hold.
    """

    cards: Ints
    room: Ints
    cap: Ints


@dataclass(frozen=True)
class _Case:
    """One place of the lowest card: seats of unseen cards that must lie where they do, and how many deals do.

    given: the seat of each such card, by its place in the deck.
    """

    deals: int
    given: dict[int, int] = field(default_factory=dict)


def draw_deals(
    rules: Big2Rules, seat: int, known: KnownRecord, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return n deals that a seat cannot tell apart, [n, cards of the deck] int64: each card's seat, or ASIDE.

    Raises GameError if no deal agrees with what it knows, or if passes that had to be leave too few of those
    that are drawn.
    """
    deck = rules.deck
    line = known.line(rules)
    where = np.full(len(deck), -1)
    place = {int(card): at for at, card in enumerate(deck)}
    for who, cards in ((seat, known.hand), *known.plays):
        for card in range(52):
            if cards >> card & 1:
                where[place[card]] = who
    room = np.zeros(ASIDE + 1, np.int64)
    room[: rules.players] = rules.hand
    room[ASIDE] = len(deck) - rules.hand * rules.players
    room -= np.bincount(where[where >= 0], minlength=ASIDE + 1)
    unseen = _Unseen(np.flatnonzero(where < 0)[::-1], room, _caps(rules, line, place))
    cases = _cases(rules, seat, known, where, unseen) if room.min() >= 0 else []
    total = sum(case.deals for case in cases)
    if total == 0:
        raise GameError(
            f"big2: at least one deal must agree with what seat {seat} knows; none does; check its "
            "hand and the line"
        )
    share = np.array([case.deals / total for case in cases])

    def drawn(count: int) -> NDArray[np.int64]:
        out = np.tile(where, (count, 1))
        chosen = rng.choice(len(cases), count, p=share / share.sum())
        for at, case in enumerate(cases):
            rows = np.flatnonzero(chosen == at)
            out[rows] = _filled(out[rows], unseen, case, rng)
        return out

    if not rules.must_play or all(cards for _, cards in line):
        return drawn(n)
    return _agreeing(rules, [cards for _, cards in line], n, drawn)


def _agreeing(
    rules: Big2Rules, line: list[int], n: int, drawn: Callable[[int], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Return n of the deals drawn after which the line is legal, its passes above all."""
    book = rules.book()
    found: list[NDArray[np.int64]] = []
    tried = count = 0
    while count < n and tried < MOST_TRIES:
        deals = drawn(min(max(2 * n, 1024), 1 << 14))
        _, done = after_line(dealt_rounds(deals, book), line, book)
        found.append(deals[done == len(line)])
        tried += len(deals)
        count += len(found[-1])
    if count < n:
        raise GameError(
            f"big2: at least {n} of {tried:,} deals must agree with the passes that had to be; {count} do; "
            "ask for fewer, or play with must_play=false"
        )
    return np.concatenate(found)[:n]


def _caps(rules: Big2Rules, line: list[tuple[int, int]], place: dict[int, int]) -> Ints:
    """Return the highest place in the deck of a card that each seat may hold hidden, [5]."""
    cap = np.full(ASIDE + 1, len(place))
    beat = 0
    for seat, cards in line if rules.must_play else ():
        if cards:
            beat = cards
        elif beat & beat - 1 == 0:
            cap[seat] = min(cap[seat], place[lowest_place(beat)])
    return cap


def _cases(rules: Big2Rules, seat: int, known: KnownRecord, where: Ints, unseen: _Unseen) -> list[_Case]:
    """Return where the lowest card may lie, each with its number of deals, those without any left out."""
    if rules.opening == "first":
        return [case for case in (_Case(_ways(unseen, {})),) if case.deals]
    held = np.flatnonzero(where >= 0)
    lowest = int(held[0]) if len(held) else len(where)
    # every card below the lowest that was seen is unseen
    givens = []
    if len(held) and where[lowest] == known.first:
        givens.append(dict.fromkeys(range(lowest), ASIDE))
    shown = seat == known.first or (rules.opening == "lowest" and len(known.plays) > 0)
    if not shown:
        givens += [{**dict.fromkeys(range(at), ASIDE), at: known.first} for at in range(lowest)]
    cases = [_Case(_ways(unseen, given), given) for given in givens]
    return [case for case in cases if case.deals]


def _left(unseen: _Unseen, given: dict[int, int]) -> tuple[list[int], Ints]:
    """Return the unseen cards that may lie anywhere, from the highest down, and the room for them, [5]."""
    room = unseen.room.copy()
    for who in given.values():
        room[who] -= 1
    return [card for card in unseen.cards.tolist() if card not in given], room


def _ways(unseen: _Unseen, given: dict[int, int]) -> int:
    """Return in how many deals the cards lie where they must and the others where they may.

    From the highest card down the seats that may hold a card only grow in number, so that the free places
    among which it falls are as many however those before it fell.
    """
    cards, room = _left(unseen, given)
    if room.min() < 0 or any(card > unseen.cap[who] for card, who in given.items()):
        return 0
    free = [int(room[unseen.cap >= card].sum()) - before for before, card in enumerate(cards)]
    if min(free, default=1) < 1:
        return 0
    return prod(free) // prod(factorial(int(places)) for places in room)


def _filled(owners: Ints, unseen: _Unseen, case: _Case, rng: np.random.Generator) -> Ints:
    """Return the deals [n, cards] with their unseen cards given out, each deal of the case alike likely."""
    for card, who in case.given.items():
        owners[:, card] = who
    cards, room = _left(unseen, case.given)
    if unseen.cap.min() >= owners.shape[1]:  # nothing is capped: any order of the places will do
        places = np.tile(np.repeat(np.arange(ASIDE + 1), room), (len(owners), 1))
        owners[:, cards] = rng.permuted(places, axis=1)
        return owners
    free = np.tile(room, (len(owners), 1))
    for card in cards:
        passed = np.cumsum(free * (unseen.cap >= card), axis=1)
        who = (passed <= rng.integers(passed[:, -1])[:, None]).sum(1)
        owners[:, card] = who
        free[np.arange(len(owners)), who] -= 1
    return owners
