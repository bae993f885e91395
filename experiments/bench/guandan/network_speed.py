"""How fast GuanDan's blueprint is: one decision, batches, self-play and training, beside the floor.

    gs2 bench blueprint --seconds 2

Everything is compiled before a clock starts. Rates are per second of processor time times the threads, so
that what else runs on the machine does not count; the rate by the wall stands beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from blueprint.checkpoint import read_checkpoint
from blueprint.game_lockstep import play_rounds
from blueprint.guandan import SHIPPED
from blueprint.guandan.network.inference import Inference, load_inference
from blueprint.guandan.network.input_layout import ACTION_WIDTH, STATE_WIDTH
from blueprint.guandan.network.inputs import encode_actions, encode_states
from blueprint.guandan.play.deals import deal_rounds
from blueprint.guandan.play.network_play import InferenceAgent
from blueprint.guandan.play.selfplay import Scratch
from blueprint.guandan.train_config import NetworkConfig, TrainConfig
from blueprint.guandan.training.trainer import Trainer
from blueprint.protocol import Decisions
from blueprint.structured import join
from experiments.bench.bench import Rate, figures, measured_rate

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["NetworkRecord", "measure_network", "network_tables", "operations"]

MOVES = 30
"""Legal moves of each decision that is timed."""


@dataclass(frozen=True)
class NetworkRecord:
    """All that `measure_network` measures.

    single_ms, single_wall_ms: milliseconds of one decision with 30 moves on one thread, features included:
        medians of processor and of wall time; single_best_ms: the fastest hundredth by the wall.
    batch: decisions a second with 30 moves each in batches, by precision, on one thread and on all.
    matrix: measured rate of matrix products on one thread by precision, in operations a second.
    operations: multiplications and additions of one decision with 30 moves, zeros included.
    selfplay: decisions a second of self-play by the shipped network; without: the same at random, features
    written and no network asked; training: with learning from every decision once.
    """

    network: str
    single_ms: float
    single_wall_ms: float
    single_best_ms: float
    batch: dict[str, Rate]
    matrix: dict[str, float]
    operations: float
    selfplay: Rate
    without: Rate
    training: Rate
    seed: int

    def floor_ms(self, precision: str) -> float:
        """Return the milliseconds that the operations of a decision take at the measured matrix rate."""
        return 1e3 * self.operations / self.matrix[precision]


def operations(config: NetworkConfig, moves: int) -> float:
    """Return the multiplications and additions of the scores of one decision, zeros included."""
    state, action = config.state, config.action
    tower = STATE_WIDTH * state + config.blocks * state * state + state * action
    head = ACTION_WIDTH * action + config.action_blocks * action * action + action
    return 2.0 * (tower + moves * head)


def _decisions(n: int, moves: int, rng: np.random.Generator) -> Decisions:
    """Return n decisions of real play with exactly `moves` legal moves (repeated if play shows too few)."""
    agent = InferenceAgent(load_inference(critic=False))
    found: list[tuple[NDArray[Any], int, NDArray[Any]]] = []

    def watch(decisions: Decisions) -> NDArray[np.int64]:
        for j in np.flatnonzero(np.diff(decisions.offsets) == moves):
            part = slice(decisions.offsets[j], decisions.offsets[j + 1])
            rows = decisions.rows[j : j + 1]
            found.append((decisions.states[rows], int(decisions.seats[j]), decisions.actions[part].copy()))
        return agent(decisions)

    while len(found) < min(n, 64):
        play_rounds(deal_rounds(200, rng, tribute=0.5), watch, Scratch(), record=False)
    picked = [found[i % len(found)] for i in range(n)]
    states, seats, actions = zip(*picked, strict=True)
    offsets = np.arange(n + 1, dtype=np.int64) * moves
    return Decisions(join(list(states)), np.arange(n), np.array(seats), offsets, join(list(actions)))


def _single(inference: Inference, d: Decisions, seconds: float) -> tuple[float, float, float]:
    """Return median processor and wall milliseconds of one decision, and the fastest hundredth's."""
    offsets, row = d.offsets[:2], np.zeros(1, np.int64)
    parts = [
        Decisions(d.states[j : j + 1], row, one.seats, offsets, one.actions)
        for j, one in enumerate(d.spans(1))
    ]
    walls: list[float] = []
    used: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not used:
        ran = time.thread_time()
        for part in parts:
            begin = time.perf_counter()
            inference.advantages(part)
            walls.append(time.perf_counter() - begin)
        used.append((time.thread_time() - ran) / len(parts))
    wall, best = np.quantile(walls, [0.5, 0.01])
    return 1e3 * float(np.median(used)), 1e3 * float(wall), 1e3 * float(best)


def _batches(inference: Inference, d: Decisions, threads: int, seconds: float) -> Rate:
    def ask(_: int) -> int:
        inference.advantages(d)
        return len(d)

    if threads == 1:
        return measured_rate(lambda: ask(0), seconds, 1)
    with ThreadPoolExecutor(threads) as pool:
        return measured_rate(lambda: sum(pool.map(ask, range(2 * threads))), seconds, threads)


