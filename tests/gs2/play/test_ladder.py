"""Ladders of any game: every pair on the same chance, two ratings, gone on with from a folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from games.support.locks import LockHeld, hold
from gs2.play.arena import Meeting, MeetingError, play_match
from gs2.play.game_pairs import PlayedGames
from gs2.play.ladder import (
    ELO,
    PENALTY,
    LadderPlan,
    Meetings,
    luce_strengths,
    play_ladder,
    rate,
)
from tests.patience import amount

AGENTS = ("cfr:20", "uniform", "cfr:3")


def test_a_ladder_is_its_matches() -> None:
    plan = LadderPlan("leduc_poker", AGENTS, pairs=60, seed=2)
    found = play_ladder(plan)
    assert found is not None and found.teams == 2
    for i, j in plan.matches(2):
        match = play_match(Meeting("leduc_poker", AGENTS[i], AGENTS[j], 60, 2, agent_seed=2))
        assert found.net[i, j] == match.net == -found.net[j, i]
        assert found.won[i, j] == match.games.won.mean() and found.won[i, j] + found.won[j, i] == 1
    net = np.nan_to_num(found.net)
    assert [rating.mean for rating in found.points] == pytest.approx(net.mean(1).tolist())
    assert sum(rating.mean for rating in found.elo) == pytest.approx(0)
    for rating in (*found.points, *found.elo):
        assert rating.low <= rating.mean <= rating.high and rating.n == 60
    assert found.labels[found.order[-1]] == "uniform"
    told = json.loads(json.dumps(found.to_json()))
    assert told["agents"] == list(AGENTS) and told["net"][0][0] is None and len(told["points"]) == 3


def test_where_each_plays_for_itself_everyone_is_once_the_one_seat() -> None:
    game = "big2(players=3,ranks=4,suits=3)"
    agents = ("uniform", "gs2.play.big2_shedding:BIG2_SHEDDING")
    found = play_ladder(LadderPlan(game, agents, pairs=60))
    assert found is not None and found.teams == 3
    ahead = play_match(Meeting(game, *agents, 60, 0, agent_seed=0))
    behind = play_match(Meeting(game, *reversed(agents), 60, 0, agent_seed=0))
    assert (found.net[0, 1], found.net[1, 0]) == (ahead.net, behind.net)
    assert found.won[1, 0] == behind.games.won.mean() > 1 / 3 > found.won[0, 1]
    assert found.points[1].mean == pytest.approx((behind.net - ahead.net) / 4)
    assert found.order == [1, 0] and found.elo[1].low > 0 > found.elo[0].high


def test_the_order_is_by_points_or_by_elo_as_it_is_asked_for() -> None:
    """Who wins a little often and loses much now and then has the better Elo and the fewer points."""
    often = np.tile([[1.0, 1.0], [1.0, 1.0], [-9.0, -9.0]], (20, 1))
    played = {(0, 1): PlayedGames(np.arange(60), often, (np.sign(often) + 1) / 2)}
    for by, order in (("points", [1, 0]), ("elo", [0, 1])):
        plan = LadderPlan("kuhn_poker", ("often", "seldom"), pairs=60, by=by)
        found = rate(plan, played, np.random.default_rng(0), resamples=20)
        assert found.order == order and found.points[1].mean > 0 < found.elo[0].mean


def test_a_ladder_goes_on_from_its_folder(tmp_path: Path) -> None:
    plan = LadderPlan("leduc_poker", (*AGENTS, "cfr+:3"), pairs=amount(300, 60))
    asked = iter([False, False, False, True])
    assert play_ladder(plan, output=tmp_path / "run", stop=lambda: next(asked, True)) is None
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").glob("*.jsonl")}
    assert 0 < len(before) < 6
    shown: list[int] = []
    found = play_ladder(plan, output=tmp_path / "run", progress=lambda done, _: shown.append(done))
    after = {path.name: path.read_bytes() for path in (tmp_path / "run").glob("*.jsonl")}
    assert len(after) == 6, "cfr:3 and cfr+:3 have a file each"
    assert all(after[name].startswith(data) for name, data in before.items())
    assert shown == sorted(shown) and shown[-1] == 6 * plan.pairs
    alone = play_ladder(plan)
    assert found is not None and alone is not None and found.to_json() == alone.to_json()
    with hold(tmp_path / "run", folder=True), pytest.raises(LockHeld):
        play_ladder(plan, output=tmp_path / "run")


def test_what_cannot_be_rated_is_refused() -> None:
    for agents in ((), ("uniform",), ("uniform", "uniform")):
        with pytest.raises(MeetingError, match="two or more different agents"):
            LadderPlan("kuhn_poker", agents)
    with pytest.raises(MeetingError, match="ordered by points or elo"):
        LadderPlan("kuhn_poker", AGENTS, by="luck")
    plan = LadderPlan("kuhn_poker", ("a", "b"), pairs=2)
    paid = np.zeros((2, 2))
    rng = np.random.default_rng(0)
    for played in (
        {},
        {(0, 1): PlayedGames(np.array([0, 2]), paid, paid)},
        {(1, 0): PlayedGames(np.arange(2), paid, paid)},
    ):
        with pytest.raises(MeetingError, match="every match of 2 agents"):
            rate(plan, played, rng)


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
