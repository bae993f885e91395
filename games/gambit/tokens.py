"""The words of a file of Gambit's, each with its line: texts in quotes, numbers, brackets."""

from __future__ import annotations

import re
from fractions import Fraction

from games.game import GameError

__all__ = ["Tokens"]

TOKEN = re.compile(r'\s+|"(?:\\"|[^"\\]|\\(?!"))*"|[{},]|[^\s{},"]+')
"""A backslash escapes a quotation mark and nothing else, as Gambit has it."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?(/\d+)?")
LARGEST = 10**150
"""Of a number in a file: sums over a game stay finite."""
SHOWN = 40
"""Letters of a word that an error shows."""


class Tokens:
    """The words of a file, read one after the other.

    name: the game string, for errors. line: of the word that was read last.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.line = 1
        self._words: list[str] = []
        self._lines: list[int] = []
        at, line = 0, 1
        while at < len(text):
            found = TOKEN.match(text, at)
            if found is None:  # only a quotation mark without a partner matches nothing
                raise self.error(
                    f"a text must end with a quotation mark; {text[at : at + SHOWN]!r} does not", line
                )
            word = found[0]
            if not word.isspace():
                self._words.append(word)
                self._lines.append(line)
            line += word.count("\n")
            at = found.end()
        self._last_line = line
        self._at = 0

    def error(self, rule: str, line: int | None = None) -> GameError:
        """Return the error of a rule that is broken at a line, by default that of the word read last."""
        return GameError(f"{self.name}, line {self.line if line is None else line}: {rule}")

    @property
    def left(self) -> int:
        """How many words are left."""
        return len(self._words) - self._at

    def peek(self) -> str:
        """Return the next word, "" at the end of the file."""
        return self._words[self._at] if self.left else ""

    def next(self, wanted: str) -> str:
        """Return the next word. Raises GameError if the file ends instead of what is `wanted`."""
        if not self.left:
            self.line = self._last_line
            raise self.error(f"{wanted} must follow; the file ends here; it may have been cut off")
        self.line = self._lines[self._at]
        self._at += 1
        return self._words[self._at - 1]

    def expect(self, word: str, wanted: str) -> None:
        """Read one word. Raises GameError if it is another."""
        found = self.next(wanted)
        if found != word:
            raise self._unlike(wanted, found)

    def is_text(self) -> bool:
        """Return whether a text in quotes is next."""
        return self.peek().startswith('"')

    def text(self, wanted: str) -> str:
        """Return the text in quotes that is next, on one line."""
        found = self.next(wanted)
        if not found.startswith('"'):
            raise self._unlike(f"{wanted} in quotation marks", found)
        return " ".join(found[1:-1].replace('\\"', '"').split())

    def texts(self, wanted: str) -> list[str]:
        """Return the texts between the braces that are next."""
        self.expect("{", f"'{{' and {wanted}s")
        found = []
        while self.peek() != "}":
            found.append(self.text(f"{wanted} or '}}'"))
        self.next("'}'")
        return found

    def whole(self, wanted: str) -> int:
        """Return the whole number that is next."""
        found = self.next(wanted)
        if re.fullmatch(r"[+-]?\d{1,18}", found) is None:
            raise self._unlike(f"{wanted}, a whole number,", found)
        return int(found)

    def number(self, wanted: str) -> Fraction:
        """Return the number that is next: whole, decimal or a fraction."""
        found = self.next(wanted)
        try:
            if NUMBER.fullmatch(found) is None:
                raise ValueError
            top, _, bottom = found.partition("/")
            value = Fraction(top) / Fraction(bottom or 1)
        except (ValueError, ZeroDivisionError):
            raise self._unlike(f"{wanted}, such as 3, -0.5 or 1/3,", found) from None
        if abs(value) > LARGEST:
            raise self._unlike(f"{wanted} of at most 1e150", found)
        return value

    def payoffs(self, players: int) -> tuple[Fraction, ...]:
        """Return what each player gets, up to the closing brace; commas between numbers are optional."""
        found = []
        for seat in range(players):
            if seat and self.peek() == ",":
                self.next("','")
            found.append(self.number(f"a payoff for each of {players} players"))
        self.expect("}", f"'}}' after {players} payoffs")
        return tuple(found)

    def end(self, rule: str) -> None:
        """Raise GameError if anything is left."""
        if self.left:
            raise self._unlike(rule, self.next("the end"))

    def _unlike(self, wanted: str, found: str) -> GameError:
        return self.error(f"{wanted} must stand here; got {' '.join(found[:SHOWN].split())}")
