"""Tables and plots of refinement experiments, made from the raw rows of their run folders."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from experiments.markdown import markdown_table
from experiments.refinement.compare import comparison_table, family_table, warm_table
from experiments.refinement.grid import GRIDS, differs_by_seed
from experiments.refinement.plots import HEADLINES, base_and_k, plot_games, plot_k, plot_strength, plot_time
from experiments.refinement.rows import ROWS, Row, read_grid, read_rows
from experiments.refinement.rows_page import limit_words
from experiments.refinement.summary import (
    FEW_BLUEPRINTS,
    STRENGTH_METHODS,
    CellSummary,
    block_of,
    by_strength,
    of_equal_blueprints,
    summarise_cells,
)
from games.registry import RESEARCH_GAMES
from games.support.files import write_text

__all__ = ["HEADING", "cell_tables", "overview_tables", "refine_command", "strength_table", "write_report"]

HEADING = "# Results"
"""First line of a report."""


def cell_tables(summaries: Sequence[CellSummary]) -> str:
    """Return a table per game and blueprint: methods down, limits across; independent searches apart."""
    parts = []
    blocks: dict[tuple[Any, ...], list[CellSummary]] = defaultdict(list)
    for row in summaries:
        blocks[block_of(row)].append(row)
    for (game, blueprint, mode, sample), rows in blocks.items():
        limits = list(dict.fromkeys(limit_words(row) for row in rows))
        which = "all infosets" if sample is None else f"{sample} random infosets a player"
        before = _before(rows)
        parts.append(f"### {game}, blueprint {blueprint} (exploitability {before}), {mode}, {which}\n")
        lines = []
        for method in dict.fromkeys(row.method for row in rows):
            mine = {limit_words(row): row for row in rows if row.method == method}
            last = list(mine.values())[-1]
            cells = [_cell(mine.get(limit)) for limit in limits]
            lines.append((method, *cells, last.seeds, f"{last.median_ms:.1f}", f"{last.nodes:,.0f}"))
        heads = ("method", *limits, "seeds", "ms a search", "nodes")
        parts += [markdown_table(heads, lines, "l" + "r" * (len(limits) + 3)), ""]
    return "\n".join(parts)


def _before(rows: Sequence[CellSummary]) -> str:
    """Return the exploitability of a block's blueprints: from and to, where seeds have their own."""
    found = [row.blueprint_exploitability for row in rows]
    least, most = f"{min(found):.4f}", f"{max(found):.4f}"
    return least if least == most else f"{least} to {most} by the seeds"


def overview_tables(summaries: Sequence[CellSummary]) -> str:
    """Return tables of ratios to the blueprint's, one per blueprint and limit: methods down, games across."""
    parts = []
    blocks: dict[tuple[Any, ...], list[CellSummary]] = defaultdict(list)
    for row in summaries:
        blocks[row.blueprint, block_of(row)[2], limit_words(row)].append(row)
    for (blueprint, mode, limit), rows in blocks.items():
        games = list(dict.fromkeys(row.game for row in rows))
        if len(games) < 2:
            continue
        parts.append(f"Exploitability over the blueprint's, blueprint {blueprint}, {mode}, {limit}\n")
        lines = []
        for method in dict.fromkeys(row.method for row in rows):
            ratios = {row.game: row.ratio for row in rows if row.method == method}
            lines.append((method, *(f"{ratios[game]:.3f}" if game in ratios else "" for game in games)))
        parts += [markdown_table(("method", *games), lines, "l" + "r" * len(games)), ""]
    return "\n".join(parts)


