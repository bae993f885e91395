"""How near a search at drawn histories comes to the enumerated one, by how many are drawn.

    python -m experiments.refinement.approach --iterations 100 -o experiments/results/approach

Infosets of a game, none of them among its smaller ones, are searched with every history listed, and again
with n of them drawn, and as many companions in each opponent infoset; what counts is how much probability
the two answers give to different actions. The method 1-klss takes all histories there are, so nothing but
the sample is random. With everything drawn the two are the same. The blueprint is `cfr:20`.
"""

from __future__ import annotations

import csv
import itertools
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import click
import numpy as np

from experiments.commit import commit_of_code
from experiments.refinement.rows import csv_line, parsed
from games.registry import RESEARCH_GAMES, load_game
from games.support.bootstrap import bootstrap_interval
from games.support.files import LineFile, check_folder
from gs2.commands.groups import run_alone
from gs2.policies.policy_spec import policy_from_spec
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext
from gs2.search.explain import solve_infoset

__all__ = ["ApproachRow", "approach_rows", "main", "plot_approach", "read_approach"]

BLUEPRINT = "cfr:20"
EVERYTHING = 1_000_000
SIZES = (1, 2, 4, 8, 16, 32, EVERYTHING)
LEAST = 0.5
"""Histories, as a share of the game's largest infoset, from which on an infoset may be searched."""
ROWS = "rows.csv"

Key = tuple[str, str, int, int, int]
"""Game, infoset, iterations, samples and seed."""


@dataclass(frozen=True)
class ApproachRow:
    """One search at drawn histories beside the enumerated one.

    iterations: of CFR in each subgame. samples: most histories drawn; drawn: histories of the infoset that
    were. away: probability given to other actions, half the L1 distance, in [0, 1]. seconds: of the search.
    commit: of the code.
    """

    game: str
    infoset: str
    iterations: int
    samples: int
    seed: int
    histories: int
    drawn: int
    complete: bool
    away: float
    seconds: float
    commit: str

    @property
    def key(self) -> Key:
        """What no other row has."""
        return self.game, self.infoset, self.iterations, self.samples, self.seed


def approach_rows(
    game: str, infosets: int, seeds: int, *, iterations: int = 300, done: frozenset[Key]
) -> list[ApproachRow]:
    """Return a row for each infoset, sample size and seed that is not done yet.

    infosets: how many of the game's larger ones are drawn. done: keys of rows that there are.
    """
    context = SearchContext(load_game(game))
    tree = context.tree
    policy = policy_from_spec(BLUEPRINT, context.game, tree)
    strategy = context.strategy(policy)
    config = preset("1-klss", iterations=iterations)
    sizes = np.bincount(tree.infoset[tree.infoset >= 0], minlength=tree.n_infosets)
    largest = np.flatnonzero(sizes >= LEAST * sizes.max())
    chosen = np.sort(np.random.default_rng(0).choice(largest, min(infosets, len(largest)), replace=False))
    commit = commit_of_code()
    rows = []
    for number in chosen.tolist():
        text = context.infoset_text(number)
        todo = [
            (samples, seed)
            for samples, seed in itertools.product(SIZES, range(seeds))
            if (game, text, iterations, samples, seed) not in done and not (samples == EVERYTHING and seed)
        ]
        if not todo:
            continue
        exact = solve_infoset(context, strategy, number, config, np.random.default_rng(0))
        for samples, seed in todo:
            drawn = config.replace(source="sampled", samples=samples, companions=samples)
            found = solve_infoset(context, strategy, number, drawn, np.random.default_rng([seed, number]))
            assert found.sampled is not None  # since the source is
            away = sum(abs(found.refined[action] - exact.refined[action]) for action in exact.refined) / 2
            rows.append(
                ApproachRow(
                    game,
                    text,
                    iterations,
                    samples,
                    seed,
                    int(sizes[number]),
                    found.sampled.histories,
                    found.sampled.complete,
                    away,
                    sum(found.seconds.values()),
                    commit,
                )
            )
    return rows


def read_approach(path: Path) -> list[ApproachRow]:
    """Return the rows of a file. Raises ValueError for one with other columns."""
    with path.open(newline="") as file:
        read = csv.DictReader(file)
        if read.fieldnames != [field.name for field in fields(ApproachRow)]:
            raise ValueError(f"{path}: its columns must be those of an ApproachRow; run it in a new folder")
        return [parsed(ApproachRow, row) for row in read]


def plot_approach(rows: list[ApproachRow], path: Path) -> None:
    """Draw the mean distance by histories drawn, a line for each game, with 95 % intervals over infosets."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 4.5))
    sizes = sorted({row.samples for row in rows})
    for game in dict.fromkeys(row.game for row in rows):
        middle, low, high = [], [], []
        for samples in sizes:
            there = [row for row in rows if row.game == game and row.samples == samples]
            means = [
                float(np.mean([row.away for row in there if row.infoset == infoset]))
                for infoset in dict.fromkeys(row.infoset for row in there)
            ]
            middle.append(float(np.mean(means)))
            ends = bootstrap_interval(np.array(means), np.random.default_rng(0)) if len(means) > 1 else (0, 0)
            low.append(max(0.0, middle[-1] - ends[0]))
            high.append(max(0.0, ends[1] - middle[-1]))
        axis.errorbar(range(len(sizes)), middle, yerr=(low, high), marker="o", capsize=2, label=game)
    axis.set_xticks(range(len(sizes)), ["all" if size == EVERYTHING else str(size) for size in sizes])
    axis.set_xlabel("histories drawn of the infoset, and of each opponent infoset")
    axis.set_ylabel("probability given to other actions")
    axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


@click.command()
@click.option("--game", "games", multiple=True, help="Game to search in; repeatable.  [default: all six]")
@click.option("--infosets", default=6, show_default=True, help="Infosets searched in each game.")
@click.option("--seeds", default=3, show_default=True, help="Samples drawn of each size.")
@click.option("--iterations", default=300, show_default=True, help="CFR iterations in every subgame.")
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), default=Path("runs/approach")
)
def main(games: tuple[str, ...], infosets: int, seeds: int, iterations: int, output: Path) -> None:
    """Measure how near searches at drawn histories come to enumerated ones; rows and a plot in a folder.

    The same command goes on where it was stopped, after the last game that it finished. Searches with other
    iterations have rows of their own; the plot is of these.
    """
    folder = check_folder(output)
    path = folder / ROWS
    with LineFile(path) as file:
        names = [field.name for field in fields(ApproachRow)]
        if not file.lines:
            file.append([csv_line(names)])
        done = frozenset(row.key for row in read_approach(path))
        for game in games or RESEARCH_GAMES:
            rows = approach_rows(game, infosets, seeds, iterations=iterations, done=done)
            file.append([csv_line(list(asdict(row).values())) for row in rows])
            for row in rows:
                click.echo(f"{row.game}  {row.infoset}  n {row.samples}: {row.away:.4f}")
    shown = [row for row in read_approach(path) if row.iterations == iterations]
    plot_approach(shown, folder / "approach.png")
    click.echo(folder / "approach.png")


if __name__ == "__main__":
    run_alone(main)
