"""Every count has an upper bound: of an option, of a configuration's field, in a name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import attrs
import click
import pytest

import blueprint
import gs2
from cfr.variants import VARIANTS
from games.registry import load_game
from games.support.configuration import ConfigError, Configuration
from games.support.counts import MOST
from games.support.spec import field_types
from gs2.play.agent_names import load_game_agent
from gs2.policies.policy_spec import TRAINED, PolicySpecError, check_policy_spec
from gs2.search.config.presets import preset
from tests.commands.runner import refused
from tests.commands.tree import COMMANDS

HUGE = (*(str(number) for number in (1 << 63, 10**20, 10**400)), "9" * 5000)
WHOLE = [
    (path, option)
    for path, command in COMMANDS
    for option in command.params
    if isinstance(option, click.Option) and isinstance(option.type, click.types.IntParamType)
    if not option.count and not option.hidden
]


def test_options_of_every_group_are_met() -> None:
    assert len(WHOLE) > 90
    assert {path[0] for path, _ in WHOLE} >= {"solve", "match", "train", "serve", "exploit", "guandan"}


def test_a_whole_number_out_of_bounds_is_refused_and_the_help_names_the_bounds() -> None:
    context = click.Context(click.Command("x"))
    for path, option in WHOLE:
        kind = option.type
        assert isinstance(kind, click.IntRange) and kind.max is not None and not kind.clamp, path
        for words in (str(kind.max + 1), *HUGE):
            with pytest.raises(click.BadParameter, match=r"range|not a valid integer"):
                kind.convert(words, option, context)
        shown = option.get_help_record(context)
        assert shown is not None and kind._describe_range() in shown[1], path
    assert "--iterations" in refused("solve", "--iterations", HUGE[-1])


def configurations(kind: type[Configuration] = Configuration) -> Iterator[type[Configuration]]:
    for below in kind.__subclasses__():
        yield below
        yield from configurations(below)


def every_configuration() -> list[type[Configuration]]:
    """Return the configuration classes of all modules that define one."""
    for package in (blueprint, gs2):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            spec = found.module_finder.find_spec(found.name, None)
            source = spec.loader.get_source(found.name) if spec and spec.loader else None  # type: ignore[attr-defined]
            if source and "Configuration):" in source:
                importlib.import_module(found.name)
    return list({kind.__qualname__: kind for kind in configurations()}.values())


def test_a_field_that_counts_refuses_a_huge_value_and_says_the_bound() -> None:
    pytest.importorskip("torch")
    met = 0
    for kind in every_configuration():
        types = field_types(kind)
        for field in attrs.fields(kind):
            if field.validator is None or int not in types[field.name]:
                continue
            instance: Any = kind.__new__(kind)
            for value in (10**20, 10**400):
                with pytest.raises(ConfigError, match=rf"{field.name} must be an integer in \[-?\d+, \d+\]"):
                    field.validator(instance, field, value)
            met += 1
    assert met > 60


def test_a_name_with_a_count_out_of_bounds_is_refused_and_one_at_the_bound_is_taken() -> None:
    for word in (*VARIANTS, *TRAINED):
        for count in (str(MOST + 1), *HUGE, "0", "-1", "", "1e3", "²"):
            with pytest.raises(PolicySpecError, match="must be an integer") as refused:
                check_policy_spec(f"{word}:{count}")
            assert len(str(refused.value)) < 200
            assert str(MOST) in str(refused.value) or count not in (str(MOST + 1), *HUGE)
    check_policy_spec(f"cfr:{MOST}")
    assert preset(f"{MOST}-klss").histories.order == MOST


def test_agents_and_methods_by_name_have_the_same_bound() -> None:
    game = load_game("kuhn_poker")
    for name in (f"network:{10**20}", f"cfr:{10**20}", f"uniform+gs2-d:k={10**20}"):
        with pytest.raises(ValueError, match=str(MOST)):
            load_game_agent(game, name)
    with pytest.raises(ConfigError, match=str(MOST)):
        preset(f"{10**20}-klss")
    for name in ("depth", "rollouts", "iterations", "samples"):
        with pytest.raises(ConfigError, match=f"{name} must be an integer in"):
            preset("gs2", **{name: 10**20})
