"""A round of GuanDan under the `Game` protocol: deals, play, trick ends, finishing order, payoffs.

Chance deals one card after another, who gets its two copies; then who leads. A state under the deal is a
STATE at which CHANCE acts: `left` counts the cards given so far, the first word of `hash` the kinds of cards.
The 54 steps of at most 10 outcomes and the draw of the first lead have the distribution of a shuffled deck;
`deal` draws whole deals at once and `from_hands` takes them. Seats 0 and 2 play against 1 and 3, in turn
order 0, 1, 2, 3.

Histories of an infoset are drawn as chance deals: the record comes from the keys that a seat saw. It is
replayed with the seat's own hand, the others lent the cards that they show; `determinise` then deals the
cards that nobody has shown. It takes two copies of a card for two cards, wherever they are. By the deal alone
a copy that is hidden lies half as often with the seat that played the other one, for then the two came as one
outcome instead of two: such deals are kept half of the time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from games.game import CHANCE, TERMINAL, GameError, Infoset
from games.guandan.cards import (
    ACTION,
    CARD_NAMES,
    HAND_SIZE,
    NO_ACTION,
    NUM_CARDS,
    NUM_RANKS,
    PASS,
    as_level,
    hand_text,
    pack,
    parse_cards,
    unpack,
)
from games.guandan.notation import action_text
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.playout import legal
from games.guandan.rounds.position import parse_position, position_text
from games.guandan.rounds.state import (
    BEAT,
    FIRST,
    HAND,
    HASH,
    LEADER,
    NOBODY,
    PASSES,
    PLAYED,
    PLAYER,
    STATE,
    action_words,
    begin_rounds,
    deal_hands,
    first_unplayable,
    play_all,
)
from games.infosets import infoset_at
from games.parameters import OneOf, Parameter
from games.ragged import Ragged
from games.round_rows import one_row, views
from games.support.array_types import Array, Bytes, Ints, Row, Rows
from games.support.kernel import kernel
from games.support.splitmix import mix_hash

DEAL = 11
"""Type of an action of chance, after those of moves: rank is the place in `PAIRS`, or the seat that leads."""
PAIRS = np.array([(a, b) for a in range(4) for b in range(a, 4)])
"""The seats that get the two copies of a card, [10, 2]."""
_GIVEN = (PAIRS[:, :1] == np.arange(4)).astype(np.int64) + (PAIRS[:, 1:] == np.arange(4))
_PLACE = np.zeros((4, 4), np.int64)
_PLACE[PAIRS[:, 0], PAIRS[:, 1]] = _PLACE[PAIRS[:, 1], PAIRS[:, 0]] = np.arange(len(PAIRS))
MOST_TRIES = 400
"""Deals drawn for each one that is kept, at most; 40 are needed where half of all cards have been shown."""


@kernel(nogil=True)
def _keys(words: Ints, bytes_: Bytes, player: int, out: NDArray[np.uint64]) -> None:
    """Fold the player's initial hand into each public hash; write both, and what the last move shows."""
    for i in range(len(words)):
        for k in range(2):
            out[i, 2 + k] = np.uint64(words[i, HAND + 2 * player + k] + words[i, PLAYED + 2 * player + k])
        for lane in range(2):
            h = np.uint64(words[i, HASH + lane])
            for k in range(2):
                h = mix_hash(h, out[i, 2 + k])
            out[i, lane] = mix_hash(h, np.uint64(player + 4 * lane))
        shown = np.int64(bytes_[i, FIRST]) << 24 | np.int64(bytes_[i, PLAYER]) << 32
        shown |= np.int64(bytes_[i, LEADER]) << 40 | np.int64(bytes_[i, PASSES]) << 48
        out[i, 4] = np.uint64(shown | words[i, BEAT] & 0xFFFFFF)
        out[i, 5] = np.uint64(words[i, BEAT + 1])
        out[i, 6] = np.uint64(words[i, BEAT + 2])


