"""Searches at random infosets of a game too large to list, and what they do to its exact exploitability.

    python -m studies.spliced_on_public_tree -o experiments/results/public

The blueprint is CFR after 20 iterations on the public tree. Infosets are drawn from random play; each is
searched by every method, and what comes out is spliced into the blueprint: all that one method found at once,
or, where the method is made for it (`mode` "sequential"), one after another. The best responses to the result
are computed on the whole public tree: no sample, no bound.
"""

from __future__ import annotations

import json
import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from cfr.public.policies.public_policy import PublicPolicy, evaluate_policy
from cfr.public.public_solver import PublicSolver
from cfr.public.sweeper import usable_cores
from cfr.public.tree import PublicTree, grow_public
from experiments.outputs import commit_of_code
from games.game import CHANCE, GameError
from games.infosets.factored import FactoredGame
from games.registry import load_game
from games.support.files import check_folder
from games.support.json_rows import JsonRows, Row
from gs2.commands.common import COUNT, SEED
from gs2.commands.groups import run_alone
from gs2.search.config.presets import preset
from gs2.search.config.search import SearchConfig
from gs2.search.public_source import PublicPlace, public_states, refine_public

ROWS = "rows.jsonl"
SIZES = (3, 10, 30)
LISTED = "enumerated"
"""Where the histories of a search come from; stored rows have some that were sampled."""
PATIENCE = 1000
"""Random plays without a new infoset after which a game counts as having no more."""


class SplicingError(ValueError):
    """Rows that are not this experiment's, or infosets that there are not."""


class SplicedRows(JsonRows):
    """One row for each method: what is left of the exploitability, and what each search did."""

    FORMAT, SOURCE, ROW = "spliced-1", "studies.spliced_on_public_tree", "a method's row"
    FAULT = SplicingError

    def is_row(self, row: Row) -> bool:
        return {"method", "source", "k", "after", "rises"} <= row.keys()

    def key(self, row: Row) -> Hashable:
        return row["method"], row["source"], row["k"]


@dataclass(frozen=True)
class SplicedMethod:
    """A method with its histories. k: kept; None where all are taken."""

    method: str
    k: int | None = None

    def config(self, iterations: int) -> SearchConfig:
        """Return the search."""
        changes = {} if self.k is None else {"k": self.k}
        return preset(self.method, iterations=iterations, **changes)


def spliced_methods() -> list[SplicedMethod]:
    """Return the methods measured, in the order of the table."""
    return [SplicedMethod("1-klss"), *(SplicedMethod("gs2-d", k) for k in SIZES), SplicedMethod("gs2+")]


def random_places(tree: PublicTree, n: int, rng: np.random.Generator) -> list[PublicPlace]:
    """Return n different infosets met in random play, none at the root: a decision of each line, any of them
    alike, with the private state that chance dealt.

    Raises SplicingError if `PATIENCE` plays one after the other meet no infoset that is new.
    """
    weights = tree.game.deal_weights(tree.game.public_root())[0]
    found: dict[tuple[int, int], PublicPlace] = {}
    in_vain = 0
    while len(found) < n:
        if in_vain == PATIENCE:
            raise SplicingError(
                f"{tree.game.name}: it must have {n} infosets below its root; {PATIENCE:,} random plays met "
                f"none beside {len(found)}; ask for so many with --infosets"
            )
        in_vain += 1
        dealt = np.unravel_index(rng.choice(weights.size, p=weights.reshape(-1)), weights.shape)
        line, node = [], 0
        while node >= 0:
            line.append(node)
            first, last = int(tree.first_edge[node]), int(tree.first_edge[node + 1])
            if tree.player[node] == CHANCE:
                node = int(tree.child[rng.choice(np.arange(first, last), p=_shown(tree, node, dealt))])
            else:
                node = int(tree.child[rng.integers(first, last)])
        acted = [at for at in line[1:] if tree.player[at] >= 0]
        if acted:
            at = acted[int(rng.integers(len(acted)))]
            private = int(dealt[int(tree.player[at])])
            if (at, private) not in found:
                found[at, private] = PublicPlace(at, private)
                in_vain = 0
    return list(found.values())


def _shown(tree: PublicTree, node: int, dealt: tuple[np.intp, ...]) -> NDArray[np.float64]:
    """Return how likely chance shows each edge of a node where both players hold what was dealt, [edges]."""
    game, states = tree.game, public_states(tree, node)
    actions = game.actions(states)
    mass = game.deal_weights(game.step(states, actions.rows, actions.values))[:, dealt[0], dealt[1]]
    found: NDArray[np.float64] = mass / mass.sum()
    return found


