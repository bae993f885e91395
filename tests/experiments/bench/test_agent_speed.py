"""`gs2 bench agent`: what is asked is known to be there before any of it is measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.bench.guandan.agent_speed import SHOWN, measure_agent
from experiments.bench.guandan.benches import AGENT
from games.support.configuration import ConfigError
from gs2.cli import main
from gs2.guandan.agent import agent as agent_module
from gs2.guandan.agent.guandan_config import PRESETS


def test_the_help_names_the_presets_that_are_measured_by_default() -> None:
    told = re.search(r"PRESETS \((.*) if none is given\)", AGENT.help)
    assert told and tuple(re.split(", | and ", told[1])) == SHOWN
    assert set(SHOWN) <= set(PRESETS)


def test_nothing_is_measured_where_a_later_name_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*words: object) -> None:
        raise AssertionError("an agent was made")

    monkeypatch.setattr(agent_module, "make_agent", made)
    with pytest.raises(ConfigError, match="typo"):
        measure_agent(("fast", "typo"), rounds=1, seed=0, checkpoint=None, progress=print)
    for words in (("fast", "typo"), ("fast", "-b", str(tmp_path / "none.safetensors"))):
        done = CliRunner().invoke(main, ["bench", "agent", *words])
        assert done.exit_code == 2 and words[-1].rpartition("/")[2] in done.output.replace("\n", "")
