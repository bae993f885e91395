"""Who sits where at a table that clients share with agents."""

from __future__ import annotations

from collections.abc import Sequence

from gs2.guandan.table.server.place import TableError

__all__ = ["agent_names", "place_agents"]


def place_agents(agents: Sequence[str], client: int) -> dict[int, str]:
    """Return who sits where beside a client in seat `client`, by seat.

    One name takes the seat before the client's, two the opponents' seats, three all others. `SEAT:NAME` takes
    that very seat.
    Raises TableError if a seat is taken twice or no seat is left for a client.
    """
    placed: dict[int, str] = {}
    rest = []
    for agent in agents:
        seat, name = _seat_and_name(agent)
        if seat is None:
            rest.append(name)
        elif seat in placed:
            raise TableError(f"seat {seat} is given to two agents: {', '.join(agents)}")
        else:
            placed[seat] = name
    if len(placed) + len(rest) > 3:
        raise TableError(f"a table has four seats and a client needs one; got {len(agents)} agents")
    order = {1: (3, 1, 2), 2: (1, 3, 2), 3: (1, 2, 3)}.get(len(rest), ())
    free = [(client + step) % 4 for step in order if (client + step) % 4 not in placed]
    placed |= dict(zip(free, rest, strict=False))
    return placed


def agent_names(agents: Sequence[str]) -> list[str]:
    """Return the names in `NAME` and `SEAT:NAME`, each once."""
    return list(dict.fromkeys(_seat_and_name(agent)[1] for agent in agents))


def _seat_and_name(agent: str) -> tuple[int | None, str]:
    """Return the parts of `SEAT:NAME`; no seat if there is only a name (which may have colons itself)."""
    seat, _, name = agent.partition(":")
    return (int(seat), name) if name and seat in ("0", "1", "2", "3") else (None, agent)
