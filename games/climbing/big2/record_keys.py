"""What a seat knows: as a key that reads back as the line of play, in words and back, and deals that agree.

Nothing is hashed: a key holds the seat's initial hand and, for every card, when it went and from whom, which
is the whole public line (see BIG2_STATE). So equal keys are equal knowledge, and histories can be drawn from
a key alone.

Deals that agree with what a seat knows are drawn uniformly, with no inference from how the others played.
What the rules show is heeded. The seat that led the round was dealt the lowest of all cards that were dealt,
so that cards below it, if any, were left out. Where everyone has to play who can, a pass tells more: on a
single card that its seat had no higher one, which the draw builds in, and on other plays that it had nothing
to beat them, by which draws are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from games.climbing.big2.big2_rules import Big2Rules
from games.climbing.big2.card_masks import ASIDE, DEAL, card_words, lowest_place, read_cards
from games.climbing.big2.combinations import NO_PLAY, PLAY_KINDS, play_kinds
from games.climbing.big2.table_rows import DEALT, FIRST, HELD, PASSES, PLAYED, WENT, after_line, dealt_rounds
from games.game import GameError
from games.round_rows import views
from games.support.array_types import Bytes, Ints, Row, Rows
from games.support.kernel import kernel

__all__ = [
    "NO_LEAD",
    "Big2Words",
    "KnownRecord",
    "SpokenInfoset",
    "TurnOrder",
    "draw_deals",
    "record_keys",
    "record_of_key",
    "record_width",
]

PASSES_AT, FIRST_AT, DEALT_AT = 52, 54, 56
"""Bits of a key's first word above the 52 of the hand: passes, the seat that led first, cards dealt."""


def record_width(ranks: int) -> int:
    """Return the words of a key where the deck has so many ranks."""
    return 1 + (4 * ranks + 7) // 8


@kernel(nogil=True)
def _keys(words: Ints, bytes_: Bytes, player: int, deck: int, out: NDArray[np.uint64]) -> None:
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


def record_keys(states: Rows, player: int, deck: int, width: int) -> NDArray[np.uint64]:
    """Return what a seat knows at each state, [n, width] uint64.

    states: [n] BIG2_STATE. deck: cards in it. width: of `record_width`.
    """
    out = np.empty((len(states), width), np.uint64)
    _keys(*views(np.ascontiguousarray(states)), player, deck, out)
    return out


class TurnOrder:
    """Whose turn it is, action by action, in words of Python: for one line at a time.

    turn: the seat to act. owner: the seat that made the last play, -1 before the first.
    """

    def __init__(self, first: int, players: int, stays_out: bool) -> None:
        self.turn, self.owner = first, -1
        self._players, self._stays_out = players, stays_out
        self._out: set[int] = set()

    def act(self, cards: int) -> None:
        """Let the seat to act play these cards, 0 for a pass, which cannot come first."""
        if cards:
            self.owner = self.turn
        elif self._stays_out:
            self._out.add(self.turn)
        self.turn = (self.turn + 1) % self._players
        while self.turn in self._out:
            self.turn = (self.turn + 1) % self._players
        if not cards and self.turn == self.owner:
            self._out.clear()


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

    def line(self, players: int, stays_out: bool) -> list[tuple[int, int]]:
        """Return (seat, action) for every action since the deal, passes (0) included.

        Raises GameError if the first play is not that of the seat that led.
        """
        if (self.plays[0][0] if self.plays else self.first) != self.first or (self.passes and not self.plays):
            raise GameError(
                f"big2: the first play must be of the seat that led, {self.first}; got {self.plays[:1]}; "
                "take keys from infoset_key"
            )
        order = TurnOrder(self.first, players, stays_out)
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
    line = known.line(rules.players, rules.stays_out)
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


PASS_WORD, NOTHING = "pass", "nothing"
NO_LEAD = "is no lead; who leads plays cards"


@dataclass(frozen=True)
class SpokenInfoset:
    """What the words of an infoset say.

    seat: whose it is. hand: the cards that it holds now. first: the seat that led the round. line: the
    actions since the deal, passes (0) included.
    """

    seat: int
    hand: int
    first: int
    line: tuple[int, ...]


