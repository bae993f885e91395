"""`gs2 play` for a person: a table of one's own, or a seat at a server, in the terminal."""

from __future__ import annotations

import secrets
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from games.support.interruption import INTERRUPTED
from gs2.commands.common import print_json, stderr, stdout
from gs2.commands.progress import working

if TYPE_CHECKING:
    from rich.console import Console

    from gs2.commands.guandan.options import Asked
    from gs2.guandan.table.client.human import HumanAgent
    from gs2.guandan.table.client.own_table import OwnTable
    from gs2.guandan.table.client.person import MessageWatch, PersonHost
    from gs2.guandan.table.client.screen import PlayScreen
    from gs2.guandan.table.seat import Observation

__all__ = ["person_at_server", "play_here"]

PARTNERS = ("gs2-fast",)
"""Who sits at one's own table by default: it answers in 50 ms."""
HINTS = "standard"
"""Preset of the search that gives hints, half a second each."""


def _advice(observation: Observation) -> dict[str, Any]:
    """Return what search thinks of a seat's choices."""
    from gs2.guandan.table.agents import hint

    return hint(observation, HINTS, progress=lambda done, of: None)


@dataclass(frozen=True)
class _Terminal:
    """Where the game is shown: stdout, or stderr where stdout is for JSON."""

    console: Console
    screen: PlayScreen

    @classmethod
    def open(cls, as_json: bool) -> _Terminal:
        from gs2.guandan.table.client.screen import CardFaces, PlayScreen

        console = stderr() if as_json else stdout()

        def show(what: Any) -> None:
            console.print(what, markup=False)

        return cls(console, PlayScreen(show, CardFaces.of(console)))

    def person(self, *, undo: bool) -> HumanAgent:
        from gs2.guandan.table.client.human import HumanAgent, TypedLines

        lines = TypedLines(prompts=sys.stderr if self.console.stderr else None)
        return HumanAgent(lines, self.screen, advise=_advice, undo=undo)


def person_at_server(as_json: bool) -> tuple[PersonHost, MessageWatch]:
    """Return where a person answers a server's requests, and what shows its messages."""
    from gs2.guandan.table.client.person import MessageWatch, PersonHost

    terminal = _Terminal.open(as_json)
    return PersonHost(lambda: terminal.person(undo=False)), MessageWatch(terminal.screen)


def play_here(asked: Asked, as_json: bool) -> None:
    """Play at a table of one's own until the games are over or the person leaves; print what came of it."""
    table = None
    try:
        table = _table(asked, as_json)
        over = table.play()
    except KeyboardInterrupt:
        kept = "" if table is None or table.record is None else f"; record: {table.record}"
        stderr().print(f"\nleft the table{kept}", markup=False, soft_wrap=True)
        raise SystemExit(INTERRUPTED) from None
    if as_json:
        record = None if table.record is None else str(table.record)
        print_json({**table.result.summary(), "over": over, "seed": table.config.seed, "record": record})
        return
    if not over:
        stdout().print(f"left the table: {table.left}", markup=False, soft_wrap=True)
    if table.result.rounds:
        stdout().print(f"\n{table.result.text()}", markup=False, soft_wrap=True)
    kept = (
        f"record: {table.record}"
        if table.record is not None
        else "no record was kept; --record DIR keeps one"
    )
    stdout().print(f"{kept} (seed {table.config.seed})", markup=False, soft_wrap=True)


def _table(asked: Asked, as_json: bool) -> OwnTable:
    """Return the table, agents in their seats. Raises UsageError for agents or seats that do not fit."""
    from games.guandan.rules import as_rules
    from gs2.guandan.table.agents import check_agents, load_agent, warm_up
    from gs2.guandan.table.client.own_table import OwnTable, OwnTableConfig
    from gs2.guandan.table.seated import Seats

    names = _names(asked)
    check_agents(names)
    config = OwnTableConfig(
        seat=asked.seats[0] if asked.seats else 0,
        games=asked.games,
        rules=as_rules(asked.rules or "ruling"),
        seed=secrets.randbits(32) if asked.seed is None else asked.seed,
        record=asked.record,
    )
    terminal = _Terminal.open(as_json)

    def made(name: str) -> Any:
        if name == "human":
            return terminal.person(undo=True)
        agent = load_agent(name)
        if ":" not in name:
            warm_up(agent)
        return agent

    with working("the agents sit down …"):
        seats = {name: Seats(partial(made, name)) for name in names}
        agents = [seats[name].of(seat) for seat, name in enumerate(names)]
    terminal.screen.seat = config.seat
    terminal.screen.watching = "human" not in names
    terminal.screen.names = ["you" if name == "human" else name for name in names]
    return OwnTable(agents, terminal.screen, config)


def _names(asked: Asked) -> list[str]:
    """Return who sits in each seat."""
    me = asked.agents or ("human",)
    if len(me) > 1 or len(asked.seats) > 1:
        raise click.UsageError("at your own table --agent and --seat are given once; --with names the others")
    others = asked.others or PARTNERS
    if len(others) not in (1, 3):
        raise click.UsageError(f"--with takes one name, or three; got {len(others)}: {','.join(others)}")
    if "human" in others:
        raise click.UsageError(
            "only one person can play at a terminal; for more people run gs2 serve, or gs2 web"
        )
    seat = asked.seats[0] if asked.seats else 0
    names = [me[0]] * 4
    for step, name in enumerate(others * (3 // len(others)), 1):
        names[(seat + step) % 4] = name
    return names
