"""The benches of GuanDan: what each is called and asks for. What measures it is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from experiments.bench.bench import Progress
from experiments.bench.benches import repeats_option, seconds_option, seed_option
from gs2.commands.common import COUNT, CountType

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.bench.guandan.agent_speed import AgentSpeed
    from experiments.bench.guandan.engine_speed import EngineRecord
    from experiments.bench.guandan.min_combination_speed import SplitSpeed
    from experiments.bench.guandan.network_speed import NetworkRecord
    from experiments.bench.guandan.table import TableBench

__all__ = ["AGENT", "BLUEPRINT", "GUANDAN", "MIN_COMBINATION", "TABLE"]


class EngineSpeedBench:
    """How fast the GuanDan engine is."""

    name = "guandan"
    title = "The GuanDan engine"
    help = "Measure the GuanDan engine: decisions a second, sizes of move lists, inputs of networks."
    about = "Random play, compiled code warm; rates are per second of processor time, medians of the pieces."
    options = (
        seconds_option(),
        click.Option(["--processes"], type=COUNT, help="Number of processes.  [default: one per core]"),
        seed_option(),
    )

    def run(self, progress: Progress, *, seconds: float, processes: int | None, seed: int) -> EngineRecord:
        """Return the engine's speeds."""
        from experiments.bench.guandan.engine_speed import measure_engine

        return measure_engine(seconds=seconds, processes=processes, seed=seed, progress=progress)

    def tables(self, result: EngineRecord) -> list[Table]:
        """Return the record as tables."""
        from experiments.bench.guandan.engine_speed import engine_tables

        return engine_tables(result)


class NetworkSpeedBench:
    """How fast GuanDan's network is."""

    name = "blueprint"
    title = "GuanDan's network"
    help = "Measure GuanDan's network: one decision, batches, self-play and training, beside the floor."
    about = "Compiled code warm; rates are per second of processor time, times the threads."
    options = (
        seconds_option(),
        click.Option(["--threads"], type=COUNT, default=2, show_default=True, help="Number of threads."),
        click.Option(
            ["--rounds"],
            type=COUNT,
            default=1024,
            show_default=True,
            help="Rounds played in lockstep.",
        ),
        seed_option(),
    )

    def run(
        self, progress: Progress, *, seconds: float, threads: int, rounds: int, seed: int
    ) -> NetworkRecord:
        """Return the speeds of the shipped network."""
        from experiments.bench.guandan.network_speed import measure_network

        return measure_network(seconds=seconds, threads=threads, rounds=rounds, seed=seed, progress=progress)

    def tables(self, result: NetworkRecord) -> list[Table]:
        """Return the record as tables."""
        from experiments.bench.guandan.network_speed import network_tables

        return network_tables(result)


class SplitSpeedBench:
    """How fast Minimum Combination Search is."""

    name = "min-combination"
    title = "Minimum Combination Search"
    help = "Measure Minimum Combination Search: microseconds a hand, by wild cards held."
    about = "Processor time of one core, compiled code warm, dealt hands in batches; the least of five."
    options = (
        click.Option(
            ["--hands"],
            type=CountType(100),
            default=3000,
            show_default=True,
            help="Number of hands dealt.",
        ),
        seed_option(),
    )

    def run(self, progress: Progress, *, hands: int, seed: int) -> list[SplitSpeed]:
        """Return the speed with 0, 1 and 2 wild cards, and of all hands."""
        import numpy as np

        from experiments.bench.guandan.min_combination_speed import measure_splits

        progress("splitting hands")
        return measure_splits(hands, np.random.default_rng(seed))

    def tables(self, result: list[SplitSpeed]) -> list[Table]:
        """Return the record as a table."""
        from experiments.bench.guandan.min_combination_speed import split_tables

        return split_tables(result)


class AgentSpeedBench:
    """How fast the GuanDan agent decides."""

    name = "agent"
    title = "The GuanDan agent"
    help = (
        "Measure the GuanDan agent's PRESETS (fast, standard, deep, rollout and paper if none is given): "
        "latency by phase, decisions a second, stages."
    )
    about = "Whole rounds of four agents, one decision at a time, as at a table; wall time unless it says so."
    options = (
        click.Argument(["presets"], nargs=-1),
        click.Option(["--rounds"], type=COUNT, default=4, show_default=True, help="Rounds of four agents."),
        click.Option(
            ["-b", "--blueprint", "checkpoint"],
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Checkpoint of the network.  [default: the shipped one]",
        ),
        seed_option(),
    )

    def run(
        self,
        progress: Progress,
        *,
        presets: tuple[str, ...],
        rounds: int,
        checkpoint: Path | None,
        seed: int,
    ) -> list[AgentSpeed]:
        """Return what each preset costs."""
        from experiments.bench.guandan.agent_speed import SHOWN, measure_agent

        return measure_agent(
            presets or SHOWN, rounds=rounds, seed=seed, checkpoint=checkpoint, progress=progress
        )

    def tables(self, result: list[AgentSpeed]) -> list[Table]:
        """Return the record as tables."""
        from experiments.bench.guandan.agent_speed import agent_tables

        return agent_tables(result)


class TableSpeedBench:
    """How fast the GuanDan server is."""

    name = "table"
    title = "The GuanDan server"
    help = "Measure the GuanDan server under random clients: one table, and 200 at once, in both dialects."
    about = "One server process and one of clients, which read every frame and answer at random."
    options = (repeats_option(3, "Repetitions with one table alone."), seed_option())

    def run(self, progress: Progress, *, repeats: int, seed: int) -> TableBench:
        """Return one load for each dialect and number of tables."""
        from experiments.bench.guandan.table import measure_server

        return measure_server(repeats=repeats, seed=seed, progress=progress)

    def tables(self, result: TableBench) -> list[Table]:
        """Return the record as a table."""
        from experiments.bench.guandan.table import server_tables

        return server_tables(result)


GUANDAN = EngineSpeedBench()
BLUEPRINT = NetworkSpeedBench()
MIN_COMBINATION = SplitSpeedBench()
AGENT = AgentSpeedBench()
TABLE = TableSpeedBench()
