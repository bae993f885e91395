"""Our benches: what each is called and asks for. What measures it is imported when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from experiments.bench.bench import Progress
from gs2.commands.common import COUNT, SEED, CountType, FiniteRange

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.bench.cfr_speed import CfrRecord
    from experiments.bench.climbing_speed import ClimbingSpeed
    from experiments.bench.generation_speed import GenerationRecord
    from experiments.bench.guandan.agent_speed import AgentSpeed
    from experiments.bench.guandan.engine_speed import EngineRecord
    from experiments.bench.guandan.min_combination_speed import SplitSpeed
    from experiments.bench.guandan.network_speed import NetworkRecord
    from experiments.bench.search_speed import SearchRecord
    from experiments.bench.table import TableBench

__all__ = [
    "AGENT",
    "BLUEPRINT",
    "CFR",
    "CLIMBING",
    "GENERATION",
    "GUANDAN",
    "MIN_COMBINATION",
    "SEARCH",
    "TABLE",
]

AT_LEAST_ONE = COUNT


def _seed() -> click.Option:
    return click.Option(["--seed"], type=SEED, default=0, show_default=True, help="Seed of the run.")


def _seconds() -> click.Option:
    return click.Option(
        ["--seconds"],
        type=FiniteRange(min=0.1),
        default=2.0,
        show_default=True,
        help="Seconds for each part.",
    )


def _repeats(default: int, words: str = "Repetitions of each timing.") -> click.Option:
    return click.Option(["--repeats"], type=AT_LEAST_ONE, default=default, show_default=True, help=words)


def _check_games(games: Sequence[str]) -> None:
    """Refuse a name that no game has before the first figure is measured."""
    from games.registry import load_game

    for name in games:
        load_game(name)


class CfrSpeedBench:
    """How fast full games are built, iterated and solved."""

    name = "cfr"
    title = "CFR on full games"
    help = "Measure CFR on GAMES (the six research games if none is given), beside OpenSpiel's C++."
    about = (
        "Processor time of one thread, compiled code warm. Exploitability is NashConv / 2 of the average "
        "policy, in payoffs. Two programs run in one process, turn by turn: ratios carry over to other "
        "machines better than times."
    )
    options = (
        click.Argument(["games"], nargs=-1),
        click.Option(
            ["--variant", "variants"], multiple=True, help="Variant to time; repeatable.  [default: all]"
        ),
        _repeats(3),
        click.Option(
            ["--openspiel/--no-openspiel"], default=True, help="Time OpenSpiel too, if it is installed."
        ),
    )

    def run(
        self,
        progress: Progress,
        *,
        games: tuple[str, ...],
        variants: tuple[str, ...],
        repeats: int,
        openspiel: bool,
    ) -> CfrRecord:
        """Return construction, speed and convergence on each game."""
        from cfr.variants import VARIANTS, variant
        from experiments.bench.cfr_speed import CfrWork, measure_cfr
        from games.registry import RESEARCH_GAMES

        _check_games(games)
        for name in variants:
            variant(name)
        work = CfrWork(variants=variants or tuple(VARIANTS), repeats=repeats)
        return measure_cfr(games or RESEARCH_GAMES, work, openspiel=openspiel, progress=progress)

    def tables(self, result: CfrRecord) -> list[Table]:
        """Return the record as tables."""
        from experiments.bench.cfr_speed import cfr_tables

        return cfr_tables(result)


class EngineSpeedBench:
    """How fast the GuanDan engine is."""

    name = "guandan"
    title = "The GuanDan engine"
    help = "Measure the GuanDan engine: decisions a second, sizes of move lists, inputs of networks."
    about = "Random play, compiled code warm; rates are per second of processor time, medians of the pieces."
    options = (
        _seconds(),
        click.Option(
            ["--processes"], type=AT_LEAST_ONE, help="Number of processes.  [default: one per core]"
        ),
        _seed(),
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
        _seconds(),
        click.Option(
            ["--threads"], type=AT_LEAST_ONE, default=2, show_default=True, help="Number of threads."
        ),
        click.Option(
            ["--rounds"],
            type=AT_LEAST_ONE,
            default=1024,
            show_default=True,
            help="Rounds played in lockstep.",
        ),
        _seed(),
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


class ClimbingSpeedBench:
    """How fast DouDiZhu and Big2 are."""

    name = "climbing"
    title = "DouDiZhu and Big2"
    help = "Measure DouDiZhu and Big2 (or GAMES of these): random play, network, self-play and training."
    about = "One thread, compiled code warm; rates are per second of processor time, the wall's beside them."
    options = (
        click.Argument(["games"], nargs=-1),
        _seconds(),
        click.Option(
            ["--rounds"], type=AT_LEAST_ONE, default=1024, show_default=True, help="Rounds of a generation."
        ),
        _seed(),
    )

    def run(
        self, progress: Progress, *, games: tuple[str, ...], seconds: float, rounds: int, seed: int
    ) -> list[ClimbingSpeed]:
        """Return the speeds of each game."""
        from experiments.bench.climbing_speed import CLIMBING_GAMES, measure_climbing

        games = games or CLIMBING_GAMES
        return measure_climbing(games, seconds=seconds, rounds=rounds, seed=seed, progress=progress)

    def tables(self, result: list[ClimbingSpeed]) -> list[Table]:
        """Return the record as a table."""
        from experiments.bench.climbing_speed import climbing_tables

        return climbing_tables(result)


class GenerationSpeedBench:
    """How fast diverse generation is."""

    name = "generation"
    title = "Diverse generation"
    help = "Measure the diversity programme beside the one that the paper prints."
    about = "Medians of processor time; both programmes compiled, timed in turn, on the same values."
    options = (_repeats(9), _seed())

    def run(self, progress: Progress, *, repeats: int, seed: int) -> GenerationRecord:
        """Return the times of both programmes."""
        from experiments.bench.generation_speed import measure_generation

        return measure_generation(repeats=repeats, seed=seed, progress=progress)

    def tables(self, result: GenerationRecord) -> list[Table]:
        """Return the record as a table."""
        from experiments.bench.generation_speed import generation_tables

        return generation_tables(result)


class SearchSpeedBench:
    """How fast subgame solving is."""

    name = "search"
    title = "Subgame solving"
    help = "Measure searches one by one, and of whole GAMES (Leduc poker and Liar's Dice 6 if none is given)."
    about = (
        "Processor time of one thread, compiled code warm. PCFR+ with 300 iterations in every subgame; "
        "blueprint: plain CFR, 100 iterations. A gadget of N nodes: the median over searches of N/2 to 2N."
    )
    options = (click.Argument(["games"], nargs=-1), _repeats(20, "Infosets timed at each depth."), _seed())

    def run(self, progress: Progress, *, games: tuple[str, ...], repeats: int, seed: int) -> SearchRecord:
        """Return the times of searches one by one and of whole games."""
        from experiments.bench.search_speed import GAMES, measure_search

        _check_games(games)
        return measure_search(games=games or GAMES, repeats=repeats, seed=seed, progress=progress)

    def tables(self, result: SearchRecord) -> list[Table]:
        """Return the record as tables."""
        from experiments.bench.search_speed import search_tables

        return search_tables(result)


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
        _seed(),
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
        click.Option(
            ["--rounds"], type=AT_LEAST_ONE, default=4, show_default=True, help="Rounds of four agents."
        ),
        click.Option(
            ["-b", "--blueprint", "checkpoint"],
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Checkpoint of the network.  [default: the shipped one]",
        ),
        _seed(),
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
    options = (_repeats(3, "Repetitions with one table alone."), _seed())

    def run(self, progress: Progress, *, repeats: int, seed: int) -> TableBench:
        """Return one load for each dialect and number of tables."""
        from experiments.bench.table import measure_server

        return measure_server(repeats=repeats, seed=seed, progress=progress)

    def tables(self, result: TableBench) -> list[Table]:
        """Return the record as a table."""
        from experiments.bench.table import server_tables

        return server_tables(result)


CFR = CfrSpeedBench()
GUANDAN = EngineSpeedBench()
BLUEPRINT = NetworkSpeedBench()
CLIMBING = ClimbingSpeedBench()
GENERATION = GenerationSpeedBench()
SEARCH = SearchSpeedBench()
MIN_COMBINATION = SplitSpeedBench()
AGENT = AgentSpeedBench()
TABLE = TableSpeedBench()
