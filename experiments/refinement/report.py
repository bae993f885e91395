"""Tables and plots of refinement experiments, made from the raw rows of their run folders."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from experiments.markdown import markdown_table
from experiments.refinement.grid import GRIDS, SAME_K, differs_by_seed
from experiments.refinement.methods import method_config, split_draws, split_passes, without_field
from experiments.refinement.plots import HEADLINES, base_and_k, plot_games, plot_k, plot_strength, plot_time
from experiments.refinement.rows import (
    FEW_BLUEPRINTS,
    ROWS,
    STRENGTH_METHODS,
    CellSummary,
    Row,
    block_of,
    by_strength,
    common_seeds,
    of_equal_blueprints,
    read_grid,
    read_rows,
    same_blueprints,
    summarise_cells,
)
from games.registry import RESEARCH_GAMES
from games.support.files import create, write_text

__all__ = [
    "BLUEPRINT",
    "HEADING",
    "PAIRS",
    "TOLERANCE",
    "Comparison",
    "cell_tables",
    "compare",
    "comparison_table",
    "family_table",
    "limit_words",
    "overview_tables",
    "place_in_family",
    "pooled_rows",
    "refine_command",
    "rows_picture",
    "seconds_words",
    "strength_table",
    "warm_table",
    "write_report",
    "write_rows_page",
]

ROWS_FORMAT = "gs2 rows"
VERSION = 1
SCRIPTS = ("vendor/vega.min.js", "vendor/vega-lite.min.js", "vendor/vega-interpreter.min.js")
"""Scripts that draw the plots, in the order in which they run."""


def seconds_words(seconds: float) -> str:
    """Return a limit of time in words."""
    return f"{seconds:g} s" if seconds >= 1 else f"{1000 * seconds:g} ms"


def limit_words(summary: CellSummary) -> str:
    """Return the limit of a cell's searches in words."""
    if summary.limit is not None:
        return seconds_words(summary.limit)
    return "preset's" if summary.cap is None else f"{summary.cap} iter."


def pooled_rows(folders: Sequence[Path]) -> tuple[list[str], list[Row]]:
    """Return (names of the grids, rows of run folders, each cell once, research games first).

    Raises GridError for a folder that is not a run's, FileNotFoundError for one without rows.
    """
    names = list(dict.fromkeys(str(read_grid(folder)["name"]) for folder in folders))
    rows = {row.cell.key: row for folder in folders for row in read_rows(folder / ROWS)}
    return names, _research_first(rows.values())


def _research_first(rows: Iterable[Row]) -> list[Row]:
    """Return rows with those of the research games first."""
    order = {game: number for number, game in enumerate(RESEARCH_GAMES)}
    return sorted(rows, key=lambda row: order.get(row.game, len(order)))


def rows_picture(names: Sequence[str], rows: Sequence[Row]) -> dict[str, Any]:
    """Return the cells of rows as plain data; those that differ only in their seed are one."""
    cells = []
    for summary in summarise_cells(rows):
        base, k = base_and_k(summary.method)
        told = asdict(summary)
        seconds, sample = told.pop("limit"), told.pop("sample")
        mode = summary.mode + ("" if sample is None else f", {sample} random infosets")
        told |= {"base": base, "k": k, "mode": mode, "limit": limit_words(summary), "seconds": seconds}
        told["before"] = told.pop("blueprint_exploitability")
        cells.append(told)
    return {"format": ROWS_FORMAT, "version": VERSION, "title": ", ".join(names), "rows": cells}


def write_rows_page(folders: Sequence[Path], path: Path) -> None:
    """Write the rows of run folders as one new HTML file that needs no network.

    Raises as `pooled_rows`, FileProblem for a file that is there already.
    """
    from gs2.web.pages import standalone_page

    picture = rows_picture(*pooled_rows(folders))
    page = standalone_page(
        f"{picture['title']} · gs2 experiment report",
        "rows.js",
        picture,
        modules=("rows.js",),
        styles=("rows.css",),
        scripts=SCRIPTS,
    )
    with create(path) as file:
        file.write(page)


TOLERANCE = 1e-6
"""Exploitabilities that differ by no more, in payoffs, are level."""
BLUEPRINT = "blueprint"

