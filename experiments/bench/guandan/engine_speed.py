"""How fast the GuanDan engine is: random rounds on one core and on all, move lists, inputs, whole matches.

    gs2 bench guandan --seconds 2

Everything is compiled before a clock starts. Rates are per second of processor time, so that what else runs
on the machine does not count; for several processes at once the rate in wall seconds stands beside it.

    gs2 bench min-combination

Minimum Combination Search is timed on dealt hands, by wild cards held.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blueprint.guandan.play.deals import exchange_cards
from experiments.bench.bench import figures, processor_seconds
from games.guandan.cards import ACTION, wild_card
from games.guandan.matches.lockstep import Matches
from games.guandan.rounds.playout import random_playouts
from games.guandan.rounds.round import advance, deal, initial_hands, legal
from games.guandan.rounds.state import NOBODY
from games.guandan.views.features import (
    action_features,
    observations,
    state_features,
)
from games.support.interruption import deaf_children

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "EngineRecord",
    "GuanDanSpeed",
    "Moves",
    "SplitSpeed",
    "dealt_hands",
    "engine_tables",
    "lockstep_rounds",
    "measure_engine",
    "measure_splits",
    "random_rounds",
    "split_tables",
]

ROUNDS = 200
"""Rounds in one timed piece of work."""
PEERS = {
    "best known engine": {"full": 139_000, "canonical": 190_000},
    "official programs, at most": {"full": 5_000},
}
"""Decisions a second a core that others report or that were measured of them."""


@dataclass(frozen=True)
class GuanDanSpeed:
    """Decisions a second in random play.

    one_core: of processor time, the median of the timed pieces; low, high: their quartiles.
    all_cores: the sum over `processes` at once, each by its processor time; all_wall: by wall time.
    share: of a core that each process had meanwhile. scaling: all_cores over that of one process alone.
    """

    moves: str
    one_core: float
    low: float
    high: float
    processes: int
    all_cores: float
    all_wall: float
    share: float
    scaling: float


@dataclass(frozen=True)
class Moves:
    """Sizes of move lists of one kind of position."""

    where: str
    moves: str
    positions: int
    mean: float
    median: float
    p99: float
    longest: int


@dataclass(frozen=True)
class EngineRecord:
    """All that `measure_engine` measures.

    lockstep: decisions a second of processor time through the array functions, `legal` and `advance`.
    state_us, observation_us: microseconds of DanZero's 513 and OpenGuanDan's 722 inputs of a position.
    action_ns: nanoseconds of an action's 54. matches_per_second: whole matches of random canonical play.
    decisions_per_round: in random play with full lists.
    """

    speeds: tuple[GuanDanSpeed, ...]
    lockstep: dict[str, float]
    moves: tuple[Moves, ...]
    decisions_per_round: float
    state_us: float
    observation_us: float
    action_ns: float
    matches_per_second: float
    cores: int
    seed: int


def _timed(work: Callable[[], int], seconds: float) -> NDArray[np.float64]:
    """Return units of work done per processor second, of each repetition within `seconds`."""
    work()
    rates: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(rates) < 3:
        begin = time.process_time()
        done = work()
        rates.append(done / max(time.process_time() - begin, 1e-9))
    return np.array(rates)


def random_rounds(rng: np.random.Generator, canonical: bool) -> int:
    """Play random rounds at random levels; return the decisions."""
    states = deal(ROUNDS, rng, level=rng.integers(0, 13, ROUNDS))
    return int(random_playouts(states, rng, canonical=canonical)[1].sum())


def _worker(seed: int, canonical: bool, seconds: float, barrier: Any, results: Any) -> None:
    """Play for some seconds from the barrier on; put (decisions, processor, wall seconds) into the queue."""
    rng = np.random.default_rng(seed)
    random_rounds(rng, canonical)
    barrier.wait()
    begin, ran = time.perf_counter(), time.process_time()
    done = 0
    while time.perf_counter() - begin < seconds:
        done += random_rounds(rng, canonical)
    results.put((done, time.process_time() - ran, time.perf_counter() - begin))


def _processes(n: int, canonical: bool, seconds: float, seed: int) -> tuple[float, float, float]:
    """Return decisions a processor second and a wall second of n processes at once, and their share."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(n), context.Queue()
    workers = [
        context.Process(target=_worker, args=(seed + i, canonical, seconds, barrier, results), daemon=True)
        for i in range(n)
    ]
    with deaf_children():
        for worker in workers:
            worker.start()
    try:
        got = np.array([results.get(timeout=120 + 10 * seconds) for _ in workers])
    except BaseException:
        for worker in workers:
            worker.terminate()
        raise
    finally:
        for worker in workers:
            worker.join(timeout=10)
            if worker.is_alive():
                worker.terminate()
    done, ran, took = got.T
    return float(np.sum(done / ran)), float(np.sum(done / took)), float(np.mean(ran / took))


