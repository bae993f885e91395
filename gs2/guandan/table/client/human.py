"""A person at a terminal in a seat."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from typing import TextIO

from gs2.guandan.table.client.words import choice_text, describe, move_words, read_choice
from gs2.guandan.table.seat import AgentError, Observation

__all__ = ["HumanAgent", "TypedLines"]


class TypedLines:
    """Asks for lines from a stream, in any thread, until `close` is called from another.

    `input` cannot be called off: the thread in it would keep the program from ending.
    stream: of a terminal, a pipe or a file; standard input by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stdin if stream is None else stream
        self._bytes = b""
        try:
            # select knows no files but sockets on Windows
            self._file: int | None = None if os.name == "nt" else self._stream.fileno()
        except (AttributeError, OSError, ValueError):
            self._file = None
        self._woken, self._wake = os.pipe()
        self._closed = False

    def __call__(self, prompt: str) -> str:
        """Return the next line. Raises EOFError at the end of the stream, or when closed."""
        if self._file is None:
            return input(prompt)
        print(prompt, end="", flush=True)
        while b"\n" not in self._bytes:
            ready, _, _ = select.select([self._file, self._woken], [], [])
            if self._woken in ready:
                raise EOFError
            more = os.read(self._file, 4096)
            if not more:
                if not self._bytes:
                    raise EOFError
                more = b"\n"
            self._bytes += more
        line, _, self._bytes = self._bytes.partition(b"\n")
        return line.decode(self._stream.encoding or "utf-8", errors="replace")

    def close(self) -> None:
        """Call off the question that is open, and any after it."""
        if not self._closed:
            self._closed = True
            os.close(self._wake)


class HumanAgent:
    """Shows the situation and asks; `?` lists every choice, `bomb ?` those of that type.

    ask: called with a prompt, returns a line; by default it asks at standard input, until `close`.
    show: called with text to print.
    """

    name = "human"

    def __init__(self, ask: Callable[[str], str] | None = None, show: Callable[[str], None] = print) -> None:
        self.ask: Callable[[str], str] = ask or TypedLines()
        self.show = show

    def close(self) -> None:
        """Ask no more: the person leaves."""
        if isinstance(self.ask, TypedLines):
            self.ask.close()

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
                raise AgentError("the input ended; nobody sits here any more") from None
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
