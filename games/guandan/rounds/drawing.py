"""Histories of an infoset of GuanDan, drawn as chance deals: the record comes from the keys that a seat saw.

The record is replayed with the seat's own hand, the others lent the cards that they show; `determinise` then
deals the cards that nobody has shown. It takes two copies of a card for two cards, wherever they are. By the
deal alone a copy that is hidden lies half as often with the seat that played the other one, for then the two
came as one outcome instead of two: such deals are kept half of the time.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, Game, GameError, Infoset
from games.guandan.cards import ACTION, HAND_SIZE, NUM_CARDS, PASS, pack, unpack
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.dealing import deal_actions
from games.guandan.rounds.position import parse_position
from games.guandan.rounds.state import action_words, begin_rounds, play_all, views
from games.ragged import Ragged
from games.support.array_types import Rows

__all__ = ["draw_histories", "seen_by_record"]

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
