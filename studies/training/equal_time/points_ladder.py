"""A round robin in points: what each agent comes to against all others, on the same deals.

For games whose margins matter, and for those of more than two teams, where rounds won are no odds of a pair.
In a complete round robin the mean against the others is, up to a factor, the least-squares rating.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.markdown import markdown_table
from games.support.bootstrap import Estimate, estimate

__all__ = ["PointsLadder", "plot_points", "rate_points"]


@dataclass(frozen=True, eq=False)
class PointsLadder:
    """Who came to what. agents: names. ratings: mean points against all others.

    pairs: [k][k] points of the row against the column, None on the diagonal.
    """

    agents: tuple[str, ...]
    ratings: tuple[Estimate, ...]
    pairs: tuple[tuple[Estimate | None, ...], ...]

    @property
    def order(self) -> list[int]:
        """Agents from the strongest to the weakest."""
        return sorted(range(len(self.agents)), key=lambda k: -self.ratings[k].mean)

    def cross_table(self) -> str:
        """Return the pairs in Markdown, the strongest first."""
        order = self.order
        rows = []
        for i in order:
            cells = [self.pairs[i][j] for j in order]
            words = ["" if e is None else f"{e.mean:+.3f} [{e.low:+.3f}, {e.high:+.3f}]" for e in cells]
            rows.append((f"`{self.agents[i]}`", *words))
        heads = ("", *(f"`{self.agents[j]}`" for j in order))
        return markdown_table(heads, rows, "l" + "r" * len(order))


def rate_points(
    agents: Sequence[str], nets: Mapping[tuple[int, int], NDArray[np.float64]], rng: np.random.Generator
) -> PointsLadder:
    """Return the ladder of agents that played the same deals.

    nets: [n] points to agent i against agent j on each deal, for every pair i < j.
    Intervals: 95 %, bootstrapped over deals; those of a rating take all its pairs of a deal together.
    Raises ValueError if pairs are missing or have different numbers of deals.
    """
    k = len(agents)
    wanted = {(i, j) for i in range(k) for j in range(i + 1, k)}
    if set(nets) != wanted or len({len(net) for net in nets.values()}) != 1:
        raise ValueError(f"rate_points: every pair of {k} agents must have played the same number of deals")

    def net(i: int, j: int) -> NDArray[np.float64]:
        return nets[i, j] if i < j else -nets[j, i]

    pairs = tuple(tuple(estimate(net(i, j), rng) if i != j else None for j in range(k)) for i in range(k))
    ratings = tuple(estimate(np.mean([net(i, j) for j in range(k) if j != i], axis=0), rng) for i in range(k))
    return PointsLadder(tuple(agents), ratings, pairs)


def plot_points(ladder: PointsLadder, path: str | Path, unit: str) -> None:
    """Draw the ratings with their intervals; needs matplotlib. path: .svg, .png or .pdf. unit: of points."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    order = ladder.order
    ratings = [ladder.ratings[k] for k in order]
    figure = Figure(figsize=(5.5, max(1.2 + 0.42 * len(order), 2.4)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    y = np.arange(len(order))
    mean = np.array([rating.mean for rating in ratings])
    ends = np.array([[r.mean - r.low for r in ratings], [r.high - r.mean for r in ratings]])
    axes.errorbar(mean, y, xerr=np.maximum(ends, 0), fmt="o", color="#1f4e79", capsize=3, markersize=5)
    axes.axvline(0, color="0.7", linewidth=0.8)
    axes.set_yticks(y, [ladder.agents[k] for k in order])
    axes.set_ylim(len(order) - 0.5, -0.7)
    axes.set_xlabel(f"{unit} against all others, 95 % interval")
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=150)
