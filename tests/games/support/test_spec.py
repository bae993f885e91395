"""Specs: names and settings, each value in its field's type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.support.configuration import ConfigError
from games.support.spec import field_types, read_settings, split_spec
from tests.games.support.test_configuration import Settings

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
