"""Cards that a person has picked, and words: which choices they make, and if none, why not.

Shared by every seat for people and language models, in the terminal and in the browser.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import GameError
from games.guandan.cards import (
    BOMB,
    CARD_NAMES,
    FOUR_KINGS,
    PASS,
    RANKS,
    STRAIGHT_FLUSH,
    TYPE_NAMES,
    pack,
    parse_cards,
    unpack,
    wild_card,
)
from games.guandan.combos import beats
from games.guandan.notation import action_list, move_groups
from games.guandan.rounds.playout import legal_moves
from gs2.guandan.table.seat import AgentError, Observation


@dataclass(frozen=True)
class Reason:
    """Why some cards are no choice.

    code: none_selected; not_held {cards}; no_combination; wrong_type {need}, the type to beat; wrong_count
    {need}, the number of cards that beat it; too_low {beat}, the move to beat; must_lead, where one cannot
    pass; card_not_allowed {stage, cards}, the cards allowed; not_your_turn; not_offered, by a server whose
    rules are not ours.
    details: what the code has in braces, as plain data.
    """

    code: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, **self.details}

    def text(self) -> str:
        say = self.details
        if self.code == "not_held":
            return f"You hold none, or too few, of {' '.join(say['cards'])}."
        if self.code == "wrong_type":
            if say["need"] in ("Bomb", "StraightFlush"):
                return "Only a higher bomb beats a bomb."
            return f"To beat it play a higher {KIND_NAMES[say['need']]}, or a bomb."
        if self.code == "wrong_count":
            count = "one card is" if say["need"] == 1 else f"{say['need']} cards are"
            return f"These cards make no combination; {count} needed, or a bomb."
        if self.code == "too_low":
            if say["beat"][0] == "FourKings":
                return "Nothing beats the joker bomb."
            return f"Too low: the move to beat is {move_text(say['beat'])}."
        if self.code == "card_not_allowed":
            what = "Pay your highest card" if say["stage"] == "tribute" else "Return a card of at most ten"
            return f"{what}: one of {' '.join(say['cards'])}."
        return _PLAIN[self.code]


_PLAIN = {
    "none_selected": "No cards are picked.",
    "no_combination": "These cards make no combination.",
    "must_lead": "You lead, so you cannot pass.",
    "not_your_turn": "It is not your turn.",
    "not_offered": "The server does not offer this move.",
}


def _packed(cards: Sequence[str]) -> NDArray[np.uint64] | None:
    """Return the cards as a packed multiset, [2] uint64; None if there are no such cards."""
    try:
        packed: NDArray[np.uint64] = pack(parse_cards(list(cards)))
    except GameError:
        return None
    return packed


def fitting(moves: NDArray[np.void], cards: Sequence[str]) -> list[int]:
    """Return the indices of the choices that use exactly these cards; no cards name no choice.

    moves: [m] ACTION. cards: names, in any order. Names that are no cards fit nothing.
    """
    packed = _packed(cards) if len(cards) else None
    if packed is None:
        return []
    return [int(i) for i in np.flatnonzero((moves["lo"] == packed[0]) & (moves["hi"] == packed[1]))]


def why_not(observation: Observation | None, cards: Sequence[str]) -> Reason | None:
    """Return why these cards are none of a seat's choices; None if they are one.

    observation: of the seat; None when it is not to act. cards: names in any order; `["PASS"]` asks about
        passing.
    """
    if observation is None:
        return Reason("not_your_turn")
    moves = observation.moves
    if list(cards) == ["PASS"]:
        return None if np.any(moves["type"] == PASS) else Reason("must_lead")
    if not len(cards):
        return Reason("none_selected")
    if fitting(moves, cards):
        return None
    missing = Counter(cards) - Counter(observation.hand)
    if missing:
        return Reason("not_held", {"cards": sorted(missing.elements())})
    if observation.stage != "play":
        allowed = list(dict.fromkeys(str(move[2][0]) for move in observation.actions))
        return Reason("card_not_allowed", {"stage": observation.stage, "cards": allowed})
    return _why_no_move(observation, cards)


def _why_no_move(observation: Observation, cards: Sequence[str]) -> Reason:
    """Return why cards that the seat holds are not among its moves."""
    state = observation.state
    level, beat = int(state["level"][0]), state["beat"]
    packed = _packed(cards)
    assert packed is not None
    made = legal_moves(packed[None], level).values
    made = made[fitting(made, cards)]
    greater = observation.greater
    if greater is None:
        return Reason("not_offered" if len(made) else "no_combination")
    need = int(beat["type"][0])
    if not len(made):
        size = int(beat["size"][0])
        if len(cards) != size and need < STRAIGHT_FLUSH:
            return Reason("wrong_count", {"need": size})
        return Reason("no_combination")
    if np.any(beats(made, beat, level)):
        return Reason("not_offered")
    # a bomb that does not beat it is a lower bomb
    if need == FOUR_KINGS or np.any(np.isin(made["type"], (need, STRAIGHT_FLUSH, BOMB))):
        return Reason("too_low", {"beat": greater[1]})
    return Reason("wrong_type", {"need": TYPE_NAMES[need]})


def wild_words(action: np.void, level: int) -> str | None:
    """Return which card each wild card of a move stands for, "H5 as 6" or "H5 as C6" in a straight flush.

    action: one ACTION. level: rank code of the round. None if no wild card stands for another card. Two are
    told one after the other: "H5 as 6, H5 as 7".
    """
    kind = int(action["type"])
    if kind in (PASS, FOUR_KINGS) or kind > FOUR_KINGS:
        return None
    wild = CARD_NAMES[wild_card(level)]
    _, _, cards = action_list(action, level)
    suits = {card[0] for card in cards if card != wild} if kind == STRAIGHT_FLUSH else set()
    suit = suits.pop() if suits else ""
    counts = unpack(np.array([action["lo"], action["hi"]], np.uint64))
    slots = [RANKS[rank] for rank, size in move_groups(action, counts, level) for _ in range(size)]
    if len(cards) != len(slots):
        return None  # a server's move at another level than we know of, or none at all
    words = [
        f"{wild} as {suit}{rank}"
        for card, rank in zip(cards, slots, strict=True)
        if card == wild and (rank != RANKS[level] or suit not in ("", "H"))
    ]
    return ", ".join(words) or None


KIND_WORDS = {
    "single": "Single",
    "pair": "Pair",
    "trips": "Trips",
    "tube": "ThreePair",
    "three pair": "ThreePair",
    "full house": "ThreeWithTwo",
    "three with two": "ThreeWithTwo",
    "plate": "TwoTrips",
    "two trips": "TwoTrips",
    "straight": "Straight",
    "straight flush": "StraightFlush",
    "flush": "StraightFlush",
    "bomb": "Bomb",
    "joker bomb": "FourKings",
    "four kings": "FourKings",
}
"""The type that each name means, of several the one that the screen shows first; spaces may be left out."""
KIND_NAMES = {kind: name for name, kind in reversed(KIND_WORDS.items())}
_KINDS = {name.replace(" ", ""): kind for name, kind in KIND_WORDS.items()}
_SIGNS = str.maketrans("♠♥♣♦♤♡♧♢", "SHCDSHCD", "*★\ufe0e\ufe0f")
"""What is copied from the screen is read as it is typed, and so are the signs of keyboards with pictures."""
WILD = re.compile(r"\([^()]* as [^()]*\)")
"""What the screen says of wild cards."""
_COUNT = re.compile(r"\(?\bof (\d+)\b(?: cards\b)?\)?")
_JOKERS = {
    "B": re.compile(r"\b(?:small|black) jokers?\b", re.I),
    "R": re.compile(r"\b(?:big|red) jokers?\b", re.I),
}


def move_text(move: Sequence[Any]) -> str:
    """Return a move `[type, rank, cards]` as a player would say it: "Pair 9 (S9 D9)", "Pass"."""
    kind, rank, cards = move
    if kind == "PASS":
        return "Pass"
    name = f"Bomb of {len(cards)}" if kind == "Bomb" else KIND_NAMES[kind].capitalize()
    return f"{name}{'' if kind == 'FourKings' else ' ' + rank} ({' '.join(cards)})"


def seat_words(seat: int) -> dict[int, str]:
    """Return what a player calls each seat: you, next, partner, previous."""
    return {seat: "you", (seat + 1) % 4: "next", (seat + 2) % 4: "partner", (seat + 3) % 4: "previous"}


def kinds_called(name: str) -> set[str]:
    """Return the types that a name means: that of just this name, else those of all names that begin so."""
    begun = "".join(name.lower().split())
    if begun in _KINDS:
        return {_KINDS[begun]}
    return {kind for whole, kind in _KINDS.items() if whole.startswith(begun)}


def named_choices(text: str, observation: Observation) -> list[int]:
    """Return the indices of all choices that `text` names, one at least.

    It names an index, `PASS`, a type and rank (`Pair 6`), or cards (`S6 D6`). A choice as the screen shows it
    is one too: `bomb 6 (of 4)`, `single small joker`.
    Raises AgentError if it names none; where it names cards, saying why these are no choice.
    """
    actions = observation.actions
    line = text.strip()
    if re.fullmatch(r"-?\d{1,9}", line):
        index = int(line)
        if 0 <= index < len(actions):
            return [index]
        raise AgentError(f"an index lies in 0..{len(actions) - 1}; got {index}")
    signs = WILD.sub(" ", line.translate(_SIGNS))
    count = _COUNT.search(signs)
    signs = _COUNT.sub(" ", signs)
    for joker, spelled in _JOKERS.items():
        signs = spelled.sub(joker, signs)
    words = re.sub(r"[\[\]\"'(),]+", " ", signs).upper().replace("10", "T").split()
    # the six of spades is S6, and 6S to some
    words = [word[::-1] if re.fullmatch(r"[2-9TJQKA][SHCD]", word) else word for word in words]
    if words and words[0] in ("PASS", "P"):
        passes = [index for index, move in enumerate(actions) if move[0] == "PASS"]
        if passes:
            return passes[:1]
        raise AgentError("you lead, so there is no pass; choose a move")
    kind = None
    called = (n for n in (3, 2, 1) if len(words) >= n and "".join(words[:n]).lower() in _KINDS)
    size = next(called, 0)
    if size:
        kind = _KINDS["".join(words[:size]).lower()]
        del words[:size]
    elif words and words[0] in ("TRIBUTE", "BACK", "PAY", "RETURN"):
        words = words[-1:]
    rank = words.pop(0) if words and len(words[0]) == 1 else None
    cards = Counter(words)
    found = [
        index
        for index, move in enumerate(actions)
        if move[0] != "PASS"
        and (kind is None or move[0] == kind)
        and (rank is None or move[1] == rank)
        and (not cards or Counter(move[2]) == cards)
        and (count is None or len(move[2]) == int(count[1]))
        and (kind or rank or cards)
    ]
    if found:
        return found
    if line.isupper():  # copied from a screen, where what stands in brackets is in small letters
        with suppress(AgentError):
            return named_choices(line.lower(), observation)
    why = why_not(observation, words) if words and set(words) <= set(CARD_NAMES) else None
    if why is not None:
        raise AgentError(why.text())
    raise AgentError(
        f"no choice is called {line[:60]!r}; give an index 0..{len(actions) - 1}, PASS, a type and rank "
        "(Pair 6), or the cards (S6 D6)"
    )
