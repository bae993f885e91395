"""Configurations made of stages: fields of all stages by name, contradictions, stale fields."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np
import pytest

from games.support.configuration import ConfigError, Configuration, flag, integer, real
from games.support.staged import StagedConfiguration


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
