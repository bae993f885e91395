"""Parts of one's own: what the documentation shows works, and names are guarded."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from games.support.configuration import ConfigError
from games.support.contract import ContractError
from gs2.parts import register_gadget, register_generator, register_leaf
from gs2.search.config.search import SearchConfig
from gs2.search.config.stages import GENERATOR_NAMES
from gs2.search.generation import GENERATORS
from tests.patience import LONG

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "own_parts.md"


def test_names_of_a_configuration_are_those_there_are():
    assert list(GENERATORS) == GENERATOR_NAMES


def test_the_page_runs_and_its_parts_are_used(parts_forgotten, capsys):
    found: dict = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        if LONG not in os.environ:  # with no raise in the second round it takes a fifth of the time
            code = code.replace('"leduc_poker"', '"leduc_poker(raise_caps=1/0)"')
        exec(compile(code, PAGE.name, "exec"), found)
    lines = capsys.readouterr().out.splitlines()
    assert lines.pop(0) == "hide heads 0.40, tails 0.60"
    blueprint = float(lines[0].split()[-1])
    values = {tuple(line.split()[:2]): float(line.split()[-1]) for line in lines[1:5]}
    assert values["gs2+", "diverse"] < blueprint
    assert values["gs2+", "highest"] < blueprint
    assert values["gs2-d", "diverse"] != values["gs2-d", "highest"]
    assert found["checked"], "the gadget of one's own was built"
    assert "not played out" in lines[6]


def test_a_part_that_breaks_its_contract_or_takes_a_name_is_refused(parts_forgotten):
    with pytest.raises(ContractError, match="generator: must choose indices that rise and are distinct; got"):
        register_generator("backwards", lambda values, weights, k, rng: np.arange(min(k, len(values)))[::-1])
    with pytest.raises(ConfigError, match="must differ from all, random"):
        register_generator("diverse", GENERATORS["diverse"])
    with pytest.raises(ConfigError, match="must differ from unsafe"):
        register_gadget("resolve", lambda forest, root_of, entry, floor: None)
    with pytest.raises(ConfigError, match="must differ from exact, value"):
        register_leaf("rollout", lambda game, states: np.zeros((len(states), 2)))
    with pytest.raises(ConfigError, match="generator must be one of"):
        SearchConfig.of(generator="backwards", k=2)
