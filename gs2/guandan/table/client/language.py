"""A language model in a seat: any function from text to text will do."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from gs2.guandan.table.client.words import KIND_WORDS, choice_text, describe, named_choices
from gs2.guandan.table.seat import AgentError, Observation
from gs2.guandan.table.seated import Seated

__all__ = ["RULES", "LanguageAgent"]

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
