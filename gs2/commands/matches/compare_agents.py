"""`gs2 match` and `gs2 ladder`: which agent plays GuanDan better, on the same cards (the arena)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    SHARE,
    CountType,
    Interruption,
    check_plot,
    print_json,
    stderr,
    stdout,
)
from gs2.commands.matches.endings import end_interrupted, show_ladder, verdict
from gs2.commands.progress import working

if TYPE_CHECKING:
    from blueprint.guandan.arena.arena import ArenaConfig, ArenaResult
    from blueprint.guandan.arena.ladder import Ladder
    from blueprint.guandan.arena.statistics import ArenaSummary
    from games.support.bootstrap import Estimate
    from games.support.work.where import Place

__all__ = ["LadderCommand", "MatchCommand", "ladder", "match"]

ROUNDS, SLOW_ROUNDS = 1000, 100
"""Deals by default; fewer where an agent searches."""
LEVELS = ("2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K", "A")


class AgentType(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """An agent's name."""

    name = "agent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; one that no agent has is refused with near ones."""
        from gs2.guandan.named_agents import check_agent

        check_agent(value)
        return str(value)


AGENT = AgentType()


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that both commands have."""
    options = (
        click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the cards."),
        click.option(
            "--level",
            type=click.Choice(LEVELS, case_sensitive=False),
            help="Level of every deal.  [default: all, evenly]",
        ),
        click.option(
            "--tribute",
            type=SHARE,
            default=0.5,
            show_default=True,
            help="Share of deals that start with tribute.",
        ),
        click.option("--processes", type=CORES, help="Number of processes.  [default: all cores]"),
        ON,
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _config(seed: int, level: str | None, tribute: float, rules: str = "ruling") -> ArenaConfig:
    from blueprint.guandan.arena.arena import ArenaConfig

    return ArenaConfig(seed, None if level is None else LEVELS.index(level.upper()), tribute, rules)


def _default_rounds(names: tuple[str, ...]) -> int:
    from gs2.guandan.named_agents import is_batched

    return ROUNDS if all(is_batched(name) for name in names) else SLOW_ROUNDS


@contextmanager
def _progress(total: int, what: str) -> Iterator[Callable[[int, str], None]]:
    """Show a bar on stderr; the yielded function sets how much is done, and a remark."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = stderr()
    if not console.is_terminal:
        with working(f"{what}: starting …") as tell:
            yield lambda done, remark: tell(f"{what}: {done:,} of {total:,}  {remark}")
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[remark]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total, remark="starting …")
        yield lambda done, remark: bar.update(task, completed=done, remark=remark)


def _without_guandan(args: list[str]) -> list[str]:
    """Return the words without `--game guandan`, which is the game where none is named."""
    for k, word in enumerate(args):
        name, _, value = word.partition("=")
        if name == "--game" and (value or "".join(args[k + 1 : k + 2])).lower() == "guandan":
            return args[:k] + args[k + (1 if value else 2) :]
    return args


class MatchCommand(click.Command):
    """`gs2 match`, which hands a match of any other game to a command of its own."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the command that the words are for: --game, or a game's name in front."""
        from games.registry import is_game_name

        args = _without_guandan(args)
        if args and args[0].lower() == "guandan":
            args = args[1:]
        elif args and (is_game_name(args[0]) or self.own_game_in_front(args)):
            return self.of_any_game().make_context(info_name, ["--game", *args], parent, **extra)
        elif any(word.partition("=")[0] == "--game" for word in args):
            return self.of_any_game().make_context(info_name, args, parent, **extra)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.NoSuchOption as error:
            if any(error.option_name in option.opts for option in self.of_any_game().params):
                raise click.UsageError(
                    f"{error.option_name} is for other games than GuanDan; name the game: --game GAME",
                    error.ctx,
                ) from None
            raise

    def own_game_in_front(self, args: list[str]) -> bool:
        """Return whether the first of three words is a game of one's own; two more are the agents."""
        from games.support.own import is_own

        return is_own(args[0]) and len(args) >= 3 and not any(word.startswith("-") for word in args[:3])

    def of_any_game(self) -> click.Command:
        """Return the command for other games."""
        from gs2.commands.matches.match_game import match_game

        return match_game


