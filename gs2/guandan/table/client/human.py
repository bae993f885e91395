"""A person at a terminal in a seat."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, TextIO

import numpy as np
from rich.console import Console

from games.guandan.cards import as_level, wild_card
from gs2.guandan.table.client.screen import CardFaces, PlayScreen
from gs2.guandan.table.client.words import (
    kinds_called,
    more_words,
    move_words,
    named_choices,
    shown_choices,
)
from gs2.guandan.table.seat import AgentError, Observation

__all__ = ["HumanAgent", "SeatLeft", "TypedLines", "UndoWanted"]


class SeatLeft(AgentError):
    """The person leaves; the message says how."""


class UndoWanted(AgentError):
    """The person wants the last choice back."""


class _CalledOff(EOFError):
    """The question is no longer open."""


class TypedLines:
    """Asks for lines from a stream, in any thread, until `close` is called from another.

    `input` cannot be called off: the thread in it would keep the program from ending.
    stream: of a terminal, a pipe or a file; standard input by default. prompts: where the questions go;
    standard output by default.
    """

    def __init__(self, stream: TextIO | None = None, *, prompts: TextIO | None = None) -> None:
        self._stream = sys.stdin if stream is None else stream
        self._prompts = prompts
        self._bytes = b""
        try:
            # select knows no files but sockets on Windows
            self._file: int | None = None if os.name == "nt" else self._stream.fileno()
        except (AttributeError, OSError, ValueError):
            self._file = None
        self._woken, self._wake = os.pipe()
        self._closed = False

    def __call__(self, prompt: str) -> str:
        """Return the next line. Raises EOFError at the end of the stream, or when closed or called off."""
        if self._file is None:
            return input(prompt)
        print(prompt, end="", flush=True, file=self._prompts)
        while b"\n" not in self._bytes:
            ready, _, _ = select.select([self._file, self._woken], [], [])
            if self._woken in ready:
                raise _CalledOff if os.read(self._woken, 1) else EOFError
            more = os.read(self._file, 4096)
            if not more:
                if not self._bytes:
                    raise EOFError
                more = b"\n"
            self._bytes += more
        line, _, self._bytes = self._bytes.partition(b"\n")
        return line.decode(self._stream.encoding or "utf-8", errors="replace")

    def call_off(self) -> None:
        """Call off the question that is open, or else the next one."""
        if not self._closed:
            os.write(self._wake, b"x")

    def close(self) -> None:
        """Call off the question that is open, and any after it."""
        if not self._closed:
            self._closed = True
            os.close(self._wake)


FEW = 8
"""Choices that are listed unasked."""
HELP = """Name a move by its cards (S6 D6, or 6s 6d), by type and rank (pair 6, bomb 4), or by its index.
PASS, or p      pass
moves, or ?     the moves you may choose, one of each type and rank; pair ? lists all pairs
hint            what gs2 would do, and how sure it is
undo            back to before your last choice
quit            leave the table"""


class HumanAgent:
    """Shows the situation and asks; `?` lists the choices, `bomb ?` those of that type.

    ask: called with a prompt, returns a line; by default it asks at standard input, until `close`.
    screen: shows the situation and the choices; by default on standard output.
    advise: returns what search thinks of an observation, as `hint` of `gs2.guandan.table.agents` does; None
        for no hints.
    undo: whether choices can be taken back: then `undo` raises UndoWanted.
    """

    name = "human"

    def __init__(
        self,
        ask: Callable[[str], str] | None = None,
        screen: PlayScreen | None = None,
        *,
        advise: Callable[[Observation], dict[str, Any]] | None = None,
        undo: bool = False,
    ) -> None:
        self.ask: Callable[[str], str] = ask or TypedLines()
        console = Console()
        self.screen = screen or PlayScreen(partial(console.print, markup=False), CardFaces.of(console))
        self.show, self.advise, self.undo = self.screen.show, advise, undo
        self._called_off = False

    def close(self) -> None:
        """Ask no more: the person leaves."""
        if isinstance(self.ask, TypedLines):
            self.ask.close()

    def call_off(self) -> None:
        """Drop the question that is open: nobody waits for its answer any more."""
        self._called_off = True
        if isinstance(self.ask, TypedLines):
            self.ask.call_off()

    def act(self, observation: Observation) -> int:
        """Return what the person chose; asks again until it is one of the choices.

        Raises SeatLeft if the person leaves, or at the end of the input; UndoWanted.
        """
        self._called_off = False
        self.screen.situation(observation)
        actions = observation.actions
        if len(actions) == 1:
            self.show(f"only choice: {move_words(actions[0])}")
            return 0
        if len(actions) <= FEW:
            self._moves(observation)
        else:
            self.show(f"{len(actions)} moves; ? lists them, help says what you may type")
        while True:
            chosen = self._answer(self._line("your move> "), observation)
            if chosen is not None:
                return chosen

    def _moves(self, observation: Observation) -> None:
        """List the choices; of many one of each type and rank."""
        listed = shown_choices(observation)
        self.screen.choices(observation, {index: index for index in listed})
        if len(listed) < len(observation.actions):
            self.show(f"       {more_words(len(observation.actions) - len(listed))}")

    def _line(self, prompt: str) -> str:
        while True:
            try:
                if self._called_off:
                    raise SeatLeft("the question was called off")
                return self.ask(prompt).strip()
            except _CalledOff:
                continue
            except EOFError:
                raise SeatLeft("the input ended; this seat is empty now") from None

    def _answer(self, line: str, observation: Observation) -> int | None:
        """Return the choice that a line names; None if it was a question or a mistake."""
        word = line.lower()
        if word in ("quit", "q", "exit"):
            raise SeatLeft("you left the table")
        if word in ("help", "h"):
            self.show(HELP)
        elif word == "hint":
            self._hint(observation)
        elif word in ("undo", "u"):
            if self.undo:
                raise UndoWanted("the last choice is taken back")
            self.show("nothing can be taken back here: the others have seen it")
        elif word in ("moves", "?"):
            self._moves(observation)
        elif line.endswith("?"):
            self._list(line[:-1].strip().lower(), observation)
        elif word:
            try:
                return self._settle(named_choices(line, observation), observation)
            except SeatLeft:
                raise
            except AgentError as error:
                self.show(str(error))
        return None

    def _list(self, wanted: str, observation: Observation) -> None:
        """List the choices of a type; what is no combination has the name that it is asked for by."""
        moves = [str(move[0]) for move in observation.actions]
        kinds = kinds_called(wanted) or {kind for kind in moves if kind.lower().startswith(wanted)}
        found = {index: index for index, kind in enumerate(moves) if kind in kinds}
        self.screen.choices(observation, found)
        if not found:
            self.show(f"no {wanted} among your moves" if kinds else f"no type of move is called {wanted!r}")

    def _hint(self, observation: Observation) -> None:
        if self.advise is None:
            self.show("there are no hints at this table")
            return
        self.screen.say("thinking ...", "dim")
        self.screen.advice(self.advise(observation), observation)

    def _settle(self, named: list[int], observation: Observation) -> int | None:
        """Return one of the choices that a line named: if these are the same cards, the person says which."""
        actions = observation.actions
        if len({tuple(sorted(actions[index][2])) for index in named}) > 1:
            # of different cards with one type and rank those that spare the wild cards
            wilds = _wilds(observation)
            return min(named, key=lambda index: (wilds[index], index))
        if len({(actions[index][0], actions[index][1]) for index in named}) == 1:
            return named[0]
        self.show("these cards make several moves:")
        self.screen.choices(observation, dict(enumerate(named, 1)))
        answer = self._line(f"which, 1 to {len(named)}? ")
        if answer.isdigit() and 1 <= int(answer) <= len(named):
            return named[int(answer) - 1]
        self.show("none of them, then")
        return None


def _wilds(observation: Observation) -> list[int]:
    """Return how many wild cards each choice uses."""
    wild = wild_card(as_level(observation.level))
    word = observation.moves["lo"] if wild < 28 else observation.moves["hi"]
    shift = np.uint64(2 * (wild if wild < 28 else wild - 28))
    return [int(n) for n in word >> shift & np.uint64(3)]
