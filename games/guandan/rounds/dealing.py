"""The deal of a round as chance steps: one card after another, who gets its two copies; then who leads.

A state under the deal is a STATE at which CHANCE acts: `left` counts the cards given so far, the first word
of `hash` the kinds of cards. The 54 steps of at most 10 outcomes and the draw of the first lead have the
distribution of a shuffled deck; `games.guandan.rounds.round.deal` is the fast way to the same rounds.

Histories of an infoset are drawn as chance deals: the record comes from the keys that a seat saw. It is
replayed with the seat's own hand, the others lent the cards that they show; `determinise` then deals the
cards that nobody has shown. It takes two copies of a card for two cards, wherever they are. By the deal alone
a copy that is hidden lies half as often with the seat that played the other one, for then the two came as one
outcome instead of two: such deals are kept half of the time.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, Game, GameError, Infoset
from games.guandan.cards import (
    ACTION,
    CARD_NAMES,
    HAND_SIZE,
    NUM_CARDS,
    PASS,
    hand_text,
    pack,
    parse_cards,
    unpack,
)
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.position import parse_position
from games.guandan.rounds.state import STATE, action_words, begin_rounds, play_all, views
from games.ragged import Ragged
from games.support.array_types import Array, Row, Rows

__all__ = [
    "DEAL",
    "deal_actions",
    "deal_probs",
    "deal_step",
    "deal_text",
    "dealing_text",
    "draw_histories",
    "legal_deals",
    "parse_dealing",
    "seen_by_record",
]

DEAL = 11
"""Type of an action of chance, after those of moves: rank is the place in `PAIRS`, or the seat that leads."""
PAIRS = np.array([(a, b) for a in range(4) for b in range(a, 4)])
"""The seats that get the two copies of a card, [10, 2]."""
_GIVEN = (PAIRS[:, :1] == np.arange(4)).astype(np.int64) + (PAIRS[:, 1:] == np.arange(4))
_PLACE = np.zeros((4, 4), np.int64)
_PLACE[PAIRS[:, 0], PAIRS[:, 1]] = _PLACE[PAIRS[:, 1], PAIRS[:, 0]] = np.arange(len(PAIRS))


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


def legal_deals(states: Rows) -> Ragged:
    """Return the outcomes of chance at states under the deal, Ragged of ACTION."""
    dealt, room = _dealt(states), HAND_SIZE - states["left"].astype(np.int64)
    fits = (_GIVEN[None] <= room[:, None]).all(2)
    fits[dealt == NUM_CARDS] = np.arange(len(PAIRS)) < 4
    rows, ranks = np.nonzero(fits)
    return Ragged.from_counts(fits.sum(1), _actions(dealt[rows], ranks))


def deal_probs(states: Rows, actions: Ragged) -> NDArray[np.float64]:
    """Return how likely chance is to take each action where cards are dealt, [m] float64; 1 elsewhere."""
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


def deal_step(states: Rows, actions: Rows) -> Rows:
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


def deal_text(state: Row, action: Row) -> str:
    """Return one outcome of chance in words: `["Deal","H2",[0,3]]` or `["Lead",2]`."""
    rank, dealt = int(action["rank"]), int(state["hash"][0])
    told: list[Any] = ["Lead", rank]
    if dealt < NUM_CARDS:
        told = ["Deal", CARD_NAMES[dealt], PAIRS[rank].tolist()]
    return json.dumps(told, separators=(",", ":"))


def dealing_text(state: Row, seat: int | None = None) -> str:
    """Return what `seat` knows under the deal, or all there is if None, as a line of JSON."""
    hands = [hand_text(counts, int(state["level"])) for counts in unpack(state["hand"])]
    told: dict[str, Any] = {"game": "guandan", "dealt": int(state["hash"][0])}
    told |= {"hands": hands} if seat is None else {"seat": seat, "hand": hands[seat]}
    return json.dumps(told, separators=(",", ":"))


def parse_dealing(text: str, root: Rows) -> tuple[Rows, int] | None:
    """Return the state of a line of `dealing_text` and whose view it is; None for any other line.

    root: the state before the deal; hidden hands stay empty. Raises GameError at fields that do not agree.
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
            f"guandan: under the deal an infoset has dealt (0..{NUM_CARDS}), seat (0..3) and hand; got {told}"
        )
    counts = parse_cards(hand)
    if counts[dealt:].any() or counts.sum() > HAND_SIZE or 2 * dealt - int(counts.sum()) > 3 * HAND_SIZE:
        raise GameError(
            f"guandan: hand must be of the first {dealt} kinds of cards, which fit four hands of "
            f"{HAND_SIZE}; got {hand}"
        )
    state = np.array(root, STATE)
    state["hand"][0, seat] = pack(counts)
    state["hash"][0, 0] = dealt
    return state, seat


MOST_TRIES = 400
"""Deals drawn for each one that is kept, at most; 40 are needed where half of all cards have been shown."""


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


def draw_histories(root: Rows, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
    """Return n histories that a seat cannot tell apart, as actions from the root, Ragged of ACTION.

    root: [1] STATE, before the deal or after it.
    Raises GameError if the infoset does not say what its player saw, or no deal agrees with it.
    """
    if infoset.seen is None:
        raise GameError(
            "guandan: to draw histories of an infoset, what its player saw must be known; got its key alone; "
            "give a Trail, or name it by its record (games.guandan.rounds.position)"
        )
    seat, dealing = infoset.player, _acting(infoset.seen) == CHANCE & 255
    keys = infoset.seen[~dealing]
    moves = _moves(keys)
    if root["player"][0] != CHANCE:
        return Ragged.from_counts(np.full(n, len(moves)), np.tile(moves, n))
    state = root.copy()
    state["hand"][0, seat] = infoset.seen[-1, 2:4]
    if not len(keys):
        return _under_the_deal(unpack(infoset.seen[-1, 2:4]), int(dealing.sum()) - 1, seat, n, rng)
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


def _under_the_deal(
    own: NDArray[np.uint8], dealt: int, seat: int, n: int, rng: np.random.Generator
) -> Ragged:
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


def seen_by_record(game: Game, text: str, seat: int) -> NDArray[np.uint64] | None:
    """Return the keys of a seat on the way of a record, [t, 7]; None for a round that chance does not deal.

    text: a line of `games.guandan.rounds.position` with a record.
    """
    fields = json.loads(text)
    record = fields.pop("record")
    states = [parse_position(json.dumps(fields | {"record": record[:k]}))[0] for k in range(len(record) + 1)]
    keys = np.concatenate([game.infoset_key(state, seat) for state in states])
    begun, root = states[0], game.root()
    if root["player"][0] != CHANCE:
        return keys
    same = all(
        np.array_equal(begun[name], root[name]) for name in ("level", "levels", "owner", "known", "cap")
    )
    if not same or not (begun["left"] == HAND_SIZE).all():
        return None
    under = np.repeat(root, NUM_CARDS + 1)
    under["hash"][:, 0] = np.arange(NUM_CARDS + 1)
    hand = unpack(begun["hand"][0, seat])
    under["hand"][:, seat] = pack(np.tri(NUM_CARDS + 1, NUM_CARDS, -1, dtype=np.uint8) * hand)
    return np.concatenate([game.infoset_key(under, seat), keys])