class LadderCommand(MatchCommand):
    """`gs2 ladder`, which hands a ladder of any other game to a command of its own."""

    def own_game_in_front(self, args: list[str]) -> bool:
        """Return False: any number of agents may be one's own, so that a game of one's own needs --game."""
        return False

    def of_any_game(self) -> click.Command:
        """Return the command for other games."""
        from gs2.commands.matches.ladder_game import ladder_game

        return ladder_game


@click.command(cls=MatchCommand)
@click.argument("a", type=AGENT)
@click.argument("b", type=AGENT)
@click.option("--rounds", type=CountType(0), help="Deals, each played twice.  [default: 1000]")
@click.option("--games", type=CountType(0), default=0, help="Whole games, each played twice.")
@click.option(
    "--rules",
    default="ruling",
    show_default=True,
    help="Rules of whole games: ruling, openguandan, njupt or paper.",
)
@click.option("-o", "--output", type=OUTPUT_FILE, help="Results, to write or resume.")
@_options
def match(
    a: str,
    b: str,
    rounds: int | None,
    games: int,
    rules: str,
    output: Path | None,
    seed: int,
    level: str | None,
    tribute: float,
    processes: int | None,
    on: Place,
    as_json: bool,
) -> None:
    """Play GuanDan agents A and B against each other on the same cards with the seats swapped.

    For any other game: gs2 match --game GAME A B, see gs2 match leduc_poker --help.

    An agent is random, greedy, mincomb, aggressive, conservative, balanced, strong, blueprint, the path of a
    checkpoint, gs2, gs2-fast, gs2-deep (subgame solving), rollout, rollout-fast, rollout-deep (rollouts
    alone), gs2-paper (our variant of GS2), any of these with settings and on another network,
    NAME:FIELD=VALUE,…@CHECKPOINT, or your own agent, FILE.py:NAME. Intervals are bootstrapped over deals.
    Whole games run from level 2 to A; they magnify the edge of a round and need far more of them. A searching
    agent's deadline runs by the clock: keep other work off the machine, or lift it (gs2-fast:deadline=60).
    """
    from blueprint.guandan.arena.arena import Arena, Schedule
    from gs2.guandan.named_agents import NamedAgents

    if rounds is None:
        rounds = 0 if games else _default_rounds((a, b))
    schedule = Schedule(rounds, games, config=_config(seed, level, tribute, rules))
    with (
        Interruption() as asked,
        Arena(NamedAgents(), on.with_count(processes)) as arena,
        _progress(rounds + games, f"{a} – {b}") as show,
    ):

        def progress(result: ArenaResult) -> None:
            remark = f"{result.net.mean():+.3f} levels a round" if len(result.net) else ""
            show(len(result.payoffs) + len(result.games), remark)

        result = arena.play(
            a,
            b,
            schedule,
            output=output,
            progress=progress,
            stop=asked,
        )
    if len(result.payoffs) + len(result.games):
        if as_json:
            print_json(_as_json(result))
        else:
            _print(result, output)
    if not result.complete:
        end_interrupted(asked, output)


def _as_json(result: ArenaResult) -> dict[str, Any]:
    from gs2.guandan.named_agents import fingerprint

    return {
        "a": result.a,
        "b": result.b,
        "fingerprints": [fingerprint(result.a), fingerprint(result.b)],
        "config": result.config.to_json(),
        "complete": result.complete,
        "deals": len(result.payoffs),
        "whole_games": len(result.games),
        **result.summary().to_json(),
        "seconds": result.seconds,
        "rounds_played": result.played,
    }


def _signed(value: Estimate) -> str:
    return f"{value.mean:+.3f}  [{value.low:+.3f}, {value.high:+.3f}]"


def _percent(value: Estimate) -> str:
    return f"{100 * value.mean:.1f} %  [{100 * value.low:.1f}, {100 * value.high:.1f}]"


def _verdict(summary: ArenaSummary, a: str, b: str) -> str:
    estimate, even, option = summary.net, 0.0, "--rounds"
    if estimate is None:
        estimate, even, option = summary.games, 0.5, "--games"
    assert estimate is not None
    return verdict((a, b), estimate.n, (estimate.low, estimate.high), even=even, option=option)


