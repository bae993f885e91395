"""DouDiZhu written from the rules, slow and obvious: moves, auction, turns, tricks, payoffs.

Hands and moves are strings of ranks.
Shares nothing with the kernels. A move is its cards in order of rank; a pass is "pass".
"""

from __future__ import annotations

from itertools import combinations

RANKS = "3456789TJQKA2BR"
CHAINED = "3456789TJQKA"
PASS = "pass"

Kind = tuple[str, int, str]
"""Kind, number of links and lowest rank of what decides: ("trio_solo", 2, "3") is 333444 with two cards."""


def in_order(cards: str) -> str:
    """Return the cards sorted by rank."""
    return "".join(sorted(cards, key=RANKS.index))


def runs(hand: str, copies: int, shortest: int) -> list[str]:
    """Return the runs of neighbouring ranks, 2 and jokers left out, of which the hand holds enough copies."""
    held = [rank for rank in CHAINED if hand.count(rank) >= copies]
    found = []
    for first in range(12):
        for end in range(first + shortest, 13):
            if all(rank in held for rank in CHAINED[first:end]):
                found.append(CHAINED[first:end])
    return found


def single_kickers(hand: str, body: str, number: int) -> set[str]:
    """Return the single cards that may go along with trios or a four of the ranks in `body`."""
    rest = in_order("".join(card for card in hand if card not in body))
    found = set()
    for chosen in {"".join(cards) for cards in combinations(rest, number)}:
        if "B" in chosen and "R" in chosen:
            continue
        if any(chosen.count(rank) == 4 for rank in chosen):
            continue
        # three of a neighbouring rank would be one more trio of the airplane
        longer = [rank for rank in CHAINED if chosen.count(rank) == 3]
        place = [RANKS.index(rank) for rank in longer]
        first, last = RANKS.index(body[0]), RANKS.index(body[-1])
        if any(at in (first - 1, last + 1) for at in place):
            continue
        found.add(chosen)
    return found


def pair_kickers(hand: str, body: str, number: int) -> set[str]:
    """Return the pairs, each of a rank of its own, that may go along."""
    held = [rank for rank in RANKS[:13] if hand.count(rank) >= 2 and rank not in body]
    return {"".join(rank * 2 for rank in ranks) for ranks in combinations(held, number)}


def all_moves(hand: str) -> dict[str, Kind]:
    """Return every combination that the hand holds, with its kind."""
    found: dict[str, Kind] = {}

    def add(cards: str, kind: str, links: int, rank: str) -> None:
        cards = in_order(cards)
        assert cards not in found, f"{cards} is both {found[cards]} and {kind}"
        found[cards] = (kind, links, rank)

    for rank in RANKS:
        for copies, kind in ((1, "solo"), (2, "pair"), (3, "trio"), (4, "bomb")):
            if hand.count(rank) >= copies:
                add(rank * copies, kind, 1, rank)
    for copies, shortest, kind in ((1, 5, "solo"), (2, 3, "pair"), (3, 2, "trio")):
        for run in runs(hand, copies, shortest):
            add("".join(rank * copies for rank in run), kind, len(run), run[0])
    bodies = [rank for rank in "2" if hand.count(rank) >= 3] + runs(hand, 3, 1)
    for body in bodies:
        trios = "".join(rank * 3 for rank in body)
        for kicker in single_kickers(hand, body, len(body)):
            add(trios + kicker, "trio_solo", len(body), body[0])
        for kicker in pair_kickers(hand, body, len(body)):
            add(trios + kicker, "trio_pair", len(body), body[0])
    for rank in RANKS:
        if hand.count(rank) == 4:
            for kicker in single_kickers(hand, rank, 2):
                add(rank * 4 + kicker, "four_solo", 1, rank)
            for kicker in pair_kickers(hand, rank, 2):
                add(rank * 4 + kicker, "four_pair", 1, rank)
    if "B" in hand and "R" in hand:
        add("BR", "rocket", 1, "R")
    return found


def beats(kind: Kind, other: Kind) -> bool:
    """Return whether a move of one kind may be played on another."""
    if "rocket" in (kind[0], other[0]):
        return other[0] != "rocket"
    if "bomb" in (kind[0], other[0]) and kind[0] != other[0]:
        return kind[0] == "bomb"
    return kind[:2] == other[:2] and RANKS.index(kind[2]) > RANKS.index(other[2])


def legal_moves(hand: str, to_beat: str | None) -> set[str]:
    """Return the legal moves of a hand, leading if there is nothing to beat."""
    moves = all_moves(hand)
    if to_beat is None:
        return set(moves)
    target = all_moves(to_beat)[to_beat]
    return {cards for cards, kind in moves.items() if beats(kind, target)} | {PASS}


class Auction:
    """Calls in turn from seat 0 on: "pass" or a number above the last."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def options(self) -> list[int]:
        """Return the calls that the next seat has; none when the auction is over."""
        bids = [call for call in self.calls if call]
        if not bids:
            return [] if len(self.calls) == 3 else [0, 1, 2, 3]
        if max(bids) == 3 or self.calls[-2:] == [0, 0]:
            return []
        return [0, *range(max(bids) + 1, 4)]

    def landlord(self) -> int | None:
        """Return the seat that called highest, None if all passed."""
        if not any(self.calls):
            return None
        return self.calls.index(max(self.calls)) % 3


class Round:
    """A round from the landlord's first lead on."""

    def __init__(self, hands: list[str], landlord: int = 0) -> None:
        self.hands = [in_order(hand) for hand in hands]
        self.landlord = self.player = landlord
        self.made: list[tuple[int, str]] = []
        self.winner: int | None = None

    def to_beat(self) -> str | None:
        """Return the move that must be beaten, None where the player leads."""
        last_two = [move for _, move in self.made[-2:]]
        if not self.made or last_two == [PASS, PASS]:
            return None
        return next(move for _, move in reversed(self.made) if move != PASS)

    def legal(self) -> set[str]:
        """Return the moves of the player."""
        return legal_moves(self.hands[self.player], self.to_beat())

    def play(self, move: str) -> None:
        """Let the player pass or play."""
        self.made.append((self.player, move))
        if move != PASS:
            hand = list(self.hands[self.player])
            for card in move:
                hand.remove(card)
            self.hands[self.player] = "".join(hand)
            if not hand:
                self.winner = self.player
        self.player = (self.player + 1) % 3

    def points(self, bid: int = 1, *, spring: bool = False) -> list[int]:
        """Return what each seat gets."""
        assert self.winner is not None
        stake = bid
        moves = [(seat, move) for seat, move in self.made if move != PASS]
        for _, move in moves:
            if all_moves(move)[move][0] in ("bomb", "rocket"):
                stake *= 2
        by_landlord = [move for seat, move in moves if seat == self.landlord]
        if self.winner == self.landlord:
            shut_out = len(by_landlord) == len(moves)
        else:
            shut_out = len(by_landlord) == 1
        if spring and shut_out:
            stake *= 2
        sign = 1 if self.winner == self.landlord else -1
        return [sign * (2 * stake if seat == self.landlord else -stake) for seat in range(3)]


def whole_deck(ranks: int = 13) -> str:
    """Return the cards of a deck of so many plain ranks."""
    return "".join(rank * 4 for rank in RANKS[:ranks]) + "BR"
