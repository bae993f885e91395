"""A round of DouDiZhu under the `Game` protocol: the deal, the auction if there is one, the play, payoffs.

Teams are fixed by seat, so the landlord's seat must be. With `landlord=first`, the form that DouZero and
RLCard play, seat 0 is the landlord and teams are (0, 1, 1): a zero-sum game of two teams, for all that solves
and searches. With `landlord=bid` any seat may become it. No fixed teams tell that, so every seat is a team,
(0, 1, 2), and payoffs are each seat's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray

from games.climbing.doudizhu.move_table import (
    BOMB,
    KIND_NAMES,
    LIST_ROOM,
    PASS,
    ROCKET,
    move_letters,
    move_number,
    move_table,
)
from games.climbing.doudizhu.multiset import (
    DECK_COPIES,
    NUM_PLAIN,
    NUM_RANKS,
    RANK_LETTERS,
    cards_text,
    count_ranks,
    read_multiset,
)
from games.climbing.doudizhu.round_state import (
    CALLS,
    DEALS,
    KEY_WORDS,
    MOST_PLAYS,
    NO_SEAT,
    act_all,
    deal_all,
    empty_rounds,
    first_forbidden,
    list_rounds,
    play_rounds,
    ranks_dealt,
    round_views,
    rule_code,
    write_keys,
    write_points,
)
from games.game import CHANCE, TERMINAL, GameError, Infoset
from games.parameters import Bool, Int, OneOf, Parameter, named
from games.ragged import Ragged
from games.round_rows import fill_ragged, one_row, play_out
from games.support.array_types import Array, Ints, Row, Rows
from games.support.kernel import kernel

HIGHEST_BID = 3
CALL_NAMES = ("pass", "1", "2", "3")
_CHOOSE = np.array([[comb(n, k) for k in range(5)] for n in range(55)], np.float64)
_FACTORIALS: NDArray[np.float64] = np.array([float(factorial(k)) for k in range(20)])


@dataclass(frozen=True, eq=False)
class Known:
    """What a key tells.

    player: the seat. dealt: how many ranks are dealt. own: [15] counts of the player's cards as dealt, the
    bottom left out. bottom: [15] counts, None while the player cannot see it. calls: those made.
    landlord: its seat, or None. moves: the moves made, passes among them, by the seats in turn.
    """

    player: int
    dealt: int
    own: Ints
    bottom: Ints | None
    calls: tuple[int, ...]
    landlord: int | None
    moves: tuple[int, ...]


class DouDizhu:
    """One round of DouDiZhu as a `Game` (see `games.game`).

    landlord: "first", seat 0, or "bid", the winner of an auction that seat 0 opens.
    ranks: plain ranks in the deck, from 3 up: 13 is the game itself; 10, 7, 4 and 1 are small ones for tests.
    spring: whether a side that never got to play doubles the stake, or a landlord that played only once.
    returns: "points" in base stakes, 1 doubled by each bomb and the rocket, or "win_loss".

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
    ) -> None:
        given = (landlord, ranks, spring, returns)
        self.name, (landlord, ranks, spring, returns) = named("doudizhu", self.parameters, given)
        if ranks % 3 != 1:
            raise GameError(
                f"doudizhu: ranks must be 1, 4, 7, 10 or 13, so that three hands and three cards make "
                f"a deck; got {ranks}"
            )
        self.landlord, self.ranks, self.spring, self.scoring = landlord, ranks, spring, returns
        self.by_bid = landlord == "bid"
        if self.by_bid:
            self.teams = (0, 1, 2)
        self.rules = rule_code(ranks, self.by_bid)
        self._size = (4 * ranks - 1) // 3  # cards that a seat is dealt
        self.move_numbers = DEALS if self.by_bid else CALLS
        self.follows = ranks == 1
        self.payoff_range = self._payoff_range()

    def _payoff_range(self) -> tuple[float, float]:
        """Return the smallest and largest payoff."""
        # All ranks but one can be played as bombs, with the rocket, or all of them, whoever wins.
        win = loss = 2.0**self.ranks
        if self.ranks == 1:  # a landlord wins with one bomb at most, and is beaten by a joker without any
            win, loss = 2.0 * (1 + self.spring), 1.0 * (1 + self.spring)
        if self.scoring == "win_loss":
            win = loss = 1.0
        if not self.by_bid:
            return -max(win, loss), max(win, loss)
        stake = HIGHEST_BID if self.scoring == "points" else 1
        return -stake * max(2 * loss, win), stake * max(2 * win, loss)

    def root(self) -> Rows:
        """Return the round before the deal, a batch of one."""
        return empty_rounds(1)

    def sample_deals(self, n: int, rng: np.random.Generator) -> Rows:
        """Return n rounds, [n] ROUND, dealt as chance deals but all at once.

        Raises GameError if n is negative.
        """
        if n < 0:
            raise GameError(f"doudizhu: the number of deals must be at least 0; got {n}; ask for 0 or more")
        states = empty_rounds(n)
        words, _, bytes_ = round_views(states)
        deal_all(words, bytes_, rng.integers(0, 2**64, n, np.uint64), self.rules)
        return states

    def play_randomly(self, states: Rows, rng: np.random.Generator) -> tuple[Rows, NDArray[np.int64]]:
        """Return dealt rounds after uniformly random play to their ends, and decisions taken, [n] int64.

        Each round draws from its own stream, seeded from `rng`. Raises GameError at one that is not dealt.
        """
        if np.any(states["player"] == CHANCE):
            raise GameError(
                "doudizhu: random play starts from dealt rounds; take them from sample_deals(n, rng)"
            )
        tables, out = move_table().tables, np.empty(LIST_ROOM, np.int64)

        def plays(after: Rows, seeds: NDArray[np.uint64], decisions: Ints) -> None:
            play_rounds(*round_views(after), seeds, self.rules, tables, out, decisions)

        return play_out(plays, states, rng)

    def player(self, states: Rows) -> NDArray[np.int8]:
        """Return who acts at each state, [n] int8: a seat, CHANCE or TERMINAL."""
        return states["player"].copy()

    def actions(self, states: Rows) -> Ragged:
        """Return the legal actions of each state, Ragged of int64 (see `round_state`)."""
        views, tables = round_views(np.ascontiguousarray(states)), move_table().tables
        return fill_ragged(list_rounds, len(states), *views, self.rules, tables, room=(LIST_ROOM, 64))

    def chance_probs(self, states: Rows, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each share of a rank, [m] float64, where cards are dealt; 1 elsewhere."""
        probs = np.ones(len(actions.values))
        rows = np.flatnonzero((states["player"] == CHANCE)[actions.rows])
        if not len(rows):
            return probs
        at = states[actions.rows[rows]]
        dealt = at["dealt"].astype(np.int64)
        rank_copies = np.where(dealt < self.ranks, 4, 1)
        rooms = self._size - at["left"].astype(np.int64)
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
        stake = np.empty(len(states))
        write_points(round_views(np.ascontiguousarray(states))[2], self.spring, stake)
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
        out = np.empty((len(states), KEY_WORDS), np.int64)
        write_keys(*round_views(np.ascontiguousarray(states)), player, self.rules, out)
        return out.view(np.uint64)

    def sample_histories(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories of an infoset, unseen cards dealt as chance deals them."""
        return self._lines(self._known_from(infoset.key, infoset.player), n, rng)

    def _lines(self, known: Known, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories that agree with what a seat knows, as their actions from the root.

        Each deal comes as often as chance has it among those that agree. The unknown cards of each rank go to
        the two others and the bottom. How many ways of the whole deal remain after each rank is summed
        backwards over the free places, so that each draw needs no rejection. Raises GameError if none agrees.
        """
        line = np.array([CALLS + call for call in known.calls] + list(known.moves), np.int64)
        dealt_ranks = np.array([ranks_dealt(self.rules, step) for step in range(known.dealt)], np.int64)
        others = ((known.player + 1) % 3, (known.player + 2) % 3)
        table = move_table()
        needs = np.zeros((known.dealt, 3), np.int64)
        bottom = np.zeros(NUM_RANKS, np.int64) if known.bottom is None else known.bottom
        for column, seat in enumerate(others):
            played = np.zeros(NUM_RANKS, np.int64)
            for move in known.moves[(seat - (known.landlord or 0)) % 3 :: 3]:
                played += count_ranks(table.cards[move].astype(np.uint64))
            if seat == known.landlord:
                played -= bottom
            needs[:, column] = np.maximum(played, 0)[dealt_ranks]
        needs[:, 2] = -1 if known.bottom is None else bottom[dealt_ranks]
        copies = DECK_COPIES.astype(np.int64)[dealt_ranks] - known.own[dealt_ranks]
        shares = np.zeros((n, known.dealt, 2), np.int64)
        uniforms = rng.random((n, known.dealt))
        rooms = np.array([self._size, self._size, 3])
        if (copies < 0).any() or not _draw(needs, copies, rooms, uniforms, _FACTORIALS, shares):
            raise GameError(
                f"doudizhu: at least one deal must agree with what seat {known.player} knows; none does; "
                "check its cards, the bottom and the moves of the others"
            )
        given = np.zeros((n, known.dealt, 3), np.int64)
        given[:, :, known.player] = known.own[dealt_ranks]
        given[:, :, others[0]] = shares[:, :, 0]
        given[:, :, others[1]] = copies - shares.sum(2)
        splits = DEALS + given @ np.array([1, 5, 25])
        actions = np.concatenate([splits, np.tile(line, (n, 1))], axis=1)
        return Ragged.from_counts(np.full(n, actions.shape[1]), actions.reshape(-1))

    def _known_from(self, key: tuple[int, ...], player: int) -> Known:
        """Return what an infoset key (see `write_keys`) tells."""
        words = [int(word) for word in key]
        dealt, called = words[0] >> 60, words[1] >> 59 & 7
        own = count_ranks(np.uint64(words[0] & (1 << 60) - 1)).astype(np.int64)
        bottom = np.array([words[1] >> 3 * rank & 7 for rank in range(NUM_RANKS)], np.int64)
        calls = tuple(words[1] >> 45 + 2 * k & 3 for k in range(called))
        landlord = self._landlord_after(dealt, calls)
        if landlord == player:
            own -= bottom
        moves: list[int] = []
        for j in range(MOST_PLAYS):
            move = words[2 + j // 4] >> 16 * (j % 4) & 0xFFFF
            if move == PASS:
                break
            moves += [move] + [PASS] * (words[15 + j // 32] >> 2 * (j % 32) & 3)
        shown = bottom if landlord is not None or not self.by_bid else None
        return Known(player, dealt, own, shown, calls, landlord, tuple(moves))

    def _landlord_after(self, dealt: int, calls: tuple[int, ...]) -> int | None:
        """Return the landlord's seat after so many ranks dealt and these calls, None while there is none."""
        if not self.by_bid:
            return 0 if dealt == self.ranks + 2 else None
        if not any(calls):
            return None
        last = max(k for k, call in enumerate(calls) if call)
        over = calls[last] == 3 or len(calls) - last == 3
        return last % 3 if over else None

    def action_type(self, actions: Array) -> NDArray[np.int64]:
        """Return the kind of each move (15), each call (4) and each share of a deal, [m] int64."""
        numbers = np.asarray(actions, np.int64)
        kinds = move_table().heads[np.minimum(numbers, CALLS - 1)] & 255
        kinds[numbers >= CALLS] = numbers[numbers >= CALLS] - CALLS + len(KIND_NAMES)
        return kinds

    def action_text(self, state: Array, action: Array) -> str:
        """Return one action in words: `33344456`, `pass`, `call 2`, or of a deal: `7: 2/0/1, 1 below`."""
        number = int(np.asarray(action).reshape(()))
        if number < CALLS:
            return move_letters(number)
        if number < DEALS:
            return f"call {CALL_NAMES[number - CALLS]}"
        rank = ranks_dealt(self.rules, int(one_row(state)["dealt"]))
        split = number - DEALS
        given = (split % 5, split // 5 % 5, split // 25)
        rest = (4 if rank < 13 else 1) - sum(given)
        return f"{RANK_LETTERS[rank]}: {given[0]}/{given[1]}/{given[2]}" + (f", {rest} below" if rest else "")

    def state_text(self, state: Array) -> str:
        """Return one history: all three hands as dealt, the bottom, the calls and the moves."""
        known = [self._known_at(state, seat) for seat in range(3)]
        hands = [f"P{seat} dealt {_ranks_text(one.own)}" for seat, one in enumerate(known)]
        bottom = count_ranks(one_row(state)["bottom"])
        return " | ".join([*hands, f"bottom {_ranks_text(bottom)}", *self._public_words(known[0])])

    def infoset_text(self, state: Array, player: int) -> str:
        """Return what `player` knows in words: `P1 dealt 34… | bottom 3TR | play 445566 pass`."""
        known = self._known_at(state, player)
        parts = [f"P{player} dealt {_ranks_text(known.own)}"]
        if known.bottom is not None:
            parts.append(f"bottom {_ranks_text(known.bottom)}")
        return " | ".join([*parts, *self._public_words(known)])

    def _known_at(self, state: Array, player: int) -> Known:
        """Return what a player knows at one history."""
        key = self.infoset_key(np.array([one_row(state)]), player)[0]
        return self._known_from(tuple(key.tolist()), player)

    def _public_words(self, known: Known) -> list[str]:
        """Return the parts of a line that everybody sees, the bottom left out."""
        parts = []
        if known.dealt < self.ranks + 2:
            parts.append(f"dealing {RANK_LETTERS[ranks_dealt(self.rules, known.dealt)]}")
        if known.calls:
            parts.append(f"calls {' '.join(CALL_NAMES[call] for call in known.calls)}")
        if known.moves:
            parts.append(f"play {' '.join(map(move_letters, known.moves))}")
        return parts

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that a line of words names: cards in any order, any case.

        Raises GameError if the line cannot be read, or no play leads there.
        """
        known = self._read(text)
        state = self._played(known)
        key = self.infoset_key(state, known.player)[0]
        return Infoset(known.player, tuple(key.tolist()), self.infoset_text(state, known.player))

    def _read(self, text: str) -> Known:
        """Return what a line of words says that a player knows, after the deal.

        That the calls and moves are legal is left to be seen. Raises GameError if it cannot be read.
        """
        parts = [part.strip() for part in text.split("|")]
        first = re.fullmatch(r"p([012])\s+dealt\s+(.+)", parts[0], re.IGNORECASE)
        rest = dict.fromkeys(("bottom", "calls", "play"), "")
        for part in parts[1:]:
            name, _, words = part.partition(" ")
            if name.lower() not in rest or rest[name.lower()]:
                first = None
            rest[name.lower()] = words
        if first is None:
            raise GameError(
                'doudizhu: an infoset reads like "P1 dealt 34567… | bottom 3TR | play 445566 pass", after '
                f"the deal; got {text[:80]!r}"
            )
        player = int(first[1])
        own, bottom = (
            count_ranks(0 if cards in ("-", "") else read_multiset(cards)).astype(np.int64)
            for cards in (first[2], rest["bottom"])
        )
        left_out = (own + bottom)[self.ranks : NUM_PLAIN]
        if own.sum() != self._size or bottom.sum() not in (0, 3) or left_out.any():
            raise GameError(
                f"doudizhu: a seat must be dealt {self._size} cards of {RANK_LETTERS[: self.ranks]}BR, and "
                f"the bottom 3; got {text[:80]!r}; name all as dealt, the landlord's without the bottom"
            )
        calls = []
        for word in rest["calls"].lower().split():
            if word not in CALL_NAMES:
                raise GameError(f"doudizhu: a call is pass, 1, 2 or 3; got {word!r}")
            calls.append(CALL_NAMES.index(word))
        if calls and not self.by_bid:
            raise GameError("doudizhu: seat 0 is the landlord without an auction; leave the calls out")
        moves = [move_number(word) for word in rest["play"].split()]
        dealt = self.ranks + 2
        landlord = self._landlord_after(dealt, tuple(calls))
        if bool(rest["bottom"]) != (landlord is not None):
            raise GameError(f"doudizhu: the bottom is shown once there is a landlord; got {text[:80]!r}")
        if moves and landlord is None:
            raise GameError(f"doudizhu: nobody plays before there is a landlord; got {text[:80]!r}")
        shown = bottom if landlord is not None else None
        return Known(player, dealt, own, shown, tuple(calls), landlord, tuple(moves))

    def _played(self, known: Known) -> Rows:
        """Return a history in which a seat knows this. Raises GameError, naming it, at an illegal action."""
        state = self.root()
        line = self._lines(known, 1, np.random.default_rng(0))[0]
        # calls and moves are numbered from 1 each
        played = len(line) - len(known.moves)
        called = played - len(known.calls)
        for k, action in enumerate(line.tolist()):
            try:
                after = self.step(state, np.zeros(1, np.int64), np.array([action]))
            except GameError as error:
                number = 1 + k - (called if action >= CALLS else played)
                raise GameError(f"doudizhu: {_refusal(state[0], number, action)}") from error
            state = after
        return state


def _ranks_text(counts: Array) -> str:
    """Return counts of ranks [15] in letters, "-" for none."""
    return "".join(letter * int(n) for letter, n in zip(RANK_LETTERS, counts, strict=True)) or "-"


def _refusal(state: Row, number: int, action: int) -> str:
    """Return why a call or a move, the `number`-th of a line, is not legal at a state where it is not."""
    what = f"call {number}" if action >= CALLS else f"move {number}"
    word = CALL_NAMES[action - CALLS] if action >= CALLS else move_letters(action)
    said = f'{what}, "{word}" of seat {state["player"]},'
    bidding = state["landlord"] == NO_SEAT
    if state["player"] < 0 or (action >= CALLS and not bidding):
        ended = "auction" if action >= CALLS else "round"
        return f'{what}, "{word}", comes after the end of the {ended}; end there'
    if action >= CALLS:
        higher = [name for call, name in enumerate(CALL_NAMES) if call > state["bid"]]
        return f"{said} is not above {state['bid']}; call {' or '.join([*higher, 'pass'])}"
    if action == PASS:
        return f"{said} is no lead; who leads plays cards"
    hand, beat = state["hand"][state["player"]], int(state["beat"])
    if np.any(count_ranks(move_table().cards[action].astype(np.uint64)) > count_ranks(hand)):
        return f"{said} is not in its hand, {cards_text(int(hand)) or '-'}; play what it holds"
    return f'{said} does not beat "{move_letters(beat)}"; {_what_beats(beat)}'


def _what_beats(move: int) -> str:
    """Return in words what may be played on a move."""
    head = int(move_table().heads[move])
    kind, links = head & 255, head >> 16 & 255
    if kind == ROCKET:
        return "nothing does, so pass"
    higher = f"play a higher {KIND_NAMES[kind]}{' as long' if links > 1 else ''}"
    return f"{higher}{'' if kind == BOMB else ', a bomb'}, the rocket or pass"


@kernel(nogil=True)
def _draw(
    needs: Ints,
    copies: Ints,
    rooms: Ints,
    uniforms: NDArray[np.float64],
    factorials: NDArray[np.float64],
    out: Ints,
) -> bool:
    """Draw the share of each rank that the first other seat and the bottom get, [n, steps, 2].

    needs: [steps, 3] least of each rank that the first and second other hold, and what lies at the bottom,
        -1 where that is unknown. copies: [steps] unknown cards of each rank. rooms: [3] places of the first
        other, the second other and the bottom, those filled later included.
    Return whether there is such a deal.
    """
    steps = len(copies)
    ways = np.zeros((steps + 1, rooms[0] + 1, rooms[2] + 1))
    rest = rooms[0] + rooms[1] + rooms[2]
    left = rest - copies.sum()
    for x in range(rooms[0] + 1):
        for y in range(rooms[2] + 1):
            z = left - x - y
            if 0 <= z <= rooms[1]:
                ways[steps, x, y] = 1.0 / (factorials[x] * factorials[y] * factorials[z])
    part = np.empty((5, 5))
    for t in range(steps - 1, -1, -1):
        left += copies[t]
        for x in range(rooms[0] + 1):
            for y in range(rooms[2] + 1):
                if 0 <= left - x - y <= rooms[1]:
                    ways[t, x, y] = _ways_on(ways, needs, copies, factorials, t, x, y, left - x - y, part)
    if ways[0, rooms[0], rooms[2]] <= 0:
        return False
    for i in range(len(out)):
        x, y, z = rooms[0], rooms[2], rooms[1]
        for t in range(steps):
            total = _ways_on(ways, needs, copies, factorials, t, x, y, z, part)
            mark = uniforms[i, t] * total
            at_a, at_d = -1, -1
            for a in range(5):
                for d in range(5):
                    if part[a, d] > 0 and (at_a < 0 or mark >= 0):
                        at_a, at_d = a, d
                        mark -= part[a, d]
            out[i, t, 0] = at_a
            out[i, t, 1] = at_d
            x, y, z = x - at_a, y - at_d, z - (copies[t] - at_a - at_d)
    return True


@kernel
def _ways_on(
    ways: NDArray[np.float64],
    needs: Ints,
    copies: Ints,
    factorials: NDArray[np.float64],
    t: int,
    x: int,
    y: int,
    z: int,
    part: NDArray[np.float64],
) -> float:
    """Return how many ways of the deal go on from here, and write those of each share to `part` [5, 5]."""
    total = 0.0
    for a in range(5):
        for d in range(5):
            part[a, d] = 0.0
            c = copies[t] - a - d
            if a < needs[t, 0] or c < needs[t, 1] or a > x or d > y or c < 0 or c > z:
                continue
            if needs[t, 2] >= 0 and d != needs[t, 2]:
                continue
            more = ways[t + 1, x - a, y - d]
            part[a, d] = more * factorials[copies[t]] / (factorials[a] * factorials[c] * factorials[d])
            total += part[a, d]
    return total
