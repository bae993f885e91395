"""Where pieces of work are done, as `--on` says it: processes of this machine, or a cluster that runs Ray.

`local` is processes of this machine, the default. `ray` is the cluster that this machine belongs to; if it
belongs to none, Ray on this machine alone. `ray:HOST:PORT` is a cluster by its head's address (port 6379),
from a machine that belongs to it; `ray://HOST:PORT` by Ray's client (port 10001), from one that does not.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass, replace

ADDRESS = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5})")
INSTALL = "pip install 'gs2[ray]'"
WORDS = "local, ray, ray:HOST:PORT or ray://HOST:PORT"


class WorkError(ValueError):
    """Work that cannot be done where it was asked for, or that a place did not finish."""


@dataclass(frozen=True)
class Place:
    """A place for pieces of work.

    engine: "local" or "ray". address: HOST:PORT of a cluster, None for the one at hand.
    client: whether it is the address of Ray's client server. count: how many pieces are done at a time, None
    for as many as there are cores.
    """

    engine: str = "local"
    address: str | None = None
    client: bool = False
    count: int | None = None

    @property
    def is_local(self) -> bool:
        """Whether the work stays in processes of this machine that we start ourselves."""
        return self.engine == "local"

    def with_count(self, count: int | None) -> Place:
        """Return the place with so many pieces at a time."""
        return replace(self, count=count)

    def __str__(self) -> str:
        """Return the words that name the place."""
        if self.address is None:
            return self.engine
        return f"{self.engine}:{'//' * self.client}{self.address}"


def where_from(text: str) -> Place:
    """Return the place that `--on` names.

    Raises WorkError for words that name none.
    """
    words = text.strip()
    if words in ("local", "ray"):
        return Place(words)
    engine, colon, rest = words.partition(":")
    if engine != "ray" or not colon:
        raise WorkError(f"--on must be {WORDS}; got {text!r}")
    client = rest.startswith("//")
    address = rest.removeprefix("//")
    match = ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 1 << 16:
        raise WorkError(f"--on: the address of a cluster must be HOST:PORT; got {text!r}; it is {WORDS}")
    return Place("ray", address, client)


def installed(where: Place) -> Place:
    """Return a place; raise WorkError that says what to install if it needs Ray and there is none here."""
    if not where.is_local and importlib.util.find_spec("ray") is None:
        raise WorkError(f"--on {where} needs Ray, which is not installed here; {INSTALL}")
    return where


def where_of(processes: int | Place | None) -> Place:
    """Return a place as it is, or this machine with so many processes; None for one each core."""
    return processes if isinstance(processes, Place) else Place(count=processes)
