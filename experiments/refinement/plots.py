"""Plots of refinement experiments, a panel for each game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.refinement.methods import split_passes, without_field
from experiments.refinement.rows import STRENGTH_METHODS, CellSummary, by_strength, grouped
from games.support.spec import field_types, read_settings
from gs2.search.config.search import SearchConfig

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = 3
SHOWN_AS_ZERO = 1e-5
"""Exploitability below this is drawn as this: the axis is logarithmic."""
SHOWN_AS_NOTHING = 1e-2
"""The same of a ratio to the blueprint's, against its strength."""


def base_and_k(method: str) -> tuple[str, int | None]:
    """Return a method without its k, and the k; passes are one method, and have none."""
    base, found = without_field(method, "k")
    if not found or len(split_passes(method)) > 1:
        return method, None
    return base, read_settings([f"k={found[-1]}"], field_types(SearchConfig))["k"]


def plot_k(summaries: Sequence[CellSummary], path: Path) -> None:
    """Draw exploitability against k, one panel a game, at the longest limit; methods without k are lines."""

    def draw(axis: Axes, rows: list[CellSummary]) -> None:
        placed = [(*base_and_k(row.method), row) for row in _longest(rows)]
        for base, k, row in placed:
            if k is None:
                level = max(row.exploitability, SHOWN_AS_ZERO)
                axis.axhline(level, label=base, linestyle="--", linewidth=1, color=_colour(base))
        for base, some in grouped(placed, lambda place: place[0]).items():
            _curve(axis, base, [(k, row) for _, k, row in some if k is not None])
        axis.set_xlabel("histories kept, k")

    _panels(summaries, path, draw)


def plot_time(summaries: Sequence[CellSummary], path: Path) -> None:
    """Draw exploitability against the time limit for each infoset, one panel a game."""

    def draw(axis: Axes, rows: list[CellSummary]) -> None:
        for method, some in grouped(rows, lambda row: row.method).items():
            _curve(axis, method, [(row.limit, row) for row in some if row.limit is not None])
        axis.set_xscale("log")
        axis.set_xlabel("seconds per infoset")

    _panels([row for row in summaries if row.limit is not None], path, draw)


def _longest(rows: Sequence[CellSummary]) -> list[CellSummary]:
    """Return the rows of the longest limit."""
    limits = [(row.limit or 0, row.cap or 0) for row in rows]
    return [row for row, limit in zip(rows, limits, strict=True) if limit == max(limits)]


HEADLINES = {"unsafe": ("s", "grey"), "gs2-d:k=5": ("^", "tab:blue"), "gs2+": ("o", "red")}
"""Methods of the plot over all games, and how each is drawn."""
LEAST_RATIO = 1e-3
"""Ratio below which a method is drawn at this: the axis is logarithmic."""


def plot_games(summaries: Sequence[CellSummary], path: Path) -> None:
    """Draw the ratio to the blueprint's exploitability, one line a game, at the longest limit.

    Only the methods of `HEADLINES` are drawn, so that the plot can be read on a phone.
    """
    from matplotlib.figure import Figure

    games = list(dict.fromkeys(row.game for row in summaries))
    longest = grouped(_longest(summaries), lambda row: row.method)
    figure = Figure(figsize=(6, 0.8 + 0.5 * len(games)), layout="constrained")
    axis = figure.subplots()
    axis.axvline(1.0, color="black", linestyle=":", label="blueprint")
    for method, (marker, colour) in HEADLINES.items():
        rows = longest.get(method, [])
        x = [max(row.ratio, LEAST_RATIO) for row in rows]
        axis.plot(
            x, [games.index(row.game) for row in rows], marker, color=colour, label=method, markersize=9
        )
    axis.set_xscale("log")
    axis.set_yticks(range(len(games)), games)
    axis.invert_yaxis()
    axis.grid(axis="y", alpha=0.3)
    axis.set_xlabel("exploitability over the blueprint's; left is better")
    figure.legend(loc="outside upper center", ncols=1 + len(HEADLINES))
    figure.savefig(path, dpi=130)


STRENGTH_CURVES = STRENGTH_METHODS[:4]
"""Those of the plot: GS2+ is orders of magnitude below and would press them together."""


