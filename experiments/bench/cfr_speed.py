"""How fast full games are built, iterated and solved, beside OpenSpiel's C++ solvers where installed.

    gs2 bench cfr leduc_poker liars_dice_6

Times are processor seconds of one thread, compiled code warm. Both programs run in one process, turn by
turn; quote the ratio, not the seconds, across machines.

The floor of CFR+ is the bytes that an iteration must move through memory, and how fast this machine moves
bytes. What must be kept from one iteration to the next is the regrets, the policy and the sums of the average
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

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.layout import BASE, ROWS, WIDE, Layout, SideLayout
from cfr.engine.play import SWEPT_ANYHOW
from cfr.sequence_form import SequenceForm, sequence_form
from cfr.solver import Solver
from cfr.tree import grow
from cfr.variants import VARIANTS, variant
from experiments.bench.bench import figures
from experiments.bench.works import timed
from games.registry import RESEARCH_GAMES, load_game
from games.support.kernel import kernel

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "CfrRecord",
    "CfrSpeed",
    "Construction",
    "Convergence",
    "Floor",
    "cfr_tables",
    "measure_cfr",
    "measure_floor",
    "measured_bandwidth",
    "print_construction",
]

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


_GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards={},num_turns=3,points_order={},"
    "returns_type=point_difference))"
)
_OPENSPIEL = {
    "leduc_poker": "leduc_poker",
    "liars_dice_6": "liars_dice(dice_sides=6)",
    "liars_dice_7": "liars_dice(dice_sides=7)",
    "goofspiel_5_random_3": _GOOFSPIEL.format(5, "random"),
    "goofspiel_10_ascending_3": _GOOFSPIEL.format(10, "ascending"),
    "goofspiel_12_ascending_3": _GOOFSPIEL.format(12, "ascending"),
}
"""The same games in OpenSpiel's terms."""


@dataclass(frozen=True)
class Construction:
    """From a game string to a solver, in a process of its own.

    seconds: to the sequence form, growing the tree included. layout_seconds: the solver's memory layout, on
    top. peak_mb: largest resident memory of the process, Python and compiler included.
    histories, entries, boxes, distinct: of the tree, the payoff matrix and its boxes.
    """

    game: str
    seconds: float
    layout_seconds: float
    peak_mb: float
    histories: int
    entries: int
    boxes: int
    distinct: int


@dataclass(frozen=True)
class CfrSpeed:
    """CFR+ and one exploitability evaluation, in milliseconds.

    iteration_ms: per iteration, averaged over a run of `iterations`; median of the repeats.
    exploitability_ms: one evaluation of that run's average policy; smallest of the repeats.
    openspiel_iteration_ms: of OpenSpiel's C++ solver, over its first `openspiel_iterations`, as many as fit
        the time limit; first_iteration_ms: ours over as many. None where OpenSpiel is missing.
    openspiel_exploitability_ms: of OpenSpiel's C++ NashConv.
    """

    game: str
    iterations: int
    iteration_ms: float
    exploitability_ms: float
    openspiel_iterations: int | None = None
    openspiel_iteration_ms: float | None = None
    first_iteration_ms: float | None = None
    openspiel_exploitability_ms: float | None = None


@dataclass(frozen=True)
class Convergence:
    """Seconds and iterations of one variant to one exploitability, the checks on the way included.

    Both are None if `limit` iterations did not get there.
    """

    game: str
    variant: str
    target: float
    iterations: int | None
    seconds: float | None


@dataclass(frozen=True)
class CfrRecord:
    """All that `measure_cfr` measures."""

    construction: tuple[Construction, ...]
    speed: tuple[CfrSpeed, ...]
    floor: tuple[Floor, ...]
    convergence: tuple[Convergence, ...]


TARGETS = (1e-2, 1e-3, 1e-4)
"""Exploitabilities that convergence is measured to."""
ITERATIONS = 1000
"""Of the CFR+ run."""
LIMIT = 10_000
"""Iterations after which a target counts as missed."""
OPENSPIEL_SECONDS = 20.0
"""For OpenSpiel's iterations, per game."""


