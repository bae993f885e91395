"""The family of searches in one table: depth down, continuations and temperature across."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from experiments.markdown import markdown_table
from experiments.refinement.methods import method_config, split_passes
from experiments.refinement.mixture import split_draws
from experiments.refinement.summary import CellSummary

__all__ = ["family_table", "place_in_family"]

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
