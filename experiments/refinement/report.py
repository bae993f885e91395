"""Tables and plots of refinement experiments, made from the raw rows of their run folders."""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from experiments.markdown import markdown_table, pivot_table
from experiments.outputs import HEADING
from experiments.refinement.grid import GRIDS, SAME_K, GridError, differs_by_seed
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
    grouped,
    of_equal_blueprints,
    read_grid,
    read_rows,
    same_blueprints,
    summarise_cells,
)
from games.registry import RESEARCH_GAMES
from games.support.files import create, write_text

ROWS_FORMAT = "gs2 rows"
VERSION = 1
SCRIPTS = ("vendor/vega.min.js", "vendor/vega-lite.min.js", "vendor/vega-interpreter.min.js")
"""Scripts that draw the plots, in the order in which they run."""


LONGEST = 80
"""Characters of a picture's name; each may take three bytes."""


def seconds_words(seconds: float) -> str:
    """Return a limit of time in words."""
    return f"{seconds:g} s" if seconds >= 1 else f"{1000 * seconds:g} ms"


def limit_words(summary: CellSummary) -> str:
    """Return the limit of a cell's searches in words."""
    if summary.limit is not None:
        return seconds_words(summary.limit)
    return "preset's" if summary.cap is None else f"{summary.cap} iter."


def measured_words(summary: CellSummary) -> str:
    """Return how a cell was measured, whatever its game and method, in words."""
    sampled = f", {summary.sample} random infosets a player" * (summary.sample is not None)
    return f"blueprint {summary.blueprint}, {block_of(summary)[2]}, {limit_words(summary)}{sampled}"


def pooled_rows(folders: Sequence[Path]) -> tuple[list[str], list[Row]]:
    """Return (names of the grids, rows of run folders, each cell once, research games first).

    Raises GridError for a folder that is not a run's and where no folder has a row, FileNotFoundError for a
    folder without rows' file.
    """
    names = list(dict.fromkeys(str(read_grid(folder)["name"]) for folder in folders))
    return names, _every(folders, (row for folder in folders for row in read_rows(folder / ROWS)))


def _every(folders: Sequence[Path], rows: Iterable[Row]) -> list[Row]:
    """Return the rows of run folders, each cell once, research games first; GridError where there is none."""
    found = {row.cell.key: row for row in rows}
    if not found:
        where = ", ".join(map(str, folders))
        raise GridError(f"report: a run must have rows; got none in {where}; let gs2 experiment refine go on")
    return _research_first(found.values())


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
    found = grouped(rows, lambda row: (row.method, *block_of(row), row.limit, row.cap))
    shared = []
    for (method, *cell), mine in found.items():
        if method != first:
            continue
        if second == BLUEPRINT:
            theirs = [replace(row, exploitability=row.blueprint_exploitability) for row in mine]
        else:
            theirs = found.get((second, *cell), [])
        if all(both := same_blueprints(mine, theirs)):
            shared.append([np.mean([row.exploitability for row in some]) for some in both])
    if not shared:
        return None
    pairs = np.array(shared)
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


def comparison_table(rows: Sequence[Row]) -> str:
    """Return the pairs that were measured as a Markdown table; empty if there are none."""
    table = [
        (c.first, c.second, c.cells, c.below, c.level, c.above, f"{c.median:.3g}", f"{c.worst:.4g}")
        for first, second in PAIRS
        if (c := compare(rows, first, second)) is not None
    ]
    if not table:
        return ""
    heads = ("first", "second", "cells", "below", "level", "above", "median quotient", "worst")
    return _section(
        "## Against each other",
        "Cells (game, blueprint, limit) in which both were measured, by means over seeds (those that both "
        "have, where every seed has a blueprint of its own): in how many the "
        f"first is less exploitable, level within {TOLERANCE:g}, more exploitable; and the quotient of the "
        "two.",
        markdown_table(heads, table, "llrrrrrr"),
    )


