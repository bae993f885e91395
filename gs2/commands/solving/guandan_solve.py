"""`gs2 solve guandan`: what would you play in this position of GuanDan, and why?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import COUNT, SEED, FiniteRange, html_option, print_json, stdout
from gs2.commands.progress import working

if TYPE_CHECKING:
    from pathlib import Path

    from gs2.guandan.agent.explanation import Explanation

__all__ = ["guandan_solve", "render"]

ANY_GAP = 100.0
"""Levels behind the best move at which none is left out: who asks wants to see a search."""


@click.command("guandan")
@click.option(
    "--position",
    "source",
    metavar="FILE",
    default="follow",
    show_default=True,
    help="Position as JSON, or the name of an example; --positions lists them.",
)
@click.option("--positions", is_flag=True, help="List the example positions and end.")
@click.option("--blueprint", "spec", metavar="FILE", help="Checkpoint to refine.  [default: the shipped one]")
@click.option(
    "--preset",
    "name",
    default="standard",
    show_default=True,
    help="Search preset: standard, fast, deep, rollout, rollout-fast, rollout-deep, paper or blueprint.",
)
@click.option("--seconds", "deadline", type=FiniteRange(min=0.001), help="Time limit.")
@click.option(
    "--gap",
    type=FiniteRange(0, ANY_GAP),
    help="Search moves up to so many levels behind the blueprint's best.  [default: any; the agent itself "
    "leaves moves alone that are far behind]",
)
@click.option("--worlds", type=COUNT, help="Deals to sample.  [default: the preset's]")
@click.option("-k", "k", type=COUNT, help="Deals kept in the subgame (preset paper).")
@click.option(
    "--generator", help="Choice of these deals: diverse, clusters, random or FILE.py:NAME (preset paper)."
)
@click.option("--gadget", help="auto, resolve, maxmargin or unsafe (preset paper).")
@click.option("--rows", type=COUNT, default=6, show_default=True, help="Moves and deals shown.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of every random choice.")
@html_option("the moves and deals")
@click.option("--json", "as_json", is_flag=True, help="Print the whole explanation as JSON.")
def guandan_solve(
    source: str,
    positions: bool,
    spec: str | None,
    name: str,
    rows: int,
    seed: int,
    page: Path | None,
    as_json: bool,
    **changes: Any,
) -> None:
    """Choose a move in a GuanDan position, and explain the choice.

    With no options: an example in which one may bomb or pass.
    """
    from gs2.guandan.position_solver import example_positions, read_position, solve_position

    if positions:
        _list_positions(as_json)
        return
    import numpy as np

    from gs2.guandan.agent.agent import make_agent
    from gs2.guandan.agent.agent_presets import agent_preset

    if changes["generator"] is not None:
        from gs2.parts import named_part

        changes["generator"] = named_part("generator", changes["generator"])
    config = agent_preset(name)
    if changes["gap"] is None and config.method != "none":
        changes["gap"] = ANY_GAP
    config = config.replace(**{k: v for k, v in changes.items() if v is not None})
    position = read_position(source)
    with working("loading the blueprint …"):
        agent = make_agent(spec, config, np.random.default_rng(seed))
        # kernels compile on the first use after an install: not on the time of this decision
        agent.warm_up()
    with working(f"searching by {config.name} …"):
        explanation = solve_position(position, agent, listed=rows)
    example = example_positions().get(source)
    title = None if example is None else str(example["title"])
    if page is not None:
        from gs2.explore.explore_page import decision_picture, write_explore_page

        write_explore_page(page, decision_picture(explanation.to_json(), title))
    if as_json:
        print_json({**explanation.to_json(), "blueprint_name": agent.evaluator.name, "seed": seed})
        return
    render(explanation, title)


def _list_positions(as_json: bool) -> None:
    from gs2.guandan.position_solver import example_positions

    examples = example_positions()
    if as_json:
        print_json(examples)
        return
    for name, example in examples.items():
        stdout().print(f"[bold]{name:14}[/bold] {example['title']}", soft_wrap=True)


def render(told: Explanation, title: str | None = None) -> None:
    """Print an explanation for people."""
    from rich.table import Table

    out = stdout()

    def table(*headings: str) -> Table:
        made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for index, heading in enumerate(headings):
            made.add_column(heading, justify="left" if index == 0 else "right")
        return made

    seats = [("you", "next", "partner", "previous")[(s - told.seat) % 4] for s in range(4)]
    if title:
        out.print(f"[dim]{title}[/dim]", soft_wrap=True)
    beat = "you lead" if told.to_beat is None else f"to beat: {told.to_beat}"
    out.print(f"[bold]GuanDan[/bold], level {told.level}; seat {told.seat} to act, {beat}", soft_wrap=True)
    out.print(f"hand ({told.left[told.seat]}): {told.hand}", soft_wrap=True)
    left = ", ".join(f"{seats[s]} {told.left[s]}" for s in range(4) if s != told.seat)
    out.print(f"cards left: {left}\n")
    out.print(f"[bold]Play {told.play}[/bold]", soft_wrap=True)
    out.print(f"{told.reason}\n", soft_wrap=True)

    moves = table("move", "blueprint", "its share", "by search", "chosen", "deals", "")
    for row in told.moves:
        found = "" if row.gain is None or row.error is None else f"{row.gain:+.2f} ± {row.error:.2f}"
        moves.add_row(
            f"[bold]{row.move}[/bold]" if row.move == told.play else row.move,
            f"{row.blueprint:+.2f}",
            f"{row.policy:.0%}",
            found,
            f"{row.refined:.0%}" if row.refined else "",
            str(row.rollouts or ""),
            row.note,
        )
    out.print(moves)
    out.print(
        "[dim]blueprint: levels behind its best move; by search: levels won over the blueprint's best, "
        "± one standard deviation; chosen: how likely it is the best (or the solved policy); "
        "deals: in how many it was played on[/dim]\n",
        soft_wrap=True,
    )
    if told.deals:
        kind = "all that are possible" if told.exact else "sampled"
        out.print(f"[bold]Deals[/bold]: {told.deals_sampled} {kind}; those that matter most for the choice")
        for number, deal in enumerate(told.deals, 1):
            out.print(f"{number}. {deal.weight:.1%}")
            for seat, cards in deal.hands.items():
                worth = ""
                if seat in deal.alternative:
                    worth = (
                        f"  [dim]expects {deal.alternative[seat]:+.2f}, gets {deal.solved[seat]:+.2f}, "
                        f"margin {deal.margin[seat]:+.2f}[/dim]"
                    )
                out.print(f"   {seats[seat]:8} {cards}{worth}", soft_wrap=True)
            if deal.results:
                worth = "; ".join(f"{move} {value:+.1f}" for move, value in deal.results.items())
                out.print(f"   [dim]worth here: {worth}[/dim]", soft_wrap=True)
        out.print()
    if told.subgame:
        size = told.subgame
        out.print(
            f"[bold]Subgame[/bold]: {size['nodes']:,.0f} nodes, {size['infosets']:,.0f} infosets, "
            f"{size['leaves']:,.0f} leaves at depth {size['depth']:.0f}, "
            f"{size['iterations']:.0f} iterations, gap {size['gap']:.4f}",
            soft_wrap=True,
        )
    for note in told.notes:
        out.print(f"- {note}", soft_wrap=True)
    times = "  ".join(f"{stage} {1000 * seconds:.1f}" for stage, seconds in told.seconds.items())
    out.print(f"[dim]milliseconds: {times}[/dim]", soft_wrap=True)