@dataclass(frozen=True, eq=False)
class Shown:
    """What everybody knows of the hands that rounds start from, as tribute shows it.

    known: [n, 4, 54] counts of the cards of each hand that everybody knows of (tribute and return cards).
    cap: [n, 4], highest place in the level-aware order of a seat's other cards (see STATE).
    """

    known: ArrayLike | None = None
    cap: ArrayLike | None = None


def deal(
    n: int,
    rng: np.random.Generator,
    *,
    level: ArrayLike = 0,
    first: ArrayLike | None = None,
    levels: ArrayLike | None = None,
    owner: ArrayLike = NOBODY,
) -> Rows:
    """Return n freshly dealt rounds, [n] STATE.

    level: rank code of the round's level, one for all or [n].
    first: seat that leads, one for all or [n]; drawn for each round if None (the ruling for a first round).
    levels: [2] or [n, 2], level of each team; the round's level for both if None.
    owner: team whose level the round is played at, one for all or [n]; NOBODY in a first round.
    Each deal comes from a seed drawn from `rng`, so a batch replays.
    """
    if n < 0:
        raise GameError(f"guandan: the number of deals must be at least 0; got {n}")
    words = np.zeros((n, 8), np.int64)
    seeds = rng.integers(0, 2**64, n, np.uint64)
    deal_hands(seeds, words)
    if first is None:
        first = rng.integers(0, 4, n)
    hands = words.view(np.uint64).reshape(n, 4, 2)
    states = _started(hands, HAND_SIZE, level, first, levels, owner)
    begin_rounds(*views(states))
    return states


def from_hands(
    hands: ArrayLike,
    *,
    level: ArrayLike = 0,
    first: ArrayLike = 0,
    levels: ArrayLike | None = None,
    owner: ArrayLike = NOBODY,
    shown: Shown | None = None,
) -> Rows:
    """Return rounds that start from given hands, [n] STATE.

    hands: [n, 4, 54] counts (or [4, 54] for one round). A hand may be smaller than 27 cards: the cards that
        nobody holds are out of play. No hand may be empty.
    shown: what everybody knows of the hands; None for nothing.
    The other arguments are those of `deal`.
    Raises GameError if a hand has no card or more than 27, a card is held more than twice, or a known card is
    not held.
    """
    counts = np.asarray(hands)
    if counts.ndim == 2:
        counts = counts[None]
    if counts.ndim != 3 or counts.shape[1:] != (4, NUM_CARDS):
        raise GameError(f"guandan: hands are counts of shape [n, 4, {NUM_CARDS}]; got {counts.shape}")
    packed = pack(counts)
    total = counts.sum(1, dtype=np.int64)
    if total.size and total.max() > 2:
        raise GameError("guandan: two decks hold two of each card; the four hands hold one a third time")
    sizes = counts.sum(2, dtype=np.int64)
    if sizes.size and not 1 <= sizes.min() <= sizes.max() <= HAND_SIZE:
        raise GameError(f"guandan: a hand has 1..{HAND_SIZE} cards; got {sizes.min()}..{sizes.max()}")
    states = _started(packed, sizes, level, first, levels, owner)
    if shown is not None:
        if shown.known is not None:
            known = np.broadcast_to(np.asarray(shown.known), counts.shape)
            if np.any(known > counts):
                raise GameError("guandan: a card known to be in a hand must be in it; one is not")
            states["known"] = pack(known)
        if shown.cap is not None:
            states["cap"] = shown.cap
    begin_rounds(*views(states))
    return states


