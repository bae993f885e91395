"""What a player at the table sees, and what it must answer: the protocol of an agent in a seat.

Ten lines make an agent, which `as_agent` adapts to the protocol:

    class Cautious:
        def act(self, observation):
            return len(observation.actions) - 1 if observation.greater is None else 0
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import NO_ACTION, RANKS, hand_text, unpack
from games.guandan.notation import action_list
from games.guandan.rounds.state import NOBODY
from gs2.guandan.table.wire.encode import encode_moves

__all__ = ["Agent", "AgentError", "Observation", "OneByOne", "Seats", "Transfer", "as_agent"]

Transfer = tuple[int, int, str]
"""(from seat, to seat, card name): a tribute or return card."""


class AgentError(ValueError):
    """An agent answered with what is not one of its actions, or failed."""


@dataclass(frozen=True, eq=False)
class Observation:
    """All that one seat knows when it is to act.

    seat: 0..3; the partner is (seat + 2) % 4, the next to act (seat + 1) % 4.
    stage: "play", "tribute" (pay a card) or "back" (return one).
    state: [1] STATE of the round. The other seats' hands are empty: sample them with
        `games.guandan.rounds.belief.determinise`.
    moves: [m] ACTION, the choices; a tribute or return card is a Single.
    actors, record: [k] uint8 and [k] ACTION, who played what in the round so far.
    tributes, returns: cards exchanged before the round.
    listed: the choices in the words of the server that asks, where a server asks.
    """

    seat: int
    stage: str
    state: NDArray[np.void]
    moves: NDArray[np.void]
    actors: NDArray[np.uint8]
    record: NDArray[np.void]
    tributes: tuple[Transfer, ...] = ()
    returns: tuple[Transfer, ...] = ()
    listed: list[Any] | None = field(default=None, repr=False)

    @cached_property
    def actions(self) -> list[Any]:
        """The choices, each `[type, rank, cards]`: what `act` returns an index into."""
        if self.listed is not None:
            return self.listed
        level = int(self.state["level"][0])
        words: list[Any] = json.loads(encode_moves(self.moves, level).json)
        return words if self.stage == "play" else [[self.stage, self.stage, cards] for _, _, cards in words]

    @cached_property
    def plays(self) -> list[tuple[int, list[Any]]]:
        """(seat, move) of the round so far, in order, moves as `[type, rank, cards]`."""
        level = int(self.state["level"][0])
        return [(int(s), action_list(move, level)) for s, move in zip(self.actors, self.record, strict=True)]

    @property
    def hand(self) -> list[str]:
        """Own cards by name, weakest first."""
        state = self.state[0]
        return hand_text(unpack(state["hand"][self.seat]), int(state["level"])).split()

    @property
    def level(self) -> str:
        """The round's level, "2".."A"."""
        return RANKS[self.state["level"][0]]

    @property
    def levels(self) -> tuple[str, str]:
        """Level of the own team and of the other."""
        levels = self.state["levels"][0]
        return RANKS[levels[self.seat & 1]], RANKS[levels[1 - (self.seat & 1)]]

    @property
    def rest(self) -> list[int]:
        """Number of cards each seat holds, [4]."""
        return [int(n) for n in self.state["left"][0]]

    @property
    def greater(self) -> tuple[int, list[Any]] | None:
        """(seat, move) to beat; None when leading."""
        state = self.state[0]
        if self.stage != "play" or state["leader"] == NOBODY:
            return None
        return int(state["leader"]), action_list(state["beat"], int(state["level"]))

    @property
    def trick(self) -> list[list[Any] | None]:
        """Last move of each seat in this trick, [4]; None where it had no turn yet."""
        state = self.state[0]
        level = int(state["level"])
        return [None if m["type"] == NO_ACTION else action_list(m, level) for m in state["trick"]]


@runtime_checkable
class Agent(Protocol):
    """An agent for seats: any number of them in one call, each by what that seat knows.

    Two attributes are used where an agent has them: `name`, and `together`, which is False if every seat of
    every table needs an instance of its own.
    """

    def act_batch(self, observations: Sequence[Observation]) -> Sequence[int]:
        """Return for each observation the index of the chosen action in `observation.actions`."""
        ...


class OneByOne:
    """Adapts what has only `act(observation) -> index`; one instance plays one seat at a time."""

    together = False

    def __init__(self, agent: Any) -> None:
        self.agent, self.name = agent, getattr(agent, "name", type(agent).__name__)

    def act_batch(self, observations: Sequence[Observation]) -> list[int]:
        """Return the answers, each asked for alone."""
        return [self.agent.act(observation) for observation in observations]

    def close(self) -> None:
        """Close the agent, if it can be closed."""
        getattr(self.agent, "close", lambda: None)()


def as_agent(made: Any) -> Agent:
    """Return an agent, adapted if it answers one observation at a time. Raises AgentError if it is none."""
    if isinstance(made, Agent):
        return made
    if callable(getattr(made, "act", None)):
        return OneByOne(made)
    raise AgentError(
        "an agent must have act(observation) -> index or act_batch(observations) -> indices; "
        f"{type(made).__name__} has no method act"
    )


class Seats:
    """The agents of seats: one for all seats if it answers them together, else one for each.

    make: makes an agent. first: one that is made already. alone: whether each seat gets its own in any case.
    """

    def __init__(self, make: Callable[[], Any], first: Agent | None = None, *, alone: bool = False) -> None:
        self.make, self.alone = make, alone
        self.agents: dict[Hashable, Agent] = {}
        self._next = first

    def load(self) -> Agent:
        """Return the agent of the next new seat."""
        if self._next is None:
            self._next = as_agent(self.make())
        return self._next

    def of(self, key: Hashable) -> Agent:
        """Return the agent of the seat called `key`."""
        agent = self.agents.get(key)
        if agent is None:
            agent = self.load()
            if self.alone or not getattr(agent, "together", True):
                self.agents[key], self._next = agent, None
        return agent

    def answers(self, asked: Sequence[tuple[Hashable, Observation]]) -> Sequence[Any]:
        """Return the answer of each seat; one agent for all seats is asked once."""
        agents = [self.of(key) for key, _ in asked]
        if not agents or agents[0] is not self._next:
            return [agent.act_batch([one])[0] for agent, (_, one) in zip(agents, asked, strict=True)]
        found = agents[0].act_batch([one for _, one in asked])
        if len(found) != len(asked):
            raise AgentError(f"act_batch must answer all {len(asked)} observations; got {len(found)} answers")
        return found
