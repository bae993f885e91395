"""`gs2 serve`: tables for any client."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import TYPE_CHECKING, Any

import click

from games.support.interruption import INTERRUPTED
from gs2.commands.common import COUNT, NAMES, NOT_NEGATIVE, OUTPUT_FOLDER, SEED, need_extra, stderr
from gs2.commands.guandan.options import FILLED, dialect_option, token_option, verbose_option, workers_option
from gs2.commands.progress import working

if TYPE_CHECKING:
    from gs2.guandan.table.server.recording import SessionResult
    from gs2.guandan.table.server.server import ServerConfig


@click.command()
@dialect_option("Dialect of the clients.")
@click.option(
    "--official", is_flag=True, help="Speak as the official OpenGuanDan server does, quirks included."
)
@click.option("--host", type=FILLED, default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0: any free one.  [default: 8181 for openguandan, 23456 for njupt]",
)
@token_option("Token that clients must show; required if others can reach the server.")
@click.option(
    "--games",
    type=COUNT,
    default=1,
    show_default=True,
    help="Games at each table (njupt; with openguandan the client that opens a room decides).",
)
@click.option(
    "--agents",
    type=NAMES,
    default=(),
    metavar="NAME,…",
    help="Agents for up to three free seats; SEAT:NAME takes that seat.",
)
@click.option(
    "--rules",
    type=FILLED,
    help="Rules: ruling, openguandan, njupt or paper.  [default: depends on the dialect]",
)
@click.option(
    "--record",
    type=OUTPUT_FOLDER,
    help="Folder for a record of each game and for results.jsonl; nothing in it is overwritten.",
)
@click.option("--rooms", type=COUNT, default=4096, show_default=True, help="Most tables at once.")
@click.option("--seed", type=SEED, help="Seed of all deals.  [default: a fresh one]")
@click.option(
    "--decision",
    type=NOT_NEGATIVE,
    default=60.0,
    show_default=True,
    help="Seconds that a client or an agent has for a decision; 0: no limit.",
)
@click.option(
    "--fallback",
    type=FILLED,
    metavar="NAME",
    help="Agent that decides for clients that are silent or gone.  [default: pass, or play the weakest]",
)
@click.option(
    "--reconnect",
    type=NOT_NEGATIVE,
    default=30.0,
    show_default=True,
    help="Seconds that the seat of a lost client is kept for it.",
)
@click.option(
    "--delay",
    type=NOT_NEGATIVE,
    default=1.0,
    show_default=True,
    help="Seconds from the fourth player to the deal; some clients lose what comes with the handshake.",
)
@click.option(
    "--sessions", type=COUNT, help="Stop after this many tables have played.  [default: run until stopped]"
)
@click.option(
    "--grace",
    type=NOT_NEGATIVE,
    default=10.0,
    show_default=True,
    help="Seconds that games under way have to end when the server is stopped.",
)
@workers_option
@click.option("--json", "as_json", is_flag=True, help="Print each table's result as one line of JSON.")
@verbose_option
def serve(**how: Any) -> None:
    """Serve GuanDan tables to clients of the OpenGuanDan or the NJUPT platform.

    Clients connect to ws://HOST:PORT and open rooms (openguandan), or to ws://HOST:PORT/game/NAME, four of
    them to a table (njupt). With --agents, up to three seats of each table are ours: one name takes the seat
    before the client's, two take the opponents' seats.
    """
    need_extra("table", "msgspec", "websockets")
    from games.guandan.rules import as_rules
    from gs2.guandan.table.server.room import RoomConfig
    from gs2.guandan.table.server.server import ServerConfig

    if how["games"] > 1 and how["dialect"] != "njupt":
        told = "is for --dialect njupt; elsewhere the client that opens a room says how many; leave it out"
        raise click.UsageError(f"--games {how['games']} {told}")
    usual = "njupt" if how["dialect"] == "njupt" else "openguandan" if how["official"] else "ruling"
    patience = {name: how.pop(name) for name in ("decision", "reconnect", "delay")}
    room = RoomConfig(rules=as_rules(how.pop("rules") or usual), **patience)
    run = {name: how.pop(name) for name in ("fallback", "sessions", "grace", "workers", "as_json")}
    asyncio.run(_serve(ServerConfig(room=room, **how), **run))


async def _serve(
    config: ServerConfig,
    fallback: str | None,
    sessions: int | None,
    grace: float,
    workers: int,
    as_json: bool,
) -> None:
    """Serve until a signal, or so many sessions; fallback decides for silent clients."""
    from gs2.guandan.table.hosts import check_agents, host_for, start_hosts
    from gs2.guandan.table.seat import AgentError
    from gs2.guandan.table.server.room import place_agents
    from gs2.guandan.table.server.server import TableServer, quiet_collector

    names = dict.fromkeys(place_agents(config.agents, 0).values())
    if "human" in (*names, fallback):
        raise click.UsageError(
            "--agents and --fallback name agents; got human; people sit down by gs2 play --server, or gs2 web"
        )
    check_agents([*names, *([] if fallback is None else [fallback])])
    hosts = {name: host_for(name, workers=workers) for name in names}
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
        signalled = asyncio.ensure_future(server.stopping.wait())
        with working("starting the agents …"):
            await asyncio.wait({starting, signalled}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done() and isinstance(starting.exception(), AgentError):
            # perhaps of a process that a signal ended, before we heard of the signal ourselves
            await asyncio.wait({signalled}, timeout=1.0)
        if signalled.done():
            starting.cancel()
            raise KeyboardInterrupt
        signalled.cancel()
        starting.result()
        await server.start()
    except BaseException as error:
        await server.stop(0.0)
        if isinstance(error, OSError):
            raise click.ClickException(f"cannot listen on {config.host}: {error.strerror or error}") from None
        raise
    quiet_collector()
    stderr().print(f"listening on {server.url} ({config.dialect}); Ctrl-C ends")

    def stopping() -> None:
        wait = ""
        if server.rooms and grace:
            wait = f"; games under way have {grace:g} s, a second Ctrl-C ends them"
        stderr().print(f"stopping{wait}")

    ended_by = await server.run(sessions=sessions, grace=grace, on_signal=stopping)
    if not as_json and server.sessions:
        stderr().print(f"{server.sessions} sessions")
    if ended_by == signal.SIGINT:
        raise SystemExit(INTERRUPTED)
