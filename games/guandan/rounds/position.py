"""One position as a line of JSON: what everybody sees, and one seat's hand or all four.

Read, every field but `hand` (or `hands`) and `level` may be missing. A position may instead give its
`record`, the moves so far from the first lead; it is then replayed and names the exact infoset. `acts`
sums up what a record would tell of the hidden hands: what each seat passed on, led and followed with.
`fails` makes it part of a match, of which `rules` are what counts at level A: a preset's name or switches.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from games.game import TERMINAL, GameError
from games.guandan.cards import (
    ACTION,
    HAND_SIZE,
    NO_ACTION,
    NUM_CARDS,
    PASS,
    RANKS,
    as_level,
    hand_text,
    pack,
    parse_cards,
    unpack,
)
from games.guandan.combos import beats
from games.guandan.notation import action_list, parse_action
from games.guandan.rounds.acts import acts_text, parse_acts
from games.guandan.rounds.state import (
    NOBODY,
    STATE,
    action_words,
    begin_rounds,
    first_unplayable,
    play_all,
    views,
)
from games.guandan.rules import ace_rules, as_rules
from games.support.array_types import Row, Rows

__all__ = ["parse_position", "position_text"]

_START = (
    "game",
    "seat",
    "level",
    "levels",
    "owner",
    "fails",
    "rules",
    "first",
    "hand",
    "hands",
    "left",
    "known",
    "cap",
    "record",
)
_PROGRESS = (
    "player",
    "played",
    "order",
    "leader",
    "beat",
    "passes",
    "trick",
    "last",
    "acts",
    "plays",
    "tricks",
    "key",
)


def _move(action: Row, level: int) -> Any:
    if action["type"] == NO_ACTION:
        return None
    return "PASS" if action["type"] == PASS else action_list(action, level)


def _seat(value: Any) -> int | None:
    return None if value == NOBODY else int(value)


def position_text(state: Row, seat: int | None = None) -> str:
    """Return what `seat` knows at one state, or all there is if None, as a line of JSON.

    `key` is the hash of the public record, so that two ways to one position stay two infosets.
    """
    level = int(state["level"])
    cards = {
        name: [hand_text(counts, level) for counts in unpack(state[name])]
        for name in ("hand", "played", "known")
    }
    fields: dict[str, Any] = {"game": "guandan"}
    if seat is not None:
        fields |= {"seat": seat}
    fields |= {
        "level": RANKS[level],
        "levels": [RANKS[r] for r in state["levels"]],
        "owner": _seat(state["owner"]),
        "fails": None if state["fails"][0] == NOBODY else state["fails"].tolist(),
    }
    if state["ace"]:
        fields |= {"rules": ace_rules(int(state["ace"])).changes()}
    fields |= {
        "first": int(state["first"]),
        "player": None if state["player"] == TERMINAL else int(state["player"]),
    }
    fields |= {"hands": cards["hand"]} if seat is None else {"hand": cards["hand"][seat]}
    fields |= {
        "left": state["left"].tolist(),
        "played": cards["played"],
        "order": [int(s) for s in state["order"] if s != NOBODY],
        "leader": _seat(state["leader"]),
        "beat": None if state["leader"] == NOBODY else _move(state["beat"], level),
        "passes": int(state["passes"]),
        "trick": [_move(action, level) for action in state["trick"]],
        "last": [_move(action, level) for action in state["last"]],
        "known": cards["known"],
        "cap": state["cap"].tolist(),
        "acts": acts_text(state["acts"], level),
        "plays": int(state["plays"]),
        "tricks": int(state["tricks"]),
        "key": "".join(f"{int(word):016x}" for word in state["hash"]),
    }
    return json.dumps(fields, separators=(",", ":"))


def _wrong(text: str) -> GameError:
    return GameError(f"guandan: position: {text}")


def _number(fields: dict[str, Any], name: str, top: int, default: int) -> int:
    value = fields.get(name, default)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or (not 0 <= value <= top and value != default):
        raise _wrong(f"{name} must be an integer in 0..{top}; got {value!r}")
    return value


def _four(fields: dict[str, Any], name: str, default: list[Any]) -> list[Any]:
    value = fields.get(name, default)
    if not isinstance(value, list) or len(value) != 4:
        raise _wrong(f"{name} must list the four seats; got {value!r}")
    return value


def _action(move: Any, level: int, none: int) -> Rows:
    if move is None:
        action = np.zeros(1, ACTION)
        action["type"] = none
        return action
    return parse_action(move, level)


def parse_position(text: str) -> tuple[Rows, int | None]:
    """Return the state that `text` describes, [1] STATE, and whose view it is (None: all hands).

    Hidden hands are empty in the state, whatever `left` says: sample them with `determinise`.
    Raises GameError, naming the field, at bad JSON, an unknown field, a bad card or move, or numbers that
    do not agree.
    """
    try:
        fields = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise _wrong(f"must be one line of JSON; {error}") from None
    try:
        return _state_of(fields, text)
    except GameError:
        raise
    except (TypeError, ValueError, KeyError, IndexError, OverflowError, AttributeError) as error:
        raise _wrong(f"a field holds something of another kind ({error}); got {text[:60]!r}") from error


def _state_of(fields: Any, text: str) -> tuple[Rows, int | None]:
    """Return what `parse_position` does of a position's fields."""
    if not isinstance(fields, dict) or fields.get("game", "guandan") != "guandan":
        raise _wrong(f"must be an object with hand and level; got {text[:60]!r}")
    for name in fields:
        if name not in _START + _PROGRESS:
            raise _wrong(f"there is no field {name!r}; the fields are {', '.join(_START + _PROGRESS)}")
    if "record" in fields and (clash := set(fields) & set(_PROGRESS)):
        raise _wrong(f"with a record there is no {', '.join(sorted(clash))}: replaying it tells them")
    if "level" not in fields or ("hand" in fields) == ("hands" in fields):
        raise _wrong("must have level and either hand (one seat's view) or hands (all four)")
    level = as_level(fields["level"])
    seat = None if "hands" in fields else _number(fields, "seat", 3, 0)
    state = np.zeros(1, STATE)
    row = state[0]
    row["level"] = level
    row["levels"] = [as_level(name) for name in fields.get("levels", [level, level])]
    row["owner"] = _number(fields, "owner", 1, NOBODY)
    row["first"] = _number(fields, "first", 3, seat or 0)
    hands = np.zeros((4, NUM_CARDS), np.uint8)
    if seat is None:
        hands[:] = [parse_cards(cards) for cards in _four(fields, "hands", [])]
    else:
        hands[seat] = parse_cards(fields["hand"])
    played = np.array([parse_cards(cards) for cards in _four(fields, "played", [""] * 4)])
    if np.any(hands.sum(0) + played.sum(0) > 2):
        raise _wrong("two decks hold two of each card; hand and played hold one a third time")
    default = [
        int(h.sum()) if seat in (None, s) else HAND_SIZE - int(p.sum())
        for s, (h, p) in enumerate(zip(hands, played, strict=True))
    ]
    row["left"] = [_number({"left": n}, "left", HAND_SIZE, 0) for n in _four(fields, "left", default)]
    for s in range(4):
        if seat in (None, s) and row["left"][s] != hands[s].sum():
            raise _wrong(f"seat {s} holds {hands[s].sum()} cards, but left says {row['left'][s]}")
    row["hand"], row["played"] = pack(hands), pack(played)
    row["known"] = pack([parse_cards(cards) for cards in _four(fields, "known", [""] * 4)])
    row["cap"] = [_number({"cap": place}, "cap", 14, 14) for place in _four(fields, "cap", [14] * 4)]
    row["leader"] = row["order"] = NOBODY
    if fields.get("fails") is None:
        row["fails"] = NOBODY
    elif not isinstance(fields["fails"], list) or len(fields["fails"]) != 2:
        raise _wrong(f"fails must list both teams' failures at A; got {fields['fails']!r}")
    else:
        row["fails"] = [_number({"fails": n}, "fails", 9, 0) for n in fields["fails"]]
    row["ace"] = as_rules(fields.get("rules", "ruling")).ace
    row["trick"]["type"] = row["last"]["type"] = NO_ACTION
    if "record" in fields:
        row["player"] = row["first"]
        begin_rounds(*views(state))
        _replay(state, seat, fields["record"], level)
    else:
        _read_progress(state, fields, level, seat)
    return state, seat


