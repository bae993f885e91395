"""How fast sweeps of public trees are, and how exact: structured payoffs and matrices, 16 bits and 32.

    python -m studies.public_sweeps payoffs "leduc_poker(ranks=13,suits=4)" leduc:26x4
    python -m studies.public_sweeps precision "liars_dice(dice=2,sides=4)" --at 100,300,1000

`leduc:26x4` is Leduc poker with a deck of 26 ranks and 4 suits, `kuhn:1000` Kuhn poker with 1000 cards: more
than the games admit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import click
import numpy as np

from cfr.public.public_solver import PublicSolver, solver_bytes
from cfr.public.tree import PublicTree, grow_public
from games import load_game
from games.infosets.payoff_forms import PayoffForms
from games.research.kuhn_poker import KuhnPoker
from games.research.leduc_poker import LeducPoker
from gs2.commands.groups import run_alone

BATCH_SECONDS = 0.15
DRAWS = 2000


class LargeLeduc(LeducPoker):
    """Leduc poker with a deck of any size up to 255 cards; only its public form is sound."""

    def __init__(self, ranks: int, suits: int) -> None:
        super().__init__(ranks=13, suits=4)
        self.name = f"leduc:{ranks}x{suits}"
        self.ranks, self.suits = ranks, suits
        self._card_names = [f"{rank}/{suit}" for rank in range(ranks) for suit in range(suits)]
        self._rank_of = np.arange(ranks * suits) // suits


class LargeKuhn(KuhnPoker):
    """Kuhn poker with any number of cards; only its public form is sound."""

    def __init__(self, cards: int) -> None:
        super().__init__()
        self.cards, self.name = cards, f"kuhn:{cards}"
        self._card_names, self._rank_of = [str(card) for card in range(cards)], np.arange(cards)


def tree_of(name: str) -> PublicTree:
    """Return the public tree of a game by its name, or of one with a large deck."""
    word, _, size = name.partition(":")
    if size and word == "leduc":
        ranks, suits = size.split("x")
        return grow_public(LargeLeduc(int(ranks), int(suits)))
    return grow_public(LargeKuhn(int(size)) if size else load_game(name))  # type: ignore[arg-type]


def in_turn(runs: dict[str, Callable[[int], None]], rounds: int) -> dict[str, list[float]]:
    """Return processor seconds an iteration of each in every round; one after another, each round anew."""
    batch = {}
    for name, run in runs.items():
        run(2)
        began = time.process_time()
        run(3)
        batch[name] = max(1, int(BATCH_SECONDS * 3 / (time.process_time() - began)))
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.process_time()
            run(batch[name])
            taken[name].append((time.process_time() - began) / batch[name])
    return taken


def ratio(over: list[float], under: list[float]) -> tuple[float, float, float]:
    """Return the median ratio of rounds, and its 95 % interval by the bootstrap over rounds."""
    rng = np.random.default_rng(0)
    each = np.array(over) / np.array(under)
    drawn = np.median(each[rng.integers(0, len(each), (DRAWS, len(each)))], axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(np.median(each)), float(low), float(high)


@click.group()
def main() -> None:
    """Measure sweeps of public trees."""


@main.command()
@click.argument("games", nargs=-1)
@click.option("--rounds", default=21, show_default=True, help="Rounds, in each of which every form runs.")
def payoffs(games: tuple[str, ...], rounds: int) -> None:
    """Compare payoffs in the cheapest form with matrices: bytes, seconds of an iteration (dcfr+, float32)."""
    for name in games:
        tree = tree_of(name)
        dense = np.array([tree.payoffs.dense(kind) for kind in range(len(tree.payoffs))])
        trees = {"cheapest": tree, "matrices": replace(tree, payoffs=PayoffForms.of_matrices(dense))}
        del dense
        solvers = {
            form: PublicSolver(one, "dcfr+", dtype=np.float32, threads=1) for form, one in trees.items()
        }
        taken = in_turn({form: solver.run for form, solver in solvers.items()}, rounds)
        for form, solver in solvers.items():
            swept = sum(array.nbytes for paid in solver.sweeper.payoffs for array in paid[:6])
            print(
                f"{name}  {form}: tree {trees[form].payoffs.nbytes:,} bytes, swept {swept:,} bytes, "
                f"{1e3 * median(taken[form]):.3f} ms an iteration"
            )
        middle, low, high = ratio(taken["matrices"], taken["cheapest"])
        print(f"{name}  matrices / cheapest: {middle:.2f} [{low:.2f}, {high:.2f}]", flush=True)


@main.command()
@click.argument("games", nargs=-1)
@click.option("--at", default="100,300,1000", show_default=True, help="Iterations to look at.")
@click.option("--variant", default="dcfr+", show_default=True)
def precision(games: tuple[str, ...], at: str, variant: str) -> None:
    """Compare exploitability, bytes and speed of solvers that keep 64, 32 and 16 bits, run in turn."""
    for name in games:
        tree = tree_of(name)
        solvers = {
            bits: PublicSolver(tree, variant, dtype=dtype, threads=1)
            for bits, dtype in ((64, np.float64), (32, np.float32), (16, np.int16))
        }
        for bits, solver in solvers.items():
            print(f"{name}  {bits} bits: {solver_bytes(tree, variant, solver.dtype):,} bytes", flush=True)
        for mark in map(int, at.split(",")):
            words = []
            for bits, solver in solvers.items():
                solver.run(mark - solver.iteration)
                words.append(f"{bits} bits {solver.exploitability():.3e}")
            print(f"{name}  {mark}: {', '.join(words)}", flush=True)
        taken = in_turn({str(bits): solver.run for bits, solver in solvers.items()}, 15)
        for other in ("64", "16"):
            middle, low, high = ratio(taken[other], taken["32"])
            print(f"{name}  seconds, {other} bits / 32: {middle:.2f} [{low:.2f}, {high:.2f}]", flush=True)


if __name__ == "__main__":
    run_alone(main)
