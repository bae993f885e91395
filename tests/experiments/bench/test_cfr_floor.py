"""The floor of CFR+: what is counted, and the speed it is counted at."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.engine.layout import ROWS, WIDE
from cfr.sequence_form import sequence_form
from cfr.solver import Solver
from experiments.bench.cfr_speed import measure_floor, measured_bandwidth
from tests.cfr.trees import tree_of


@pytest.mark.parametrize("source", ["kuhn", "leduc"])
def test_the_floor_counts_what_an_iteration_changes(source: str) -> None:
    tree = tree_of(source)
    found = measure_floor(source, sequence_form(tree), 1, 10.0)
    solver = Solver(tree, "cfr+")
    before = solver.state_dict()
    solver.run(1)
    after = solver.state_dict()
    # Every infoset of these games has a choice. From uniform play side 1 is reached everywhere, side 0 is not
    # after it has learnt from that.
    reached = np.flatnonzero(after["strategy_sum"] != before["strategy_sum"])
    updated = np.flatnonzero(np.repeat(after["stamp"] == 1, np.diff(tree.infoset_offset)))
    assert (found.updated, found.reached) == (len(updated), len(reached))
    either = len(np.union1d(reached, updated))
    assert found.state_bytes == 8 * (3 * len(updated) + either + 2 * len(reached))
    assert found.floor_us > 0
    assert found.state_ratio > found.ratio == pytest.approx(10.0 / found.floor_us)


@pytest.mark.parametrize("name", ["leduc_poker", "liars_dice(sides=4)", "goofspiel(cards=4,turns=3)"])
@pytest.mark.some(2)
def test_the_layout_moves_more_than_the_floor(name: str) -> None:
    form = sequence_form(tree_of(name))
    found = measure_floor(name, form, 30, 10.0)
    assert found.vector_bytes > found.state_bytes + found.payoff_bytes
    assert found.vector_ratio == pytest.approx(
        found.ratio * (found.state_bytes + found.payoff_bytes) / found.vector_bytes
    )
    # With every unit reached and every bundle updated there is no more to move.
    sides, everything = form.layout.sides, 0
    for side, own in enumerate(sides):
        boxes, width = form.layout.boxes[1 - side], own.width
        shape = boxes.shape.astype(np.int64)
        vectors = 5 * own.n_positions // width + int(
            ((own.bundle[1:, WIDE] // width) * (6 * own.bundle[1:, ROWS] + 2)).sum()
        )
        vectors += int((-(-4 * shape[:, 0] // width) * (2 + 2 * shape[:, 1])).sum())
        everything += 8 * width * vectors
    assert found.vector_bytes <= everything


def test_equal_payoffs_count_once_in_each_sweep() -> None:
    form = sequence_form(tree_of("liars_dice(sides=4)"))
    found = measure_floor("liars_dice(sides=4)", form, 1, 1.0)
    cells = sum(int(np.count_nonzero(boxes.pool)) for boxes in form.layout.boxes)
    assert 0 < found.payoff_bytes <= 8 * cells < 8 * form.n_entries


def test_bandwidth_is_positive_for_arrays_of_any_size() -> None:
    assert all(measured_bandwidth(n_bytes, 0.01) > 0 for n_bytes in (0, 1000, 1e6))
