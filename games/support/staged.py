"""Configurations made of stages: one small validated record for each, all fields reached by name.

    class Kitchen(StagedConfiguration):
        oven: OvenConfig = attrs.field(factory=OvenConfig)

`Kitchen.of(heat=200)` and `replace(heat=180)` take the fields of all stages by name, as presets, command
lines and stored results do; a field's name belongs to one stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import attrs

from games.support.configuration import ConfigError, Configuration

__all__ = ["StagedConfiguration"]


@attrs.frozen(slots=False)
class StagedConfiguration(Configuration):
    """A record of settings, some in stages of their own."""

    @classmethod
    def stages(cls) -> dict[str, type[Configuration]]:
        """Return the stages by the name of their field."""
        found: dict[str, type[Configuration]] = {}
        for field in attrs.fields(cls):
            kind = getattr(field.default, "factory", None)
            if isinstance(kind, type) and issubclass(kind, Configuration):
                found[field.name] = kind
        return found

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return every field of all stages and of the whole, by name, with its default."""
        stages = cls.stages()
        own = {field.name: field.default for field in attrs.fields(cls) if field.name not in stages}
        staged = {name: value for kind in stages.values() for name, value in kind.defaults().items()}
        return own | staged

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Return the configuration with these fields of all stages, the rest at their defaults.

        Raises ConfigError for a field that does not exist, a value out of range, or a contradiction.
        """
        cls._known(values)
        stages = cls.stages()
        made: dict[str, Any] = {
            stage: kind(**{name: values[name] for name in kind.defaults() if name in values})
            for stage, kind in stages.items()
        }
        own = {field.name for field in attrs.fields(cls)} - stages.keys()
        return cls(**made, **{name: value for name, value in values.items() if name in own})

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the configuration with these fields; `of`, for what was read from a file."""
        if not isinstance(values, Mapping):
            raise ConfigError(f"{cls.__name__}: fields must be an object of names and values; got {values!r}")
        return cls.of(**values)

    def to_json(self) -> dict[str, Any]:
        """Return the fields of all stages by name, as a plain dictionary."""
        stages = self.stages()
        own = {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}
        staged = {name: value for stage in stages for name, value in own.pop(stage).to_json().items()}
        return own | staged

    def unread(self) -> dict[str, str]:
        """Return the fields that nothing would read, each with what it would need."""
        return {}

    def check(self) -> None:
        """Raise ConfigError for a field that was set and that nothing would read."""
        values, defaults = self.to_json(), self.defaults()
        for name, needs in self.unread().items():
            if values[name] != defaults[name]:
                raise ConfigError(
                    f"{name} needs {needs}; got {name} = {values[name]!r}, which nothing would read; "
                    f"leave it at {defaults[name]!r}"
                )

    def replace(self, **changes: Any) -> Self:
        """Return the configuration with some fields changed, those of all stages by name.

        A field that was not named, and that nothing reads any more after the change, goes back to its
        default.
        Raises ConfigError for a field that does not exist, a value out of range, or a contradiction.
        """
        self._known(changes)
        values, defaults = self.to_json() | changes, self.defaults()
        bare = self._unchecked(values)
        for name in bare.unread().keys() - changes.keys():
            values[name] = defaults[name]
        return self.of(**values)

    def _unchecked(self, values: Mapping[str, Any]) -> Self:
        """Return the configuration with each field valid, contradictions let pass, to ask what it reads."""
        stages = self.stages()
        bare = object.__new__(type(self))
        for field in attrs.fields(type(self)):
            if field.name in stages:
                kind = stages[field.name]
                part = kind(**{name: values[name] for name in kind.defaults()})
                object.__setattr__(bare, field.name, part)
            else:
                object.__setattr__(bare, field.name, values[field.name])
        return bare
