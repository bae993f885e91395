"""Our benches: what each is called and asks for. What measures it is imported when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from experiments.bench.bench import Progress
from gs2.commands.common import COUNT, SEED, FiniteRange

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.bench.cfr_speed import CfrRecord
    from experiments.bench.climbing_speed import ClimbingSpeed
    from experiments.bench.generation_speed import GenerationRecord
    from experiments.bench.search_speed import SearchRecord

__all__ = [
    "CFR",
    "CLIMBING",
    "GENERATION",
    "SEARCH",
    "repeats_option",
    "seconds_option",
    "seed_option",
]


def seed_option() -> click.Option:
    return click.Option(["--seed"], type=SEED, default=0, show_default=True, help="Seed of the run.")


def seconds_option() -> click.Option:
    return click.Option(
        ["--seconds"],
        type=FiniteRange(min=0.1),
        default=2.0,
        show_default=True,
        help="Seconds for each part.",
    )


def repeats_option(default: int, words: str = "Repetitions of each timing.") -> click.Option:
    return click.Option(["--repeats"], type=COUNT, default=default, show_default=True, help=words)


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
        repeats_option(3),
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


class ClimbingSpeedBench:
    """How fast DouDiZhu and Big2 are."""

    name = "climbing"
    title = "DouDiZhu and Big2"
    help = "Measure DouDiZhu and Big2 (or GAMES of these): random play, network, self-play and training."
    about = "One thread, compiled code warm; rates are per second of processor time, the wall's beside them."
    options = (
        click.Argument(["games"], nargs=-1),
        seconds_option(),
        click.Option(
            ["--rounds"], type=COUNT, default=1024, show_default=True, help="Rounds of a generation."
        ),
        seed_option(),
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
    options = (repeats_option(9), seed_option())

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
    options = (
        click.Argument(["games"], nargs=-1),
        repeats_option(20, "Infosets timed at each depth."),
        seed_option(),
    )

    def run(self, progress: Progress, *, games: tuple[str, ...], repeats: int, seed: int) -> SearchRecord:
        """Return the times of searches one by one and of whole games."""
        from experiments.bench.search_speed import GAMES, measure_search

        _check_games(games)
        return measure_search(games=games or GAMES, repeats=repeats, seed=seed, progress=progress)

    def tables(self, result: SearchRecord) -> list[Table]:
        """Return the record as tables."""
        from experiments.bench.search_speed import search_tables

        return search_tables(result)


CFR = CfrSpeedBench()
CLIMBING = ClimbingSpeedBench()
GENERATION = GenerationSpeedBench()
SEARCH = SearchSpeedBench()
