"""GuanDan tables: four seats, agents in them, and both wire dialects, as server and as client.

Read in this order: `seat` (what an agent sees, and how it is asked), `session` (games at a table), `hosts`;
then the wire: `messages`, `moves` and `dialects`; the server: `connection`, `room`, `lobby`, `server`; the
client: `tracker`, `client`; people: `selection` (why cards are no move), `screen`, `human`, and `own_table`
for agents, and a person with them, in this process. Games in this process need nothing beyond gs2 itself; the
wire needs `pip install 'gs2[table]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lazy_loader

if TYPE_CHECKING:
    from gs2.guandan.table.client.client import ClientConfig as ClientConfig
    from gs2.guandan.table.client.client import ClientError as ClientError
    from gs2.guandan.table.client.client import TableClient as TableClient
    from gs2.guandan.table.client.human import HumanAgent as HumanAgent
    from gs2.guandan.table.client.human import LanguageAgent as LanguageAgent
    from gs2.guandan.table.client.own_table import play_games as play_games
    from gs2.guandan.table.client.tracker import ClientResult as ClientResult
    from gs2.guandan.table.hosts import InstantHost as InstantHost
    from gs2.guandan.table.hosts import ProcessHost as ProcessHost
    from gs2.guandan.table.hosts import ThreadHost as ThreadHost
    from gs2.guandan.table.hosts import load_agent as load_agent
    from gs2.guandan.table.seat import AgentError as AgentError
    from gs2.guandan.table.seat import Observation as Observation
    from gs2.guandan.table.server.recording import SessionResult as SessionResult
    from gs2.guandan.table.server.room import RoomConfig as RoomConfig
    from gs2.guandan.table.server.room import TableError as TableError
    from gs2.guandan.table.server.server import ServerConfig as ServerConfig
    from gs2.guandan.table.server.server import TableServer as TableServer
    from gs2.guandan.table.session import Session as Session

_imported, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "client.human": ["HumanAgent", "LanguageAgent"],
        "client.own_table": ["play_games"],
        "client.tracker": ["ClientResult"],
        "client.client": ["ClientConfig", "ClientError", "TableClient"],
        "hosts": ["InstantHost", "ProcessHost", "ThreadHost", "load_agent"],
        "seat": ["AgentError", "Observation"],
        "server.room": ["RoomConfig", "TableError"],
        "server.recording": ["SessionResult"],
        "server.server": ["ServerConfig", "TableServer"],
        "session": ["Session"],
    },
)


def __getattr__(name: str) -> Any:
    """Return a public name, imported on first use: the wire's packages are an extra."""
    try:
        return _imported(name)
    except ModuleNotFoundError as error:
        if error.name in ("msgspec", "websockets"):
            raise ModuleNotFoundError(
                f"{__name__}.{name} needs {error.name}; pip install 'gs2[table]' installs it", name=error.name
            ) from error
        raise
