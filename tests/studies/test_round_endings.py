"""Endings taken from rounds, and what an agent gains in them."""

from __future__ import annotations

import numpy as np
from click.testing import CliRunner

from blueprint.guandan.play.duplicate import duplicate_deals
from gs2.guandan.agent_families import guandan_agent
from studies.agent.round_endings import endings, gains, round_endings
from tests.patience import amount


def test_an_agent_gains_nothing_over_itself_and_loses_as_a_worse_one() -> None:
    greedy, strong = (guandan_agent(name).load(np.random.default_rng(0)) for name in ("greedy", "strong"))
    states = endings(strong, duplicate_deals(np.arange(amount(200, 60)), 1), 24)
    assert states["left"].sum(axis=1).max() <= 24
    assert np.count_nonzero(states["left"], axis=1).min() >= 3
    nothing, _ = gains(strong, strong, states)
    assert not nothing.any()
    gain, seconds = gains(greedy, strong, states)
    assert gain.any() and seconds > 0 and np.abs(gain).max() <= 3


def test_agents_are_compared_with_the_first() -> None:
    words = ["blueprint", "greedy", "--rounds", "20", "--seed", "2"]
    shown = CliRunner().invoke(round_endings, words)
    assert shown.exit_code == 0, shown.output
    first, second = shown.output.splitlines()
    assert first.startswith("blueprint: +0.000") and second.startswith("greedy: ")
