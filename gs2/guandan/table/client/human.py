"""A person at a terminal in a seat."""

from __future__ import annotations

from collections.abc import Callable

from gs2.guandan.table.client.words import choice_text, describe, move_words, read_choice
from gs2.guandan.table.seat import AgentError, Observation

__all__ = ["HumanAgent"]


class HumanAgent:
    """Shows the situation and asks; `?` lists every choice, a type (`bomb ?`) those of it.

    ask: called with a prompt, returns a line. show: called with text to print.
    """

    name = "human"

    def __init__(self, ask: Callable[[str], str] = input, show: Callable[[str], None] = print) -> None:
        self.ask, self.show = ask, show

    def act(self, observation: Observation) -> int:
        """Return what the person chose; asks again until it is one of the choices.

        Raises AgentError at the end of the input.
        """
        self.show("\n" + describe(observation))
        if len(observation.actions) == 1:
            self.show(f"only choice: {move_words(observation.actions[0])}")
            return 0
        self.show(choice_text(observation))
        while True:
            try:
                line = self.ask("your move> ").strip()
            except EOFError:
                raise AgentError("the input ended, nobody sits here any more") from None
            if line.endswith("?"):
                wanted = line[:-1].strip().lower()
                for index, move in enumerate(observation.actions):
                    if str(move[0]).lower().startswith(wanted):
                        self.show(f"{index:5d}  {move_words(move)}")
                continue
            try:
                return read_choice(line, observation)
            except AgentError as error:
                self.show(str(error))