def _matrix_rate(kind: torch.dtype, seconds: float) -> float:
    """Return operations a second of the head's matrix product on one thread."""
    x, w = torch.rand(2048, 256).to(kind), torch.rand(256, 256).to(kind)

    def multiply() -> int:
        for _ in range(8):
            torch.nn.functional.linear(x, w)
        return 8 * 2 * 2048 * 256 * 256

    with torch.inference_mode():
        return measured_rate(multiply, seconds, 1).processor


def _play(agents: list[Any], rounds: int, rng: np.random.Generator, scratch: list[Scratch]) -> int:
    """Play rounds on as many threads as there are agents; return the decisions."""
    parts = np.array_split(deal_rounds(rounds, rng, tribute=0.5), len(agents))

    def play(k: int) -> int:
        return play_rounds(parts[k].copy(), agents[k], scratch[k]).steps

    if len(agents) == 1:
        return play(0)
    with ThreadPoolExecutor(len(agents)) as pool:
        return sum(pool.map(play, range(len(agents))))


class _Encoding:
    """Plays at random, but writes the network's inputs: what is left when the network costs nothing."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        encode_states(decisions.states, decisions.seats, decisions.rows)
        encode_actions(decisions)
        counts = np.diff(decisions.offsets)
        drawn = (self.rng.random(len(counts)) * counts).astype(np.int64)
        chosen: NDArray[np.int64] = np.minimum(drawn, counts - 1)
        return chosen


def measure_network(
    *,
    seconds: float = 2.0,
    threads: int = 2,
    rounds: int = 1024,
    seed: int = 0,
    progress: Callable[[str], None] = lambda what: None,
) -> NetworkRecord:
    """Return the speeds of the shipped network.

    seconds: of each part. threads: of batches, self-play and training, which is as the shipped network was
    trained last. rounds: in lockstep on all threads, twice as many in training.
    progress: called with what is measured next. torch is left with one thread per product.
    """
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    progress("one decision")
    plain = load_inference(critic=False, half=False)
    auto = load_inference(critic=False)
    decisions = _decisions(512, MOVES, rng)
    single = _single(plain, decisions, seconds)
    progress("batches")
    kinds = {"float32": plain} | ({"bfloat16": auto} if auto.half else {})
    batch = {
        f"{name}, {n} thread{'s' if n > 1 else ''}": _batches(inference, decisions, n, seconds)
        for name, inference in kinds.items()
        for n in sorted({1, threads})
    }
    matrix = {name: _matrix_rate(getattr(torch, name), seconds / 2) for name in kinds}
    progress("self-play")
    scratch = [Scratch() for _ in range(threads)]
    agents = [InferenceAgent(auto, temperature=0.02, epsilon=0.01, rng=r) for r in rng.spawn(threads)]
    selfplay = measured_rate(lambda: _play(agents, rounds, rng, scratch), seconds, threads)
    encoders = [_Encoding(r) for r in rng.spawn(threads)]
    without = measured_rate(lambda: _play(encoders, rounds, rng, scratch), seconds, threads)
    progress("training")
    saved = TrainConfig.from_json(read_checkpoint(SHIPPED, prefix="-")[1]["train"])
    # with focus there is more to play than to learn: a thread more keeps the cores busy
    more = int(threads > 1 and saved.focus > 0)
    config = saved.replace(rounds=2 * rounds, seed=seed)
    trainer = Trainer.load(SHIPPED, threads=threads + more, config=config)
    for _ in range(2):
        trainer.run_generation()

    def generation() -> int:
        before = trainer.decisions
        trainer.run_generation()
        return trainer.decisions - before

    training = measured_rate(generation, seconds, threads)
    work = operations(trainer.network_config, MOVES)
    return NetworkRecord(auto.name, *single, batch, matrix, work, selfplay, without, training, seed)


def network_tables(result: NetworkRecord) -> list[Table]:
    """Return the tables that the command prints."""
    times = [
        ("median, processor time", f"{result.single_ms:.3f}"),
        ("median, wall", f"{result.single_wall_ms:.3f}"),
        ("fastest hundredth, wall", f"{result.single_best_ms:.3f}"),
    ]
    for name, speed in result.matrix.items():
        what = f"floor: {result.operations / 1e6:.1f} M operations at {speed / 1e9:,.0f} G/s, {name}"
        times.append((what, f"{result.floor_ms(name):.3f}"))
    rows = [(f"batches of {MOVES} moves, {name.split(',')[0]}", rate) for name, rate in result.batch.items()]
    rows += [
        ("self-play, shipped network", result.selfplay),
        ("self-play, features but no network", result.without),
        ("self-play and training", result.training),
    ]
    heads = " | threads | processor time | wall | share of a core"
    rates = "{0} | {1.threads} | {1.processor:,.0f} | {1.wall:,.0f} | {1.share:.0%}"
    return [
        figures(
            f"{result.network}: one decision with {MOVES} moves, one thread", " | ms", "{0} | {1}", times
        ),
        figures("Decisions a second", heads, rates, rows),
    ]
