"""Random matches notice a broken invariant."""

from __future__ import annotations

import numpy as np
import pytest

from games.guandan.matches.lockstep import Matches
from studies.simulate_guandan import check_play, simulate_matches


def test_a_broken_invariant_is_reported_with_the_matchs_seed() -> None:
    matches = Matches(np.arange(5))
    matches.states["left"][3, 0] -= 1
    with pytest.raises(AssertionError, match=r"public counts: broken in matches with seeds \[3\]"):
        check_play(matches, np.ones(5, np.int64))
    matches = Matches(np.arange(5))
    matches.states["hand"][1, 2, 0] ^= np.uint64(1)
    with pytest.raises(AssertionError, match=r"108 cards conserved: broken in matches with seeds \[1\]"):
        check_play(matches, np.ones(5, np.int64))


def test_a_match_without_end_is_reported() -> None:
    with pytest.raises(AssertionError, match="matches that do not end"):
        simulate_matches(4, 1, max_rounds=2)
