"""Configurations, settings in words and hints: rules refuse what they say, in one kind of error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blueprint.guandan.train_config
import gs2.search.config.search
from games.support.configuration import (
    ConfigError,
    Configuration,
    StagedConfiguration,
    flag,
    integer,
    one_of,
    real,
    text,
)
from games.support.near import near, nearest
from games.support.spec import field_types, read_settings, split_spec

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


@attrs.frozen(slots=False)
class Oven(Configuration):
    heat: int = attrs.field(default=180, validator=integer(0))
    fan: bool = attrs.field(default=False, validator=flag)


@attrs.frozen(slots=False)
class Dough(Configuration):
    rest: float = attrs.field(default=1.5, validator=real(0, 48))


@attrs.frozen(slots=False)
class Kitchen(StagedConfiguration):
    bakes: bool = attrs.field(default=True, validator=flag)
    cooks: int = attrs.field(default=2, validator=integer(1))
    oven: Oven = attrs.field(factory=Oven)
    dough: Dough = attrs.field(factory=Dough)

    @classmethod
    def unread(cls, values: Mapping[str, object]) -> dict[str, str]:
        return {} if values["bakes"] else dict.fromkeys(("heat", "fan"), "bakes = true")


def kitchen(rng: np.random.Generator) -> dict[str, object]:
    """Return some fields with values, together allowed."""
    values: dict[str, object] = {
        "bakes": True,
        "cooks": int(rng.integers(1, 9)),
        "heat": int(rng.integers(300)),
        "fan": bool(rng.integers(2)),
        "rest": float(rng.uniform(0, 48)),
    }
    return {name: value for name, value in values.items() if rng.random() < 0.6}


def test_what_was_given_comes_back_by_every_way_round() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        values = kitchen(rng)
        made = Kitchen.of(**values)
        assert made.to_json() == Kitchen.defaults() | values
        assert Kitchen.from_json(made.to_json()) == made == Kitchen().replace(**values)
        changes = kitchen(rng)
        assert made.replace(**changes).to_json() == made.to_json() | changes
    assert Kitchen.stages() == {"oven": Oven, "dough": Dough}
    assert Kitchen.of(heat=200).oven.heat == 200


def test_a_field_that_no_stage_has_is_refused() -> None:
    for make in (Kitchen.of, Kitchen().replace):
        with pytest.raises(ConfigError, match="haet"):
            make(haet=200)
    with pytest.raises(ConfigError, match="haet"):
        Kitchen.from_json({"haet": 200})
    with pytest.raises(ConfigError, match="an object of names"):
        Kitchen.from_json([("heat", 200)])  # type: ignore[arg-type]  # what a file may hold
    with pytest.raises(ConfigError, match="rest"):
        Kitchen.of(rest=49)


def test_a_field_that_nothing_reads_is_refused_and_goes_back_to_its_default() -> None:
    with pytest.raises(ConfigError, match=r"heat needs bakes = true; got heat = 200"):
        Kitchen.of(bakes=False, heat=200)
    with pytest.raises(ConfigError, match="fan needs"):
        Kitchen.of(bakes=False).replace(fan=True)
    assert Kitchen.of(bakes=False, heat=180).oven == Oven()
    hot = Kitchen.of(heat=220, fan=True, rest=3.0)
    cold = hot.replace(bakes=False)
    assert cold.to_json() == Kitchen.defaults() | {"bakes": False, "rest": 3.0}
    assert cold.replace(bakes=True).oven == Oven()
    with pytest.raises(ConfigError, match="heat needs"):
        hot.replace(bakes=False, heat=230)


KNOWN = field_types(Settings)


def test_a_spec_is_a_name_and_settings_of_fields_that_are_no_class_variables() -> None:
    assert split_spec("fast:worlds=64, depth=none,") == ("fast", ("worlds=64", "depth=none"))
    assert split_spec("fast") == split_spec("fast:") == ("fast", ())
    assert split_spec("own:generator=mine.py:choose") == ("own", ("generator=mine.py:choose",))
    assert list(KNOWN) == ["colour", "count", "most", "share", "seconds", "quiet", "name"]
    assert KNOWN["most"] == (int, type(None))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("count=7", 7),
        ("count=1e6", 1_000_000),
        ("most=none", None),
        ("most=None", None),
        ("share=1", 1.0),
        ("share=2.5e-3", 0.0025),
        ("quiet=True", True),
        ("quiet=false", False),
        ("name=a=b", "a=b"),
        (" name = 7 ", "7"),
        ("name=", ""),
    ],
)
def test_a_value_has_its_fields_type(setting: str, value: Any) -> None:
    ((_, found),) = read_settings([setting], KNOWN).items()
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("count", "each must be FIELD=VALUE; got 'count'"),
        ("cuont=3", "no field 'cuont' to set; did you mean count"),
        ("zzz=3", "the fields are colour, count, most, share, seconds, quiet, name"),
        ("count=2.5", "count must be of type int; got '2.5'"),
        ("count=inf", "count must be of type int; got 'inf'"),
        ("count=none", "count must be of type int; got 'none'"),
        ("most=many", "most must be of type int or none; got 'many'"),
        ("quiet=1", "quiet must be of type bool; got '1'"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_settings([setting], KNOWN)


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    name, settings = split_spec(text)
    assert ":" not in name
    try:
        found = read_settings(settings, KNOWN)
    except ConfigError:
        return
    assert set(found) <= set(KNOWN)


@given(st.integers(), st.floats(allow_nan=False), st.booleans())
def test_what_python_prints_is_read_back(count: int, share: float, quiet: bool) -> None:
    # Of a field set twice the last value counts.
    settings = ["count=3", f"share={share}", f"quiet={quiet}", f"count={count}"]
    assert read_settings(settings, KNOWN) == {"count": count, "share": share, "quiet": quiet}


ROOT = Path(__file__).parents[3]


def test_a_hint_names_the_closest_first_or_says_something_else() -> None:
    names = ["maxmargin", "reach-maxmargin", "resolve"]
    assert nearest("maxmargn", names)[0] == "maxmargin"
    assert near("maxmargn", names, "nothing") == "did you mean maxmargin or reach-maxmargin?"
    assert near("maxmargn", names, "nothing", most=1) == "did you mean maxmargin?"
    assert near("zzz", names, "one of three") == "one of three"


def test_every_hint_comes_from_one_helper() -> None:
    for package in ("games", "cfr", "blueprint", "gs2", "experiments"):
        for path in (ROOT / package).rglob("*.py"):
            found = re.search(r"^\s*import difflib", path.read_text(), re.MULTILINE)
            assert not found or path.name == "near.py", path


def test_all_configurations_raise_one_error() -> None:
    assert blueprint.guandan.train_config.ConfigError is gs2.search.config.search.ConfigError is ConfigError
    assert issubclass(ConfigError, ValueError)
