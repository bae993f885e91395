"""`gs2 play`: our agents at other people's tables."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from games.support.interruption import INTERRUPTED
from gs2.commands.common import print_json, stderr, stdout
from gs2.commands.table.options import (
    FILLED,
    dialect_option,
    grouped,
    need_extra,
    token_option,
    verbose_option,
    workers_option,
)

if TYPE_CHECKING:
    from gs2.guandan.table.client.outcome import ClientResult
    from gs2.guandan.table.hosts import Host

__all__ = ["play"]


@dataclass(frozen=True)
class Where:
    """The server, and what is wanted of it."""

    url: str
    dialect: str
    games: int
    room: int | None
    token: str | None


@dataclass(frozen=True)
class Crew:
    """Who plays, in which seats, under which name."""

    agents: tuple[str, ...]
    seats: tuple[int, ...]
    user: str | None
    workers: int

    def user_of(self, place: int) -> str:
        """Return the name under which agent number `place` is seated."""
        base = self.user or self.agents[place].rpartition("/")[2]
        return base if len(self.agents) == 1 else f"{base}-{place}"


@click.command()
@grouped(
    Where,
    "where",
    click.option(
        "--server", "url", type=FILLED, required=True, metavar="URL", help="ws://HOST:PORT of the server."
    ),
    dialect_option("What the server speaks."),
    click.option(
        "--games",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Games to play (openguandan; an njupt server decides).",
    ),
    click.option("--room", type=int, help="Room to join (openguandan).  [default: open one]"),
    token_option("Token that the server expects."),
)
@grouped(
    Crew,
    "crew",
    click.option(
        "--agent",
        "agents",
        type=FILLED,
        multiple=True,
        default=("gs2",),
        metavar="NAME",
        help="Who plays; give it up to four times.  [default: gs2]",
    ),
    click.option(
        "--seat",
        "seats",
        type=click.IntRange(0, 3),
        multiple=True,
        help="Seat of each agent, in their order.  [default: the first that is free]",
    ),
    click.option(
        "--user",
        type=FILLED,
        metavar="NAME",
        help="userId, or the name in the path.  [default: the agent's name]",
    ),
    workers_option,
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@verbose_option
def play(where: Where, crew: Crew, as_json: bool) -> None:
    """Play on a GuanDan server, ours or another, with agents of gs2 or by hand.

    Each --agent takes one seat: a name (gs2, blueprint, a rule agent, human), a checkpoint, or a class of
    your own as MODULE:CLASS or FILE.py:CLASS.
    """
    need_extra()
    if len(crew.agents) > 4:
        raise click.UsageError(f"a table has four seats; got {len(crew.agents)} agents")
    if crew.seats and len(crew.seats) != len(crew.agents):
        raise click.UsageError(
            f"give one --seat for each --agent or none; got {len(crew.seats)} for {len(crew.agents)}"
        )
    try:
        results = asyncio.run(_play(where, crew))
    except KeyboardInterrupt:
        # by now the seats are left and the connections closed
        stderr().print("left the table")
        raise SystemExit(INTERRUPTED) from None
    if as_json:
        print_json([result.summary() for result in results])
    else:
        _show(results)


def _show(results: list[ClientResult]) -> None:
    """Print what became of each seat as a table, and the server's last word."""
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


async def _play(where: Where, crew: Crew) -> list[ClientResult]:
    from gs2.guandan.table.agents import host_for, start_hosts
    from gs2.guandan.table.client.client import TableClient
    from gs2.guandan.table.client.visit import ClientConfig

    hosts: dict[str, Host] = {
        name: host_for(name, workers=crew.workers) for name in dict.fromkeys(crew.agents)
    }
    tasks: list[asyncio.Task[ClientResult]] = []
    room = where.room
    try:
        await start_hosts(hosts.values())
        for place, name in enumerate(crew.agents):
            config = ClientConfig(
                where.url,
                where.dialect,
                user=crew.user_of(place),
                games=where.games,
                room=room,
                seat=crew.seats[place] if crew.seats else None,
                token=where.token,
            )
            client = TableClient(config, hosts[name])
            tasks.append(asyncio.get_running_loop().create_task(client.run()))
            if where.dialect == "openguandan":
                await asyncio.wait((client.seated, tasks[-1]), return_when=asyncio.FIRST_COMPLETED)
                room = client.seated.result() if client.seated.done() else (await tasks[-1]).room
                if place == 0 and len(crew.agents) < 4:
                    stderr().print(f"in room {room}")
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        # hosts first: a thread that waits for a person would be waited for; then the connections' last words
        for host in hosts.values():
            host.close()
        await asyncio.gather(*tasks, return_exceptions=True)
