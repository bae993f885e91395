"""Who sits in seats: what answers one observation at a time, or decisions, at tables and in the arena."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from games.guandan.cards import ACTION, pack
from games.guandan.matches.lockstep import CardDecisions
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan
from games.ragged import Ragged
from gs2.guandan.table.seat import AgentError, Observation, seen_by
from gs2.guandan.table.wire.moves import packed_words

if TYPE_CHECKING:
    from blueprint.protocol import Decisions, PlayedMoves


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
        """Close the agent, if it can be closed."""
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
        from blueprint.protocol import Decisions, drawn
        from blueprint.structured import join

        states = join([observation.state for observation in seen])
        canonical = legal(states, canonical=True)
        places = [canonical_places(canonical[k], observation.moves) for k, observation in enumerate(seen)]
        moves = join([observation.moves[place] for observation, place in zip(seen, places, strict=True)])
        offsets = Ragged.from_counts(np.array([len(place) for place in places]), moves).offsets
        rows = np.arange(len(seen), dtype=np.int64)
        seats = np.array([observation.seat for observation in seen], np.int64)
        asked = Decisions(states, rows, seats, offsets, moves, _Seen(seen), GuanDan())
        chosen = drawn(self.agent, asked, self._rng)[0]
        return [int(place[index]) for place, index in zip(places, chosen, strict=True)]

    def _cards(self, seen: list[Observation]) -> list[int]:
        from blueprint.guandan.play.deals import card_choice

        options = np.zeros((len(seen), 54), bool)
        cards = [
            np.array([_CARDS[int(move["lo"]), int(move["hi"])] for move in observation.moves])
            for observation in seen
        ]
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


class _Seen:
    """What was played at some tables, as their observations tell."""

    def __init__(self, observations: list[Observation]) -> None:
        self.observations = observations

    def of(self, row: int) -> PlayedMoves:
        """Return the moves of one round, oldest first."""
        from blueprint.protocol import PlayedMoves

        seen = self.observations[row]
        return PlayedMoves(seen.actors, seen.record)


def canonical_places(canonical: NDArray[np.void], listed: NDArray[np.void]) -> NDArray[np.int64]:
    """Return where the canonical moves are in a table's list, [k]; everywhere if none of them is there."""
    words = packed_words(listed).reshape(-1, 3)
    at = {(int(a) & 0xFFFFFF, int(b), int(c)): j for j, (a, b, c) in enumerate(words)}
    wanted = packed_words(canonical).reshape(-1, 3)
    found = [at.get((int(a) & 0xFFFFFF, int(b), int(c)), -1) for a, b, c in wanted]
    places = np.array([j for j in found if j >= 0], np.int64)
    return places if len(places) else np.arange(len(listed), dtype=np.int64)


_CARDS = {(int(lo), int(hi)): card for card, (lo, hi) in enumerate(pack(np.eye(54, dtype=np.uint8)))}


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
        """Return the agent of the next new seat."""
        if self._next is None:
            self._next = Seated.of(self.make())
        return self._next

    def of(self, key: Hashable) -> Seated:
        """Return the agent of the seat called `key`."""
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
