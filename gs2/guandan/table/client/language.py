"""A language model in a seat: any function from text to text will do."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from gs2.guandan.table.client.words import choice_text, describe, read_choice
from gs2.guandan.table.seat import Agent, AgentError, Observation

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
        fallback: Agent | None = None,
    ) -> None:
        self.complete, self.rules, self.retries, self.fallback = complete, rules, retries, fallback

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
        return self.fallback.act(observation) if self.fallback is not None else 0

    def prompt(self, observation: Observation) -> str:
        """Return what the model is asked."""
        return (
            f"{self.rules}\n\n{describe(observation)}\n\nChoices:\n{choice_text(observation)}\n\n"
            "Answer with the index of your choice alone on the last line."
        )

    def read(self, answer: str, observation: Observation) -> int:
        """Return the choice on the answer's last line that is not empty: an index or a move.

        Raises AgentError if it names none.
        """
        lines = [line.strip(" *`.") for line in answer.splitlines() if line.strip(" *`.")]
        if not lines:
            raise AgentError("the answer was empty; give an index")
        number = re.search(r"(\d+)\D*$", lines[-1])
        if number and not re.search(r"\b[SHCD][2-9TJQKA]\b", lines[-1]):
            return read_choice(number.group(1), observation)
        return read_choice(lines[-1], observation)
