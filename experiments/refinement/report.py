"""Tables and plots of refinement experiments, made from the raw rows of their run folders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.refinement.compare import comparison_table
from experiments.refinement.run import ROWS, Row, read_grid, read_rows
from experiments.refinement.summary import CellSummary, summarise_cells
from games.registry import RESEARCH_GAMES
from games.support.files import write_text

__all__ = [
    "markdown",
    "overview",
    "plot_k",
    "plot_strength",
    "plot_time",
    "strength_table",
    "write_report",
]

PANELS = 3
SHOWN_AS_ZERO = 1e-5
"""Exploitability below this is drawn as this: the axis is logarithmic."""


def _limit(summary: CellSummary) -> str:
    if summary.limit is not None:
        return f"{summary.limit:g} s" if summary.limit >= 1 else f"{1000 * summary.limit:g} ms"
    return "preset's" if summary.cap is None else f"{summary.cap} iter."


def _block(summary: CellSummary) -> tuple:
    """Return what one table holds: searches that build on one another stand together."""
    apart = "independent" if summary.mode == "independent" else "nested"
    return summary.game, summary.blueprint, apart, summary.sample


def markdown(summaries: Sequence[CellSummary]) -> str:
    """Return a table per game and blueprint: methods down, limits across; independent searches apart."""
    parts = []
    blocks: dict[tuple, list[CellSummary]] = defaultdict(list)
    for row in summaries:
        blocks[_block(row)].append(row)
    for (game, blueprint, mode, sample), rows in blocks.items():
        limits = list(dict.fromkeys(_limit(row) for row in rows))
        which = "all infosets" if sample is None else f"{sample} random infosets a player"
        before = np.mean([row.blueprint_exploitability for row in rows])
        parts.append(f"### {game}, blueprint {blueprint} (exploitability {before:.4f}), {mode}, {which}\n")
        parts.append("| method | " + " | ".join(limits) + " | seeds | ms a search | nodes |")
        parts.append("| --- |" + " ---: |" * (len(limits) + 3))
        for method in dict.fromkeys(row.method for row in rows):
            mine = {_limit(row): row for row in rows if row.method == method}
            cells = [_cell(mine.get(limit)) for limit in limits]
            last = list(mine.values())[-1]
            cells += [f"{last.seeds}", f"{last.median_ms:.1f}", f"{last.nodes:,.0f}"]
            parts.append(f"| {method} | {' | '.join(cells)} |")
        parts.append("")
    return "\n".join(parts)


def overview(summaries: Sequence[CellSummary]) -> str:
    """Return tables of ratios to the blueprint's, one per blueprint and limit: methods down, games across."""
    parts = []
    blocks: dict[tuple, list[CellSummary]] = defaultdict(list)
    for row in summaries:
        blocks[row.blueprint, _block(row)[2], _limit(row)].append(row)
    for (blueprint, mode, limit), rows in blocks.items():
        games = list(dict.fromkeys(row.game for row in rows))
        if len(games) < 2:
            continue
        parts.append(f"Exploitability over the blueprint's, blueprint {blueprint}, {mode}, {limit}\n")
        parts.append("| method | " + " | ".join(games) + " |")
        parts.append("| --- |" + " ---: |" * len(games))
        for method in dict.fromkeys(row.method for row in rows):
            ratios = {row.game: row.ratio for row in rows if row.method == method}
            cells = [f"{ratios[game]:.3f}" if game in ratios else "" for game in games]
            parts.append(f"| {method} | {' | '.join(cells)} |")
        parts.append("")
    return "\n".join(parts)


STRENGTH_METHODS = (
    "gs2-d:k=3",
    "gs2-r:k=3",
    "gs2-r:k=3,draws=5",
    "1-klss",
    "gs2+",
    "gs2+path",
    "gs2+>gs2+path",
)
"""Columns of the table by the strength of the blueprint; single draws of GS2-R beside their mixture."""
FEW_BLUEPRINTS = 3
"""Blueprints of one game from which on their strength is worth a table."""


