"""A round of DouDiZhu under the `Game` protocol: the deal, the auction if there is one, the play, payoffs.

Teams are fixed by seat, so the landlord's seat must be. With `landlord=first`, the form that DouZero and
RLCard play, seat 0 is the landlord and teams are (0, 1, 1): a zero-sum game of two teams, for all that solves
and searches. With `landlord=bid` any seat may become it. No fixed teams tell that, so payoffs are each seat's
own, `zero_sum` is False and `load_game` wants `general_sum=True`.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.climbing.doudizhu.move_table import KIND_NAMES, MOST_CARDS, move_table
from games.climbing.doudizhu.multiset import (
    BLACK,
    DECK_COPIES,
    NUM_PLAIN,
    RED,
    count_ranks,
    read_multiset,
)
from games.climbing.doudizhu.round_lines import (
    Known,
    action_words,
    history_words,
    infoset_words,
    known_from_key,
    read_infoset,
    refusal_words,
    sample_lines,
)
from games.climbing.doudizhu.round_state import (
    CALLS,
    DEALS,
    KEY_WORDS,
    NO_SEAT,
    act_all,
    empty_rounds,
    first_forbidden,
    legal_actions,
    random_endings,
    round_keys,
    round_points,
    round_views,
    rule_code,
    shuffle_rounds,
)
from games.game import CHANCE, TERMINAL, GameError, Infoset
from games.parameters import Bool, Int, OneOf, Parameter, canonical_name
from games.ragged import Ragged
from games.round_rows import one_row
from games.support.array_types import Array, Ints, Rows

__all__ = ["DouDizhu", "rounds_from_hands"]

HIGHEST_BID = 3
_CHOOSE = np.array([[comb(n, k) for k in range(5)] for n in range(55)], np.float64)


def rounds_from_hands(hands: ArrayLike) -> Rows:
    """Return rounds in which the landlord, seat 0, is about to lead, [n] ROUND; no bottom was dealt.

    hands: [n, 3] packed multisets or texts (`3344R`), or [3] for one round. Cards that nobody holds are out
        of play. Raises GameError at an empty hand, one of more than 20 cards, or one too many of a rank.
    """
    given = np.asarray(hands)
    if given.dtype.kind in "US":
        given = np.array([read_multiset(str(text)) for text in given.ravel()], np.uint64).reshape(given.shape)
    given = np.atleast_2d(given.astype(np.uint64))
    if given.ndim != 2 or given.shape[1] != 3:
        raise GameError(f"doudizhu: hands have shape [n, 3]; got {given.shape}")
    counts = count_ranks(given)
    sizes = counts.sum(2)
    if sizes.size and not 1 <= sizes.min() <= sizes.max() <= MOST_CARDS:
        raise GameError(f"doudizhu: a hand has 1..{MOST_CARDS} cards; got {sizes.min()}..{sizes.max()}")
    if np.any(counts.sum(1) > DECK_COPIES):
        raise GameError("doudizhu: a deck holds four of a rank and one of each joker; the hands hold more")
    states = empty_rounds(len(given))
    states["hand"], states["left"], states["dealt"] = given, sizes, 15
    states["player"] = states["landlord"] = states["leader"] = 0
    return states


class DouDizhu:
    """One round of DouDiZhu as a `Game` (see `games.game`).

    landlord: "first", seat 0, or "bid", the winner of an auction that seat 0 opens.
    ranks: plain ranks in the deck, from 3 up: 13 is the game itself; 10, 7, 4 and 1 are small ones for tests.
    spring: whether a side that never got to play doubles the stake, or a landlord that played only once.
    returns: "points" in base stakes, 1 doubled by each bomb and the rocket, or "win_loss".
    start: [1] ROUND that `root` returns, with no card played; None for the deal.

    Seats' actions are the numbers below `move_numbers`.
    A deal is dealt rank by rank: at each step chance says how many of one rank's cards go to each seat and to
    the bottom, so that every deal is one history of 15 steps. Each seat sees its own share.
    """

    summary = "one landlord against two farmers: combinations, bombs, the rocket; 3 players, one deck"
    parameters: tuple[Parameter, ...] = (
        OneOf(
            name="landlord",
            default="first",
            choices=("first", "bid"),
            doc="who is landlord: seat 0, or who bids most",
        ),
        Int(name="ranks", default=13, low=1, high=13, doc="plain ranks in the deck: 1, 4, 7, 10 or 13"),
        Bool(name="spring", default=False, doc="whether a side that never played doubles the stake"),
        OneOf(
            name="returns",
            default="points",
            choices=("points", "win_loss"),
            doc="points in base stakes, or who won",
        ),
    )
    num_players = 3
    moves_are_inputs = True
    """Moves are too many for a column each: a network is shown what they do (`blueprint.climbing`)."""
    longest_list = 1024
    """Well above the longest list that climbing from hand to hand found: 519 moves of 20 cards."""
    teams: tuple[int, ...] = (0, 1, 1)
    key_width = KEY_WORDS

    def __init__(
        self,
        *,
        landlord: str = "first",
        ranks: int = 13,
        spring: bool = False,
        returns: str = "points",
        start: Rows | None = None,
    ) -> None:
        given = (landlord, ranks, spring, returns)
        values = {p.name: p.check("doudizhu", v) for p, v in zip(self.parameters, given, strict=True)}
        if ranks % 3 != 1:
            raise GameError(
                f"doudizhu: ranks must be 1, 4, 7, 10 or 13, so that three hands and three cards make "
                f"a deck; got {ranks}"
            )
        self.name = canonical_name("doudizhu", self.parameters, values)
        self.landlord, self.ranks, self.spring, self.scoring = landlord, ranks, spring, returns
        self.by_bid = landlord == "bid"
        self.zero_sum = not self.by_bid
        self.rules = rule_code(ranks, self.by_bid)
        self.move_numbers = DEALS if self.by_bid else CALLS
        self.follows = ranks == 1 or start is not None
        self.start = None if start is None else self._as_start(start)
        self.payoff_range = self._payoff_range()

    def _payoff_range(self) -> tuple[float, float]:
        """Return the smallest and largest payoff; of a start what its bombs allow, which is no less."""
        # All ranks but one can be played as bombs, with the rocket, or all of them, whoever wins.
        most = self.ranks
        if self.start is not None:
            counts = count_ranks(self.start["hand"][0])
            most = int((counts == 4).sum() + (counts[:, BLACK] & counts[:, RED]).sum()) + self.spring
        win, loss = 2.0**most, 2.0**most
        if self.ranks == 1:  # a landlord wins with one bomb at most, and is beaten by a joker without any
            win, loss = 2.0 * (1 + self.spring), 1.0 * (1 + self.spring)
        if self.scoring == "win_loss":
            win = loss = 1.0
        if not self.by_bid:
            return -max(win, loss), max(win, loss)
        stake = HIGHEST_BID if self.scoring == "points" else 1
        return -stake * max(2 * loss, win), stake * max(2 * win, loss)

    def _as_start(self, start: Rows) -> Rows:
        state = np.array(start, empty_rounds(1).dtype, copy=True, ndmin=1)
        whole = self.ranks == NUM_PLAIN and not self.by_bid and len(state) == 1
        if not whole or state["plays"].any() or (state["landlord"] == NO_SEAT).any():
            raise GameError(
                "doudizhu: a start is one round with the landlord in seat 0 and no card played; take it from "
                "rounds_from_hands, or sample_deals(1, rng), with landlord=first and ranks=13"
            )
        return state

    def root(self) -> Rows:
        """Return the round before the deal, or the configured start, a batch of one."""
        return empty_rounds(1) if self.start is None else self.start.copy()

    def sample_deals(self, n: int, rng: np.random.Generator) -> Rows:
        """Return n rounds, [n] ROUND, dealt as chance deals but all at once; n of the start if one is set.

        Raises GameError if n is negative.
        """
        if n < 0:
            raise GameError(f"doudizhu: the number of deals must be at least 0; got {n}; ask for 0 or more")
        return shuffle_rounds(n, rng, self.rules) if self.start is None else np.repeat(self.start, n)

    def play_randomly(self, states: Rows, rng: np.random.Generator) -> tuple[Rows, NDArray[np.int64]]:
        """Return dealt rounds after uniformly random play to their ends, and decisions taken, [n] int64."""
        if np.any(states["player"] == CHANCE):
            raise GameError(
                "doudizhu: random play starts from dealt rounds; take them from sample_deals(n, rng)"
            )
        return random_endings(states, rng, self.rules)

    def player(self, states: Rows) -> NDArray[np.int8]:
        """Return who acts at each state, [n] int8: a seat, CHANCE or TERMINAL."""
        return states["player"].copy()

    def actions(self, states: Rows) -> Ragged:
        """Return the legal actions of each state, Ragged of int64 (see `round_state`)."""
        return legal_actions(states, self.rules)

    def chance_probs(self, states: Rows, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each share of a rank, [m] float64, where cards are dealt; 1 elsewhere."""
        probs = np.ones(len(actions.values))
        rows = np.flatnonzero((states["player"] == CHANCE)[actions.rows])
        if not len(rows):
            return probs
        at = states[actions.rows[rows]]
        dealt = at["dealt"].astype(np.int64)
        rank_copies = np.where(dealt < self.ranks, 4, 1)
        size = (4 * self.ranks - 1) // 3
        rooms = size - at["left"].astype(np.int64)
        given = 4 * np.minimum(dealt, self.ranks) + np.maximum(dealt - self.ranks, 0)
        below = 3 - given + at["left"].sum(1, dtype=np.int64)
        split = actions.values[rows] - DEALS
        shares = split[:, None] // np.array([1, 5, 25]) % 5
        ways = _CHOOSE[rooms, shares].prod(1) * _CHOOSE[below, rank_copies - shares.sum(1)]
        probs[rows] = ways / _CHOOSE[rooms.sum(1) + below, rank_copies]
        return probs

    def step(self, states: Rows, rows: NDArray[np.int64], actions: Ints) -> Rows:
        """Return the states after `actions[j]` is taken at `states[rows[j]]`, [m] ROUND.

        Raises GameError at an action that is not legal.
        """
        after = states[rows]
        views, tables = round_views(after), move_table().tables
        taken = np.ascontiguousarray(actions, np.int64)
        bad = first_forbidden(*views, taken, self.rules, tables)
        if bad >= 0:
            if after["player"][bad] == TERMINAL:
                raise GameError(
                    "doudizhu: the round is over and no player can act; stop at player == TERMINAL"
                )
            raise GameError(
                f"doudizhu: action {taken[bad]} is not legal for {after['player'][bad]} in row {bad}; take "
                "one from actions(states)"
            )
        act_all(*views, taken, self.rules, tables)
        return after

    def points(self, states: Rows) -> NDArray[np.float64]:
        """Return what each seat gets in base stakes, [n, 3] float64: the landlord twice what a farmer pays.

        ADP, the field's average difference in points, is the mean of these; WP, its winning percentage, is
        how often they are positive. All are 0 before the end, and where everybody passed the auction.
        """
        stake = round_points(states, self.spring)
        landlord = states["landlord"][:, None] == np.arange(3)
        points: NDArray[np.float64] = np.where(landlord, 2.0, -1.0) * stake[:, None]
        return points

    def returns(self, states: Rows) -> NDArray[np.float64]:
        """Return the payoffs of finished rounds, [n, 3] float64.

        With the landlord in seat 0 they are those of teams: (x, -x, -x), x what each farmer pays. With an
        auction they are each seat's own, (2 x, -x, -x) for the landlord first, 0 where nobody bid.
        """
        points = self.points(states)
        if self.scoring == "win_loss":
            points = np.sign(points)
            points *= 1 + (states["landlord"][:, None] == np.arange(3))
        if not self.by_bid:
            points[:, 0] /= 2
        return points

    def infoset_key(self, states: Rows, player: int) -> NDArray[np.uint64]:
        """Return the player's cards as dealt, the bottom, the calls and the whole record, [n, 17] uint64."""
        if player not in range(3):
            raise GameError(f"doudizhu: a seat is 0..2; got {player}")
        return round_keys(states, player, self.rules)

    def sample_histories(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories of an infoset, unseen cards dealt as chance deals them."""
        known = known_from_key(infoset.key, infoset.player, self.rules)
        if self.start is not None:
            return Ragged.from_counts(np.full(n, len(known.moves)), np.tile(np.array(known.moves), n))
        return sample_lines(known, n, rng, self.rules)

    def action_type(self, actions: Array) -> NDArray[np.int64]:
        """Return the kind of each move (15), each call (4) and each share of a deal, [m] int64."""
        numbers = np.asarray(actions, np.int64)
        kinds = move_table().heads[np.minimum(numbers, CALLS - 1)] & 255
        kinds[numbers >= CALLS] = numbers[numbers >= CALLS] - CALLS + len(KIND_NAMES)
        return kinds

    def action_text(self, state: Array, action: Array) -> str:
        """Return one action in words: `33344456`, `pass`, `call 2`, or what a deal gives of a rank."""
        return action_words(one_row(state), int(np.asarray(action).reshape(())), self.rules)

    def state_text(self, state: Array) -> str:
        """Return one history with all hands in words."""
        return history_words(one_row(state), self.rules)

    def infoset_text(self, state: Array, player: int) -> str:
        """Return what `player` knows in words: `P1 dealt 34… | bottom 3TR | play 445566 pass`."""
        return infoset_words(one_row(state), player, self.rules)

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that a line of words names: cards in any order, any case.

        Raises GameError if the line cannot be read, or no play leads there.
        """
        known = read_infoset(text, self.rules)
        state = self._played(known)
        key = self.infoset_key(state, known.player)[0]
        return Infoset(
            known.player, tuple(int(word) for word in key), self.infoset_text(state[0], known.player)
        )

    def _played(self, known: Known) -> Rows:
        """Return a history in which a seat knows this. Raises GameError, naming it, at an illegal action."""
        state = self.root()
        if self.start is None:
            line = sample_lines(known, 1, np.random.default_rng(0), self.rules)[0]
        else:
            line = np.array(known.moves, np.int64)
            dealt = count_ranks(state["hand"][0, known.player] - state["bottom"][0] * (known.player == 0))
            if not np.array_equal(dealt, known.own):
                raise GameError(f"{self.name}: seat {known.player} was dealt other cards; see root()")
        # calls and moves are numbered from 1 each; a start has no calls
        played = len(line) - len(known.moves)
        called = played - len(known.calls)
        for k, action in enumerate(line.tolist()):
            try:
                after = self.step(state, np.zeros(1, np.int64), np.array([action]))
            except GameError as error:
                number = 1 + k - (called if action >= CALLS else played)
                raise GameError(f"doudizhu: {refusal_words(state[0], number, action)}") from error
            state = after
        return state
