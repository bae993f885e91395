"""Who plays by words in a seat: a person at a terminal, or a language model that is told what people see."""

from __future__ import annotations

import io
import logging
import os
import re
import select
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, TextIO

import numpy as np
from rich.console import Console
from rich.text import Text

from games.guandan.cards import as_level, unpack, wild_card
from gs2.guandan.table.client.screen import CardFaces, PlayScreen
from gs2.guandan.table.seat import AgentError, Observation, Seated
from gs2.guandan.table.selection import KIND_WORDS, WILD, kinds_called, named_choices

logger = logging.getLogger("gs2.guandan.table")


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
    advise: returns what search thinks of an observation, as `hint` of `gs2.guandan.table.hosts` does; None
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
            self.show(
                Text("only choice: ").append_text(self.screen.faces.move(actions[0], observation.level))
            )
            return 0
        if len(actions) <= FEW:
            self.screen.listed(observation)
        else:
            self.show(f"{len(actions)} moves; ? lists them, help says what you may type")
        while True:
            chosen = self._answer(self._line("your move> "), observation)
            if chosen is not None:
                return chosen

    def _line(self, prompt: str) -> str:
        while True:
            try:
                if self._called_off:
                    raise SeatLeft("the question was called off")
                line = self.ask(prompt).strip()
                if line.lower() in ("quit", "q", "exit"):
                    raise SeatLeft("you left the table")
                return line
            except _CalledOff:
                continue
            except EOFError:
                raise SeatLeft("the input ended; this seat is empty now") from None

    def _answer(self, line: str, observation: Observation) -> int | None:
        """Return the choice that a line names; None if it was a question or a mistake."""
        word = line.lower()
        if word in ("help", "h"):
            self.show(HELP)
        elif word == "hint":
            self._hint(observation)
        elif word in ("undo", "u"):
            if self.undo:
                raise UndoWanted("the last choice is taken back")
            self.show("nothing can be taken back here: the others have seen it")
        elif word in ("moves", "?"):
            self.screen.listed(observation)
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
            moves, wild = observation.moves, wild_card(as_level(observation.level))
            wilds = unpack(np.stack([moves["lo"], moves["hi"]], -1))[:, wild]
            return min(named, key=lambda index: (wilds[index], index))
        if len({(actions[index][0], actions[index][1]) for index in named}) == 1:
            return named[0]
        self.show("these cards make several moves:")
        self.screen.choices(observation, dict(enumerate(named, 1)))
        answer = self._line(f"which, 1 to {len(named)}? ")
        if answer.isdecimal() and len(answer) < 9 and 1 <= int(answer) <= len(named):
            return named[int(answer) - 1]
        self.show("none of them, then")
        return None


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
        """Return what the model is asked: the rules, and what a person would see."""
        told = io.StringIO()
        console = Console(file=told, width=200, color_system=None, force_terminal=False)
        show = partial(console.print, markup=False, highlight=False)
        screen = PlayScreen(show, CardFaces(symbols=False), seat=observation.seat)
        screen.level = observation.level
        screen.exchanged("tribute", observation.tributes)
        screen.exchanged("back", observation.returns)
        screen.situation(observation)
        screen.say("\nChoices:")
        screen.listed(observation)
        seen = "\n".join(line.rstrip() for line in told.getvalue().strip("\n").splitlines())
        return f"{self.rules}\n\n{seen}\n\nAnswer with the index of your choice alone on the last line."

    def read(self, answer: str, observation: Observation) -> int:
        """Return the choice on the answer's last line that is not empty: an index, a move, or both.

        Raises AgentError if the line names none, or things that are not one and the same choice.
        """
        lines = [line.strip(" .") for line in re.sub(r"[*`]", "", answer).splitlines() if line.strip(" .")]
        if not lines:
            raise AgentError("the answer was empty; give an index")
        line = WILD.sub(" ", lines[-1])
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
_MOVE = rf"\b{_TYPE}{_GAP}(?:10|[2-9TJQKABR])\b(?: \(of \d+\))?(?:{_GAP}{_CARDS})?"
_WORDS = re.compile(
    rf"(?P<move>{_MOVE}|{_CARDS}|\bPASS\b|(?:^|(?<=\d\s)\s*)(?i:pass)$)"
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
