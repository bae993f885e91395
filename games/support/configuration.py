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

OWN = ""
"""Stands for the stage of a field that belongs to none."""
Rule = Callable[[Any, "attrs.Attribute[Any]", Any], None]


class ConfigError(ValueError):
    """A configuration that cannot be: the field, the value received and the next step."""


def _rule(holds: Callable[[Any], bool], words: Callable[[Any], str], *, optional: bool = False) -> Rule:
    """Return the rule that a field's value `holds`; words: what it must be. optional: or None."""

    def rule(instance: Any, field: attrs.Attribute[Any], value: Any) -> None:
        if not (optional and value is None) and not holds(value):
            label = f"{instance.label}: " if getattr(instance, "label", "") else ""
            raise ConfigError(f"{label}{field.name} must be {words(value)}; got {value!r}")

    return rule


def _is_number(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


flag = _rule(lambda value: isinstance(value, bool), lambda value: "True or False")
"""The rule that a field is True or False."""
text = _rule(lambda value: isinstance(value, str), lambda value: "text")
"""The rule that a field is text."""


def one_of(choices: Iterable[str] | Callable[[], Iterable[str]]) -> Rule:
    """Return the rule that a field is one of some words; a function gives those known when it is asked."""

    def known() -> tuple[str, ...]:
        return tuple(choices() if callable(choices) else choices)

    return _rule(lambda value: value in known(), lambda value: f"one of {', '.join(known())}")


def integer(low: int, high: int = MOST, *, optional: bool = False) -> Rule:
    """Return the rule that a field is an integer in [low, high]; optional: or None."""

    def words(value: Any) -> str:
        both = high != MOST or (_is_number(value, numbers.Integral) and value > high)
        return f"an integer in [{low}, {high}]" if both else f"an integer of at least {low}"

    return _rule(
        lambda value: _is_number(value, numbers.Integral) and low <= value <= high, words, optional=optional
    )


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

    def holds(value: Any) -> bool:
        if not _is_number(value, numbers.Real) or not math.isfinite(value):
            return False
        return bool(low <= value <= high and not (above and value == low) and not (below and value == high))

    return _rule(holds, lambda value: words, optional=optional)


@attrs.frozen(slots=False)
class Configuration:
    """A frozen record of settings, saved with every result that it led to.

    label: what errors call it, where the field's name alone does not say enough.
    called: what the error about an unknown field calls it; the label or the class's name if empty.
    """

    label: ClassVar[str] = ""
    called: ClassVar[str] = ""

    def __attrs_post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise ConfigError where fields contradict each other; each one's own rule holds already."""

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return every field's name and default."""
        return {field.name: field.default for field in attrs.fields(cls)}

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Return the configuration with these fields, the rest at their defaults.

        Raises ConfigError for a field that does not exist, and a value out of range.
        """
        cls._known(values)
        return cls(**values)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the configuration with these fields; `of`, for what was read from a file.

        Raises ConfigError for what is no mapping, a field that does not exist, and a value out of range.
        """
        if not isinstance(values, Mapping):
            label = cls.label or cls.__name__
            raise ConfigError(f"{label}: fields must be an object of names and values; got {values!r}")
        return cls.of(**values)

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
            raise ConfigError(
                f"{cls.called or cls.label or cls.__name__} has no field {', '.join(unknown)}; {hint}"
            )


@attrs.frozen(slots=False)
class StagedConfiguration(Configuration):
    """A configuration made of stages: one small validated record for each, all fields reached by name.

        class Kitchen(StagedConfiguration):
            oven: OvenConfig = attrs.field(factory=OvenConfig)

    `Kitchen.of(heat=200)` and `replace(heat=180)` take the fields of all stages by name, as presets, command
    lines and stored results do; a field's name belongs to one stage.
    renamed: (stage, its field) and the name that the field has among those of all stages, where it differs.
    choices: fields that `replace` never lets go back to their defaults; any other only refines what one of
        these chooses.
    """

    renamed: ClassVar[Mapping[tuple[str, str], str]] = {}
    choices: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def stages(cls) -> dict[str, type[Configuration]]:
        """Return the stages by the name of their field."""
        return dict(_layout(cls)[0])

    @classmethod
    def places(cls) -> dict[str, tuple[str, str]]:
        """Return (stage, its field) of every field by name, in order; the stage is "" for those of none."""
        return dict(_layout(cls)[1])

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return every field of all stages and of the whole, by name, with its default."""
        return dict(_layout(cls)[2])

    @classmethod
    def unread(cls, values: Mapping[str, Any]) -> dict[str, str]:
        """Return the fields that nothing would read, each with what it would need.

        values: every field by name.
        """
        return {}

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Return the configuration with these fields of all stages, the rest at their defaults.

        Raises ConfigError for a field that does not exist, a value out of range, or a contradiction.
        """
        cls._known(values)
        stages, places, _ = _layout(cls)
        parts: dict[str, dict[str, Any]] = {stage: {} for stage in (OWN, *stages)}
        for name, value in values.items():
            stage, field = places[name]
            parts[stage][field] = value
        made = {stage: kind(**parts[stage]) for stage, kind in stages.items()}
        return cls(**made, **parts[OWN])

    def to_json(self) -> dict[str, Any]:
        """Return the fields of all stages by name, as a plain dictionary."""
        return {
            name: getattr(getattr(self, stage) if stage else self, field)
            for name, (stage, field) in _layout(type(self))[1].items()
        }

    def check(self) -> None:
        """Raise ConfigError for a stage that is none, and for a field that was set and nothing would read."""
        self.check_stages()
        self.check_read()

    def check_stages(self) -> None:
        """Raise ConfigError for a stage that is none."""
        for stage, kind in _layout(type(self))[0].items():
            if not isinstance(getattr(self, stage), kind):
                raise ConfigError(
                    f"{stage} must be a {kind.__name__}; got {getattr(self, stage)!r}; "
                    f"{type(self).__name__}.of takes the fields of all stages by name"
                )

    def check_read(self) -> None:
        """Raise ConfigError for a field that was set and that nothing would read."""
        values, defaults = self.to_json(), _layout(type(self))[2]
        for name, needs in self.unread(values).items():
            if values[name] != defaults[name]:
                raise ConfigError(
                    f"{name} needs {needs}; got {name} = {values[name]!r}, which nothing would read; "
                    f"leave it at {defaults[name]!r}"
                )

    def replace(self, **changes: Any) -> Self:
        """Return the configuration with some fields changed, those of all stages by name or whole stages.

        A detail that was not named, and that nothing reads any more after the change, goes back to its
        default: the `k` of a preset with the generator all, say. A choice such as a certificate does not.
        Raises ConfigError for a field that does not exist, a value out of range, or a contradiction.
        """
        stages, places, defaults = _layout(type(self))
        named: dict[str, Any] = {}
        for name, value in changes.items():
            if name in stages and isinstance(value, stages[name]):
                named |= {other: getattr(value, field) for other, (at, field) in places.items() if at == name}
            else:
                named[name] = value
        values = self.to_json() | named
        if values.keys() <= defaults.keys():
            while True:
                stale = self.unread(values).keys() - self.choices - named.keys()
                if all(values[name] == defaults[name] for name in stale):
                    break
                values |= {name: defaults[name] for name in stale}
        return self.of(**values)


_Layout = tuple[dict[str, type[Configuration]], dict[str, tuple[str, str]], dict[str, Any]]
_LAYOUTS: dict[type[StagedConfiguration], _Layout] = {}


def _layout(kind: type[StagedConfiguration]) -> _Layout:
    """Return the stages, the place and the default of every field of a configuration, by name."""
    if kind not in _LAYOUTS:
        stages: dict[str, type[Configuration]] = {}
        places: dict[str, tuple[str, str]] = {}
        defaults: dict[str, Any] = {}
        for field in attrs.fields(kind):
            stage = getattr(field.default, "factory", None)
            if isinstance(stage, type) and issubclass(stage, Configuration):
                stages[field.name] = stage
                for inner, default in stage.defaults().items():
                    name = kind.renamed.get((field.name, inner), inner)
                    places[name], defaults[name] = (field.name, inner), default
            else:
                places[field.name], defaults[field.name] = (OWN, field.name), field.default
        _LAYOUTS[kind] = stages, places, defaults
    return _LAYOUTS[kind]
