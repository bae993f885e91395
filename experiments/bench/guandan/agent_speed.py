"""How fast the GuanDan agent decides: latency by preset and phase, decisions a second, where the time goes.

    gs2 bench agent --rounds 4

Whole rounds of four agents are played one decision at a time, as at a table. Times are of the wall, which is
what a deadline counts; processor time stands beside them, since other programs may be running.
"""

from __future__ import annotations

import resource
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.bench.bench import figures

if TYPE_CHECKING:
    from rich.table import Table

    from gs2.guandan.agent.decision import Decision

__all__ = ["SHOWN", "AgentSpeed", "Latency", "agent_tables", "measure_agent"]

SHOWN = ("fast", "standard", "deep", "rollout", "paper")
"""Presets measured where none is named."""

PHASES = ("opening", "middle", "end")
"""At least 20 cards in hand; at least 10; fewer."""


@dataclass(frozen=True)
class Latency:
    """Wall-clock milliseconds a decision of one preset in one phase; forced moves are left out.

    late: decisions that took more than 1.1 times the deadline.
    """

    phase: str
    decisions: int
    median: float
    p99: float
    worst: float
    late: int


@dataclass(frozen=True)
class AgentSpeed:
    """What one preset costs.

    rate: decisions a second over whole rounds, forced moves included; processor_rate: of processor time.
    decisions, forced, searched: how many. stages: share of the time thought that each stage took.
    rollout_rate: network decisions in rollouts a second, 0 without rollouts. memory: the process's peak so
    far, in MB.
    """

    preset: str
    deadline: float
    rounds: int
    decisions: int
    forced: int
    searched: int
    rate: float
    processor_rate: float
    latencies: list[Latency]
    stages: dict[str, float]
    rollout_rate: float
    memory: float


@dataclass
class _Tally:
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    stages: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    forced: int = 0
    searched: int = 0

    def add(self, decision: Decision, seconds: float) -> None:
        if decision.stage == "forced":
            self.forced += 1
            return
        held = int(decision.state["left"][0, decision.seat])
        self.seconds[PHASES[(held < 20) + (held < 10)]].append(seconds)
        self.searched += decision.stage in ("rollout", "subgame", "endgame")
        for stage, spent in decision.seconds.items():
            self.stages[stage] += spent


def _latency(phase: str, seconds: list[float], deadline: float) -> Latency:
    median, p99, worst = (1000 * float(np.quantile(seconds, q)) for q in (0.5, 0.99, 1.0))
    return Latency(phase, len(seconds), median, p99, worst, sum(s > 1.1 * deadline for s in seconds))


def measure_agent(
    presets: tuple[str, ...] = (),
    *,
    rounds: int = 4,
    seed: int = 0,
    checkpoint: Path | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> list[AgentSpeed]:
    """Return what each preset costs over some rounds of four agents.

    presets: by default `SHOWN`. checkpoint: the blueprint's, by default the shipped one.
    Raises ConfigError for a preset that there is not, before any is measured.
    """
    import torch

    from blueprint.guandan.play.selfplay import PastMoves
    from games.guandan.rounds.round import advance, deal
    from gs2.guandan.agent.agent import make_agent
    from gs2.guandan.agent.guandan_config import agent_preset

    chosen = [(name, agent_preset(name)) for name in presets or SHOWN]
    torch.set_num_threads(1)
    out = []
    for name, config in chosen:
        rng = np.random.default_rng(seed)
        agent = make_agent(checkpoint, config, rng)
        agent.warm_up()
        tally = _Tally()
        took = spent = 0.0
        for number in range(rounds):
            progress(f"{name}: round {number + 1} of {rounds}")
            state = deal(1, rng, level=int(rng.integers(13)))
            past = PastMoves(state)
            while state["player"][0] >= 0:
                clock, processor = time.perf_counter(), time.process_time()
                decision = agent.decide(state, moves=past.of(0))
                seconds = time.perf_counter() - clock
                spent += time.process_time() - processor
                took += seconds
                tally.add(decision, seconds)
                advance(state, decision.action)
                past.step()
        latencies = [
            _latency(phase, tally.seconds[phase], config.deadline) for phase in PHASES if tally.seconds[phase]
        ]
        total = tally.forced + sum(row.decisions for row in latencies)
        thought = sum(tally.stages.values())
        out.append(
            AgentSpeed(
                name,
                config.deadline,
                rounds,
                total,
                tally.forced,
                tally.searched,
                total / took,
                total / spent,
                latencies,
                {stage: part / thought for stage, part in tally.stages.items()},
                agent.rollouts.decisions / tally.stages["rollouts"] if "rollouts" in tally.stages else 0.0,
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            )
        )
    return out


def agent_tables(results: list[AgentSpeed]) -> list[Table]:
    """Return the results as tables for a terminal."""
    speed = figures(
        "GuanDan agent, whole rounds of four agents",
        "preset | deadline | decisions/s | of processor | searched | rollouts | memory",
        "{0.preset} | {0.deadline:g} s | {0.rate:.0f} | {0.processor_rate:.0f} | {1:.0%} | {2} | "
        "{0.memory:.0f} MB",
        [
            (row, row.searched / row.decisions, f"{row.rollout_rate:,.0f}/s" if row.rollout_rate else "–")
            for row in results
        ],
    )
    wait = figures(
        "Milliseconds a decision with a choice",
        "preset | phase | decisions | median | p99 | worst | late",
        "{0} | {1.phase} | {1.decisions} | {1.median:.1f} | {1.p99:.1f} | {1.worst:.1f} | {1.late}",
        [(row.preset, latency) for row in results for latency in row.latencies],
        words=2,
    )
    shares = [(row.preset, *stage) for row in results for stage in row.stages.items()]
    parts = figures(
        "Share of the time by part", "preset | stage | share", "{0} | {1} | {2:.0%}", shares, words=2
    )
    return [speed, wait, parts]
