"""Strength against decisions trained: checkpoints of a run against fixed agents, as a table and a plot.

    python -m experiments.guandan.learning_curve run/kept-*.safetensors --against strong -o runs/curve

Results are kept in OUTPUT.json; a checkpoint and an opponent that are there already are not played again.
Both are known by what is in them: another network under the same name is played anew.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np

from experiments.markdown import markdown_table
from games.support.files import FileProblem, check_folder, check_output, read_bytes, unique, write_text
from games.support.locks import hold
from gs2.commands.common import CORES, COUNT, SEED, stderr
from gs2.commands.groups import run_alone

__all__ = ["Point", "curve_table", "learning_curve", "plot_curve"]


Key = tuple[str, str, str, int, int]
"""Checkpoint, the opponent's name and fingerprint, deals and seed."""


@dataclass(frozen=True)
class Point:
    """A checkpoint against an opponent on duplicate deals.

    decisions: trained. net: levels a round; won: share of rounds; each (mean, low, high), the interval over
        deals of 95 %. fingerprint: of the opponent, "" where only its name is known.
    """

    checkpoint: str
    decisions: int
    opponent: str
    net: tuple[float, float, float]
    won: tuple[float, float, float]
    deals: int
    seed: int
    fingerprint: str = ""

    @property
    def met(self) -> str:
        """Who the opponent was: its fingerprint, which is a rule agent's name."""
        return self.fingerprint or self.opponent


def _measure(path: Path, wanted: Key, processes: int | None) -> Point:
    from blueprint.checkpoint import read_checkpoint
    from gs2.play.arena import Meeting, play_match

    _, opponent, told, rounds, seed = wanted
    _, description = read_checkpoint(path, prefix="-")
    found = play_match(Meeting("guandan", str(path), opponent, rounds, seed), processes=processes).summary()
    net, won = ((x.mean, x.low, x.high) for x in found)
    return Point(_name(path), int(description["decisions"]), opponent, net, won, rounds, seed, told)


def _name(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()[:16]


def read_points(path: Path) -> list[Point]:
    """Return the points of a file, each once, by decisions trained; none if there is no file.

    Raises ValueError if the file holds something else. Warns with DoubleRows where a point comes again.
    """
    try:
        rows = json.loads(read_bytes(path)) if path.exists() else []
        points = [Point(**row | {"net": _three(row["net"]), "won": _three(row["won"])}) for row in rows]
        points = unique(points, _key, path)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, FileProblem):
            raise
        raise ValueError(
            f"{path}: not the points of a learning curve ({error}); name another file"
        ) from error
    return sorted(points, key=lambda point: (point.decisions, point.opponent))


def _three(values: list[float]) -> tuple[float, float, float]:
    mean, low, high = (float(value) for value in values)
    return mean, low, high


def _key(point: Point) -> Key:
    return point.checkpoint, point.opponent, point.met, point.deals, point.seed


def _by_opponent(points: list[Point]) -> dict[str, list[Point]]:
    """Return the points against each opponent; fingerprints tell apart those of one name."""
    known: dict[str, set[str]] = {}
    for point in points:
        known.setdefault(point.opponent, set()).add(point.met)
    found: dict[str, list[Point]] = {}
    for point in points:
        told = f" ({point.fingerprint[:8] or 'unknown'})" if len(known[point.opponent]) > 1 else ""
        found.setdefault(point.opponent + told, []).append(point)
    return dict(sorted(found.items()))


def curve_table(points: list[Point]) -> str:
    """Return a Markdown table: a row per checkpoint, rounds won and net levels a round per opponent."""
    opponents = _by_opponent(points)
    table = []
    for decisions in sorted({point.decisions for point in points}):
        cells = []
        for met in opponents.values():
            found = [point for point in met if point.decisions == decisions]
            cells.append(_cell(found[-1]) if found else "")
        table.append((f"{decisions / 1e6:.1f} M", *cells))
    heads = ("decisions trained", *(f"against {name}" for name in opponents))
    return markdown_table(heads, table, "r" * len(heads))


def _cell(point: Point) -> str:
    won = f"{point.won[0]:.1%} [{point.won[1]:.1%}, {point.won[2]:.1%}]"
    return f"{won}; {point.net[0]:+.2f} [{point.net[1]:+.2f}, {point.net[2]:+.2f}]"


def plot_curve(points: list[Point], path: Path) -> None:
    """Write the share of rounds won against decisions trained, a line per opponent."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    for name, line in _by_opponent(points).items():
        x = np.array([point.decisions / 1e6 for point in line])
        mean, low, high = np.array([point.won for point in line]).T
        axes.errorbar(
            x, 100 * mean, 100 * np.array([mean - low, high - mean]), marker="o", capsize=2, label=name
        )
    axes.axhline(50, color="0.7", linewidth=0.8)
    axes.set(xscale="log", xlabel="million decisions trained", ylabel="rounds won, %")
    axes.legend(title="against", frameon=False)
    figure.savefig(path)
    pyplot.close(figure)


@click.command()
@click.argument("checkpoints", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--against", default="greedy,strong", show_default=True, help="Opponents, separated by commas.")
@click.option(
    "--rounds",
    type=COUNT,
    default=2000,
    show_default=True,
    help="Deals against each opponent.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the cards.")
@click.option("--processes", type=CORES, help="Number of processes.  [default: one per core]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Output files, without suffix."
)
def learning_curve(
    checkpoints: tuple[Path, ...], against: str, rounds: int, seed: int, processes: int | None, output: Path
) -> None:
    """Measure CHECKPOINTS against fixed agents; write OUTPUT.json and OUTPUT.svg, print the table."""
    from gs2.guandan.agent_families import guandan_agent

    store = output.with_suffix(".json")
    check_folder(output.parent)
    check_output(store)
    with hold(store):
        points = read_points(store)
        for path in checkpoints:
            for opponent in against.split(","):
                wanted = (_name(path), opponent, guandan_agent(opponent).fingerprint(), rounds, seed)
                if wanted in {_key(point) for point in points}:
                    continue
                stderr().print(f"{path} against {opponent}")
                points.append(_measure(path, wanted, processes))
                write_text(store, json.dumps([asdict(point) for point in points], indent=1) + "\n")
    points = read_points(store)
    plot_curve(points, output.with_suffix(".svg"))
    click.echo(curve_table(points))


if __name__ == "__main__":
    run_alone(learning_curve)