def _by_strength(summaries: Sequence[CellSummary]) -> list[CellSummary]:
    """Return the rows of nested searches of 300 iterations, methods and games that the table shows."""
    rows = [
        row
        for row in summaries
        if row.method in STRENGTH_METHODS
        and _block(row)[2] == "nested"
        and (row.limit, row.cap, row.sample) == (None, 300, None)
    ]
    blueprints: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        blueprints[row.game].add(row.blueprint)
    return [row for row in rows if len(blueprints[row.game]) >= FEW_BLUEPRINTS]


def strength_table(summaries: Sequence[CellSummary]) -> str:
    """Return ratios to the blueprint's as a table, game by game from the weakest blueprint to the strongest.

    In brackets a 95 % bootstrap interval, where there are several seeds, and their number. Empty if no game
    was measured with three blueprints.
    """
    rows = _by_strength(summaries)
    if not rows:
        return ""
    cells: dict[tuple[str, str], dict[str, CellSummary]] = defaultdict(dict)
    for row in rows:
        cells[row.game, row.blueprint][row.method] = row
    games = list(dict.fromkeys(row.game for row in rows))

    def before(cell: tuple[str, str]) -> float:
        return float(np.mean([row.blueprint_exploitability for row in cells[cell].values()]))

    lines = [
        "## By the strength of the blueprint\n",
        "Exploitability over the blueprint's after 300 iterations in every subgame, all infosets, nested; in "
        "brackets a 95 % bootstrap interval over seeds, if it is wider than half a percent, and how many. "
        "`draws=5`: the mixture of five draws, "
        "beside the mean of single draws (`refinement.mixture`); its seeds share the draws out. Rows of all "
        "grids here.\n",
        "| game | blueprint | exploitability | " + " | ".join(f"`{m}`" for m in STRENGTH_METHODS) + " |",
        "| --- | --- | ---: |" + " ---: |" * len(STRENGTH_METHODS),
    ]
    for cell in sorted(cells, key=lambda cell: (games.index(cell[0]), -before(cell))):
        shown = []
        for method in STRENGTH_METHODS:
            found = cells[cell].get(method)
            text = "" if found is None else f"{found.ratio:.3g}"
            if found is not None and found.seeds > 1:
                wide = found.high - found.low > 0.005 * found.ratio
                text += f" ({found.low:.3g}–{found.high:.3g}, {found.seeds})" if wide else f" ({found.seeds})"
            shown.append(text)
        lines.append(f"| {cell[0]} | {cell[1]} | {before(cell):.4f} | {' | '.join(shown)} |")
    return "\n".join([*lines, ""])


def _cell(row: CellSummary | None) -> str:
    if row is None:
        return ""
    text = f"{row.exploitability:.4f} ({row.ratio:.2f}"
    if row.high - row.low > 0.005:
        text += f", {row.low:.2f}–{row.high:.2f}"
    return text + ")"


def _base(method: str) -> tuple[str, int | None]:
    """Return a method without its k, and the k."""
    base, k = _without(method, "k")
    return base, int(k) if k else None


def _without(method: str, field: str) -> tuple[str, str | None]:
    """Return a method without one of its fields, and that field's value."""
    name, _, text = method.partition(":")
    words = [word for word in text.split(",") if word]
    kept = [word for word in words if not word.startswith(f"{field}=")]
    found = [word.partition("=")[2] for word in words if word.startswith(f"{field}=")]
    return name + (":" + ",".join(kept) if kept else ""), found[0] if found else None


def plot_k(summaries: Sequence[CellSummary], path: Path) -> None:
    """Draw exploitability against k, one panel a game, at the longest limit; methods without k are lines."""

    def draw(axis, rows: list[CellSummary]) -> None:
        limit = max((row.limit or 0, row.cap or 0) for row in rows)
        rows = [row for row in rows if (row.limit or 0, row.cap or 0) == limit]
        curves: dict[str, list[tuple[int, CellSummary]]] = defaultdict(list)
        for row in rows:
            base, k = _base(row.method)
            if k is None:
                level = max(row.exploitability, SHOWN_AS_ZERO)
                axis.axhline(level, label=base, linestyle="--", linewidth=1, color=_colour(base))
            else:
                curves[base].append((k, row))
        for base, points in curves.items():
            points.sort(key=lambda point: point[0])
            _curve(axis, base, [k for k, _ in points], [row for _, row in points])
        axis.set_xlabel("histories kept, k")

    _panels(summaries, path, draw)


