"""An observation in words, and words as a choice: what people and language models share."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from games.guandan.cards import CARD_NAMES
from gs2.guandan.table.seat import AgentError, Observation
from gs2.guandan.table.seated import Seated
from gs2.guandan.table.selection import why_not

__all__ = [
    "KIND_WORDS",
    "RULES",
    "LanguageAgent",
    "choice_text",
    "describe",
    "kinds_called",
    "more_words",
    "move_words",
    "named_choices",
    "read_choice",
    "seat_words",
    "shown_choices",
]

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
_WILD = re.compile(r"\([^()]* as [^()]*\)")
_COUNT = re.compile(r"\(?\bof (\d+)\b(?: cards\b)?\)?")
_JOKERS = {
    "B": re.compile(r"\b(?:small|black) jokers?\b", re.I),
    "R": re.compile(r"\b(?:big|red) jokers?\b", re.I),
}


def move_words(move: Any) -> str:
    """Return a move as people write it: `Pair 6 (S6 D6)`, `PASS`."""
    kind, rank, cards = move
    if kind == "PASS":
        return "PASS"
    if kind in ("tribute", "back"):
        return f"{'pay' if kind == 'tribute' else 'return'} {cards[0]}"
    return f"{kind} {rank} ({' '.join(cards)})"


def shown_choices(observation: Observation, limit: int = 60) -> list[int]:
    """Return the indices of the choices to list; of a long list one of each type and rank."""
    actions = observation.actions
    if len(actions) <= limit:
        return list(range(len(actions)))
    first: dict[tuple[str, str], int] = {}
    for index, (kind, rank, _) in enumerate(actions):
        first.setdefault((str(kind), str(rank)), index)
    return list(first.values())[:limit]


def choice_text(observation: Observation, limit: int = 60) -> str:
    """Return the choices, one a line with its index; a long list keeps one of each type and rank."""
    actions = observation.actions
    shown = shown_choices(observation, limit)
    lines = [f"{index:5d}  {move_words(actions[index])}" for index in shown]
    if len(shown) < len(actions):
        lines.append(f"       {more_words(len(actions) - len(shown))}")
    return "\n".join(lines)


def more_words(count: int) -> str:
    """Return that a list goes on."""
    return f"… and {count} more; any may be named by its cards"


def seat_words(seat: int) -> dict[int, str]:
    """Return what a player calls each seat: you, next, partner, previous."""
    return {seat: "you", (seat + 1) % 4: "next", (seat + 2) % 4: "partner", (seat + 3) % 4: "previous"}


def describe(observation: Observation) -> str:
    """Return the situation in a few lines: cards, levels, who holds how many, the trick so far."""
    seat = observation.seat
    names = seat_words(seat)
    own, other = observation.levels
    lines = [
        f"Level {observation.level} (your team {own}, opponents {other}); wild cards: H{observation.level}",
        f"Your hand ({len(observation.hand)}): {' '.join(observation.hand)}",
    ]
    if observation.tributes:
        paid = ", ".join(f"{names[a]} gave {names[b]} {card}" for a, b, card in observation.tributes)
        back = ", ".join(f"{names[a]} gave {names[b]} {card}" for a, b, card in observation.returns)
        lines.append(f"Tribute: {paid}" + (f"; returned: {back}" if back else ""))
    if observation.stage == "tribute":
        lines.append("Pay tribute: choose one of your highest cards.")
    elif observation.stage == "back":
        lines.append("Return a card to the player who paid you tribute.")
    else:
        trick = observation.trick
        for who in ((seat + 1) % 4, (seat + 2) % 4, (seat + 3) % 4):
            played = "" if trick[who] is None else f", played {move_words(trick[who])}"
            rest = observation.rest[who]
            lines.append(f"{names[who].capitalize()} (seat {who}): {rest} card{'s' * (rest != 1)}{played}")
        if observation.greater is None:
            lines.append("You lead.")
        else:
            who, move = observation.greater
            lines.append(f"To beat: {move_words(move)} by {names[who]}")
    return "\n".join(lines)


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
    signs = _WILD.sub(" ", line.translate(_SIGNS))
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


logger = logging.getLogger("gs2.guandan.table")

RULES = """You play GuanDan, a four-player card game with two decks; your partner sits opposite.
Be rid of your cards first. Cards are suit and rank (S6 is the six of spades, T a ten), SB and HR the small
and the big joker. Single cards, pairs, trips and full houses rank 2 < ... < A < the level card < SB < HR.
Hearts of the level are wild. A move is beaten by a higher one of its type or by a bomb: four or more of a
rank, more cards beating fewer, straight flushes between five and six cards, four jokers the highest.
Do not beat your partner without need."""


class LanguageAgent:
    """Asks a language model for each decision.

    complete: returns the model's answer to a prompt; called in a thread or process of its own.
    retries: further tries after an answer that names no choice, which is told back to the model.
    fallback: plays when those are used up or `complete` raises; without one the first choice is taken.
    """

    name = "language model"

    def __init__(
        self,
        complete: Callable[[str], str],
        *,
        rules: str = RULES,
        retries: int = 2,
        fallback: Any = None,
    ) -> None:
        self.complete, self.rules, self.retries = complete, rules, retries
        self.fallback = None if fallback is None else Seated.of(fallback)

    def act(self, observation: Observation) -> int:
        """Return the model's choice, or the fallback's."""
        if len(observation.actions) == 1:
            return 0
        prompt = self.prompt(observation)
        for _ in range(1 + self.retries):
            try:
                answer = self.complete(prompt)
            except Exception as error:
                logger.warning("the language model failed: %s", error)
                break
            try:
                return self.read(answer, observation)
            except AgentError as error:
                prompt = f"{self.prompt(observation)}\n\nYour last answer was refused: {error}"
        return int(self.fallback.answers([observation])[0]) if self.fallback is not None else 0

    def prompt(self, observation: Observation) -> str:
        """Return what the model is asked."""
        return (
            f"{self.rules}\n\n{describe(observation)}\n\nChoices:\n{choice_text(observation)}\n\n"
            "Answer with the index of your choice alone on the last line."
        )

    def read(self, answer: str, observation: Observation) -> int:
        """Return the choice on the answer's last line that is not empty: an index, a move, or both.

        Raises AgentError if the line names none, or things that are not one and the same choice.
        """
        lines = [line.strip(" .") for line in re.sub(r"[*`]", "", answer).splitlines() if line.strip(" .")]
        if not lines:
            raise AgentError("the answer was empty; give an index")
        line = lines[-1]
        named = [set(named_choices(part, observation)) for part in _named(line) or [line]]
        found = set.intersection(*named)
        if not found:
            raise AgentError(f"{line[:60]!r} names more than one choice; give the index of one alone")
        return min(found)


_TYPE = "|".join(name.replace(" ", r"[\s_-]*") for name in sorted(KIND_WORDS, key=len, reverse=True))
_TYPE = f"(?i:{_TYPE})"
_CARD = r"\b(?:[SHCD](?:10|[2-9TJQKA])|(?:10|[2-9TJQKA])[SHCD]|SB|HR)\b"
_CARDS = rf"{_CARD}(?:[\s,\"'()\[\]]+{_CARD})*"
_GAP = r"[\s,\"'()\[\]]+"
_WORDS = re.compile(
    rf"(?P<move>\b{_TYPE}{_GAP}(?:10|[2-9TJQKABR])\b(?:{_GAP}{_CARDS})?|{_CARDS}|\bPASS\b|^(?i:pass)$)"
    rf"|(?P<type>\b{_TYPE}s?\b)|(?P<number>-?\w*\d\w*)"
)


def _named(line: str) -> list[str]:
    """Return what a line names, each part in words for `named_choices`: moves, cards, indices.

    Raises AgentError at a number that may be another thing than an index: a rank, or a number of cards.
    """
    parts = []
    typed = False
    for match in _WORDS.finditer(line):
        text = match[0]
        typed = typed or match.lastgroup == "type"
        if match.lastgroup == "number" and (typed or not re.fullmatch(r"-?\d+", text)):
            raise AgentError(
                f"{line[:60]!r}: is {text!r} an index? give the index alone, or a move as it is listed"
            )
        if match.lastgroup != "type":
            parts.append(text)
    return parts
