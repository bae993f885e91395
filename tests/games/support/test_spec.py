"""Specs: names and settings, each value in its field's type."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.support.configuration import ConfigError, Configuration
from games.support.spec import field_types, read_settings, split_spec


@attrs.frozen(slots=False)
class Settings(Configuration):
    label: ClassVar[str] = "settings"

    count: int = 3
    most: int | None = None
    share: float = 0.5
    quiet: bool = False
    word: str = "red"


KNOWN = field_types(Settings)


def test_a_spec_is_a_name_and_its_settings() -> None:
    assert split_spec("fast:worlds=64, depth=none,") == ("fast", ("worlds=64", "depth=none"))
    assert split_spec("fast") == split_spec("fast:") == ("fast", ())
    assert split_spec("own:generator=mine.py:choose") == ("own", ("generator=mine.py:choose",))


def test_class_variables_are_no_fields() -> None:
    assert list(KNOWN) == ["count", "most", "share", "quiet", "word"]
    assert KNOWN["most"] == (int, type(None))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("count=7", 7),
        ("count=1e6", 1_000_000),
        ("count=-2", -2),
        ("most=none", None),
        ("most=None", None),
        ("most=4", 4),
        ("share=1", 1.0),
        ("share=2.5e-3", 0.0025),
        ("quiet=True", True),
        ("quiet=false", False),
        ("word=none", "none"),
        ("word=a=b", "a=b"),
        (" word = 7 ", "7"),
        ("word=", ""),
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
        ("zzz=3", "the fields are count, most, share, quiet, word"),
        ("count=2.5", "count must be of type int; got '2.5'"),
        ("count=inf", "count must be of type int; got 'inf'"),
        ("count=nan", "count must be of type int; got 'nan'"),
        ("count=none", "count must be of type int; got 'none'"),
        ("most=many", "most must be of type int or none; got 'many'"),
        ("quiet=1", "quiet must be of type bool; got '1'"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_settings([setting], KNOWN)


def test_of_a_field_set_twice_the_last_value_counts() -> None:
    assert read_settings(["count=3", "share=1", "count=4"], KNOWN) == {"count": 4, "share": 1.0}


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
    settings = [f"count={count}", f"share={share}", f"quiet={quiet}"]
    assert read_settings(settings, KNOWN) == {"count": count, "share": share, "quiet": quiet}
