"""One position as a line of JSON: what everybody sees, and one seat's hand or all four.

Read, every field but `hand` (or `hands`) and `level` may be missing, except `order` once both teams have
somebody out. A level is a text, "2".."A", or one of the numbers 2..10. A position may instead give its
`record`, the moves so far from the first lead; it is then replayed and names the exact infoset. `acts`
sums up what a record would tell of the hidden hands: what each seat passed on, led and followed with.
`fails` makes it part of a match, of which `rules` are what counts at level A: a preset's name or switches.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import TERMINAL, GameError
from games.guandan.cards import (
    ACTION,
    CARD_NAMES,
    HAND_SIZE,
    NO_ACTION,
    NUM_CARDS,
    PASS,
    RANKS,
    TYPE_NAMES,
    as_level,
    hand_text,
    pack,
    parse_cards,
    unpack,
)
from games.guandan.combos import beats, combo_strength
from games.guandan.notation import action_list, parse_action
from games.guandan.rounds.state import (
    ACT_KINDS,
    ACT_PLACES,
    ACT_TYPES,
    NOBODY,
    STATE,
    action_words,
    begin_rounds,
    first_unplayable,
    play_all,
)
from games.guandan.rules import ace_rules, as_rules
from games.round_rows import views
from games.support.array_types import Bytes, Row, Rows

_LEVELS = RANKS[: RANKS.index("A") + 1]


def position_error(text: str) -> GameError:
    """Return the error for a position, about the field that `text` begins with."""
    return GameError(f"guandan: position: {text}")


def read_level(name: str, value: Any) -> int:
    """Return the rank code of a level as a position gives it: "2".."A", or one of the numbers 2..10.

    Raises GameError, naming the field, at anything else; rank codes are for Python alone.
    """
    number = isinstance(value, int) and not isinstance(value, bool)
    if isinstance(value, str) or number:
        try:
            return as_level(str(value))
        except GameError:
            pass
    raise position_error(
        f"{name}: a level must be one of {', '.join(_LEVELS)}, as a text or for 2..10 as a number; got "
        f"{value!r}"
    )


def check_level(row: Row) -> None:
    """Raise GameError unless the round of a state is played at its owner's level, or at one of the teams'."""
    level, levels, owner = RANKS[row["level"]], [RANKS[code] for code in row["levels"]], row["owner"]
    due = set(levels) if owner == NOBODY else {levels[owner]}
    if level not in due:
        whose = (
            "one of the levels of the teams" if owner == NOBODY else f"the level of its owner, team {owner}"
        )
        raise position_error(
            f"level must be {whose}, {' or '.join(sorted(due))}, where levels are {levels}; got {level!r}"
        )


def check_cards(hands: Bytes, played: Bytes, known: Bytes, left: Bytes, shown: NDArray[np.bool_]) -> None:
    """Raise GameError unless cards held, played and known to be held fit two decks and the numbers left.

    hands, played, known: [4, 54] counts. left: [4]. shown: [4], whether a seat's hand is given.
    """
    if np.any(hands.sum(0) + played.sum(0) > 2):
        raise position_error("two decks hold two of each card; hand and played hold one a third time")
    for seat in np.flatnonzero(shown):
        if left[seat] != hands[seat].sum():
            raise position_error(
                f"seat {seat} holds {hands[seat].sum()} cards, but left says {left[seat]}; make them agree"
            )
        if (wrong := known[seat] > hands[seat] + played[seat]).any():
            raise position_error(
                f"known gives seat {seat} more {CARD_NAMES[wrong.argmax()]} than it holds or has played; "
                "leave out what it never had"
            )
    # a known card counts as played once its owner has played one like it
    kept = np.maximum(known.astype(np.int64) - played, 0)
    kept[shown] = 0
    for seat in np.flatnonzero(kept.sum(1) > left):
        raise position_error(
            f"known says that seat {seat} still holds {kept[seat].sum()} cards, but left says {left[seat]}; "
            "leave out what it has played, or list it under played"
        )
    unseen = 2 - (hands + played).sum(0, dtype=np.int64)
    if (wrong := kept.sum(0) > unseen).any():
        raise position_error(
            "two decks hold two of each card; known, hand and played hold "
            f"{CARD_NAMES[wrong.argmax()]} a third time"
        )
    hidden = int(left[~shown].sum())
    if hidden > unseen.sum():
        raise position_error(
            f"left says that hidden hands have {hidden} cards, but only {unseen.sum()} of the 108 are "
            "neither in hand nor played"
        )


def finishing_order(given: Any, left: Bytes) -> list[int]:
    """Return the seats in the order in which they finished; at a round's end all four, the others last.

    given: what the position says; None if nothing, which tells enough while one team alone has seats out.
    Raises GameError if these are not the seats without cards, or cannot have finished so.
    """
    out = [seat for seat in range(4) if left[seat] == 0]
    staying = [seat for seat in range(4) if left[seat]]
    over = len({seat & 1 for seat in staying}) < 2
    if not staying:
        raise position_error(
            "left says that nobody holds a card; a round ends once both seats of a team are out"
        )
    if given is None:
        if len({seat & 1 for seat in out}) > 1:
            raise position_error(
                f"order must tell who finished first where seats {_listed(out)} are out; give it, "
                f"such as {out}"
            )
        given = out
    told = given if isinstance(given, list) else [given]
    finished, rest = told[: len(out)], told[len(out) :]
    whole = over and len(told) == 4 and set(rest) == set(staying)
    if set(finished) != set(out) or (rest and not whole):
        more = ", and may add the others" if over else ""
        raise position_error(
            f"order must list the seats that are out of cards by left{more}: {_listed(out)}; got {given!r}"
        )
    if len(out) == 3 and finished[0] & 1 == finished[1] & 1:
        raise position_error(
            f"order: seats {finished[0]} and {finished[1]} are a team, so the round ended before seat "
            f"{finished[2]} was out; got {given!r}"
        )
    return finished + (rest or staying) if over else finished


def passes_made(given: int | None, row: Row) -> int:
    """Return how many seats have passed since the move to beat was played, from who played it to who acts.

    given: what the position says, None if nothing. row: the state, whose left, leader and player are set.
    Raises GameError if it is another number, or if the player would have to beat its own move.
    """
    leader, player = int(row["leader"]), int(row["player"])
    if leader == NOBODY or player < 0:
        if leader == NOBODY and given:
            raise position_error(f"passes must be 0 where there is nothing to beat; got {given}")
        return given or 0
    if leader == player:
        raise position_error(
            f"leader must be another seat than player, who would have to beat its own move; got {leader} for "
            "both (leader and beat are null where the player leads)"
        )
    others = [seat % 4 for seat in range(leader + 1, leader + 4) if row["left"][seat % 4]]
    passes = others.index(player)
    if given not in (None, passes):
        raise position_error(
            f"passes must be {passes} where seat {player} is to act on a move of seat {leader}: so many "
            f"seats with cards sit between them; got {given}"
        )
    return passes


def _listed(seats: list[int]) -> str:
    return " and ".join(str(seat) for seat in seats) or "none"


def _places(level: int) -> dict[tuple[int, int], str]:
    """Return "Type rank" by (type code less one, place); of several ranks at a place the first."""
    found: dict[tuple[int, int], str] = {}
    for kind in range(1, ACT_TYPES + 1):
        for rank in range(len(RANKS)):
            place = combo_strength(kind, rank, 4, level) & 255
            found.setdefault((kind - 1, place), f"{TYPE_NAMES[kind]} {RANKS[rank]}")
    return found


def acts_text(acts: NDArray[np.uint64], level: int) -> list[dict[str, list[str]]]:
    """Return what each seat was seen to do, by kind, such as `{"passed": ["Single K"]}`.

    acts: [4, ACTS_SEEN // 64] of one state; level: rank code of its level.
    """
    names = _places(level)
    packed = np.ascontiguousarray(acts, "<u8").view(np.uint8)
    bits = np.unpackbits(packed, bitorder="little").reshape(4, len(ACT_KINDS), ACT_TYPES, ACT_PLACES)
    return [
        {
            kind: [names[(int(t), int(place))] for t, place in np.argwhere(done)]
            for kind, done in zip(ACT_KINDS, seat, strict=True)
            if done.any()
        }
        for seat in bits
    ]


def parse_acts(texts: Any, level: int) -> NDArray[np.uint64]:
    """Return the acts that `acts_text` describes, [4, ACTS_SEEN // 64] uint64.

    Raises GameError at anything else.
    """
    at = {name: key for key, name in _places(level).items()}
    bits = np.zeros((4, len(ACT_KINDS), ACT_TYPES, ACT_PLACES), np.uint8)
    if not isinstance(texts, list) or len(texts) != 4 or not all(isinstance(seat, dict) for seat in texts):
        raise GameError(f"guandan: acts must list what each of the four seats did; got {str(texts)[:60]}")
    for s, seat in enumerate(texts):
        for kind, done in seat.items():
            if kind not in ACT_KINDS or not isinstance(done, list):
                raise GameError(f"guandan: acts are lists under {', '.join(ACT_KINDS)}; got {kind!r}")
            for name in done:
                if name not in at:
                    raise GameError(f"guandan: an act is a type and a rank, such as 'Pair 9'; got {name!r}")
                bits[s, ACT_KINDS.index(kind), *at[name]] = 1
    acts: NDArray[np.uint64] = np.packbits(bits.reshape(4, -1), axis=1, bitorder="little").view("<u8")
    return acts


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


def _number(fields: dict[str, Any], name: str, top: int, default: int) -> int:
    value = fields.get(name, default)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or (not 0 <= value <= top and value != default):
        raise position_error(f"{name} must be an integer in 0..{top}; got {value!r}")
    return value


def _list(fields: dict[str, Any], name: str, n: int, default: list[Any] | None = None) -> list[Any]:
    """Return a field with an entry for each of n: the four seats, or both teams."""
    value = fields.get(name, default)
    if not isinstance(value, list) or len(value) != n:
        raise position_error(
            f"{name} must list {'the four seats' if n == 4 else 'both teams'}; got {value!r}"
        )
    return value


def _cards(name: str, cards: Any) -> Bytes:
    try:
        return parse_cards(cards)
    except GameError as error:
        raise position_error(f"{name}: {str(error).removeprefix('guandan: ')}") from error


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
    do not agree. What the engine writes of any state passes.
    """
    try:
        fields = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise position_error(f"must be one line of JSON; {error}") from None
    try:
        return _state_of(fields, text)
    except GameError:
        raise
    except (TypeError, ValueError, KeyError, IndexError, OverflowError, AttributeError) as error:
        raise position_error(
            f"a field holds something of another kind ({error}); got {text[:60]!r}"
        ) from error


def _state_of(fields: Any, text: str) -> tuple[Rows, int | None]:
    """Return what `parse_position` does of a position's fields."""
    if not isinstance(fields, dict) or fields.get("game", "guandan") != "guandan":
        raise position_error(f"must be an object with hand and level; got {text[:60]!r}")
    for name in fields:
        if name not in _START + _PROGRESS:
            raise position_error(
                f"there is no field {name!r}; the fields are {', '.join(_START + _PROGRESS)}"
            )
    if "record" in fields and (clash := set(fields) & set(_PROGRESS)):
        raise position_error(f"with a record there is no {', '.join(sorted(clash))}: replaying it tells them")
    if "level" not in fields or ("hand" in fields) == ("hands" in fields):
        raise position_error("must have level and either hand (one seat's view) or hands (all four)")
    level = read_level("level", fields["level"])
    seat = None if "hands" in fields else _number(fields, "seat", 3, 0)
    state = np.zeros(1, STATE)
    row = state[0]
    row["level"] = level
    row["levels"] = level
    if "levels" in fields:
        row["levels"] = [read_level("levels", name) for name in _list(fields, "levels", 2)]
    row["owner"] = _number(fields, "owner", 1, NOBODY)
    check_level(row)
    row["first"] = _number(fields, "first", 3, seat or 0)
    hands = np.zeros((4, NUM_CARDS), np.uint8)
    if seat is None:
        hands[:] = [_cards("hands", cards) for cards in _list(fields, "hands", 4, [])]
    else:
        hands[seat] = _cards("hand", fields["hand"])
    played = np.array([_cards("played", cards) for cards in _list(fields, "played", 4, [""] * 4)])
    default = [
        int(h.sum()) if seat in (None, s) else HAND_SIZE - int(p.sum())
        for s, (h, p) in enumerate(zip(hands, played, strict=True))
    ]
    row["left"] = [_number({"left": n}, "left", HAND_SIZE, 0) for n in _list(fields, "left", 4, default)]
    known = np.array([_cards("known", cards) for cards in _list(fields, "known", 4, [""] * 4)])
    shown = np.array([seat in (None, s) for s in range(4)])
    check_cards(hands, played, known, row["left"], shown)
    row["hand"], row["played"], row["known"] = pack(hands), pack(played), pack(known)
    row["cap"] = [_number({"cap": place}, "cap", 14, 14) for place in _list(fields, "cap", 4, [14] * 4)]
    row["leader"] = row["order"] = NOBODY
    if fields.get("fails") is None:
        row["fails"] = NOBODY
    else:
        row["fails"] = [_number({"fails": n}, "fails", NOBODY - 1, 0) for n in _list(fields, "fails", 2)]
    row["ace"] = as_rules(fields.get("rules", "ruling")).ace
    row["trick"]["type"] = row["last"]["type"] = NO_ACTION
    if "record" in fields:
        if not row["left"].all():
            raise position_error(
                f"left: a record begins with the round, where nobody is out; got {row['left'].tolist()}"
            )
        row["player"] = row["first"]
        begin_rounds(*views(state))
        _replay(state, seat, fields["record"], level)
        held, gone = unpack(row["hand"]), unpack(row["played"])
        check_cards(held, gone, known, row["left"], shown)
    else:
        _read_progress(state, fields, level, seat)
    return state, seat


def _replay(state: Rows, seat: int | None, record: Any, level: int) -> None:
    """Play the moves of `record` from the hands held at the start."""
    if not isinstance(record, list):
        raise position_error(f"record must be a list of moves; got {record!r}")
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
            raise position_error(
                f"record: move {k} must be {'a lead' if leads else 'PASS or beat the move before'}; "
                f"got {move!r} of seat {player}"
            )
        short = player >= 0 and action["size"][0] > state["left"][0, player]
        if player < 0 or short or first_unplayable(words, bytes_, action_words(action)) >= 0:
            raise position_error(f"record: seat {player} cannot play move {k}, {move!r}")
        play_all(words, bytes_, action_words(action))


def _read_progress(state: Rows, fields: dict[str, Any], level: int, seat: int | None) -> None:
    """Fill in trick, order and counters from the fields of a position."""
    row = state[0]
    order = finishing_order(fields.get("order"), row["left"])
    row["order"][: len(order)] = order
    row["finished"] = np.count_nonzero(row["left"] == 0)
    row["leader"] = _number(fields, "leader", 3, NOBODY)
    row["beat"] = _action(fields.get("beat"), level, PASS)[0]
    if (row["leader"] == NOBODY) != (row["beat"]["type"] == PASS):
        raise position_error("beat and leader, who played it, come together")
    over = len(order) == 4
    if over and fields.get("player") is not None:
        raise position_error(
            f"player must be null where the round is over, by left; got {fields['player']!r}"
        )
    row["player"] = TERMINAL if over else _number(fields, "player", 3, seat or 0)
    if not over and row["left"][row["player"]] == 0:
        raise position_error(f"player {row['player']} has no cards left")
    passes = None if fields.get("passes") is None else _number(fields, "passes", 2, 0)
    row["passes"] = passes_made(passes, row)
    for name in ("trick", "last"):
        row[name] = np.concatenate(
            [_action(move, level, NO_ACTION) for move in _list(fields, name, 4, [None] * 4)]
        )
    row["acts"] = parse_acts(fields.get("acts", [{}] * 4), level)
    for name, top in (("plays", 1000), ("tricks", 255)):
        row[name] = _number(fields, name, top, 0)
    begin_rounds(*views(state))
    if fields.get("key"):
        try:
            row["hash"] = np.frombuffer(bytes.fromhex(fields["key"]), ">u8").reshape(2)
        except (TypeError, ValueError):
            raise position_error(f"key must be 32 hexadecimal digits; got {fields['key']!r}") from None
    elif row["plays"] or row["played"].any() or row["leader"] != NOBODY:
        # no record, no key: the position itself is the infoset's name
        public = json.loads(position_text(row, seat or 0))
        text = json.dumps([public[name] for name in public if name not in ("seat", "hand", "key")])
        row["hash"] = np.frombuffer(hashlib.blake2b(text.encode(), digest_size=16).digest(), "<u8")
