"""What a seat knows of a round: read from its key, in words and back, and histories that agree with it.

Deals are drawn as chance has them. The unknown cards of each rank go to the two others and the bottom. How
many ways of the whole deal remain after each rank is summed backwards over the free places, so that each draw
needs no rejection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray

from games.climbing.doudizhu.move_table import (
    BOMB,
    KIND_NAMES,
    PASS,
    ROCKET,
    move_letters,
    move_number,
    move_table,
)
from games.climbing.doudizhu.multiset import (
    DECK_COPIES,
    NUM_RANKS,
    RANK_LETTERS,
    cards_text,
    count_ranks,
    read_multiset,
)
from games.climbing.doudizhu.round_state import BY_BID, CALLS, DEALS, MOST_PLAYS, NO_SEAT, ranks_dealt
from games.game import CHANCE, GameError
from games.ragged import Ragged
from games.support.array_types import Ints, Row
from games.support.kernel import kernel

__all__ = [
    "Known",
    "action_words",
    "history_words",
    "infoset_words",
    "known_from_key",
    "landlord_after",
    "read_infoset",
    "refusal_words",
    "sample_lines",
]

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


def known_from_key(key: tuple[int, ...], player: int, rules: int) -> Known:
    """Return what an infoset key (see `round_keys`) tells. rules: of `rule_code`."""
    words = [int(word) for word in key]
    dealt, called = words[0] >> 60, words[1] >> 59 & 7
    own = count_ranks(np.uint64(words[0] & (1 << 60) - 1)).astype(np.int64)
    bottom = np.array([words[1] >> 3 * rank & 7 for rank in range(NUM_RANKS)], np.int64)
    calls = tuple(words[1] >> 45 + 2 * k & 3 for k in range(called))
    landlord = landlord_after(dealt, calls, rules)
    shown: Ints | None = bottom if landlord is not None or not rules & BY_BID else None
    if landlord == player:
        own -= bottom
    moves: list[int] = []
    for j in range(MOST_PLAYS):
        move = words[2 + j // 4] >> 16 * (j % 4) & 0xFFFF
        if move == PASS:
            break
        moves += [move] + [PASS] * (words[15 + j // 32] >> 2 * (j % 32) & 3)
    return Known(player, dealt, own, shown, calls, landlord, tuple(moves))


def landlord_after(dealt: int, calls: tuple[int, ...], rules: int) -> int | None:
    """Return the landlord's seat after so many ranks dealt and these calls, None while there is none."""
    if not rules & BY_BID:
        return 0 if dealt == (rules & 15) + 2 else None
    if not any(calls):
        return None
    last = max(k for k, call in enumerate(calls) if call)
    over = calls[last] == 3 or len(calls) - last == 3
    return last % 3 if over else None


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


def sample_lines(known: Known, n: int, rng: np.random.Generator, rules: int) -> Ragged:
    """Return n histories that agree with what a seat knows, as their actions from the root.

    Each deal comes as often as chance has it among those that agree. Raises GameError if none does.
    """
    ranks = rules & 15
    dealt_ranks = np.array([ranks_dealt(rules, step) for step in range(known.dealt)], np.int64)
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
    size = (4 * ranks - 1) // 3
    shares = np.zeros((n, known.dealt, 2), np.int64)
    uniforms = rng.random((n, known.dealt))
    rooms = np.array([size, size, 3])
    if (copies < 0).any() or not _draw(needs, copies, rooms, uniforms, _FACTORIALS, shares):
        raise GameError(
            f"doudizhu: at least one deal must agree with what seat {known.player} knows; none does; "
            "check its "
            "cards, the bottom and the moves of the others"
        )
    given = np.zeros((n, known.dealt, 3), np.int64)
    given[:, :, known.player] = known.own[dealt_ranks]
    given[:, :, others[0]] = shares[:, :, 0]
    given[:, :, others[1]] = copies - shares.sum(2)
    splits = DEALS + given @ np.array([1, 5, 25])
    line = np.array([CALLS + call for call in known.calls] + list(known.moves), np.int64)
    actions = np.concatenate([splits, np.tile(line, (n, 1))], axis=1)
    return Ragged.from_counts(np.full(n, actions.shape[1]), actions.reshape(-1))


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