def _print(result: ArenaResult, output: Path | None) -> None:
    from rich.table import Table

    from blueprint.guandan.arena.ladder import short_names

    summary = result.summary()
    a, b = short_names((result.a, result.b))
    out = stdout()
    table = Table(title=f"{a} against {b}", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    if summary.net is not None and summary.won is not None and summary.outcomes is not None:
        table.add_row("levels a round", _signed(summary.net))
        table.add_row("rounds won", _percent(summary.won))
        for name, sign in ((a, "+"), (b, "-")):
            shares = " / ".join(f"{100 * summary.outcomes[f'{sign}{k}']:.1f}" for k in (3, 2, 1))
            table.add_row(f"{name} wins 3 / 2 / 1 levels", f"{shares} %")
    if summary.games is not None:
        table.add_row("whole games won", _percent(summary.games))
    out.print(table)
    parts = []
    if len(result.payoffs):
        parts.append(f"{len(result.payoffs):,} deals")
    if len(result.games):
        parts.append(f"{len(result.games):,} whole games")
    out.print(f"{' and '.join(parts)}, each played twice; 95 % intervals. ", end="")
    out.print(_verdict(summary, a, b))
    if result.played:
        pace = 60 * result.played / result.seconds
        out.print(f"{result.played:,} rounds in {result.seconds:.1f} s, {pace:,.0f} a minute.")
    if output is not None:
        out.print(f"Results in {output}; the same command with more rounds continues from there.")


@click.command(cls=LadderCommand)
@click.argument("agents", nargs=-1, required=True, type=AGENT)
@click.option("--rounds", type=COUNT, help="Deals of each pair.  [default: 1000]")
@click.option("-o", "--output", type=OUTPUT_FOLDER, help="Folder of results, to resume.")
@click.option("--plot", type=OUTPUT_FILE, help="Picture to write: .svg, .png or .pdf.")
@_options
def ladder(
    agents: tuple[str, ...],
    rounds: int | None,
    output: Path | None,
    plot: Path | None,
    seed: int,
    level: str | None,
    tribute: float,
    processes: int | None,
    on: Place,
    as_json: bool,
) -> None:
    """Rate GuanDan's AGENTS by playing all pairs of them on the same cards.

    For any other game: gs2 ladder --game GAME AGENTS..., see gs2 ladder leduc_poker --help.

    Ratings are Bradley-Terry strengths of single rounds on the Elo scale: 100 points are 64 % of rounds.
    Intervals are bootstrapped over deals. The agents are named as in `gs2 match`.
    """
    from blueprint.guandan.arena.arena import Arena, Schedule
    from blueprint.guandan.arena.ladder import play_ladder, plot_ladder
    from gs2.guandan.named_agents import NamedAgents

    rounds = rounds or _default_rounds(agents)
    check_plot(plot)
    total = len(agents) * (len(agents) - 1) // 2 * rounds
    with (
        Interruption() as asked,
        Arena(NamedAgents(), on.with_count(processes)) as arena,
        _progress(total, f"{len(agents)} agents") as show,
    ):
        found = play_ladder(
            arena,
            agents,
            Schedule(rounds, config=_config(seed, level, tribute)),
            output=output,
            progress=lambda done, result: show(done, f"{result.a} – {result.b} {result.net.mean():+.2f}"),
            stop=asked,
        )
    if found is None:
        end_interrupted(asked, output)
    show_ladder(found, _print_ladder, plot_ladder, plot, as_json)


def _print_ladder(found: Ladder) -> None:
    from rich.table import Table

    table = Table(title="Ratings", title_justify="left")
    table.add_column("agent")
    table.add_column("rating", justify="right")
    table.add_column("95 %", justify="right")
    table.add_column("levels a round", justify="right")
    table.add_column("rounds won", justify="right")
    for k in found.order:
        rating = found.ratings[k]
        net, won = found.against_all(k)
        table.add_row(
            found.labels[k],
            f"{rating.mean:.0f}",
            f"[{rating.low:.0f}, {rating.high:.0f}]",
            f"{net:+.2f}",
            f"{100 * won:.1f} %",
        )
    out = stdout()
    out.print(table)
    pairs = Table(title="Levels a round of the row against the column", title_justify="left")
    pairs.add_column("")
    for k in found.order:
        pairs.add_column(found.labels[k], justify="right")
    for i in found.order:
        cells = ["" if i == j else f"{found.net[i, j]:+.2f}" for j in found.order]
        pairs.add_row(found.labels[i], *cells)
    out.print(pairs)
    out.print(f"{found.deals:,} deals a pair, each played twice; the mean rating is 0.")
