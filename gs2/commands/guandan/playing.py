"""`gs2 play`: a table of one's own, and our agents at other people's tables."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from games.support.interruption import INTERRUPTED
from gs2.commands.common import (
    COUNT,
    NAMES,
    OUTPUT_FOLDER,
    SEED,
    CountType,
    need_extra,
    number_table,
    print_json,
    stderr,
    stdout,
)
from gs2.commands.guandan.options import FILLED, dialect_option, token_option, verbose_option, workers_option
from gs2.commands.progress import working

if TYPE_CHECKING:
    from gs2.guandan.table.client.client import PersonHost, TableClient
    from gs2.guandan.table.client.human import HumanAgent
    from gs2.guandan.table.client.own_table import OwnTable
    from gs2.guandan.table.client.screen import PlayScreen
    from gs2.guandan.table.client.tracker import ClientResult
    from gs2.guandan.table.hosts import Host

PARTNERS = ("gs2-fast",)
"""Who sits at one's own table by default: it answers in 50 ms."""
HINTS = "standard"
"""Preset of the search that gives hints, half a second each."""


@click.command()
@click.option(
    "--server",
    "url",
    type=FILLED,
    metavar="URL",
    help="ws://HOST:PORT of a server.  [default: a table of your own, in this process]",
)
@dialect_option("Dialect of the server.")
@click.option(
    "--games",
    type=COUNT,
    default=1,
    show_default=True,
    help="Games to play (openguandan; an njupt server decides).",
)
@click.option("--room", type=CountType(0), help="Room to join (openguandan).  [default: open one]")
@token_option("Token that the server expects.")
@click.option(
    "--agent",
    "agents",
    type=FILLED,
    multiple=True,
    metavar="NAME",
    help="Agent that plays; with --server, give it up to four times.  [default: human; with --server, gs2]",
)
@click.option(
    "--seat",
    "seats",
    type=click.IntRange(0, 3),
    multiple=True,
    help="Seat of each agent, in their order.  [default: 0; with --server, the first that is free]",
)
@click.option(
    "--user",
    type=FILLED,
    metavar="NAME",
    help="userId, or the name in the path.  [default: the agent's name]",
)
@workers_option
@click.option(
    "--with",
    "others",
    type=NAMES,
    metavar="NAME,…",
    help="Agents of the other seats at your own table: next, partner, previous; one name takes "
    "all three.  "
    "[default: gs2-fast]",
)
@click.option("--seed", type=SEED, help="Seed of the deals at your own table.  [default: a fresh one]")
@click.option(
    "--rules",
    type=FILLED,
    help="Rules of your own table, or by which a server plays: ruling, openguandan, njupt or paper.  "
    "[default: ruling; with --dialect njupt its own]",
)
@click.option(
    "--record",
    type=OUTPUT_FOLDER,
    help="Folder for the records of your own table, or for what a server said, as a transcript that `gs2 "
    "review` reads; nothing in it is overwritten.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@verbose_option
def play(as_json: bool, **how: Any) -> None:
    """Play GuanDan at your own table, or at a server's.

    Without --server you play here, with an agent as your partner against two others. Type help at the prompt
    to list the commands. With --server, each --agent takes one seat there. It is a name (gs2, blueprint, a
    rule agent, human), a checkpoint, or your own class as MODULE:CLASS or FILE.py:CLASS.
    """
    if how["url"] is None:
        for option in ("room", "token", "user", "dialect", "workers"):
            _refuse_given(option, "is of a server; give --server URL, or leave it out")
        _play_here(how, as_json)
        return
    for option in ("others", "seed"):
        _refuse_given(option, "needs a table of your own; leave out one of it and --server")
    need_extra("table", "msgspec", "websockets")
    agents, seats = how.pop("agents") or ("gs2",), how.pop("seats")
    if len(agents) > 4:
        raise click.UsageError(f"a table has four seats; got {len(agents)} agents")
    if seats and len(seats) != len(agents):
        raise click.UsageError(
            f"give one --seat for each --agent or none; got {len(seats)} for {len(agents)}"
        )
    try:
        results = asyncio.run(_play(agents, seats, how, as_json))
    except KeyboardInterrupt:
        # by now the seats are left and the connections closed
        stderr().print("left the table")
        raise SystemExit(INTERRUPTED) from None
    if as_json:
        print_json([result.summary() for result in results])
    else:
        _show(results)


def _refuse_given(option: str, reason: str) -> None:
    """Raise UsageError if an option was given on the command line; `reason` says what it belongs to."""
    ctx = click.get_current_context()
    if ctx.get_parameter_source(option) is click.core.ParameterSource.COMMANDLINE:
        param = next(param for param in ctx.command.params if param.name == option)
        raise click.UsageError(f"{param.opts[0]} {reason}")


def _show(results: list[ClientResult]) -> None:
    """Print what became of each seat as a table, and the server's last word."""
    won, lost = ("won by 3", "2", "1"), ("lost by 1", "2", "3")
    heads = ("seat", "agent", "rounds", *won, *lost, "decisions", "mean ms", "p99")
    table = number_table(*heads, words=0)
    table.columns[1].justify = "left"
    for result in results:
        shares = [str(result.shares[gain]) for gain in (3, 2, 1, -1, -2, -3)]
        times = (f"{1e3 * result.timing.mean:.2f}", f"{1e3 * result.timing.quantile(0.99):.1f}")
        cells = (str(result.seat), result.user, str(result.rounds), *shares, f"{result.decisions:,}", *times)
        table.add_row(*cells)
    stdout().print(table)
    for result in results[:1]:
        for number, game in enumerate(result.ended if result.games > 1 else [], 1):
            word = {True: "won", False: "lost", None: "undecided"}[game.won]
            stdout().print(f"game {number}: {word} after {game.rounds} rounds")
        if result.result is not None:
            stdout().print(f"result: {result.result}")


async def _play(
    agents: tuple[str, ...], seats: tuple[int, ...], how: Mapping[str, Any], as_json: bool
) -> list[ClientResult]:
    """Return what came of each agent's seat at a server. how: the command's other options."""
    from games.guandan.rules import as_rules
    from gs2.guandan.table.client.client import ClientConfig, PersonHost, TableClient, Transcript
    from gs2.guandan.table.hosts import check_agents, host_for, start_hosts

    check_agents(agents)
    transcript = None if how["record"] is None else Transcript(how["record"])
    person = None
    hosts: dict[str, Host] = {}
    for name in dict.fromkeys(agents):
        if name == "human":
            screen = _screen(as_json)
            hosts[name] = person = PersonHost(partial(_person, screen, as_json, undo=False))
        else:
            hosts[name] = host_for(name, workers=how["workers"])
    clients: list[TableClient] = []
    tasks: list[asyncio.Task[ClientResult]] = []
    room = how["room"]
    try:
        await start_hosts(hosts.values())
        for place, name in enumerate(agents):
            user = how["user"] or name.rpartition("/")[2]
            config = ClientConfig(
                how["url"],
                how["dialect"],
                user=user if len(agents) == 1 else f"{user}-{place}",
                games=how["games"],
                room=room,
                seat=seats[place] if seats else None,
                token=how["token"],
                rules=as_rules(how["rules"]) if how["rules"] else None,
            )
            client = TableClient(config, hosts[name])
            client.transcript = transcript
            clients.append(client)
            if name == "human" and agents.index(name) == place:
                client.tracker.screen = screen
            tasks.append(asyncio.get_running_loop().create_task(client.run()))
            if how["dialect"] == "openguandan":
                await asyncio.wait((client.seated, tasks[-1]), return_when=asyncio.FIRST_COMPLETED)
                room = client.seated.result() if client.seated.done() else (await tasks[-1]).room
                if place == 0 and len(agents) < 4:
                    stderr().print(f"in room {room}")
        return await _results(clients, tasks, person)
    finally:
        for task in tasks:
            task.cancel()
        # hosts first: a thread that waits for a person would be waited for; then the connections' last words
        for host in hosts.values():
            host.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        if transcript is not None:
            transcript.close()
            if transcript.path is not None:
                stderr().print(f"transcript: {transcript.path}")


async def _results(
    clients: list[TableClient], tasks: list[asyncio.Task[ClientResult]], person: PersonHost | None
) -> list[ClientResult]:
    """Return what came of each seat, when the games are over or the person has left."""
    if person is None:
        return list(await asyncio.gather(*tasks))
    while not person.left.done():
        ending = [task for task in tasks if not task.done()]
        if not ending:
            return [task.result() for task in tasks]
        waited: list[asyncio.Future[Any]] = [*ending, person.left]
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        for task in ending:
            if task.done():
                task.result()
    stderr().print(f"left the table: {person.left.result()}")
    return [client.result for client in clients]


def _screen(as_json: bool) -> PlayScreen:
    """Return what shows the game: on stdout, or on stderr where stdout is for JSON."""
    from gs2.guandan.table.client.screen import CardFaces, PlayScreen

    console = stderr() if as_json else stdout()
    return PlayScreen(console.print, CardFaces.of(console))


def _person(screen: PlayScreen, as_json: bool, *, undo: bool) -> HumanAgent:
    """Return a person who looks at a screen; questions go where the game is shown."""
    from gs2.guandan.table.client.human import HumanAgent, TypedLines
    from gs2.guandan.table.hosts import hint

    lines = TypedLines(prompts=sys.stderr if as_json else None)
    advise = partial(hint, preset=HINTS, progress=lambda done, of: None)
    return HumanAgent(lines, screen, advise=advise, undo=undo)


def _play_here(how: Mapping[str, Any], as_json: bool) -> None:
    """Play at a table of one's own until the games are over or the person leaves; print what came of it."""
    table = None
    try:
        table = _own_table(how, as_json)
        over = table.play()
    except KeyboardInterrupt:
        kept = "" if table is None or table.record is None else f"; record: {table.record}"
        stderr().print(f"\nleft the table{kept}")
        raise SystemExit(INTERRUPTED) from None
    if as_json:
        record = None if table.record is None else str(table.record)
        print_json({**table.result.summary(), "over": over, "seed": table.session.seed, "record": record})
        return
    if not over:
        stdout().print(f"left the table: {table.left}")
    if table.result.rounds:
        stdout().print(f"\n{table.result.text()}")
    kept = (
        f"record: {table.record}"
        if table.record is not None
        else "no record was kept; --record DIR keeps one"
    )
    stdout().print(f"{kept} (seed {table.session.seed})")


def _own_table(how: Mapping[str, Any], as_json: bool) -> OwnTable:
    """Return the table, agents in their seats. Raises UsageError for agents or seats that do not fit."""
    from games.guandan.rules import as_rules
    from gs2.guandan.table.client.own_table import OwnTable
    from gs2.guandan.table.hosts import check_agents, warmed_agent
    from gs2.guandan.table.seat import Seats

    names = _own_names(how)
    check_agents(names)
    rules = as_rules(how["rules"] or "ruling")
    screen = _screen(as_json)

    def made(name: str) -> Any:
        return _person(screen, as_json, undo=True) if name == "human" else warmed_agent(name)

    with working("the agents sit down …"):
        seats = {name: Seats(partial(made, name)) for name in names}
        agents = [seats[name].of(seat) for seat, name in enumerate(names)]
    screen.seat = how["seats"][0] if how["seats"] else 0
    screen.watching = "human" not in names
    screen.names = ["you" if name == "human" else name for name in names]
    return OwnTable(
        agents,
        screen,
        games=how["games"],
        rules=rules,
        seed=secrets.randbits(32) if how["seed"] is None else how["seed"],
        record=how["record"],
    )


def _own_names(how: Mapping[str, Any]) -> list[str]:
    """Return who sits in each seat."""
    me, seats = how["agents"] or ("human",), how["seats"]
    if len(me) > 1 or len(seats) > 1:
        raise click.UsageError("at your own table --agent and --seat are given once; --with names the others")
    others = how["others"] or PARTNERS
    if len(others) not in (1, 3):
        raise click.UsageError(f"--with takes one name, or three; got {len(others)}: {','.join(others)}")
    if "human" in others:
        raise click.UsageError(
            "only one person can play at a terminal; for more people run gs2 serve, or gs2 web"
        )
    seat = seats[0] if seats else 0
    names = [me[0]] * 4
    for step, name in enumerate(others * (3 // len(others)), 1):
        names[(seat + step) % 4] = name
    return names
