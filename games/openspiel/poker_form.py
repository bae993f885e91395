"""What a poker game of OpenSpiel's is made of: hands, a tree of betting, boards, and who wins with what.

OpenSpiel's interface has no public states and no private ones; it plays histories. But a game of poker is a
product: chance deals hands, there is betting without regard to cards, chance shows a board, and there is more
betting. So three short walks say everything. The dealing, where histories that both players take for the same
are made one; the betting, with a few deals side by side (`betting_tree`); and one line of play to a showdown,
with every deal and every board. A game that does otherwise is refused, here or by `poker_check`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.openspiel.betting_tree import CARDS, BettingTree, NotPoker, walk_betting

__all__ = ["Hands", "PokerForm", "poker_form"]

MOST_DEALS = 1_500_000
"""Deals, boards counted, that are played to their showdown; so many take about ten seconds."""
MOST_PAIRS = 250_000
"""Pairs of hands; so many take a second, and their payoffs 2 MB for each kind of end."""
PROBES = 12
"""Deals with which the betting is walked side by side."""
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Hands:
    """What the players may be dealt.

    cards: of each player's hands, the actions of OpenSpiel's chance that dealt it, in order.
    told: of each player's hands, what OpenSpiel says to its holder once the dealing is over.
    prior: [n0, n1] float64, the probability of each pair.
    lines: [n0, n1, actions] int32, one way to deal each pair; -1 where it cannot be dealt.
    """

    cards: tuple[list[tuple[int, ...]], list[tuple[int, ...]]]
    told: tuple[list[str], list[str]]
    prior: NDArray[np.float64]
    lines: NDArray[np.int32]

    @property
    def counts(self) -> tuple[int, int]:
        """How many hands each player may hold."""
        return len(self.told[0]), len(self.told[1])


@dataclass(frozen=True, eq=False)
class PokerForm:
    """A poker game as a product.

    boards: the actions of OpenSpiel's chance for each board, in order; none if nothing is shown.
    board_probs: [boards, n0, n1] float64, the probability of each board with each pair of hands.
    outcomes: for showdowns before and after the board, whether player 0 wins (1), ties (0) or loses (-1):
        [n0, n1] and [boards, n0, n1] int8.
    """

    hands: Hands
    betting: BettingTree
    boards: list[tuple[int, ...]]
    board_probs: NDArray[np.float64]
    outcomes: tuple[NDArray[np.int8], NDArray[np.int8]]

    def line(self, bet: int, held: tuple[int, int], board: int) -> list[int]:
        """Return OpenSpiel's own actions to a betting node with these hands and this board."""
        line: list[int] = self.hands.lines[held].tolist()
        for action in self.betting.way(bet):
            line += self.boards[board] if action == CARDS else [action]
        return line

    def shares(self, board: int) -> NDArray[np.float64]:
        """Return the probability of each pair of hands together with a board, [n0, n1]; -1 is none."""
        return self.hands.prior if board < 0 else self.hands.prior * self.board_probs[board]


def poker_form(game: Any, name: str) -> PokerForm:
    """Return the parts of a poker game of OpenSpiel's. Raises NotPoker, with the reason, if it has others."""
    hands = _dealt(game, name)
    betting = walk_betting(_probes(game, hands), name)
    boards, probs, outcomes = _showdowns(game, name, hands, betting)
    return PokerForm(hands, betting, boards, probs, outcomes)


@dataclass
class _Deal:
    """Histories of the dealing that both players take for the same: one state of them, unless it is over."""

    state: Any
    prob: float
    line: tuple[int, ...]


def _dealt(game: Any, name: str) -> Hands:
    """Return the hands."""
    level = {("", ""): _Deal(game.new_initial_state(), 1.0, ())}
    sees: list[tuple[bool, bool]] = []
    while any(deal.state is not None and deal.state.is_chance_node() for deal in level.values()):
        below: dict[tuple[str, str], _Deal] = {}
        varies = [False, False]
        for deal in level.values():
            if deal.state is None or not deal.state.is_chance_node():
                raise NotPoker(name, "must deal as many cards whatever they are")
            siblings: tuple[set[str], set[str]] = (set(), set())
            for action, p in deal.state.chance_outcomes():
                if p <= 0:
                    continue
                child = deal.state.child(action)
                told = str(child.information_state_string(0)), str(child.information_state_string(1))
                for seat in (0, 1):
                    siblings[seat].add(told[seat])
                if told not in below:
                    below[told] = _Deal(child if child.is_chance_node() else None, 0.0, (*deal.line, action))
                below[told].prob += deal.prob * p
            varies = [varies[seat] or len(siblings[seat]) > 1 for seat in (0, 1)]
            if len(below) > MOST_PAIRS:
                raise NotPoker(
                    name,
                    f"must have at most {MOST_PAIRS:,} pairs of hands; it has more; choose a smaller deck",
                )
        sees.append((varies[0], varies[1]))
        level = below
    if not sees:
        raise NotPoker(name, "must begin with chance dealing hands")
    cards: list[dict[str, tuple[int, ...]]] = [{}, {}]
    for told, deal in level.items():
        for seat in (0, 1):
            own = tuple(sorted(action for action, seen in zip(deal.line, sees, strict=True) if seen[seat]))
            cards[seat].setdefault(told[seat], own)
    order = [sorted(found, key=found.__getitem__) for found in cards]
    place = [{text: at for at, text in enumerate(texts)} for texts in order]
    shape = len(order[0]), len(order[1])
    prior, lines = np.zeros(shape), np.full((*shape, len(sees)), -1, np.int32)
    for told, deal in level.items():
        pair = place[0][told[0]], place[1][told[1]]
        prior[pair], lines[pair] = deal.prob, deal.line
    own_cards = [[found[text] for text in texts] for found, texts in zip(cards, order, strict=True)]
    return Hands((own_cards[0], own_cards[1]), (order[0], order[1]), prior, lines)


