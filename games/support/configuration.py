"""Configurations: frozen records whose every field says its rule, checked by attrs at construction.

    @attrs.frozen
    class SolveConfig(Configuration):
        iterations: int = attrs.field(default=300, validator=integer(1))
        target: float | None = attrs.field(default=None, validator=real(0, above=True, optional=True))

Every rule raises the one `ConfigError`, which names the field, the rule, the value received. Rules that need
several fields stand in `check`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Self

import attrs

from games.support.counts import MOST
from games.support.near import near

__all__ = ["ConfigError", "Configuration", "flag", "integer", "one_of", "real", "text"]

Rule = Callable[[Any, "attrs.Attribute[Any]", Any], None]


class ConfigError(ValueError):
    """A configuration that cannot be: the field, the value received and the next step."""


def _refuse(instance: Any, field: attrs.Attribute[Any], words: str, value: Any) -> None:
    label = f"{instance.label}: " if getattr(instance, "label", "") else ""
    raise ConfigError(f"{label}{field.name} must be {words}; got {value!r}")


def one_of(choices: Iterable[str] | Callable[[], Iterable[str]]) -> Rule:
    """Return the rule that a field is one of some words; a function gives those known when it is asked."""

    def rule(instance: Any, field: attrs.Attribute[Any], value: Any) -> None:
        known = tuple(choices() if callable(choices) else choices)
        if value not in known:
            _refuse(instance, field, f"one of {', '.join(known)}", value)

    return rule


def integer(low: int, high: int = MOST, *, optional: bool = False) -> Rule:
    """Return the rule that a field is an integer in [low, high]; optional: or None."""
    both = f"an integer in [{low}, {high}]"
    least = f"an integer of at least {low}" if high == MOST else both

    def rule(instance: Any, field: attrs.Attribute[Any], value: Any) -> None:
        if value is None and optional:
            return
        known = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not known or value < low or value > high:
            _refuse(instance, field, both if known and value > high else least, value)

    return rule


def real(
    low: float,
    high: float = math.inf,
    *,
    above: bool = False,
    below: bool = False,
    optional: bool = False,
    unit: str = "",
) -> Rule:
    """Return the rule that a field is a finite number from low to high.

    above, below: low or high itself is not allowed. optional: None is. unit: named by the error, if given.
    """
    if high == math.inf:
        words = "positive" if above and low == 0 else f"{'above' if above else 'at least'} {low:g}"
    else:
        words = f"in {'(' if above else '['}{low:g}, {high:g}{')' if below else ']'}"
    words += f", in {unit}" if unit else ""

    def rule(instance: Any, field: attrs.Attribute[Any], value: Any) -> None:
        if value is None and optional:
            return
        real = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
        if (
            not real
            or not (low < value if above else low <= value)
            or not (value < high if below else value <= high)
        ):
            _refuse(instance, field, words, value)

    return rule


def flag(instance: Any, field: attrs.Attribute[Any], value: Any) -> None:
    """Refuse what is not True or False; itself a rule."""
    if not isinstance(value, bool):
        _refuse(instance, field, "True or False", value)


def text(instance: Any, field: attrs.Attribute[Any], value: Any) -> None:
    """Refuse what is not text; itself a rule."""
    if not isinstance(value, str):
        _refuse(instance, field, "text", value)


@attrs.frozen(slots=False)
class Configuration:
    """A frozen record of settings, saved with every result that it led to.

    label: what errors call it, where the field's name alone does not say enough.
    """

    label: ClassVar[str] = ""

    def __attrs_post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise ConfigError where fields contradict each other; each one's own rule holds already."""

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return every field's name and default."""
        return {field.name: field.default for field in attrs.fields(cls)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the configuration with these fields, the rest at their defaults.

        Raises ConfigError for what is no mapping, a field that does not exist, and a value out of range.
        """
        if not isinstance(values, Mapping):
            raise ConfigError(f"{cls.__name__}: fields must be an object of names and values; got {values!r}")
        cls._known(values)
        return cls(**values)

    def replace(self, **changes: Any) -> Self:
        """Return the configuration with some fields changed.

        Raises ConfigError for a field that does not exist, a value out of range, or a contradiction.
        """
        self._known(changes)
        return attrs.evolve(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary."""
        return attrs.asdict(self)

    @classmethod
    def _known(cls, names: Iterable[str]) -> None:
        known = cls.defaults()
        unknown = sorted(set(names) - known.keys())
        if unknown:
            hint = near(unknown[0], known, f"fields: {', '.join(known)}")
            raise ConfigError(f"{cls.label or cls.__name__} has no field {', '.join(unknown)}; {hint}")
