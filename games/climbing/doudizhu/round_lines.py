"""Histories and infosets of a round in one line of words, and back."""

from __future__ import annotations

import re

import numpy as np

from games.climbing.doudizhu.move_table import (
    BOMB,
    KIND_NAMES,
    PASS,
    ROCKET,
    move_letters,
    move_number,
    move_table,
)
from games.climbing.doudizhu.multiset import NUM_RANKS, RANK_LETTERS, cards_text, count_ranks, read_multiset
from games.climbing.doudizhu.round_state import BY_BID, CALLS, DEALS, MOST_PLAYS, NO_SEAT, ranks_dealt
from games.climbing.doudizhu.sampled_deals import Known, landlord_after
from games.game import CHANCE, GameError
from games.support.array_types import Ints, Row

__all__ = ["action_words", "history_words", "infoset_words", "read_infoset", "refusal_words"]

_CALL_NAMES = ("pass", "1", "2", "3")


def action_words(state: Row, action: int, rules: int) -> str:
    """Return an action in words: cards, "pass", "call 2", or what a deal gives: "7: 2/0/1, 1 below"."""
    if action < CALLS:
        return move_letters(action)
    if action < DEALS:
        return f"call {_CALL_NAMES[action - CALLS]}"
    rank = ranks_dealt(rules, int(state["dealt"]))
    split = action - DEALS
    given = (split % 5, split // 5 % 5, split // 25)
    rest = (4 if rank < 13 else 1) - sum(given)
    return f"{RANK_LETTERS[rank]}: {given[0]}/{given[1]}/{given[2]}" + (f", {rest} below" if rest else "")


def _cards(packed: int) -> str:
    return cards_text(packed) or "-"


def _dealt_hand(state: Row, seat: int) -> int:
    """Return a seat's packed cards as they were dealt, the bottom left out."""
    hand = int(state["hand"][seat]) + int(state["played"][seat])
    return hand - int(state["bottom"]) if state["landlord"] == seat else hand


def _line(state: Row, rules: int) -> list[str]:
    """Return the parts of a line that everybody sees, the bottom left out."""
    parts = []
    if state["player"] == CHANCE:
        parts.append(f"dealing {RANK_LETTERS[ranks_dealt(rules, int(state['dealt']))]}")
    if state["called"]:
        calls = [_CALL_NAMES[int(state["calls"]) >> 2 * k & 3] for k in range(state["called"])]
        parts.append(f"calls {' '.join(calls)}")
    moves = []
    for j in range(min(int(state["plays"]), MOST_PLAYS)):
        passes = int(state["gaps"][j // 32]) >> 2 * (j % 32) & 3
        moves += [move_letters(int(state["record"][j]))] + ["pass"] * passes
    if moves:
        parts.append(f"play {' '.join(moves)}")
    return parts


def history_words(state: Row, rules: int) -> str:
    """Return one history: all three hands as dealt, the bottom, the calls and the moves."""
    hands = [f"P{seat} dealt {_cards(_dealt_hand(state, seat))}" for seat in range(3)]
    return " | ".join([*hands, f"bottom {_cards(int(state['bottom']))}", *_line(state, rules)])


def infoset_words(state: Row, player: int, rules: int) -> str:
    """Return what a player knows: its cards as dealt, the bottom where it is shown, calls and moves."""
    parts = [f"P{player} dealt {_cards(_dealt_hand(state, player))}"]
    if not rules & BY_BID or state["landlord"] != NO_SEAT:
        parts.append(f"bottom {_cards(int(state['bottom']))}")
    return " | ".join([*parts, *_line(state, rules)])


def refusal_words(state: Row, number: int, action: int) -> str:
    """Return why a call or a move, the `number`-th of a line, is not legal at a state where it is not."""
    what = f"call {number}" if action >= CALLS else f"move {number}"
    word = _CALL_NAMES[action - CALLS] if action >= CALLS else move_letters(action)
    said = f'{what}, "{word}" of seat {state["player"]},'
    bidding = state["landlord"] == NO_SEAT
    if state["player"] < 0 or (action >= CALLS and not bidding):
        ended = "auction" if action >= CALLS else "round"
        return f'{what}, "{word}", comes after the end of the {ended}; end there'
    if action >= CALLS:
        higher = [name for call, name in enumerate(_CALL_NAMES) if call > state["bid"]]
        return f"{said} is not above {state['bid']}; call {' or '.join([*higher, 'pass'])}"
    if action == PASS:
        return f"{said} is no lead; who leads plays cards"
    hand, beat = state["hand"][state["player"]], int(state["beat"])
    if np.any(count_ranks(move_table().cards[action].astype(np.uint64)) > count_ranks(hand)):
        return f"{said} is not in its hand, {_cards(int(hand))}; play what it holds"
    return f'{said} does not beat "{move_letters(beat)}"; {_what_beats(beat)}'


def _what_beats(move: int) -> str:
    """Return in words what may be played on a move."""
    head = int(move_table().heads[move])
    kind, links = head & 255, head >> 16 & 255
    if kind == ROCKET:
        return "nothing does, so pass"
    higher = f"play a higher {KIND_NAMES[kind]}{' as long' if links > 1 else ''}"
    return f"{higher}{'' if kind == BOMB else ', a bomb'}, the rocket or pass"


def read_infoset(text: str, rules: int) -> Known:
    """Return what a line of words (see `infoset_words`) says that a player knows, after the deal.

    Cards may come in any order and case. That the calls and moves are legal is left to be seen.
    Raises GameError if the line or one of its cards cannot be read.
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
            'doudizhu: an infoset reads like "P1 dealt 34567… | bottom 3TR | play 445566 pass", after the '
            f"deal; got {text[:80]!r}"
        )
    player = int(first[1])
    own, bottom = _counts(first[2]), _counts(rest["bottom"])
    calls = []
    for word in rest["calls"].lower().split():
        if word not in _CALL_NAMES:
            raise GameError(f"doudizhu: a call is pass, 1, 2 or 3; got {word!r}")
        calls.append(_CALL_NAMES.index(word))
    if calls and not rules & BY_BID:
        raise GameError("doudizhu: seat 0 is the landlord without an auction; leave the calls out")
    moves = [move_number(word) for word in rest["play"].split()]
    dealt = (rules & 15) + 2
    landlord = landlord_after(dealt, tuple(calls), rules)
    if bool(rest["bottom"]) != (landlord is not None):
        raise GameError(f"doudizhu: the bottom is shown once there is a landlord; got {text[:80]!r}")
    if moves and landlord is None:
        raise GameError(f"doudizhu: nobody plays before there is a landlord; got {text[:80]!r}")
    shown = bottom if landlord is not None else None
    return Known(player, dealt, own, shown, tuple(calls), landlord, tuple(moves))


def _counts(text: str) -> Ints:
    packed = 0 if text in ("-", "") else read_multiset(text)
    return np.array([packed >> 4 * rank & 15 for rank in range(NUM_RANKS)], np.int64)
