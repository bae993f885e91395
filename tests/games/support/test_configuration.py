"""Configurations: every rule refuses what it says, in one kind of error."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.support.configuration import ConfigError, Configuration, flag, integer, one_of, real, text

WORDS = ["red", "green"]


@attrs.frozen(slots=False)
class Settings(Configuration):
    label: ClassVar[str] = "settings"

    colour: str = attrs.field(default="red", validator=one_of(lambda: WORDS))
    count: int = attrs.field(default=3, validator=integer(1, 9))
    most: int | None = attrs.field(default=None, validator=integer(0, optional=True))
    share: float = attrs.field(default=0.5, validator=real(0, 1, below=True))
    seconds: float | None = attrs.field(
        default=None, validator=real(0, above=True, optional=True, unit="seconds")
    )
    quiet: bool = attrs.field(default=False, validator=flag)
    name: str = attrs.field(default="", validator=text)

    def check(self) -> None:
        if self.quiet and self.name:
            raise ConfigError(f"settings: name must be empty with quiet; got {self.name!r}")


ALLOWED: dict[str, Any] = {
    "colour": lambda v: v in WORDS,
    "count": lambda v: type(v) is int and 1 <= v <= 9,
    "most": lambda v: v is None or (type(v) is int and v >= 0),
    "share": lambda v: type(v) in (int, float) and 0 <= v < 1,
    "seconds": lambda v: v is None or (type(v) in (int, float) and 0 < v < float("inf")),
    "quiet": lambda v: type(v) is bool,
    "name": lambda v: type(v) is str,
}
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.floats(),
    st.sampled_from(["red", "green", "blue", ""]),
    st.lists(st.integers(), max_size=1),
    st.complex_numbers(),
)


@given(field=st.sampled_from(sorted(ALLOWED)), value=ANYTHING)
def test_a_field_takes_what_its_rule_allows_and_nothing_else(field: str, value: Any) -> None:
    for make in (Settings().replace, lambda **one: Settings.from_json(one)):
        if ALLOWED[field](value):
            assert getattr(make(**{field: value}), field) == value
        else:
            with pytest.raises(ConfigError, match=f"^settings: {field} must be .*; got "):
                make(**{field: value})


def test_numbers_of_numpy_are_numbers() -> None:
    assert Settings(count=np.int64(4), share=np.float32(0.25)).count == 4
    with pytest.raises(ConfigError, match="must be"):
        Settings(share=np.float64("nan"))


def test_contradictions_and_unknown_fields_are_refused_also_by_replace() -> None:
    with pytest.raises(ConfigError, match="empty with quiet"):
        Settings(quiet=True).replace(name="x")
    with pytest.raises(ConfigError, match=r"settings has no field cuont; did you mean count"):
        Settings().replace(cuont=2)
    with pytest.raises(ConfigError, match="must be an object"):
        Settings.from_json([1])  # type: ignore[arg-type]


def test_a_configuration_survives_json() -> None:
    one = Settings(count=7, seconds=0.5, name="n")
    assert Settings.from_json(one.to_json()) == one
    assert Settings.defaults()["count"] == 3
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        one.count = 8  # type: ignore[misc]