def strength_table(rows: Sequence[Row]) -> str:
    """Return ratios to the blueprint's as a table, game by game from the weakest blueprint to the strongest.

    In brackets a 95 % bootstrap interval, where there are several seeds, and their number. All methods of a
    line had the same blueprints. Empty if no game was measured with three blueprints.
    """
    cells: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in by_strength(rows):
        cells[row.game, row.blueprint].append(row)
    if not cells:
        return ""
    games = list(dict.fromkeys(game for game, _ in cells))
    table = []
    for (game, blueprint), members in cells.items():
        parts = of_equal_blueprints(members)
        place = games.index(game), -_mean_before(parts[0])
        for part in parts:
            found = {row.method: row for row in summarise_cells(part)}
            seeds = max(row.seeds for row in found.values())
            named = blueprint + f", {seeds} seed{'s' * (seeds > 1)}" * differs_by_seed(blueprint)
            shown = [_ratio(found.get(method)) for method in STRENGTH_METHODS]
            table.append((place, (game, named, f"{_mean_before(part):.4f}", *shown)))
    lines = [
        "## By the strength of the blueprint\n",
        "Exploitability over the blueprint's after 300 iterations in every subgame, all infosets, nested; in "
        "brackets a 95 % bootstrap interval over seeds, if it is wider than half a percent, and how many. "
        "`draws=5`: the mixture of five draws, "
        "beside the mean of single draws (`experiments.refinement.mixture`); its seeds share the draws out. "
        "`dmc` trains a blueprint for each seed: a line for every number of seeds that a method has, with "
        "all methods that have so many. Rows of all grids here.\n",
    ]
    heads = ("game", "blueprint", "exploitability", *(f"`{method}`" for method in STRENGTH_METHODS))
    sorted_lines = [line for _, line in sorted(table, key=lambda entry: entry[0])]
    lines.append(markdown_table(heads, sorted_lines, "llr" + "r" * len(STRENGTH_METHODS)))
    return "\n".join([*lines, ""])


def _mean_before(rows: Sequence[Row]) -> float:
    """Return the exploitability of the blueprints, each method's mean counting alike."""
    return float(np.mean([row.blueprint_exploitability for row in summarise_cells(rows)]))


def _ratio(row: CellSummary | None) -> str:
    """Return a cell of the table by strength."""
    if row is None:
        return ""
    if row.seeds == 1:
        return f"{row.ratio:.3g}"
    wide = row.high - row.low > 0.005 * row.ratio
    return (
        f"{row.ratio:.3g} ({row.low:.3g}–{row.high:.3g}, {row.seeds})"
        if wide
        else f"{row.ratio:.3g} ({row.seeds})"
    )


def _cell(row: CellSummary | None) -> str:
    if row is None:
        return ""
    text = f"{row.exploitability:.4f} ({row.ratio:.2f}"
    if row.high - row.low > 0.005:
        text += f", {row.low:.2f}–{row.high:.2f}"
    return text + ")"


def refine_command(grid: dict[str, Any]) -> str | None:
    """Return the command that runs a grid, less its folder; None for a grid that no options make.

    grid: its fields, as of `read_grid`.
    """
    known = GRIDS.get(grid["name"])
    if known is None:
        return None
    made: dict[str, Any] = json.loads(json.dumps(known.to_json()))
    asked = {field: grid.get(field) for field in made}
    words = ["gs2", "experiment", "refine", "--preset", known.name]
    lists = {"--game": "games", "--method": "methods", "--blueprint": "blueprints", "--mode": "modes"}
    limits = {"--limit": "limits", "--iterations": "iterations"}
    options = {option: field for option, field in lists.items() if asked[field] != made[field]}
    if any(asked[field] != made[field] for field in limits.values()) and any(map(asked.get, limits.values())):
        # One of them given, both are replaced.
        options |= limits
        made |= {"limits": [], "iterations": []}
    for option, field in options.items():
        values = asked[field]
        if isinstance(values, list) and values:
            made[field] = values
            words += [word for value in values for word in (option, str(value))]
    samples = asked["samples"]
    if samples != made["samples"] and isinstance(samples, dict) and samples:
        sample = next(iter(samples.values()))
        made["samples"] = dict.fromkeys(made["games"], sample)
        words += ["--sample", str(sample)]
    if any(asked[field] != made[field] for field in ("seeds", "few_seeds")):
        made |= {"seeds": asked["seeds"], "few_seeds": {}}
        words += ["--seeds", str(asked["seeds"])]
    return shlex.join(words) if made == grid else None


def _origin(grids: Sequence[dict[str, Any]], told: str) -> str:
    """Return how a section's rows are made again. told: how many they are, and of which commits."""
    commands = dict.fromkeys(refine_command(grid) for grid in grids)
    lines = [
        "A grid of its own: see its folder's `grid.json`" if command is None else f"`{command} -o DIR`"
        for command in commands
    ]
    if len(lines) == 1:
        return f"{lines[0]}; {told}.\n"
    return "\n".join([f"{told}, of {len(lines)} runs:\n", *(f"- {line}" for line in lines), ""])


