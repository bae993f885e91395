"""Ratings: the model of many seats, and the one of two that it holds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from gs2.play.ratings import ELO, PENALTY, Meetings, luce_strengths


def bradley_terry(wins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the strengths by another program: logistic regression with the same prior."""
    k, (i, j) = len(wins), np.nonzero(wins)
    design = np.zeros((len(i), k))
    design[np.arange(len(i)), i], design[np.arange(len(i)), j] = 1.0, -1.0
    # the same rows with the sign turned as losses: both classes must occur, and the likelihood is doubled
    model = LogisticRegression(C=PENALTY / 2, fit_intercept=False, solver="newton-cholesky", tol=1e-6)
    weights = np.tile(wins[i, j], 2)
    model.fit(np.concatenate([design, -design]), np.repeat([1, 0], len(i)), sample_weight=weights)
    found: NDArray[np.float64] = ELO * (model.coef_[0] - model.coef_[0].mean())
    return found


def all_pairs(agents: int, games: float, seats: int) -> Meetings:
    pairs = [(i, j) for i in range(agents) for j in range(agents) if i < j or (i > j and seats > 1)]
    one, others = np.array(pairs).T
    return Meetings(one, others, np.full(len(pairs), games), seats)


@pytest.mark.parametrize("seed", range(4))
def test_with_two_sides_it_is_bradley_and_terrys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    agents = int(rng.integers(2, 7))
    meetings = all_pairs(agents, 500.0, 1)
    won = rng.integers(0, 501, len(meetings.games)).astype(float)
    wins = np.zeros((agents, agents))
    wins[meetings.one, meetings.others] = won
    wins[meetings.others, meetings.one] = 500 - won
    assert luce_strengths(agents, meetings, won) == pytest.approx(bradley_terry(wins), abs=0.01)


@pytest.mark.parametrize("seats", [1, 2, 3])
def test_strengths_come_back_from_the_wins_that_they_lead_to(seats: int) -> None:
    true = np.array([1.0, 0.2, -0.4, -0.8])
    meetings = all_pairs(4, 1e6, seats)
    odds = np.exp(true[meetings.one] - true[meetings.others]) / seats
    found = luce_strengths(4, meetings, meetings.games * odds / (1 + odds))
    assert found == pytest.approx(ELO * true, abs=0.1)


def test_who_wins_always_has_a_finite_rating_and_more_wins_never_lower_it() -> None:
    meetings = all_pairs(2, 100.0, 1)
    found = [luce_strengths(2, meetings, np.array([won]))[0] for won in (0.0, 10.0, 50.0, 99.5, 100.0)]
    assert found == sorted(found) and np.isfinite(found).all() and found[-1] > 500
    assert found[2] == pytest.approx(0)


def test_wins_that_cannot_be_are_refused() -> None:
    meetings = all_pairs(2, 10.0, 1)
    for won in ([-1.0], [11.0], [1.0, 1.0]):
        with pytest.raises(ValueError, match=r"wins must be in \[0, games\]"):
            luce_strengths(2, meetings, np.array(won))
