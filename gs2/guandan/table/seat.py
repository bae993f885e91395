"""What a player at the table sees, and what it must answer.

Ten lines make an agent:

    class Cautious:
        def act(self, observation):
            return len(observation.actions) - 1 if observation.greater is None else 0

One that is called with `blueprint.protocol.Decisions` serves many seats at once (`seated.Seated`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import NO_ACTION, RANKS, hand_text, unpack
from games.guandan.notation import action_list
from games.guandan.rounds.state import NOBODY
from gs2.guandan.table.wire.moves import encode_moves

Transfer = tuple[int, int, str]
"""(from seat, to seat, card name): a tribute or return card."""


class AgentError(ValueError):
    """An agent answered with what is not one of its actions, or failed."""


def seen_by(state: NDArray[np.void], seat: int) -> NDArray[np.void]:
    """Return a round as a seat knows it, [1] STATE: a copy in which the others' hands are empty."""
    state = state.copy()
    own = state["hand"][0, seat].copy()
    state["hand"] = 0
    state["hand"][0, seat] = own
    return state


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
    recorded: whether the round's moves are known. In the arena, where rounds are played in lockstep, nobody
        keeps them: `actors` and `record` are empty, and `plays` is refused. What each seat played, in all and
        last, is in `state`. Of moves that have the same effect one is listed.
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
    recorded: bool = True

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
        """(seat, move) of the round so far, in order, moves as `[type, rank, cards]`.

        Raises AgentError where they are not known.
        """
        if not self.recorded:
            raise AgentError(
                "an agent in the arena cannot ask for the record of a round; use observation.state, or let "
                "it play at a table: gs2 serve"
            )
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
