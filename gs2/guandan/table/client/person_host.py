"""Where a person answers what a server asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable

from gs2.guandan.table.client.human import HumanAgent, SeatLeft
from gs2.guandan.table.hosts import ThreadHost
from gs2.guandan.table.seat import AgentError, Observation

__all__ = ["PersonHost"]


class PersonHost(ThreadHost):
    """Where a person answers: one question at a time, dropped when nobody waits for it any more.

    left: resolves to what was said when the person left. Made on a running event loop.
    """

    def __init__(self, make: Callable[[], HumanAgent]) -> None:
        super().__init__(make, threads=1)
        self.left: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def answer(self, key: Hashable, observation: Observation) -> int:
        """Return the person's choice; never, once the person has left."""
        try:
            return await super().answer(key, observation)
        except asyncio.CancelledError:
            agent = self.seats.agents.get(key)
            if agent is not None and isinstance(agent.agent, HumanAgent):
                agent.agent.call_off()
            raise
        except AgentError as error:
            if not isinstance(error.__cause__, SeatLeft):
                raise
            if not self.left.done():
                self.left.set_result(str(error.__cause__))
            # whoever hears of it calls off this visit
            await asyncio.Event().wait()
            raise
