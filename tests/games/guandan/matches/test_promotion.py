"""Levels after a round: against a plain twin, and each ruling."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from games.guandan.cards import RANKS
from games.guandan.matches.promotion import Score, score_round
from games.guandan.rules import PRESETS, Rules
from tests.reference.guandan import guandan_match as slow

NOBODY = 255
FIRST_LAST, FIRST_THIRD, DOUBLE = [0, 1, 3, 2], [0, 1, 2, 3], [0, 2, 1, 3]
LOST = [1, 0, 3, 2]


def after(
    order: list[int],
    levels: str,
    owner: int = 0,
    fails: tuple[int, int] = (0, 0),
    rules: str | Rules = "ruling",
    drops: tuple[int, int] = (0, 0),
) -> Score:
    return score_round(
        np.array([order]),
        np.array([owner]),
        np.array([[RANKS.index(level) for level in levels]]),
        np.array([fails]),
        np.array([drops]),
        rules=PRESETS[rules] if isinstance(rules, str) else rules,
    )


def levels_of(score: Score) -> str:
    return "".join(RANKS[level] for level in score.levels[0])


@pytest.mark.parametrize("rules", PRESETS.values(), ids=PRESETS)
def test_scores_equal_those_of_the_plain_twin(rules: Rules) -> None:
    rng = np.random.default_rng(1)
    orders = np.array(list(permutations(range(4))))
    n = 3000
    order = orders[rng.integers(0, len(orders), n)]
    levels = np.where(rng.random((n, 2)) < 0.5, 12, rng.integers(0, 13, (n, 2)))
    fails = rng.integers(0, rules.ace_limit, (n, 2))
    owner = rng.choice([0, 1, NOBODY], n)
    score = score_round(order, owner, levels, fails, np.zeros((n, 2), int), rules=rules)
    for i in range(n):
        want = slow.promote(
            order[i].tolist(),
            None if owner[i] == NOBODY else int(owner[i]),
            [RANKS[level] for level in levels[i]],
            fails[i].tolist(),
            win=rules.ace_win,
            failure=rules.ace_failure,
            limit=rules.ace_limit,
            promotes=rules.ace_promotes,
        )
        dropped = np.flatnonzero(score.drops[i])
        got = (
            [RANKS[level] for level in score.levels[i]],
            score.fails[i].tolist(),
            None if score.winner[i] == NOBODY else int(score.winner[i]),
            int(dropped[0]) if len(dropped) else None,
        )
        assert got == want


def test_the_first_finishers_team_rises_by_three_two_or_one() -> None:
    assert levels_of(after(DOUBLE, "25", owner=1)) == "55"
    assert levels_of(after(FIRST_THIRD, "25", owner=1)) == "45"
    assert levels_of(after(FIRST_LAST, "25", owner=1)) == "35"


@pytest.mark.parametrize("level", "QK")
def test_nobody_skips_the_ace(level: str) -> None:
    score = after(DOUBLE, level + "5")
    assert levels_of(score) == "A5" and score.winner[0] == NOBODY


def test_a_team_wins_at_its_own_ace_unless_its_other_seat_comes_last() -> None:
    assert after(DOUBLE, "A5").winner[0] == 0
    assert after(FIRST_THIRD, "A5").winner[0] == 0
    lost = after(FIRST_LAST, "A5")
    assert lost.winner[0] == NOBODY and levels_of(lost) == "A5" and lost.fails[0].tolist() == [1, 0]


def test_a_win_counts_only_in_a_round_played_at_the_winners_own_level() -> None:
    assert after(DOUBLE, "AA", owner=1).winner[0] == NOBODY
    assert after(DOUBLE, "A5", owner=1).winner[0] == NOBODY
    assert after(DOUBLE, "AA", owner=1).fails[0].tolist() == [0, 1]


def test_the_njupt_platform_asks_for_a_double_win_at_the_ace() -> None:
    assert after(FIRST_THIRD, "A5", rules="njupt").winner[0] == NOBODY
    assert after(FIRST_THIRD, "A5", rules="njupt").fails[0].tolist() == [1, 0]
    assert after(DOUBLE, "A5", rules="njupt").winner[0] == 0


def test_the_third_failure_at_the_ace_drops_to_two() -> None:
    score = after(LOST, "A5", fails=(2, 0))
    assert levels_of(score) == "27" and score.fails[0].tolist() == [0, 0]
    assert score.drops[0].tolist() == [1, 0]
    score = after(FIRST_LAST, "A5", fails=(2, 0))
    assert levels_of(score) == "25"
    assert levels_of(after(LOST, "A5", fails=(1, 0))) == "A7"


def test_rounds_at_the_other_teams_level_are_no_failures() -> None:
    score = after(LOST, "A5", owner=1, fails=(2, 1))
    assert score.fails[0].tolist() == [2, 1] and levels_of(score) == "A7"


def test_the_official_server_promotes_a_team_that_drops_although_it_came_first() -> None:
    assert levels_of(after(FIRST_LAST, "A5", fails=(2, 0), rules="openguandan")) == "35"
    assert levels_of(after(LOST, "A5", fails=(2, 0), rules="openguandan")) == "27"


def test_two_failures_drop_on_the_njupt_platform_and_fifty_drops_draw() -> None:
    score = after(LOST, "A5", fails=(1, 0), rules="njupt", drops=(20, 28))
    assert levels_of(score) == "27" and not score.drawn[0]
    assert after(LOST, "A5", fails=(1, 0), rules="njupt", drops=(20, 29)).drawn[0]
    assert not after(LOST, "A5", fails=(2, 0), drops=(20, 29)).drawn[0]


def test_the_paper_counts_a_failure_only_with_a_seat_in_last_place() -> None:
    lost_without_last = [1, 0, 2, 3]
    assert after(lost_without_last, "A5", rules="paper").fails[0].tolist() == [0, 0]
    assert after(LOST, "A5", rules="paper").fails[0].tolist() == [1, 0]
    assert after(lost_without_last, "A5").fails[0].tolist() == [1, 0]
