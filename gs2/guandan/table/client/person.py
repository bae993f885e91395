"""A person's seat at a server: where its requests are answered, and what shows the server's messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable

from games.guandan.cards import RANKS
from gs2.guandan.table.client.human import HumanAgent, SeatLeft
from gs2.guandan.table.client.screen import PlayScreen
from gs2.guandan.table.hosts import ThreadHost
from gs2.guandan.table.seat import AgentError, Observation
from gs2.guandan.table.wire import messages as m

__all__ = ["MessageWatch", "PersonHost"]


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


class MessageWatch:
    """Shows on a screen what a client's seat is told; the two words that may end a game are told once."""

    def __init__(self, screen: PlayScreen) -> None:
        self.screen = screen
        self._told_end = False

    def note(self, message: m.ServerMessage) -> None:
        """Show a message."""
        screen = self.screen
        if isinstance(message, m.Beginning):
            self._dealt(message)
        elif isinstance(message, m.PlayNotice):
            screen.moved(message.curPos, list(message.curAction))
        elif isinstance(message, m.TributeNotice):
            screen.exchanged("back" if isinstance(message, m.Back) else "tribute", message.result)
        elif isinstance(message, m.AntiTributeNotice):
            screen.anti_tribute(message.antiPos)
        elif isinstance(message, m.EpisodeOver):
            if sorted(message.order) == [0, 1, 2, 3]:
                screen.round_over(message.order, message.restCards)
        elif isinstance(message, m.GameOver | m.GameResult):
            self._ended(message)
        elif isinstance(message, m.Reply) and (message.type == "error" or message.code != 200):
            data = message.data if isinstance(message.data, dict) else {}
            screen.say(f"the server says: {data.get('msg') or message.msg}", "bold yellow")

    def _dealt(self, message: m.Beginning) -> None:
        screen = self.screen
        screen.seat = message.myPos
        if self._told_end:
            screen.rounds = 0
        self._told_end = False
        level = next((x for x in (message.levelCard, message.curRank) if isinstance(x, str)), None)
        own, other = message.selfRank, message.oppoRank
        levels = (own, other) if isinstance(own, str) and isinstance(other, str) else None
        hand = sorted(message.handCards, key=lambda card: RANKS.index(card[-1]))
        screen.dealt(hand, level, levels)

    def _ended(self, message: m.GameOver | m.GameResult) -> None:
        """Tell the end of a game, at the first of the words that say who won it."""
        winner = message.victory
        if self._told_end or winner not in (-1, 0, 1):
            return
        self._told_end = True
        levels = getattr(message, "victoryRank", None)
        known = levels if isinstance(levels, list) and len(levels) == 2 else None
        self.screen.game_over(None if winner == -1 else winner, known)
