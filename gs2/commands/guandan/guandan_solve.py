"""GuanDan's own methods of `gs2 solve`: what would you play in this position, and why?

They search by the presets of the GuanDan agent, at positions in files and examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from games.support.spec import split_spec
from gs2.commands.common import bold, number_table, print_json, stdout
from gs2.commands.progress import working
from gs2.guandan.agent.explanation import example_positions, read_position, solve_position
from gs2.guandan.agent.guandan_config import PRESETS
from gs2.guandan.table.selection import seat_words

if TYPE_CHECKING:
    from gs2.guandan.agent.explanation import Explanation

ANY_GAP = 100.0
"""Gap below the best move within which every move is searched; large, because the user asks for a search."""
EXAMPLE = "follow"
DECISION = "guandan decision"
"""Kind of a picture that `explore-decision.js` shows."""
AGENTS = {"gs2": PRESETS["standard"]} | {f"gs2-{name}": PRESETS[name] for name in ("fast", "deep", "paper")}
"""The presets by the names of the agents that search by them."""
CALLED = {"time_limit": "deadline"}
"""Fields that methods of every game have under another name."""
methods: Mapping[str, Any] = PRESETS | AGENTS
examples = example_positions


def infoset(text: str | None) -> str:
    """Return a position as a line of JSON, by its file, an example's name or as it is."""
    return read_position(EXAMPLE if text is None else text)


def solve(
    method: str,
    text: str | None,
    changes: Mapping[str, Any],
    *,
    blueprint: str | None,
    seed: int,
    rows: int,
    page: Path | None,
    as_json: bool,
) -> None:
    """Choose a move in a position, and print why.

    Raises GameError for what is no position, ConfigError for fields that the method does not have.
    """
    from gs2.guandan.agent.agent import make_agent
    from gs2.parts import configured

    name, settings = split_spec(method)
    options = {CALLED.get(field, field): value for field, value in changes.items()}
    preset = methods[name]
    usual = preset if preset.method == "none" else preset.replace(gap=ANY_GAP)
    config = configured(usual, settings, label=f"method {name}", **options)
    position = infoset(text)
    with working("loading the blueprint …"):
        agent = make_agent(blueprint, config, np.random.default_rng(seed))
    with working(f"searching by {config.name} …"):
        explanation = solve_position(position, agent, listed=rows, warmed=True)
    example = example_positions().get(EXAMPLE if text is None else text)
    title = None if example is None else str(example["title"])
    if page is not None:
        from gs2.explore.solve_picture import write_explore_page

        picture = {"format": "gs2 solve", "version": 1, "kind": DECISION, "title": title}
        write_explore_page(page, picture | explanation.to_json(), f"{title or 'GuanDan'} · GuanDan")
    if as_json:
        told = {"blueprint_name": agent.evaluator.name, "seed": seed}
        print_json({**explanation.to_json(), **told})
        return
    render(explanation, title)


def render(told: Explanation, title: str | None = None) -> None:
    """Print an explanation for people."""
    out = stdout()

    seats = seat_words(told.seat)
    if title:
        out.print(title, style="dim")
    beat = "you lead" if told.to_beat is None else f"to beat: {told.to_beat}"
    out.print(bold("GuanDan,"), f"level {told.level}; seat {told.seat} to act, {beat}")
    out.print(f"hand ({told.left[told.seat]}): {told.hand}")
    left = ", ".join(f"{seats[s]} {told.left[s]}" for s in range(4) if s != told.seat)
    out.print(f"cards left: {left}\n")
    out.print(f"Play {told.play}", style="bold")
    out.print(f"{told.reason}\n")

    moves = number_table("move", "blueprint", "its share", "by search", "chosen", "deals", "")
    for row in told.moves:
        found = "" if row.gain is None or row.error is None else f"{row.gain:+.2f} ± {row.error:.2f}"
        moves.add_row(
            bold(row.move) if row.move == told.play else row.move,
            f"{row.blueprint:+.2f}",
            f"{row.policy:.0%}",
            found,
            f"{row.refined:.0%}" if row.refined else "",
            str(row.rollouts or ""),
            row.note,
        )
    out.print(moves)
    out.print(
        "blueprint: levels behind its best move; by search: levels won over the blueprint's best, "
        "± one standard deviation; chosen: how likely it is the best (or the solved policy); "
        "deals: in how many it was played on\n",
        style="dim",
    )
    if told.deals:
        kind = "all that are possible" if told.exact else "sampled"
        out.print(bold("Deals:"), f"{told.deals_sampled} {kind}; those that matter most for the choice")
        for number, deal in enumerate(told.deals, 1):
            out.print(f"{number}. {deal.weight:.1%}")
            for seat, cards in deal.hands.items():
                worth = Text(style="dim")
                if seat in deal.alternative:
                    worth.append(
                        f"  expects {deal.alternative[seat]:+.2f}, gets {deal.solved[seat]:+.2f}, "
                        f"margin {deal.margin[seat]:+.2f}"
                    )
                out.print(f"   {seats[seat]:8} {cards}", worth, sep="")
            if deal.results:
                here = "; ".join(f"{move} {value:+.1f}" for move, value in deal.results.items())
                out.print(f"   worth here: {here}", style="dim")
        out.print()
    if told.subgame:
        size = told.subgame
        out.print(
            bold("Subgame:"),
            f"{size['nodes']:,.0f} nodes, {size['infosets']:,.0f} infosets, "
            f"{size['leaves']:,.0f} leaves at depth {size['depth']:.0f}, "
            f"{size['iterations']:.0f} iterations, gap {size['gap']:.4f}",
        )
    for note in told.notes:
        out.print(f"- {note}")
    times = "  ".join(f"{stage} {1000 * seconds:.1f}" for stage, seconds in told.seconds.items())
    out.print(f"milliseconds: {times}", style="dim")