def _probes(game: Any, hands: Hands) -> list[Any]:
    """Return OpenSpiel's states of a few deals, most of them in pairs with the hands exchanged."""
    rng = np.random.default_rng(0)
    pairs = np.argwhere(hands.prior > 0)
    number = [{hand: at for at, hand in enumerate(own)} for own in hands.cards]
    chosen = [tuple(pairs[0].tolist())]
    for one, two in pairs[rng.permutation(len(pairs))[: 2 * PROBES]].tolist():
        swapped = number[0].get(hands.cards[1][two]), number[1].get(hands.cards[0][one])
        chosen.append((one, two))
        if swapped[0] is not None and swapped[1] is not None and hands.prior[swapped] > 0:
            chosen.append(swapped)
    return [_deal(game, hands, pair) for pair in list(dict.fromkeys(chosen))[:PROBES]]


def _deal(game: Any, hands: Hands, pair: tuple[int, int]) -> Any:
    """Return OpenSpiel's state at which a pair of hands has been dealt."""
    return _played(game.new_initial_state(), hands.lines[pair].tolist())


def _showdowns(
    game: Any, name: str, hands: Hands, betting: BettingTree
) -> tuple[list[tuple[int, ...]], NDArray[np.float64], tuple[NDArray[np.int8], NDArray[np.int8]]]:
    """Return (boards, their probabilities, outcomes before and after them), from one line of play each."""
    before, after, chance = betting.showdown(0), betting.showdown(1), betting.first_chance()
    pairs = [(one, two) for one, two in np.argwhere(hands.prior > 0).tolist()]
    early = np.zeros(hands.counts, np.int8)
    if before is not None:
        way, stake = betting.way(before), float(betting.stake[before])
        for pair in pairs:
            early[pair] = _outcome(name, _played(_deal(game, hands, pair), way), stake)
    if chance is None:
        return [], np.zeros((0, *hands.counts)), (early, np.zeros((0, *hands.counts), np.int8))
    way, rest, stake = betting.way(chance), [], 0.0
    if after is not None:  # the showdown lies behind a chance node of its own
        line, stake = betting.way(after), float(betting.stake[after])
        way, rest = line[: line.index(CARDS)], line[line.index(CARDS) + 1 :]
    numbers: dict[tuple[int, ...], int] = {}
    found: list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int8]]] = []
    for pair in pairs:
        shown = list(_boards(_played(_deal(game, hands, pair), way), betting.shown))
        if len(shown) * len(pairs) > MOST_DEALS:
            raise NotPoker(
                name,
                f"must have at most {MOST_DEALS:,} deals with their boards; it has "
                f"{len(shown) * len(pairs):,}; choose a smaller deck",
            )
        probs = np.array([prob for _, prob, _ in shown])
        if abs(probs.sum() - 1) > TOLERANCE:
            raise NotPoker(name, "must show the cards of a board in any order alike")
        won = [_outcome(name, _played(state, rest), stake) if stake else 0 for _, _, state in shown]
        which = [numbers.setdefault(board, len(numbers)) for board, _, _ in shown]
        found.append((np.array(which), probs, np.array(won, np.int8)))
    boards = sorted(numbers)
    rank = np.empty(len(boards), np.int64)
    rank[[numbers[board] for board in boards]] = np.arange(len(boards))
    probs, late = np.zeros((len(boards), *hands.counts)), np.zeros((len(boards), *hands.counts), np.int8)
    for (one, two), (boards_of, p, won_with) in zip(pairs, found, strict=True):
        probs[rank[boards_of], one, two], late[rank[boards_of], one, two] = p, won_with
    return boards, probs, (early, late)


def _boards(state: Any, shown: int) -> Iterator[tuple[tuple[int, ...], float, Any]]:
    """Yield (board, its probability in any order, OpenSpiel's state) of all boards at a chance node."""
    stack: list[tuple[tuple[int, ...], float, Any]] = [((), 1.0, state)]
    while stack:
        board, prob, position = stack.pop()
        if len(board) == shown:
            orders = factorial(shown)
            for count in Counter(board).values():
                orders //= factorial(count)
            yield board, prob * orders, position
            continue
        for action, p in position.chance_outcomes():
            if p > 0 and (not board or action >= board[-1]):
                stack.append(((*board, action), prob * p, position.child(action)))


def _played(state: Any, way: list[int]) -> Any:
    """Return OpenSpiel's state after the actions; `state` is unchanged."""
    after = state.clone()
    for action in way:
        after.apply_action(action)
    return after


def _outcome(name: str, state: Any, stake: float) -> int:
    """Return who wins a showdown for `stake`: 1 for player 0, -1 for player 1, 0 for neither."""
    paid = float(state.returns()[0])
    if not state.is_terminal() or min(abs(paid), abs(abs(paid) - stake)) > TOLERANCE * max(1.0, stake):
        raise NotPoker(
            name, f"must pay the same at a showdown whatever the cards; got {paid:g} and {stake:g}"
        )
    return int(np.sign(round(paid / stake))) if stake else 0
