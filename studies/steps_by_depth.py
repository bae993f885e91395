"""What a step gains early, in the middle and late in a game, measured exactly.

    python -m studies.steps_by_depth --game leduc_poker -o runs/depths

The step is taken at every infoset from the blueprint, and then kept at those of one third of the game alone,
by the number of decisions on the way to them. An infoset that is met after several numbers counts by the
least.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from cfr.best_response import exploitability
from cfr.tree import FlatTree
from experiments.outputs import commit_of_code
from experiments.refinement.methods import method_config
from games.registry import load_game
from games.support.files import check_folder
from games.support.json_rows import JsonRows, Row
from gs2.commands.common import COUNT
from gs2.commands.groups import run_alone
from gs2.policies.policy_spec import policy_from_spec
from gs2.search.context import SearchContext
from gs2.search.refine.whole import RefineOptions, refine_both
from studies.spliced_on_public_tree import SplicingError

ROWS = "rows.jsonl"
THIRDS = ("early", "middle", "late")


class DepthRows(JsonRows):
    """One row for each blueprint and seed: what is left of the exploitability, by third and by all."""

    FORMAT, SOURCE, ROW = "depths-1", "studies.steps_by_depth", "a blueprint's row"
    FAULT = SplicingError

    def is_row(self, row: Row) -> bool:
        return {"blueprint", "method", "seed", "before", "all", *THIRDS} <= row.keys()

    def key(self, row: Row) -> Hashable:
        return row["blueprint"], row["method"], row["seed"]


def decisions_before(tree: FlatTree) -> NDArray[np.int64]:
    """Return the least number of decisions on the way to each infoset, [infosets]."""
    before = np.zeros(tree.n_nodes, np.int64)
    for node in range(1, tree.n_nodes):  # a parent comes before its children
        parent = tree.parent[node]
        before[node] = before[parent] + (tree.player[parent] >= 0)
    found = np.full(tree.n_infosets, np.iinfo(np.int64).max)
    acting = np.flatnonzero(tree.player >= 0)
    np.minimum.at(found, tree.infoset[acting], before[acting])
    return found


@click.command("steps-by-depth")
@click.option("--game", "game_name", default="leduc_poker", show_default=True)
@click.option(
    "--blueprint", "blueprints", multiple=True, default=("cfr:2", "cfr:10", "cfr:100"), show_default=True
)
@click.option("--method", default="gs2-s", show_default=True)
@click.option("--seeds", type=COUNT, default=1, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the rows.")
def main(game_name: str, blueprints: tuple[str, ...], method: str, seeds: int, output: Path) -> None:
    """Keep a step in one third of GAME at a time."""
    game = load_game(game_name)
    context, config = SearchContext(game), method_config(method)
    tree = context.tree
    depth = decisions_before(tree)
    third = np.minimum(3 * depth // (depth.max() + 1), 2)
    of_slot = np.repeat(third, np.diff(tree.infoset_offset))
    folder = check_folder(output)
    folder.mkdir(parents=True, exist_ok=True)
    with DepthRows(folder / ROWS, {"game": game.name}) as rows:
        done = {rows.key(row) for row in rows.rows}
        for blueprint in blueprints:
            for seed in range(seeds):
                if (blueprint, method, seed) in done:
                    continue
                old = policy_from_spec(blueprint, game, tree, seed=seed)
                new = refine_both(context, old, config, RefineOptions(seed=seed)).policy
                before = exploitability(tree, old)
                left = [exploitability(tree, np.where(of_slot == part, new, old)) for part in range(3)]
                row: Row = {"blueprint": blueprint, "method": method, "seed": seed, "before": before}
                row |= dict(zip(THIRDS, left, strict=True))
                row |= {"all": exploitability(tree, new), "commit": commit_of_code()}
                rows.append([row])
                shown = ", ".join(f"{part} {row[part] / before:.3f}" for part in (*THIRDS, "all"))
                click.echo(f"{game.name} {blueprint} seed {seed}: {shown}")


if __name__ == "__main__":
    run_alone(main)
