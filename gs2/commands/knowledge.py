"""`gs2 knowledge`: what each method would have to solve at an infoset, before one is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gs2.commands.common import COUNT, GAME, memory_option, number_table, print_json, stdout
from gs2.commands.progress import working

if TYPE_CHECKING:
    from games.game import Game

__all__ = ["knowledge"]


@click.command()
@click.argument("game", type=GAME)
@click.option(
    "--infoset", "text", required=True, metavar="TEXT", help="The infoset, as `gs2 infosets` names it."
)
@click.option("--max-order", type=COUNT, help="Stop at this knowledge order.")
@memory_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def knowledge(game: Game, text: str, max_order: int | None, as_json: bool) -> None:
    """Count the histories, infosets and nodes within each order of knowledge at an infoset of GAME.

    Order 1 holds the histories of the infoset. Each further order adds those that some player cannot tell
    from one of them. The last is the common-knowledge closure, which unsafe, resolve and maxmargin solve.
    """
    from gs2.search.context import SearchContext
    from gs2.search.histories.knowledge_report import knowledge_report

    infoset = game.parse_infoset(text)
    with working(f"growing {game.name} …"):
        report = knowledge_report(SearchContext(game), infoset, max_order)
    if as_json:
        print_json(report.to_json())
        return
    out = stdout()
    out.print(f"[bold]{game.name}[/bold]   {report.text}\n")
    table = number_table("order", "histories", "infosets of each player", "nodes below", "", words=0)
    table.columns[-1].justify = "left"
    for size in report.sizes:
        words = "the infoset itself" if size.order == 1 else ""
        if size.order == report.closure_order and (max_order is None or report.closure_order < max_order):
            words = (words + ", " if words else "") + "common-knowledge closure"
        table.add_row(
            str(size.order),
            f"{size.histories:,}",
            " + ".join(f"{n:,}" for n in size.infosets),
            f"{size.nodes:,}",
            words,
        )
    out.print(table)
