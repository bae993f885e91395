"""Configurations made of stages: one small validated record for each, all fields reached by name.

    class Kitchen(StagedConfiguration):
        oven: OvenConfig = attrs.field(factory=OvenConfig)

`Kitchen.of(heat=200)` and `replace(heat=180)` take the fields of all stages by name, as presets, command
lines and stored results do; a field's name belongs to one stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import attrs

from games.support.configuration import ConfigError, Configuration
from games.support.near import near
from games.support.spec import Kinds, field_types

__all__ = ["StagedConfiguration", "staged_types"]

OWN = ""
"""Stands for the stage of a field that belongs to none."""


@attrs.frozen(slots=False)
class StagedConfiguration(Configuration):
    """A record of settings, some in stages of their own.

    renamed: (stage, its field) and the name that the field has among those of all stages, where it differs.
    called: what the error about an unknown field calls the whole; empty for the class's name.
    details: fields that only refine what another field chooses; `replace` lets these go back to their
        defaults. None for all fields.
    """

    renamed: ClassVar[Mapping[tuple[str, str], str]] = {}
    called: ClassVar[str] = ""
    details: ClassVar[frozenset[str] | None] = None

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

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the configuration with these fields; `of`, for what was read from a file."""
        if not isinstance(values, Mapping):
            raise ConfigError(f"{cls.__name__}: fields must be an object of names and values; got {values!r}")
        return cls.of(**values)

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
            details = defaults.keys() if self.details is None else self.details
            while True:
                stale = (details & self.unread(values).keys()) - named.keys()
                if all(values[name] == defaults[name] for name in stale):
                    break
                values |= {name: defaults[name] for name in stale}
        return self.of(**values)

    @classmethod
    def _known(cls, names: Any) -> None:
        known = _layout(cls)[2]
        unknown = sorted(set(names) - known.keys())
        if unknown:
            hint = near(unknown[0], known, f"fields: {', '.join(known)}", cutoff=0.75)
            raise ConfigError(f"{cls.called or cls.__name__} has no field {', '.join(unknown)}; {hint}")


def staged_types(kind: type[StagedConfiguration]) -> dict[str, Kinds]:
    """Return the types that each field of all stages may have, by its name among them (see `field_types`)."""
    stages: dict[str, type[Any]] = {OWN: kind, **kind.stages()}
    types = {name: field_types(stage) for name, stage in stages.items()}  # type: ignore[arg-type]
    return {name: types[stage][field] for name, (stage, field) in kind.places().items()}


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
