"""Words as a choice: what people and language models may say of moves and seats."""

from __future__ import annotations

import re
from collections import Counter

from games.guandan.cards import CARD_NAMES
from gs2.guandan.table.seat import AgentError, Observation
from gs2.guandan.table.selection import why_not

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
_KINDS = {name.replace(" ", ""): kind for name, kind in KIND_WORDS.items()}
_SIGNS = str.maketrans("♠♥♣♦", "SHCD", "*★")
"""What is copied from the screen is read as it is typed."""
WILD = re.compile(r"\([^()]* as [^()]*\)")
"""What the screen says of wild cards."""
_COUNT = re.compile(r"\(?\bof (\d+)\b(?: cards\b)?\)?")
_JOKERS = {
    "B": re.compile(r"\b(?:small|black) jokers?\b", re.I),
    "R": re.compile(r"\b(?:big|red) jokers?\b", re.I),
}


def seat_words(seat: int) -> dict[int, str]:
    """Return what a player calls each seat: you, next, partner, previous."""
    return {seat: "you", (seat + 1) % 4: "next", (seat + 2) % 4: "partner", (seat + 3) % 4: "previous"}


def kinds_called(name: str) -> set[str]:
    """Return the types that a name means: that of just this name, else those of all names that begin so."""
    begun = "".join(name.lower().split())
    if begun in _KINDS:
        return {_KINDS[begun]}
    return {kind for whole, kind in _KINDS.items() if whole.startswith(begun)}


def read_choice(text: str, observation: Observation) -> int:
    """Return the index that `text` names: an index, `PASS`, a type and rank (`Pair 6`), or cards (`S6 D6`).

    A choice as the screen shows it is one too: `bomb 6 (of 4)`, `single small joker`.
    Of several moves with one type and rank the first listed is taken; cards settle it.
    Raises AgentError, saying what is possible, if no choice is named.
    """
    return named_choices(text, observation)[0]


def named_choices(text: str, observation: Observation) -> list[int]:
    """Return the indices of all choices that `text` names, one at least; see `read_choice`.

    Raises AgentError if it names none; where it names cards, saying why these are no choice.
    """
    actions = observation.actions
    line = text.strip()
    if re.fullmatch(r"-?\d+", line):
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
    why = why_not(observation, words) if words and set(words) <= set(CARD_NAMES) else None
    if why is not None:
        raise AgentError(why.text())
    raise AgentError(
        f"no choice is called {line[:60]!r}; give an index 0..{len(actions) - 1}, PASS, a type and rank "
        "(Pair 6), or the cards (S6 D6)"
    )