def _left_out(kind: str, summaries: Sequence[CellSummary]) -> str:
    """Return why a grid has no plot of this kind; nothing if it has one. kind: "k", "time" or "game"."""
    if kind == "time":
        limited = any(row.limit is not None for row in summaries)
        return "" if limited else "its searches have no limits in seconds; --limit sets one"
    if len({row.blueprint for row in summaries}) >= FEW_BLUEPRINTS:
        return f"{FEW_BLUEPRINTS} blueprints or more are compared by their strength instead"
    if kind == "game":
        some = {row.method for row in summaries} & HEADLINES.keys()
        several = len({row.game for row in summaries}) > 1 and bool(some)
        return "" if several else f"it takes several games, and one of the methods {', '.join(HEADLINES)}"
    several = len({base_and_k(row.method)[1] for row in summaries} - {None}) > 1
    return "" if several else "it takes methods with several k, such as gs2-d:k=1 and gs2-d:k=3"


def write_report(
    folders: Sequence[Path], output: Path, say: Callable[[str], None] = lambda reason: None
) -> list[Path]:
    """Write the report of run folders: Markdown at `output`, plots beside it; return the files written.

    say: called with the reason for each plot that is left out.
    Raises FileNotFoundError for a folder without rows.
    """
    written = [output]
    can_plot = find_spec("matplotlib") is not None
    if not can_plot:
        say("no plots: matplotlib is not installed; pip install 'gs2[plots]' brings it")
    parts = [
        f"{HEADING}\n",
        "Exploitability is NashConv / 2 in payoffs, exact, of the policy in which both players were refined "
        "and spliced; in brackets its ratio to the blueprint's, with a 95 % bootstrap interval over seeds if "
        "it is wider than 0.005. Methods, modes and fields are those of `gs2.search.config`. "
        "Time limits are per infoset; a search ends sooner when its subgame is solved.",
    ]
    found: dict[str, list[Row]] = defaultdict(list)
    grids: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for folder in folders:
        made = read_grid(folder)
        grids[made["name"]].append(made)
        found[made["name"]] += read_rows(folder / ROWS)
    # Runs of one preset may share cells, as when seeds were added: a cell counts once.
    found = {name: list({row.cell.key: row for row in rows}.values()) for name, rows in found.items()}
    order = {game: number for number, game in enumerate(RESEARCH_GAMES)}
    summarised = {
        name: summarise_cells(sorted(rows, key=lambda row: order.get(row.game, len(order))))
        for name, rows in found.items()
    }
    # A cell that two grids share is one cell: its rows are alike.
    every = list({row.cell.key: row for rows in found.values() for row in rows}.values())
    every.sort(key=lambda row: order.get(row.game, len(order)))
    pooled = summarise_cells(every)
    if any(differs_by_seed(row.blueprint) for row in every):
        parts[-1] += " Every seed of `dmc` trains a blueprint of its own: there only means over the same "
        parts[-1] += "seeds compare."
    parts[-1] += "\n"
    parts += [part for part in (comparison_table(every), strength_table(every)) if part]
    picture = output.with_name("strength.png")
    if can_plot and not plot_strength(pooled, picture):
        say(
            f"no strength.png: it takes {FEW_BLUEPRINTS} blueprints of one game, refined by nested searches "
            f"of 300 iterations with {STRENGTH_METHODS[0]} or its kind, as the preset strength runs them"
        )
    elif can_plot:
        parts.append(f"![ratio to the blueprint against its strength]({picture.name})\n")
        written.append(picture)
    if warm := warm_table(every):
        parts.append(warm)
    for name, rows in found.items():
        summaries = summarised[name]
        commits = ", ".join(dict.fromkeys(row.commit for row in rows if row.commit))
        parts.append(f"## {name}\n")
        parts.append(_origin(grids[name], f"{len(rows)} rows, commit {commits or 'unknown'}"))
        for kind, plot in (("k", plot_k), ("time", plot_time), ("game", plot_games)):
            reason = _left_out(kind, summaries)
            if can_plot and reason:
                say(f"no {name}-…-{kind}.png: {reason}")
            elif can_plot:
                for blueprint in dict.fromkeys(row.blueprint for row in summaries):
                    chosen = [row for row in summaries if row.blueprint == blueprint]
                    chosen = [row for row in chosen if block_of(row)[2] == block_of(chosen[0])[2]]
                    picture = output.with_name(f"{name}-{blueprint.replace(':', '-')}-{kind}.png")
                    plot(chosen, picture)
                    parts.append(f"![exploitability against {kind}, blueprint {blueprint}]({picture.name})\n")
                    written.append(picture)
        tables = family_table(summaries), overview_tables(summaries), cell_tables(summaries)
        parts += [part for part in tables if part]
    write_text(output, "\n".join(parts))
    return written