def _pick(moves: Any, rng: np.random.Generator) -> NDArray[Any]:
    """Return one of each row's actions at random, [n] ACTION; nothing where a row is empty."""
    counts = moves.counts
    actions = np.zeros(len(counts), ACTION)
    live = counts > 0
    index = moves.offsets[:-1] + (rng.random(len(counts)) * counts).astype(np.int64)
    actions[live] = moves.values[index[live]]
    return actions


def lockstep_rounds(rng: np.random.Generator, canonical: bool) -> int:
    """Play rounds to the end through the public array functions; return the decisions."""
    states = deal(1000, rng, level=rng.integers(0, 13, 1000))
    done = 0
    while len(states):
        moves = legal(states, canonical=canonical)
        advance(states, _pick(moves, rng))
        done += len(states)
        states = states[states["player"] >= 0]
    return done


def _positions(rng: np.random.Generator, n: int) -> tuple[NDArray[Any], float]:
    """Return the positions of n random rounds, and decisions a round."""
    states = deal(n, rng, level=rng.integers(0, 13, n))
    seen = []
    while len(states):
        seen.append(states.copy())
        advance(states, _pick(legal(states), rng))
        states = states[states["player"] >= 0]
    positions = np.concatenate(seen)
    return positions, len(positions) / n


def _sizes(where: str, kind: str, counts: NDArray[Any]) -> Moves:
    return Moves(
        where,
        kind,
        len(counts),
        float(counts.mean()),
        float(np.median(counts)),
        float(np.quantile(counts, 0.99)),
        int(counts.max()),
    )


def _move_lists(rng: np.random.Generator, rounds: int) -> tuple[tuple[Moves, ...], float]:
    """Return sizes of move lists by kind of position, and decisions a round."""
    positions, per_round = _positions(rng, rounds)
    fresh = deal(10 * rounds, rng, level=rng.integers(0, 13, 10 * rounds))
    hands = initial_hands(fresh)[np.arange(len(fresh)), fresh["player"]]
    wild = np.array([wild_card(int(level)) for level in fresh["level"]])
    shift = np.where(wild < 28, 2 * wild, 2 * (wild - 28)).astype(np.uint64)
    held = np.where(wild < 28, hands[:, 0], hands[:, 1]) >> shift & np.uint64(3)
    leads = positions["leader"] == NOBODY
    kinds = [
        *((f"27-card lead, {k} wild", fresh[held == k]) for k in range(3)),
        ("leading", positions[leads]),
        ("following", positions[~leads]),
    ]
    sizes = [
        _sizes(where, kind, legal(states, canonical=kind == "canonical").counts)
        for kind in ("full", "canonical")
        for where, states in kinds
    ]
    return tuple(sizes), per_round


def _inputs(rng: np.random.Generator, seconds: float) -> tuple[float, float, float]:
    """Return microseconds of a position's two input vectors and nanoseconds of an action's."""
    positions, _ = _positions(rng, 100)
    states = positions[rng.integers(0, len(positions), 4000)]
    actions = legal(states[:1000]).values

    def timed(work: Callable[[], Any], count: int) -> float:
        def once() -> int:
            work()
            return count

        return 1 / float(np.median(_timed(once, seconds)))

    return (
        1e6 * timed(lambda: state_features(states), len(states)),
        1e6 * timed(lambda: observations(states), len(states)),
        1e9 * timed(lambda: action_features(actions), len(actions)),
    )


def _whole_matches(rng: np.random.Generator) -> int:
    """Play a batch of matches, tribute by rule; return how many."""
    matches = Matches(rng.integers(0, 2**63, 100))
    while not matches.over.all():
        exchange_cards(matches)
        matches.states[:] = random_playouts(matches.states, rng, canonical=True)[0]
        matches.settle()
    return len(matches)


