"""What a trace costs: returns of playouts against their definition, and the table's invariants."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from click.testing import CliRunner

from blueprint.guandan.network.inference import load_inference
from blueprint.guandan.play.choosers import InferenceAgent
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.selfplay import Scratch, play_rounds
from experiments.training.trace import TRACES, ablate_trace, agent_returns, trace_rows
from games.guandan.rounds.round import GuanDan


def test_returns_of_playouts_are_the_recursion_written_out() -> None:
    agent = InferenceAgent(load_inference())
    states = deal_rounds(4, np.random.default_rng(2))
    record = play_rounds(states.copy(), [agent], Scratch())
    payoff = GuanDan().returns(record.final)[:, 0]
    seats = record.states["player"].astype(np.int64)
    to_side_0 = agent.inference.critic_values(record.states, np.arange(len(seats)), seats) * (
        1.0 - 2.0 * (seats & 1)
    )
    found = agent_returns(agent, states.copy())
    for i in range(4):
        for k, trace in enumerate(TRACES):
            value = payoff[i]
            for v in to_side_0[record.round == i][::-1]:
                value = (1 - trace) * v + trace * value
            np.testing.assert_allclose(found[i, k], value, atol=2e-5)


def test_a_shorter_trace_is_less_noisy_and_plain_returns_have_no_error() -> None:
    rows = trace_rows(None, pairs=24, playouts=8, seed=1)
    assert [row.trace for row in rows] == list(TRACES)
    assert rows[0].error == 0 and all(shift == (0, 0) for shift in rows[0].shifts)
    for longer, shorter in pairwise(rows):
        assert shorter.noise < longer.noise and shorter.target_variance < longer.target_variance


def test_playouts_come_in_halves() -> None:
    result = CliRunner().invoke(ablate_trace, ["--playouts", "5"])
    assert result.exit_code == 2 and "must be even" in result.output
