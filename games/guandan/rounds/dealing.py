"""The deal of a round as chance steps: one card after another, who gets its two copies; then who leads.

A state under the deal is a STATE at which CHANCE acts: `left` counts the cards given so far, the first word
of `hash` the kinds of cards. The 54 steps of at most 10 outcomes and the draw of the first lead have the
distribution of a shuffled deck; `games.guandan.rounds.round.deal` is the fast way to the same rounds.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, GameError
from games.guandan.cards import ACTION, CARD_NAMES, HAND_SIZE, NUM_CARDS, hand_text, pack, parse_cards, unpack
from games.guandan.rounds.state import STATE, begin_rounds, views
from games.ragged import Ragged
from games.support.array_types import Array, Row, Rows

__all__ = [
    "DEAL",
    "deal_actions",
    "deal_probs",
    "deal_step",
    "deal_text",
    "dealing_text",
    "legal_deals",
    "parse_dealing",
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
