"""How a review is measured: the rounds that are played, what they cost, and the ratio with its interval."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.guandan.arena.duplicate import duplicate_deals
from experiments.agent.review_accuracy import accuracy_row, played_rounds, reviewed_losses
from games.game import TERMINAL
from games.guandan.rounds.round import GuanDan
from gs2.guandan.agent.deals.dealing import DealNetworks
from gs2.guandan.named_agents import load_batched_agent
from gs2.guandan.review.reviewing import Reviewer
from tests.gs2.guandan.blueprints import CountEvaluator
from tests.gs2.guandan.review.test_judging import SMALL


def test_rounds_are_remembered_whole_and_what_is_lost_is_the_difference_on_the_same_deals():
    deals = duplicate_deals(np.arange(3), 1)
    greedy, strong = load_batched_agent("greedy"), load_batched_agent("strong")
    rounds, lost = played_rounds(greedy, strong, deals)
    alone, none = played_rounds(strong, strong, deals)
    assert not none.any()
    for k, (one, other) in enumerate(zip(rounds, alone, strict=True)):
        ends = one.states()[-1:], other.states()[-1:]
        assert all(end["player"][0] == TERMINAL for end in ends)
        paid, wanted = (GuanDan().returns(end)[0, int(k >= 3)] for end in ends)
        assert lost[k] == wanted - paid
        assert np.array_equal(one.start["hand"], deals["hand"][k % 3 : k % 3 + 1])


def test_the_agents_own_decisions_are_reviewed_and_no_others():
    deals = duplicate_deals(np.arange(2), 2)
    rounds, _ = played_rounds(load_batched_agent("greedy"), load_batched_agent("strong"), deals)
    found, told = reviewed_losses(rounds, Reviewer(DealNetworks(CountEvaluator(0.05)), SMALL))
    assert found.shape == (2, 4)
    assert (found[0] >= 0).all()
    assert {judgement.choice.seat & 1 for judgement in told} == {0, 1}


def test_a_ratio_is_of_the_means_and_its_interval_holds_it():
    rng = np.random.default_rng(3)
    lost = rng.normal(2, 1, 60)
    row = accuracy_row(lost, 1.1 * lost, 0)
    assert row["ratio"] == pytest.approx(1.1)
    assert row["interval"] == pytest.approx([1.1, 1.1])
    row = accuracy_row(lost, lost + rng.normal(0, 1, 60), 0)
    assert row["interval"][0] < row["ratio"] < row["interval"][1]