def plot_strength(summaries: Sequence[CellSummary], path: Path) -> bool:
    """Draw ratios to the blueprint's against its exploitability, one panel a game; return whether any is.

    Lines join the iterates of CFR, of which uniform play is the first; other blueprints are hollow points.
    """
    rows = by_strength([row for row in summaries if row.method in STRENGTH_CURVES])
    if not rows:
        return False

    def draw(axis: Axes, rows: list[CellSummary]) -> None:
        from matplotlib.ticker import NullFormatter

        for method in STRENGTH_CURVES:
            colour = "tab:red" if "draws=" in method else _COLOURS.get(base_and_k(method)[0])
            style = "--" if method == "1-klss" else "-"
            mine = sorted((row for row in rows if row.method == method), key=_before)
            curve = [row for row in mine if row.blueprint == "uniform" or row.blueprint.startswith("cfr:")]
            apart = [row for row in mine if row not in curve]
            look: dict[str, Any] = {"marker": "o", "color": colour}
            x, y = [_before(row) for row in curve], _clipped([row.ratio for row in curve])
            axis.plot(x, y, markersize=4, label=method, linestyle=style, **look)
            low, high = (_clipped([getattr(row, end) for row in curve]) for end in ("low", "high"))
            axis.fill_between(x, low, high, alpha=0.15, color=colour)
            x, y = [_before(row) for row in apart], _clipped([row.ratio for row in apart])
            axis.plot(x, y, markersize=5, markerfacecolor="none", linestyle="none", **look)
        for blueprint, found in grouped(rows, lambda row: row.blueprint).items():
            where, at = axis.get_xaxis_transform(), float(np.mean([_before(row) for row in found]))
            axis.text(at, 0.98, blueprint, rotation=90, va="top", ha="right", fontsize=6, transform=where)
            axis.axvline(at, color="lightgrey", linewidth=0.5, zorder=0)
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.invert_xaxis()
        axis.set_xlabel("blueprint's exploitability; the stronger the further right")

    _panels(rows, path, draw, ratio=True)
    return True


def _before(row: CellSummary) -> float:
    return row.blueprint_exploitability


def _clipped(values: Sequence[float], least: float = SHOWN_AS_NOTHING) -> list[float]:
    return [max(value, least) for value in values]


def _curve(axis: Axes, label: str, points: Sequence[tuple[float, CellSummary]]) -> None:
    """Draw exploitability along x, with the interval of its ratio."""
    if not points:
        return
    x, rows = zip(*sorted(points, key=lambda point: point[0]), strict=True)
    cold, warm = without_field(label, "warm_start")
    colour, style = _colour(cold), ":" if warm else "-"
    middle = _clipped([row.exploitability for row in rows], SHOWN_AS_ZERO)
    axis.plot(x, middle, marker="o", markersize=3, label=label, color=colour, linestyle=style)
    low, high = (
        _clipped([getattr(row, end) * _before(row) for row in rows], SHOWN_AS_ZERO) for end in ("low", "high")
    )
    axis.fill_between(x, low, high, alpha=0.15, color=colour)


_COLOURS: dict[str, Any] = {
    "gs2+": "red",
    "gs2+path": "darkviolet",
    "gs2+:fallback_k=0": "salmon",
    "gs2+:whole=0": "darkred",
    "gs2+:whole=0,k=3": "deeppink",
    "gs2-d": "tab:blue",
    "gs2-r": "tab:orange",
    "1-klss": "tab:green",
    "kluss": "lightgreen",
    "unsafe": "grey",
    "resolve": "plum",
    "maxmargin": "tab:purple",
    "reach-maxmargin": "indigo",
    "mirror-descent": "tab:brown",
}


_SHADES = {"gs2-d": "Blues", "gs2-r": "Oranges"}
"""Colour maps of methods of which curves for several k stand in one panel: the more histories the darker."""
_DARKEST = 10
"""Histories from which on a shade is the darkest."""


def _colour(label: str) -> Any:
    base, k = base_and_k(label)
    if k is not None and base in _SHADES:
        from matplotlib import colormaps

        return colormaps[_SHADES[base]](0.35 + 0.6 * min(k, _DARKEST) / _DARKEST)
    return _COLOURS.setdefault(label, f"C{len(_COLOURS) % 10}")


def _panels(
    summaries: Sequence[CellSummary],
    path: Path,
    draw: Callable[[Axes, list[CellSummary]], None],
    ratio: bool = False,
) -> None:
    """Draw one panel a game with `draw`, exploitability or, if `ratio`, its ratio to the blueprint's."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    games = list(dict.fromkeys(row.game for row in summaries))
    if not games:
        return
    columns = min(PANELS, len(games))
    lines = -(-len(games) // columns)
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(4.6 * columns, 3.6 * lines), squeeze=False, layout="constrained"
    )
    handles: dict[str, Any] = {}
    for axis, game in zip(axes.flat, games, strict=False):
        rows = [row for row in summaries if row.game == game]
        before = 1.0 if ratio else float(np.mean([row.blueprint_exploitability for row in rows]))
        axis.axhline(before, color="black", linewidth=1, linestyle=":", label="blueprint")
        draw(axis, rows)
        axis.set_yscale("log")
        axis.set_title(game)
        axis.set_ylabel("exploitability over the blueprint's" if ratio else "exploitability (NashConv / 2)")
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    for axis in list(axes.flat)[len(games) :]:
        axis.set_visible(False)
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=2 * columns, fontsize="small"
    )
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
