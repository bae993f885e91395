"""Actions in the field's notation: `["ThreeWithTwo","6",["S6","H6","D6","SB","SB"]]`, printed and parsed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from games.game import GameError
from games.guandan.cards import (
    ACTION,
    BOMB,
    CARD_NAMES,
    FOUR_KINGS,
    PASS,
    RANKS,
    SB,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    THREE_WITH_TWO,
    TWO_TRIPS,
    TYPE_NAMES,
    as_level,
    make_actions,
    pack,
    parse_cards,
    unpack,
    wild_card,
)
from games.guandan.rounds.playout import legal_moves
from games.support.array_types import Bytes, Row, Rows

_SUIT_PLACE = (1, 0, 2, 3)
_SLOTS = {STRAIGHT: (5, 1), STRAIGHT_FLUSH: (5, 1), THREE_PAIR: (3, 2), TWO_TRIPS: (2, 3)}


def move_groups(action: Row, counts: Bytes, level: int) -> list[tuple[int, int]]:
    """Return (rank code, size) of each group of equal rank, in printing order."""
    kind, rank, size = int(action["type"]), int(action["rank"]), int(action["size"])
    if kind in _SLOTS:
        slots, group = _SLOTS[kind]
        return [((rank + j) % 13, group) for j in range(slots)]
    if kind == THREE_WITH_TWO:
        others = counts.copy()
        others[wild_card(level)] = 0
        others[4 * rank : 4 * rank + 4] = 0
        left = np.flatnonzero(others)
        pair = level if len(left) == 0 else 13 + left[0] - SB if left[0] >= SB else left[0] // 4
        return [(rank, 3), (int(pair), 2)]
    if kind == FOUR_KINGS:
        return [(13, 2), (14, 2)]
    return [(rank, size)]


def action_list(action: Row, level: int) -> list[Any]:
    """Return an action as `[type, rank, cards]`, cards in the places they fill.

    Trips come before the pair, sequences run upwards (A first when low), natural cards stand in the order
    S, H, C, D and a wild card in the slot that it fills, or last in its group.
    """
    if action["type"] == PASS:
        return ["PASS", "PASS", "PASS"]
    if action["type"] > FOUR_KINGS:
        raise GameError(
            f"guandan: there is no action in this slot (type {action['type']}); test for NO_ACTION"
        )
    counts = unpack(np.array([action["lo"], action["hi"]], np.uint64))
    wild = wild_card(level)
    wilds = int(counts[wild])
    names = []
    for rank, size in move_groups(action, counts, level):
        if rank >= 13:
            cards = [SB + rank - 13] * min(size, int(counts[SB + rank - 13]))
        else:
            suits = sorted(range(4), key=_SUIT_PLACE.__getitem__)
            natural = [
                4 * rank + s for s in suits for _ in range(counts[4 * rank + s]) if 4 * rank + s != wild
            ]
            cards = natural[:size]
        fill = min(size - len(cards), wilds)
        wilds -= fill
        names += [CARD_NAMES[c] for c in cards + [wild] * fill]
    return [TYPE_NAMES[action["type"]], RANKS[action["rank"]], names]


def action_text(action: Row, level: int) -> str:
    """Return `action_list` as compact JSON text; a PASS as `["PASS","PASS","PASS"]`."""
    return json.dumps(action_list(action, level), separators=(",", ":"))


def parse_action(move: str | Sequence[Any], level: int | str) -> Rows:
    """Return the action, [1] ACTION, that `move` names at this level.

    move: `[type, rank, cards]`, its JSON text, or plain words: `Pair 6 S6 D6`, `PASS`. The order of the cards
        does not matter. Both dialects' joker bombs are read.
    Raises GameError at an unknown type, rank or card, or cards that do not make the combination.
    """
    level = as_level(level)
    if isinstance(move, str):
        text = move.strip()
        if text.startswith("["):
            try:
                move = json.loads(text)
            except (json.JSONDecodeError, RecursionError) as error:
                raise GameError(
                    f"guandan: a move is [type, rank, cards] in JSON; {error} in {text[:60]!r}"
                ) from None
        else:
            words = text.split()
            move = [words[0], words[1] if len(words) > 1 else "PASS", words[2:]] if words else []
    parts = list(move)
    if parts and str(parts[0]).upper() == "PASS":
        return np.zeros(1, ACTION)
    if len(parts) != 3:
        raise GameError(f'guandan: a move is [type, rank, cards] or "PASS"; got {move!r}')
    kind_name, rank_name = str(parts[0]), str(parts[1]).upper().replace("10", "T")
    kinds = {name.lower(): kind for kind, name in enumerate(TYPE_NAMES)}
    kind = kinds.get(kind_name.lower())
    if kind is None:
        raise GameError(f"guandan: a type must be one of {', '.join(TYPE_NAMES)}; got {kind_name!r}")
    counts = parse_cards(parts[2])
    if kind == BOMB and rank_name == "JOKER":
        kind = FOUR_KINGS
    if kind == FOUR_KINGS:
        rank_name = "B"
    if len(rank_name) != 1 or rank_name not in RANKS:
        raise GameError(f"guandan: a rank must be one of {' '.join(RANKS)}; got {rank_name!r}")
    action = make_actions([kind], [RANKS.index(rank_name)], counts[None])
    # the cards are the whole hand, so that a move of all of them is the canonical one of its effect
    if not np.any(legal_moves(pack(counts)[None], level, canonical=True)[0] == action[0]):
        raise GameError(
            f"guandan: {' '.join(map(str, parts[2])) if not isinstance(parts[2], str) else parts[2]} "
            f"do not make {kind_name} {rank_name} at level {RANKS[level]}"
        )
    return action