def measure_cfr(
    *,
    games: Sequence[str],
    variants: Sequence[str],
    repeats: int,
    openspiel: bool,
    progress: Callable[[str], None],
) -> CfrRecord:
    """Return construction, speed and convergence of CFR on games, by variants; by default on and by all.

    repeats: of every timing. openspiel: measure it too, where it is installed. progress: called with a few
    words before each step.
    Raises before the first figure is measured for a name that no game or variant has.
    """
    for name in games:
        load_game(name)
    for name in variants:
        variant(name)
    construction, speed, floor, convergence = [], [], [], []
    for name in games or RESEARCH_GAMES:
        progress(f"{name}: construction")
        construction.append(_construct(name))
        form = sequence_form(grow(load_game(name), keep_states=False))
        progress(f"{name}: CFR+")
        speed.append(_speed(name, form, repeats, openspiel))
        floor.append(measure_floor(name, form, ITERATIONS, speed[-1].iteration_ms * 1e3))
        for row in variants or VARIANTS:
            progress(f"{name}: {row}")
            convergence += _converge(name, form, row, repeats)
    return CfrRecord(tuple(construction), tuple(speed), tuple(floor), tuple(convergence))


def _construct(name: str) -> Construction:
    """Build the game in a fresh process, which has built a small one before."""
    out = subprocess.run(
        [sys.executable, "-c", BUILD, name],
        check=True,
        capture_output=True,
        text=True,
    )
    return Construction(**json.loads(out.stdout))


BUILD = "import sys; from experiments.bench.cfr_speed import print_construction as p; p(sys.argv[1])"
"""Program of the fresh process."""


def print_construction(name: str) -> None:
    """Build a game in this process and print how it went, as JSON."""
    print(json.dumps(asdict(_construct_here(name))))


def _construct_here(name: str) -> Construction:
    _ = sequence_form(grow(load_game("kuhn_poker"), keep_states=False)).layout  # compiles what is timed
    began = time.process_time()
    tree = grow(load_game(name), keep_states=False)
    form = sequence_form(tree)
    middle = time.process_time()
    layout = form.layout
    ended = time.process_time()
    boxes = len(layout.boxes[0].box)
    return Construction(
        name,
        middle - began,
        ended - middle,
        _peak_mb(),
        tree.n_nodes,
        form.n_entries,
        boxes,
        layout.n_distinct,
    )


def _peak_mb() -> float:
    """Return the largest resident memory of this process."""
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike getrusage, this does not count what the parent process held before this one began.
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def _run_ms(form: SequenceForm, iterations: int) -> tuple[float, Solver]:
    """Return processor milliseconds per iteration of CFR+ from the start, and the solver."""
    solver = Solver(form, "cfr+")
    return timed(lambda: solver.run(iterations)).processor / iterations * 1e3, solver