PAIRS = (
    ("gs2+", BLUEPRINT),
    ("gs2+path", BLUEPRINT),
    ("gs2+path", "gs2+"),
    *((SAME_K, other) for other in (BLUEPRINT, "gs2-r:k=3", "gs2-d:k=3")),
    *((f"gs2-d:k={k}", f"gs2-r:k={k}") for k in (2, 3, 5, 10)),
    ("gs2-d:k=3", "gs2-r:k=3,draws=5"),
    ("gs2-r:k=3,draws=5", "gs2-r:k=3"),
    *((f"gs2-d:k={k}", "1-klss") for k in (3, 5, 10)),
    *((f"gs2-d:k={k},warm_start=1", f"gs2-r:k={k},warm_start=1") for k in (3, 5)),
    *((f"gs2-d:k={k},warm_start=1", "1-klss:warm_start=1") for k in (3, 5)),
)
"""Which methods the report sets against which."""


@dataclass(frozen=True)
class Comparison:
    """How one method does beside another.

    cells: game, blueprint, mode and limit in which both were measured (searches that build on one another
    count as one mode). below, level, above: in how many the first is less exploitable, as exploitable within
    TOLERANCE, more so; means over seeds, those that both have where every seed has a
    blueprint of its own. median, worst: quotients of the exploitabilities where the second is
    not zero.
    """

    first: str
    second: str
    cells: int
    below: int
    level: int
    above: int
    median: float
    worst: float


def compare(rows: Iterable[Row], first: str, second: str) -> Comparison | None:
    """Return how `first` does beside `second`; None if no cell has both."""
    ours: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    theirs: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        apart = row.mode == "independent"
        cell = (row.game, row.blueprint, apart, row.limit, row.cap, row.sample)
        if row.method == first:
            ours[cell].append(row)
        elif row.method == second:
            theirs[cell].append(row)
    if second == BLUEPRINT:
        theirs = {
            cell: [replace(row, exploitability=row.blueprint_exploitability) for row in mine]
            for cell, mine in ours.items()
        }
    shared = [same_blueprints(mine, theirs[cell]) for cell, mine in ours.items() if cell in theirs]
    pairs = np.array([[_mean(some) for some in both] for both in shared if all(both)])
    if len(pairs) == 0:
        return None
    difference = pairs[:, 0] - pairs[:, 1]
    some = pairs[:, 1] > TOLERANCE
    quotient = pairs[some, 0] / pairs[some, 1]
    return Comparison(
        first,
        second,
        cells=len(pairs),
        below=int(np.sum(difference < -TOLERANCE)),
        level=int(np.sum(np.abs(difference) <= TOLERANCE)),
        above=int(np.sum(difference > TOLERANCE)),
        median=float(np.median(quotient)) if some.any() else float("nan"),
        worst=float(quotient.max()) if some.any() else float("nan"),
    )


def _mean(rows: Sequence[Row]) -> float:
    return float(np.mean([row.exploitability for row in rows]))


def comparison_table(rows: Sequence[Row]) -> str:
    """Return the pairs that were measured as a Markdown table; empty if there are none."""
    found = [made for first, second in PAIRS if (made := compare(rows, first, second)) is not None]
    if not found:
        return ""
    lines = [
        "## Against each other\n",
        "Cells (game, blueprint, limit) in which both were measured, by means over seeds (those that both "
        "have, where every seed has a blueprint of its own): in how many the "
        f"first is less exploitable, level within {TOLERANCE:g}, more exploitable; and the quotient of the "
        "two.\n",
    ]
    table = [
        (c.first, c.second, c.cells, c.below, c.level, c.above, f"{c.median:.3g}", f"{c.worst:.4g}")
        for c in found
    ]
    heads = ("first", "second", "cells", "below", "level", "above", "median quotient", "worst")
    lines.append(markdown_table(heads, table, "llrrrrrr"))
    return "\n".join([*lines, ""])