def plot_time(summaries: Sequence[CellSummary], path: Path) -> None:
    """Draw exploitability against the time limit for each infoset, one panel a game."""

    def draw(axis, rows: list[CellSummary]) -> None:
        curves: dict[str, list[CellSummary]] = defaultdict(list)
        for row in rows:
            if row.limit is not None:
                curves[row.method].append(row)
        for method, points in curves.items():
            points.sort(key=lambda row: row.limit or 0.0)
            _curve(axis, method, [row.limit or 0.0 for row in points], points)
        axis.set_xscale("log")
        axis.set_xlabel("seconds per infoset")

    _panels([row for row in summaries if row.limit is not None], path, draw)


STRENGTH_CURVES = STRENGTH_METHODS[:4]
"""Those of the plot: GS2+ is orders of magnitude below and would press them together."""


def plot_strength(summaries: Sequence[CellSummary], path: Path) -> bool:
    """Draw ratios to the blueprint's against its exploitability, one panel a game; return whether any is.

    Lines join the iterates of CFR, of which uniform play is the first; other blueprints are hollow points.
    """
    shown = [row for row in summaries if row.method in STRENGTH_CURVES]
    rows = _by_strength(shown)
    if not rows:
        return False

    def draw(axis, rows: list[CellSummary]) -> None:
        from matplotlib.ticker import NullFormatter

        for method in STRENGTH_CURVES:
            colour = "tab:red" if "draws=" in method else _COLOURS.get(_base(method)[0])
            mine = sorted((row for row in rows if row.method == method), key=lambda row: _strength(row))
            curve = [row for row in mine if _is_iterate(row.blueprint)]
            x = [_strength(row) for row in curve]
            y = [max(row.ratio, SHOWN_AS_NOTHING) for row in curve]
            style = "--" if method == "1-klss" else "-"
            axis.plot(x, y, marker="o", markersize=4, label=method, color=colour, linestyle=style)
            low, high = (
                [max(getattr(row, end), SHOWN_AS_NOTHING) for row in curve] for end in ("low", "high")
            )
            axis.fill_between(x, low, high, alpha=0.15, color=colour)
            apart = [row for row in mine if not _is_iterate(row.blueprint)]
            axis.plot(
                [_strength(row) for row in apart],
                [max(row.ratio, SHOWN_AS_NOTHING) for row in apart],
                marker="o",
                markersize=5,
                markerfacecolor="none",
                color=colour,
                linestyle="none",
            )
        names: dict[str, list[float]] = defaultdict(list)
        for row in rows:
            names[row.blueprint].append(_strength(row))
        for blueprint, found in names.items():
            where = axis.get_xaxis_transform()
            at = float(np.mean(found))
            axis.text(at, 0.98, blueprint, rotation=90, va="top", ha="right", fontsize=6, transform=where)
            axis.axvline(at, color="lightgrey", linewidth=0.5, zorder=0)
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.invert_xaxis()
        axis.set_xlabel("blueprint's exploitability; the stronger the further right")

    _panels(rows, path, draw, ratio=True)
    return True


def _strength(row: CellSummary) -> float:
    return row.blueprint_exploitability


def _is_iterate(blueprint: str) -> bool:
    return blueprint == "uniform" or blueprint.startswith("cfr:")


SHOWN_AS_NOTHING = 1e-2
"""Ratio below which a curve is drawn at this: the axis is logarithmic."""


