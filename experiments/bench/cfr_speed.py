"""How fast full games are built, iterated and solved, beside OpenSpiel's C++ solvers where installed.

    gs2 bench cfr leduc_poker liars_dice_6

Times are processor seconds of one thread, compiled code warm. Both programs run in one process, turn by
turn; quote the ratio, not the seconds, across machines.
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

from cfr.engine.kernels import SWEPT_ANYHOW, SWEPT_BESIDE
from cfr.sequence_form import SequenceForm, sequence_form
from cfr.solver import Solver
from cfr.tree import grow
from cfr.variants import VARIANTS, variant
from experiments.bench.bench import figures
from experiments.bench.works import timed
from games.registry import RESEARCH_GAMES, load_game

if TYPE_CHECKING:
    from rich.table import Table

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
    construction, speed, convergence = [], [], []
    for name in games or RESEARCH_GAMES:
        progress(f"{name}: construction")
        construction.append(_construct(name))
        form = sequence_form(grow(load_game(name), keep_states=False))
        progress(f"{name}: CFR+")
        speed.append(_speed(name, form, repeats, openspiel))
        for row in variants or VARIANTS:
            progress(f"{name}: {row}")
            convergence += _converge(name, form, row, repeats)
    return CfrRecord(tuple(construction), tuple(speed), tuple(convergence))


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
    positions = sum(side.n_positions for side in form.layout.sides)
    _run_ms(form, 1 + SWEPT_ANYHOW // (SWEPT_BESIDE + positions))
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
    return [build, speed, reach]


def _ratio(theirs: float | None, ours: float | None) -> str:
    return f"{theirs / ours:,.0f} ×" if theirs and ours else ""


def _or_blank(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
