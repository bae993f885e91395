"""Which histories matter: every choice of k ranks of alternative value, kept at every infoset.

    python -m experiments.refinement.which_histories liars_dice_6 --iterations 100

GS2-D keeps histories of evenly spread alternative values, GS2-R random ones. This keeps a fixed set of ranks
(0 is the history worth least to the opponent) wherever an infoset has more than k histories, one set after
another, and prints the exploitability of the refined strategies over the blueprint's.
"""

from __future__ import annotations

import itertools

import click
import numpy as np
from numpy.typing import NDArray

from experiments.refinement.grid import Cell
from experiments.refinement.run import run_cell
from gs2.commands.groups import run_alone
from gs2.parts import register_generator

__all__ = ["Ranks", "main"]


class Ranks:
    """A generation function that keeps fixed ranks of the values, the lowest where there are fewer."""

    def __init__(self, ranks: tuple[int, ...]) -> None:
        self.ranks = ranks

    def __call__(
        self, values: NDArray[np.float64], weights: NDArray[np.float64], k: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return indices as `gs2.search.generation.Generator` says; vectors count by their mean."""
        worth = values if values.ndim == 1 else values.mean(axis=1)
        order = np.argsort(worth, kind="stable")
        wanted = [rank for rank in self.ranks if rank < len(worth)]
        wanted += [rank for rank in range(len(worth)) if rank not in wanted]
        return np.sort(order[wanted[: min(k, len(worth))]]).astype(np.int64)


@click.command()
@click.argument("game", default="liars_dice_6")
@click.option("-k", default=3, show_default=True, help="Number of histories kept.")
@click.option("--ranks", default=6, show_default=True, help="Number of ranks to choose them from.")
@click.option("--iterations", default=100, show_default=True, help="CFR iterations in every subgame.")
@click.option("--blueprint", default="cfr:100", show_default=True)
@click.option("--seeds", default=2, show_default=True, help="Seeds of gs2-r, for comparison.")
def main(game: str, k: int, ranks: int, iterations: int, blueprint: str, seeds: int) -> None:
    """Print the exploitability over the blueprint's for every choice of K ranks, for gs2-d and for gs2-r."""

    def ratio(method: str, seed: int = 0) -> float:
        row = run_cell(Cell(game, blueprint, method, iterations=iterations, seed=seed))
        return row.exploitability / row.blueprint_exploitability

    chosen = Ranks(())
    register_generator("ranks", chosen)
    click.echo(f"gs2-d {ratio(f'gs2-d:k={k}'):.2f}")
    for seed in range(seeds):
        click.echo(f"gs2-r {ratio(f'gs2-r:k={k}', seed):.2f} (seed {seed})")
    for chosen.ranks in itertools.combinations(range(ranks), k):
        found = ratio(f"gs2-d:generator=ranks,k={k}")
        click.echo(f"{' '.join(map(str, chosen.ranks))}: {found:.2f}")


if __name__ == "__main__":
    run_alone(main)
