"""Hints at a name close to one that nobody has: one helper, one form, everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import blueprint.guandan.train_config
import gs2.search.config.search
from games.support.configuration import ConfigError
from games.support.near import near, nearest

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
