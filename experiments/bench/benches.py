"""Our benches: what each is called and asks for. What measures it is imported when it runs."""

from __future__ import annotations

from typing import Any

import click

from experiments.bench.bench import SpeedBench
from gs2.commands.common import COUNT, SEED, FiniteRange


def usual(option: str, kind: Any, default: Any, words: str) -> click.Option:
    """Return an option of a type whose default the help shows after the words."""
    return click.Option([option], type=kind, default=default, show_default=True, help=words)


GAMES = click.Argument(["games"], nargs=-1)
SEED_OPTION = usual("--seed", SEED, 0, "Seed of the run.")
SECONDS_OPTION = usual("--seconds", FiniteRange(min=0.1), 2.0, "Seconds for each part.")

CFR = SpeedBench(
    name="cfr",
    title="CFR on full games",
    help="Measure CFR on GAMES (the six research games if none is given), beside OpenSpiel's C++.",
    about="Processor time of one thread, compiled code warm. Exploitability is NashConv / 2 of the average "
    "policy, in payoffs. Two programs run in one process, turn by turn: ratios carry over to other machines "
    "better than times.",
    options=(
        GAMES,
        click.Option(
            ["--variant", "variants"], multiple=True, help="Variant to time; repeatable.  [default: all]"
        ),
        usual("--repeats", COUNT, 3, "Repetitions of each timing."),
        click.Option(
            ["--openspiel/--no-openspiel"], default=True, help="Time OpenSpiel too, if it is installed."
        ),
    ),
    measure="experiments.bench.cfr_speed:measure_cfr",
    show="experiments.bench.cfr_speed:cfr_tables",
)
CLIMBING = SpeedBench(
    name="climbing",
    title="DouDiZhu and Big2",
    help="Measure DouDiZhu and Big2 (or GAMES of these): random play, network, self-play and training.",
    about="One thread, compiled code warm, in turns; rates are medians, per second of processor time.",
    options=(
        GAMES,
        SECONDS_OPTION,
        usual("--rounds", COUNT, 1024, "Rounds of a generation."),
        SEED_OPTION,
    ),
    measure="experiments.bench.climbing_speed:measure_climbing",
)
SEARCH = SpeedBench(
    name="search",
    title="Subgame solving",
    help="Measure searches one by one, and of whole GAMES (Leduc poker and Liar's Dice 6 if none is given).",
    about="Processor time of one thread, compiled code warm. PCFR+ with 300 iterations in every subgame; "
    "blueprint: plain CFR, 100 iterations. A gadget of N nodes: the median over searches of N/2 to 2N.",
    options=(GAMES, usual("--repeats", COUNT, 20, "Infosets timed at each depth."), SEED_OPTION),
    measure="experiments.bench.search_speed:measure_search",
    show="experiments.bench.search_speed:search_tables",
)
