"""What a player at the table sees and must answer, and who sits there: agents of a seat, or of many at once.

Ten lines make an agent:

    class Cautious:
        def act(self, observation):
            return len(observation.actions) - 1 if observation.greater is None else 0

One that is called with `blueprint.protocol.Decisions` serves many seats at once (`Seated`).
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Decisions, PlayedMoves, Trails, drawn
from games.guandan.cards import ACTION, NO_ACTION, RANKS, hand_text, unpack
from games.guandan.matches.lockstep import CardDecisions
from games.guandan.notation import action_list
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import NOBODY
from games.ragged import Ragged
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


class Seated:
    """An agent at tables: any number of seats in one call, each by what that seat knows.

    agent: with `act(observation) -> index`, or a `blueprint.protocol.Agent`: that one chooses among moves of
        different effect, and of tribute and return cards by its `cards`, or else by rule; a seat without a
        choice costs it nothing. name: what it is called. together: whether one instance serves every seat, as
        a network does; by default any that is no agent of a seat.
    Raises AgentError if it is no agent.
    """

    def __init__(self, agent: Any, name: str | None = None, *, together: bool = True) -> None:
        self.acts = callable(getattr(agent, "act", None))
        if not self.acts and not callable(agent):
            raise AgentError(
                "an agent must have act(observation) -> index, or be called with Decisions; "
                f"{type(agent).__name__} has no method act"
            )
        self.agent, self.together = agent, together and not self.acts
        self._rng = np.random.default_rng()  # of one that answers with probabilities
        self.name: str = getattr(agent, "name", type(agent).__name__) if name is None else name

    @classmethod
    def of(cls, made: Any) -> Seated:
        """Return an agent seated, if it is not yet."""
        return made if isinstance(made, cls) else cls(made)

    def close(self) -> None:
        getattr(self.agent, "close", lambda: None)()

    def answers(self, observations: Sequence[Observation]) -> list[Any]:
        """Return for each observation the index of the chosen action in `observation.actions`."""
        if self.acts:
            return [self.agent.act(observation) for observation in observations]
        answers = [0] * len(observations)
        asked = [k for k, seen in enumerate(observations) if len(seen.moves) > 1]
        plays = [k for k in asked if observations[k].stage == "play"]
        cards = [k for k in asked if observations[k].stage != "play"]
        for group, decide in ((plays, self._plays), (cards, self._cards)):
            if group:
                for k, index in zip(group, decide([observations[k] for k in group]), strict=True):
                    answers[k] = index
        return answers

    def _plays(self, seen: list[Observation]) -> list[int]:
        from blueprint.structured import join

        states = join([observation.state for observation in seen])
        canonical = legal(states, canonical=True)
        places = [canonical_places(canonical[k], observation.moves) for k, observation in enumerate(seen)]
        moves = join([observation.moves[place] for observation, place in zip(seen, places, strict=True)])
        offsets = Ragged.from_counts(np.array([len(place) for place in places]), moves).offsets
        rows = np.arange(len(seen), dtype=np.int64)
        seats = np.array([observation.seat for observation in seen], np.int64)
        past = Trails([PlayedMoves(observation.actors, observation.record) for observation in seen])
        asked = Decisions(states, rows, seats, offsets, moves, past, GuanDan())
        chosen = drawn(self.agent, asked, self._rng)[0]
        return [int(place[index]) for place, index in zip(places, chosen, strict=True)]

    def _cards(self, seen: list[Observation]) -> list[int]:
        from blueprint.guandan.play.deals import card_choice

        options = np.zeros((len(seen), 54), bool)
        cards = [given_cards(observation.moves) for observation in seen]
        for row, held in zip(options, cards, strict=True):
            row[held] = True
        decisions = CardDecisions(
            rows=np.arange(len(seen), dtype=np.int64),
            seats=np.array([observation.seat for observation in seen], np.uint8),
            slots=np.zeros(len(seen), np.uint8),
            back=np.array([observation.stage == "back" for observation in seen]),
            levels=np.array([observation.state["level"][0] for observation in seen]),
            hands=np.stack([observation.state["hand"][0, observation.seat] for observation in seen]),
            options=options,
        )
        chosen = (getattr(self.agent, "cards", None) or card_choice)(decisions)
        return [int(np.flatnonzero(held == card)[0]) for held, card in zip(cards, chosen, strict=True)]


def given_cards(moves: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the index of the card in each of some Singles, [m]: tribute and return cards take this form."""
    cards: NDArray[np.int64] = unpack(np.stack([moves["lo"], moves["hi"]], -1)).argmax(-1)
    return cards


def canonical_places(canonical: NDArray[np.void], listed: NDArray[np.void]) -> NDArray[np.int64]:
    """Return where the canonical moves are in a table's list, [k]; everywhere if none of them is there."""
    at = {move.tobytes(): j for j, move in enumerate(listed)}
    found = (at.get(move.tobytes()) for move in canonical)
    places = np.array([j for j in found if j is not None], np.int64)
    return places if len(places) else np.arange(len(listed), dtype=np.int64)


class Seats:
    """The agents of seats: one for all seats if it serves them together, else one for each.

    Called with decisions it is an agent of the arena: each seat of each round has one to itself, and tribute
    in whole games goes by rule.
    make: makes an agent. first: one that is made already. alone: whether each seat gets its own in any case.
    name: what the arena calls them.
    """

    def __init__(
        self, make: Callable[[], Any], first: Any = None, *, alone: bool = False, name: str = "of a seat"
    ) -> None:
        self.make, self.alone, self.name = make, alone, name
        self.agents: dict[Hashable, Seated] = {}
        self._next = None if first is None else Seated.of(first)

    def load(self) -> Seated:
        if self._next is None:
            self._next = Seated.of(self.make())
        return self._next

    def of(self, key: Hashable) -> Seated:
        agent = self.agents.get(key)
        if agent is None:
            agent = self.load()
            if self.alone or not agent.together:
                self.agents[key], self._next = agent, None
        return agent

    def answers(self, asked: Sequence[tuple[Hashable, Observation]]) -> list[Any]:
        """Return the answer of each seat; one agent for all seats is asked once."""
        agents = [self.of(key) for key, _ in asked]
        if agents and agents[0] is self._next:
            return agents[0].answers([one for _, one in asked])
        return [agent.answers([one])[0] for agent, (_, one) in zip(agents, asked, strict=True)]

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row.

        Raises AgentError for an answer that is no index.
        """
        nobody, nothing, seen = np.zeros(0, np.uint8), np.zeros(0, ACTION), []
        for j in range(len(decisions)):
            one, seat = decisions.span(j, j + 1), int(decisions.seats[j])
            state = seen_by(one.states[one.rows], seat)
            seen.append(Observation(seat, "play", state, one.actions, nobody, nothing, recorded=False))
        rows = decisions.rows.tolist()
        answers = self.answers([((row, one.seat), one) for row, one in zip(rows, seen, strict=True)])
        try:
            return np.array([operator.index(answer) for answer in answers], np.int64)
        except TypeError:
            raise AgentError(
                f"agent {self.name}: it must answer with an index; got {answers!r:.80}"
            ) from None
