"""How fast the GuanDan agent decides: latency by preset and phase.

    gs2 bench agent --rounds 4

Whole rounds of four agents are played one decision at a time, as at a table. Times are of the wall, which is
what a deadline counts.
"""

from __future__ import annotations

import resource
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.bench.bench import Progress, figures

if TYPE_CHECKING:
    from rich.table import Table

SHOWN = ("fast", "standard", "deep", "rollout", "paper")
"""Presets measured where none is named."""

PHASES = ("opening", "middle", "end")
"""At least 20 cards in hand; at least 10; fewer."""


@dataclass(frozen=True)
class Latency:
    """Wall-clock milliseconds a decision of one preset in one phase; forced moves are left out.

    deadline: seconds. late: decisions that took more than 1.1 times that. memory: the process's peak so far,
    in MB.
    """

    preset: str
    deadline: float
    phase: str
    decisions: int
    median: float
    p99: float
    worst: float
    late: int
    memory: float


def measure_agent(
    presets: tuple[str, ...], *, rounds: int, seed: int, checkpoint: Path | None, progress: Progress
) -> list[Latency]:
    """Return how long each preset takes over some rounds of four agents, a row for each phase.

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
    found = []
    for name, config in chosen:
        rng = np.random.default_rng(seed)
        agent = make_agent(checkpoint, config, rng)
        agent.warm_up()
        taken: dict[str, list[float]] = defaultdict(list)
        for number in range(rounds):
            progress(f"{name}: round {number + 1} of {rounds}")
            state = deal(1, rng, level=int(rng.integers(13)))
            past = PastMoves(state)
            while state["player"][0] >= 0:
                began = time.perf_counter()
                decision = agent.decide(state, moves=past.of(0))
                seconds = time.perf_counter() - began
                if decision.stage != "forced":
                    held = int(decision.state["left"][0, decision.seat])
                    taken[PHASES[(held < 20) + (held < 10)]].append(seconds)
                advance(state, decision.action)
                past.step()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        for phase in filter(taken.get, PHASES):
            times = np.array(taken[phase])
            median, p99, worst = (1000 * float(np.quantile(times, q)) for q in (0.5, 0.99, 1.0))
            late = int(np.sum(times > 1.1 * config.deadline))
            row = (phase, len(times), median, p99, worst, late)
            found.append(Latency(name, config.deadline, *row, memory))
    return found


def agent_tables(rows: list[Latency]) -> list[Table]:
    """Return the results as a table for a terminal."""
    heads = "preset | phase | deadline | decisions | median | p99 | worst | late | memory"
    cells = (
        "{0.preset} | {0.phase} | {0.deadline:g} s | {0.decisions} | {0.median:.1f} | {0.p99:.1f} | "
        "{0.worst:.1f} | {0.late} | {0.memory:.0f} MB"
    )
    return [figures("Milliseconds a decision with a choice", heads, cells, rows, words=2)]
