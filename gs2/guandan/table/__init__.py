"""GuanDan tables: four seats, agents in them, and both wire dialects, as server and as client.

Read in this order: `seat` (what an agent sees), `seated` (how it is asked), `session` (games at a table);
then the wire: `messages`, `dialects`, `encode` and `decode`; the server: `admission`, `connection`, `place`,
`room`, `lobby`, `server`; the client: `visit`, `tracker`, `client`; people: `selection` (why cards are no
move), `screen`, `human`, and `own_table` for agents, and a person with them, in this process. Games in this
process need nothing beyond gs2 itself; the wire needs `pip install 'gs2[table]'`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gs2.guandan.table.agents import load_agent
    from gs2.guandan.table.client.client import TableClient
    from gs2.guandan.table.client.human import HumanAgent
    from gs2.guandan.table.client.own_table import play_games
    from gs2.guandan.table.client.visit import ClientConfig, ClientError, ClientResult
    from gs2.guandan.table.client.words import LanguageAgent
    from gs2.guandan.table.hosts import InstantHost, ProcessHost, ThreadHost
    from gs2.guandan.table.seat import AgentError, Observation
    from gs2.guandan.table.server.place import RoomConfig, TableError
    from gs2.guandan.table.server.recording import SessionResult
    from gs2.guandan.table.server.server import ServerConfig, TableServer
    from gs2.guandan.table.session import Session

__all__ = [
    "AgentError",
    "ClientConfig",
    "ClientError",
    "ClientResult",
    "HumanAgent",
    "InstantHost",
    "LanguageAgent",
    "Observation",
    "ProcessHost",
    "RoomConfig",
    "ServerConfig",
    "Session",
    "SessionResult",
    "TableClient",
    "TableError",
    "TableServer",
    "ThreadHost",
    "load_agent",
    "play_games",
]

_HOMES = {
    "agents": ("load_agent",),
    "client.client": ("TableClient",),
    "client.visit": ("ClientConfig", "ClientError", "ClientResult"),
    "hosts": ("InstantHost", "ProcessHost", "ThreadHost"),
    "client.human": ("HumanAgent",),
    "client.words": ("LanguageAgent",),
    "server.place": ("RoomConfig", "TableError"),
    "server.recording": ("SessionResult",),
    "client.own_table": ("play_games",),
    "seat": ("AgentError", "Observation"),
    "server.server": ("ServerConfig", "TableServer"),
    "session": ("Session",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Return a public name, imported on first use: the wire's packages are an extra."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{_HOME[name]}")
    except ModuleNotFoundError as error:
        if error.name in ("msgspec", "websockets"):
            raise ModuleNotFoundError(
                f"{__name__}.{name} needs {error.name}; pip install 'gs2[table]' installs it", name=error.name
            ) from error
        raise
    return getattr(module, name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
