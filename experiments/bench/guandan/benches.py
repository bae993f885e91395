"""The benches of GuanDan: what each is called and asks for. What measures it is imported when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from experiments.bench.bench import SpeedBench
from experiments.bench.benches import SECONDS_OPTION, SEED_OPTION, usual
from gs2.commands.common import COUNT

BLUEPRINT = SpeedBench(
    name="blueprint",
    title="GuanDan's network",
    help="Measure GuanDan's network: one decision, batches, self-play and training, beside bare arithmetic.",
    about="Compiled code warm, in turns; rates are medians, per second of processor time, times the threads. "
    "Arithmetic: matrix products alone, as many operations a decision.",
    options=(
        SECONDS_OPTION,
        usual("--threads", COUNT, 2, "Number of threads."),
        usual("--rounds", COUNT, 1024, "Rounds played in lockstep."),
        SEED_OPTION,
    ),
    measure="experiments.bench.guandan.works:measure_network",
)
AGENT = SpeedBench(
    name="agent",
    title="The GuanDan agent",
    help="Measure the GuanDan agent's PRESETS (fast, standard, deep, rollout and paper if none is given): "
    "latency by phase.",
    about="Whole rounds of four agents, one decision at a time, as at a table; wall time unless it says so.",
    options=(
        click.Argument(["presets"], nargs=-1),
        usual("--rounds", COUNT, 4, "Rounds of four agents."),
        click.Option(
            ["-b", "--blueprint", "checkpoint"],
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Checkpoint of the network.  [default: the shipped one]",
        ),
        SEED_OPTION,
    ),
    measure="experiments.bench.guandan.agent_speed:measure_agent",
    show="experiments.bench.guandan.agent_speed:agent_tables",
)
TABLE = SpeedBench(
    name="table",
    title="The GuanDan server",
    help="Measure the GuanDan server under random clients: one table, and 200 at once, in both dialects.",
    about="One server process and one of clients, which read every frame and answer at random.",
    options=(usual("--repeats", COUNT, 3, "Repetitions with one table alone."), SEED_OPTION),
    measure="experiments.bench.guandan.table:measure_server",
    show="experiments.bench.guandan.table:server_tables",
)
