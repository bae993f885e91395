"""Our benches: what each is called and asks for. What measures it is imported when it runs."""

from __future__ import annotations

import click

from experiments.bench.bench import SpeedBench
from gs2.commands.common import COUNT, SEED, FiniteRange

__all__ = ["CFR", "CLIMBING", "GENERATION", "SEARCH", "repeats_option", "seconds_option", "seed_option"]


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


CFR = SpeedBench(
    name="cfr",
    title="CFR on full games",
    help="Measure CFR on GAMES (the six research games if none is given), beside OpenSpiel's C++.",
    about="Processor time of one thread, compiled code warm. Exploitability is NashConv / 2 of the average "
    "policy, in payoffs. Two programs run in one process, turn by turn: ratios carry over to other machines "
    "better than times.",
    options=(
        click.Argument(["games"], nargs=-1),
        click.Option(
            ["--variant", "variants"], multiple=True, help="Variant to time; repeatable.  [default: all]"
        ),
        repeats_option(3),
        click.Option(
            ["--openspiel/--no-openspiel"], default=True, help="Time OpenSpiel too, if it is installed."
        ),
    ),
    measure="experiments.bench.cfr_speed:measure_named",
    show="experiments.bench.cfr_speed:cfr_tables",
)
CLIMBING = SpeedBench(
    name="climbing",
    title="DouDiZhu and Big2",
    help="Measure DouDiZhu and Big2 (or GAMES of these): random play, network, self-play and training.",
    about="One thread, compiled code warm; rates are per second of processor time, the wall's beside them.",
    options=(
        click.Argument(["games"], nargs=-1),
        seconds_option(),
        click.Option(
            ["--rounds"], type=COUNT, default=1024, show_default=True, help="Rounds of a generation."
        ),
        seed_option(),
    ),
    measure="experiments.bench.climbing_speed:measure_climbing",
    show="experiments.bench.climbing_speed:climbing_tables",
)
GENERATION = SpeedBench(
    name="generation",
    title="Diverse generation",
    help="Measure the diversity programme beside the one that the paper prints.",
    about="Medians of processor time; both programmes compiled, timed in turn, on the same values.",
    options=(repeats_option(9), seed_option()),
    measure="experiments.bench.generation_speed:measure_generation",
    show="experiments.bench.generation_speed:generation_tables",
)
SEARCH = SpeedBench(
    name="search",
    title="Subgame solving",
    help="Measure searches one by one, and of whole GAMES (Leduc poker and Liar's Dice 6 if none is given).",
    about="Processor time of one thread, compiled code warm. PCFR+ with 300 iterations in every subgame; "
    "blueprint: plain CFR, 100 iterations. A gadget of N nodes: the median over searches of N/2 to 2N.",
    options=(
        click.Argument(["games"], nargs=-1),
        repeats_option(20, "Infosets timed at each depth."),
        seed_option(),
    ),
    measure="experiments.bench.search_speed:measure_search",
    show="experiments.bench.search_speed:search_tables",
)