def _started(
    hands: NDArray[np.uint64],
    left: ArrayLike,
    level: ArrayLike,
    first: ArrayLike,
    levels: ArrayLike | None,
    owner: ArrayLike,
) -> Rows:
    """Return rounds with these packed hands [n, 4, 2], `left` cards of each seat [n, 4], nothing shown."""
    n = len(hands)
    states = np.zeros(n, STATE)
    level = np.asarray(level)
    if level.dtype.kind in "US":
        level = np.array([as_level(str(name)) for name in level.ravel()]).reshape(level.shape)
    both = np.stack([np.broadcast_to(level, n)] * 2, -1)
    levels = both if levels is None else np.asarray(levels)
    first, owner = np.asarray(first), np.asarray(owner)
    for name, value, top in (
        ("level", level, NUM_RANKS - 1),
        ("levels", levels, NUM_RANKS - 1),
        ("first", first, 3),
    ):
        if value.size and not 0 <= value.min() <= value.max() <= top:
            raise GameError(f"guandan: {name} must lie in 0..{top}; got {value.min()}..{value.max()}")
    if not np.all((owner == 0) | (owner == 1) | (owner == NOBODY)):
        raise GameError(f"guandan: owner is team 0, team 1 or NOBODY ({NOBODY}); got {owner}")
    states["hand"] = hands
    states["left"] = left
    states["level"], states["levels"], states["owner"] = level, levels, owner
    states["first"] = states["player"] = first
    states["leader"] = states["order"] = states["fails"] = NOBODY
    states["trick"]["type"] = states["last"]["type"] = NO_ACTION
    states["cap"] = 14
    return states


def restarted(states: Rows) -> Rows:
    """Return the rounds as they began, with the same deals, [n] STATE; hidden hands may be left out."""
    hands = initial_hands(states)
    left = states["left"] + unpack(states["played"]).sum(2, dtype=np.int64)
    out = _started(hands, left, *(states[name] for name in ("level", "first", "levels", "owner")))
    for name in ("known", "cap", "fails", "ace"):
        out[name] = states[name]
    begin_rounds(*views(out))
    return out


def advance(states: Rows, actions: Rows) -> None:
    """Play one action at each state, in place; finished rounds stay as they are.

    states: [n] STATE, contiguous. actions: [n] ACTION, each legal where it is played: this is not checked.
    """
    if not states.flags.c_contiguous or states.ndim != 1 or actions.shape != states.shape:
        raise GameError(
            "guandan: advance takes contiguous states [n] and as many actions; "
            f"got shapes {states.shape} and {actions.shape}"
        )
    play_all(*views(states), action_words(actions))


def initial_hands(states: Rows) -> NDArray[np.uint64]:
    """Return the packed hands that the round began with, [n, 4, 2] uint64."""
    hands: NDArray[np.uint64] = states["hand"] + states["played"]
    return hands


