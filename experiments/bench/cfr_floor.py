"""The floor of CFR+: bytes that an iteration must move through memory, and how fast this machine moves bytes.

What must be kept from one iteration to the next is the regrets, the policy and the sums of the average
policy. An alternating iteration must at least

- read and write the regrets, and write the policy, of every infoset that it updates (one of two or more
  actions that is paid);
- read the policy of those, and of what its sweeps down reach;
- read and write the sums of every action that is reached, where its infoset has two or more;
- read the payoffs against what is reached, equal blocks of them once in each of its two sweeps.

Each number counts once, with 8 bytes, though our kernels read some more often. Nothing else counts: not
padding, not plans and values (which a program that follows the public tree could hold in registers), not the
tables that say what lies where. The floor is time: these bytes at the speed at which this machine reads and
writes, in place, an array as large as all that they are read from, which lies in the same cache.

That floor knows nothing of rows. Beside it stands what our layout loads and stores at least, in whole
vectors, at the same speed: padding, plans and values, and for each row of a box its payoffs and the
probability that they are multiplied by. What an iteration takes beyond is finding the way, dividing, waiting.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.engine.layout import BASE, ROWS, WIDE, Layout, SideLayout
from cfr.sequence_form import SequenceForm
from cfr.solver import Solver
from games.support.kernel import kernel

__all__ = ["Floor", "measure_floor", "measured_bandwidth"]

SAMPLES = 20
"""Iterations of a run that are counted."""


@dataclass(frozen=True)
class Floor:
    """What an iteration of CFR+ must move through memory, beside what it takes.

    updated, reached: actions whose regrets and policy, whose share of the average change in an iteration;
        the mean of `samples`, spread over a run of `iterations`.
    state_bytes: of regrets, policy and sums, to be read and written. payoff_bytes: to be read.
    resident_bytes: how much memory these are in.
    gb_per_second: at which this machine reads and writes as much; what is read and written counts twice.
    floor_us, iteration_us: microseconds of that, and of an iteration in the same run.
    state_ratio, ratio: of the iteration to the floor of the state alone, and of state and payoffs.
    vector_bytes: that our layout loads and stores at least. vector_ratio: of the iteration to these.
    """

    game: str
    iterations: int
    samples: int
    updated: float
    reached: float
    state_bytes: float
    payoff_bytes: float
    resident_bytes: float
    gb_per_second: float
    floor_us: float
    iteration_us: float
    state_ratio: float
    ratio: float
    vector_bytes: float
    vector_ratio: float


def measure_floor(name: str, form: SequenceForm, iterations: int, iteration_us: float) -> Floor:
    """Return the floor of a game's first `iterations`, at least 1.

    iteration_us: what each takes, on average, in microseconds.
    """
    samples = min(SAMPLES, iterations)
    solver = Solver(form, "cfr+")
    counts = []
    for k in range(1, samples + 1):
        solver.run(iterations * k // samples - solver.iteration - 1)
        before = solver.state_dict()["strategy_sum"]
        solver.run(1)
        after = solver.state_dict()
        counts.append(_count(form, before, after["strategy_sum"], after["stamp"] == solver.iteration))
    updated, reached, either, payoffs, vectors = np.mean(counts, axis=0).tolist()
    state_bytes = 8 * (3 * updated + either + 2 * reached)
    resident_bytes = 8 * (updated + either + reached + payoffs)
    per_us = measured_bandwidth(resident_bytes) / 1e6
    floor_us = (state_bytes + 8 * payoffs) / per_us
    return Floor(
        game=name,
        iterations=iterations,
        samples=samples,
        updated=updated,
        reached=reached,
        state_bytes=state_bytes,
        payoff_bytes=8 * payoffs,
        resident_bytes=resident_bytes,
        gb_per_second=per_us / 1e3,
        floor_us=floor_us,
        iteration_us=iteration_us,
        state_ratio=iteration_us * per_us / state_bytes,
        ratio=iteration_us / floor_us,
        vector_bytes=vectors,
        vector_ratio=iteration_us * per_us / vectors,
    )


def _count(
    form: SequenceForm,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    updated_infosets: NDArray[np.bool_],
) -> tuple[int, int, int, int, int]:
    """Return how many actions one iteration updated, reached, either, payoffs it read, bytes of vectors.

    before, after: sums of the average policy, on slots.
    """
    n_updated = n_reached = n_either = n_payoffs = n_bytes = 0
    for side, plex in enumerate(form.sides):
        sizes = np.diff(plex.start)
        chosen = np.repeat(sizes > 1, sizes)
        updated = np.repeat(updated_infosets[plex.infoset], sizes) & chosen
        reached = before[plex.slot[1:]] != after[plex.slot[1:]]
        n_updated += int(updated.sum())
        n_reached += int((reached & chosen).sum())
        n_either += int((updated | reached & chosen).sum())
        units = _units(form.layout.sides[side], reached)
        n_payoffs += _payoffs(form.layout, side, units)
        n_bytes += _vector_bytes(form.layout, side, units, updated)
    return n_updated, n_reached, n_either, n_payoffs, n_bytes


def _units(own: SideLayout, reached: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which units are reached. reached: of all sequences but the empty."""
    positions = own.position[np.append(True, reached)]
    units = np.zeros(len(own.unit_bundle), bool)
    units[np.searchsorted(own.unit_position, positions, "right") - 1] = True
    return units


