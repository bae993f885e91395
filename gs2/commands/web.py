"""`gs2 web`: people at the table, reviews and searches, in a browser."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from games.support.interruption import INTERRUPTED
from gs2.commands.common import OUTPUT_FOLDER, need_extra, print_json, stderr
from gs2.commands.guandan.options import FILLED, token_option, verbose_option, workers_option

if TYPE_CHECKING:
    from gs2.web.house import House

PORT = 8642


@click.command()
@click.option("--host", type=FILLED, default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Port to listen on; 0 takes any that is free.",
)
@token_option("Token that visitors must show; needed where other machines can connect.")
@click.option("--open/--no-open", "show", default=None, help="Open a browser.  [default: with a screen]")
@click.option(
    "--data",
    "folder",
    type=OUTPUT_FOLDER,
    help="Folder that keeps tables, to continue later.  [default: gs2/web in the user's data]",
)
@click.option(
    "--agent",
    "own_agents",
    type=FILLED,
    multiple=True,
    metavar="NAME",
    help="A further agent that may be seated: a checkpoint, or your own class as FILE.py:CLASS.",
)
@click.option(
    "--game-agent",
    "agents",
    type=FILLED,
    multiple=True,
    metavar="NAME",
    help="A further agent for games other than GuanDan, named as for gs2 match --game: a checkpoint, "
    "CHECKPOINT+rollout for search, or FILE.py:NAME.",
)
@click.option(
    "--game",
    "games",
    type=FILLED,
    multiple=True,
    metavar="FILE.py:GAME",
    help="A further game to offer, as for gs2 match --game; its `card_face` draws its cards.",
)
@workers_option
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON once it can be opened.")
@verbose_option
def web(as_json: bool, show: bool | None, folder: Path | None, **how: Any) -> None:
    """Play GuanDan, DouDiZhu, Big2 and more in a browser, review records, and explore searches.

    Prints the address of the page. Only this machine can reach it, unless --host and --token say otherwise.
    """
    need_extra("web", "starlette", "uvicorn")
    from gs2.admission import LOOPBACK, check_token
    from gs2.guandan.agent_families import check_agent
    from gs2.web.games.game_tables import GameTables
    from gs2.web.house import House

    address = how.pop("host"), how.pop("port"), how.pop("token")
    host, _, token = address
    if token is not None:
        check_token(token)
    elif host not in LOOPBACK:
        raise click.UsageError(
            f"--host {host} can be reached by other machines: give a --token; make one with: "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    for name in how["own_agents"]:
        check_agent(name)
    base = os.environ.get("XDG_DATA_HOME") or (Path.home() / ".local" / "share")
    folder = folder or Path(base) / "gs2" / "web"
    house = House(folder, GameTables(**how))  # refuses a name that no agent has
    ended_by = asyncio.run(_serve(address, house, (as_json, show)))
    if ended_by == signal.SIGINT:
        raise SystemExit(INTERRUPTED)


async def _serve(
    address: tuple[str, int, str | None], house: House, shown: tuple[bool, bool | None]
) -> int | None:
    """Serve until a signal; return it.

    address: host, port and token. shown: whether the address is printed as JSON, and whether a browser opens
    it, None for on a screen alone.
    """
    from games.support.locks import hold
    from gs2.web.app import make_app
    from gs2.web.guard import web_server

    (host, port, token), folder = address, house.folder
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on {host}:{port}: {error.strerror or error}; give another --port, 0 for any"
        ) from None
    with listening, hold(folder, folder=True):
        server = web_server(make_app(house, token=token, cache=folder / "reviews"))
        heard: list[int] = []
        loop = asyncio.get_running_loop()
        # signals are left to us: uvicorn would raise them again when it has ended
        server.capture_signals = nullcontext  # type: ignore[assignment, method-assign]

        def stop(number: int) -> None:
            server.force_exit = bool(heard)
            server.should_exit = True
            heard.append(number)

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop, number)
        query = "" if token is None else f"?token={quote(token, safe='')}"
        place = f"{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        url = f"http://{place}/{query}"
        task = asyncio.ensure_future(server.serve(sockets=[listening]))
        while not server.started and not task.done():
            await asyncio.sleep(0.02)
        if server.started:
            if shown[0]:
                print_json({"url": url, "tables": len(house.tables), "left_alone": house.damaged})
            _announce(url, house.damaged, show=shown[1])
        await task
    return heard[0] if heard else None


def _announce(url: str, damaged: list[str], *, show: bool | None) -> None:
    for words in damaged:
        stderr().print(f"left unchanged: {words}")
    stderr().print(f"gs2 is at {url} ; Ctrl-C ends")
    if show or (show is None and (os.environ.get("DISPLAY") or os.name == "nt")):
        import webbrowser

        webbrowser.open(url)
