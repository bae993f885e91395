"""Ragged rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from games import Ragged
from games.ragged import pick_by, ranges


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=6), st.data())
def test_taken_rows_are_the_rows(rows: list[list[int]], data: st.DataObject) -> None:
    values = np.array([value for row in rows for value in row], np.int64)
    table = Ragged.from_counts(np.array([len(row) for row in rows]), values)
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8))
    taken = table.take(np.array(wanted, np.int64))
    assert [taken[i].tolist() for i in range(len(taken))] == [rows[i] for i in wanted]


def test_what_is_impossible_is_never_picked() -> None:
    rows = Ragged.from_counts(np.array([3, 2, 1]), np.arange(6))
    probs = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    for uniform in (0.0, 0.3, 1 - 2**-53):
        assert pick_by(rows, probs, np.full(3, uniform)).tolist() == [1, 0, 0]


def test_ranges_stand_one_behind_the_other() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        first, counts = rng.integers(-5, 50, 6), rng.integers(0, 4, 6)
        expected = [start + k for start, count in zip(first, counts, strict=True) for k in range(count)]
        assert ranges(first, counts).tolist() == expected
    assert len(ranges(np.zeros(0, np.int32), np.zeros(0, np.int32))) == 0
