"""What a poker game of OpenSpiel's is made of: hands, a tree of betting, boards, and who wins with what.

OpenSpiel's interface has no public states and no private ones; it plays histories. But a game of poker is a
product: chance deals hands, there is betting without regard to cards, chance shows a board, and there is more
betting. So three short walks say everything. The dealing, where histories that both players take for the same
are made one; the betting, with a few deals side by side (`walk_betting`); and one line of play to a showdown,
with every deal and every board. A game that does otherwise is refused, here or by `check_form`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, GameError
from games.infosets.naming import ACTS, OTHER_ACTS, OVER
from games.openspiel.expansion import has_more_below
from games.openspiel.telling import mover
from games.research.poker import CARDS, DEAL_0, DEAL_1, FIRST, Betting

MOST_NODES = 1_000_000
"""Betting nodes; so many take half a minute to walk."""
TOLERANCE = 1e-9


class NotPoker(GameError):
    """A game of OpenSpiel's that is no product of hands, betting and boards.

    rule: what it should do.
    """

    def __init__(self, name: str, rule: str) -> None:
        self.rule = f"such a game {rule}"
        super().__init__(f"{name}: to be solved on its public tree, a game {rule}")


@dataclass(frozen=True, eq=False)
class BettingTree(Betting):
    """What can be bet by a player, with OpenSpiel's actions.

    stage: [n] int8, 0 before the board and 1 after it, -1 where hands are dealt. shown: cards of a board.
    """

    stage: NDArray[np.int8]
    shown: int

    def showdown(self, stage: int) -> int | None:
        """Return a showdown for something in a stage, one that few actions lead to; None if there is none."""
        found = np.flatnonzero(self.fought & (self.stage == stage) & (self.stake > 0))
        return min(found.tolist(), key=lambda node: len(self.way(node)), default=None)

    def first_chance(self) -> int | None:
        """Return the first node at which the board is shown; None if there is none."""
        found = np.flatnonzero(self.player == CHANCE)[FIRST:]
        return int(found[0]) if len(found) else None


def walk_betting(probes: list[Any], name: str) -> BettingTree:
    """Return the betting that follows a few deals, OpenSpiel's states; it must be one for all.

    The first of them gets the same board everywhere; what OpenSpiel then tells a player must name the node.
    Raises NotPoker if the betting differs, cards are shown twice, or a player forgets.
    """
    if has_more_below(probes[0], name, MOST_NODES):
        raise NotPoker(name, f"must have at most {MOST_NODES:,} ways to bet; it has more")
    rng = np.random.default_rng(0)
    rows = [(CHANCE, parent, CARDS, -1, False, 0.0) for parent in (-1, DEAL_0)]
    shown = 0
    seen: tuple[dict[tuple[int, str], int], dict[tuple[int, str], int]] = ({}, {})
    stack: list[tuple[list[Any], int, int, int]] = [(probes, DEAL_1, CARDS, 0)]
    while stack:
        states, parent, action, stage = stack.pop()
        node = len(rows)
        if node >= MOST_NODES + FIRST:
            raise NotPoker(name, f"must have at most {MOST_NODES:,} ways to bet; it has more")
        who = _one(name, [mover(state) for state in states], "must let the same player act")
        _recalled(name, states[0], who, node, seen)
        if who == TERMINAL:
            fought, stake = _paid(name, states)
            rows.append((who, parent, action, stage, fought, stake))
            continue
        rows.append((who, parent, action, stage, False, 0.0))
        if who == CHANCE:
            if stage:
                raise NotPoker(
                    name,
                    "must show cards once; this one does so twice, and what OpenSpiel tells its players does "
                    "not say in which order",
                )
            after, counts = zip(
                *(_shown(state, rng, row == 0) for row, state in enumerate(states)), strict=True
            )
            count = _one(name, list(counts), "must show as many cards to all")
            if shown not in (0, count):
                raise NotPoker(name, "must show as many cards however the betting went")
            shown = count
            stack.append((list(after), node, CARDS, 1))
            continue
        legal = _one(name, [tuple(state.legal_actions()) for state in states], "must allow the same actions")
        stack += [([state.child(a) for state in states], node, a, stage) for a in reversed(legal)]
    player, parent_of, action_of, stage_of, fought_at, stake_at = zip(*rows, strict=True)
    return BettingTree(
        player=np.array(player, np.int8),
        parent=np.array(parent_of, np.int64),
        action=np.array(action_of, np.int64),
        stage=np.array(stage_of, np.int8),
        fought=np.array(fought_at, np.bool_),
        stake=np.array(stake_at, np.float64),
        shown=shown,
    )


def _one(name: str, found: list[Any], rule: str) -> Any:
    """Return what all the deals have in common."""
    if any(other != found[0] for other in found):
        raise NotPoker(
            name, f"{rule} whatever the cards; got {found[0]} and {next(o for o in found if o != found[0])}"
        )
    return found[0]


def _recalled(
    name: str,
    state: Any,
    who: int,
    node: int,
    seen: tuple[dict[tuple[int, str], int], dict[tuple[int, str], int]],
) -> None:
    """Raise NotPoker if a player was told the same at an earlier betting node."""
    for seat in (0, 1):
        role = OVER if who == TERMINAL else ACTS if who == seat else OTHER_ACTS
        told = str(state.information_state_string(seat))
        if seen[seat].setdefault((role, told), node) != node:
            raise NotPoker(
                name, f'must show its players the bets; player {seat} sees "{told}" after two different ones'
            )


def _shown(state: Any, rng: np.random.Generator, first: bool) -> tuple[Any, int]:
    """Return a state with a board, the first one or one at random, and of how many cards."""
    count = 0
    while state.is_chance_node():
        outcomes = [action for action, prob in state.chance_outcomes() if prob > 0]
        state = state.child(outcomes[0 if first else int(rng.integers(len(outcomes)))])
        count += 1
    return state, count


def _paid(name: str, states: list[Any]) -> tuple[bool, float]:
    """Return (whether it is a showdown, what player 0 is paid or the winner of it) at an end."""
    paid = np.array([state.returns() for state in states], np.float64)
    if np.abs(paid.sum(axis=1)).max() > TOLERANCE:
        raise NotPoker(
            name, f"must have payoffs that sum to zero; got {paid[np.abs(paid.sum(axis=1)).argmax()]}"
        )
    own = paid[:, 0]
    if np.ptp(own) <= TOLERANCE and own[0] != 0:
        return False, float(own[0])
    stake = float(np.abs(own).max())
    if (np.minimum(np.abs(own), np.abs(np.abs(own) - stake)) > TOLERANCE * max(1.0, stake)).any():
        raise NotPoker(name, f"must pay the same at a showdown whatever the cards; got {own.tolist()}")
    return True, stake


MOST_DEALS = 1_500_000
"""Deals, boards counted, that are played to their showdown; so many take about ten seconds."""
MOST_PAIRS = 250_000
"""Pairs of hands; so many take a second, and their payoffs 2 MB for each kind of end."""
PROBES = 12
"""Deals with which the betting is walked side by side."""


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


HISTORIES = 400
"""Histories that are played; a fifth of a second."""


def check_form(game: Any, form: PokerForm, name: str, rng: np.random.Generator) -> None:
    """Raise NotPoker if a history of OpenSpiel's is not as the tables have it.

    Cards and actions are drawn evenly. Held against them: hands, who acts, the actions, how likely the board
    is, the payoffs, and that the text that a player sees names its hand, the betting and the board.
    """
    betting = form.betting
    children: list[dict[int, int]] = [{} for _ in range(len(betting))]
    for node in range(FIRST, len(betting)):
        children[int(betting.parent[node])][int(betting.action[node])] = node
    place = [{text: at for at, text in enumerate(told)} for told in form.hands.told]
    number = {board: at for at, board in enumerate(form.boards)}
    said: tuple[dict[str, tuple[int, ...]], ...] = ({}, {})
    for _ in range(HISTORIES):
        state = game.new_initial_state()
        while state.is_chance_node():
            _any_outcome(state, rng)
        held = [place[seat].get(str(state.information_state_string(seat)), -1) for seat in (0, 1)]
        _require(name, min(held) >= 0 and form.hands.prior[held[0], held[1]] > 0, "hands")
        node, board = FIRST, -1
        while True:
            who = int(betting.player[node])
            _require(name, who == mover(state), "who acts")
            if who == TERMINAL:
                break
            if who == CHANCE:
                shown, prob = [], 1.0
                while state.is_chance_node():
                    action, p = _any_outcome(state, rng)
                    shown.append(action)
                    prob *= p
                for count in Counter(shown).values():
                    prob /= factorial(count)
                board = number.get(tuple(sorted(shown)), -1)
                told = form.board_probs[board, held[0], held[1]] if board >= 0 else 0.0
                _require(
                    name, abs(prob * factorial(len(shown)) - told) < TOLERANCE, "the probability of a board"
                )
                node = children[node][CARDS]
                continue
            _require(name, state.legal_actions() == sorted(children[node]), "the actions")
            text = str(state.information_state_string(who))
            what = (node, held[who], board)
            _require(name, said[who].setdefault(text, what) == what, "the texts that players see")
            action = int(rng.choice(state.legal_actions()))
            state.apply_action(action)
            node = children[node][action]
        won = form.outcomes[0][held[0], held[1]] if board < 0 else form.outcomes[1][board, held[0], held[1]]
        paid = float(betting.stake[node]) * (int(won) if betting.fought[node] else 1)
        _require(name, abs(paid - state.returns()[0]) < TOLERANCE * max(1.0, abs(paid)), "the payoffs")


def _any_outcome(state: Any, rng: np.random.Generator) -> tuple[int, float]:
    """Play one of chance's outcomes, each as likely as another; return it and its probability."""
    outcomes = [(action, prob) for action, prob in state.chance_outcomes() if prob > 0]
    action, prob = outcomes[int(rng.integers(len(outcomes)))]
    state.apply_action(action)
    return int(action), float(prob)


def _require(name: str, holds: bool, what: str) -> None:
    if not holds:
        raise NotPoker(
            name, f"must be a product of hands, betting and a board; {what} depend on more than those"
        )