def measure(
    strategy: PublicPolicy, places: list[PublicPlace], method: SplicedMethod, iterations: int, seed: int
) -> Row:
    """Return the row of one method at these infosets."""
    config = method.config(iterations)
    sequential = config.mode == "sequential"
    cores = usable_cores()
    worth = list(evaluate_policy(strategy, threads=cores).best_response)
    before, now, rises, seconds, weights, nodes = sum(worth) / 2, strategy, [], [], [], []
    for number, place in enumerate(places):
        began = time.perf_counter()
        player = int(strategy.tree.player[place.node])
        rng = np.random.default_rng([seed, number])
        found = refine_public(now if sequential else strategy, place, config, rng)
        seconds.append(time.perf_counter() - began)
        weights.append(found.found.anchor)
        nodes.append(found.found.nodes)
        alone = evaluate_policy(found.strategy, threads=cores).best_response[1 - player]
        rises.append((alone - worth[1 - player]) / 2)
        if sequential:
            now, worth[1 - player] = found.strategy, alone
        else:
            lanes = np.arange(strategy.tree.n_private[player]) == place.private
            now = now.spliced(place.node, player, found.policy, lanes)
    after = evaluate_policy(now, threads=cores).exploitability
    return {
        "method": method.method,
        "source": LISTED,
        "k": method.k,
        "before": before,
        "after": after,
        "rises": rises,
        "weights": weights,
        "nodes": nodes,
        "seconds": seconds,
        "commit": commit_of_code(),
    }


def table(rows: Iterable[Row]) -> str:
    """Return the rows as a table in Markdown."""
    lines = [
        "| method | histories | k | exploitability after | share of before | searches that raised it "
        "| worst rise | median s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        rises = np.array(row["rises"])
        lines.append(
            f"| {row['method']} | {row['source']} | {row['k'] or 'all'} | {row['after']:.5f} "
            f"| {row['after'] / row['before']:.3f} | {np.mean(rises > 1e-12):.0%} "
            f"| {max(0.0, rises.max()):.1e} "
            f"| {np.median(row['seconds']):.2f} |"
        )
    return "\n".join(lines)


def plot_spliced(rows: list[Row], path: Path) -> None:
    """Draw the exploitability left by each method against k."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(6, 4))
    axis.axhline(1.0, color="grey", linewidth=1, label="blueprint")
    lines: list[object] = []
    curves: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        share = row["after"] / row["before"]
        if row["k"] is None:
            name, style = f"{row['method']}, {row['source']}", ("--", ":")[len(lines) % 2]
            lines.append(axis.axhline(share, linestyle=style, color=f"C{5 + len(lines)}", label=name))
        else:
            curves.setdefault(f"{row['method']}, {row['source']}", []).append((row["k"], share))
    for name, points in curves.items():
        axis.plot(*zip(*sorted(points), strict=True), marker="o", label=name)
    axis.set_yscale("log")
    axis.set_yticks((0.5, 1, 2, 5), ("0.5", "1", "2", "5"))
    axis.set_xscale("log")
    axis.minorticks_off()
    axis.set_xticks(SIZES, [str(k) for k in SIZES])
    axis.set_xlabel("histories, k")
    axis.set_ylabel("exploitability, share of the blueprint's")
    axis.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


@click.command("on-public-tree")
@click.option("--game", "game_name", default="liars_dice(dice=2,sides=5)", show_default=True)
@click.option("--infosets", type=COUNT, default=200, show_default=True)
@click.option("--iterations", type=COUNT, default=100, show_default=True, help="CFR iterations of a search.")
@click.option("--blueprint", type=COUNT, default=20, show_default=True, help="CFR iterations.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the rows.")
def main(game_name: str, infosets: int, iterations: int, blueprint: int, seed: int, output: Path) -> None:
    """Search at random infosets of GAME and measure the exploitability of what comes out, exactly."""
    game = load_game(game_name)
    if not isinstance(game, FactoredGame):
        raise GameError(f"{game.name}: must have a factored form; try liars_dice(dice=2,sides=5)")
    tree = grow_public(game)
    places = random_places(tree, infosets, np.random.default_rng(seed))
    folder = check_folder(output)
    folder.mkdir(parents=True, exist_ok=True)
    solver = PublicSolver(tree, "cfr")
    solver.run(blueprint)
    strategy = PublicPolicy.of(solver)
    header = {
        "game": game.name,
        "infosets": infosets,
        "iterations": iterations,
        "blueprint": blueprint,
        "seed": seed,
    }
    with SplicedRows(folder / ROWS, header) as rows:
        done = {rows.key(row) for row in rows.rows}
        for method in spliced_methods():
            if (method.method, LISTED, method.k) not in done:
                row = measure(strategy, places, method, iterations, seed)
                rows.append([row])
                click.echo(json.dumps({k: v for k, v in row.items() if not isinstance(v, list)}), err=True)
        found = rows.rows
    click.echo(table(found))
    plot_spliced(found, folder / "spliced.png")


if __name__ == "__main__":
    run_alone(main)