def measure_engine(
    *,
    seconds: float = 2.0,
    processes: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> EngineRecord:
    """Return the engine's speeds.

    seconds: length of each measurement (there are about ten). processes: on all cores; one a core if None.
    progress: told what is being measured.
    """
    tell = progress or (lambda _: None)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    n = processes or cores
    rng = np.random.default_rng(seed)
    speeds: list[GuanDanSpeed] = []
    lockstep: dict[str, float] = {}

    def play(canonical: bool, work: Callable[[np.random.Generator, bool], int]) -> NDArray[Any]:
        return _timed(lambda: work(rng, canonical), seconds)

    for kind in ("full", "canonical"):
        canonical = kind == "canonical"
        tell(f"random rounds, {kind} moves, one core")
        low, middle, high = np.quantile(play(canonical, random_rounds), [0.25, 0.5, 0.75])
        tell(f"random rounds, {kind} moves, {n} processes")
        one, _, _ = _processes(1, canonical, seconds, seed)
        every, wall, share = _processes(n, canonical, seconds, seed)
        quartiles = float(middle), float(low), float(high)
        speeds.append(GuanDanSpeed(kind, *quartiles, n, every, wall, share, every / one))
        tell(f"rounds in lockstep, {kind} moves")
        lockstep[kind] = float(np.median(play(canonical, lockstep_rounds)))
    tell("sizes of move lists")
    moves, per_round = _move_lists(rng, max(50, round(100 * seconds)))
    tell("inputs")
    state_us, observation_us, action_ns = _inputs(rng, seconds / 2)
    tell("whole matches")
    matches = float(np.median(_timed(lambda: _whole_matches(rng), seconds)))
    return EngineRecord(
        tuple(speeds), lockstep, moves, per_round, state_us, observation_us, action_ns, matches, cores, seed
    )


def engine_tables(result: EngineRecord) -> list[Table]:
    """Return the result as tables for a terminal."""
    lockstep = result.lockstep
    peers = "; ".join(f"{name} {', '.join(f'{k} {v:,}' for k, v in r.items())}" for name, r in PEERS.items())
    speed = figures(
        "GuanDan, random play: 1000 decisions a second",
        "moves | one core | quartiles | lockstep | cores | all | in wall time | scaling",
        "{0.moves} | {1:,.0f} | {2:,.0f}–{3:,.0f} | {4:,.0f} | {0.processes} | {5:,.0f} | "
        "{6:,.0f} ({0.share:.0%}) | {0.scaling:.2f}",
        [
            (s, *np.array([s.one_core, s.low, s.high, lockstep[s.moves], s.all_cores, s.all_wall]) / 1000)
            for s in result.speeds
        ],
        caption=f"{peers}, one core",
    )
    lists = figures(
        f"Legal moves ({result.decisions_per_round:.0f} decisions a round)",
        "position | moves | positions | mean | median | p99 | longest",
        "{0.where} | {0.moves} | {0.positions:,} | {0.mean:.1f} | {0.median:.0f} | {0.p99:,.0f} | "
        "{0.longest:,}",
        result.moves,
        words=2,
    )
    rest = [
        ("DanZero's 513 inputs of a position", f"{result.state_us:.2f} µs"),
        ("OpenGuanDan's 722 of a position", f"{result.observation_us:.2f} µs"),
        ("54 inputs of a move", f"{result.action_ns:.1f} ns"),
        ("whole matches, canonical moves", f"{result.matches_per_second:.1f} a second"),
    ]
    return [speed, lists, figures("Inputs and matches", "what | cost", "{0} | {1}", rest)]


@dataclass(frozen=True)
class SplitSpeed:
    """Speed on hands with as many wild cards; None for hands as dealt.

    hands: measured. moves: fewest of a hand, on average. cheapest: microseconds of processor time a hand.
    """

    wild: int | None
    hands: int
    moves: float
    cheapest: float


def dealt_hands(n: int, rng: np.random.Generator) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return n hands of 27 cards, [n, 2] uint64 packed, and a level of each, [n]."""
    from games.guandan.cards import NUM_CARDS, pack

    deck = np.repeat(np.arange(NUM_CARDS), 2)
    counts = np.zeros((n, NUM_CARDS), np.uint8)
    for row in counts:
        np.add.at(row, rng.permutation(deck)[:27], 1)
    return pack(counts), rng.integers(0, 13, n)


def measure_splits(
    *, hands: int, seed: int = 0, repeats: int = 5, progress: Callable[[str], None] = lambda what: None
) -> list[SplitSpeed]:
    """Return the speed with 0, 1 and 2 wild cards and of all hands, the least of `repeats` each."""
    from blueprint.guandan.rules.min_combination import min_combinations
    from games.guandan.cards import unpack

    progress("splitting hands")
    dealt, levels = dealt_hands(hands, np.random.default_rng(seed))
    held = unpack(dealt)[np.arange(hands), 4 * levels]
    found = []
    for wild in (0, 1, 2):
        rows = held == wild
        moves = min_combinations(dealt[rows], levels[rows])
        seconds = min(
            processor_seconds(partial(min_combinations, dealt[rows], levels[rows])) for _ in range(repeats)
        )
        k = int(rows.sum())
        found.append(SplitSpeed(wild, k, float(moves.mean()), 1e6 * seconds / k))
    total = [sum(s.hands * getattr(s, name) for s in found) / hands for name in ("moves", "cheapest")]
    return [*found, SplitSpeed(None, hands, *total)]


def split_tables(result: list[SplitSpeed]) -> list[Table]:
    """Return the figures as a table to print."""
    heads = "wild cards | hands | mean moves | µs"
    cells = "{1} | {0.hands:,} | {0.moves:.2f} | {0.cheapest:.1f}"
    rows = [(s, "as dealt" if s.wild is None else s.wild) for s in result]
    return [figures("Minimum Combination Search, a dealt hand", heads, cells, rows)]