def warm_table(rows: Sequence[Row]) -> str:
    """Return ratios to the blueprint's of methods from uniform play and from the blueprint, by limit.

    Both are means over the seeds that both have. Empty if nothing was measured from the blueprint.
    """
    cells: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row.limit is not None and row.mode != "independent" and row.sample is None:
            cells[row.game, row.blueprint, row.method, row.limit].append(row)
    lines: dict[tuple[str, str, str], dict[float, tuple[str, int]]] = defaultdict(dict)
    for (game, blueprint, method, limit), warm in cells.items():
        cold, start = without_field(method, "warm_start")
        both = common_seeds(cells.get((game, blueprint, cold, limit), []), warm)
        if start == ["1"] and all(both):
            words = " → ".join(_ratio_words(some) for some in both)
            lines[game, blueprint, cold][limit] = words, len(both[0])
    if not lines:
        return ""
    limits = sorted({limit for found in lines.values() for limit in found})
    table = []
    for line, found in lines.items():
        seeds = sorted({count for _, count in found.values()})
        shown = (found.get(limit, ("", 0))[0] for limit in limits)
        table.append((*line, *shown, " or ".join(map(str, seeds))))
    heads = ("game", "blueprint", "method", *map(seconds_words, limits), "seeds")
    return "\n".join(
        [
            "## From uniform play, and from the blueprint\n",
            "Exploitability over the blueprint's where CFR starts from uniform play → where it starts from "
            "the blueprint (`warm_start=1`), by the limit for each infoset: means over the seeds that both "
            "have.\n",
            markdown_table(heads, table, "lll" + "r" * (len(limits) + 1)),
            "",
        ]
    )


def _ratio_words(rows: Sequence[Row]) -> str:
    """Return the mean ratio to the blueprint's in words."""
    ratio = float(np.mean([row.exploitability / row.blueprint_exploitability for row in rows]))
    return f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}"


END = "to the end"


def place_in_family(method: str) -> tuple[str, str, str] | None:
    """Return (method without these fields, depth, continuations and temperature) of a method, in words.

    None for methods that are no single search, and leaves other than expected values and continuations.
    """
    name, draws = split_draws(method)
    if draws is not None or len(split_passes(name)) > 1:
        return None
    config = method_config(name)
    subgame = config.subgame
    if subgame.depth is not None and subgame.leaf not in ("exact", "multi-valued"):
        return None
    column = "1"
    if subgame.depth is not None and subgame.leaf == "multi-valued":
        column = f"{len(subgame.policies.split('+'))}"
        column += ", everyone" * (subgame.choosers == "everyone")
    if config.solve.solver == "anchored":
        column += f", τ {config.solve.temperature:g}"
    elif config.solve.solver != "cfr":
        return None
    base = config.name if config.generation.k is None else f"{config.name}, k = {config.generation.k}"
    return base, END if subgame.depth is None else str(subgame.depth), column


def family_table(summaries: Sequence[CellSummary]) -> str:
    """Return ratios to the blueprint's exploitability by depth, continuations and temperature, game by game.

    Empty unless some game was measured at several depths.
    """
    cells: dict[tuple[str, str], dict[tuple[str, str], dict[str, CellSummary]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for row in summaries:
        place = place_in_family(row.method)
        if place is not None:
            cells[row.game, row.blueprint][place[:2]][place[2]] = row
    parts = []
    for (game, blueprint), rows in cells.items():
        if len({depth for _, depth in rows}) < 2:
            continue
        columns = list(dict.fromkeys(column for found in rows.values() for column in found))
        columns.sort(key=lambda column: ("τ" in column, "everyone" in column))
        parts.append(
            f"{game}, blueprint {blueprint}: exploitability over the blueprint's, by decisions looked ahead "
            "(down), and by continuations at the limit, chosen by the opponent alone unless it is said, and "
            "the temperature τ of anchored solvers (across)\n"
        )
        table = [
            (*place, *(f"{found[column].ratio:.3f}" if column in found else "" for column in columns))
            for place, found in sorted(rows.items(), key=lambda item: (item[0][0] != "maxmargin", item[0]))
        ]
        parts += [markdown_table(("method", "depth", *columns), table, "ll" + "r" * len(columns)), ""]
    return "\n".join(parts)


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
        "beside the mean of single draws (`experiments.refinement.methods`); its seeds share the draws out. "
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
    # A cell that two grids share is one cell: its rows are alike.
    every = _research_first({row.cell.key: row for rows in found.values() for row in rows}.values())
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
        summaries = summarise_cells(_research_first(rows))
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
