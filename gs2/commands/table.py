"""`gs2 serve` and `gs2 play`: tables for any client, and our agents at other people's tables."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from games.support.interruption import INTERRUPTED
from gs2.commands.common import NOT_NEGATIVE, SEED, print_json, stderr, stdout

if TYPE_CHECKING:
    from gs2.guandan.table.client.client import ClientResult
    from gs2.guandan.table.hosts import Host
    from gs2.guandan.table.server.recording import SessionResult
    from gs2.guandan.table.server.server import ServerConfig

__all__ = ["play", "serve"]

DIALECTS = click.Choice(["openguandan", "njupt"])
TOKEN = "GS2_TABLE_TOKEN"


class Filled(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """A text that is not empty: what a script's unset variable leaves must not pass for "not given"."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text."""
        if not str(value).strip():
            self.fail("it is empty; leave the option out, or give it a value", param, ctx)
        return str(value)


class Folder(click.Path):
    """A folder, there or to be made; an empty name would be the folder one is in."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path."""
        Filled().convert(value, param, ctx)
        return Path(os.fsdecode(super().convert(value, param, ctx)))


SECONDS = NOT_NEGATIVE
FILLED = Filled()


def _given_token(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the token; an environment variable that is set to nothing is an empty token, not none."""
    return "" if value is None and TOKEN in os.environ else value


def _names(agents: str | None) -> tuple[str, ...]:
    """Return the names in a list with commas."""
    if agents is None:
        return ()
    names = tuple(name.strip() for name in agents.split(","))
    if not all(names):
        raise click.BadParameter(
            f"names are separated by commas, none empty; got {agents!r}; leave the option out for none",
            param_hint="'--agents'",
        )
    return names


def _need_extra() -> None:
    """Say what to install, where the packages of the wire are not there."""
    try:
        import msgspec
        import websockets
    except ImportError as error:
        raise click.ClickException(
            f"{error.name} is not installed; pip install 'gs2[table]' brings what tables need"
        ) from None
    del msgspec, websockets


def _log(verbose: int) -> None:
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=level)


@click.command()
@click.option(
    "--dialect", type=DIALECTS, default="openguandan", show_default=True, help="What clients speak."
)
@click.option(
    "--official", is_flag=True, help="Speak as the official OpenGuanDan server does, quirks included."
)
@click.option("--host", type=FILLED, default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port; 0: a free one.  [default: 8181 or 23456]")
@click.option(
    "--games",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Games at a table (njupt; elsewhere the client that opens a room says).",
)
@click.option(
    "--agents",
    metavar="NAME,…",
    help="Who takes the seats that clients leave, up to three; SEAT:NAME takes that seat.",
)
@click.option(
    "--rules", type=FILLED, help="Rules: ruling, openguandan, njupt or paper.  [default: by dialect]"
)
@click.option(
    "--record",
    type=Folder(),
    help="Folder for a record of each game, and results.jsonl; nothing in it is overwritten.",
)
@click.option(
    "--decision",
    type=SECONDS,
    default=60.0,
    show_default=True,
    help="Seconds a client or agent has for a decision; 0: no limit.",
)
@click.option(
    "--fallback",
    type=FILLED,
    metavar="NAME",
    help="Agent that decides for clients that are silent or gone.  [default: pass or play the weakest]",
)
@click.option(
    "--reconnect",
    type=SECONDS,
    default=30.0,
    show_default=True,
    help="Seconds that the seat of a lost client waits for it.",
)
@click.option(
    "--delay",
    type=SECONDS,
    default=1.0,
    show_default=True,
    help="Seconds from the fourth player to the deal; some clients lose what comes with the handshake.",
)
@click.option("--rooms", type=click.IntRange(min=1), default=4096, show_default=True, help="Tables at once.")
@click.option(
    "--sessions",
    type=click.IntRange(min=1),
    help="End after so many tables have played.  [default: when stopped]",
)
@click.option(
    "--grace",
    type=SECONDS,
    default=10.0,
    show_default=True,
    help="Seconds that games have to end when stopped.",
)
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes for each agent."
)
@click.option("--seed", type=SEED, help="Seed of all deals.  [default: fresh]")
@click.option(
    "--token",
    envvar=TOKEN,
    callback=_given_token,
    help="What clients must show; required if others can reach the server.",
)
@click.option("--json", "as_json", is_flag=True, help="Print each session's result as a line of JSON.")
@click.option("-v", "--verbose", count=True, help="Log more.")
def serve(
    dialect: str,
    official: bool,
    host: str,
    port: int | None,
    games: int,
    agents: str | None,
    rules: str | None,
    record: Path | None,
    decision: float,
    fallback: str | None,
    reconnect: float,
    delay: float,
    rooms: int,
    sessions: int | None,
    grace: float,
    workers: int,
    seed: int | None,
    token: str | None,
    as_json: bool,
    verbose: int,
) -> None:
    """Serve GuanDan tables to clients of the OpenGuanDan or the NJUPT platform.

    Clients connect to ws://HOST:PORT and open rooms (openguandan), or to ws://HOST:PORT/game/NAME, four of
    them a table (njupt). With --agents up to three seats of each table are ours: one name takes the seat
    before the client's, two take the opponents' seats.
    """
    _need_extra()
    _log(verbose)
    from games.guandan.rules import as_rules
    from gs2.guandan.table.server.place import RoomConfig
    from gs2.guandan.table.server.server import ServerConfig

    preset = rules or ("njupt" if dialect == "njupt" else "openguandan" if official else "ruling")
    config = ServerConfig(
        dialect=dialect,
        official=official,
        host=host,
        port=port,
        games=games,
        agents=_names(agents),
        rooms=rooms,
        token=token,
        record=record,
        seed=seed,
        room=RoomConfig(rules=as_rules(preset), decision=decision, reconnect=reconnect, delay=delay),
    )
    asyncio.run(_serve(config, fallback, workers, sessions, grace, as_json))


async def _serve(
    config: ServerConfig,
    fallback: str | None,
    workers: int,
    sessions: int | None,
    grace: float,
    as_json: bool,
) -> None:
    from gs2.guandan.table.agents import host_for, start_hosts
    from gs2.guandan.table.server.seating import agent_names
    from gs2.guandan.table.server.server import TableServer, quiet_collector

    hosts = {name: host_for(name, workers=workers) for name in agent_names(config.agents)}
    if fallback is not None:
        hosts["fallback"] = hosts.get(fallback) or host_for(fallback, workers=workers)
    server = TableServer(config, hosts)

    def show(result: SessionResult) -> None:
        click.echo(json.dumps(result.summary()) if as_json else result.text())

    server.on_result = show
    # Before there is anything to end: agents' processes outlive a command that dies of a signal.
    server.hear_signals()
    try:
        starting = asyncio.ensure_future(start_hosts(hosts.values()))
        signalled = asyncio.ensure_future(server.signalled())
        await asyncio.wait({starting, signalled}, return_when=asyncio.FIRST_COMPLETED)
        signalled.cancel()
        if not starting.done():
            starting.cancel()
            await server.stop(0.0)
            raise KeyboardInterrupt
        starting.result()
        await server.start()
    except OSError as error:
        await server.stop(0.0)
        raise click.ClickException(f"cannot listen on {config.host}: {error.strerror or error}") from None
    except BaseException:
        await server.stop(0.0)
        raise
    quiet_collector()
    stderr().print(f"listening on {server.url} ({config.dialect}); Ctrl-C ends")

    def stopping() -> None:
        under_way = len(server.rooms)
        wait = f"; games under way have {grace:g} s, a second Ctrl-C ends them" if under_way and grace else ""
        stderr().print(f"stopping{wait}")

    ended_by = await server.run(sessions=sessions, grace=grace, on_signal=stopping)
    if not as_json and server.sessions:
        handled = server.handling
        stderr().print(
            f"{server.sessions} sessions, {handled.count:,} messages handled in "
            f"{1e3 * handled.mean:.3f} ms each (p99 {1e3 * handled.quantile(0.99):.3f} ms)"
        )
    if ended_by == signal.SIGINT:
        raise SystemExit(INTERRUPTED)


@click.command()
@click.option(
    "--server", "url", type=FILLED, required=True, metavar="URL", help="ws://HOST:PORT of the server."
)
@click.option(
    "--dialect", type=DIALECTS, default="openguandan", show_default=True, help="What the server speaks."
)
@click.option(
    "--agent",
    "agents",
    type=FILLED,
    multiple=True,
    metavar="NAME",
    help="Who plays; give up to four.  [default: gs2]",
)
@click.option(
    "--games",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Games to play (openguandan; the njupt server says).",
)
@click.option(
    "--seat",
    "seats",
    type=click.IntRange(0, 3),
    multiple=True,
    help="Seat for each agent, in their order.  [default: the first free]",
)
@click.option("--room", type=int, help="Room to join (openguandan).  [default: open one]")
@click.option(
    "--user", type=FILLED, metavar="NAME", help="userId, or name in the path.  [default: the agent's name]"
)
@click.option("--token", envvar=TOKEN, callback=_given_token, help="Token that the server expects.")
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes for each agent."
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("-v", "--verbose", count=True, help="Log more.")
def play(
    url: str,
    dialect: str,
    agents: tuple[str, ...],
    games: int,
    seats: tuple[int, ...],
    room: int | None,
    user: str | None,
    token: str | None,
    workers: int,
    as_json: bool,
    verbose: int,
) -> None:
    """Play on a GuanDan server, ours or another, with agents of gs2 or by hand.

    Each --agent takes one seat: a name (gs2, blueprint, a rule agent, human), a checkpoint, or a class of
    your own as MODULE:CLASS or FILE.py:CLASS.
    """
    _need_extra()
    _log(verbose)
    agents = agents or ("gs2",)
    if len(agents) > 4:
        raise click.UsageError(f"a table has four seats; got {len(agents)} agents")
    if seats and len(seats) != len(agents):
        raise click.UsageError(
            f"give one --seat for each --agent or none; got {len(seats)} for {len(agents)}"
        )
    from gs2.guandan.table.client.client import ClientError

    try:
        results = asyncio.run(_play(url, dialect, agents, games, seats, room, user, token, workers))
    except ClientError as error:
        raise ClientError(str(error)) from None
    except KeyboardInterrupt:
        # by now the seats are left and the connections closed
        stderr().print("left the table")
        raise SystemExit(INTERRUPTED) from None
    if as_json:
        print_json([result.summary() for result in results])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    won, lost = ("won by 3", "2", "1"), ("lost by 1", "2", "3")
    for heading in ("seat", "agent", "rounds", *won, *lost, "decisions", "mean ms", "p99"):
        table.add_column(heading, justify="left" if heading == "agent" else "right")
    for result in results:
        shares = [str(result.shares[gain]) for gain in (3, 2, 1, -1, -2, -3)]
        times = (f"{1e3 * result.timing.mean:.2f}", f"{1e3 * result.timing.quantile(0.99):.1f}")
        cells = (str(result.seat), result.user, str(result.rounds), *shares, f"{result.decisions:,}", *times)
        table.add_row(*cells)
    stdout().print(table)
    for result in results[:1]:
        if result.result is not None:
            stdout().print(f"result: {result.result}")


async def _play(
    url: str,
    dialect: str,
    agents: tuple[str, ...],
    games: int,
    seats: tuple[int, ...],
    room: int | None,
    user: str | None,
    token: str | None,
    workers: int,
) -> list[ClientResult]:
    from gs2.guandan.table.agents import host_for, start_hosts
    from gs2.guandan.table.client.client import ClientConfig, TableClient

    hosts: dict[str, Host] = {name: host_for(name, workers=workers) for name in dict.fromkeys(agents)}
    tasks: list[asyncio.Task[ClientResult]] = []
    try:
        await start_hosts(hosts.values())
        for place, name in enumerate(agents):
            base = user or name.rpartition("/")[2]
            config = ClientConfig(
                url,
                dialect,
                user=base if len(agents) == 1 else f"{base}-{place}",
                games=games,
                room=room,
                seat=seats[place] if seats else None,
                token=token,
            )
            client = TableClient(config, hosts[name])
            tasks.append(asyncio.get_running_loop().create_task(client.run()))
            if dialect == "openguandan":
                await asyncio.wait((client.seated, tasks[-1]), return_when=asyncio.FIRST_COMPLETED)
                room = client.seated.result() if client.seated.done() else (await tasks[-1]).room
                if place == 0 and len(agents) < 4:
                    stderr().print(f"in room {room}")
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        # hosts first: a thread that waits for a person would be waited for; then the connections' last words
        for host in hosts.values():
            host.close()
        await asyncio.gather(*tasks, return_exceptions=True)