class Big2Words:
    """The words for one deck and one set of rules.

    A card is a suit and a rank, `D3`; a play its cards, weakest first; a line of play the seat that led and
    the actions in turn: `P2 leads: D3 C3, pass, H5 S5`.
    """

    def __init__(self, rules: Big2Rules) -> None:
        self.rules = rules
        self.whole = sum(1 << int(card) for card in rules.deck)
        self.letters = rules.suit_letters

    def cards(self, mask: int) -> str:
        """Return the cards of a mask in words."""
        return card_words(mask, self.letters)

    def action(self, state: Row, action: int) -> str:
        """Return one action in words: its cards, `pass`, or what chance does with its next card."""
        if action >> DEAL:
            seat = action.bit_length() - 1 - DEAL
            card = self.cards(1 << int(self.rules.deck[int(state["dealt"])]))
            return f"leave {card} out" if seat == ASIDE else f"deal {card} to P{seat}"
        return self.cards(action) if action else PASS_WORD

    def state(self, state: Row) -> str:
        """Return one history in words, hands of all seats included."""
        held = ", ".join(
            f"P{s} holds {self.cards(int(state['hand'][s])) or NOTHING}" for s in range(self.rules.players)
        )
        return f"{held}{self._line(state)}"

    def infoset(self, state: Row, seat: int) -> str:
        """Return what a seat knows in one line of words."""
        if state["dealt"] < len(self.rules.deck):
            return f"P{seat} holds {NOTHING}{self._line(state)}"
        return f"P{seat} holds {self.cards(int(state['hand'][seat])) or NOTHING}{self._line(state)}"

    def read(self, text: str) -> SpokenInfoset | None:
        """Return what the words of an infoset say, None if they are none; the line may still be impossible.

        Raises GameError at a card that is not of the deck.
        """
        found = re.fullmatch(
            r"\s*p([0-3])\s+holds\s+([^|]*?)\s*\|\s*p([0-3])\s+leads\s*(?::(.*))?", text, re.IGNORECASE
        )
        if found is None:
            return None
        hand = 0 if found[2].lower() == NOTHING else read_cards(found[2], self.letters, self.whole)
        words = [word.strip() for word in (found[4] or "").split(",") if word.strip()]
        line = [
            0 if word.lower() == PASS_WORD else read_cards(word, self.letters, self.whole) for word in words
        ]
        return SpokenInfoset(int(found[1]), hand, int(found[3]), tuple(line))

    def refusal(self, state: Row, number: int, action: int) -> str:
        """Return why an action, the `number`-th of a line, is not legal at a state where it is not."""
        what = f'move {number}, "{self.cards(action) or PASS_WORD}"'
        said = f"{what} of seat {state['player']},"
        if state["player"] < 0:
            return f"{what}, comes after the end of the round; end there"
        if not action and not state["beat"]:
            return f"{said} {NO_LEAD}"
        beat = f'"{self.cards(int(state["beat"]))}"'
        if not action:
            return f"{said} may not be: who can beat {beat} has to; play what does"
        pair = np.array([action, state["beat"]], np.uint64)
        kind, lies = (int(code) for code in play_kinds(pair, self.rules.book()))
        if kind == NO_PLAY:
            return f"{said} is no combination; play one that the rules have"
        if not state["beat"]:
            return (
                f"{said} opens without the lowest card, {self.cards(1 << int(state['low']))}; play that too"
            )
        stronger = ", a stronger kind" if int(state["head"]) >> 16 == 5 else ""
        bomb = ", a bomb" if self.rules.bombs != "none" else ""
        return f"{said} does not beat {beat}; play a higher {PLAY_KINDS[lies]}{stronger}{bomb} or pass"

    def read_play(self, text: str) -> int:
        """Return the mask of one play in words, 0 for a pass. Raises GameError at a card that is none."""
        if text.strip().lower() == PASS_WORD:
            return 0
        mask = read_cards(text, self.letters, self.whole)
        if not mask:
            raise GameError(f'big2: a play names its cards or says "{PASS_WORD}"; got {text!r}; name one')
        return mask

    def _line(self, state: Row) -> str:
        rules = self.rules
        dealt, size = int(state["dealt"]), len(rules.deck)
        if dealt < size:
            return f" | dealing, {size - dealt} to go"
        # every seat knows the line; take the first one's key
        key = record_keys(np.array([state]), 0, size, record_width(rules.ranks))[0]
        known = record_of_key(tuple(int(word) for word in key))
        words = [self.cards(cards) or PASS_WORD for _, cards in known.line(rules.players, rules.stays_out)]
        return f" | P{known.first} leads{': ' if words else ''}{', '.join(words)}"
