"""Typed parameters of games: ranges, defaults, words for the reader, and the text forms in game strings."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from games.game import GameError


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of a game.

    name: as written in a game string, `game(name=value)`.
    default: the value when it is left out.
    doc: what it means, in a few words.
    aliases: other names that are understood, such as OpenSpiel's.
    """

    name: str
    default: Any
    doc: str
    aliases: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """What a value must be, in words."""
        raise NotImplementedError

    def check(self, game: str, value: Any) -> Any:
        """Return the value in its canonical type; raise GameError if it breaks the rule."""
        raise NotImplementedError

    def parse(self, game: str, text: str) -> Any:
        """Return the value that a game string spells; raise GameError if there is none."""
        value = self._read(text)
        if value is None:
            raise self.error(game, text)
        return self.check(game, value)

    def _read(self, text: str) -> Any:
        """Return the value that the text spells, to be checked; None if it spells none of this kind."""
        raise NotImplementedError

    def format(self, value: Any) -> str:
        """Return the spelling that `parse` reads back."""
        return str(value)

    def error(self, game: str, value: object) -> GameError:
        """Return the error for a value that breaks the rule."""
        return GameError(f"{game}: {self.name} must be {self.rule}; got {value!r}")


@dataclass(frozen=True, kw_only=True)
class Int(Parameter):
    """An integer in [low, high]."""

    low: int
    high: int

    @property
    def rule(self) -> str:
        return f"an integer in [{self.low}, {self.high}]"

    def check(self, game: str, value: Any) -> int:
        number = _as_int(value)
        if number is None or not self.low <= number <= self.high:
            raise self.error(game, value)
        return number

    def _read(self, text: str) -> int | None:
        return _int_in(text)


@dataclass(frozen=True, kw_only=True)
class Ints(Parameter):
    """Exactly `length` integers, each in [low, high], spelled `2/4`."""

    low: int
    high: int
    length: int

    @property
    def rule(self) -> str:
        return (
            f"{self.length} integers in [{self.low}, {self.high}], written like {self.format(self.default)}"
        )

    def check(self, game: str, value: Any) -> tuple[int, ...]:
        try:
            numbers = [_as_int(entry) for entry in value]
        except TypeError:
            raise self.error(game, value) from None
        kept = tuple(number for number in numbers if number is not None and self.low <= number <= self.high)
        if len(kept) != len(numbers) or len(kept) != self.length:
            raise self.error(game, value)
        return kept

    def _read(self, text: str) -> list[int | None] | None:
        numbers = [_int_in(word) for word in text.split("/")]
        return None if None in numbers else numbers

    def format(self, value: Any) -> str:
        return "/".join(str(number) for number in value)


@dataclass(frozen=True, kw_only=True)
class Bool(Parameter):
    """True or false."""

    @property
    def rule(self) -> str:
        return "true or false"

    def check(self, game: str, value: Any) -> bool:
        if value is True or value is False:
            return bool(value)
        raise self.error(game, value)

    def _read(self, text: str) -> bool | None:
        return {"true": True, "false": False}.get(text.strip().lower())

    def format(self, value: Any) -> str:
        return "true" if value else "false"


@dataclass(frozen=True, kw_only=True)
class OneOf(Parameter):
    """One of a few words."""

    choices: tuple[str, ...]

    @property
    def rule(self) -> str:
        return "one of " + ", ".join(self.choices)

    def check(self, game: str, value: Any) -> str:
        if value not in self.choices:
            raise self.error(game, value)
        return str(value)

    def _read(self, text: str) -> str:
        return text.strip().lower()


def named(game: str, parameters: tuple[Parameter, ...], given: Iterable[Any]) -> tuple[str, list[Any]]:
    """Return the game string of these values, defaults left out, and the values, each checked.

    Raises GameError at a value that breaks its parameter's rule.
    """
    values = [parameter.check(game, value) for parameter, value in zip(parameters, given, strict=True)]
    words = [
        f"{parameter.name}={parameter.format(value)}"
        for parameter, value in zip(parameters, values, strict=True)
        if value != parameter.default
    ]
    return f"{game}({','.join(words)})" if words else game, values


def _as_int(value: Any) -> int | None:
    """Return the integer that `value` is, or None: True and 2.0 are not integers here."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _int_in(text: str) -> int | None:
    """Return the integer that the text spells, or None."""
    try:
        return int(text)
    except ValueError:
        return None
