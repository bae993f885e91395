"""Tables in Markdown, the one way in which every document here gets its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tabulate import DataRow, TableFormat, tabulate

ROW = DataRow("| ", " | ", " |")
RULES = {"l": " --- ", "r": " ---: "}


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[object]], columns: str) -> str:
    """Return a table in Markdown, without an end of line; cells are not padded.

    columns: "l" or "r" for each, the side to which it is set.
    Raises ValueError unless there are as many headers and cells as columns.
    """
    cells = [[_cell(value) for value in row] for row in rows]
    if any(len(row) != len(columns) for row in (headers, *cells)):
        raise ValueError(
            f"markdown_table: every row must have {len(columns)} cells, one for each of {columns!r}; "
            f"got {sorted({len(row) for row in (headers, *cells)})}"
        )
    rule = "|" + "|".join(RULES[side] for side in columns) + "|"
    form = TableFormat(
        lineabove=None,
        linebelowheader=lambda widths, sides: rule,
        linebetweenrows=None,
        linebelow=None,
        headerrow=ROW,
        datarow=ROW,
        padding=0,
        with_header_hide=None,
    )
    heads = [_cell(head) for head in headers]
    text: str = tabulate(cells, heads, form, disable_numparse=True, stralign=None, numalign=None)
    return text


def pivot_table(
    heads: Sequence[str], cells: Iterable[tuple[tuple[object, ...], str, object]], columns: Iterable[str]
) -> str:
    """Return a table in Markdown of cells told one by one, each as (first words of its line, column, cell).

    heads: of the first words. Lines stand as they first come; of cells in one place the last counts.
    """
    lines: dict[tuple[object, ...], dict[str, object]] = {}
    for line, column, cell in cells:
        lines.setdefault(line, {})[column] = cell
    shown = tuple(columns)
    rows = [(*line, *(found.get(column, "") for column in shown)) for line, found in lines.items()]
    return markdown_table((*heads, *shown), rows, "l" * len(heads) + "r" * len(shown))


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|")
