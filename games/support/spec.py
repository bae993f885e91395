"""Specs, the words that name a configuration and change it: `NAME:field=value,field=value`.

One syntax for agents (`gs2-fast:worlds=64`), methods (`gs2-d:k=5,close=false`) and training (`batch=512`).

    name, settings = split_spec("gs2-d:k=5,depth=none")
    config = PRESETS[name].replace(**read_settings(settings, field_types(Config)))
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, ClassVar

from games.support.configuration import OWN, ConfigError, StagedConfiguration
from games.support.near import near

Kinds = tuple[type, ...]
"""Types that a field's values may have."""


def split_spec(spec: str) -> tuple[str, tuple[str, ...]]:
    """Return the name and the settings of a spec: `a:b=1,c=2` is ("a", ("b=1", "c=2")).

    Empty settings are left out.
    """
    name, _, settings = spec.partition(":")
    return name.strip(), tuple(one.strip() for one in settings.split(",") if one.strip())


@cache
def field_types(kind: type[Any]) -> Mapping[str, Kinds]:
    """Return the types that each field of a configuration class may have, by the field's name.

    `int | None` is (int, NoneType). Class variables are no fields. Each class is read once. Of a staged
    configuration these are the fields of all stages.
    """
    found = {
        name: typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        for name, hint in typing.get_type_hints(kind).items()
        if hint is not ClassVar and typing.get_origin(hint) is not ClassVar
    }
    if issubclass(kind, StagedConfiguration):
        stages = {OWN: found}
        for name, stage in kind.stages().items():
            stages[name] = dict(field_types(stage))  # type: ignore[arg-type]  # what attrs makes has a hash
        found = {name: stages[stage][field] for name, (stage, field) in kind.places().items()}
    return types.MappingProxyType(found)


def read_settings(settings: Iterable[str], known: Mapping[str, Kinds], *, label: str = "") -> dict[str, Any]:
    """Return the value of each field that settings such as `batch=512` name, in the field's own type.

    known: the types of each field (see `field_types`). A whole number may be written as 1e6, a flag as true
    or false in any case, and None as none. label: what errors call the settings, where that is not clear.
    Raises ConfigError for a setting without "=", a field that does not exist, and a value of another type.
    What range a value must be in, the configuration says. Of a field set twice the last value counts.
    """
    prefix = f"{label}: " if label else ""
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, words = (part.strip() for part in setting.partition("="))
        if not equals:
            raise ConfigError(f"{prefix}each must be FIELD=VALUE; got {setting!r}")
        if name not in known:
            hint = near(name, known, f"the fields are {', '.join(known)}")
            raise ConfigError(f"{prefix}there is no field {name!r} to set; {hint}")
        found[name] = _value(words, name, known[name], prefix)
    return found


def _value(words: str, name: str, kinds: Kinds, prefix: str) -> Any:
    """Return what the words say in the first of the types that can hold it."""
    if types.NoneType in kinds and words.lower() == "none":
        return None
    for kind in kinds:
        try:
            if kind is bool:
                return {"true": True, "false": False}[words.lower()]
            if kind is int:
                return _whole(words)
            if kind is not types.NoneType:
                return kind(words)
        except (ValueError, KeyError, OverflowError):
            continue
    wanted = " or ".join("none" if kind is types.NoneType else kind.__name__ for kind in kinds)
    raise ConfigError(f"{prefix}{name} must be of type {wanted}; got {words!r}")


def _whole(words: str) -> int:
    """Return a whole number, which may be written as 1e6. Raises ValueError for any other."""
    try:
        return int(words)
    except ValueError:
        number = float(words)
        if not number.is_integer():
            raise
        return int(number)