def _section(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"


def warm_table(rows: Sequence[Row]) -> str:
    """Return ratios to the blueprint's of methods from uniform play and from the blueprint, by limit.

    Both are means over the seeds that both have. Empty if nothing was measured from the blueprint.
    """
    cells = grouped(
        (row for row in rows if row.limit is not None and block_of(row)[2:] == ("nested", None)),
        lambda row: (row.game, row.blueprint, row.method, row.limit),
    )
    found: list[tuple[tuple[str, ...], float, str]] = []
    seeds: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for (game, blueprint, method, limit), warm in cells.items():
        cold, start = without_field(method, "warm_start")
        both = common_seeds(cells.get((game, blueprint, cold, limit), []), warm)
        if start == ["1"] and all(both):
            line = game, blueprint, cold
            found.append((line, limit, " → ".join(_ratio_words(some) for some in both)))
            seeds[line].add(len(both[0]))
    if not found:
        return ""
    limits = [seconds_words(limit) for limit in sorted({limit for _, limit, _ in found})]
    told = [(line, seconds_words(limit), words) for line, limit, words in found]
    told += [(line, "seeds", " or ".join(map(str, sorted(counts)))) for line, counts in seeds.items()]
    return _section(
        "## From uniform play, and from the blueprint",
        "Exploitability over the blueprint's where CFR starts from uniform play → where it starts from "
        "the blueprint (`warm_start=1`), by the limit for each infoset: means over the seeds that both "
        "have.",
        pivot_table(("game", "blueprint", "method"), told, [*limits, "seeds"]),
    )


def _ratio_words(rows: Sequence[Row]) -> str:
    """Return the mean ratio to the blueprint's in words."""
    ratio = float(np.mean([row.ratio for row in rows]))
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
    parts = []
    for (game, told), rows in grouped(summaries, lambda row: (row.game, measured_words(row))).items():
        placed = [(place, row) for row in rows if (place := place_in_family(row.method)) is not None]
        cells = [((base, depth), column, f"{row.ratio:.3f}") for (base, depth, column), row in placed]
        if len({depth for (_, depth), _, _ in cells}) < 2:
            continue
        lines = grouped(cells, lambda cell: cell[0]).values()
        columns = list(dict.fromkeys(column for line in lines for _, column, _ in line))
        columns.sort(key=lambda column: ("τ" in column, "everyone" in column))
        cells.sort(key=lambda cell: (cell[0][0] != "maxmargin", cell[0]))
        parts.append(
            f"{game}, {told}: exploitability over the blueprint's, by decisions looked ahead "
            "(down), and by continuations at the limit, chosen by the opponent alone unless it is said, and "
            "the temperature τ of anchored solvers (across)\n"
        )
        parts += [pivot_table(("method", "depth"), cells, columns), ""]
    return "\n".join(parts)


def cell_tables(summaries: Sequence[CellSummary]) -> str:
    """Return a table per game and blueprint: methods down, limits across; modes apart."""
    parts = []
    for (game, blueprint, mode, sample), rows in grouped(summaries, block_of).items():
        which = "all infosets" if sample is None else f"{sample} random infosets a player"
        found = [row.blueprint_exploitability for row in rows]
        least, most = f"{min(found):.4f}", f"{max(found):.4f}"
        before = least if least == most else f"{least} to {most} by the seeds"
        parts.append(f"### {game}, blueprint {blueprint} (exploitability {before}), {mode}, {which}\n")
        limits = dict.fromkeys(limit_words(row) for row in rows)
        seeds = {
            method: " or ".join(map(str, sorted({row.seeds for row in some})))
            for method, some in grouped(rows, lambda row: row.method).items()
        }
        cells = [
            ((row.method,), column, cell)
            for row in rows
            for column, cell in (
                (limit_words(row), _cell(row)),
                ("seeds", seeds[row.method]),
                ("ms a search", f"{row.median_ms:.1f}"),
                ("nodes", f"{row.nodes:,.0f}"),
            )
        ]
        parts += [pivot_table(("method",), cells, [*limits, "seeds", "ms a search", "nodes"]), ""]
    return "\n".join(parts)


def overview_tables(summaries: Sequence[CellSummary]) -> str:
    """Return tables of ratios to the blueprint's, one per blueprint and limit: methods down, games across."""
    parts = []
    for told, rows in grouped(summaries, measured_words).items():
        games = list(dict.fromkeys(row.game for row in rows))
        if len(games) > 1:
            parts.append(f"Exploitability over the blueprint's, {told}\n")
            cells = [((row.method,), row.game, f"{row.ratio:.3f}") for row in rows]
            parts += [pivot_table(("method",), cells, games), ""]
    return "\n".join(parts)


def strength_table(rows: Sequence[Row]) -> str:
    """Return ratios to the blueprint's as a table, game by game from the weakest blueprint to the strongest.

    In brackets a 95 % bootstrap interval, where there are several seeds, and their number. All methods of a
    line had the same blueprints. Empty if no game was measured with three blueprints.
    """
    cells = grouped(by_strength(rows), lambda row: (row.game, row.blueprint))
    if not cells:
        return ""
    games = list(dict.fromkeys(game for game, _ in cells))
    table = []
    for (game, blueprint), members in cells.items():
        place = None
        for part in of_equal_blueprints(members):
            found = {row.method: row for row in summarise_cells(part)}
            before = float(np.mean([row.blueprint_exploitability for row in found.values()]))
            place = place or (games.index(game), -before)
            seeds = max(row.seeds for row in found.values())
            named = blueprint + f", {seeds} seed{'s' * (seeds > 1)}" * differs_by_seed(blueprint)
            shown = [_ratio(found.get(method)) for method in STRENGTH_METHODS]
            table.append((place, (game, named, f"{before:.4f}", *shown)))
    heads = ("game", "blueprint", "exploitability", *(f"`{method}`" for method in STRENGTH_METHODS))
    lines = [line for _, line in sorted(table, key=lambda entry: entry[0])]
    return _section(
        "## By the strength of the blueprint",
        "Exploitability over the blueprint's after 300 iterations in every subgame, all infosets, nested; in "
        "brackets a 95 % bootstrap interval over seeds, if it is wider than half a percent, and how many. "
        "`draws=5`: the mixture of five draws, "
        "beside the mean of single draws (`experiments.refinement.methods`); its seeds share the draws out. "
        "`dmc` trains a blueprint for each seed: a line for every number of seeds that a method has, with "
        "all methods that have so many. Rows of all grids here.",
        markdown_table(heads, lines, "llr" + "r" * len(STRENGTH_METHODS)),
    )


def _ratio(row: CellSummary | None) -> str:
    """Return a cell of the table by strength."""
    if row is None:
        return ""
    wide = f"{row.low:.3g}–{row.high:.3g}, " * (row.high - row.low > 0.005 * row.ratio)
    return f"{row.ratio:.3g}" + f" ({wide}{row.seeds})" * (row.seeds > 1)


def _cell(row: CellSummary) -> str:
    wide = f", {row.low:.2f}–{row.high:.2f}" * (row.high - row.low > 0.005)
    return f"{row.exploitability:.4f} ({row.ratio:.2f}{wide})"


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

    say: called with the reason for each plot that is left out. Raises as `pooled_rows`.
    """
    written = [output]
    can_plot = find_spec("matplotlib") is not None
    if not can_plot:
        say("no plots: matplotlib is not installed; pip install 'gs2[plots]' brings it")

    def picture(name: str, what: str) -> str:
        written.append(output.with_name(name))
        return f"![{what}]({name})\n"

    # Runs of one preset may share cells, as when seeds were added; so may two grids: a cell counts once.
    runs = grouped(
        ((read_grid(folder), read_rows(folder / ROWS)) for folder in folders), lambda r: r[0]["name"]
    )
    found = {
        name: list({row.cell.key: row for _, rows in some for row in rows}.values())
        for name, some in runs.items()
    }
    every = _every(folders, (row for rows in found.values() for row in rows))
    told = (
        "Exploitability is NashConv / 2 in payoffs, exact, of the policy in which both players were refined "
        "and spliced; in brackets its ratio to the blueprint's, with a 95 % bootstrap interval over seeds if "
        "it is wider than 0.005. Methods, modes and fields are those of `gs2.search.config`. "
        "Time limits are per infoset; a search ends sooner when its subgame is solved."
    )
    if any(differs_by_seed(row.blueprint) for row in every):
        told += " Every seed of `dmc` trains a blueprint of its own: there only means over the same "
        told += "seeds compare."
    parts = [f"{HEADING}\n", f"{told}\n", comparison_table(every), strength_table(every)]
    if can_plot and plot_strength(summarise_cells(every), output.with_name("strength.png")):
        parts.append(picture("strength.png", "ratio to the blueprint against its strength"))
    elif can_plot:
        say(
            f"no strength.png: it takes {FEW_BLUEPRINTS} blueprints of one game, refined by nested searches "
            f"of 300 iterations with {STRENGTH_METHODS[0]} or its kind, as the preset strength runs them"
        )
    parts.append(warm_table(every))
    for name, rows in found.items():
        summaries = summarise_cells(_research_first(rows))
        commits = ", ".join(dict.fromkeys(row.commit for row in rows if row.commit))
        about = f"{len(rows)} rows, commit {commits or 'unknown'}"
        parts += [f"## {name}\n", _origin([grid for grid, _ in runs[name]], about)]
        for kind, plot in (("k", plot_k), ("time", plot_time), ("game", plot_games)) * can_plot:
            if reason := _left_out(kind, summaries):
                say(f"no {name}-…-{kind}.png: {reason}")
                continue
            for blueprint, chosen in grouped(summaries, lambda row: row.blueprint).items():
                # of a blueprint or grid named by a path, too: one name of a file, and not too long for it
                file = re.sub(r"[^\w.+-]+", "-", f"{name}-{blueprint}-{kind}.png")[-LONGEST:]
                if output.with_name(file) in written:
                    file = f"{len(written)}-{file}"
                plot(
                    grouped(chosen, lambda row: block_of(row)[2])[block_of(chosen[0])[2]],
                    output.with_name(file),
                )
                parts.append(picture(file, f"exploitability against {kind}, blueprint {blueprint}"))
        parts += [family_table(summaries), overview_tables(summaries), cell_tables(summaries)]
    write_text(output, "\n".join(part for part in parts if part))
    return written