def _replay(state: Rows, seat: int | None, record: Any, level: int) -> None:
    """Play the moves of `record` from the hands held at the start."""
    if not isinstance(record, list):
        raise _wrong(f"record must be a list of moves; got {record!r}")
    for k, move in enumerate(record):
        action = parse_action(move, level)
        player = int(state["player"][0])
        if player >= 0 and seat not in (None, player):
            # a hidden hand: lend it the cards it shows
            state["hand"][0, player] += np.array([action["lo"][0], action["hi"][0]], np.uint64)
        words, bytes_ = views(state)
        leads = state["leader"][0] == NOBODY
        passes = action["type"][0] == PASS
        if passes if leads else not (passes or beats(action, state["beat"], level)[0]):
            raise _wrong(
                f"record: move {k} must be {'a lead' if leads else 'PASS or beat the move before'}; "
                f"got {move!r} of seat {player}"
            )
        if player < 0 or first_unplayable(words, bytes_, action_words(action)) >= 0:
            raise _wrong(f"record: seat {player} cannot play move {k}, {move!r}")
        play_all(words, bytes_, action_words(action))


def _read_progress(state: Rows, fields: dict[str, Any], level: int, seat: int | None) -> None:
    """Fill in trick, order and counters from the fields of a position."""
    row = state[0]
    order = fields.get("order", [s for s in range(4) if row["left"][s] == 0])
    if not isinstance(order, list) or len(set(order)) < len(order) or not set(order) <= {0, 1, 2, 3}:
        raise _wrong(f"order must list the seats that finished; got {order!r}")
    row["order"][: len(order)] = order
    row["finished"] = np.count_nonzero(row["left"] == 0)
    row["leader"] = _number(fields, "leader", 3, NOBODY)
    row["beat"] = _action(fields.get("beat"), level, PASS)[0]
    if (row["leader"] == NOBODY) != (row["beat"]["type"] == PASS):
        raise _wrong("beat and leader, who played it, come together")
    over = any(row["left"][team] == row["left"][team + 2] == 0 for team in range(2))
    row["player"] = TERMINAL if over else _number(fields, "player", 3, seat or 0)
    if not over and row["left"][row["player"]] == 0:
        raise _wrong(f"player {row['player']} has no cards left")
    for name in ("trick", "last"):
        row[name] = np.concatenate(
            [_action(move, level, NO_ACTION) for move in _four(fields, name, [None] * 4)]
        )
    row["acts"] = parse_acts(fields.get("acts", [{}] * 4), level)
    for name, top in (("passes", 3), ("plays", 1000), ("tricks", 255)):
        row[name] = _number(fields, name, top, 0)
    begin_rounds(*views(state))
    if fields.get("key"):
        try:
            row["hash"] = [int(fields["key"][k : k + 16], 16) for k in (0, 16)]
        except (TypeError, ValueError):
            raise _wrong(f"key must be 32 hexadecimal digits; got {fields['key']!r}") from None
    elif row["plays"] or row["played"].any() or row["leader"] != NOBODY:
        # no record, no key: the position itself is the infoset's name
        public = json.loads(position_text(row, seat or 0))
        text = json.dumps([public[name] for name in public if name not in ("seat", "hand", "key")])
        row["hash"] = np.frombuffer(hashlib.blake2b(text.encode(), digest_size=16).digest(), "<u8")
