"""Whether what a network has learned from search holds at other positions, by that search and by others.

    python -m studies.training.taught_by_search TAUGHT POSITIONS... --before CHECKPOINT

Of each two moves that were searched, the network before said how far apart they are, the taught one says so
anew, and the search says so too. Where the search differs from the network before, the slope is how much of
the change that was taught is found there: 1 if it holds, 0 if it is not found at all. A change that holds by
the search that taught it, and not by rollouts to the end by the network itself, is that search's own error.
Positions are those of `gs2.guandan.learning.searched_positions`; they must be others than were learned from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from gs2.commands.groups import run_alone
from gs2.guandan.learning.searched_positions import APART, SearchedPositions

__all__ = ["Taught", "compare_taught", "taught_by_search"]


@dataclass(frozen=True)
class Taught:
    """What search says of a change. Intervals are 95 % half-widths, over decisions.

    decisions, pairs: that were searched, and compared. slope: of what search adds on what was taught.
    changed: share of the decisions at which the taught network prefers another of the moves compared.
    gain: levels a decision that its choice is worth more by the search. expected: by its own values.
    """

    decisions: int
    pairs: int
    slope: tuple[float, float]
    changed: float
    gain: tuple[float, float]
    expected: float


def compare_taught(
    positions: SearchedPositions, before: NDArray[np.float32], taught: NDArray[np.float32]
) -> Taught:
    """Return what the positions' targets say of a change from `before` to `taught`, [m] advantages each.

    Raises ValueError where no decision was searched.
    """
    counts = positions.actions.counts
    decision = np.repeat(np.arange(len(positions)), counts)
    rows = np.flatnonzero(positions.searched[decision] & ~np.isclose(positions.weight, APART**-2))
    if not len(rows):
        raise ValueError("taught_by_search: no position was searched; search some first")
    first, others = _leaders(rows, decision, before)
    best, _ = _leaders(rows, decision, taught)
    reference = np.full(len(positions), -1)
    reference[decision[first]] = first
    pair = others, reference[decision[others]]
    said, now, found = (x[pair[0]] - x[pair[1]] for x in (before, taught, positions.target))
    weight, moved, left = positions.weight[others].astype(np.float64), now - said, found - said
    power = (weight * moved**2).sum()
    slope = (weight * moved * left).sum() / power
    share = np.bincount(decision[others], weight * moved * (left - slope * moved), len(positions))
    gain = positions.target[best] - positions.target[first]
    return Taught(
        len(first),
        len(others),
        (float(slope), float(1.96 * np.sqrt((share**2).sum()) / power)),
        float((best != first).mean()),
        (float(gain.mean()), float(1.96 * gain.std() / np.sqrt(len(gain)))),
        float((taught[best] - taught[first]).mean()),
    )


def _leaders(
    rows: NDArray[np.int64], decision: NDArray[np.int64], values: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of highest value of each decision, in order of decisions, and the other rows."""
    order = rows[np.lexsort((-values[rows], decision[rows]))]
    leads = np.concatenate([[True], decision[order][1:] != decision[order][:-1]])
    return order[leads], order[~leads]


@click.command("taught-by-search")
@click.argument("taught", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument(
    "positions", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--before",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Network from which TAUGHT was trained. [default: the shipped one]",
)
def taught_by_search(taught: Path, positions: tuple[Path, ...], before: Path | None) -> None:
    """Print whether what TAUGHT learned from search holds at the POSITIONS of these files."""
    import torch

    from blueprint.guandan.network.inference import load_inference
    from blueprint.protocol import Decisions

    torch.set_num_threads(1)
    networks = [load_inference(path, critic=False) for path in (before, taught)]
    for path in positions:
        found = SearchedPositions.load(path)
        asked = Decisions.of(found.states, found.actions)
        said = [
            np.concatenate([network.advantages(part) for part in asked.spans(2048)]) for network in networks
        ]
        told = compare_taught(found, said[0], said[1])
        click.echo(
            f"{path.name}: {told.decisions:,} decisions, {told.pairs:,} pairs\n"
            f"  slope {told.slope[0]:.3f} ± {told.slope[1]:.3f}\n"
            f"  another choice at {100 * told.changed:.1f} %, worth {told.gain[0]:+.5f} ± {told.gain[1]:.5f} "
            f"levels a decision by the search, {told.expected:+.5f} by its own values"
        )


if __name__ == "__main__":
    run_alone(taught_by_search)