def _speed(name: str, form: SequenceForm, repeats: int, openspiel: bool) -> CfrSpeed:
    _run_ms(form, 1 + SWEPT_ANYHOW // sum(side.n_positions for side in form.layout.sides))
    ours, evaluations, theirs, first = [], [], [], []
    peer = None
    if openspiel and name in _OPENSPIEL and find_spec("pyspiel") is not None:
        peer = _Peer(_OPENSPIEL[name])
    peer_iterations = peer.fitting(OPENSPIEL_SECONDS / repeats) if peer else 0
    for _ in range(repeats):
        ms, solver = _run_ms(form, ITERATIONS)
        ours.append(ms)
        evaluations += [timed(solver.exploitability).processor * 1e3 for _ in range(5)]
        if peer:
            theirs.append(peer.run_ms(peer_iterations))
            first.append(_run_ms(form, peer_iterations)[0])
    return CfrSpeed(
        name,
        ITERATIONS,
        float(np.median(ours)),
        min(evaluations),
        peer_iterations if peer else None,
        float(np.median(theirs)) if peer else None,
        float(np.median(first)) if peer else None,
        peer.exploitability_ms() if peer else None,
    )


def _converge(name: str, form: SequenceForm, row: str, repeats: int) -> list[Convergence]:
    """Return how long the variant takes to each target; the fastest of the repeats."""
    limit = LIMIT
    best: dict[float, tuple[int, float]] = {}
    for _ in range(repeats):
        solver = Solver(form, row)
        open_targets = sorted(TARGETS, reverse=True)
        began = time.process_time()
        while open_targets and solver.iteration < limit:
            solver.run(max(10, solver.iteration // 20))
            exploitability = solver.exploitability()
            seconds = time.process_time() - began
            while open_targets and exploitability <= open_targets[0]:
                target = open_targets.pop(0)
                best[target] = min(
                    best.get(target, (0, np.inf)), (solver.iteration, seconds), key=lambda b: b[1]
                )
        # Runs differ in their time alone: what the first one missed, the others need not try.
        limit = max((reached[0] for reached in best.values()), default=0)
    out = []
    for target in TARGETS:
        reached = best.get(target)
        out.append(Convergence(name, row, target, *(reached or (None, None))))
    return out


class _Peer:
    """OpenSpiel's C++ CFR+ on one game."""

    def __init__(self, name: str) -> None:
        import pyspiel

        self._pyspiel: Any = pyspiel
        self._game = pyspiel.load_game(name)
        self._solver: Any = None

    def fitting(self, seconds: float) -> int:
        """Return how many iterations fit, at least 1, judged by the first."""
        return max(1, min(1000, int(seconds * 1e3 / self.run_ms(1))))

    def run_ms(self, iterations: int) -> float:
        """Return processor milliseconds per iteration, from the start."""
        self._solver = self._pyspiel.CFRPlusSolver(self._game)
        began = time.process_time()
        for _ in range(iterations):
            self._solver.evaluate_and_update_policy()
        return (time.process_time() - began) / iterations * 1e3

    def exploitability_ms(self) -> float:
        """Return processor milliseconds of one NashConv of the last run's average policy."""
        policy = self._solver.average_policy()
        return timed(lambda: self._pyspiel.nash_conv(self._game, policy, True)).processor * 1e3


def cfr_tables(result: CfrRecord) -> list[Table]:
    """Return the result as tables for a terminal."""
    build = figures(
        "From game string to solver",
        "game | histories | payoffs | boxes | distinct | sequence form | layout | peak",
        "{0.game} | {0.histories:,} | {0.entries:,} | {0.boxes:,} | {0.distinct:,} | {0.seconds:.2f} s | "
        "{0.layout_seconds:.3f} s | {0.peak_mb:,.0f} MB",
        result.construction,
        caption="each in a process of its own",
    )
    peers = any(s.openspiel_iterations for s in result.speed)
    theirs = [
        (
            s,
            _or_blank(s.openspiel_iterations, ",d"),
            _or_blank(s.first_iteration_ms, ".4f"),
            _or_blank(s.openspiel_iteration_ms, ",.2f"),
            _ratio(s.openspiel_iteration_ms, s.first_iteration_ms),
            _or_blank(s.openspiel_exploitability_ms, ",.0f"),
            _ratio(s.openspiel_exploitability_ms, s.exploitability_ms),
        )
        for s in result.speed
    ]
    speed = figures(
        "Milliseconds per iteration of CFR+, and of one exploitability evaluation",
        "game | iterations | ms each | exploitability"
        + " | first | ms each | OpenSpiel | ratio | its NashConv | ratio" * peers,
        "{0.game} | {0.iterations:,} | {0.iteration_ms:.4f} | {0.exploitability_ms:.3f}"
        + " | {1} | {2} | {3} | {4} | {5} | {6}" * peers,
        theirs,
        caption="first: as many iterations as OpenSpiel's C++ CFR+ got; ratios are over those"
        if peers
        else None,
    )
    floor = figures(
        "An iteration of CFR+ beside the bytes that it must move",
        "game | updated | reached | state | payoffs | GB/s | floor | takes | state | all | vectors",
        "{0.game} | {0.updated:,.0f} | {0.reached:,.0f} | {1:,.0f} kB | {2:,.0f} kB | "
        "{0.gb_per_second:.0f} | {0.floor_us:.2f} µs | {0.iteration_us:.2f} µs | {0.state_ratio:.1f} × | "
        "{0.ratio:.1f} × | {0.vector_ratio:.1f} ×",
        [(f, f.state_bytes / 1e3, f.payoff_bytes / 1e3) for f in result.floor],
        caption="bytes at the speed of an array of that size; state: regrets, policy and sums alone; "
        "vectors: what the layout loads and stores, padding, plans and values included",
    )
    targets = sorted({c.target for c in result.convergence}, reverse=True)
    found: dict[tuple[str, str], dict[float, str]] = {}
    for c in result.convergence:
        words = "–" if c.seconds is None else f"{c.seconds:.4f} ({c.iterations:,})"
        found.setdefault((c.game, c.variant), {})[c.target] = words
    reach = figures(
        "Seconds (iterations) to an exploitability, checks included",
        " | ".join(("game", "variant", *(f"{target:g}" for target in targets))),
        " | ".join(f"{{{column}}}" for column in range(2 + len(targets))),
        [(*names, *(cells[target] for target in targets)) for names, cells in found.items()],
        words=2,
    )
    return [build, speed, floor, reach]


def _ratio(theirs: float | None, ours: float | None) -> str:
    return f"{theirs / ours:,.0f} ×" if theirs and ours else ""


def _or_blank(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
