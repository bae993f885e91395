"""`gs2 ladder --game GAME AGENTS...`: ratings of agents of any game."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import (
    CORES,
    COUNT,
    ON,
    OUTPUT_FILE,
    OUTPUT_FOLDER,
    SEED,
    Interruption,
    check_plot,
    memory_option,
    stdout,
)
from gs2.commands.matches.endings import end_interrupted, show_ladder
from gs2.commands.progress import working

if TYPE_CHECKING:
    from gs2.play.game_arena import MeetingResult
    from gs2.play.game_ladder import GameLadder

__all__ = ["ladder_game"]


@click.command("ladder")
@click.option("--game", "text", required=True, help="Game string, such as leduc_poker; see gs2 games.")
@click.argument("agents", nargs=-1, required=True)
@click.option(
    "--pairs",
    type=COUNT,
    default=1000,
    show_default=True,
    help="Pairs of games of each match, seats swapped.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of chance and of the agents.")
@click.option(
    "--by",
    type=click.Choice(["points", "elo"]),
    default="points",
    show_default=True,
    help="Order of the table and the plot.",
)
@click.option("--processes", type=CORES, help="Number of processes.  [default: 1; a cluster: all cores]")
@ON
@click.option("-o", "--output", type=OUTPUT_FOLDER, help="Folder of results, to resume.")
@click.option("--plot", type=OUTPUT_FILE, help="Picture to write: .svg, .png or .pdf.")
@memory_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def ladder_game(
    text: str, agents: tuple[str, ...], output: Path | None, plot: Path | None, as_json: bool, **how: Any
) -> None:
    """Rate AGENTS of any game by playing all pairs of them on the same chance.

    Agents are named as in gs2 match --game; the first word may be the game instead of --game. Points are the
    payoff a game against an agent drawn from the ladder. Elo rates how often an agent wins, by Bradley and
    Terry: 400 are odds of ten to one, a draw is half a win. If each seat plays for itself, each agent is once
    the one seat and once all the others, and the winner is one of the seats with odds by their strengths
    (Luce). Intervals are bootstrapped over pairs of games.
    """
    from games.registry import game_string, load_game
    from gs2.play.game_ladder import GameLadderPlan, play_game_ladder, plot_game_ladder
    from gs2.play.game_match import playing_teams

    check_plot(plot)
    game = load_game(text, general_sum=True)
    plan = GameLadderPlan(game_string(text, game), agents, how["pairs"], how["seed"], how["by"])
    total = plan.pairs * len(plan.matches(max(playing_teams(game)) + 1))
    on = how["on"]
    with Interruption() as asked, working(f"{len(agents)} agents: starting …") as tell:

        def progress(done: int, found: MeetingResult) -> None:
            who = f"{found.meeting.a} – {found.meeting.b}"
            tell(f"{done:,} of {total:,} pairs  {who} {found.net:+.4f} a game")

        found = play_game_ladder(
            plan,
            game=game,
            output=output,
            processes=on.with_count(how["processes"] or (1 if on.is_local else None)),
            progress=progress,
            stop=asked,
        )
    if found is None:
        end_interrupted(asked, output)
    show_ladder(found, _print, plot_game_ladder, plot, as_json)


def _print(found: GameLadder) -> None:
    from rich.table import Table

    out = stdout()
    out.print(f"[bold]{found.plan.game}[/bold]\n", soft_wrap=True)
    table = Table(title="Ratings", title_justify="left")
    table.add_column("agent")
    for heading in ("points", "95 %", "Elo", "95 %", "games won"):
        table.add_column(heading, justify="right")
    for k in found.order:
        points, elo = found.points[k], found.elo[k]
        table.add_row(
            found.labels[k],
            f"{points.mean:+.3f}",
            f"[{points.low:+.3f}, {points.high:+.3f}]",
            f"{elo.mean:.0f}",
            f"[{elo.low:.0f}, {elo.high:.0f}]",
            f"{100 * found.won_of_all(k):.1f} %",
        )
    out.print(table)
    pairs = Table(title="Payoff a game of the row against the column", title_justify="left")
    pairs.add_column("")
    for k in found.order:
        pairs.add_column(found.labels[k], justify="right")
    for i in found.order:
        cells = ["" if i == j else f"{found.net[i, j]:+.3f}" for j in found.order]
        pairs.add_row(found.labels[i], *cells)
    out.print(pairs)
    told = f"{found.plan.pairs:,} pairs of games a match, on the same chance; the mean of all ratings is 0."
    if found.teams > 2:
        told += (
            f"\nThe row's agent has one of {found.teams} seats, the column's the others; "
            f"{100 / found.teams:.1f} % of games won is even."
        )
    out.print(told, soft_wrap=True)