class GuanDan:
    """One round of GuanDan as a `Game` (see `games.game`).

    moves: "full" lists every distinct (type, rank, multiset of cards), "canonical" one of each effect.
    """

    summary = "a round of GuanDan: four players, two teams, two decks, wild cards"
    parameters: tuple[Parameter, ...] = (
        OneOf(
            name="moves",
            default="full",
            doc="every distinct move, or one of each effect",
            choices=("full", "canonical"),
        ),
    )
    num_players = 4
    teams: tuple[int, ...] = (0, 1, 0, 1)
    payoff_range = (-3.0, 3.0)
    one_by_one = True  # lists of moves are long, so sizes are estimated by few histories (`games.size`)
    key_width = 7

    follows = False  # no infoset is small enough to be followed whole

    def __init__(self, moves: str = "full") -> None:
        if moves not in ("full", "canonical"):
            raise GameError(f'guandan: moves must be "full" or "canonical"; got {moves!r}')
        self.name = f"guandan(moves={moves})"
        self.canonical = moves == "canonical"

    def root(self) -> Rows:
        """Return the round before the deal, a batch of one."""
        state = _started(np.zeros((1, 4, 2), np.uint64), 0, 0, 0, None, NOBODY)
        state["player"] = CHANCE
        return state

    def sample_deals(self, n: int, rng: np.random.Generator) -> Rows:
        """Return n rounds past all that chance decides, freshly dealt, [n] STATE."""
        return deal(n, rng)

    def player(self, states: Rows) -> NDArray[np.int8]:
        """Return who acts at each state, a seat, CHANCE or TERMINAL, [n] int8."""
        return states["player"].copy()

    def actions(self, states: Rows) -> Ragged:
        """Return the legal moves at each state, Ragged of ACTION, in an order the infoset fixes."""
        dealing = states["player"] == CHANCE
        if not dealing.any():
            return legal(states, canonical=self.canonical)
        if dealing.all():
            return _legal_deals(states)
        parts = [_legal_deals(states[dealing]), legal(states[~dealing], canonical=self.canonical)]
        both = Ragged.from_counts(
            np.concatenate([part.counts for part in parts]), np.concatenate([part.values for part in parts])
        )
        return both.take(np.argsort(np.argsort(~dealing, kind="stable"), kind="stable"))

    def chance_probs(self, states: Rows, actions: Ragged) -> NDArray[np.float64]:
        """Return the probability of each outcome of the deal, [m] float64; 1 where a seat acts."""
        probs = np.ones(len(actions.values))
        at = np.flatnonzero((states["player"] == CHANCE)[actions.rows])
        dealing = states[actions.rows[at]]
        rank = actions.values["rank"][at].astype(np.int64)
        lead = _dealt(dealing) == NUM_CARDS
        room = HAND_SIZE - dealing["left"].astype(np.int64)
        first, second = PAIRS[rank].T
        places, every = room.sum(1), np.arange(len(at))
        same = first == second
        ways = room[every, first] * (room[every, second] - same) * np.where(same, 1, 2)
        probs[at] = np.where(lead, 0.25, ways / np.maximum(places * (places - 1), 1))
        return probs

    def step(self, states: Rows, rows: NDArray[np.int64], actions: Rows) -> Rows:
        """Return the states after `actions[j]` is taken at `states[rows[j]]`, [m] STATE.

        Raises GameError at a finished round, where the player lacks the cards, or at another outcome than
        chance has. That the combination is legal is the caller's to know.
        """
        after = states[rows]
        dealing = after["player"] == CHANCE
        if dealing.any():
            after[dealing] = _deal_step(after[dealing], np.asarray(actions)[dealing])
            played = np.flatnonzero(~dealing)
            if len(played):
                after[played] = self.step(after, played, np.asarray(actions)[played])
            return after
        words, bytes_ = views(after)
        moves = action_words(actions)
        bad = first_unplayable(words, bytes_, moves)
        if bad >= 0:
            if after["player"][bad] == TERMINAL:
                raise GameError(
                    "guandan: the round is over and no player can act; stop at player == TERMINAL"
                )
            raise GameError(
                f"guandan: seat {after['player'][bad]} cannot play action {bad}: no such type, or cards not "
                "in hand; take actions from actions(states)"
            )
        play_all(words, bytes_, moves)
        return after

    def returns(self, states: Rows) -> NDArray[np.float64]:
        """Return the payoffs of finished rounds, [n, 4] float64; zero where play goes on.

        3, 2 or 1 for the team of the seat that finished first, as its partner came second, third or last; at
        the winners' own level A with the partner last 0, for nothing is gained. The other team loses as much.
        """
        order = states["order"]
        over = states["player"] == TERMINAL
        winner = order[:, 0] & 1
        place = np.argmax((order == (order[:, :1] + 2) % 4), 1)
        gain = 4.0 - place
        ace = (states["level"] == NUM_RANKS - 1) & (states["owner"] == winner) & (place == 3)
        gain = np.where(over & ~ace, gain, 0.0)
        sign = np.where((np.arange(4) & 1)[None] == winner[:, None], 1.0, -1.0)
        return sign * gain[:, None]

    def infoset_key(self, states: Rows, player: int) -> NDArray[np.uint64]:
        """Return a 128-bit hash of the player's initial hand and the whole public record, [n, 7] uint64.

        The record is the start (levels, first lead, tribute cards, sizes) and every action in order. Behind
        the two words of the hash stand the initial hand and the last move, so that the keys of a trail spell
        the record out (`sample_histories`).
        """
        if player not in range(4):
            raise GameError(f"guandan: a seat is 0..3; got {player}")
        states = np.ascontiguousarray(states)
        key = np.empty((len(states), self.key_width), np.uint64)
        _keys(*views(states), player, key)
        return key

    def action_type(self, actions: Rows) -> NDArray[np.int64]:
        """Return the type code of each action, [m] int64 (PASS 0 .. FOUR_KINGS 10)."""
        return actions["type"].astype(np.int64)

    def action_text(self, state: Rows | Row, action: Rows | Row) -> str:
        """Return one action as type, rank and cards: `["Pair","6",["S6","D6"]]`.

        An outcome of chance is `["Deal","H2",[0,3]]` or `["Lead",2]`.
        """
        row, move = one_row(state), one_row(action)
        if move["type"] != DEAL:
            return action_text(move, int(row["level"]))
        rank, dealt = int(move["rank"]), int(row["hash"][0])
        told: list[Any] = ["Lead", rank]
        if dealt < NUM_CARDS:
            told = ["Deal", CARD_NAMES[dealt], PAIRS[rank].tolist()]
        return json.dumps(told, separators=(",", ":"))

    def state_text(self, state: Rows | Row) -> str:
        """Return one state with all hands, as a line of JSON (see `position`)."""
        return self._words(one_row(state), None)

    def infoset_text(self, state: Rows | Row, player: int) -> str:
        """Return what `player` knows at one state, as a line of JSON (see `position`)."""
        return self._words(one_row(state), player)

    def _words(self, row: Row, seat: int | None) -> str:
        """Return what a seat knows, or all there is if None; under the deal, how many kinds were dealt."""
        if row["player"] != CHANCE:
            return position_text(row, seat)
        hands = [hand_text(counts, int(row["level"])) for counts in unpack(row["hand"])]
        told: dict[str, Any] = {"game": "guandan", "dealt": int(row["hash"][0])}
        told |= {"hands": hands} if seat is None else {"seat": seat, "hand": hands[seat]}
        return json.dumps(told, separators=(",", ":"))

    def parse_state(self, text: str) -> Rows:
        """Return the state that a line of JSON names, [1] STATE: `state_text` once dealt, or all four hands.

        Raises GameError at bad input (see `parse_position`), and where a hand is missing.
        """
        state, seat = parse_position(text)
        if seat is not None:
            raise GameError("guandan: a history shows all hands; give hands instead of seat and hand")
        return state

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that a line of JSON names: `infoset_text`, or a position or record by hand.

        A position without `key` or `record` is an infoset of its own: its key follows from its fields alone.
        Raises GameError at bad input (see `parse_position`).
        """
        state, seat = self._under_the_deal(text) or parse_position(text)
        if seat is None:
            raise GameError("guandan: an infoset shows one hand; give seat and hand instead of hands")
        found = infoset_at(self, state, seat)
        return replace(found, seen=self._seen_by_record(text, seat)) if '"record"' in text else found

    @property
    def sample_histories(self) -> Callable[[Infoset, int, np.random.Generator], Ragged] | None:
        """What draws n histories of an infoset, unseen cards dealt as chance deals them.

        None among canonical moves: which of several equal ones is listed depends on cards that are hidden.
        """
        return None if self.canonical else self._draw

    def _under_the_deal(self, text: str) -> tuple[Rows, int] | None:
        """Return the state of a line of words under the deal and whose view it is; None for any other line.

        Hidden hands stay empty. Raises GameError at fields that do not agree.
        """
        try:
            told = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            return None
        if not isinstance(told, dict) or "dealt" not in told:
            return None
        dealt, seat, hand = told["dealt"], told.get("seat"), told.get("hand", "")
        if (
            type(dealt) is not int
            or type(seat) is not int
            or type(hand) is not str
            or not (0 <= dealt <= NUM_CARDS and 0 <= seat < 4)
            or set(told) - {"game", "dealt", "seat", "hand"}
        ):
            raise GameError(
                f"guandan: under the deal an infoset has dealt (0..{NUM_CARDS}), seat (0..3) and hand; "
                f"got {told}"
            )
        counts = parse_cards(hand)
        if counts[dealt:].any() or counts.sum() > HAND_SIZE or 2 * dealt - int(counts.sum()) > 3 * HAND_SIZE:
            raise GameError(
                f"guandan: hand must be of the first {dealt} kinds of cards, which fit four hands of "
                f"{HAND_SIZE}; got {hand}"
            )
        state = self.root()
        state["hand"][0, seat] = pack(counts)
        state["hash"][0, 0] = dealt
        return state, seat

    def _draw(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories that a seat cannot tell apart, as actions from the root, Ragged of ACTION.

        Raises GameError if the infoset does not say what its player saw, or no deal agrees with it.
        """
        if infoset.seen is None:
            raise GameError(
                "guandan: to draw histories of an infoset, what its player saw must be known; got its key "
                "alone; give a Trail, or name it by its record (games.guandan.rounds.position)"
            )
        seat, dealing = infoset.player, _acting(infoset.seen) == CHANCE & 255
        keys = infoset.seen[~dealing]
        moves = _moves(keys)
        state = self.root()
        state["hand"][0, seat] = infoset.seen[-1, 2:4]
        if not len(keys):
            return _deals_begun(unpack(infoset.seen[-1, 2:4]), int(dealing.sum()) - 1, seat, n, rng)
        state["left"] = HAND_SIZE
        state["first"] = state["player"] = _acting(keys)[0]
        begin_rounds(*views(state))
        for move in moves.reshape(-1, 1):
            actor = int(state["player"][0])
            if actor != seat:
                state["hand"][0, actor] += np.array([move["lo"][0], move["hi"][0]], np.uint64)
            play_all(*views(state), action_words(move))
        hands = _drawn_hands(state, seat, n, rng)
        chance = deal_actions(hands, np.repeat(state["first"], n))
        lines = np.concatenate([chance, np.tile(moves, (n, 1))], axis=1)
        return Ragged.from_counts(np.full(n, lines.shape[1]), lines.reshape(-1))

    def _seen_by_record(self, text: str, seat: int) -> NDArray[np.uint64] | None:
        """Return the keys of a seat on the way of a record, [t, 7]; None for rounds that chance never deals.

        text: a line of `games.guandan.rounds.position` with a record.
        """
        fields = json.loads(text)
        record = fields.pop("record")
        states = [
            parse_position(json.dumps(fields | {"record": record[:k]}))[0] for k in range(len(record) + 1)
        ]
        keys = np.concatenate([self.infoset_key(state, seat) for state in states])
        begun, root = states[0], self.root()
        same = all(
            np.array_equal(begun[name], root[name]) for name in ("level", "levels", "owner", "known", "cap")
        )
        if not same or not (begun["left"] == HAND_SIZE).all():
            return None
        under = np.repeat(root, NUM_CARDS + 1)
        under["hash"][:, 0] = np.arange(NUM_CARDS + 1)
        hand = unpack(begun["hand"][0, seat])
        under["hand"][:, seat] = pack(np.tri(NUM_CARDS + 1, NUM_CARDS, -1, dtype=np.uint8) * hand)
        return np.concatenate([self.infoset_key(under, seat), keys])