def _vector_bytes(
    layout: Layout,
    side: int,
    units: NDArray[np.bool_],
    updated: NDArray[np.bool_],
) -> int:
    """Return the bytes of vectors that a sweep down over the reached units and a sweep up move at least.

    Of a reached vector: the plan before it, policy, plan, and the sums twice. Of an updated one: policy and
    regret twice, values and the zeros in their place. Of a bundle besides: what its lanes are worth, twice.
    Of a box: the values twice, and for each column a vector of payoffs and one probability, spread over one.
    """
    own, boxes = layout.sides[side], layout.boxes[1 - side]
    width = own.width
    n_down = 5 * int((np.diff(own.unit_position)[units] // width).sum())
    changed = np.unique(np.searchsorted(own.bundle[:, BASE], own.position[1:][updated], "right") - 1)
    wide = own.bundle[changed, WIDE] // width
    n_up = int((wide * (6 * own.bundle[changed, ROWS] + 2)).sum())
    shape = boxes.shape[np.repeat(units, np.diff(boxes.start))]
    pieces = -(-4 * shape[:, 0].astype(np.int64) // width)
    n_paid = int((pieces * (2 + 2 * shape[:, 1].astype(np.int64))).sum())
    return 8 * width * (n_down + n_up + n_paid)


def _payoffs(layout: Layout, side: int, units: NDArray[np.bool_]) -> int:
    """Return how many different payoffs the other side is paid. units: those reached."""
    boxes = layout.boxes[1 - side]
    of_box = np.repeat(units, np.diff(boxes.start))
    first, where = np.unique(boxes.box[of_box, 2], return_index=True)
    n_cells = 4 * boxes.shape[of_box][where].prod(axis=1)
    nonzero = np.append(0, np.cumsum(boxes.pool != 0))
    return int((nonzero[first + n_cells] - nonzero[first]).sum())


@kernel
def _scale(array: NDArray[np.float64], factor: float, passes: int) -> None:
    for _ in range(passes):
        for k in range(len(array)):
            array[k] *= factor


def measured_bandwidth(n_bytes: float, seconds: float = 0.2) -> float:
    """Return how many bytes a second one thread reads and writes in place; each counts twice.

    n_bytes: size of the array. seconds: how long to measure, in pieces of which the fastest counts.
    """
    array = np.ones(max(int(n_bytes) // 8, 64))
    _scale(array, 1.0, 1)
    passes = max(1, int(2e7 / array.nbytes))
    best, ended = np.inf, time.process_time() + seconds
    while time.process_time() < ended:
        began = time.perf_counter()  # pieces are too short for the processor's own clock
        _scale(array, 1.0, passes)
        best = min(best, time.perf_counter() - began)
    return 2 * array.nbytes * passes / best
