"""`gs2 web`: people at the table, reviews and searches, in a browser."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import click

from games.support.interruption import INTERRUPTED
from gs2.commands.common import print_json, stderr
from gs2.commands.guandan.options import (
    FILLED,
    RECORDS,
    grouped,
    token_option,
    verbose_option,
    workers_option,
)

__all__ = ["web"]

PORT = 8642


@dataclass(frozen=True)
class Address:
    """Where the server listens, and who may come."""

    host: str
    port: int
    token: str | None
    show: bool


@dataclass(frozen=True)
class Holding:
    """What the server holds."""

    folder: Path | None
    agents: tuple[str, ...]
    game_agents: tuple[str, ...]
    games: tuple[str, ...]
    workers: int


def _usual_folder() -> Path:
    """Return where tables are kept: the data folder of the user."""
    base = os.environ.get("XDG_DATA_HOME") or (Path.home() / ".local" / "share")
    return Path(base) / "gs2" / "web"


@click.command()
@grouped(
    Address,
    "address",
    click.option("--host", type=FILLED, default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=PORT,
        show_default=True,
        help="Port to listen on; 0 takes any that is free.",
    ),
    token_option("Token that visitors must show; needed where other machines can connect."),
    click.option("--open/--no-open", "show", default=None, help="Open a browser.  [default: on a screen]"),
)
@grouped(
    Holding,
    "holding",
    click.option(
        "--data",
        "folder",
        type=RECORDS,
        help="Folder that keeps tables, to continue later.  [default: gs2/web in the user's data]",
    ),
    click.option(
        "--agent",
        "agents",
        type=FILLED,
        multiple=True,
        metavar="NAME",
        help="A further agent that may be seated: a checkpoint, or your own class as FILE.py:CLASS.",
    ),
    click.option(
        "--game-agent",
        "game_agents",
        type=FILLED,
        multiple=True,
        metavar="NAME",
        help="A further agent for games other than GuanDan, named as for gs2 match --game: a checkpoint, "
        "CHECKPOINT+rollout for search, or FILE.py:NAME.",
    ),
    click.option(
        "--game",
        "games",
        type=FILLED,
        multiple=True,
        metavar="FILE.py:GAME",
        help="A further game that may be played, as for gs2 match --game; its face may show its cards.",
    ),
    workers_option,
)
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON once it can be opened.")
@verbose_option
def web(address: Address, holding: Holding, as_json: bool) -> None:
    """Play GuanDan, DouDiZhu, Big2 and more in a browser, review records, and explore searches.

    Prints the address of the page. Only this machine can reach it, unless --host and --token say otherwise.
    """
    try:
        import starlette
        import uvicorn
    except ImportError as error:
        raise click.ClickException(
            f"{error.name} is not installed; pip install 'gs2[web]' installs what the page needs"
        ) from None
    del starlette, uvicorn
    from gs2.admission import LOOPBACK, check_token
    from gs2.guandan.agent_families import check_agent
    from gs2.web.games.offers import offered_agents, own_games

    if address.token is not None:
        check_token(address.token)
    elif address.host not in LOOPBACK:
        raise click.UsageError(
            f"--host {address.host} can be reached by other machines: give a --token; make one with: "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    for name in holding.agents:
        check_agent(name)
    offered_agents(holding.game_agents)  # refuses a name that no agent has
    own_games(holding.games)
    ended_by = asyncio.run(_serve(address, holding, as_json))
    if ended_by == signal.SIGINT:
        raise SystemExit(INTERRUPTED)


async def _serve(address: Address, holding: Holding, as_json: bool) -> int | None:
    """Serve until a signal; return it."""
    from games.support.locks import hold
    from gs2.web.app import make_app
    from gs2.web.house import House
    from gs2.web.serving import web_server

    folder = holding.folder or _usual_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        listening = socket.create_server((address.host, address.port), family=_family(address.host))
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on {address.host}:{address.port}: {error.strerror or error}; "
            "give another --port, 0 for any"
        ) from None
    with listening, hold(folder, folder=True):
        house = House(
            folder,
            agents=holding.agents,
            game_agents=holding.game_agents,
            games=holding.games,
            workers=holding.workers,
        )
        app = make_app(house, token=address.token, cache=folder / "reviews")
        server = web_server(app)
        heard: list[int] = []
        loop = asyncio.get_running_loop()
        server.capture_signals = _no_signals  # type: ignore[method-assign]

        def stop(number: int) -> None:
            server.force_exit = bool(heard)
            server.should_exit = True
            heard.append(number)

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop, number)
        url = _url(address, listening)
        task = asyncio.ensure_future(server.serve(sockets=[listening]))
        while not server.started and not task.done():
            await asyncio.sleep(0.02)
        if server.started:
            if as_json:
                print_json({"url": url, "tables": len(house.tables), "left_alone": house.damaged})
            _announce(url, house.damaged, show=address.show)
        await task
    return heard[0] if heard else None


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


@contextmanager
def _no_signals() -> Iterator[None]:
    """Leave signals to us: uvicorn would raise them again when it has ended."""
    yield


def _url(address: Address, listening: socket.socket) -> str:
    host = f"[{address.host}]" if ":" in address.host else address.host
    token = "" if address.token is None else f"?token={quote(address.token, safe='')}"
    return f"http://{host}:{listening.getsockname()[1]}/{token}"


def _announce(url: str, damaged: list[str], *, show: bool | None) -> None:
    for words in damaged:
        stderr().print(f"left unchanged: {words}", markup=False)
    stderr().print(f"gs2 is at {url} ; Ctrl-C ends", markup=False, soft_wrap=True)
    if show or (show is None and (os.environ.get("DISPLAY") or os.name == "nt")):
        import webbrowser

        webbrowser.open(url)