def _dealt(states: Rows) -> NDArray[np.int64]:
    return states["hash"][:, 0].astype(np.int64)


def _actions(cards: NDArray[np.int64], ranks: NDArray[np.int64]) -> Rows:
    """Return actions of chance [m]: the card of each, 54 for the lead, and its rank."""
    actions = np.zeros(len(cards), ACTION)
    actions["type"], actions["rank"] = DEAL, ranks
    given = np.flatnonzero(cards < NUM_CARDS)
    packed = pack(np.eye(NUM_CARDS, dtype=np.uint8)[cards[given]])
    actions["lo"][given], actions["hi"][given] = packed[:, 0], packed[:, 1]
    actions["size"][given] = 2
    return actions


def _legal_deals(states: Rows) -> Ragged:
    """Return the outcomes of chance at states under the deal, Ragged of ACTION."""
    dealt, room = _dealt(states), HAND_SIZE - states["left"].astype(np.int64)
    fits = (_GIVEN[None] <= room[:, None]).all(2)
    fits[dealt == NUM_CARDS] = np.arange(len(PAIRS)) < 4
    rows, ranks = np.nonzero(fits)
    return Ragged.from_counts(fits.sum(1), _actions(dealt[rows], ranks))


def _deal_step(states: Rows, actions: Rows) -> Rows:
    """Return states under the deal [m] after an outcome of chance at each; raise GameError at any other."""
    after = states.copy()
    dealt, rank = _dealt(states), actions["rank"].astype(np.int64)
    lead = dealt == NUM_CARDS
    ours = (actions["type"] == DEAL) & (rank < np.where(lead, 4, len(PAIRS)))
    given = _GIVEN[np.minimum(rank, len(PAIRS) - 1)]
    given[lead] = 0
    left = states["left"] + given
    if not np.all(ours & (left <= HAND_SIZE).all(1)) or not np.array_equal(actions, _actions(dealt, rank)):
        raise GameError("guandan: the cards are being dealt, chance acts; take outcomes from actions(states)")
    after["left"] = left
    shared = np.stack([actions["lo"], actions["hi"]], 1)[:, None]
    after["hand"] += given[..., None].astype(np.uint64) * shared
    after["hash"][:, 0] += np.uint64(1)
    began = after[lead]
    if len(began):
        began["player"] = began["first"] = rank[lead]
        begin_rounds(*views(began))
        after[lead] = began
    return after


