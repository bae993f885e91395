"""`gs2 match` and `gs2 ladder`: which agent plays a game better, on the same chance (`gs2.play.arena`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from games.support.interruption import Interruption
from gs2.commands.common import (
    CORES,
    COUNT,
    ON,
    OUTPUT_FILE,
    OUTPUT_FOLDER,
    SEED,
    bold,
    check_plot,
    end_interrupted,
    memory_option,
    number,
    number_table,
    print_json,
    stdout,
)
from gs2.commands.progress import working
from gs2.wings import FIRST, own_parts

if TYPE_CHECKING:
    from games.support.work.where import Place
    from gs2.play.arena import Arena, GameContest, MeetingResult
    from gs2.play.ladder import Ladder
    from gs2.play.match_files import MatchFiles

TERMS: list[Any] = own_parts("terms")
"""What games let a match choose: their parts `terms` (`gs2.wings`)."""
FEW = range(3, 9)
"""Numbers of different payoffs of which a table shows the shares."""


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that both commands have."""
    options = (
        click.option(
            "--game", "text", help=f"Game string; it may also be the first word.  [default: {FIRST}]"
        ),
        click.option(
            "--pairs",
            type=COUNT,
            help=f"Pairs of games, seats swapped.  [default: 1000; 100 for agents of {FIRST} that search]",
        ),
        click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of chance and agents."),
        *(option for own in TERMS for option in own.OPTIONS),
        click.option(
            "--processes",
            type=CORES,
            help=f"Number of processes.  [default: 1; all cores on a cluster and for {FIRST}]",
        ),
        ON,
        memory_option,
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _game_and_agents(
    words: tuple[str, ...], text: str | None, agents: int | None
) -> tuple[str, tuple[str, ...]]:
    """Return the game and the agents that the words of a command name.

    text: of --game. agents: how many there must be; None for any number.
    Raises UsageError where too many or too few are named.
    """
    in_front = text is None and (len(words) - 1 == agents or _is_game(words[0]))
    game, named = (words[0], words[1:]) if in_front else (text or FIRST, words)
    if agents is not None and len(named) != agents:
        raise click.UsageError(
            f"match takes a game and {agents} agents, or the agents alone for {FIRST}; got {len(named)} "
            f"agents of {game}: {' '.join(named)}; see gs2 match --help"
        )
    return game, named


def _is_game(word: str) -> bool:
    """Return whether a word names a game, a user's own included, rather than an agent."""
    from blueprint.agent_name import made_agent
    from blueprint.protocol import UnknownAgent
    from games.registry import is_game_name
    from games.support.own import is_own

    try:
        return is_game_name(word) or (is_own(word) and hasattr(made_agent(word), "infoset_key"))
    except UnknownAgent:  # where it is asked for as an agent, that is said
        return False


def _contest(text: str, how: dict[str, Any]) -> tuple[str, GameContest]:
    """Return the game's string and its contest, before processes start. how: the command's options."""
    from games.registry import game_string, load_game
    from gs2.play.arena import contest_of

    game = load_game(text, general_sum=True)
    terms = {name: value for own in TERMS for name, value in own.chosen(how).items()}
    contest = contest_of(game, terms)
    return game_string(text, game), contest


def _arena(contest: GameContest, on: Place, processes: int | None) -> Arena:
    """Return an arena on as many cores as the contest and the options say."""
    from gs2.play.arena import Arena

    alone = on.is_local and not contest.spread
    return Arena(contest, on.with_count(processes or (1 if alone else None)))


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[GAME] A B")
@click.option("--independent", is_flag=True, help="Give the games of a pair different chance.")
@click.option("-o", "--output", type=OUTPUT_FILE, help="Results, to write or resume.")
@click.option("--records", type=OUTPUT_FILE, help="Every round in words, to write or resume.")
@_options
def match(words: tuple[str, ...], text: str | None, output: Path | None, as_json: bool, **how: Any) -> None:
    """Play agents A and B of GAME on the same chance with the seats swapped.

    An agent is uniform, the file of a network (gs2 train GAME) or policy (gs2 blueprint),
    network:DECISIONS, FILE.py:NAME, or BASE+PRESET[:FIELD=VALUE,...]: search over one of these, as in
    leduc.safetensors+gs2+:k=5. Small games also have cfr:ITERATIONS, noise:EPSILON and dmc:GAMES.

    Intervals are bootstrapped over pairs of games. A searching agent's deadline runs by the clock: keep other
    work off the machine, or lift it (gs2-fast:deadline=60).
    """
    from gs2.play.arena import Meeting
    from gs2.play.match_files import MatchFiles

    game, (a, b) = _game_and_agents(words, text, 2)
    name, contest = _contest(game, how)
    meeting = Meeting(
        name,
        a,
        b,
        how["pairs"] or contest.usual((a, b)),
        how["seed"],
        not how["independent"],
        terms=contest.terms,
    )
    files = MatchFiles(output, how["records"])
    with (
        Interruption() as asked,
        _arena(contest, how["on"], how["processes"]) as arena,
        working(f"{a} – {b}: starting …") as tell,
    ):

        def progress(found: MeetingResult) -> None:
            done = f"{len(found.games.numbers):,} of {meeting.pairs:,} pairs"
            tell(f"{a} – {b}: {done}  {found.net:+.4f} {found.unit}")

        result = arena.play(meeting, output=files, progress=progress, stop=asked)
    if len(result.games.numbers):
        if as_json:
            print_json(result.to_json())
        else:
            _print(result, files)
    if not result.complete:
        end_interrupted(asked, output or files.records)


def verdict(names: tuple[str, str], count: int, interval: tuple[float, float]) -> str:
    """Return the sentence that says which of two agents is stronger, or why that is open.

    count: pairs of games behind the interval of what a game pays the first.
    """
    from games.support.bootstrap import ENOUGH

    low, high = interval
    if count < ENOUGH:
        return f"No winner yet: a verdict takes {ENOUGH}, and there are {count}. Raise --pairs."
    if low > 0 or high < 0:
        return f"{names[0] if low > 0 else names[1]} is the stronger one."
    return "No winner yet: the interval contains 0. Raise --pairs to narrow it."


def _print(result: MeetingResult, files: MatchFiles) -> None:
    from cfr.tree.memory import words_of_bytes, words_of_seconds
    from gs2.play.ladder import short_names

    meeting, games, out = result.meeting, result.games, stdout()
    a, b = short_names((meeting.a, meeting.b))
    net, won = result.summary()
    out.print(bold(meeting.game), f"  {a} against {b}\n")
    table = number_table("", "", show_header=False)
    table.add_row(result.unit, f"{number(net.mean)}  [{number(net.low)}, {number(net.high)}]")
    table.add_row("games won", f"{100 * won.mean:.1f} %  [{100 * won.low:.1f}, {100 * won.high:.1f}]")
    by_team = {f"as team {team}": number(payoff) for team, payoff in enumerate(games.payoffs.mean(0))}
    table.add_row(", ".join(by_team), ", ".join(by_team.values()))
    outcomes = games.outcomes()
    if len(outcomes) in FEW:
        table.add_row(
            " / ".join(f"{value:+g}" if value else "0" for value in outcomes),
            " / ".join(f"{100 * share:.1f}" for share in outcomes.values()) + " %",
        )
    for name, pace in zip((a, b), games.paces, strict=True):
        if pace.decisions:
            each = max(pace.seconds / pace.decisions, 1e-9)
            rate = f"{words_of_seconds(each)} each, {1 / each:,.0f} a second"
            table.add_row(name, f"{pace.decisions:,} decisions, {rate}")
    out.print(table)
    count = len(games.numbers)
    found = verdict((a, b), count, (net.low, net.high))
    shared = "on the same chance" if meeting.duplicate else "on chance of their own"
    out.print(
        f"\n{count:,} pairs of games {shared}, 95 % interval. {found}\n"
        f"{words_of_seconds(result.seconds)}, {words_of_bytes(result.memory)} of memory at most."
    )
    if files.results is not None:
        out.print(f"Results in {files.results}; the same command with more --pairs continues from there.")
    if files.records is not None:
        out.print(f"Rounds in {files.records}: gs2 games --replay {files.records}")


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[GAME] AGENTS...")
@click.option(
    "--by",
    type=click.Choice(["points", "elo"]),
    default="points",
    show_default=True,
    help="Order of the table and the plot.",
)
@click.option("-o", "--output", type=OUTPUT_FOLDER, help="Folder of results, to resume.")
@click.option("--plot", type=OUTPUT_FILE, help="Picture to write: .svg, .png or .pdf.")
@_options
def ladder(
    words: tuple[str, ...],
    text: str | None,
    output: Path | None,
    plot: Path | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Rate AGENTS of GAME by playing all pairs of them on the same chance.

    Agents are named as in gs2 match. Points are the payoff a game against an agent drawn from the ladder. Elo
    rates how often an agent wins, by Bradley and Terry: 400 are odds of ten to one, a draw is half a win. If
    each seat plays for itself, each agent is once the one seat and once all the others, and the winner is one
    of the seats with odds by their strengths (Luce). Intervals are bootstrapped over pairs of games.
    """
    from gs2.play.ladder import LadderPlan, play_ladder, plot_ladder

    check_plot(plot)
    game, agents = _game_and_agents(words, text, None)
    name, contest = _contest(game, how)
    pairs = how["pairs"] or contest.usual(agents)
    plan = LadderPlan(name, agents, pairs, how["seed"], how["by"], terms=contest.terms)
    total = pairs * len(plan.matches(max(contest.teams) + 1))
    with (
        Interruption() as asked,
        _arena(contest, how["on"], how["processes"]) as arena,
        working(f"{len(agents)} agents: starting …") as tell,
    ):

        def progress(done: int, found: MeetingResult) -> None:
            who = f"{found.meeting.a} – {found.meeting.b}"
            tell(f"{done:,} of {total:,} pairs  {who} {found.net:+.4f} {found.unit}")

        found = play_ladder(plan, arena=arena, output=output, progress=progress, stop=asked)
    if found is None:
        end_interrupted(asked, output)
    if plot is not None:
        plot_ladder(found, plot)
    if as_json:
        print_json(found.to_json())
        return
    _print_ladder(found)
    if plot is not None:
        stdout().print(f"Drawn in {plot}.")


_net = partial(number, digits=3, sign="+")


def _print_ladder(found: Ladder) -> None:
    out = stdout()
    out.print(f"{found.plan.game}\n", style="bold")
    heads = ("agent", "points", "95 %", "Elo", "95 %", "games won")
    table = number_table(*heads, lines=True, title="Ratings", title_justify="left")
    for k in found.order:
        points, elo = found.points[k], found.elo[k]
        table.add_row(
            found.labels[k],
            _net(points.mean),
            f"[{_net(points.low)}, {_net(points.high)}]",
            f"{round(elo.mean)}",
            f"[{round(elo.low)}, {round(elo.high)}]",
            f"{100 * found.won_of_all(k):.1f} %",
        )
    out.print(table)
    columns = ("", *(found.labels[k] for k in found.order))
    title = f"{found.unit.capitalize()} of the row against the column"
    pairs = number_table(*columns, lines=True, title=title, title_justify="left")
    for i in found.order:
        cells = ["" if i == j else _net(found.net[i, j]) for j in found.order]
        pairs.add_row(found.labels[i], *cells)
    out.print(pairs)
    told = f"{found.plan.pairs:,} pairs of games a match, on the same chance; the mean of all ratings is 0."
    if found.teams > 2:
        told += (
            f"\nThe row's agent has one of {found.teams} seats, the column's the others; "
            f"{100 / found.teams:.1f} % of games won is even."
        )
    out.print(told)


match.help = "\n\n".join(cleandoc(text) for text in [str(match.help), *(own.AGENTS for own in TERMS)])
