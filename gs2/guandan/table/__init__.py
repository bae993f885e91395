"""GuanDan tables: four seats, agents in them, and both wire dialects, as server and as client.

Read in this order: `seat` (what an agent sees, and how it is asked), `session` (games at a table), `hosts`;
then the wire: `messages`, `moves` and `dialects`; the server: `connection`, `room`, `lobby`, `server`; the
client: `tracker`, `client`; people: `selection` (why cards are no move), `screen`, `human`, and `own_table`
for agents, and a person with them, in this process. Games in this process need nothing beyond gs2 itself; the
wire needs `pip install 'gs2[table]'`. What the package exports is in `__init__.pyi`.
"""

from typing import Any

import lazy_loader

_imported, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


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