def deal_actions(hands: NDArray[np.uint64], first: Array) -> Rows:
    """Return what chance does on the way to rounds that begin with these hands, [n, 55] ACTION.

    hands: [n, 4, 2] packed, 27 cards each. first: [n], the seat that leads.
    """
    n = len(hands)
    counts = unpack(hands).astype(np.int64)
    low, high = counts.argmax(1), 3 - counts[:, ::-1].argmax(1)
    cards = np.tile(np.arange(NUM_CARDS + 1), (n, 1))
    ranks = np.concatenate([_PLACE[low, high], np.asarray(first, np.int64)[:, None]], 1)
    return _actions(cards.ravel(), ranks.ravel()).reshape(n, NUM_CARDS + 1)


def _acting(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return who acts at each key, [t] int64, as a byte of the state."""
    return keys[:, 4].astype(np.int64) >> 32 & 255


def _moves(keys: NDArray[np.uint64]) -> Rows:
    """Return the moves between the keys of a record, one fewer than keys, [t] ACTION."""
    shown = keys[1:, 4].astype(np.int64)
    taken = np.zeros(len(shown), ACTION)
    played = (shown >> 40 & 255 == _acting(keys)[:-1]) & (shown >> 48 & 255 == 0)  # else a pass, all zero
    for place, name in enumerate(("type", "rank", "size")):
        taken[name] = np.where(played, shown >> 8 * place & 255, PASS)
    taken["lo"], taken["hi"] = np.where(played, keys[1:, 5:].T, np.uint64(0))
    return taken


def _drawn_hands(state: Rows, seat: int, n: int, rng: np.random.Generator) -> NDArray[np.uint64]:
    """Return n deals that agree with what a seat knows, each as often as chance deals it, [n, 4, 2]."""
    found: list[NDArray[np.uint64]] = []
    many = 0
    for _ in range(MOST_TRIES):
        deals = determinise(np.repeat(state, max(n, 16)), seat, rng)
        pairs = (unpack(deals["hand"]) == 1) & (unpack(deals["played"]) == 1)
        pairs[:, seat] = False
        kept = rng.random(len(deals)) < 0.5 ** pairs.sum((1, 2))
        found.append((deals["hand"] + deals["played"])[kept])
        many += int(kept.sum())
        if many >= n:
            return np.concatenate(found)[:n]
    raise GameError(f"guandan: {n} deals must agree with what seat {seat} knows; only {many} were found")


def _deals_begun(own: NDArray[np.uint8], dealt: int, seat: int, n: int, rng: np.random.Generator) -> Ragged:
    """Return histories of a deal under way: the seat's own cards known, the others' places drawn."""
    given = own.astype(np.int64).copy()
    held = np.zeros((n, 4, NUM_CARDS), np.int64)
    held[:, seat, :dealt] = given[:dealt]
    others = [s for s in range(4) if s != seat]
    places = np.repeat(others, HAND_SIZE)
    for row in range(n):
        got = iter(rng.permutation(places).tolist())
        for card in range(min(dealt, NUM_CARDS)):
            for _ in range(2 - given[card]):
                held[row, next(got), card] += 1
    lines = deal_actions(pack(held), np.zeros(n))[:, :dealt]
    return Ragged.from_counts(np.full(n, dealt), lines.reshape(-1))
