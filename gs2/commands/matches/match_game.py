"""`gs2 match --game GAME A B`: which of two agents of any game plays better, on the same chance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import (
    CORES,
    COUNT,
    ON,
    OUTPUT_FILE,
    SEED,
    Interruption,
    memory_option,
    number,
    print_json,
    stdout,
)
from gs2.commands.matches.endings import end_interrupted, verdict
from gs2.commands.progress import working

if TYPE_CHECKING:
    from gs2.play.game_arena import MeetingResult
    from gs2.play.match_files import MatchFiles

__all__ = ["match_game"]


@click.command("match")
@click.option("--game", "text", required=True, help="Game string, such as leduc_poker; see gs2 games.")
@click.argument("a")
@click.argument("b")
@click.option("--pairs", type=COUNT, default=1000, show_default=True, help="Pairs of games, seats swapped.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of chance and of the agents.")
@click.option("--independent", is_flag=True, help="Give the games of a pair different chance.")
@click.option("--processes", type=CORES, help="Number of processes.  [default: 1; a cluster: all cores]")
@ON
@click.option("-o", "--output", type=OUTPUT_FILE, help="Results, to write or resume.")
@click.option("--records", type=OUTPUT_FILE, help="Every round in words, to write or resume.")
@memory_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def match_game(
    text: str,
    a: str,
    b: str,
    output: Path | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Play agents A and B of any game against each other on the same chance with the seats swapped.

    An agent is uniform, the file of a network (gs2 train GAME) or policy (gs2 blueprint), network:DECISIONS,
    your own agent as FILE.py:NAME, or BASE+PRESET[:FIELD=VALUE,...]: search over one of these, as in
    leduc.safetensors+gs2+:k=5. Small games also have cfr:ITERATIONS, noise:EPSILON and dmc:GAMES. The first
    word may be the game instead of --game. Intervals are bootstrapped over pairs of games.
    """
    from games.registry import game_string, load_game
    from gs2.play.game_arena import Meeting, play_match
    from gs2.play.match_files import MatchFiles

    game = load_game(text, general_sum=True)
    name = game_string(text, game)
    meeting = Meeting(name, a, b, how["pairs"], how["seed"], not how["independent"])
    on = how["on"]
    place = on.with_count(how["processes"] or (1 if on.is_local else None))
    files = MatchFiles(output, how["records"])
    with Interruption() as asked, working(f"{a} – {b}: starting …") as tell:

        def progress(result: MeetingResult) -> None:
            done = len(result.games.numbers)
            tell(f"{a} – {b}: {done:,} of {meeting.pairs:,} pairs  {result.net:+.4f} a game")

        result = play_match(meeting, game=game, output=files, processes=place, progress=progress, stop=asked)
    if len(result.games.numbers):
        if as_json:
            print_json(result.to_json())
        else:
            _print(result, files)
    if not result.complete:
        end_interrupted(asked, output or files.records)


def _print(result: MeetingResult, files: MatchFiles) -> None:
    from rich.table import Table

    from cfr.tree.memory import words_of_bytes

    meeting = result.meeting
    a, b = (_short(name) for name in (meeting.a, meeting.b))
    low, high = result.interval()
    out = stdout()
    out.print(f"[bold]{meeting.game}[/bold]   {a} against {b}\n", soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("payoff a game", f"{number(result.net)}  [{number(low)}, {number(high)}]")
    by_team = result.games.payoffs.mean(0)
    heading = ", ".join(f"as team {team}" for team in range(len(by_team)))
    table.add_row(heading, ", ".join(number(payoff) for payoff in by_team))
    for name, pace in zip((a, b), result.games.paces, strict=True):
        if pace.decisions:
            each = pace.seconds / pace.decisions
            table.add_row(name, f"{pace.decisions:,} decisions, {_time(each)} each, {1 / each:,.0f} a second")
    out.print(table)
    count = len(result.games.numbers)
    found = verdict((a, b), count, (low, high), even=0.0, option="--pairs")
    shared = "on the same chance" if meeting.duplicate else "on chance of their own"
    out.print(
        f"\n{count:,} pairs of games {shared}, 95 % interval. {found}\n"
        f"{result.seconds:.1f} s, {words_of_bytes(result.memory)} of memory at most.",
        soft_wrap=True,
    )
    if files.results is not None:
        out.print(
            f"Results in {files.results}; the same command with more --pairs continues from there.",
            soft_wrap=True,
        )
    if files.records is not None:
        out.print(f"Rounds in {files.records}: gs2 games --replay {files.records}", soft_wrap=True)


def _short(name: str) -> str:
    """Return an agent's name without the folders of its file."""
    folders, slash, rest = name.rpartition("/")
    return rest if slash and ":" not in folders and "=" not in folders else name


def _time(seconds: float) -> str:
    """Return a short time in words."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"
