"""Search over a blueprint in a phantom game, measured exactly.

    python -m studies.search_on_private_moves --game phantom_ttt --blueprint FILE.safetensors -o runs/phantom

The search is asked at every infoset of both players before their T-th try, for T = 1, 2, …; elsewhere the
blueprint plays. A search takes milliseconds, and nearly all of the millions of infosets are late ones. Single
draws of the search and their mixture of realization plans are measured by best responses on the whole game.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from pathlib import Path

import click
import numpy as np

from blueprint.protocol import Agent, Decisions, probabilities
from cfr.private_moves.form import Both, PrivateMovesForm, list_private_moves, normalize
from experiments.outputs import commit_of_code
from games.registry import load_game
from games.support.files import check_folder
from games.support.json_rows import JsonRows, Row
from gs2.commands.common import COUNT
from gs2.commands.groups import run_alone
from gs2.play.agent_names import load_searched
from gs2.play.search_agent import SearchAgent, named_search
from gs2.policies.policy_spec import private_policy
from studies.spliced_on_public_tree import SplicingError

ROWS = "rows.jsonl"


class PrivateRows(JsonRows):
    """One row for each blueprint, method and number of tries: exploitability by draw, and mixed."""

    FORMAT, SOURCE, ROW = "private-1", "studies.search_on_private_moves", "a method's row"
    FAULT = SplicingError

    def is_row(self, row: Row) -> bool:
        return {"blueprint", "method", "tries", "before", "single", "mixture"} <= row.keys()

    def key(self, row: Row) -> Hashable:
        return row["blueprint"], row["method"], row["tries"]


def searched(
    form: PrivateMovesForm, blueprint: Both, agent: Agent, tries: int
) -> tuple[Both, tuple[int, int]]:
    """Return the blueprint with an agent's policy before the `tries`-th try, and its infosets by player."""
    cells = form.game.placements.cells
    found, asked = [], []
    for player, side in enumerate(form.sides):
        legal = (side.legal[:, None] >> np.arange(cells, dtype=np.uint16) & 1).sum(1)
        here = cells - legal < tries
        states = form.decisions(player)[here]
        policy = blueprint[player].copy()
        decisions = Decisions.of(states, form.game.actions(states), player, game=form.game)
        policy[1:][np.repeat(here, np.diff(side.first))] = probabilities(agent, decisions)
        found.append(policy)
        asked.append(len(states))
    return (found[0], found[1]), (asked[0], asked[1])


def mixture(form: PrivateMovesForm, policies: Sequence[Both]) -> Both:
    """Return the policy whose realization plan is the mean of several; the first's where none comes."""
    reaches = [form.reaches(policy) for policy in policies]
    mixed = policies[0][0].copy(), policies[0][1].copy()
    for player, side in enumerate(form.sides):
        normalize(side.first, np.mean([reach[player] for reach in reaches], axis=0), mixed[player])
    return mixed


@click.command("search-on-private-moves")
@click.option("--game", "game_name", default="phantom_ttt", show_default=True)
@click.option("--blueprint", "blueprints", multiple=True, default=("uniform",), show_default=True)
@click.option("--method", "methods", multiple=True, default=("gs2", "gs2-s"), show_default=True)
@click.option("--tries", multiple=True, type=COUNT, default=(1, 2, 3, 4), show_default=True)
@click.option("--draws", type=COUNT, default=3, show_default=True, help="Seeds 0 to DRAWS - 1.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the rows.")
def main(
    game_name: str,
    blueprints: tuple[str, ...],
    methods: tuple[str, ...],
    tries: tuple[int, ...],
    draws: int,
    output: Path,
) -> None:
    """Search over each blueprint of GAME in its first tries."""
    game = load_game(game_name)
    form = list_private_moves(game)
    folder = check_folder(output)
    folder.mkdir(parents=True, exist_ok=True)
    with PrivateRows(folder / ROWS, {"game": game.name, "draws": draws}) as rows:
        done = {rows.key(row) for row in rows.rows}
        for name in blueprints:
            todo = [(m, t) for m in methods for t in tries if (name, m, t) not in done]
            if not todo:
                continue
            blueprint = private_policy(name, form)
            before = form.evaluate(blueprint).exploitability
            base = load_searched(game, name)
            agents = {
                (method, seed): SearchAgent(game, base, named_search(method), name=method, seed=seed)
                for method in methods
                for seed in range(draws)
            }
            for method, until in todo:
                began = time.process_time()
                drawn = [searched(form, blueprint, agents[method, seed], until) for seed in range(draws)]
                seconds = time.process_time() - began
                single = [form.evaluate(policy).exploitability for policy, _ in drawn]
                mixed = single[0]
                if draws > 1:
                    mixed = form.evaluate(mixture(form, [policy for policy, _ in drawn])).exploitability
                row = {
                    "blueprint": name,
                    "method": method,
                    "tries": until,
                    "infosets": list(drawn[0][1]),
                    "before": before,
                    "single": single,
                    "mixture": mixed,
                    "seconds": seconds,
                    "commit": commit_of_code(),
                }
                rows.append([row])
                click.echo(
                    f"{name} {method}, before try {until}, {sum(drawn[0][1]):,} infosets: {before:.5f}; "
                    f"single {np.mean(single):.5f}, mixture {row['mixture']:.5f}, {seconds:.0f} s"
                )


if __name__ == "__main__":
    run_alone(main)
