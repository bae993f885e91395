"""A step from few weighted histories at every infoset of a game too large to list, measured exactly.

    python -m studies.steps_on_public_tree --game "liars_dice(dice=2,sides=4)" -o runs/steps

A blueprint is named as elsewhere, and CFR runs on the public tree. A method is a preset without a subgame,
such as `gs2-s:k=3`. Single draws and their mixture of realization plans are measured by best responses on the
whole public tree.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import click
import numpy as np

from cfr.public.policies.public_policy import evaluate_policy
from cfr.public.tree import grow_public
from experiments.outputs import commit_of_code
from experiments.refinement.methods import method_config
from games.game import GameError
from games.infosets.factored import FactoredGame
from games.registry import load_game
from games.support.files import check_folder
from games.support.json_rows import JsonRows, Row
from gs2.commands.common import COUNT
from gs2.commands.groups import run_alone
from studies.public_steps import mixed_strategies, named_strategy, pair_values, step_everywhere
from studies.spliced_on_public_tree import SplicingError

ROWS = "rows.jsonl"


class StepRows(JsonRows):
    """One row for each blueprint and method: what is left of the exploitability, by draw and mixed."""

    FORMAT, SOURCE, ROW = "steps-1", "studies.steps_on_public_tree", "a method's row"
    FAULT = SplicingError

    def is_row(self, row: Row) -> bool:
        return {"blueprint", "method", "before", "single", "mixture"} <= row.keys()

    def key(self, row: Row) -> Hashable:
        return row["blueprint"], row["method"]


@click.command("steps-on-public-tree")
@click.option("--game", "game_name", default="liars_dice(dice=2,sides=4)", show_default=True)
@click.option(
    "--blueprint", "blueprints", multiple=True, default=("cfr:2", "cfr:10", "cfr:100"), show_default=True
)
@click.option("--method", "methods", multiple=True, default=("gs2-s",), show_default=True)
@click.option("--draws", type=COUNT, default=5, show_default=True, help="Seeds 0 to DRAWS - 1.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the rows.")
def main(
    game_name: str, blueprints: tuple[str, ...], methods: tuple[str, ...], draws: int, output: Path
) -> None:
    """Take a step at every infoset of GAME from each blueprint."""
    game = load_game(game_name)
    if not isinstance(game, FactoredGame):
        raise GameError(f"{game.name}: must have a factored form; try liars_dice(dice=2,sides=4)")
    configs = {method: method_config(method) for method in methods}
    tree = grow_public(game)
    folder = check_folder(output)
    folder.mkdir(parents=True, exist_ok=True)
    with StepRows(folder / ROWS, {"game": game.name, "draws": draws}) as rows:
        done = {rows.key(row) for row in rows.rows}
        for blueprint in blueprints:
            todo = [name for name in methods if (blueprint, name) not in done]
            if not todo:
                continue
            strategy = named_strategy(tree, blueprint)
            values, before = pair_values(strategy), evaluate_policy(strategy).exploitability
            for name in todo:
                drawn = [
                    step_everywhere(strategy, configs[name], np.random.default_rng(seed), values)
                    for seed in range(draws)
                ]
                single = [evaluate_policy(one).exploitability for one in drawn]
                mixture = evaluate_policy(mixed_strategies(drawn)).exploitability
                row = {
                    "blueprint": blueprint,
                    "method": name,
                    "before": before,
                    "single": single,
                    "mixture": mixture,
                    "commit": commit_of_code(),
                }
                rows.append([row])
                click.echo(
                    f"{blueprint} {name}: {before:.5f}; single {np.mean(single) / before:.3f}, "
                    f"mixture {mixture / before:.3f}"
                )


if __name__ == "__main__":
    run_alone(main)
