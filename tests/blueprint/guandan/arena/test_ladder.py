"""Ladders: Bradley-Terry strengths, their intervals, tables and the picture."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from blueprint.guandan.arena.arena import Arena, ArenaConfig, ArenaError, Schedule
from blueprint.guandan.arena.ladder import ELO, bradley_terry, play_ladder, plot_ladder, rate
from gs2.guandan.named_agents import NamedAgents
from tests.patience import amount

POINT = 1.0
"""Elo points by which the weak prior may move a rating here."""


def payoffs_of(strengths: np.ndarray, n: int, seed: int) -> dict[tuple[int, int], np.ndarray]:
    """Return rounds drawn from the model itself."""
    rng = np.random.default_rng(seed)
    k = len(strengths)
    out = {}
    for i in range(k):
        for j in range(i + 1, k):
            p = 1 / (1 + np.exp((strengths[j] - strengths[i]) / ELO))
            out[i, j] = np.where(rng.random((n, 2)) < p, 2, -2)
    return out


def test_two_agents_are_as_far_apart_as_their_odds() -> None:
    strengths = bradley_terry(np.array([[0, 750], [250, 0]]))
    assert strengths[0] - strengths[1] == pytest.approx(ELO * np.log(3), abs=POINT)
    assert strengths.sum() == pytest.approx(0, abs=1e-6)


def test_expected_wins_equal_the_wins_that_were_counted() -> None:
    """The likelihood equations of the model, solved by strengths from another program's hands."""
    wins = np.array([[0, 300, 420], [200, 0, 310], [80, 190, 0.0]])
    s = bradley_terry(wins) / ELO
    expected = (wins + wins.T) / (1 + np.exp(s[None] - s[:, None]))
    np.fill_diagonal(expected, 0)
    assert np.allclose(expected.sum(1), wins.sum(1), atol=0.5)


def test_an_agent_that_won_everything_has_a_finite_rating_above_the_others() -> None:
    strengths = bradley_terry(np.array([[0, 100, 100], [0, 0, 50], [0, 50, 0]]))
    assert np.isfinite(strengths).all()
    assert strengths[0] > strengths[1] + 500
    assert strengths[1] == pytest.approx(strengths[2], abs=POINT)


def test_wins_that_cannot_be_are_refused() -> None:
    for wins in (np.zeros((2, 3)), np.array([[0, -1], [1, 0]])):
        with pytest.raises(ValueError, match="square"):
            bradley_terry(wins)


def test_ratings_recover_the_strengths_that_made_the_rounds() -> None:
    truth = np.array([150.0, 40.0, -60.0, -130.0])
    covered = []
    for seed in range(amount(10, 4)):
        ladder = rate("abcd", payoffs_of(truth, 400, seed), np.random.default_rng(seed), resamples=60)
        covered += [r.low <= t <= r.high for r, t in zip(ladder.ratings, truth, strict=True)]
        assert ladder.order == [0, 1, 2, 3]
    assert np.mean(covered) >= 0.8


def test_pairs_that_are_missing_are_refused() -> None:
    payoffs = payoffs_of(np.zeros(3), 5, 0)
    with pytest.raises(ValueError, match="every pair"):
        rate("abc", {k: v for k, v in payoffs.items() if k != (0, 2)}, np.random.default_rng(0))
    payoffs[0, 1] = payoffs[0, 1][:3]
    with pytest.raises(ValueError, match="every pair"):
        rate("abc", payoffs, np.random.default_rng(0))


@pytest.mark.long
def test_a_ladder_is_played_resumed_and_drawn(tmp_path: Path) -> None:
    agents = ("random", "greedy", "balanced")
    played = []
    with Arena(NamedAgents(), processes=1) as arena:
        ladder = play_ladder(
            arena,
            agents,
            Schedule(30, config=ArenaConfig(seed=2)),
            output=tmp_path,
            progress=lambda done, result: played.append(done),
        )
        assert ladder is not None
        assert played == [30, 60, 90]
        stopped = play_ladder(arena, agents, Schedule(60, config=ArenaConfig(seed=2)), stop=lambda: True)
        again = play_ladder(arena, agents, Schedule(30, config=ArenaConfig(seed=2)), output=tmp_path)
        direct = arena.play("random", "balanced", Schedule(30, config=ArenaConfig(seed=2)))
        with pytest.raises(ArenaError, match="different"):
            play_ladder(arena, ("greedy", "greedy"), Schedule(1))
        with pytest.raises(ArenaError, match="games must be 0"):
            play_ladder(arena, agents, Schedule(1, games=1))
    assert stopped is None and again is not None
    assert again.ratings == ladder.ratings
    assert ladder.order[0] == 1
    assert all(ladder.ratings[i].mean >= ladder.ratings[j].mean for i, j in pairwise(ladder.order))
    assert ladder.net[0, 2] == -ladder.net[2, 0] == direct.net.mean()
    assert json.loads(json.dumps(ladder.to_json()))["net"][0][0] is None
    pytest.importorskip("matplotlib")
    for suffix in ("svg", "png"):
        plot_ladder(ladder, tmp_path / f"ladder.{suffix}")
        assert (tmp_path / f"ladder.{suffix}").stat().st_size > 2000