def _curve(axis, label: str, x: Sequence[float], rows: Sequence[CellSummary]) -> None:
    cold, warm = _without(label, "warm_start")
    colour = _colour(cold)
    middle = [max(row.exploitability, SHOWN_AS_ZERO) for row in rows]
    style = "-" if warm is None else ":"
    axis.plot(x, middle, marker="o", markersize=3, label=label, color=colour, linestyle=style)
    axis.fill_between(
        x,
        [max(row.low * row.blueprint_exploitability, SHOWN_AS_ZERO) for row in rows],
        [max(row.high * row.blueprint_exploitability, SHOWN_AS_ZERO) for row in rows],
        alpha=0.15,
        color=colour,
    )


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
    base, k = _base(label)
    if k is not None and base in _SHADES:
        from matplotlib import colormaps

        return colormaps[_SHADES[base]](0.35 + 0.6 * min(k, _DARKEST) / _DARKEST)
    return _COLOURS.setdefault(label, f"C{len(_COLOURS) % 10}")


def _panels(summaries: Sequence[CellSummary], path: Path, draw, ratio: bool = False) -> None:
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


def write_report(folders: Sequence[Path], output: Path) -> list[Path]:
    """Write the report of run folders: Markdown at `output`, plots beside it; return the files written.

    Raises FileNotFoundError for a folder without rows. Plots need matplotlib (extra `plots`).
    """
    written = [output]
    parts = [
        "# Results\n",
        "Exploitability is NashConv / 2 in payoffs, exact, of the policy in which both players were refined "
        "and spliced; in brackets its ratio to the blueprint's, with a 95 % bootstrap interval over seeds if "
        "it is wider than 0.005. Methods, modes and fields are those of `presets`, `refine` and `config` in "
        "`gs2.search`. Time limits are per infoset; a search ends sooner when its subgame is solved.\n",
    ]
    found: dict[str, list[Row]] = defaultdict(list)
    for folder in folders:
        found[read_grid(folder)["name"]] += read_rows(folder / ROWS)
    # Folders of one grid may share cells, as when seeds were added: a cell counts once.
    found = {name: list({row.cell.key: row for row in rows}.values()) for name, rows in found.items()}
    order = {game: number for number, game in enumerate(RESEARCH_GAMES)}
    summarised = {
        name: summarise_cells(sorted(rows, key=lambda row: order.get(row.game, len(order))))
        for name, rows in found.items()
    }
    # A cell that two grids share is one cell: its rows are alike.
    every = list({row.cell.key: row for rows in found.values() for row in rows}.values())
    pooled = summarise_cells(sorted(every, key=lambda row: order.get(row.game, len(order))))
    parts.append(comparison_table(pooled))
    parts.append(strength_table(pooled))
    picture = output.with_name("strength.png")
    if plot_strength(pooled, picture):
        parts.append(f"![ratio to the blueprint against its strength]({picture.name})\n")
        written.append(picture)
    for name, rows in found.items():
        summaries = summarised[name]
        commits = ", ".join(dict.fromkeys(row.commit for row in rows if row.commit))
        by_strength = len({row.blueprint for row in summaries}) >= FEW_BLUEPRINTS
        parts.append(f"## {name}\n")
        parts.append(
            f"`gs2 experiment refine --preset {name} -o DIR`; {len(rows)} rows, "
            f"commit {commits or 'unknown'}.\n"
        )
        for kind, plot, wanted in (
            ("k", plot_k, len({_base(row.method)[1] for row in summaries} - {None}) > 1 and not by_strength),
            ("time", plot_time, any(row.limit is not None for row in summaries)),
        ):
            if wanted:
                for blueprint in dict.fromkeys(row.blueprint for row in summaries):
                    chosen = [row for row in summaries if row.blueprint == blueprint]
                    chosen = [row for row in chosen if _block(row)[2] == _block(chosen[0])[2]]
                    picture = output.with_name(f"{name}-{blueprint.replace(':', '-')}-{kind}.png")
                    plot(chosen, picture)
                    parts.append(f"![exploitability against {kind}, blueprint {blueprint}]({picture.name})\n")
                    written.append(picture)
        parts.append(overview(summaries))
        parts.append(markdown(summaries))
    write_text(output, "\n".join(parts))
    return written
