"""What agents gain against a pool of opponents: `python -m studies.agent.pool FILE …`

Reads files of `gs2 match AGENT OPPONENT -o FILE`. The same seed deals the same cards in all of them, so
agents are compared deal by deal, and a mean over the pool is taken of deals that all its opponents met.
"""

from __future__ import annotations

import gzip
import json
from itertools import combinations
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from games.support.bootstrap import Estimate, estimate
from gs2.commands.groups import run_alone
from gs2.play.match_files import FORMAT

Deal = tuple[int, int]
"""Seed of a match, and number of its pair."""
Cells = dict[tuple[str, str], dict[Deal, float]]
"""By agent and opponent, the agent's mean gain in each deal, both sides played."""


def read_cells(files: tuple[Path, ...]) -> Cells:
    """Return what each agent gained against each opponent, deal by deal.

    files: each of one match or of several, one after the other; packed if the name ends in .gz.
    Raises click.UsageError if a file is no match of rounds, or a deal was met twice.
    """
    cells: Cells = {}
    for path in files:
        read = gzip.open if path.suffix == ".gz" else open
        with read(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        heads = [row for row in rows if "pair" not in row]
        if (
            not heads
            or rows[0] is not heads[0]
            or any(row.get("format") != FORMAT or row["whole"] for row in heads)
        ):
            raise click.UsageError(f"{path} must hold single rounds of gs2 match")
        for row in rows:
            if "pair" not in row:
                seed, deals = row["seed"], cells.setdefault((_name(row["a"]), _name(row["b"])), {})
            elif (deal := (seed, row["pair"])) in deals:
                raise click.UsageError(f"{path}: deal {deal} must be met once by these agents")
            else:
                deals[deal] = float(np.mean(row["payoffs"]))
    return cells


def _name(agent: str) -> str:
    return Path(agent).stem if agent.endswith(".safetensors") else agent


def over_pool(cells: Cells, agents: tuple[str, ...], pool: list[str]) -> NDArray[np.float64]:
    """Return each agent's mean gain over the pool, [agents, deals], in the deals that all of them met."""
    met = [[cells[agent, opponent] for opponent in pool] for agent in agents]
    deals = sorted(set.intersection(*(set(one) for row in met for one in row)))
    return np.array([[np.mean([one[deal] for one in row]) for deal in deals] for row in met])


def words(found: Estimate) -> str:
    """Return a mean, its interval and the number of deals."""
    return f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]  {found.n} deals"


@click.command("pool")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--apart", multiple=True, default=("blueprint",), show_default=True, help="Not of the pool.")
def pool(files: tuple[Path, ...], apart: tuple[str, ...]) -> None:
    """Print what each agent of FILES gains against each opponent, over the pool, and beyond the others."""
    cells = read_cells(files)
    agents = tuple(dict.fromkeys(agent for agent, _ in cells))
    opponents = dict.fromkeys(opponent for _, opponent in cells)
    members = [name for name in opponents if name not in apart]
    missing = [f"{a} against {o}" for a in agents for o in members if (a, o) not in cells]
    if missing:
        raise click.UsageError(f"every agent must meet the whole pool; missing: {', '.join(missing)}")
    rng = np.random.default_rng
    for agent in agents:
        means = {}
        for opponent in opponents:
            if (agent, opponent) in cells:
                found = estimate([*cells[agent, opponent].values()], rng(0))
                means[opponent] = found.mean
                click.echo(f"{agent} against {opponent}: {words(found)}")
        (mean,) = over_pool(cells, (agent,), members)
        click.echo(f"{agent} over the pool: {words(estimate(mean, rng(0)))}")
        worst = min(members, key=means.__getitem__)
        click.echo(f"{agent} at worst: {means[worst]:+.3f} against {worst}")
    for one, other in combinations(agents, 2):
        for name, some in {"over the pool": members, **{f"against {o}": [o] for o in opponents}}.items():
            if all((a, o) in cells for a in (one, other) for o in some):
                gains = over_pool(cells, (one, other), some)
                click.echo(f"{one} minus {other} {name}: {words(estimate(gains[0] - gains[1], rng(0)))}")


if __name__ == "__main__":
    run_alone(pool)
